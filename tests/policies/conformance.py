"""Puts OPA's own test cases to the policy engine and judges its answers as OPA's test runner would.

Run as a program, it writes what is told of the run in the reference.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import yaml

from recollect.backends.rego.builtins import REFUSED

OPA = "github.com/open-policy-agent/opa@v1.22.0"
SECONDS = 10.0
MEMORY = 2 << 30
_TRIAL = Path(__file__).with_name("trial.py")
_CASES = "v1/test/cases/testdata"
_LARGEST = (1 << 64) - 1
SUMMARY = Path(__file__).with_name("conformance.json")
"""What the reference tells of the last run of all cases."""


class Unavailable(Exception):
    """OPA's test cases cannot be had here; the text says why."""


class Verdict(StrEnum):
    """How an answer of the engine compares with what OPA's case wants."""

    AGREES = "agrees"
    """The answer, or the error, is the one that OPA gives."""
    WRONG_ANSWER = "wrong_answer"
    """There is an answer, and it is another one."""
    UNDEFINED = "undefined"
    """The engine finds nothing where OPA has an answer."""
    DEFINED = "defined"
    """The engine has an answer where OPA finds nothing."""
    MISSED_ERROR = "missed_error"
    """OPA stops with an error; the engine does not."""
    OTHER_ERROR = "other_error"
    """Both stop with an error, of different kinds."""
    NEEDLESS_ERROR = "needless_error"
    """The engine stops with an error; OPA does not."""
    UNCOMPILED = "uncompiled"
    """The engine does not compile what OPA compiles."""
    TIMEOUT = "timeout"
    """The engine was ended because it took too long."""
    UNREADABLE = "unreadable"
    """The answer is not JSON."""
    CRASH = "crash"
    """The engine crashed, or ran out of memory."""


@dataclass(frozen=True, slots=True)
class Case:
    """One of OPA's test cases: a query over modules, data and input, and what must come out."""

    suite: str
    folder: str
    note: str
    query: str
    modules: tuple[str, ...] = ()
    data: Any = None
    input: Any = None
    input_term: str | None = None
    strict: bool = False
    evaluator: str | None = None
    """The program of production that is to be asked; the query is then the path of a rule."""
    want_result: Any = None
    want_defined: bool | None = None
    want_error: str | None = None
    want_error_code: str | None = None
    sort_bindings: bool = False
    ignore_generated: bool = False

    @property
    def name(self) -> str:
        """What tells it from all other cases."""
        return f"{self.suite}/{self.note}"

    def question(self, seconds: float, memory: int) -> bytes:
        """The line that asks a trial for it; what is wanted stays here."""
        asked = ("query", "modules", "data", "input", "input_term", "strict", "evaluator")
        limits = {"seconds": seconds, "memory": memory}
        return json.dumps({part: getattr(self, part) for part in asked} | limits).encode()


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, what the engine made of it, and how that compares."""

    case: Case
    verdict: Verdict
    outcome: dict[str, Any] = field(repr=False)
    worded_alike: bool = True

    @property
    def agrees(self) -> bool:
        """True when the engine did what OPA does."""
        return self.verdict is Verdict.AGREES


class _Loader(yaml.CSafeLoader):
    """YAML as OPA's loader reads it: no dates, no base-60 numbers, `on` is a name, and `1e6` is a number."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":bool", ":int", ":float"))]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)$"), [*"tf"])
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$")
_FRACTION = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _WHOLE, [*"-+0123456789"])
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FRACTION, [*"-+.0123456789"])
_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


def fetched() -> Path:
    """The folder of OPA's test cases, brought by Go's own client into its module cache.

    Raises `Unavailable` when Go is missing or cannot bring it.
    """
    go = shutil.which("go")
    if go is None:
        raise Unavailable("Go is not installed, and OPA's test cases come through its module cache.")
    try:
        told = subprocess.run(
            [go, "mod", "download", "-json", OPA],
            capture_output=True,
            check=False,
            timeout=300,
            cwd=tempfile.gettempdir(),  # which is no module
        )
        folder = Path(json.loads(told.stdout)["Dir"])
    except (subprocess.TimeoutExpired, ValueError, KeyError) as error:
        raise Unavailable(f"`go mod download {OPA}` brought nothing: {error}.") from error
    return folder


def capabilities(module: Path) -> dict[str, dict[str, Any]]:
    """Every built-in that OPA declares, by name."""
    declared = json.loads((module / "capabilities.json").read_bytes())["builtins"]
    return {builtin["name"]: builtin for builtin in declared}


