"""Hostile policies are refused with a reason, or denied within their limit, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.policies.hostile_policies import (
    ATTRIBUTES,
    AUTHZ,
    BOMB,
    BOUNDED,
    FILTER,
    OWN,
    REFUSED,
    SLOW,
    Hostile,
)

import recollect
from recollect import Memories, errors
from recollect.backends.rego import RegoEngine
from recollect.backends.rego.pool import EVALUATION_SECONDS, PATIENCE_SECONDS, START_SECONDS
from recollect.domain.callers import new_caller
from recollect.ports.rego import MOST_REASON

pytestmark = pytest.mark.asyncio(loop_scope="module")

DECIDED_SECONDS = EVALUATION_SECONDS + PATIENCE_SECONDS + START_SECONDS / 2
"""How long a decision may take by the clock on the wall, on a busy machine that must start a process for it."""
REFUSED_SECONDS = 40.0
SECRET = "planted-in-the-environment-8d1f"
EVE = ("user", "eve")


@dataclass
class Stage:
    """A service with a hostile tenant and an innocent one, and all that was heard from it."""

    eve_admin: Memories
    eve: Memories
    good: Memories
    heard: list[str] = field(default_factory=list)

    @property
    def engine(self) -> RegoEngine:
        """What decides."""
        found = self.eve_admin.workings.policies._engine
        assert isinstance(found, RegoEngine)
        return found

    async def push(self, modules: Mapping[str, str]) -> errors.InvalidBundle | None:
        """Push a policy in the hostile tenant; the refusal, if it is refused."""
        try:
            await self.eve_admin.push_policy(modules)
        except errors.InvalidBundle as refusal:
            self.heard.append(f"{refusal} {refusal.details}")
            return refusal
        return None

    async def denied(self, key: str) -> str:
        """Why Eve may not read one of her memories; nothing when she may."""
        try:
            await self.eve.get(EVE, key)
        except (errors.Forbidden, errors.PolicyTrouble) as denial:
            self.heard.append(f"{denial} {denial.details}")
            return str(denial.details.get("reason", denial.message))
        return ""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One service for all of them: what one policy does must not spoil it for the next."""
    (tmp_path_factory.mktemp("secret") / "canary").write_text(SECRET)
    os.environ["RECOLLECT_PLANTED"] = SECRET
    try:
        async with recollect.open(":memory:") as memories:
            admin = memories.for_caller(new_caller("evil", "root", roles=("admin",)))
            eve = memories.for_caller(new_caller("evil", "eve"))
            good = memories.for_caller(new_caller("good", "ann"))
            opened = Stage(admin, eve, good)
            yield opened
            audit = [str(entry) for entry in (await admin.list_audit(limit=200)).entries]
            assert not [text for text in opened.heard + audit if SECRET in text]
            pids = set(opened.engine.pool.pids)
    finally:
        del os.environ["RECOLLECT_PLANTED"]
    await _gone(pids)


async def _gone(pids: set[int]) -> None:
    """Until no such process is left; one is kept for a while, for whoever opens something next."""
    deadline = time.monotonic() + 15
    while any(_is_there(pid) for pid in pids):
        assert time.monotonic() < deadline, f"{pids} outlive their engine"
        await asyncio.sleep(0.1)


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


