"""Archiving: an item is set aside and brought back, keeps all it has, and can be repeated safely."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memories, Settings, errors
from recollect.domain.callers import new_caller
from recollect.domain.instants import datetime_of
from recollect.testing.doubles import ManualClock

NOTES = ("user", "alice", "notes")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def memories(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Memories]:
    place: Any = ":memory:" if request.param == "memory" else tmp_path / "data"
    settings = Settings(filterable_attributes=("lang",))
    async with recollect.open(place, clock=clock, settings=settings, actor="tester") as opened:
        yield opened


async def test_an_archived_item_keeps_all_it_has(memories: Memories, clock: ManualClock) -> None:
    until = datetime_of(clock.now) + timedelta(hours=1)
    await memories.put(NOTES, "k", {"n": 1}, attributes={"lang": "en", "x": [1]}, expires_at=until)
    before = await memories.get(NOTES, "k")
    clock.advance(1)
    done = await memories.archive(NOTES, "k")
    after = await memories.get(NOTES, "k", archived="only")
    assert before is not None
    assert after is not None
    kept = ("namespace", "key", "value", "attributes", "created_at", "expires_at")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (done.kind, done.revision, after.revision, after.archived) == ("update", 2, 2, True)
    assert after.updated_at == before.updated_at + timedelta(seconds=1)
    found = await memories.search(NOTES, filter={"lang": "en"}, archived="only")
    assert [item.key for item in found] == ["k"]
    assert (await memories.verify()).sound


async def test_archiving_does_not_prolong_a_life(memories: Memories, clock: ManualClock) -> None:
    await memories.put(NOTES, "k", {}, ttl=10)
    clock.advance(9)
    await memories.archive(NOTES, "k")
    clock.advance(1)
    assert await memories.get(NOTES, "k", archived="include") is None
    with pytest.raises(errors.NotFound):
        await memories.archive(NOTES, "k", archived=False)


async def test_the_past_knows_when_an_item_was_archived(memories: Memories, clock: ManualClock) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    then = datetime_of(clock.now)
    clock.advance(1)
    await memories.archive(NOTES, "k")
    clock.advance(1)
    await memories.archive(NOTES, "k", archived=False)
    assert await memories.get(NOTES, "k", as_of=then) is not None
    assert await memories.get(NOTES, "k", as_of=then + timedelta(seconds=1)) is None
    assert await memories.get(NOTES, "k", as_of=then + timedelta(seconds=1), archived="only") is not None
    assert [(each.revision, each.archived) for each in await memories.history(NOTES, "k")] == [
        (3, False),
        (2, True),
        (1, False),
    ]


async def test_a_repeated_archiving_is_answered_as_the_first_time(memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    first = await memories.archive(NOTES, "k", idempotency_key="a")
    again = await memories.archive(NOTES, "k", idempotency_key="a")
    assert (again.outcome, first.replayed, again.replayed) == (first.outcome, False, True)
    await memories.put(NOTES, "k", {"n": 2})
    head = await memories.head()
    late = await memories.archive(NOTES, "k", idempotency_key="a")
    assert (late.outcome, late.replayed) == (first.outcome, True)
    assert await memories.head() == head
    assert (await memories.get(NOTES, "k")) is not None, "what was written since stays"


@pytest.mark.parametrize("end", ["deleted", "expired"])
async def test_it_is_answered_so_even_when_the_item_is_gone(end: str, memories: Memories, clock: ManualClock) -> None:
    await memories.put(NOTES, "k", {"n": 1}, ttl=60)
    first = await memories.archive(NOTES, "k", idempotency_key="a")
    if end == "deleted":
        await memories.delete(NOTES, "k")
    else:
        clock.advance(60)
    head = await memories.head()
    again = await memories.archive(NOTES, "k", idempotency_key="a")
    assert (again.outcome, again.replayed) == (first.outcome, True)
    for key in (None, "b"):
        with pytest.raises(errors.NotFound):
            await memories.archive(NOTES, "k", idempotency_key=key)
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.archive(NOTES, "k", archived=False, idempotency_key="a")
    assert await memories.head() == head


async def test_an_idempotency_key_belongs_to_one_wish(memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    await memories.put(NOTES, "other", {"n": 1})
    await memories.archive(NOTES, "k", idempotency_key="a")
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.archive(NOTES, "k", archived=False, idempotency_key="a")
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.archive(NOTES, "other", idempotency_key="a")
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.archive(NOTES, "k", expected_revision=2, idempotency_key="a")
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.put(NOTES, "k", {"n": 1}, idempotency_key="a")


async def test_a_repeated_archiving_of_a_certain_revision_is_no_conflict(memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    for replayed in (False, True):
        done = await memories.archive(NOTES, "k", expected_revision=1, idempotency_key="a")
        assert (done.revision, done.replayed) == (2, replayed)
    with pytest.raises(errors.RevisionConflict):
        await memories.archive(NOTES, "k", expected_revision=1)


async def test_writers_at_the_same_time_lose_nothing(memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 0})

    async def write(number: int) -> None:
        await memories.put(NOTES, "k", {"n": number})

    async def archive(number: int) -> None:
        await memories.archive(NOTES, "k", archived=bool(number % 2))

    await asyncio.gather(*(call(number) for number in range(20) for call in (write, archive)))
    versions = (await memories.history(NOTES, "k"))[::-1]
    assert [each.revision for each in versions] == list(range(1, 42))
    for before, after in pairwise(versions):
        assert not (after.archived and after.value != before.value), "archiving never brings an older value back"
    assert (await memories.verify()).sound


async def test_archiving_needs_the_right_to_write_and_tells_nothing_without_it(memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    for caller in (new_caller("default", "bob"), new_caller("default", "alice", scopes=["read", "delete"])):
        for key in ("k", "never there"):
            with pytest.raises(errors.Forbidden):
                await memories.for_caller(caller).archive(NOTES, key, idempotency_key="a")


@pytest.mark.parametrize("wrong", ["yes", 1, None, []])
async def test_archived_is_true_or_false(wrong: Any, memories: Memories) -> None:
    await memories.put(NOTES, "k", {"n": 1})
    with pytest.raises(errors.InvalidQuery):
        await memories.archive(NOTES, "k", archived=wrong)
