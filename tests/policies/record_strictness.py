"""Ask a real OPA what it makes of every policy in `strictness.json`, and write its answers down there.

A policy is added as a case with a name, modules and inputs (a list, or the name of one above); the rest comes from OPA.
"""

from __future__ import annotations

import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.policies.real_opa import VERSION, binary, serving

CORPUS = Path(__file__).with_name("strictness.json")
ASKED = "package memories.authz\n\nimport rego.v1\n\nallow := data.a.p\n"
"""What asks the policies of the corpus, which are all about `data.a.p`."""


def modules_of(case: Mapping[str, Any]) -> dict[str, str]:
    """The bundle of a case."""
    if "authz" in case:
        return {"authz.rego": case["authz"]}
    return {"authz.rego": ASKED, **{f"m{number}.rego": text for number, text in enumerate(case["modules"])}}


def inputs_of(corpus: Mapping[str, Any], case: Mapping[str, Any]) -> list[Any]:
    """What the policy of a case is asked about."""
    inputs = case["inputs"]
    return list(corpus["inputs"][inputs] if isinstance(inputs, str) else inputs)


class Oracle:
    """A server that takes policies and answers."""

    def __init__(self, url: str) -> None:
        self._url = url

    def says(self, modules: Mapping[str, str], inputs: Sequence[object]) -> dict[str, Any]:
        """What OPA makes of a bundle: why it refuses it, or its answer to each input, null for a fault."""
        put: list[str] = []
        try:
            for name, text in modules.items():
                put.append(name)
                self._ask("PUT", f"/v1/policies/{name}", text.encode())
        except urllib.error.HTTPError as refused:
            with refused:
                said = json.loads(refused.read())
            first = (said.get("errors") or [{"code": said.get("code"), "message": said.get("message")}])[0]
            return {"refused": {"code": first["code"], "message": first["message"]}}
        else:
            return {"answers": [self._answer(each) for each in inputs]}
        finally:
            for name in reversed(put):
                try:
                    self._ask("DELETE", f"/v1/policies/{name}", None)
                except urllib.error.HTTPError as refused:
                    refused.close()

    def _answer(self, told: object) -> list[Any] | None:
        try:
            said = self._ask("POST", "/v1/data/memories/authz/allow", json.dumps({"input": told}).encode())
        except urllib.error.HTTPError as fault:
            fault.close()
            return None
        return [said["result"]] if "result" in said else []

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        asked = urllib.request.Request(self._url + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.loads(answer.read() or b"{}")


def record(corpus: dict[str, Any]) -> None:
    """Ask OPA anew, about everything."""
    with tempfile.TemporaryDirectory() as nothing, serving(binary(), Path(nothing)) as server:
        oracle = Oracle(server.url)
        for case in corpus["cases"]:
            for old in ("refused", "answers"):
                case.pop(old, None)
            case |= oracle.says(modules_of(case), inputs_of(corpus, case))
    corpus["opa"] = VERSION


def written(corpus: Mapping[str, Any]) -> str:
    """The corpus as it lies in the repository: a case on each line."""
    head = {name: part for name, part in corpus.items() if name != "cases"}
    cases = ",\n".join(json.dumps(case, ensure_ascii=False, sort_keys=True) for case in corpus["cases"])
    opening = json.dumps(head, ensure_ascii=False, sort_keys=True)[:-1]
    return f'{opening}, "cases": [\n{cases}\n]}}\n'


if __name__ == "__main__":
    known = json.loads(CORPUS.read_text("utf-8"))
    record(known)
    CORPUS.write_text(written(known), "utf-8")
    print(f"{len(known['cases'])} policies, by OPA {known['opa']}")