class Innocents:
    """Users of another tenant, who keep asking what must be decided anew while something else happens."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._asking: asyncio.Task[None] | None = None
        self.asked = 0
        self.longest = 0.0

    async def __aenter__(self) -> Innocents:
        self._asking = asyncio.create_task(self._ask())
        return self

    async def _ask(self) -> None:
        while True:
            await self.ask()
            await asyncio.sleep(0.002)

    async def ask(self) -> None:
        """One of them reads what is theirs, and then what is not."""
        self.asked += 1
        user = f"user-{self.asked}-{id(self)}"
        them = self._stage.good.for_caller(new_caller("good", user))
        began = time.monotonic()
        assert await them.get(("user", user), "k") is None
        with pytest.raises(errors.Forbidden):
            await them.get(("user", "ann"), "k")
        self.longest = max(self.longest, time.monotonic() - began)

    async def __aexit__(self, *problem: object) -> None:
        assert self._asking is not None
        if self._asking.done():
            self._asking.result()  # it only ends when one of them was wronged
        self._asking.cancel()
        await asyncio.gather(self._asking, return_exceptions=True)
        await self.ask()
        assert self.longest < DECIDED_SECONDS


async def test_the_corpus_is_long() -> None:
    hostile = len(REFUSED) + len(BOUNDED) + len(WRONG) + len(NARROWED) + len(EXTRACTED)
    print(f"hostile policies: {len(REFUSED)} to be refused, {len(BOUNDED)} to be bounded, {hostile} in all")
    assert hostile >= 100


@pytest.mark.parametrize("name", REFUSED)
async def test_a_policy_that_cannot_be_relied_on_is_refused_with_its_reason(
    stage: Stage, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    hostile = REFUSED[name]
    before = await stage.eve_admin.show_policy()
    began = time.monotonic()
    async with Innocents(stage) as innocents:
        refusal = await stage.push(hostile.modules)
    assert time.monotonic() - began < REFUSED_SECONDS
    assert refusal is not None, "it was accepted"
    assert innocents.asked
    _check_refusal(hostile, refusal)
    assert (await stage.eve_admin.show_policy()).version == before.version
    assert SECRET not in caplog.text


def _check_refusal(hostile: Hostile, refusal: errors.InvalidBundle) -> None:
    told = json.dumps(refusal.details, ensure_ascii=False)
    assert hostile.says is None or hostile.says in told, told
    details: dict[str, Any] = json.loads(told)
    problems, failed = details["problems"], details["failed"]
    assert problems or failed
    assert len(told) < 100_000
    assert "0x7f" not in told, "an address is no reason"
    if hostile.says and hostile.within and not failed:
        assert hostile.within in {problem["module"] for problem in problems}, problems
        assert all(problem["line"] > 0 for problem in problems) or "the text" in told or "package" in told, problems


@pytest.mark.parametrize("name", BOUNDED)
async def test_a_policy_that_takes_too_much_is_denied_in_time_and_nobody_else_waits_long(
    stage: Stage, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Innocents(stage) as innocents:
        refusal = await stage.push(BOUNDED[name].modules)
        if refusal is not None:  # then nothing can come of it
            _check_refusal(BOUNDED[name], refusal)
            return
        restarts = stage.engine.pool.restarts
        began = time.monotonic()
        reason = await stage.denied("bomb")
        assert time.monotonic() - began < DECIDED_SECONDS
        overran = "took" in reason or "ended" in reason or "long" in reason
        assert stage.engine.pool.restarts - restarts in ((1, 2) if overran else (0,)), "it has a second chance at most"
        assert innocents.asked
        await asyncio.sleep(0.3)  # a policy that overran rests a moment
        assert await stage.denied("harmless") == ""
    assert SECRET not in caplog.text


async def test_a_policy_that_overruns_again_and_again_rests_longer_and_longer(stage: Stage) -> None:
    assert await stage.push(BOUNDED["multiplies ranges"].modules) is None
    restarts, said = stage.engine.pool.restarts, []
    began = time.monotonic()
    while (overruns := stage.engine.pool.restarts - restarts) < 3 or time.monotonic() - began < 3:
        assert time.monotonic() - began < 60, "it overran too seldom to tell"
        said.append(await stage.denied("bomb"))
        await asyncio.sleep(0.01)
    assert all(said)
    assert overruns <= most_overruns(time.monotonic() - began)
    async with Innocents(stage) as innocents:
        await asyncio.sleep(0.2)
    assert innocents.asked


async def test_a_policy_cannot_have_its_overruns_forgotten_by_answering_now_and_then(stage: Stage) -> None:
    assert await stage.push(BOUNDED["doubles a text"].modules) is None
    restarts = stage.engine.pool.restarts
    began = time.monotonic()
    harmless = 0
    while time.monotonic() - began < 3:
        await stage.denied("bomb")
        harmless += 1
        await stage.denied(f"harmless-{harmless}")
        await asyncio.sleep(0.01)
    assert stage.engine.pool.restarts - restarts <= most_overruns(time.monotonic() - began)


def most_overruns(seconds: float) -> int:
    """How often a policy can overrun in this time when it rests 0.1 seconds at first, and twice as long each time."""
    rests = [min(0.05 * 2**number, 30.0) for number in range(1, 100)]
    return next(number for number in range(1, 100) if sum(rests[:number]) > seconds)


WRONG: dict[str, Mapping[str, str]] = {
    "a number": {"authz.rego": f"{AUTHZ}allow := 1\n"},
    "a text": {"authz.rego": f'{AUTHZ}allow := "true"\n'},
    "null": {"authz.rego": f"{AUTHZ}allow := null\n"},
    "a set": {"authz.rego": f"{AUTHZ}allow contains true\n"},
    "an object": {"authz.rego": f'{AUTHZ}allow := {{"allowed": true}}\n'},
    "a list": {"authz.rego": f'{AUTHZ}decision := [{{"allow": true}}]\n'},
    "an allow that is text": {"authz.rego": f'{AUTHZ}decision := {{"allow": "true", "reason": ""}}\n'},
    "an allow that is a number": {"authz.rego": f'{AUTHZ}decision := {{"allow": 1, "reason": ""}}\n'},
    "a reason that is none": {"authz.rego": f'{AUTHZ}decision := {{"allow": true, "reason": ["x"]}}\n'},
    "names that are numbers": {"authz.rego": f"{AUTHZ}decision := {{1: true}}\n"},
    "nothing": {"authz.rego": f"{AUTHZ}decision := x if {{\n\tx := input.nowhere\n}}\n"},
    "false": {"authz.rego": f"{AUTHZ}allow := false\n"},
    "no rule that is asked": {"authz.rego": f"{AUTHZ}allowed := true\n"},
}


@pytest.mark.parametrize("name", WRONG)
async def test_whatever_is_no_clear_yes_is_a_no(stage: Stage, name: str) -> None:
    await stage.push(WRONG[name])
    if name != "no rule that is asked":
        assert (await stage.eve_admin.show_policy()).modules == WRONG[name]
        assert await stage.denied("k")
    with pytest.raises((errors.Forbidden, errors.PolicyTrouble)):
        await stage.eve.get(("user", "somebody else"), "k")


NARROWED: dict[str, tuple[str, type[Exception] | None]] = {
    "a text": ('namespace_prefix := "user"', errors.PolicyTrouble),
    "an empty segment": ('namespace_prefix := ["user", ""]', errors.PolicyTrouble),
    "a segment that is a number": ('namespace_prefix := ["user", 1]', errors.PolicyTrouble),
    "segments in a set": ('namespace_prefix := {"user"}', None),
    "nothing": ('namespace_prefix := ["x"] if input.nowhere', errors.PolicyTrouble),
    "more than was asked for": (
        'namespace_prefix := ["user"]\n\nattribute_filter := {"sub": "eve"}',
        errors.PolicyTrouble,
    ),
    "something else": ('namespace_prefix := ["user", "somebody else"]', None),
    "a filter that is a list": (
        'namespace_prefix := ["user", "eve"]\n\nattribute_filter := ["x"]',
        errors.PolicyTrouble,
    ),
    "a filter that is null": ('namespace_prefix := ["user", "eve"]\n\nattribute_filter := null', errors.PolicyTrouble),
    "no filter, although there is a rule": (
        'namespace_prefix := ["user", "eve"]\n\nattribute_filter := {} if input.nowhere',
        errors.PolicyTrouble,
    ),
    "an operator that there is not": (
        'namespace_prefix := ["user", "eve"]\n\nattribute_filter := {"sub": {"$where": "1"}}',
        errors.PolicyTrouble,
    ),
    "an operator without sense": (
        'namespace_prefix := ["user", "eve"]\n\nattribute_filter := {"sub": {"$in": 7}}',
        errors.PolicyTrouble,
    ),
    "a filter without end": (
        'namespace_prefix := ["user", "eve"]\n\nattribute_filter := {\n'
        + ",\n".join(f'"a{each}": {each}' for each in range(300))
        + "\n}",
        errors.PolicyTrouble,
    ),
}


@pytest.mark.parametrize("name", NARROWED)
async def test_a_search_never_shows_more_than_a_clear_answer_opens(stage: Stage, name: str) -> None:
    text, fault = NARROWED[name]
    await stage.push({"authz.rego": AUTHZ + OWN})
    await stage.eve.put(EVE, "mine", {"text": "x"})
    refusal = await stage.push({"authz.rego": AUTHZ + OWN, "filter.rego": f"{FILTER}{text}\n"})
    if refusal is not None:
        _check_refusal(Hostile({}), refusal)
        return
    if fault is None:
        assert (await stage.eve.search(EVE)).items == []
    else:
        with pytest.raises(fault):
            await stage.eve.search(EVE)


EXTRACTED: dict[str, str] = {
    "a list": "attributes := [1]",
    "a text": 'attributes := "x"',
    "a reserved name": 'attributes := {"recollect.given": ["level"], "level": 9}',
    "an object within": 'attributes := {"a": {"b": 1}}',
    "a list of objects": 'attributes := {"a": [{"b": 1}]}',
    "an empty name": 'attributes := {"": 1}',
    "a name with NUL": 'attributes := {"a\\u0000b": 1}',
    "a value with NUL": 'attributes := {"a": "b\\u0000"}',
    "a name without end": f'attributes := {{"{"a" * 20_000}": 1}}',
    "names without end": "attributes := {" + ", ".join(f'"a{each}": {each}' for each in range(3_000)) + "}",
}


@pytest.mark.parametrize("name", EXTRACTED)
async def test_attributes_that_are_none_are_not_written(stage: Stage, name: str) -> None:
    modules = {"authz.rego": AUTHZ + OWN, "attributes.rego": f"{ATTRIBUTES}{EXTRACTED[name]}\n"}
    refusal = await stage.push(modules)
    if refusal is not None:
        _check_refusal(Hostile({}), refusal)
        return
    with pytest.raises(errors.RecollectError):
        await stage.eve.put(EVE, f"attributes of {name}", {"text": "x"})
    assert await stage.push({"authz.rego": AUTHZ + OWN}) is None
    assert await stage.eve.get(EVE, f"attributes of {name}") is None


ECHO = {
    "authz.rego": f'{AUTHZ}default decision := {{"allow": false, "reason": "?"}}\n\n'
    'decision := {"allow": false, "reason": input.key} if not allow\n\n'
    'decision := {"allow": true, "reason": ""} if allow\n\n'
    'allow if input.key == "a\\"b\\\\c\\n\\u00e9"\n\n'
    'allow if input.key == "open"\n'
}
ODD = (
    'x","allow":true,"y":"z',
    '"open"',
    '\\"open\\"',
    "open\\u0000",
    "ope\\u006e",
    "open\u200b",
    "\ufeffopen",
    "\u202eopen",
    "open\n",
    "\U000e0001",
    "{}",
    "undefined",
    "(error)",
    "é" * 300,
    "\x7f\x80\x9f",
    "\u2028\u2029",
    "\U0010fffd",
    "a\\nb",
    "'open'",
    "`open`",
    "$open",
    "%s%d%n",
)


async def test_odd_characters_are_never_mistaken_for_something_else(stage: Stage) -> None:
    assert await stage.push(ECHO) is None
    assert await stage.denied("open") == ""
    assert await stage.denied('a"b\\c\n\u00e9') == ""
    for key in ODD:
        reason = await stage.denied(key)
        shown = "".join(filter(str.isprintable, key))[:MOST_REASON]
        assert reason in (shown or "access denied", "access denied") or "private range" in reason, repr(key)
        assert reason, repr(key)


@pytest.mark.parametrize("odd", [*ODD, "\x00", "a\x00b", "\U0010ff22", "\U0010ff00open"])
async def test_odd_characters_in_claims_names_and_values_do_not_open_anything(stage: Stage, odd: str) -> None:
    """Whatever stands in a claim, a user's name or a value, it equals only itself."""
    modules = {
        "authz.rego": f'{AUTHZ}allow if input.context.jwt_claims.level == "open"\n\n'
        'allow if input.context.user_id == "open"\n\nallow if input.value.level == "open"\n\n'
        'allow if input.context.jwt_claims.open\n\nallow if "open" in input.context.jwt_claims.list\n\n'
        'allow if startswith(input.context.jwt_claims.level, "openly")\n'
    }
    assert await stage.push(modules) is None
    for claims in ({"level": odd}, {"list": [odd]}, {odd: True}, {"level": {"level": odd}}):
        caller = new_caller("evil", "eve", claims=claims)
        with pytest.raises((errors.Forbidden, errors.PolicyTrouble)):
            await stage.eve.for_caller(caller).get(EVE, "k")
    with pytest.raises((errors.Forbidden, errors.PolicyTrouble, errors.InvalidInput)):
        await stage.eve.put(EVE, "k", {"level": odd})
    with pytest.raises((errors.Forbidden, errors.PolicyTrouble, errors.InvalidInput)):
        await stage.eve.for_caller(new_caller("evil", odd)).get(EVE, "k")