def load(module: Path, suites: Sequence[str] = ("v1",)) -> list[Case]:
    """All cases of the suites, in the order of their names."""
    cases = []
    for suite in suites:
        root = module / _CASES / suite
        for path in sorted(root.rglob("*.yaml")):
            document = _plain(yaml.load(path.read_bytes(), _Loader))
            folder = path.relative_to(root).parts[0]
            cases += [_case(suite, folder, entry) for entry in document["cases"]]
    return sorted(cases, key=lambda case: case.name)


def _case(suite: str, folder: str, entry: dict[str, Any]) -> Case:
    """A case as its file tells it."""
    return Case(
        suite=suite,
        folder=folder,
        note=entry["note"],
        query=entry["query"],
        modules=tuple(entry.get("modules") or ()),
        data=entry.get("data"),
        input=entry.get("input"),
        input_term=entry.get("input_term"),
        strict=bool(entry.get("strict_error")),
        want_result=entry.get("want_result"),
        want_defined=entry.get("want_defined"),
        want_error=entry.get("want_error"),
        want_error_code=entry.get("want_error_code"),
        sort_bindings=bool(entry.get("sort_bindings")),
        ignore_generated=bool(entry.get("ignore_generated_vars")),
    )


def _plain(value: Any) -> Any:
    """The value as it would come through JSON: names are strings, and integers beyond 64 bits are floats."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if type(value) is int and abs(value) > _LARGEST:
        return float(value)
    return value


def run(cases: Iterable[Case], *, seconds: float = SECONDS, memory: int = MEMORY, processes: int = 2) -> list[Judged]:
    """Put every case to the engine, each within its own limits, and judge the outcomes."""
    pending = list(cases)
    shares = [pending[n::processes] for n in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        judged = [one for share in pool.map(lambda part: list(_tried(part, seconds, memory)), shares) for one in share]
    return sorted(judged, key=lambda one: one.case.name)


def _tried(cases: Sequence[Case], seconds: float, memory: int) -> Iterator[Judged]:
    """Put the cases to one trial process, one after the other."""
    if not cases:
        return
    with subprocess.Popen(
        [sys.executable, "-I", str(_TRIAL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
    ) as trial:
        assert trial.stdin is not None
        assert trial.stdout is not None
        for case in cases:
            trial.stdin.write(case.question(seconds, memory) + b"\n")
            trial.stdin.flush()
            yield judge(case, json.loads(trial.stdout.readline()))
        trial.stdin.close()


def judge(case: Case, outcome: dict[str, Any]) -> Judged:
    """Compare an outcome with what the case wants, as OPA's runner does.

    An error has to be of the kind that is wanted. Its wording is noted and does not decide.
    """
    kind = outcome["outcome"]
    wants_error = case.want_error is not None or case.want_error_code is not None
    if kind == "timeout":
        return Judged(case, Verdict.TIMEOUT, outcome)
    if kind in ("crash", "memory"):
        return Judged(case, Verdict.CRASH, outcome)
    if kind == "error":
        if outcome["stage"] != "evaluation":
            return Judged(case, Verdict.UNCOMPILED, outcome)
        if not wants_error:
            return Judged(case, Verdict.NEEDLESS_ERROR, outcome)
        alike = case.want_error is None or any(case.want_error in text for text in outcome["messages"])
        same = case.want_error_code is None or case.want_error_code in outcome["codes"]
        return Judged(case, Verdict.AGREES if same else Verdict.OTHER_ERROR, outcome, worded_alike=alike)
    if wants_error:
        return Judged(case, Verdict.MISSED_ERROR, outcome)
    try:
        return Judged(case, _compared(case, outcome["text"]), outcome)
    except ValueError:
        return Judged(case, Verdict.UNREADABLE, outcome)


def _compared(case: Case, text: str) -> Verdict:
    """How the answer compares with the wanted set of bindings."""
    got = bindings(text, sort=case.sort_bindings, ignore_generated=case.ignore_generated)
    if case.want_result is None:
        assert case.want_defined is not None, f"{case.name} wants nothing"
        wanted = bool(got) is case.want_defined
        return Verdict.AGREES if wanted else (Verdict.DEFINED if got else Verdict.UNDEFINED)
    want = frozenset(_canonical(row) for row in case.want_result)
    if got == want:
        return Verdict.AGREES
    if not got:
        return Verdict.UNDEFINED
    return Verdict.DEFINED if not want else Verdict.WRONG_ANSWER


def bindings(text: str, *, sort: bool = False, ignore_generated: bool = False) -> frozenset[Any]:
    """The set of bindings that the engine's answer holds, in a form that compares as OPA compares."""
    if text == "undefined":
        return frozenset()
    answer = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    rows = answer if isinstance(answer, list) else [answer]
    found = set()
    for row in rows:
        # OPA's runner counts an expression that is false as no answer; the engine shows its value.
        if any(value is False for value in row.get("expressions", ())):
            continue
        bound = row.get("bindings", {})
        if sort:
            bound = {name: sorted(value, key=cmp_to_key(_ordered)) for name, value in bound.items()}
        kept = {name: value for name, value in bound.items() if not (ignore_generated and name.startswith("__localq"))}
        found.add(_canonical(kept))
    return frozenset(found)


