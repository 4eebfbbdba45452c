"""Writers that fill the event log from two processes, and readers that follow it with nothing but a cursor."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw
from tests.concurrency.crew import in_threads, meet

import recollect
from recollect.domain.address import decode_namespace
from recollect.domain.instants import Instant
from recollect.service.views import DeleteOp, PutOp
from recollect.sync import MemoriesSync

WRITERS, READERS = 4, 2
"""Of each process."""
_USERS, _KEYS = 4, 12
_DONE = ("done",)
_JITTER = 50_000


class Told(NamedTuple):
    """What identifies an event; writers learn it from their receipts, readers from the log."""

    sequence: int
    kind: str
    namespace: tuple[str, ...]
    key: str
    revision: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Which events a reader asks for."""

    within: tuple[str, ...] = ()
    kinds: frozenset[str] | None = None

    def selects(self, event: Told) -> bool:
        """Whether the event is one of them, told without the help of the store."""
        inside = event.namespace[: len(self.within)] == self.within
        return inside and (self.kinds is None or event.kind in self.kinds)


CHOICES = (
    Choice(),
    Choice(("user", "1")),
    Choice((), frozenset({"add", "delete"})),
    Choice(("user", "2"), frozenset({"update"})),
)


def jittering_clock() -> Instant:
    """A clock that cannot be trusted within a twentieth of a second."""
    return Instant(time.time_ns() // 1_000 + random.randint(-_JITTER, _JITTER))


Follow = Callable[[Path, Choice, int], list[Told]]
"""A way to read the whole feed while it is written."""


def part_of_feed(
    path: Path, first: int, events: int, follow: Follow, choices: tuple[Choice, ...]
) -> tuple[list[Told], list[list[Told]]]:
    """One process's writers and readers; returns what was written, and what each reader got."""
    with recollect.open_sync(path, clock=jittering_clock) as memories:
        meet()
        written: list[list[Told]] = []
        read: list[list[Told]] = [[] for _ in choices]
        share = events // WRITERS

        def write(number: int) -> None:
            written.append(_write(memories, number, share))

        def reads(number: int) -> None:
            read[number] = follow(path, choices[number], first + number)

        in_threads(
            *(partial(write, first + number) for number in range(WRITERS)),
            *(partial(reads, number) for number in range(len(choices))),
        )
    return [event for part in written for event in part], read


def _write(memories: MemoriesSync, writer: int, events: int) -> list[Told]:
    """Put and delete in commits of random size until so many events were made, then say so in the store."""
    chance = random.Random(writer)
    told: list[Told] = []
    while len(told) < events:
        operations = [_operation(chance) for _ in range(min(chance.choice((1, 1, 2, 5, 20)), events - len(told)))]
        for operation, outcome in zip(operations, memories.batch(operations), strict=True):
            if outcome.kind is not None and outcome.sequence is not None:
                place = (tuple(operation.namespace), operation.key)
                told.append(Told(outcome.sequence, outcome.kind.value, *place, outcome.revision))
    done = memories.put(_DONE, str(writer), {})
    assert done.kind is not None
    assert done.sequence is not None
    return [*told, Told(done.sequence, done.kind.value, _DONE, str(writer), done.revision)]


def _operation(chance: random.Random) -> PutOp | DeleteOp:
    namespace = ("user", str(chance.randrange(_USERS)), chance.choice(("notes", "facts")))
    key = str(chance.randrange(_KEYS))
    return DeleteOp(namespace, key) if chance.random() < 0.3 else PutOp(namespace, key, {"n": chance.random()})


class _Patience:
    """So that a reader does not wait for ever for writers that have failed."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._since = time.monotonic()

    def ask(self, memories: MemoriesSync, *, progress: bool) -> bool:
        """Whether everything was written; refuses to ask for ever while nothing happens."""
        if progress:
            self._since = time.monotonic()
        if time.monotonic() - self._since > self._seconds:
            raise TimeoutError("the writers neither write nor say that they are done")
        return len(memories.search(_DONE, limit=100)) == 2 * WRITERS


def by_sequence(path: Path, choice: Choice, seed: int) -> list[Told]:
    """Follow by the cursor the store gives, forgetting all but the cursor now and then, even amid a page."""
    chance = random.Random(seed)
    got: list[Told] = []
    cursor: str | None = None
    while True:
        cursor, finished = _until_restart(path, choice, chance, cursor, got)
        if finished:
            return got


def _until_restart(
    path: Path, choice: Choice, chance: random.Random, cursor: str | None, got: list[Told]
) -> tuple[str | None, bool]:
    patience, page = _Patience(), None
    with recollect.open_sync(path) as memories:
        while True:
            ended = patience.ask(memories, progress=bool(page))
            limit = chance.choice((1, 3, 10, 50, 200, 1_000))
            page = memories.events(choice.within, kinds=choice.kinds, after=cursor, limit=limit, wait=0.02)
            restart = chance.random() < 0.02
            keep = chance.randint(0, len(page)) if restart else len(page)
            for event in page.events[:keep]:
                got.append(Told(event.sequence, event.kind.value, event.namespace, event.key, event.revision))
                cursor = event.cursor
            if restart:
                return cursor, False
            cursor = page.cursor
            if ended and page.complete:
                return cursor, True


def by_time(path: Path, choice: Choice, seed: int) -> list[Told]:
    """The planted bug: follow by (time, identity), as a log without a sequence would have to."""
    chance = random.Random(seed)
    got: list[Told] = []
    cursor: tuple[int, bytes] = (0, b"")
    patience, page = _Patience(), None
    with recollect.open_sync(path) as memories, closing(_raw(path)) as db:
        while True:
            ended = patience.ask(memories, progress=bool(page))
            limit = chance.choice((1, 3, 10, 50, 200, 1_000))
            sql = f"SELECT {_TOLD}, at, hash FROM events WHERE (at, hash) > (?, ?) ORDER BY at, hash LIMIT ?"
            page = list(db.execute(sql, (*cursor, limit)))
            events = (_told(row) for row in page)
            got += [event for event in events if choice.selects(event)]
            if page:
                cursor = page[-1][5:]
            elif ended:
                return got
            else:
                threading.Event().wait(0.002)


_TOLD = "sequence, kind, namespace, key, revision"


def _raw(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path / "recollect.db"), flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(10_000)
    return db


def _told(row: tuple[int, str, str, str, int, object, object]) -> Told:
    return Told(row[0], row[1], decode_namespace(row[2]).segments, row[3], row[4])


def raw_log(path: Path) -> Iterator[Told]:
    """The log as it lies in the file, read without the store."""
    with closing(_raw(path)) as db:
        yield from (_told((*row, None, None)) for row in db.execute(f"SELECT {_TOLD} FROM events ORDER BY sequence"))
