"""The shipped policies mean what their tests say, here and to a real OPA; and their tests see mistakes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.concurrency.crew import in_threads
from tests.policies import real_opa
from tests.policies.real_opa import POLICIES, found_opa  # noqa: F401 - a fixture

from recollect.backends.policy import BuiltinEngine
from recollect.backends.rego import RegoEngine
from recollect.backends.rego.shipped import modules_in, shipped_bundle
from recollect.domain.bundles import Package, bundle_of
from recollect.domain.callers import Action, new_caller
from recollect.ports.policy import Report
from recollect.service.canaries import put_canaries
from recollect.testing.doubles import ManualClock

FEWEST_TESTS = 40
MISTAKES = {
    "own subtree by its beginning": (
        "authz",
        "input.namespace[1] == input.context.user_id",
        "startswith(input.namespace[1], input.context.user_id)",
    ),
    "own subtree whatever its root": ("authz", 'input.namespace[0] == "user"\n', "true\n"),
    "everybody reads projects": ("authz", "input.namespace[1] in readable", "true"),
    "readers write": ("authz", 'claimed[name] == "write"', 'claimed[name] != "other"'),
    "an object's values are names": ("authz", "is_array(input.context.jwt_claims.projects)", "true"),
    "any role is a project": ("authz", 'startswith(role, "project:")', "true"),
    "the system is written by all": (
        "authz",
        '\tinput.operation == "read"\n}\n\n# Reviewers',
        "}\n\n# Reviewers",
    ),
    "claims make administrators": (
        "authz",
        '"admin" in input.context.roles\n',
        '"admin" in input.context.jwt_claims.roles\n',
    ),
    "everybody reviews their own": ("authz", '\tinput.operation != "review"\n', ""),
    "everybody reviews": ("authz", '\t"reviewer" in input.context.roles\n', ""),
    "reviewers do everything": ("authz", '\tinput.operation == "review"\n', ""),
    "a denial without a reason": ("authz", '"reason": "access denied"', '"reason": ""'),
    "a search of all users": ("filter", "input.namespace_prefix[1] == input.context.user_id", "true"),
    "a search of all projects": ("filter", "input.namespace_prefix[1] in data.memories.authz.readable", "true"),
    "a search as asked": ("filter", 'namespace_prefix := ["user", input.context.user_id] if not open', ""),
    "the filter as asked": ("filter", "attribute_filter := {}", "attribute_filter := input.filter"),
    "every attribute is plain": (
        "attributes",
        "some name in data.recollect.filterable_attributes",
        "some name, _ in input.attributes",
    ),
    "objects are plain": ("attributes", "is_plain(value) if is_array(value)", "is_plain(value) if not is_null(value)"),
    "booleans are sealed": ("attributes", "is_plain(value) if is_boolean(value)", ""),
    "no place": ("attributes", '"sub": input.namespace[1]', '"sub": input.namespace[0]'),
    "doubt weighs nothing": ("review", "\tcount(holding) == 0\n", ""),
    "a rejection is forgotten": ("review", 'rejected["rejected_before"]', 'waiting["rejected_before"]'),
    "a rule that nobody asks": ("review", '"durable", "inferred"', '"durable"'),
    "silence is trust": ("review", "\tnot channel_trusted\n", "\tinput.proposal.channel_trusted == false\n"),
    "risk is no matter": ("review", '\tinput.proposal.risk == "low"\n}\n\napproved', "}\n\napproved"),
}
"""Mistakes that one could make in the policies: which module, what stands there, and what would."""


@pytest.fixture(scope="module")
def engine() -> Iterator[RegoEngine]:
    engine = RegoEngine(shipped_bundle(), clock=ManualClock())
    try:
        yield engine
    finally:
        asyncio.run(engine.close())


def mistaken(name: str) -> dict[str, str]:
    """The shipped policies with a mistake in them, and the tests as they are."""
    package, right, wrong = MISTAKES[name]
    modules = modules_in(POLICIES)
    module = f"memories/{package}.rego"
    assert modules[module].count(right) >= 1, f"{right!r} is no longer in {module}"
    return {**modules, module: modules[module].replace(right, wrong, 1)}


def failing(report: Report) -> set[str]:
    assert not report.problems, report.problems
    return {check.name for check in report.checks if not check.passed}


async def test_the_shipped_bundle_passes_its_own_tests_and_every_canary(engine: RegoEngine) -> None:
    report = await engine.check(shipped_bundle())
    assert (report.problems, failing(report)) == ((), set())
    assert len(report.checks) >= FEWEST_TESTS
    assert report.packages == tuple(Package)
    assert all(check.passed for check in await put_canaries(await engine.policy(None)))


def test_every_package_that_is_asked_has_tests() -> None:
    tested = {name for name, text in shipped_bundle().tests if text.count("\ntest_") >= 8}
    assert tested == {f"memories/{package}_test.rego" for package in Package}


@pytest.mark.parametrize("name", MISTAKES)
async def test_a_mistake_in_a_shipped_policy_is_seen_by_its_tests(engine: RegoEngine, name: str) -> None:
    assert failing(await engine.check(bundle_of(mistaken(name))))


# -- as a real OPA reads them


def run(opa: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([opa, *arguments], capture_output=True, text=True, timeout=120, check=False)


def written(folder: Path, modules: Mapping[str, str]) -> Path:
    for name, text in modules.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def outcomes(opa: Path, folder: Path) -> dict[str, bool]:
    """Every test by its full name, and whether it passed."""
    told = run(opa, "test", "--format", "json", folder)
    assert told.stdout, told.stderr
    return {
        f"{each['package'].removeprefix('data.')}.{each['name']}": not each.keys() & {"fail", "error"}
        for each in json.loads(told.stdout)
    }


def test_opa_finds_them_well_written_and_strictly_right(opa: Path) -> None:
    for arguments in (("fmt", "--diff", "--fail"), ("check", "--strict")):
        told = run(opa, *arguments, POLICIES)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", ""), arguments


async def test_opa_runs_the_same_tests_with_the_same_outcome(opa: Path, engine: RegoEngine) -> None:
    report = await engine.check(shipped_bundle())
    assert outcomes(opa, POLICIES) == {check.name: check.passed for check in report.checks}


async def test_opa_sees_the_same_mistakes(opa: Path, engine: RegoEngine, tmp_path: Path) -> None:
    for number, name in enumerate(MISTAKES):
        modules = mistaken(name)
        theirs = outcomes(opa, written(tmp_path / str(number), modules))
        ours = await engine.check(bundle_of(modules))
        assert {test for test, passed in theirs.items() if not passed} == failing(ours), name


# -- beside the plain rule


@pytest.mark.parametrize("action", [Action.READ, Action.WRITE, Action.DELETE])
async def test_users_and_administrators_are_treated_as_by_the_plain_rule(engine: RegoEngine, action: Action) -> None:
    rego, plain = await engine.policy(None), await BuiltinEngine().policy(None)
    places = [("user",), ("user", "alice"), ("user", "alice", "x"), ("user", "bob"), ("user", "alice2"), ("x", "alice")]
    for roles in ((), ("admin",), ("auditor", "operator")):
        caller = new_caller("t", "alice", roles=roles)
        for place in places:
            assert await rego.authorize(caller, action, place, "k") == await plain.authorize(caller, action, place, "k")
            assert await rego.narrow(caller, place, None) == await plain.narrow(caller, place, None)


@pytest.mark.parametrize("value", ["tea", 1, 1.5, True, False, ["a", 1], None, {"a": 1}, []])
async def test_attributes_are_extracted_as_by_the_plain_rule(engine: RegoEngine, value: object) -> None:
    facts = {"filterable_attributes": ["topic"]}
    plain = BuiltinEngine()
    await engine.configure(facts)
    await plain.configure(facts)
    for given in ({"topic": value, "other": 1}, {}, None):
        for place in (("user", "alice", "x"), ("system",)):
            asked = (place, "k", {"text": "x"}, given)
            found = await (await engine.policy(None)).attributes(*asked)
            assert found == await (await plain.policy(None)).attributes(*asked)
    await engine.configure({})


# -- how the tests come by an OPA


def pretended_go(folder: Path, script: str) -> None:
    folder.mkdir()
    (folder / "go").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "go").chmod(0o755)


def test_opa_is_built_once_however_many_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended_go(
        tmp_path / "bin", f'echo x >> {tmp_path}/runs\nsleep 0.2\nmkdir -p "$GOBIN" && echo opa > "$GOBIN/opa"'
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("RECOLLECT_TEST_OPA", raising=False)
    monkeypatch.setattr(real_opa, "PLACE", tmp_path / "place")
    assert set(in_threads(*[real_opa.binary] * 4)) == {tmp_path / "place" / "opa"}
    assert (tmp_path / "runs").read_text() == "x\n"


def test_opa_that_cannot_be_built_is_told_apart_from_no_go_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended_go(tmp_path / "bin", "echo no network >&2; exit 1")
    monkeypatch.delenv("RECOLLECT_TEST_OPA", raising=False)
    monkeypatch.setattr(real_opa, "PLACE", tmp_path / "place")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(real_opa.Broken, match="no network"):
        real_opa.binary()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(real_opa.Unavailable, match="Go is not installed") as missing:
        real_opa.binary()
    assert not isinstance(missing.value, real_opa.Broken)
    monkeypatch.setenv("RECOLLECT_TEST_OPA", "/named/by/hand")
    assert real_opa.binary() == Path("/named/by/hand")
