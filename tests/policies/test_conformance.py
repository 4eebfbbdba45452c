"""The policy engine gives OPA's answers wherever a policy may ask for them, and the lists of built-ins say where."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from regopy import Interpreter
from tests.policies import probes
from tests.policies.conformance import (
    OPA,
    SUMMARY,
    Case,
    Judged,
    Unavailable,
    Verdict,
    builtins_of,
    capabilities,
    fetched,
    judge,
    load,
    run,
    summary,
    unexplained,
)
from tests.policies.probes import Kind, Probe
from tests.policies.real_opa import found_opa  # noqa: F401 - a fixture
from tests.sizes import sized

from recollect.backends.rego import builtins
from recollect.backends.rego.builtins import ALLOWED, CAVEATS, REFUSED, Refusal, refusal

EVERYTHING = 100_000
SECONDS = 1.0


@pytest.fixture(scope="session")
def module() -> Path:
    """OPA's module, with its test cases; where Go is missing there are none."""
    try:
        return fetched()
    except Unavailable as problem:
        if os.environ.get("CI") and shutil.which("go"):
            pytest.fail(str(problem))
        pytest.skip(str(problem))


@cache
def judged_cases(module: Path, count: int) -> list[Judged]:
    """This many of OPA's cases, evenly spread over all of them."""
    cases = load(module)
    return run(cases[:: max(1, len(cases) // count)])


@cache
def all_probes() -> list[Probe]:
    return probes.load()


def has(name: str) -> bool:
    """Whether the engine knows a built-in."""
    return bool(Interpreter().is_builtin(name))


def told(judged: Sequence[Judged]) -> str:
    """The cases as one reads them in a failing test."""
    return "\n".join(f"{one.verdict}: {one.case.name}: {one.outcome}" for one in judged)


# The cases of OPA


@sized(small=150, full=EVERYTHING)
def test_what_is_not_refused_is_answered_as_by_opa(module: Path, count: int) -> None:
    judged = judged_cases(module, count)
    assert len(judged) >= min(count, 2_000)
    failed = unexplained(judged, capabilities(module), REFUSED)
    assert not failed, told(failed)


@sized(small=150, full=EVERYTHING)
def test_most_of_the_language_is_as_in_opa(module: Path, count: int) -> None:
    judged = judged_cases(module, count)
    known = [one for one in judged if not builtins_of(one, capabilities(module)) & REFUSED.keys()]
    # What is left is syntax that came later, and is refused: `and`, `or`, and `not` before a body.
    assert sum(one.agrees for one in known) >= 0.8 * len(known)


@pytest.mark.soak
def test_the_reference_tells_of_the_last_run(module: Path) -> None:
    written = json.loads(SUMMARY.read_bytes())
    made = summary(judged_cases(module, EVERYTHING), capabilities(module), REFUSED)
    print(
        "cases of OPA: " + ", ".join(f"{number:,} {name}" for name, number in made.items() if isinstance(number, int))
    )
    assert written == made, "run `python -m tests.policies.conformance`"


def test_an_allowed_built_in_that_fails_a_case_is_found(module: Path) -> None:
    cases = [case for case in load(module) if case.folder in ("semvercompare", "semverisvalid")]
    refused = {name: why for name, why in REFUSED.items() if not name.startswith("semver.")}
    failed = unexplained(run(cases), capabilities(module), refused)
    assert len(failed) > 5
    assert all(one.case.folder.startswith("semver") for one in failed)


# The probes


@sized(small=120, full=EVERYTHING)
def test_allowed_built_ins_answer_as_opa_did(count: int) -> None:
    asked = probes.of(all_probes(), Kind.AGREE)
    judged = run([probe.case() for probe in asked[:: max(1, len(asked) // count)]])
    failed = [one for one in judged if not one.agrees and not is_fault_for_nothing(one)]
    assert not failed, told(failed)


def is_fault_for_nothing(one: Judged) -> bool:
    """Whether there is a fault where OPA finds nothing: in production, both are a no."""
    return one.verdict is Verdict.NEEDLESS_ERROR and not one.case.want_result


@sized(small=40, full=EVERYTHING)
def test_refused_built_ins_still_differ(count: int) -> None:
    asked = probes.of(all_probes(), Kind.DIFFER)
    judged = run([probe.case() for probe in asked[:: max(1, len(asked) // count)]])
    failed = [one for one in judged if one.agrees]
    assert not failed, f"these could be allowed now:\n{told(failed)}"


@sized(small=2, full=EVERYTHING)
def test_refused_built_ins_still_take_too_long(count: int) -> None:
    asked = probes.of(all_probes(), Kind.SLOW)
    judged = run([probe.case() for probe in asked[:: max(1, len(asked) // count)]], seconds=SECONDS)
    failed = [one for one in judged if one.verdict not in (Verdict.TIMEOUT, Verdict.CRASH)]
    assert not failed, f"these could be allowed now:\n{told(failed)}"


@pytest.mark.soak
def test_the_probes_hold_the_answers_of_opa(opa: Path, tmp_path: Path) -> None:
    asked = probes.of(all_probes(), Kind.AGREE, Kind.DIFFER)
    said = probes.answered_by_opa(opa, asked, tmp_path)
    wrong = [(probe, answer) for probe, answer in zip(asked, said, strict=True) if not same(probe.want, answer)]
    assert not wrong


def same(one: Any, other: Any) -> bool:
    """Whether two values are written alike in JSON, but for `1` and `1.0`."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or bool(
        one == other and not isinstance(one[0], bool)
    )


# The lists


def test_every_built_in_of_opa_is_either_allowed_or_refused(module: Path) -> None:
    assert ALLOWED | REFUSED.keys() == capabilities(module).keys()
    assert not ALLOWED & REFUSED.keys()


def test_everything_allowed_has_probes_and_cases(module: Path) -> None:
    probed = {probe.builtin for probe in probes.of(all_probes(), Kind.AGREE)}
    cased = json.loads(SUMMARY.read_bytes())["builtins"].keys()
    assert probed == ALLOWED
    assert cased >= ALLOWED
    assert all(has(name) for name in ALLOWED)


def test_nothing_allowed_depends_on_more_than_its_arguments(module: Path) -> None:
    declared = capabilities(module)
    assert not [name for name in ALLOWED if declared[name].get("nondeterministic")]
    assert not [name for name in ALLOWED if name.startswith(("http.", "net.", "opa.", "rand.", "rego."))]


@pytest.mark.parametrize("why", Refusal)
def test_there_is_evidence_for_every_refusal(module: Path, why: Refusal) -> None:
    refused = {name for name, reason in REFUSED.items() if reason is why}
    assert refused
    without = {name for name in refused if not is_evident(name, why, module)}
    assert not without, f"nothing shows that these are {why}; they could be allowed"


def is_evident(name: str, why: Refusal, module: Path) -> bool:
    """Whether something that was measured, or that OPA says of itself, gives the reason."""
    declared = capabilities(module)[name]
    probed = {(probe.kind, probe.builtin) for probe in all_probes()}
    agreeing, cases = json.loads(SUMMARY.read_bytes())["builtins"].get(name, (0, 0))
    evident = {
        Refusal.REMOVED: bool(declared.get("deprecated")),
        Refusal.MISSING: not has(name),
        Refusal.UNBOUNDED: (Kind.SLOW, name) in probed,
        Refusal.DIFFERS: (Kind.DIFFER, name) in probed or agreeing < cases,
        Refusal.CLOCK: bool(declared.get("nondeterministic")),
        Refusal.CHANCE: bool(declared.get("nondeterministic")),
        Refusal.OUTSIDE: bool(declared.get("nondeterministic")) or name.endswith("print"),
    }
    return evident[why]


def test_every_caveat_is_shown_by_a_probe() -> None:
    assert CAVEATS.keys() <= ALLOWED
    assert {probe.builtin for probe in probes.of(all_probes(), Kind.DIFFER)} & ALLOWED == CAVEATS.keys()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refusal_names_the_built_in_and_says_what_to_do(name: str) -> None:
    said = refusal(name)
    assert f"`{builtins.SPELLED.get(name, name)}`" in said
    assert REFUSED[name].sentence in said
    assert said.endswith(".")
    assert ("input.context.now_ns" in said) is (REFUSED[name] is Refusal.CLOCK)
    assert ('policy_engine = "opa"' in said) is (REFUSED[name] not in (Refusal.CLOCK, Refusal.REMOVED))


def test_a_name_that_nobody_knows_is_refused_as_well() -> None:
    assert refusal("no.such_thing") == f"`no.such_thing` is refused: it is not a built-in of OPA {builtins.OPA}."
    assert OPA.endswith(f"@v{builtins.OPA}")


# The harness itself

PLAIN = Case(
    "planted", "planted", "plain", "data.a.p = x", ("package a\n\np := 1 if input.yes\n",), input={"yes": True}
)
DIVIDES = dataclasses.replace(PLAIN, modules=("package a\n\np := 1 / 0\n",), strict=True)
ENDLESS = dataclasses.replace(
    PLAIN, modules=('package a\n\np := regex.match("^(a+)+$", input)\n',), input="a" * 30 + "!"
)
HUNGRY = dataclasses.replace(PLAIN, modules=('package a\n\np := replace("abc", "", "x")\n',))
DEADLY = dataclasses.replace(PLAIN, modules=("package a\n\np if { true with input as data.nothing }\n",))
RIGHT = dataclasses.replace(PLAIN, want_result=[{"x": 1}])


def verdict(case: Case, **wants: Any) -> Verdict:
    return run([dataclasses.replace(case, **wants)], processes=1)[0].verdict


WRONG: list[tuple[Case, dict[str, Any], Verdict]] = [
    (PLAIN, {"want_result": [{"x": 2}]}, Verdict.WRONG_ANSWER),
    (PLAIN, {"want_result": [{"x": True}]}, Verdict.WRONG_ANSWER),
    (PLAIN, {"want_result": [{"x": 1}, {"x": 2}]}, Verdict.WRONG_ANSWER),
    (PLAIN, {"want_result": [{"x": 1, "y": 1}]}, Verdict.WRONG_ANSWER),
    (PLAIN, {"want_result": []}, Verdict.DEFINED),
    (PLAIN, {"want_defined": False}, Verdict.DEFINED),
    (PLAIN, {"want_error_code": "eval_builtin_error"}, Verdict.MISSED_ERROR),
    (PLAIN, {"want_result": [{"x": 1}], "input": {}}, Verdict.UNDEFINED),
    (PLAIN, {"want_defined": True, "input": {}}, Verdict.UNDEFINED),
    (PLAIN, {"want_result": [{"x": 1}], "modules": ("package a\n\np := ",)}, Verdict.UNCOMPILED),
    (DIVIDES, {"want_result": [{"x": 1}]}, Verdict.NEEDLESS_ERROR),
    (DIVIDES, {"want_error_code": "eval_type_error"}, Verdict.OTHER_ERROR),
]
"""Expectations that are wrong, and what the harness must say of each."""


@pytest.mark.parametrize(("case", "wants", "said"), WRONG)
def test_a_wrong_expectation_is_found(case: Case, wants: dict[str, Any], said: Verdict) -> None:
    assert verdict(case, **wants) is said


def test_right_expectations_are_met() -> None:
    assert verdict(PLAIN, want_result=[{"x": 1.0}]) is Verdict.AGREES
    assert verdict(PLAIN, want_defined=True) is Verdict.AGREES
    assert verdict(PLAIN, want_result=[], input={}) is Verdict.AGREES
    assert verdict(DIVIDES, want_error_code="eval_builtin_error", want_error="divide by zero") is Verdict.AGREES


def test_another_wording_of_an_error_is_noted() -> None:
    judged = run([dataclasses.replace(DIVIDES, want_error="no such words")])[0]
    assert judged.agrees
    assert not judged.worded_alike


def test_what_hangs_or_crashes_or_eats_memory_is_counted_and_stops_nothing() -> None:
    cases = [ENDLESS, RIGHT, HUNGRY, RIGHT, DEADLY, RIGHT]
    cases = [dataclasses.replace(case, note=f"{n}", want_defined=True) for n, case in enumerate(cases)]
    judged = run(cases, seconds=5.0, memory=200 << 20, processes=1)
    found = [one.verdict for one in judged]
    assert found == [Verdict.TIMEOUT, Verdict.AGREES, Verdict.CRASH, Verdict.AGREES, Verdict.CRASH, Verdict.AGREES]


def test_an_answer_that_is_no_json_is_no_answer() -> None:
    assert judge(RIGHT, {"outcome": "answer", "text": '{"bindings":{"x":(error'}).verdict is Verdict.UNREADABLE


def test_bindings_are_sorted_where_the_case_says_so() -> None:
    text = '{"bindings":{"x":[{"a":1},[2],"b",10,9,true,null]}}'
    case = dataclasses.replace(PLAIN, want_result=[{"x": [None, True, 9, 10, "b", [2], {"a": 1}]}])
    assert judge(case, {"outcome": "answer", "text": text}).verdict is Verdict.WRONG_ANSWER
    assert judge(dataclasses.replace(case, sort_bindings=True), {"outcome": "answer", "text": text}).agrees


def test_a_probe_with_a_wrong_answer_is_found() -> None:
    probe = Probe(Kind.AGREE, "count", "count(input[0])", [[1, 2]], (3,))
    assert [one.verdict for one in run([probe.case()])] == [Verdict.WRONG_ANSWER]
    assert run([dataclasses.replace(probe, want=(2,)).case()])[0].agrees


def test_a_trial_has_nothing_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "secret")
    spying = dataclasses.replace(PLAIN, modules=("package a\n\np := opa.runtime().env.PLANTED\n",), want_result=[])
    assert run([spying])[0].agrees