async def test_a_claim_that_is_open_opens(stage: Stage) -> None:
    """The test before could fail: with the right claim, the same policy allows."""
    assert await stage.push({"authz.rego": f'{AUTHZ}allow if input.context.jwt_claims.level == "open"\n'}) is None
    caller = new_caller("evil", "eve", claims={"level": "open"})
    assert await stage.eve.for_caller(caller).get(EVE, "k") is None


@pytest.mark.parametrize(
    "condition",
    [
        'input.context.user_id != "canary-stranger"',
        'not startswith(user, "canary")',
        'input.context.tenant != "canary"',
    ],
)
async def test_a_policy_cannot_know_the_canaries_by_name(stage: Stage, condition: str) -> None:
    refusal = await stage.push(
        {"authz.rego": f"{AUTHZ}allow if {{\n\tuser := input.context.user_id\n\t{condition}\n}}\n"}
    )
    assert refusal is not None
    assert refusal.details["failed"]


async def test_a_policy_cannot_pass_the_canaries_by_taking_too_long(stage: Stage) -> None:
    """Who overruns at the first of them is not asked the others, which it would allow."""
    text = (
        f'{AUTHZ}{SLOW}\nallow if input.operation == "write"\n\nallow if {{\n\tinput.operation == "read"\n\tslow\n}}\n'
    )
    refusal = await stage.push({"authz.rego": text})
    assert refusal is not None
    assert "took too long" in str(refusal.details["failed"])


