"""What is done and how often: the items, the operations, and how each is timed."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

BATCH = 1_000
PER_NAMESPACE = 100
AT_ONCE = 16
PAGE = 10
TOPICS = ("python", "travel", "music", "food", "health", "work", "family", "sports", "books", "finance")
_WORDS = ("prefers", "morning", "meeting", "remembers", "context", "window", "agent", "weekly", "summary", "decided")


Work = TypeVar("Work")


class Memo(NamedTuple):
    """One item. Its topic is in the value, where peers filter, and beside it, where we do."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Counts:
    """How much of everything one run does."""

    items: int = 10_000
    rounds: int = 5
    writes: int = 400
    concurrent: int = 1_600
    reads: int = 2_000
    searches: int = 400
    broad: int = 20
    listings: int = 200
    mixed: int = 1_600
    growth: int = 1_000_000
    grown_writes: int = 2_000
    grown_reads: int = 5_000
    searched: int = 100_000
    """How many memories searches by query go up to."""
    engines: bool = True
    """Whether database servers are measured."""
    engine_growth: int = 1_000_000
    """How many items a database grows to; 0 leaves that out."""
    turns: int = 50_000
    """How many turns a year of conversation has; 0 leaves it out."""
    agents: bool = True
    """Whether the doors for agents are measured."""

    @property
    def namespaces(self) -> int:
        """How many namespaces the items are spread over."""
        return max(1, self.items // PER_NAMESPACE)


FULL = Counts()
QUICK = Counts(
    rounds=3,
    writes=150,
    concurrent=480,
    reads=500,
    searches=100,
    broad=5,
    listings=50,
    mixed=480,
    growth=100_000,
    turns=2_000,
    searched=10_000,
    engine_growth=20_000,
)


def memo(number: int, users: int, name: str = "m") -> Memo:
    """The item of that number: neighbours lie in different namespaces, as when many users write at a time."""
    topic = TOPICS[(number // users + number) % len(TOPICS)]
    chance = random.Random(number)
    text = " ".join(chance.choice(_WORDS) for _ in range(36))
    value = {
        "topic": topic,
        "text": text,
        "score": number % 100,
        "source": {"session": f"s-{number % 977}", "turn": number % 40},
        "tags": [topic, "memory", f"t{number % 7}"],
        "pinned": number % 5 == 0,
    }
    return Memo(("user", f"u{number % users:06d}", "memories"), f"{name}{number:07d}", value, {"topic": topic})


def memos(start: int, count: int, users: int, name: str = "m") -> list[Memo]:
    """So many items, from that number on."""
    return [memo(number, users, name) for number in range(start, start + count)]


class Question(NamedTuple):
    """A search: a prefix and a topic to filter by."""

    prefix: tuple[str, ...]
    topic: str


def questions(count: int, users: int, chance: random.Random, *, broad: bool) -> list[Question]:
    """Searches of one user's subtree each, or of everything."""
    return [
        Question(("user",) if broad else ("user", f"u{chance.randrange(users):06d}"), chance.choice(TOPICS))
        for _ in range(count)
    ]


class Step(NamedTuple):
    """One operation of the mixed workload."""

    kind: str
    memo: Memo
    question: Question


def mixed(count: int, stored: Sequence[Memo], users: int, chance: random.Random) -> list[Step]:
    """Half gets, three tenths puts, the rest searches and deletes."""
    kinds = chance.choices(("get", "put", "search", "delete"), (50, 30, 15, 5), k=count)
    return [
        Step(kind, chance.choice(stored), asked)
        for kind, asked in zip(kinds, questions(count, users, chance, broad=False), strict=True)
    ]


@dataclass(frozen=True)
class Sample:
    """How long so many operations took together, and each of them."""

    operations: int
    nanoseconds: int
    laps: list[int]

    @property
    def per_second(self) -> float:
        """Operations per second."""
        return self.operations * 1e9 / self.nanoseconds

    def percentile(self, share: float) -> float:
        """The latency in microseconds that this share of the operations did not exceed."""
        ordered = sorted(self.laps)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1_000

    @property
    def mean(self) -> float:
        """The mean latency in microseconds."""
        return sum(self.laps) / len(self.laps) / 1_000


def one_by_one(do: Callable[[Work], object], work: Sequence[Work], each: int = 1) -> Sample:
    """Time calls one after the other; each stands for so many operations."""
    laps: list[int] = []
    began = perf_counter_ns()
    for piece in work:
        start = perf_counter_ns()
        do(piece)
        laps.append(perf_counter_ns() - start)
    return Sample(len(work) * each, perf_counter_ns() - began, laps)


async def awaited(do: Callable[[Work], Awaitable[object]], work: Sequence[Work]) -> Sample:
    """Time calls that are awaited one after the other."""
    laps: list[int] = []
    began = perf_counter_ns()
    for piece in work:
        start = perf_counter_ns()
        await do(piece)
        laps.append(perf_counter_ns() - start)
    return Sample(len(work), perf_counter_ns() - began, laps)


async def by_tasks(do: Callable[[Work], Awaitable[object]], work: Sequence[Work]) -> Sample:
    """Time calls made by concurrent tasks, each awaiting its own one after the other."""
    began = perf_counter_ns()
    samples = await asyncio.gather(*(awaited(do, work[place::AT_ONCE]) for place in range(AT_ONCE)))
    return Sample(len(work), perf_counter_ns() - began, [lap for sample in samples for lap in sample.laps])


def by_threads(do: Callable[[Work], object], work: Sequence[Work]) -> Sample:
    """Time calls made by concurrent threads."""
    laps: list[list[int]] = [[] for _ in range(AT_ONCE)]
    ready = threading.Barrier(AT_ONCE + 1)

    def run(place: int) -> None:
        mine = work[place::AT_ONCE]
        ready.wait()
        laps[place] = one_by_one(do, mine).laps

    threads = [threading.Thread(target=run, args=(place,)) for place in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    ready.wait()
    began = perf_counter_ns()
    for thread in threads:
        thread.join()
    return Sample(len(work), perf_counter_ns() - began, [lap for mine in laps for lap in mine])
