"""What a unit of work read still holds when it commits; requests repeat safely; a lease has one holder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.rivals import Tenure, overlapping, part_of_contest, part_of_repetition
from tests.sizes import sized

import recollect
from recollect.backends.keyring import Plain
from recollect.backends.memory import MemoryStore
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Commit, Put
from recollect.domain.errors import Contention
from recollect.domain.queries import EventQuery, Find
from recollect.domain.reasons import Plane
from recollect.main import random_ids, system_clock
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork

TENANT = "t"
TASKS, INCREMENTS = 16, 50
COUNTER = Address(Plane.ITEM, Namespace.of("counters"), "one")
PATIENT = 100_000
"""Attempts: enough that nobody ever gives up, and still a bound."""


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "memory":
        opened = MemoryStore(clock=system_clock, ids=random_ids, sealer=Plain())
    else:
        options = SqliteOptions(tmp_path / "rows.db")
        opened = SqliteStore(options, clock=system_clock, ids=random_ids, sealer=Plain())
    yield opened
    await opened.close()


async def test_increments_in_units_of_work_are_never_lost(store: Store) -> None:
    async def increment(unit: UnitOfWork) -> None:
        row = await unit.get(COUNTER)
        await asyncio.sleep(0)
        unit.write(Put(COUNTER, _number(0 if row is None or row.value is None else int(row.value) + 1)))

    async def task() -> None:
        for _ in range(INCREMENTS):
            await store.transact(TENANT, increment, attempts=PATIENT)

    await asyncio.gather(*(task() for _ in range(TASKS)))
    row = await store.get(TENANT, COUNTER)
    assert row is not None
    assert row.value == _number(TASKS * INCREMENTS - 1)
    assert row.revision == TASKS * INCREMENTS


async def test_increments_without_a_unit_of_work_are_seen_to_be_lost(store: Store) -> None:
    async def task() -> None:
        for _ in range(INCREMENTS):
            row = await store.get(TENANT, COUNTER)
            await asyncio.sleep(0)
            put = Put(COUNTER, _number(0 if row is None or row.value is None else int(row.value) + 1))
            await store.commit(Commit(TENANT, (put,)))

    await asyncio.gather(*(task() for _ in range(TASKS)))
    row = await store.get(TENANT, COUNTER)
    assert row is not None
    assert row.value is not None
    assert int(row.value) < TASKS * INCREMENTS - 1


def _number(number: int) -> bytes:
    return str(number).encode()


@sized(50, 1_000)
async def test_of_two_who_found_a_scope_empty_only_one_adds_to_it(store: Store, count: int) -> None:
    for number in range(count):
        outcomes = await _two_add_where_empty(store, number, careful=True)
        assert [type(outcome) for outcome in outcomes if outcome is not None] == [Contention]
        assert len((await store.find(TENANT, Find(Plane.ITEM, _scope(number)))).rows) == 1


async def test_without_a_unit_of_work_both_are_seen_to_add(store: Store) -> None:
    assert await _two_add_where_empty(store, 0, careful=False) == [None, None]
    assert len((await store.find(TENANT, Find(Plane.ITEM, _scope(0)))).rows) == 2


def _scope(number: int) -> Namespace:
    return Namespace.of("room", str(number))


async def _two_add_where_empty(store: Store, number: int, *, careful: bool) -> list[BaseException | None]:
    """Two rivals who have both looked before either adds; each adds below the scope, at a place of its own."""
    both_looked = asyncio.Barrier(2)

    async def add(rival: str) -> None:
        put = Put(Address(Plane.ITEM, Namespace.of("room", str(number), rival), "seat"), b"{}")
        async with store.begin(TENANT) as unit:
            query = Find(Plane.ITEM, _scope(number))
            page = await (unit.find(query) if careful else store.find(TENANT, query))
            await both_looked.wait()
            if not page.rows:
                unit.write(put)

    return list(await asyncio.gather(add("left"), add("right"), return_exceptions=True))


async def test_a_request_repeated_at_the_same_time_happens_once(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        calls = (memories.put(("a",), "k", {"n": 1}, idempotency_key="once") for _ in range(16))
        receipts = await asyncio.gather(*calls)
        events = await memories.events()
    assert len(events) == 1
    assert sorted(receipt.replayed for receipt in receipts) == [False] + [True] * 15
    assert len({(receipt.id, receipt.revision, receipt.sequence, receipt.updated_at) for receipt in receipts}) == 1


@sized(20, 500)
def test_a_request_repeated_in_two_processes_happens_once(tmp_path: Path, crew: Crew, count: int) -> None:
    recollect.open_sync(tmp_path).close()
    parts = crew.together(part_of_repetition, (tmp_path, count, 8), (tmp_path, count, 8))
    for ours, theirs in zip(*parts, strict=True):
        assert len({receipt[:-1] for receipt in ours + theirs}) == 1
        assert sum(not replayed for *_, replayed in ours + theirs) == 1
    with recollect.open_sync(tmp_path) as memories:
        assert memories.head().startswith(f"{count}:")


@sized(200, 3_000)
def test_a_lease_never_has_two_holders_and_its_fences_grow(tmp_path: Path, crew: Crew, count: int) -> None:
    recollect.open_sync(tmp_path).close()
    parts = crew.together(part_of_contest, (tmp_path, 0, 4, count // 2), (tmp_path, 4, 4, count // 2))
    tenures = sorted((tenure for part in parts for tenure in part), key=lambda tenure: tenure.fence)
    assert len(tenures) >= count
    assert [tenure.fence for tenure in tenures] == list(range(1, len(tenures) + 1))
    assert overlapping(tenures) == []
    assert len({tenure.holder.split(".")[0] for tenure in tenures}) > 2
    assert any(tenure.lapsed for tenure in tenures)
    assert any(not tenure.lapsed for tenure in tenures)


def test_two_holders_at_a_time_are_caught() -> None:
    first, second = Tenure("a.1", 1, 10, 20, lapsed=False), Tenure("b.1", 2, 19, 30, lapsed=False)
    assert overlapping([first, second]) == [(first, second)]
    assert overlapping([first, Tenure("b.1", 2, 20, 30, lapsed=False)]) == []


async def test_events_of_a_refused_unit_of_work_are_not_in_the_log(store: Store) -> None:
    await _two_add_where_empty(store, 0, careful=True)
    assert len((await store.events(TENANT, EventQuery())).entries) == 1
