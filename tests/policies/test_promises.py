"""Each promise of the policy port has a test that cites it, for every engine that can keep it."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.policies.changing import NOTES, bundle
from tests.policies.questions import Questions
from tests.policies.real_opa import OpaServer, found_opa, serving  # noqa: F401 - a fixture
from tests.policies.stubs import PLAIN, stubbed

import recollect
import recollect.ports.policy
from recollect import Settings
from recollect.backends.opa import OpaEngine
from recollect.backends.policy import BuiltinEngine
from recollect.backends.rego import RegoEngine, shipped_bundle
from recollect.domain.bundles import bundle_of
from recollect.domain.callers import Action, Caller, new_caller
from recollect.domain.errors import Forbidden, InvalidBundle, PolicyTrouble
from recollect.ports.policy import Engine, Narrowed, Policy
from recollect.ports.rego import MOST_REASON
from recollect.service.guard import InForce, Ruling
from recollect.sync import drive
from recollect.testing.contract import clauses_of
from recollect.testing.doubles import ManualClock

ALICE, BOB = new_caller("t", "alice"), new_caller("t", "bob")
ACTIONS = (Action.READ, Action.WRITE, Action.DELETE)
HEAD = "import rego.v1\n\n"


def test_every_promise_has_a_test_and_every_test_a_promise() -> None:
    tests = [name for name, _ in inspect.getmembers(sys.modules[__name__], inspect.isfunction)]
    cited = {name.split("_")[1].upper() for name in tests if name.startswith("test_p")}
    assert cited == set(clauses_of(recollect.ports.policy.__doc__, "P"))


@pytest.fixture(scope="module")
def rego() -> Iterator[RegoEngine]:
    engine = RegoEngine(shipped_bundle(), clock=ManualClock())
    yield engine
    asyncio.run(engine.close())


@pytest.fixture(scope="module")
def server(opa: Path) -> Iterator[OpaServer]:
    with serving(opa) as server:
        yield server


@pytest.fixture(params=["builtin", "rego", "opa"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine, with the policy that it comes with."""
    if request.param == "builtin":
        yield BuiltinEngine()
    elif request.param == "rego":
        yield request.getfixturevalue("rego")
    else:
        url = request.getfixturevalue("server").url
        engine = OpaEngine(url, seconds=5.0, clock=ManualClock(), direct=True)
        yield engine
        asyncio.run(engine.close())


def ruled(text: str) -> dict[str, str]:
    return {"authz.rego": f"package memories.authz\n\n{HEAD}{text}\n"}


async def refused(policy: Policy, caller: Caller = ALICE, value: Any = None) -> str:
    """Why the guard refuses the caller their own note; fails if it does not."""
    with pytest.raises((Forbidden, PolicyTrouble)) as raised:
        await Ruling(caller, InForce(policy)).allow(Action.WRITE, NOTES, "k", value)
    return str(raised.value.details.get("reason", ""))


# -- P1


async def test_p1_a_stranger_is_denied_and_an_owner_is_not(engine: Engine) -> None:
    policy = await engine.policy(None)
    for action in ACTIONS:
        assert (await policy.authorize(ALICE, action, NOTES, "k")).allow
        assert not (await policy.authorize(BOB, action, NOTES, "k")).allow
    await refused(policy, BOB)


@pytest.mark.parametrize(
    "text",
    [
        "other := true",
        "allow if input.nothing",
        'allow := "true"',
        "allow := 1",
        "allow := null",
        "allow := [true]",
        'allow := {"allow": true}\n\ndecision := {"allow": "yes"}',
        "decision := {}",
        'decision := {"allow": true, "reason": 7}',
        "allow := true if input.key\n\nallow := false if input.namespace",
        "allow := true\n\ndecision := false",
        "allow := to_number(input.key) == 1",
    ],
)
async def test_p1_only_an_explicit_allow_allows_in_rego(rego: RegoEngine, text: str) -> None:
    try:
        policy = await rego.policy(bundle_of(ruled(text)))
    except PolicyTrouble:
        return  # it never gets to decide
    await refused(policy)


@pytest.mark.parametrize(
    "said", ['{"allow": "true"}', '{"allow": 1}', '{"decision": {}}', "[]", "true", '{"decision": null}']
)
async def test_p1_only_an_explicit_allow_of_a_server_allows(said: str) -> None:
    with stubbed(lambda _: (200, f'{{"result": {said}}}'.encode(), PLAIN)) as stub:
        engine = OpaEngine(stub.url, clock=ManualClock())
        try:
            await refused(await engine.policy(None))
        finally:
            await engine.close()


# -- P2


