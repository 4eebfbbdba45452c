"""Whatever policy the engine accepts, it answers as OPA does; what OPA refuses or reads otherwise, it refuses."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.policies.random_policies import Author, random_input
from tests.policies.real_opa import VERSION, found_opa, serving  # noqa: F401 - a fixture
from tests.policies.record_strictness import CORPUS, Oracle, inputs_of, modules_of
from tests.sizes import sized

from recollect.backends.rego import RegoEngine, engine
from recollect.backends.rego.engine import Flawed
from recollect.backends.rego.shipped import shipped_bundle
from recollect.domain.bundles import bundle_of
from recollect.domain.errors import PolicyTrouble
from recollect.testing.doubles import ManualClock

ENTRY = ("memories/authz/allow",)
HARMLESS = ("unused", "rego_type_error")
"""What OPA refuses and the engine does not: names without use, and comparisons that never hold."""
_ORDER = "the elements of a set, and of what is nested, come in another order; only lists made of them show it"
_READS = "it is read as its author wrote it, where OPA wants it written otherwise"
_OPA = "OPA is wrong: its index of rules loses the case"
KNOWN = {
    "standard 71": _ORDER,
    "some in": _ORDER,
    "iteration order set": _ORDER,
    "iteration order set literal input": _ORDER,
    "mixed set order": _ORDER,
    "string concat set": _ORDER,
    "string compare": "texts with controls, quotes and backslashes are ordered as if those came last",
    "templ num/obj": "texts within lists within templates are shown with their escapes",
    "unify obj diff keys": "of constants alone, what has no counterpart is overlooked; of inputs it is not",
    "unify sizes": "of constants alone, what has no counterpart is overlooked; of inputs it is not",
    "neg numbers": _READS,
    "bad metadata": _READS,
    "line cont paren": _READS,
    "dot on next line": _READS,
    "reorder some": _READS,
    "not before some": _READS,
    "some then assign": _READS,
    "some same twice": _READS,
    "probe 22": _OPA,
    "probe 23": _OPA,
}
"""Cases that are answered otherwise, and why that is borne."""


@pytest.fixture(scope="module")
def subject() -> Iterator[RegoEngine]:
    opened = RegoEngine(shipped_bundle(), clock=ManualClock(), direct=True)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture(scope="module")
def corpus() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(CORPUS.read_text("utf-8"))
    return read


def answers(subject: RegoEngine, modules: Mapping[str, str], inputs: list[Any]) -> list[Any] | None:
    """What the engine says of each input, null for a fault; None when it refuses the policy."""
    try:
        policy = asyncio.run(subject.policy(bundle_of(modules)))
    except PolicyTrouble:
        return None
    found: list[Any] = []
    for told in inputs:
        try:
            asked = subject.evaluate(policy.compiled.loadable, ENTRY, json.dumps(told, ensure_ascii=False).encode())
            found.append(asyncio.run(asked)[0])
        except PolicyTrouble:
            found.append(None)
    return found


def disagreement(subject: RegoEngine, modules: Mapping[str, str], inputs: list[Any], opa: Mapping[str, Any]) -> str:
    """What the engine makes otherwise than OPA of a policy that it accepts; nothing when there is nothing.

    A fault is a denial: the engine may have one where OPA has an answer, but not the other way round.
    """
    ours = answers(subject, modules, inputs)
    if ours is None:
        return ""
    if "refused" in opa:
        refused = f"{opa['refused']['code']}: {opa['refused']['message']}"
        return "" if any(each in refused for each in HARMLESS) else f"accepted, but OPA says {refused}"
    for told, mine, theirs in zip(inputs, ours, opa["answers"], strict=True):
        if mine is not None and (
            theirs is None or json.dumps(mine, sort_keys=True) != json.dumps(theirs, sort_keys=True)
        ):
            if mine == theirs and not _differ_in_type(mine, theirs):
                continue
            return f"{mine} instead of {theirs} for {json.dumps(told, ensure_ascii=False)[:300]}"
    return ""


def _differ_in_type(mine: object, theirs: object) -> bool:
    """True when `==` of Python holds only because it takes true for 1."""
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return type(mine) is not type(theirs)
    if isinstance(mine, list) and isinstance(theirs, list):
        return any(_differ_in_type(one, other) for one, other in zip(mine, theirs, strict=True))
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return any(_differ_in_type(mine[name], theirs[name]) for name in mine)
    return False


@sized(80, 10_000)
def test_policies_that_are_accepted_are_answered_as_opa_answered_them(
    subject: RegoEngine, corpus: dict[str, Any], count: int
) -> None:
    cases = corpus["cases"]
    chosen = cases if count >= len(cases) else Random(1).sample(cases, count)
    found = {
        case["name"]: wrong
        for case in chosen
        if (wrong := disagreement(subject, modules_of(case), inputs_of(corpus, case), case))
    }
    names = {case["name"] for case in chosen}
    assert found.keys() == KNOWN.keys() & names, {name: found[name] for name in found.keys() - KNOWN.keys()}


def test_the_corpus_was_recorded_with_the_opa_that_is_compared_with(corpus: dict[str, Any]) -> None:
    assert corpus["opa"] == VERSION
    assert len(corpus["cases"]) >= 150
    assert len({case["name"] for case in corpus["cases"]}) == len(corpus["cases"])
    assert KNOWN.keys() <= {case["name"] for case in corpus["cases"]}


def test_many_policies_of_the_corpus_are_accepted(subject: RegoEngine, corpus: dict[str, Any]) -> None:
    """An engine that refuses everything would agree with everybody."""
    standard = [case for case in corpus["cases"] if case["name"].startswith("standard") and "answers" in case]
    chosen = Random(2).sample(standard, 24)
    accepted = [case for case in chosen if answers(subject, modules_of(case), []) is not None]
    assert len(accepted) > 16


def test_without_strictness_the_corpus_shows_the_differences(
    subject: RegoEngine, corpus: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests before could fail: what the checks refuse is answered otherwise."""
    monkeypatch.setattr(engine, "flaws", lambda *_: [])
    monkeypatch.setattr(engine, "text_flaws", lambda *_: [])
    lenient = RegoEngine(shipped_bundle(), clock=ManualClock(), direct=True)
    wanted = {
        "a variable of another clause",
        "guarded elsewhere",
        "guarded by a mere value",
        "guarded within a comprehension",
        "guarded within a not",
    }
    try:
        found = {
            case["name"]
            for case in corpus["cases"]
            if case["name"] in wanted and disagreement(lenient, modules_of(case), inputs_of(corpus, case), case)
        }
    finally:
        asyncio.run(lenient.close())
        engine._compiled.clear()
    assert found == wanted