async def test_what_canaries_cannot_see_a_simulation_shows(stage: Stage) -> None:
    """A long name opens everything: no canary has one, but somebody who asked lately does."""
    assert await stage.push({"authz.rego": AUTHZ + OWN}) is None
    await stage.eve_admin.simulate_policy({"authz.rego": AUTHZ + OWN})  # writes down what was asked so far
    longest = stage.eve.for_caller(new_caller("evil", "e" * 100))
    with pytest.raises(errors.Forbidden):
        await longest.get(EVE, "k")
    modules = {"authz.rego": f"{AUTHZ}{OWN}\nallow if count(input.context.user_id) == 100\n"}
    simulation = await stage.eve_admin.simulate_policy(modules)
    assert simulation.report.sound
    assert [change.asked.caller.user_id for change in simulation.changes if change.after.allow] == ["e" * 100]


async def test_a_module_cannot_take_the_place_of_a_built_in_one(stage: Stage) -> None:
    denying = f"{AUTHZ}deny if {BOMB}\n"
    own = f"{AUTHZ}allow if {{\n\tnot data.memories.authz.deny\n\tinput.namespace[1] == input.context.user_id\n}}\n"
    for name in ("builtin/filter.rego", "builtin/memories/filter.rego", "built-in/filter.rego"):
        assert await stage.push({"authz.rego": own, name: denying}) is None
        assert await stage.denied("bomb")
        assert await stage.denied("k") == ""


