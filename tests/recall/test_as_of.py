"""As of: the recall that was made then, made now, is the same, but for what may not be seen any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.pipeline.scene import Scene, scene
from tests.recall.planted import consented, ids, planted, texts
from tests.sizes import sized

from recollect.domain.errors import InvalidInput
from recollect.domain.instants import Instant, datetime_of
from recollect.service.recalling.as_of import Past

DRINKS = ("green tea", "black tea", "strong coffee", "cold water", "mate from Uruguay")
ASKED = ("which tea", "coffee in the morning", "water", None)


@dataclass
class Made:
    """A recall that was made, and its answer."""

    at: Instant
    asked: dict[str, Any]
    told: dict[str, Any]


@dataclass
class History:
    """One random course of events, with recalls in between."""

    here: Scene
    chance: Random
    made: list[Made] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    consents: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    rested: dict[str, str] = field(default_factory=dict)

    async def run(self, steps: int) -> None:
        moves: tuple[Callable[[], Awaitable[None]], ...] = (
            self.say, self.say, self.plant, self.plant, self.correct, self.retract, self.pin, self.consent, self.revoke,
            self.phase,
        )  # fmt: skip
        for _ in range(steps):
            await self.chance.choice(moves)()
            self.here.clock.advance(self.chance.choice((1, 60, 86_400, 20 * 86_400)))
            if self.chance.random() < 0.5:
                await self.recall()
        self.here.clock.advance(1)

    async def recall(self) -> None:
        asked: dict[str, Any] = {
            "query": self.chance.choice(ASKED),
            "session": self.chance.choice((None, "s1")),
            "ranker": self.chance.choice(("relevance", "relevance", "blended", "deterministic")),
            "limit": self.chance.choice((1, 3, 10)),
            "history": self.chance.random() < 0.3,
            "phase": self.chance.choice((None, None, "current")),
            "freshness": self.chance.choice((None, None, 86_400)),
        }
        told = await self.here.alice.recall(**asked)
        self.made.append(Made(self.here.clock(), asked, told))
        self.here.clock.advance(1)  # what is written at the very same moment was there then, as far as anybody can tell

    async def say(self) -> None:
        found = await self.here.say(f"I prefer {self.chance.choice(DRINKS)}.")
        self.live += [each["record_id"] for each in found if each["outcome"] == "promoted"]

    async def plant(self) -> None:
        session = self.chance.choice((None, "s1", "s2"))
        more: dict[str, Any] = {} if session is None else {"space": "session", "session": session}
        kind = self.chance.choice(("semantic", "semantic", "semantic", "profile", "short_term"))
        if self.chance.random() < 0.3:
            more["ends_at"] = self.here.clock() + 86_400_000_000
        text = f"{self.chance.choice(DRINKS)} and {self.chance.choice(DRINKS)}"
        await planted(self.here, text, kind=kind, **more)

    async def correct(self) -> None:
        if self.live:
            place = self.chance.randrange(len(self.live))
            text = f"I prefer {self.chance.choice(DRINKS)} now."
            try:
                told = await self.here.alice.correct_record(self.live[place], value=text, text=text)
            except InvalidInput:
                return
            if told["outcome"] == "promoted":
                self.live[place] = told["record_id"]

    async def retract(self) -> None:
        if self.live:
            gone = self.live.pop(self.chance.randrange(len(self.live)))
            await self.here.alice.retract_record(gone)
            self.hidden.add(gone)

    async def pin(self) -> None:
        if self.live:
            await self.here.alice.pin_record(self.chance.choice(self.live), pinned=self.chance.random() < 0.5)

    async def consent(self) -> None:
        if not self.consents:
            consent, record = await consented(self.here, self.chance.choice(("Dutch", "tea talk")))
            self.consents.append(consent)
            self.rested[record] = consent

    async def revoke(self) -> None:
        if self.consents:
            gone = self.consents.pop()
            await self.here.alice.revoke_consent(gone)
            self.hidden |= {record for record, consent in self.rested.items() if consent == gone}

    async def phase(self) -> None:
        await self.here.alice.start_phase(f"t{self.chance.randrange(1_000_000)}")

    async def check(self) -> None:
        for each in self.made:
            again = await self.here.alice.recall(as_of=datetime_of(each.at), **each.asked)
            assert not self.hidden & set(ids(again))
            if self.hidden & set(ids(each.told)):
                kept = [memory for memory in each.told["memories"] if memory["id"] not in self.hidden]
                fewer = [memory for memory in again["memories"] if memory["id"] in {one["id"] for one in kept}]
                assert fewer == kept
                continue
            assert again["memories"] == each.told["memories"]
            assert again["hash"] == each.told["hash"]
            assert again["counts"] == each.told["counts"]
            assert again["contradictions"] == each.told["contradictions"]
            assert again["as_of"] is not None


async def played(count: int, steps: int = 14) -> None:
    for number in range(count):
        async with scene() as here:
            history = History(here, Random(number))
            await history.run(steps)
            await history.check()


@sized(small=20, full=1_000)
@pytest.mark.timeout(7_200)
async def test_a_recall_as_of_then_is_the_recall_made_then(count: int) -> None:
    await played(count)


async def test_a_past_without_what_ended_since_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Past._rows

    async def only_live(past: Past, wish: Any) -> Any:
        return [row for row in await rows(past, wish) if row.ended_at is None]

    monkeypatch.setattr(Past, "_rows", only_live)
    with pytest.raises(AssertionError):
        await played(20)


async def test_a_consent_that_was_taken_back_covers_the_past_no_more(here: Scene) -> None:
    consent, record = await consented(here)
    then = datetime_of(here.clock())
    here.clock.advance(1)
    assert ids(await here.alice.recall("language", as_of=then)) == [record]
    await here.alice.revoke_consent(consent)
    here.clock.advance(1)
    assert ids(await here.alice.recall("language", as_of=then)) == []


async def test_what_was_erased_is_gone_from_the_past(here: Scene) -> None:
    await here.say("I prefer green tea.")
    then = datetime_of(here.clock())
    here.clock.advance(1)
    assert texts(await here.alice.recall("tea", as_of=then)) == ["I prefer green tea."]
    await here.admin.erase("user:alice")
    assert texts(await here.alice.recall("tea", as_of=then)) == []


async def test_before_anything_was_said_nothing_was_recalled(here: Scene) -> None:
    before = datetime_of(here.clock())
    here.clock.advance(1)
    await here.say("I prefer green tea.")
    assert texts(await here.alice.recall("tea", as_of=before)) == []
    assert texts(await here.alice.recall("tea")) == ["I prefer green tea."]