def _canonical(value: Any) -> Any:
    """A hashable form in which two values are equal exactly when OPA says so: `1` is `1.0` and never `true`."""
    if isinstance(value, dict):
        return ("object", frozenset((key, _canonical(part)) for key, part in value.items()))
    if isinstance(value, list):
        return ("array", tuple(_canonical(part) for part in value))
    if isinstance(value, float):
        return ("number", Decimal(repr(value)))
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return ("number", Decimal(value))
    return (type(value).__name__, value)


_RANKS: tuple[tuple[type, ...], ...] = ((type(None),), (bool,), (int, float, Decimal), (str,), (list,), (dict,))


def _ordered(one: Any, other: Any) -> int:
    """OPA's order of values: null, booleans, numbers, strings, arrays, objects."""
    ranks = [next(n for n, kinds in enumerate(_RANKS) if type(value) in kinds) for value in (one, other)]
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if isinstance(one, list):
        for mine, theirs in zip(one, other, strict=False):
            if order := _ordered(mine, theirs):
                return order
        return len(one) - len(other)
    if isinstance(one, dict):
        sides = [[part for pair in sorted(value.items()) for part in pair] for value in (one, other)]
        return _ordered(*sides)
    return 0 if one is None else (one > other) - (one < other)


# -- what follows from a run


EXCUSED = frozenset({"v1/comparisonexpr/decimals order like the numbers they denote"})
"""Cases that fail for something else than a built-in: a number beyond the range of a double stops the engine."""


def builtins_of(judged: Judged, declared: Mapping[str, Any]) -> set[str]:
    """The built-ins that a case uses: what its plan names, and what OPA knows and the engine may not even have."""
    text = "\n".join((*judged.case.modules, judged.case.query))
    called = {name for name in re.findall(r"(?<![\w.])([a-z][\w.]*)\(", text) if name in declared}
    return called | set(judged.outcome.get("builtins") or ())


def unexplained(judged: Iterable[Judged], declared: Mapping[str, Any], refused: Container[str]) -> list[Judged]:
    """The cases that fail although nothing in them is refused: a policy like these would be answered wrongly."""
    return [
        one
        for one in judged
        if not one.agrees
        and one.verdict is not Verdict.UNCOMPILED
        and one.case.name not in EXCUSED
        and not any(name in refused for name in builtins_of(one, declared))
    ]


def summary(judged: Sequence[Judged], declared: Mapping[str, Any], refused: Container[str]) -> dict[str, Any]:
    """What is told of a run: how many cases agree, and of each built-in, among those that use no other refused one."""
    by_name: dict[str, list[int]] = {}
    for one in judged:
        used = builtins_of(one, declared) if one.verdict is not Verdict.UNCOMPILED else set()
        for name in used:
            if not any(other in refused for other in used - {name}):
                counted = by_name.setdefault(name, [0, 0])
                counted[0] += one.agrees
                counted[1] += 1
    return {
        "opa": OPA.partition("@v")[2],
        "engine": importlib.metadata.version("regopy"),
        "cases": len(judged),
        "agreeing": sum(one.agrees for one in judged),
        "uncompiled": sum(one.verdict is Verdict.UNCOMPILED for one in judged),
        "excused": sum(one.case.name in EXCUSED and not one.agrees for one in judged),
        "builtins": {name: by_name[name] for name in sorted(by_name)},
    }


def main() -> None:
    """Run all cases and write the summary."""
    module = fetched()
    told = json.dumps(summary(run(load(module)), capabilities(module), REFUSED), indent=1)
    SUMMARY.write_text(re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", told) + "\n")


if __name__ == "__main__":
    main()