@pytest.mark.parametrize(
    "name",
    [
        "../authz.rego",
        "/authz.rego",
        "authz.rego\n",
        "a\x00.rego",
        "authz",
        ".rego",
        "a//b.rego",
        "a" * 300 + ".rego",
        "(built-in)/authz.rego",
    ],
)
async def test_names_that_could_be_paths_elsewhere_are_refused(stage: Stage, name: str) -> None:
    with pytest.raises(errors.InvalidBundle, match="usable name"):
        await stage.eve_admin.push_policy({name: AUTHZ + OWN})


@pytest.mark.parametrize("modules", [{}, [], "x", {"a.rego": 1}, {"a.rego": "\x00"}, {"a.rego": "\ud800"}, {1: "x"}])
async def test_what_is_no_bundle_is_refused(stage: Stage, modules: Any) -> None:
    with pytest.raises(errors.InvalidBundle):
        await stage.eve_admin.push_policy(modules)


async def test_too_many_modules_and_too_long_ones_are_refused_before_they_are_read(stage: Stage) -> None:
    with pytest.raises(errors.InvalidBundle, match="65 modules"):
        await stage.eve_admin.push_policy({f"m{each}.rego": "package m\n" for each in range(65)})
    with pytest.raises(errors.InvalidBundle, match="bytes"):
        await stage.eve_admin.push_policy({"authz.rego": AUTHZ + "#" * (512 << 10)})


