"""Whether a database a hundred times as large is slower: two of our stores on one server, measured in turn."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import psycopg

import recollect
from benchmarks.engines.databases import Databases
from benchmarks.engines.subjects import settings
from benchmarks.running import Tell
from benchmarks.subjects.ours import OursAwaited, OursCalled
from benchmarks.workload import (
    BATCH,
    PER_NAMESPACE,
    TOPICS,
    Counts,
    Memo,
    Question,
    Sample,
    memo,
    memos,
    one_by_one,
)

SMALL = 10_000
_ROUNDS = 5
_TEAM = ("team", "t000001")
_TEAM_SIZE = 1_000
_WRITERS = 100


@dataclass(frozen=True)
class Grown:
    """What one size costs, in microseconds, and what it takes on disk."""

    items: int
    load_seconds: float
    get_p50: float
    put_p50: float
    search_p50: float
    bytes_per_item: dict[str, float]
    """By table, with its indexes beside it."""


@dataclass
class _Store:
    items: int
    url: str
    plain: OursCalled
    load_seconds: float
    gets: list[Sample]
    puts: list[Sample]
    searches: list[Sample]

    @property
    def users(self) -> int:
        return max(1, self.items // PER_NAMESPACE)


def measure_growth(counts: Counts, made: Databases, folder: Path, tell: Tell) -> list[Grown]:
    """Load both sizes, then measure them in turn."""
    with asyncio.Runner() as runner:
        sizes = (min(SMALL, counts.engine_growth // 10), counts.engine_growth)
        stores = [runner.run(_loaded(size, made.fresh(), folder / f"grown-{size}", tell)) for size in sizes]
    try:
        made.settle()
        for store in stores:
            _warm(store)
        for number in range(_ROUNDS):
            for store in stores if number % 2 == 0 else stores[::-1]:
                _measure(store, counts, number)
        tell("growth on PostgreSQL measured")
        return [_grown(store) for store in stores]
    finally:
        for store in stores:
            store.plain.close()


async def _loaded(items: int, url: str, folder: Path, tell: Tell) -> _Store:
    evented = OursAwaited(await recollect.open(folder, settings=settings(url)))
    users, began = max(1, items // PER_NAMESPACE), perf_counter_ns()
    try:
        for at in range(0, items, BATCH):
            await evented.fill(memos(at, min(BATCH, items - at), users))
            if (at + BATCH) % max(BATCH, items // 20) < BATCH:
                rate = (at + BATCH) * 1e9 / (perf_counter_ns() - began)
                tell(f"  growth on PostgreSQL: {min(at + BATCH, items):,} of {items:,} items, {rate:,.0f} a second")
        await evented.fill([_of_team(number) for number in range(_TEAM_SIZE)])
    finally:
        await evented.close()
    spent = (perf_counter_ns() - began) / 1e9
    return _Store(items, url, OursCalled(recollect.open_sync(folder, settings=settings(url))), spent, [], [], [])


def _of_team(number: int) -> Memo:
    return memo(number, _TEAM_SIZE, "t")._replace(namespace=(*_TEAM, "memories"))


def _warm(store: _Store) -> None:
    """Read once for every user and write once for every writer, so that keys are unwrapped at either size."""
    one_by_one(store.plain.get, [memo(user, store.users) for user in range(store.users)])
    one_by_one(store.plain.put, _fresh(store, "w", _WRITERS, 0))
    one_by_one(store.plain.search, [Question(_TEAM, topic) for topic in TOPICS])


def _measure(store: _Store, counts: Counts, number: int) -> None:
    chance = random.Random(number)
    wanted = [memo(chance.randrange(store.items), store.users) for _ in range(max(1, counts.grown_reads // _ROUNDS))]
    store.gets.append(one_by_one(store.plain.get, wanted))
    store.puts.append(
        one_by_one(store.plain.put, _fresh(store, f"p{number}-", max(1, counts.grown_writes // _ROUNDS), number))
    )
    asked = [Question(_TEAM, chance.choice(TOPICS)) for _ in range(max(1, counts.searches // _ROUNDS))]
    store.searches.append(one_by_one(store.plain.search, asked))


def _fresh(store: _Store, name: str, count: int, seed: int) -> list[Memo]:
    """New items of the writers, who are spread over all users."""
    apart, chance = max(1, store.users // _WRITERS), random.Random(seed)
    return [
        memo(chance.randrange(_WRITERS) * apart % store.users, store.users, f"{name}{each}-") for each in range(count)
    ]


_SIZES = """
SELECT c.relname::text, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('recollect', 'recollect_keys') AND c.relkind = 'r' ORDER BY 1
"""


def _grown(store: _Store) -> Grown:
    with psycopg.connect(store.url) as connection:
        sizes = connection.execute(_SIZES).fetchall()
    taken = {name: table / store.items for name, table, _ in sizes if table > 1 << 16}
    taken |= {f"indexes of {name}": indexes / store.items for name, _, indexes in sizes if indexes > 1 << 16}
    return Grown(
        store.items,
        store.load_seconds,
        median(sample.percentile(0.5) for sample in store.gets),
        median(sample.percentile(0.5) for sample in store.puts),
        median(sample.percentile(0.5) for sample in store.searches),
        taken,
    )


def ratios(grown: Sequence[Grown]) -> dict[str, float]:
    """How many times as long the large store takes."""
    small, large = grown[0], grown[-1]
    return {
        "engine_get_p50": large.get_p50 / small.get_p50,
        "engine_put_p50": large.put_p50 / small.put_p50,
        "engine_search_p50": large.search_p50 / small.search_p50,
    }
