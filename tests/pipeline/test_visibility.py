"""Only what was promoted is ever given to anybody, and only while it may be: random programs against a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.pipeline.scene import Scene, scene
from tests.sizes import sized

from recollect.domain.errors import InvalidInput, NotFound, ReviewRefused
from recollect.service.pipeline.recording import Recording

USERS = ("alice", "bob")
NAMES = ("Ada", "Grace", "Alan", "Kurt")
DRINKS = ("tea", "coffee", "mate", "water")
Step = Callable[[], Awaitable[None]]


@dataclass
class Model:
    """What may be seen, by what the service itself said it did."""

    live: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Records by their ids, with their owner."""
    ever: set[str] = field(default_factory=set)
    waiting: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    consents: dict[str, str] = field(default_factory=dict)
    sessions: int = 0


@dataclass
class Program:
    """One random course of events."""

    here: Scene
    chance: Random
    model: Model = field(default_factory=Model)

    async def run(self, steps: int) -> None:
        moves: tuple[Step, ...] = (
            self.say, self.say, self.say, self.propose, self.propose, self.approve, self.reject, self.consent,
            self.revoke, self.retract, self.undo, self.wait, self.correct,
        )  # fmt: skip
        for _ in range(steps):
            await self.chance.choice(moves)()
            await self.check()

    # -- what happens

    async def say(self) -> None:
        user = self.chance.choice(USERS)
        text = self.chance.choice(
            (
                f"My name is {self.chance.choice(NAMES)}.",
                f"I prefer {self.chance.choice(DRINKS)}.",
                f"Actually, my name is {self.chance.choice(NAMES)}.",
                "my password is hunter2",
                "How are you?",
                f"We decided to drink {self.chance.choice(DRINKS)}.",
            )
        )
        session = f"s{self.chance.randrange(4)}"
        via = self.chance.choice((None, None, None, "web"))
        more = {} if via is None else {"via": via, "speaker": "assistant"}
        for found in await self.here.say(text, user, session=session, **more):
            await self.became(user, found)

    async def propose(self) -> None:
        user = self.chance.choice(USERS)
        entity, predicate = self.chance.choice(
            ((f"user:{user}", "favourite_tea"), (f"user:{user}", "preferred_language"), ("project:x", "status"))
        )
        candidate = {
            "entity_ceid": entity,
            "predicate": predicate,
            "value": self.chance.choice(DRINKS),
            "evidence_refs": ["tool:crm:1"],
            "confidence": self.chance.choice((0.3, 0.9)),
        }
        kind = self.chance.choice(("preference", "evidence_link", "correction"))
        told = await self.here.as_user(user).propose({"candidate": candidate, "class": kind})
        await self.became(user, told)

    async def became(self, user: str, found: dict[str, Any]) -> None:
        if found["outcome"] == "promoted":
            await self.promoted(user, found["record_id"])
        if found["outcome"] == "waiting":
            self.model.waiting[found["proposal_id"]] = user

    async def promoted(self, user: str, record_id: str) -> None:
        record = await self.here.as_user(user).get_record(record_id)
        for gone in record["supersedes"]:
            self.model.live.pop(gone, None)
        self.model.live[record_id] = record | {"user": user}
        self.model.ever.add(record_id)

    async def approve(self) -> None:
        if self.model.waiting:
            proposal_id = self.chance.choice(sorted(self.model.waiting))
            user = self.model.waiting.pop(proposal_id)
            try:
                done = await self.here.maria.approve_proposal(proposal_id)
            except ReviewRefused:
                return
            await self.promoted(user, done["record_id"])

    async def reject(self) -> None:
        if self.model.waiting:
            proposal_id = self.chance.choice(sorted(self.model.waiting))
            del self.model.waiting[proposal_id]
            try:
                await self.here.maria.reject_proposal(proposal_id)
            except ReviewRefused:
                return

    async def consent(self) -> None:
        user = self.chance.choice(USERS)
        told = await self.here.as_user(user).capture_consent(
            {
                "subject_ceid": f"user:{user}",
                "purpose": "support",
                "scope": {
                    "predicates_allowed": ["preferred_language"],
                    "data_classifications_allowed": ["INTERNAL"],
                },
                "basis": "user_opt_in",
                "evidence_refs": ["screen:1"],
            }
        )
        self.model.consents[told["consent_id"]] = user

    async def revoke(self) -> None:
        if self.model.consents:
            consent_id = self.chance.choice(sorted(self.model.consents))
            user = self.model.consents.pop(consent_id)
            told = await self.here.as_user(user).revoke_consent(consent_id)
            rested = {each for each, record in self.model.live.items() if record["consent_id"] == consent_id}
            assert set(told["impacted"]) == rested
            for each in rested:
                del self.model.live[each]

    async def retract(self) -> None:
        if self.model.live:
            record_id = self.chance.choice(sorted(self.model.live))
            user = self.model.live.pop(record_id)["user"]
            await self.here.as_user(user).retract_record(record_id)

    async def correct(self) -> None:
        if self.model.live:
            record_id = self.chance.choice(sorted(self.model.live))
            user = self.model.live[record_id]["user"]
            self.here.clock.advance(1)
            try:
                told = await self.here.as_user(user).correct_record(record_id, value=self.chance.choice(DRINKS))
            except InvalidInput:
                return
            await self.became(user, told)

    async def undo(self) -> None:
        session = f"s{self.chance.randrange(4)}"
        user = self.chance.choice(USERS)
        await self.here.as_user(user).undo(source=session)
        for each, record in list(self.model.live.items()):
            if record["user"] == user and session in record["lineage"]:
                del self.model.live[each]
        for proposal_id, who in list(self.model.waiting.items()):
            if who == user:
                found = await self.here.maria.get_proposal(proposal_id)
                if found["status"] != "waiting":
                    del self.model.waiting[proposal_id]

    async def wait(self) -> None:
        self.here.clock.advance(self.chance.choice((1, 3_600, 86_400 * 8)))
        now = self.here.clock()
        for each, record in list(self.model.live.items()):
            ends = record["ends_at"]
            if ends is not None and _micros(ends) <= now:
                del self.model.live[each]

    # -- what is seen

    async def check(self) -> None:
        for user in USERS:
            memories = self.here.as_user(user)
            mine = {each for each, record in self.model.live.items() if record["user"] == user}
            page = await memories.list_records(limit=200)
            assert {each["id"] for each in page["records"]} == mine
            assert not (await memories.search(("user", user), limit=100)).items
            assert (await memories.call_tool("memory_search", {}, session="x"))["results"] == []
        for record_id in self.model.ever:
            for user in USERS:
                seen = await _seen(self.here.as_user(user), record_id)
                assert seen == (self.model.live.get(record_id, {}).get("user") == user)