async def test_a_hostile_policy_that_is_only_explained_or_tried_does_no_harm_either(stage: Stage) -> None:
    hostile = BOUNDED["multiplies ranges"].modules
    async with Innocents(stage):
        with pytest.raises((errors.InvalidBundle, errors.PolicyTrouble)):
            await stage.eve_admin.explain_policy("read", EVE, "bomb", user_id="mallory", modules=hostile)
        await stage.eve_admin.simulate_policy(hostile)
        with pytest.raises((errors.InvalidBundle, errors.PolicyTrouble)):
            await stage.eve_admin.explain_policy(
                "read", EVE, "k", user_id="mallory", modules=REFUSED["sends the input away"].modules
            )


async def test_the_harness_would_notice_a_leak_and_an_innocent_who_is_wronged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the tests above look for would be found if it were there."""
    assert await stage.push({"authz.rego": f'{AUTHZ}decision := {{"allow": false, "reason": "{SECRET}"}}\n'}) is None
    assert await stage.denied("k") == SECRET
    assert SECRET in stage.heard.pop()
    innocents = Innocents(Stage(stage.eve_admin, stage.eve, stage.eve_admin))
    await stage.eve_admin.workings.policies.in_force("good")
    monkeypatch.setattr(stage.engine.pool, "ask", _broken)
    with pytest.raises(errors.PolicyTrouble):
        async with innocents:
            await asyncio.sleep(0.1)


def _broken(*_: object) -> Any:
    raise errors.PolicyTrouble("broken on purpose")
