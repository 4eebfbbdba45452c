"""What two processes do to each other: contend for a lease, repeat a request, share and erase a subject's keys."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from tests.concurrency.crew import in_threads, meet
from tests.concurrency.lifetimes import steady_clock

import recollect
from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.domain.errors import LeaseLost
from recollect.main import random_ids
from recollect.sync import drive

Answer = tuple[object, ...]


def part_of_repetition(path: Path, requests: int, threads: int) -> list[list[Answer]]:
    """Make each request from several threads at once; return all answers to each."""
    answers = []
    with recollect.open_sync(path) as memories:

        def ask(number: int) -> Answer:
            made = memories.put(("a",), str(number), {"n": number}, idempotency_key=f"request {number}")
            return made.kind, made.id, made.revision, made.sequence, made.updated_at, made.replayed

        for number in range(requests):
            meet()
            answers.append(in_threads(*([partial(ask, number)] * threads)))
    return answers


@dataclass(frozen=True, slots=True)
class Tenure:
    """The time within which somebody certainly held the lease, as far as they could know."""

    holder: str
    fence: int
    since: int
    until: int
    lapsed: bool


def overlapping(tenures: Sequence[Tenure]) -> list[tuple[Tenure, Tenure]]:
    """Pairs of neighbours, in the order given, of whom the later began before the earlier had ended."""
    return [(earlier, later) for earlier, later in pairwise(tenures) if later.since < earlier.until]


def part_of_contest(path: Path, first: int, contenders: int, tenures: int) -> list[Tenure]:
    """Contend for one lease until this process has held it so often; keep, release, or let it lapse."""
    store = SqliteStore(
        SqliteOptions(path / "recollect.db"), clock=steady_clock, ids=random_ids, sealer=Plain(), direct=True
    )
    held: list[Tenure] = []
    pause = threading.Event()

    def contend(number: int) -> None:
        chance = random.Random(number)
        attempt = 0
        while len(held) < tenures:
            attempt += 1
            lease = drive(store.acquire("work", f"{number}.{attempt}", chance.uniform(0.001, 0.01)))
            since = steady_clock()
            if lease is None:
                pause.wait(0.0005)
                continue
            lapsed = chance.random() < 0.5
            until = lease.expires_at
            if not lapsed:
                until = min(until, steady_clock())
                try:
                    drive(store.release(lease))
                except LeaseLost:
                    lapsed = True
            held.append(Tenure(lease.holder, lease.fence, since, until, lapsed))

    try:
        meet()
        in_threads(*(partial(contend, first + number) for number in range(contenders)))
    finally:
        drive(store.close())
    return held


def part_of_acquaintance(path: Path, name: str, other: str, subjects: int) -> int:
    """Write for new users at the same moment as the other process, and read what it wrote; count what was read."""
    read = 0
    with recollect.open_sync(path) as memories:
        for number in range(subjects):
            namespace = ("user", f"new {number}")
            meet()
            memories.put(namespace, name, {"by": name}, attributes={"also": name})
            meet()
            item = memories.get(namespace, other)
            read += item is not None and item.value == {"by": other} and item.attributes == {"also": other}
    return read


@dataclass(frozen=True, slots=True)
class Note:
    """A write to the user who is being erased, and when it was asked for."""

    key: str
    sequence: int
    invoked: int


@dataclass(frozen=True, slots=True)
class Erasing:
    """An erasure that returned, and where in the log its receipt is."""

    sequence: int
    returned: int


USER = ("user", "alice")
_OVER = (("control",), "over")


def part_of_erasing(path: Path, process: int, erasures: int) -> tuple[list[Note], list[Erasing]]:
    """Write to a user without pause, from two threads; the first process erases the user again and again meanwhile."""
    notes: list[Note] = []
    erased: list[Erasing] = []
    with recollect.open_sync(path) as memories:

        def write(thread: int) -> None:
            chance = random.Random(thread)
            number = 0
            while memories.get(*_OVER) is None:
                key = f"{process}.{thread}.{number}"
                invoked = time.monotonic_ns()
                written = memories.put((*USER, str(number % 3)), key, {"key": key}, attributes={"of": key})
                notes.append(Note(key, written.sequence or 0, invoked))
                memories.search(USER, limit=5)
                memories.history((*USER, str(number % 3)), f"{process}.{thread}.{chance.randint(0, number)}")
                memories.events(USER, limit=5)
                number += 1

        def erase() -> None:
            try:
                for _ in range(erasures):
                    memories.events(USER, after=memories.events(USER, limit=1_000).cursor, wait=1.0)
                    receipt = memories.erase("user:alice")
                    erased.append(Erasing(receipt.sequence, time.monotonic_ns()))
            finally:
                memories.put(*_OVER, {})

        meet()
        in_threads(partial(write, 0), partial(write, 1), *([erase] if process == 0 else []))
    return notes, erased
