"""What persists where: row by row, and in random programs, in which nothing reaches whom it is not for."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from tests.conversation.course import MINUTE, talk
from tests.pipeline.scene import Scene, scene
from tests.sizes import sized

from recollect import Memories
from recollect.domain.callers import new_caller
from recollect.domain.remembering.captures import Capture
from recollect.service.pipeline import engine
from recollect.service.pipeline.proposals import Origin, origin_of

USERS, PERSONAS = ("alice", "bob"), ("Coach", "Cook", "default")
STEPS = 8
"""Turns of one program; what it shows is looked at after every third, and at the end by everybody."""
IN_ONE_STORE = 250
Who = tuple[str, str, str]


# -- row by row


async def test_memories_are_written_for_all_personas_and_read_by_each(here: Scene) -> None:
    await talk(here, "I live in Austin, Texas.")
    for persona in ("Coach", "Cook", None):
        found = (await here.alice.recall("Austin", persona=persona))["memories"]
        assert [each["text"] for each in found] == ["I live in Austin, Texas."]


async def test_a_private_memory_is_read_by_its_persona_alone(here: Scene) -> None:
    await here.alice.converse("I live in Austin, Texas.", persona="Coach", private=True)
    assert len((await here.alice.recall("Austin", persona="Coach"))["memories"]) == 1
    for persona in ("Cook", None):
        assert (await here.alice.recall("Austin", persona=persona))["memories"] == []
    (record,) = (await here.alice.list_records())["records"]  # to its owner it is no secret
    assert record["persona"] == "Coach"
    assert (await here.alice.list_entities())["entities"] == []


async def test_a_private_memory_neither_replaces_nor_knows_what_others_know(here: Scene) -> None:
    await here.alice.converse("My name is Ada.", persona="Coach")
    private = await here.alice.converse("My name is Grace.", persona="Coach", private=True)
    assert [each["outcome"] for each in private["remembered"]] == ["promoted"]
    assert "existing" not in private["remembered"][0]
    again = await here.alice.converse("My name is Grace.", persona="Cook", private=True)
    assert [each["outcome"] for each in again["remembered"]] == ["promoted"]  # what Coach knows, Cook does not
    seen = {persona: await texts(here.alice, persona) for persona in (*PERSONAS, None)}
    assert seen["default"] == seen[None] == {"My name is Ada."}
    assert seen["Coach"] == seen["Cook"] == {"My name is Ada.", "My name is Grace."}
    here.clock.advance(1)
    moved = await here.alice.converse("My name is Kay.", persona="Cook")
    assert [each["outcome"] for each in moved["remembered"]] == ["promoted"]
    assert await texts(here.alice, "Coach") == {"My name is Kay.", "My name is Grace."}


async def texts(memories: Memories, persona: str | None) -> set[str]:
    return {each["text"] for each in (await memories.recall("name", persona=persona))["memories"]}


async def test_a_private_memory_that_is_put_right_stays_private(here: Scene) -> None:
    told = await here.alice.converse("I prefer tea.", persona="Coach", private=True)
    made = await here.alice.correct_record(told["remembered"][0]["record_id"], value="coffee", text="I prefer coffee.")
    assert (await here.alice.get_record(made["record_id"]))["persona"] == "Coach"


async def test_todos_state_sessions_and_messages_are_each_persona_s_own(here: Scene) -> None:
    await talk(here, "I'll call Mom tomorrow.", "I'll buy milk tomorrow.")
    await talk(here, "Hello.", persona="Cook")
    assert len((await here.alice.list_todos(persona="Coach"))["todos"]) == 2
    assert (await here.alice.list_todos(persona="Cook"))["todos"] == []
    assert (await talk(here, "I called Mom.", persona="Cook"))[0]["loops"] == []  # Coach heard of it, not Cook
    states = [await here.alice.get_session_state(persona) for persona in ("Coach", "Cook", "Other")]
    assert [each["message_count"] for each in states] == [2, 2, 0]
    assert [len((await here.alice.list_messages(persona=each))["messages"]) for each in ("Coach", "Cook")] == [2, 2]


async def test_the_state_and_the_summaries_outlive_sessions_and_turn_counts_do_not(here: Scene) -> None:
    told = await talk(here, *(f"line {number}" for number in range(4)))
    here.clock.advance(31 * MINUTE)
    (after,) = await talk(here, "Hello again.")
    assert (after["state"]["message_count"], after["session"]["turn_count"]) == (5, 1)
    over = await here.alice.get_session(told[0]["session"]["id"])
    assert over["summary"] is not None
    assert (await here.alice.get_session(after["session"]["id"]))["rolling"] is None
    assert len((await here.alice.list_messages(persona="Coach"))["messages"]) == 5


async def test_the_seed_and_the_spine_are_for_all_personas_and_tell_no_persona_s_own(here: Scene) -> None:
    await here.alice.put_seed("Ada is a nurse.")
    await talk(here, "My name is Ada.", "I'll call Mom tomorrow.", ai="ok")
    await here.alice.converse("I prefer tea.", persona="Coach", private=True)
    await talk(here, *("ok" for _ in range(10)), ai="fine", persona="Cook")
    spine = str(await here.alice.get_spine())
    assert "Ada" in spine
    assert "tea" not in spine
    assert "call Mom" not in spine


async def test_variants_of_a_name_are_suggested_as_one_and_never_merged_alone(here: Scene) -> None:
    await talk(here, "My brother Mukesh lives in Austin.", "My brother Makesh works at Acme.")
    assert len((await here.alice.list_entities())["entities"]) == 2
    (suggestion,) = (await here.alice.list_entity_suggestions())["suggestions"]
    await here.alice.decide_entity_suggestion(suggestion["id"], True)
    assert len((await here.alice.list_entities())["entities"]) == 1


# -- in random programs


@dataclass
class Program:
    """A random course of conversations, and who may know what of it."""

    here: Scene
    number: int
    chance: Random
    told: dict[str, tuple[Who, str]] = field(default_factory=dict)
    """Each word that was said once: by whom to whom, and as what: for `all`, `private`, or a `todo`."""
    leaks: list[str] = field(default_factory=list)

    def memories(self, who: Who) -> Memories:
        return self.here.root.for_caller(new_caller(who[0], who[1]))

    def anybody(self) -> Who:
        return self.chance.choice(self.tenants), self.chance.choice(USERS), self.chance.choice(PERSONAS)

    @property
    def tenants(self) -> tuple[str, str]:
        return f"one_{self.number}", f"two_{self.number}"

    async def run(self, steps: int = STEPS) -> list[str]:
        for number in range(steps):
            await self.say(f"zq{number}x")
            self.here.clock.advance(self.chance.choice((1, 1, 1, 1, 31 * MINUTE)))
            if number % 3 == 0:
                await self.look(self.anybody())
        await self.look(self.anybody())
        return self.leaks

    async def say(self, word: str) -> None:
        who = self.anybody()
        sort = self.chance.choice(("all", "all", "private", "private", "todo"))
        line = {
            "all": self.chance.choice(
                (f"I prefer {word}.", f"My name is {word}.", f"My sister {word.title()} is ill.")
            ),
            "private": self.chance.choice((f"I prefer {word}.", f"My name is {word}.", f"I live in {word.title()}.")),
            "todo": f"I'll buy {word} tomorrow.",
        }[sort]
        self.told[word] = who, sort
        await self.memories(who).converse(line, persona=who[2], private=sort == "private")

    async def look(self, who: Who) -> None:
        """Look at everything that somebody is shown in the presence of a persona."""
        memories, persona = self.memories(who), who[2]
        known = [word for word, (said, _) in self.told.items() if said[:2] == who[:2]]
        asked = self.chance.choice(known or ["nothing"])
        memory = [await memories.recall(asked, persona=persona), await memories.context(asked, persona=persona)]
        memory += [await memories.get_entity(each["ref"], persona=persona) for each in await self._people(memories)]
        if (await memories.list_spines(limit=1))["spines"]:
            memory.append(await memories.get_spine())
        own = [
            await memories.list_todos(persona=persona),
            await memories.list_messages(persona=persona),
            await memories.get_session_state(persona),
        ]
        sessions = (await memories.list_sessions(persona=persona))["sessions"]
        own += [await memories.get_session(each["id"]) for each in sessions]
        pack = await memories.conversation_context(self.chance.choice((asked, None)), persona=persona)
        self._check(who, str(pack).lower(), self._may_be_given)
        self._check(who, str(memory).lower(), self._may_know)
        self._check(who, str(own).lower(), self._is_own)
        self._check(who, str(await memories.list_entities()).lower(), self._may_all_know)

    async def _people(self, memories: Memories) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await memories.list_entities())["entities"]
        return found

    def _check(self, who: Who, shown: str, may: Any) -> None:
        shown = shown.replace("'query'", "")
        for word, (said, sort) in self.told.items():
            if word in shown and not may(who, said, sort):
                self.leaks.append(f"{who} is shown {word}, which {said} said for {sort}")

    @staticmethod
    def _may_know(who: Who, said: Who, sort: str) -> bool:
        return said[:2] == who[:2] and (sort == "all" or (sort == "private" and said[2] == who[2]))

    @staticmethod
    def _may_be_given(who: Who, said: Who, sort: str) -> bool:
        return said == who or (said[:2] == who[:2] and sort == "all")

    @staticmethod
    def _is_own(who: Who, said: Who, _: str) -> bool:
        return said == who

    @staticmethod
    def _may_all_know(who: Who, said: Who, sort: str) -> bool:
        return said[:2] == who[:2] and sort == "all"


async def leaks(count: int) -> list[str]:
    """What so many random programs show to whom it is not for, each in tenants of its own."""
    found: list[str] = []
    for first in range(0, count, IN_ONE_STORE):
        async with scene() as here:
            for number in range(first, min(count, first + IN_ONE_STORE)):
                found += await Program(here, number, Random(number)).run()
    return found


@sized(25, 10_000)
@pytest.mark.timeout(7_200)
async def test_nothing_reaches_another_persona_user_or_tenant(count: int) -> None:
    assert await leaks(count) == []


async def test_a_long_conversation_reaches_nobody_else(here: Scene) -> None:
    assert await Program(here, 0, Random(7)).run(80) == []


async def test_a_service_that_forgets_what_is_private_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(capture: Capture, _: str | None = None) -> Origin:
        return origin_of(capture)

    monkeypatch.setattr(engine, "origin_of", forgetful)
    assert await leaks(8) != []