@sized(30, 2_000)
def test_random_policies_that_are_accepted_are_answered_as_opa_answers_them(
    subject: RegoEngine,
    opa: Path,
    count: int,
) -> None:
    accepted = 0
    with tempfile.TemporaryDirectory() as nothing, serving(opa, Path(nothing)) as server:
        oracle = Oracle(server.url)
        for seed in range(50_000, 50_000 + count):
            random = Random(seed)
            modules = {"authz.rego": Author(random, careless=seed % 3 == 0).policy()}
            inputs = [random_input(random) for _ in range(10)]
            if answers(subject, modules, []) is None:
                continue
            accepted += 1
            wrong = disagreement(subject, modules, inputs, oracle.says(modules, inputs))
            assert not wrong, f"{wrong}\n{modules['authz.rego']}"
    assert accepted > count // 3


REASONABLE = {
    "owners": 'allow if {\n\tinput.namespace[0] == "user"\n\tinput.namespace[1] == input.context.user_id\n}',
    "a default": "default allow := false\n\nallow if input.context.jwt_claims.admin == true",
    "roles": 'allow if "editor" in input.context.roles',
    "one of several": 'allow if {\n\tsome role in input.context.roles\n\trole in {"editor", "owner"}\n}',
    "a set of rules": 'allow if count(deny) == 0\n\ndeny contains "too long" if count(input.key) > 100',
    "a reason": 'decision := {"allow": false, "reason": reason} if {\n\treason := "no"\n}',
    "a function": "allow if owns(input.namespace)\n\nowns(path) if path[1] == input.context.user_id",
    "not a rule": "allow if not blocked\n\nblocked if input.context.jwt_claims.blocked == true",
    "not a member": 'allow if {\n\tuser := input.context.user_id\n\tnot user in blocked\n}\n\nblocked := {"mallory"}',
    "not a member of what is computed": "allow if {\n\tuser := input.context.user_id\n\tnot user in blocked\n}\n\n"
    "blocked contains name if some name in input.context.jwt_claims.blocked",
    "every": 'allow if {\n\tevery role in input.context.roles {\n\t\trole != "guest"\n\t}\n}',
    "a guarded number": "allow if {\n\tis_number(input.value.level)\n\tinput.value.level < 3\n}",
    "the time": "allow if input.context.now_ns < 2000000000000000000",
    "an object of limits": 'allow if limits[input.context.client_id] == "all"\n\nlimits := {"app": "all"}',
    "else": 'allow := true if {\n\tinput.key == "a"\n} else := false',
    "an import": "import data.memories.roles\n\nallow if input.context.user_id in roles.owners",
    "a prefix": 'allow if startswith(input.key, "public/")',
    "parts of a key": 'allow if split(input.key, "/")[0] == input.context.user_id',
    "a comprehension": 'allow if {\n\tnames := {name | some name in input.context.roles; startswith(name, "team:")}\n'
    "\tcount(names) > 0\n}",
}


@pytest.mark.parametrize("name", REASONABLE)
async def test_a_reasonable_policy_is_accepted(name: str) -> None:
    modules = {"authz.rego": f"package memories.authz\n\nimport rego.v1\n\n{REASONABLE[name]}\n"}
    if name == "an import":
        head, body = REASONABLE[name].split("\n\n", 1)
        modules["authz.rego"] = f"package memories.authz\n\nimport rego.v1\n{head}\n\n{body}\n"
        modules["roles.rego"] = 'package memories.roles\n\nowners := {"ann"}\n'
    opened = RegoEngine(shipped_bundle(), clock=ManualClock())
    try:
        await opened.policy(bundle_of(modules))
    except Flawed as flawed:
        pytest.fail(str(flawed.problems))
    finally:
        await opened.close()
