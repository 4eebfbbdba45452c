"""Only what was promoted, and may be seen now and for what is asked, is ever recalled: random programs and a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.pipeline.scene import Scene, scene
from tests.recall.planted import CONSENT, ids, planted
from tests.sizes import sized

from recollect.domain.errors import InvalidInput, NotFound, ReviewRefused
from recollect.domain.governance.spaces import OPEN
from recollect.domain.instants import parse_rfc3339
from recollect.domain.promotion.standing import Classification
from recollect.domain.recall.asking import Asked
from recollect.service.pipeline.recording import Recording
from recollect.service.recalling import recall
from recollect.service.recalling.scope import Crossing

USERS = {"alice": ("project:apollo",), "bob": (), "carol": ("project:apollo", "project:gemini")}
NAMES = ("Ada", "Grace", "Alan", "Kurt")
DRINKS = ("tea", "coffee", "mate", "water")
SESSIONS, PROJECTS, PERSONAS = ("s1", "s2"), ("apollo", "gemini"), (None, "coach", "cook")
PURPOSES = (None, None, "support", "sales")
LEVELS = tuple(Classification)
Step = Callable[[], Awaitable[None]]


@dataclass
class Known:
    """A record as the model knows it."""

    home: tuple[str, ...]
    """The space, and whose: a user, a session of a user, a project."""
    user: str
    promoted_at: int
    ends_at: int | None
    classification: Classification
    lineage: tuple[str, ...] = ()
    consent: str | None = None
    purpose: str | None = None
    persona: str | None = None
    past: bool = False


@dataclass
class Program:
    """One random course of events, and what follows from what the service said it did."""

    here: Scene
    chance: Random
    known: dict[str, Known] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    consents: dict[str, str] = field(default_factory=dict)

    def as_user(self, user: str) -> Any:
        return self.here.as_user(user, *USERS.get(user, ()))

    async def run(self, steps: int) -> None:
        moves: tuple[Step, ...] = (
            self.say, self.say, self.say, self.plant, self.plant, self.plant, self.propose, self.propose, self.approve,
            self.reject, self.consent, self.revoke, self.retract, self.correct, self.undo, self.wait, self.remember,
        )  # fmt: skip
        for _ in range(steps):
            await self.chance.choice(moves)()
            self.here.clock.advance(1)
            await self.check()

    # -- what happens

    async def say(self) -> None:
        user = self.chance.choice(list(USERS))
        text = self.chance.choice(
            (
                f"My name is {self.chance.choice(NAMES)}.",
                f"I prefer {self.chance.choice(DRINKS)}.",
                "my password is hunter2",
                f"We decided to drink {self.chance.choice(DRINKS)}.",
            )
        )
        more = self.chance.choice(({}, {}, {"via": "web", "speaker": "assistant"}))
        for found in await self.here.say(text, user, session=self.chance.choice(SESSIONS), **more):
            await self.became(user, found)

    async def plant(self) -> None:
        """What sessions, projects, personas and purposes hold comes by ways of its own."""
        user, space = self.chance.choice(list(USERS)), self.chance.choice(("session", "user", "project", "system"))
        session, project = self.chance.choice(SESSIONS), self.chance.choice(PROJECTS)
        ends = self.chance.choice((None, None, self.here.clock() + 3_600_000_000))
        level, persona = self.chance.choice(LEVELS), self.chance.choice(PERSONAS)
        purpose, kind = (
            self.chance.choice(PURPOSES),
            self.chance.choice(("semantic", "semantic", "profile", "short_term")),
        )
        record_id = await planted(
            self.here,
            f"{self.chance.choice(DRINKS)} for {self.chance.choice(NAMES)}",
            user=user,
            session=session if space == "session" else None,
            project=project if space == "project" else None,
            space=space,
            kind=kind,
            classification=level,
            persona=persona,
            purpose=purpose,
            ends_at=ends,
        )
        if kind == "short_term" and space != "session":
            return  # only sessions have turns
        home = {"session": ("session", user, session), "user": ("user", user), "project": ("project", project)}
        self.known[record_id] = Known(
            home.get(space, ("system",)), user, self.here.clock(), ends, level, (), None, purpose, persona
        )

    async def propose(self) -> None:
        user = self.chance.choice(list(USERS))
        candidate = {
            "entity_ceid": f"user:{user}",
            "predicate": self.chance.choice(("favourite_tea", "preferred_language")),
            "value": self.chance.choice(DRINKS),
            "evidence_refs": ["tool:crm:1"],
            "confidence": self.chance.choice((0.3, 0.9)),
        }
        told = await self.as_user(user).propose({"candidate": candidate, "class": "preference"})
        await self.became(user, told)

    async def remember(self) -> None:
        """What nobody promoted: captures, and items that are no records."""
        user = self.chance.choice(list(USERS))
        await self.as_user(user).capture([{"text": f"The {self.chance.choice(DRINKS)} is cold."}])
        await self.as_user(user).put(("user", user), "k", {"text": self.chance.choice(DRINKS)})

    async def became(self, user: str, found: dict[str, Any]) -> None:
        if found["outcome"] == "promoted":
            await self.promoted(user, found["record_id"])
        if found["outcome"] == "waiting":
            self.waiting[found["proposal_id"]] = user

    async def promoted(self, user: str, record_id: str) -> None:
        record = await self.as_user(user).get_record(record_id)
        for gone in record["supersedes"]:
            if gone in self.known:
                self.known[gone].past = True
        home = {"session": ("session", user, record["session"]), "user": ("user", user)}
        if record["space"] == "project":
            home["project"] = ("project", record["owner"])
        self.known[record_id] = Known(
            home.get(record["space"], ("system",)),
            user,
            _micros(record["promoted_at"]),
            None if record["ends_at"] is None else _micros(record["ends_at"]),
            Classification[record["classification"]],
            tuple(record["lineage"]),
            record["consent_id"],
            record["purpose"],
        )

    async def approve(self) -> None:
        if self.waiting:
            proposal_id = self.chance.choice(sorted(self.waiting))
            user = self.waiting.pop(proposal_id)
            try:
                done = await self.here.maria.approve_proposal(proposal_id)
            except ReviewRefused:
                return
            await self.promoted(user, done["record_id"])

    async def reject(self) -> None:
        if self.waiting:
            proposal_id = self.chance.choice(sorted(self.waiting))
            del self.waiting[proposal_id]
            try:
                await self.here.maria.reject_proposal(proposal_id)
            except ReviewRefused:
                return

    async def consent(self) -> None:
        user = self.chance.choice(list(USERS))
        told = await self.as_user(user).capture_consent(CONSENT | {"subject_ceid": f"user:{user}"})
        self.consents[told["consent_id"]] = user

    async def revoke(self) -> None:
        if self.consents:
            consent_id = self.chance.choice(sorted(self.consents))
            await self.as_user(self.consents.pop(consent_id)).revoke_consent(consent_id)
            for each in [each for each, record in self.known.items() if record.consent == consent_id]:
                del self.known[each]

    def _own(self) -> list[str]:
        return sorted(each for each, record in self.known.items() if record.home[0] == "user" and not record.past)

    async def retract(self) -> None:
        if own := self._own():
            record_id = self.chance.choice(own)
            user = self.known[record_id].user
            try:
                await self.as_user(user).retract_record(record_id)
            except NotFound:
                assert self._ended(self.known[record_id])
            del self.known[record_id]

    async def correct(self) -> None:
        if own := [each for each in self._own() if not self._ended(self.known[each])]:
            record_id = self.chance.choice(own)
            user = self.known[record_id].user
            try:
                told = await self.as_user(user).correct_record(record_id, value=self.chance.choice(DRINKS))
            except InvalidInput:
                return
            await self.became(user, told)

    async def undo(self) -> None:
        session, user = self.chance.choice(SESSIONS), self.chance.choice(list(USERS))
        await self.as_user(user).undo(source=session)
        for each, record in list(self.known.items()):
            if record.user == user and session in record.lineage:
                del self.known[each]
        for proposal_id, who in list(self.waiting.items()):
            if who == user and (await self.here.maria.get_proposal(proposal_id))["status"] != "waiting":
                del self.waiting[proposal_id]

    async def wait(self) -> None:
        self.here.clock.advance(self.chance.choice((1, 3_600, 86_400 * 8)))

    # -- what is seen

    def _ended(self, record: Known) -> bool:
        return record.ends_at is not None and record.ends_at <= self.here.clock()

    async def check(self) -> None:
        chance, user = self.chance, self.chance.choice(list(USERS))
        asked: dict[str, Any] = {
            "query": chance.choice((None, "tea", "what does Ada drink", "decided")),
            "session": chance.choice((None, *SESSIONS)),
            "project": chance.choice((None, *PROJECTS)),
            "persona": chance.choice(PERSONAS),
            "intent": chance.choice(PURPOSES),
            "classification": chance.choice((None, None, *(each.name for each in LEVELS))),
            "freshness": chance.choice((None, None, 3_600)),
            "spaces": chance.choice((None, None, ["user"], ["session", "project"])),
            "ranker": chance.choice(("relevance", "blended", "deterministic")),
            "history": chance.random() < 0.3,
        }
        told = await self.as_user(user).recall(limit=200, **asked)
        allowed = {each for each, record in self.known.items() if self._may(user, asked, record)}
        given = ids(told)
        assert len(given) == len(set(given))
        assert set(given) == allowed, (asked, user)

    def _may(self, user: str, asked: dict[str, Any], record: Known) -> bool:
        """Whether a record is to be given, written down apart from how the service does it."""
        space = record.home[0]
        homes = {("user", user), ("system",)}
        if asked["session"]:
            homes.add(("session", user, asked["session"]))
        if asked["project"] and f"project:{asked['project']}" in USERS[user]:
            homes.add(("project", asked["project"]))
        now = self.here.clock()
        return (
            record.home in homes
            and (asked["spaces"] is None or space in asked["spaces"])
            and not self._ended(record)
            and (asked["history"] or not record.past)
            and (asked["classification"] is None or record.classification <= Classification[asked["classification"]])
            and (asked["freshness"] is None or record.promoted_at >= now - asked["freshness"] * 1_000_000)
            and (None in (record.purpose, asked["intent"]) or record.purpose == asked["intent"])
            and (record.persona is None or record.persona == asked["persona"])
        )


def _micros(text: str) -> int:
    found = parse_rfc3339(text)
    assert found is not None
    return int(found)


async def played(count: int, steps: int = 8) -> None:
    for number in range(count):
        async with scene() as here:
            await Program(here, Random(number)).run(steps)


@sized(small=60, full=10_000)
@pytest.mark.timeout(7_200)
async def test_random_programs_recall_only_what_may_be_seen_and_all_of_it(count: int) -> None:
    await played(count)


def _careless_end() -> tuple[Any, str, Any]:
    async def nothing(*_: object, **__: object) -> int:
        return 1

    return Recording, "_end", nothing


def _careless_asking() -> tuple[Any, str, Any]:
    return Asked, "admits", lambda *_: True


def _careless_border() -> tuple[Any, str, Any]:
    async def open_to_all(_: Any, places: Any, spaces: Any) -> list[Crossing]:
        return [Crossing(each, OPEN, places.root(each)) for each in spaces if places.has(each)]

    return recall, "crossings", open_to_all


@pytest.mark.parametrize("plant", [_careless_end, _careless_asking, _careless_border])
async def test_a_leak_is_noticed(monkeypatch: pytest.MonkeyPatch, plant: Callable[[], tuple[Any, str, Any]]) -> None:
    monkeypatch.setattr(*plant())
    with pytest.raises(AssertionError):
        await played(60)
