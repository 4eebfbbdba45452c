"""Whether a store a hundred times as large is slower: two of our stores, measured in turn."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from benchmarks.running import Tell
from benchmarks.subjects.ours import Ours, OursAwaited, OursCalled
from benchmarks.workload import BATCH, PER_NAMESPACE, Counts, Memo, Sample, awaited, memo, memos, one_by_one

SMALL = 10_000
_ROUNDS = 5
_WRITERS = 100
"""Puts come from so many users at either size, as at any moment only some of all users are active."""


@dataclass(frozen=True)
class Grown:
    """What one size costs, in microseconds."""

    items: int
    bytes_on_disk: int
    load_seconds: float
    get_p50: float
    get_mean: float
    put_p50: float
    put_mean: float
    batch_put_per_item: float


@dataclass
class _Store:
    items: int
    folder: Path
    evented: OursAwaited
    plain: OursCalled
    load_seconds: float
    gets: list[Sample]
    puts: list[Sample]
    batches: list[Sample]

    @property
    def users(self) -> int:
        return max(1, self.items // PER_NAMESPACE)


def measure_growth(counts: Counts, folder: Path, tell: Tell) -> list[Grown]:
    """Load both sizes, then measure them in turn."""
    with asyncio.Runner() as runner:
        sizes = (min(SMALL, counts.growth // 10), counts.growth)
        stores = [runner.run(_loaded(size, folder / f"growth-{size}", tell)) for size in sizes]
        try:
            for store in stores:
                _warm(store, runner)
            for number in range(_ROUNDS):
                for store in stores if number % 2 == 0 else stores[::-1]:
                    _measure(store, counts, number, runner)
            tell("growth measured")
            return [_grown(store) for store in stores]
        finally:
            for store in stores:
                store.plain.close()
                runner.run(store.evented.close())
                shutil.rmtree(store.folder)


async def _loaded(items: int, folder: Path, tell: Tell) -> _Store:
    evented = await Ours().evented(folder)
    users = max(1, items // PER_NAMESPACE)
    spent = 0
    for at in range(0, items, BATCH):
        batch = memos(at, min(BATCH, items - at), users)
        began = perf_counter_ns()
        await evented.fill(batch)
        spent += perf_counter_ns() - began
        if (at + BATCH) % max(BATCH, items // 20) < BATCH:
            tell(f"  growth: {min(at + BATCH, items):,} of {items:,} items, {(at + BATCH) * 1e9 / spent:,.0f} a second")
    return _Store(items, folder, evented, Ours().plain(folder), spent / 1e9, [], [], [])


def _warm(store: _Store, runner: asyncio.Runner) -> None:
    """Read once for every user and write once for every writer, so that keys are unwrapped at either size."""
    one_by_one(store.plain.get, [memo(user, store.users) for user in range(store.users)])
    runner.run(awaited(store.evented.put, _fresh(store, "w", _WRITERS, 0)))


def _measure(store: _Store, counts: Counts, number: int, runner: asyncio.Runner) -> None:
    chance = random.Random(number)
    wanted = [memo(chance.randrange(store.items), store.users) for _ in range(max(1, counts.grown_reads // _ROUNDS))]
    store.gets.append(one_by_one(store.plain.get, wanted))
    fresh = _fresh(store, f"p{number}-", max(1, counts.grown_writes // _ROUNDS), number)
    store.puts.append(runner.run(awaited(store.evented.put, fresh)))
    batches = [_fresh(store, f"b{number}-{part}-", BATCH, number + part) for part in range(2)]
    store.batches.append(runner.run(awaited(store.evented.fill, batches)))


def _fresh(store: _Store, name: str, count: int, seed: int) -> list[Memo]:
    """New items of the writers, who are spread over all users."""
    apart = max(1, store.users // _WRITERS)
    chance = random.Random(seed)
    return [
        memo(chance.randrange(_WRITERS) * apart % store.users, store.users, f"{name}{each}-") for each in range(count)
    ]


def _grown(store: _Store) -> Grown:
    size = sum(file.stat().st_size for file in store.folder.rglob("*") if file.is_file())
    return Grown(
        store.items,
        size,
        store.load_seconds,
        median(sample.percentile(0.5) for sample in store.gets),
        median(sample.mean for sample in store.gets),
        median(sample.percentile(0.5) for sample in store.puts),
        median(sample.mean for sample in store.puts),
        median(sample.mean for sample in store.batches) / BATCH,
    )


def ratios(grown: Sequence[Grown]) -> dict[str, float]:
    """How many times as long the large store takes."""
    small, large = grown[0], grown[-1]
    return {
        "get_p50": large.get_p50 / small.get_p50,
        "get_mean": large.get_mean / small.get_mean,
        "put_p50": large.put_p50 / small.put_p50,
        "put_mean": large.put_mean / small.put_mean,
        "batch_put_per_item": large.batch_put_per_item / small.batch_put_per_item,
    }
