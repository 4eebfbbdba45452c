"""Turns at the same moment: two services on one store lose nothing and do nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.conversation.course import MINUTE, due, going_on, rows
from tests.pipeline.scene import TENANT, Scene, scene
from tests.sizes import sized

from recollect.domain.address import Address
from recollect.domain.commits import Expect
from recollect.domain.errors import RecollectError
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.ports.units import UnitOfWork

BREAK = 7
"""Pairs in a session, before nothing is said for half an hour."""
FIRST = 100
"""What is numbered so is no time of day."""
Told = list[dict[str, Any]]


async def raced(home: Path, pairs: int) -> tuple[Told, list[str]]:
    """What two services were answered to turns taken at once, and what is wrong with what they left."""
    told: Told = []
    wrong: list[str] = []
    async with AsyncExitStack() as stack:
        scenes = [await stack.enter_async_context(scene(str(home))) for _ in range(2)]
        for number in range(FIRST, FIRST + pairs):
            for each in scenes:
                each.clock.advance(31 * MINUTE if (number - FIRST) % BREAK == 0 else 1)
            lines = (f"I want to learn song {number}{side}. I'll buy record {number}{side} tomorrow." for side in "ab")
            turns = [
                each.alice.converse(line, ai="ok", persona="Coach") for each, line in zip(scenes, lines, strict=True)
            ]
            swept = scenes[number % 2].root.workings.summarizing.close_idle(TENANT)
            answers = await asyncio.gather(*turns, swept, return_exceptions=True)
            wrong += [f"pair {number}: {type(each).__name__}" for each in answers if isinstance(each, RecollectError)]
            wrong += [f"pair {number}: {each!r}" for each in answers if isinstance(each, AssertionError | ValueError)]
            told += [each for each in answers if isinstance(each, dict)]
        await scenes[0].admin.summarize_pending()
        return told, [*wrong, *await findings(scenes[1], told, pairs)]


async def findings(here: Scene, told: Told, pairs: int) -> list[str]:
    """What is wrong with what is kept after so many pairs of turns."""
    wrong: list[str] = []

    def compare(what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            wrong.append(f"{what}: {found}, not {wanted}")

    turns = 2 * pairs
    compare("answers", sorted(each["number"] for each in told), list(range(1, turns + 1)))
    messages = [each["value"] for each in await rows(here.root, Plane.TURN)]
    compare("messages", [each["number"] for each in messages], list(range(1, turns + 1)))
    compare("the count", (await here.alice.get_session_state("Coach"))["message_count"], turns)
    compare("memories", len(await rows(here.root, Plane.RECORD)), turns)
    compare("todos", len(await rows(here.root, Plane.TODO)), turns)
    sessions = [each["value"] for each in await rows(here.root, Plane.SESSION) if "/sessions/" in each["where"]]
    wanted = -(-pairs // BREAK)
    compare("sessions", len(sessions), wanted)
    compare("turns of them", sum(each["turn_count"] for each in sessions), turns)
    compare("open ones", await going_on(here), [each["id"] for each in sessions if each.get("ended_at") is None])
    compare("opened", sum(each["opened"] for each in told), wanted)
    summaries = [each["where"] for each in await rows(here.root, Plane.SUMMARY)]
    kinds = Counter(each.split("/")[2] for each in summaries)
    compare("summaries", kinds["summaries"], wanted - 1)
    versions = [int(each.rpartition("/")[2]) for each in summaries if "/spine/" in each]
    compare("spines", versions, list(range(1, len(versions) + 1)))
    compare("what is due", await due(here), [])
    spines = [each["value"] for each in await rows(here.root, Plane.SUMMARY) if "/spine/" in each["where"]]
    (counter,) = [each["value"] for each in await rows(here.root, Plane.LINK) if each["where"] == "user/alice/spine"]
    compare("counted", sum(each["message_count"] for each in spines) + counter["since"], 2 * turns)
    return wrong


@sized(20, 1_000)
async def test_two_turns_at_once_lose_nothing_and_do_nothing_twice(tmp_path: Path, count: int) -> None:
    _, wrong = await raced(tmp_path / "home", count)
    assert wrong == []


async def test_a_service_that_does_not_look_whether_something_changed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def careless(self: UnitOfWork, address: Address) -> Row | None:
        row = await self._store.get(self._tenant, address)
        if address.plane is Plane.SETTING:
            self.require(Expect(address, row.revision if row else 0))
        return row

    monkeypatch.setattr(UnitOfWork, "get", careless)
    _, wrong = await raced(tmp_path / "home", 4)
    assert wrong != []


async def test_the_same_said_twice_at_once_is_one_memory(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        scenes = [await stack.enter_async_context(scene(str(tmp_path / "home"))) for _ in range(2)]
        turns = [each.alice.converse("I prefer tea. I'll call Mom tomorrow.", persona="Coach") for each in scenes]
        told = await asyncio.gather(*turns)
        outcomes = sorted(found["outcome"] for each in told for found in each["remembered"])
        assert outcomes == ["known", "promoted"]  # neither fails silently
        assert sorted(found["outcome"] for each in told for found in each["loops"]) == ["known", "opened"]
        (record,) = (await scenes[0].alice.list_records())["records"]
        assert record["mention_count"] == 2


async def test_the_same_request_twice_at_once_happens_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        scenes = [await stack.enter_async_context(scene(str(tmp_path / "home"))) for _ in range(2)]
        turns = [each.alice.converse("I prefer tea.", idempotency_key="one") for each in scenes]
        told = await asyncio.gather(*turns)
        assert sorted("replayed" in each for each in told) == [False, True]
        assert len((await scenes[1].alice.list_messages())["messages"]) == 1