async def test_p2_attributes_are_the_same_at_any_time_for_anybody(engine: Engine) -> None:
    policy = await engine.policy(None)
    memory = (NOTES, "k", {"text": "x"}, {"topic": "tea"})
    before = await policy.attributes(*memory)
    for caller in (ALICE, BOB):
        await policy.authorize(caller, Action.WRITE, NOTES, "k", {"text": "x"})
        assert await policy.attributes(*memory) == before
    assert before == {"namespace": "user", "sub": "alice"}


async def test_p2_a_policy_that_asks_who_writes_is_refused(rego: RegoEngine) -> None:
    for told in ("input.context.user_id", "input.context.now_ns", "input.context"):
        text = f'package memories.attributes\n\n{HEAD}attributes := {{"x": {told}}}\n'
        assert (await rego.check(bundle_of({"attributes.rego": text}))).problems, told


async def test_p2_a_policy_that_takes_all_it_is_told_is_not_told_who_writes(rego: RegoEngine) -> None:
    text = f'package memories.attributes\n\n{HEAD}attributes := {{"x": object.keys(input)}}\n'
    policy = await rego.policy(bundle_of({"attributes.rego": text}))
    assert await policy.attributes(NOTES, "k", {}, None) == {"x": ["key", "namespace", "value"]}


def test_p2_attributes_are_never_shown() -> None:
    secret = "marked-by-the-policy"
    text = f'package memories.attributes\n\n{HEAD}attributes := {{"marker": "{secret}"}}\n'
    with recollect.open_sync(":memory:") as memories:
        memories.push_policy({"attributes.rego": text})
        memories.put(NOTES, "k", {"text": "x"}, attributes={"a": 1})
        found = memories.search(NOTES, filter={"marker": secret}).items
        shown: list[Any] = [*found, memories.get(NOTES, "k"), *memories.history(NOTES, "k"), *memories.events().events]
        assert len(found) == 1
        for each in shown:
            public = [name for name in dir(each) if not name.startswith("_") and name not in ("row", "entry")]
            assert secret not in repr([getattr(each, name) for name in public])


# -- P3


async def test_p3_a_narrowed_scope_is_never_wider(engine: Engine) -> None:
    policy, questions = await engine.policy(None), Questions(3)
    for _ in range(300):
        caller, asked = questions.caller(), questions.place()
        for prefix in (asked, asked[:1], ()):
            opened = (await policy.narrow(caller, prefix, {"topic": "x"})).prefix
            assert opened[: len(prefix)] == prefix or prefix[: len(opened)] != opened, (caller, prefix, opened)


async def test_p3_the_guard_refuses_a_wider_one(rego: RegoEngine) -> None:
    text = f"package memories.filter\n\n{HEAD}namespace_prefix := []\n"
    policy = await rego.policy(bundle_of({"filter.rego": text}))
    assert await policy.narrow(ALICE, NOTES, None) == Narrowed(())
    with pytest.raises(PolicyTrouble):
        await Ruling(ALICE, InForce(policy)).view(NOTES, None)


# -- P4


async def test_p4_the_reason_of_a_denial_is_told_and_holds_nothing_of_the_memory(engine: Engine) -> None:
    policy = await engine.policy(None)
    assert await refused(policy, BOB, {"text": "secret"}) == "access denied"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('"ask your administrator"', "ask your administrator"),
        ('""', "access denied"),
        ('"two\\nlines\\u0007"', "twolines"),
        (f'"{"x" * 5_000}"', "x" * MOST_REASON),
    ],
)
async def test_p4_a_policy_says_why_in_few_printable_words(rego: RegoEngine, said: str, told: str) -> None:
    policy = await rego.policy(bundle_of(ruled(f'decision := {{"allow": false, "reason": {said}}}')))
    assert await refused(policy) == told
    answer = json.dumps({"result": {"decision": {"allow": False, "reason": json.loads(said)}}}).encode()
    with stubbed(lambda _: (200, answer, PLAIN)) as stub:
        engine = OpaEngine(stub.url, clock=ManualClock(), direct=True)
        assert await refused(await engine.policy(None)) == told
        await engine.close()


# -- P5: an OPA server changes when it likes, so only engines of our own can promise it


def test_p5_a_request_is_decided_by_the_state_it_began_with() -> None:
    with recollect.open_sync(":memory:") as memories:
        workings = memories._memories.workings
        memories.push_policy(bundle("a"))
        alice = new_caller("default", "alice")
        began = drive(workings.guard.begin(alice))
        memories.push_policy(bundle("b"))
        for ruling, letter, other in ((began, "a", "b"), (drive(workings.guard.begin(alice)), "b", "a")):
            drive(ruling.allow(Action.WRITE, NOTES, f"{letter}-1", {}))
            assert drive(ruling.extract(NOTES, "k", {}, None, None))["marker"] == letter
            with pytest.raises(Forbidden):
                drive(ruling.allow(Action.WRITE, NOTES, f"{other}-1", {}))


