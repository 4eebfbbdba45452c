"""Measures: a course of events by a clock that is moved by hand, and the figures that it must give."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.pipeline.scene import TENANT, Scene, scene

from recollect import Memories
from recollect.domain.address import Address
from recollect.domain.callers import new_caller
from recollect.domain.commits import Commit, Put
from recollect.domain.errors import Forbidden, InvalidQuery
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import read_record
from recollect.service.measuring import gathering
from recollect.service.pipeline.places import Places

HOUR = 3_600.0


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path)


async def recalled(here: Scene, *records: str, user: str = "alice", number: int = 0, **told: Any) -> None:
    """Write the trace of a recall, as the way out writes it."""
    here.clock.advance(1)
    event = {"type": "memory_recall", "recalled": [{"id": each} for each in records]}
    recall = {"intent": None, "hits": len(records), "ranker": "blended", "tokens": 10} | told
    value = {"events": [event], "cause": None, "at": int(here.clock.now), "recall": recall}
    place = Places(user).trace(f"trc_{here.clock.now:032x}{number}")
    put = Put(place, msgspec.json.encode(value), None, '{"types":["memory_recall"]}')
    await here.root.workings.store.commit(Commit(TENANT, (put,)))


async def test_a_course_of_events_gives_the_figures_that_one_counts_by_hand(place: str) -> None:
    async with scene(place) as here:
        await here.say("My name is Ada.")
        await recalled(here, "user:alice:profile:1", intent="greet", tokens=20, retrieval_tokens=80)
        here.clock.advance(HOUR)
        corrected = await here.say("Actually, my name is Grace.")
        new = corrected[0]["record_id"]
        await recalled(here, new, intent="greet", tokens=30, retrieval_tokens=120)
        await recalled(here, intent="greet")
        await recalled(here, new)
        told = await here.alice.memory_metrics()
        assert told["scope"] == "user"
        assert told["recall"]["by_workflow"] == [
            {"workflow": "greet", "recalls": 3, "hits": 2, "hit_rate": 0.666667},
            {"workflow": "(none)", "recalls": 1, "hits": 1, "hit_rate": 1.0},
        ]
        assert told["tokens"] == {"recalls": 2, "tokens": 50, "retrieval_tokens": 200, "ratio": 0.25}
        assert told["corrections"] == {
            "corrections": 1, "adopted": 1, "missed": 0, "open": 0, "adoption_rate": 1.0, "signals": 1,
        }  # fmt: skip
        assert told["pii"] == {"violations": 0, "target": 0, "by_kind": {}}
        assert told["complete"] is True
        assert told["looked_at"]["record"] == 2  # the one that was put right is kept, and archived
        await recalled(here, "user:alice:profile:1")
        assert (await here.alice.memory_metrics())["corrections"]["missed"] == 1


async def test_reviews_and_contradictions_are_timed_by_the_clock(place: str) -> None:
    async with scene(place) as here:
        await here.say("My name is Ada.")
        here.clock.advance(60)
        await here.say("Actually, my name is Grace.")  # settled by a rule, at once
        here.clock.advance(60)
        await here.say("My name is Ada.")  # differs from a correction: a person decides
        (waiting,) = await here.waiting()
        here.clock.advance(2 * HOUR)
        open_ones = (await here.admin.memory_metrics())["contradictions"]
        assert (open_ones["open"], open_ones["resolved"]) == (1, 0)
        assert open_ones["oldest_open_seconds"] == pytest.approx(2 * HOUR, abs=0.001)
        assert open_ones["resolved_by_rule"] == 1
        await here.maria.approve_proposal(waiting["proposal_id"])
        told = await here.admin.memory_metrics()
        assert told["scope"] == "tenant"
        assert (told["contradictions"]["resolved"], told["contradictions"]["open"]) == (1, 0)
        assert told["contradictions"]["median_seconds"] == 2 * HOUR
        reviews = told["reviews"]
        assert (reviews["decided"], reviews["waiting"], reviews["by_verdict"]) == (1, 0, {"approved": 1})
        assert reviews["median_waiting_seconds"] == 2 * HOUR
        assert reviews["by_day"] == [{"day": "2026-01-01", "decided": 1}]
        assert reviews["per_day"] == round(1 / 30, 3)


async def test_personal_data_without_consent_is_found_wherever_it_came_from(place: str) -> None:
    async with scene(place) as here:
        await here.say("My name is Ada.")
        await here.say("I prefer concise updates.")
        assert (await here.admin.memory_metrics())["pii"]["violations"] == 0
        for key, text in (("profile:1", "Write to ada@example.com."), ("semantic:1", "I am diabetic.")):
            await plant(here, key, text)
        told = (await here.admin.memory_metrics())["pii"]
        assert told["violations"] == 2
        assert told["by_kind"]["health"] == 1
        assert set(told["record_ids"]) == {"user:alice:profile:1", "user:alice:semantic:1"}
        assert "record_ids" not in (await here.alice.memory_metrics())["pii"]
        assert (await here.alice.memory_metrics())["pii"]["violations"] == 2


async def plant(here: Scene, key: str, text: str) -> None:
    """Let a record say something that the gate would never have let in."""
    store, address = here.root.workings.store, Address(Plane.RECORD, Places("alice").own(), key)
    row = await store.get(TENANT, address)
    assert row is not None
    assert row.value is not None
    planted = msgspec.structs.replace(read_record(row.value), text=text)
    put = Put(address, msgspec.json.encode(planted), None, row.policy_attributes)
    await store.commit(Commit(TENANT, (put,)))


async def test_everybody_sees_their_own_figures_and_administrators_those_of_the_tenant(here: Scene) -> None:
    for user, times in (("alice", 2), ("bob", 3)):
        for _ in range(times):
            await recalled(here, "r", user=user)
    counts = {
        name: (await who.memory_metrics())["recall"]["recalls"]
        for name, who in (("alice", here.alice), ("bob", here.as_user("bob")), ("admin", here.admin))
    }
    assert counts == {"alice": 2, "bob": 3, "admin": 5}
    elsewhere = here.root.for_caller(new_caller("other_tenant", "root", roles=("admin",)))
    assert (await elsewhere.memory_metrics())["recall"]["recalls"] == 0
    with pytest.raises(Forbidden):
        await here.admin.justified("why not").memory_metrics()


async def test_the_window_is_what_was_asked_for(here: Scene) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(4):
        await recalled(here, "r")  # at 1, 2, 3 and 4 seconds
    told = await here.alice.memory_metrics(since=start + timedelta(seconds=2), until=start + timedelta(seconds=4))
    assert told["recall"]["recalls"] == 2
    assert (told["since"], told["until"]) == ("2026-01-01T00:00:02Z", "2026-01-01T00:00:04Z")
    here.clock.advance(40 * 86_400)
    assert (await here.alice.memory_metrics())["recall"]["recalls"] == 0
    with pytest.raises(InvalidQuery):
        await here.alice.memory_metrics(since=start, until=start)


async def test_what_is_looked_at_is_bounded_and_it_is_said_that_it_was_not_all(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MOST_ROWS", 3)
    monkeypatch.setattr(gathering, "_PAGE", 2)
    for _ in range(5):
        await recalled(here, "r")
    told = await here.alice.memory_metrics()
    assert (told["recall"]["recalls"], told["looked_at"]["trace"], told["complete"]) == (3, 3, False)


async def test_precision_is_judged_by_asking_each_question(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    known: Mapping[str, list[str]] = {"who": ["a", "b"], "where": ["c"]}
    asked: list[tuple[str, int]] = []

    async def recall(_: Memories, query: str, *, limit: int) -> dict[str, Any]:
        asked.append((query, limit))
        return {"memories": [{"id": each, "also_known_as": f"mem-{each}"} for each in known[query]]}

    monkeypatch.setattr(Memories, "recall", recall, raising=False)
    labels = [{"query": "who", "relevant": ["mem-a"]}, {"query": "where", "relevant": ["c", "d"]}]
    told = await here.alice.recall_precision(labels, limit=5)
    assert asked == [("who", 5), ("where", 5)]
    assert told == {"queries": 2, "k": 5, "answered": 2, "precision": 0.75, "recall": 0.75}