def _micros(text: str) -> int:
    from recollect.domain.instants import parse_rfc3339

    found = parse_rfc3339(text)
    assert found is not None
    return int(found)


async def _seen(memories: Any, record_id: str) -> bool:
    try:
        await memories.get_record(record_id)
    except NotFound:
        return False
    return True


@sized(small=60, full=10_000)
@pytest.mark.timeout(3_600)
async def test_random_programs_show_only_what_was_promoted_and_still_may_be_seen(count: int) -> None:
    await played(count)


async def played(count: int, steps: int = 8) -> None:
    for number in range(count):
        async with scene() as here:
            await Program(here, Random(number)).run(steps)


async def test_an_end_that_ends_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:

    async def careless(*_: object, **__: object) -> int:
        return 1

    monkeypatch.setattr(Recording, "_end", careless)
    with pytest.raises(AssertionError):
        await played(30, 10)


@sized(small=40, full=10_000)
@pytest.mark.timeout(3_600)
async def test_after_a_revocation_returned_no_read_sees_what_rested_on_it(count: int) -> None:
    async with scene() as here:
        for number in range(count):
            user = f"u{number // 5}"
            memories = here.as_user(user)
            consent = {
                "consent_id": f"cns_{number}",
                "subject_ceid": f"user:{user}",
                "purpose": "support",
                "scope": {"predicates_allowed": ["preferred_language"], "data_classifications_allowed": ["INTERNAL"]},
                "basis": "user_opt_in",
                "evidence_refs": ["screen:1"],
            }
            await memories.capture_consent(consent)
            candidate = {
                "entity_ceid": f"user:{user}",
                "predicate": "preferred_language",
                "value": f"language {number}",
                "evidence_refs": ["tool:crm:1"],
                "confidence": 0.9,
            }
            told = await memories.propose({"candidate": candidate, "class": "preference"})
            record_id = (await here.maria.approve_proposal(told["proposal_id"]))["record_id"]
            revoked = asyncio.Event()

            async def revoke(memories: Any = memories, number: int = number, revoked: asyncio.Event = revoked) -> None:
                await memories.revoke_consent(f"cns_{number}")
                revoked.set()

            async def read(
                memories: Any = memories, record_id: str = record_id, revoked: asyncio.Event = revoked
            ) -> None:
                while not revoked.is_set():
                    await _seen(memories, record_id)
                    await asyncio.sleep(0)
                assert not await _seen(memories, record_id)

            await asyncio.gather(read(), read(), revoke())