@pytest.mark.parametrize("name", ["builtin", "rego"])
async def test_p5_a_policy_does_not_change_with_the_settings(name: str, rego: RegoEngine) -> None:
    engine: Engine = BuiltinEngine() if name == "builtin" else rego
    before = await engine.policy(None)
    await engine.configure({"filterable_attributes": ["topic"]})
    after = await engine.policy(None)
    await engine.configure({})
    assert "topic" not in await before.attributes(NOTES, "k", {}, {"topic": "tea"})
    assert (await after.attributes(NOTES, "k", {}, {"topic": "tea"}))["topic"] == "tea"
    assert before.extraction != after.extraction


# -- P6


async def test_p6_a_bundle_is_refused_with_every_reason_at_once(rego: RegoEngine) -> None:
    modules = {
        "authz.rego": f"package memories.authz\n\n{HEAD}allow if http.send({{}})\n\nallow if input.key == unknown\n",
        "filter.rego": f"package memories.filter\n\n{HEAD}namespace_prefix := [f(1, 2)]\n\nf(x) := x\n",
    }
    report = await rego.check(bundle_of(modules))
    assert not report.sound
    assert {problem.module for problem in report.problems} == set(modules)
    assert len(report.problems) >= 3
    with pytest.raises(PolicyTrouble):
        await rego.policy(bundle_of(modules))


def test_p6_nothing_is_put_in_force_that_allows_what_none_may_or_fails_its_own_tests() -> None:
    failing = f"package t\n\n{HEAD}test_it if data.memories.authz.allow with input as {{}}\n"
    with recollect.open_sync(":memory:") as memories:
        for modules in (ruled("allow := true"), {**ruled("default allow := false"), "t_test.rego": failing}):
            with pytest.raises(InvalidBundle) as raised:
                memories.push_policy(modules)
            assert raised.value.details["failed"]
        assert memories.show_policy().version.number == 0


async def test_p6_engines_that_take_no_bundles_say_so(engine: Engine) -> None:
    if engine.manages:
        assert (await engine.check(shipped_bundle())).sound
        return
    assert not (await engine.check(shipped_bundle())).sound
    with pytest.raises(PolicyTrouble):
        await engine.policy(shipped_bundle())


# -- P7


BURNING = """allow if {
	some x in input.value.numbers
	some y in input.value.numbers
	some z in input.value.numbers
	x == y + 1000
	z == x
}"""


async def test_p7_an_evaluation_ends_within_its_limit_and_the_next_is_answered(rego: RegoEngine) -> None:
    policy = await rego.policy(bundle_of(ruled(BURNING)))
    began = time.monotonic()
    with pytest.raises(PolicyTrouble):
        await policy.authorize(ALICE, Action.WRITE, NOTES, "k", {"numbers": list(range(400))})
    assert time.monotonic() - began < 5.0
    assert (await (await rego.policy(None)).authorize(ALICE, Action.READ, ("user", "alice", "p7"), "k")).allow


@pytest.mark.parametrize(
    "reaching",
    [
        'http.send({"method": "get", "url": "http://127.0.0.1"}).status_code == 200',
        "opa.runtime().env.HOME",
        "time.now_ns() > 0",
        'rand.intn("x", 10) == 1',
        'uuid.rfc4122("x") != ""',
        'net.lookup_ip_addr("localhost")',
        'rego.parse_module("x", "package x")',
    ],
)
async def test_p7_no_policy_reaches_beyond_its_input(rego: RegoEngine, reaching: str) -> None:
    report = await rego.check(bundle_of(ruled(f"allow if {reaching}")))
    assert report.problems, f"{reaching} was accepted"


def test_p7_a_server_that_does_not_answer_is_given_up() -> None:
    def silent() -> Iterator[bytes]:
        yield b'{"result": '
        time.sleep(3)
        yield b'{"allow": true}}'

    with stubbed(lambda _: (200, silent(), PLAIN)) as stub:
        settings = Settings(policy_engine="opa", opa_url=stub.url, opa_seconds=0.3)
        with recollect.open_sync(":memory:", settings=settings) as memories:
            calls: list[Callable[[], Any]] = [lambda: memories.get(NOTES, "k"), lambda: memories.search(NOTES)]
            for call in calls:
                began = time.monotonic()
                with pytest.raises(PolicyTrouble):
                    call()
                assert time.monotonic() - began < 2.0
