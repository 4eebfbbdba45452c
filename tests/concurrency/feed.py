"""Writers that fill the event log from two processes, and readers that follow it with nothing but a cursor.

The log is that of a data directory, which both processes open, or that of servers, to which both are clients.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import apsw
import psycopg
from tests.concurrency.crew import Crew, in_threads, meet

import recollect
import recollect_client
from recollect.domain.address import decode_namespace
from recollect.domain.instants import Instant
from recollect.main import system_clock
from recollect.service import views
from recollect.sync import MemoriesSync
from recollect.testing.feed import Discrepancies, compare
from recollect_client import Client

WRITERS, READERS = 4, 2
"""Of each process."""
_USERS, _KEYS = 4, 12
_DONE = ("done",)
_JITTER = 50_000
_LIMITS = (1, 3, 10, 50, 200)


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


_TOLD = "sequence, kind, namespace, key, revision"
_ITEMS = "FROM events WHERE tenant = 'default' AND plane = 'item'"


class Place(ABC):
    """Where a log is: how to reach it as its users do, and how to look at it without the store."""

    patience: ClassVar[float] = 0.02
    """How long a reader waits for news before it looks whether all is written."""

    @abstractmethod
    def open(self, *, writing: bool = False) -> AbstractContextManager[MemoriesSync | Client]:
        """Reach it."""

    @abstractmethod
    def look(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        """Ask for what is stored, with `?` for each binding."""

    def raw_log(self) -> list[Told]:
        """The log as it is stored."""
        return [_told(row) for row in self.look(f"SELECT {_TOLD} {_ITEMS} ORDER BY sequence")]


@dataclass(frozen=True)
class InFolder(Place):
    """In a data directory, written by processes whose clocks cannot be trusted."""

    path: Path

    def open(self, *, writing: bool = False) -> AbstractContextManager[MemoriesSync | Client]:
        return recollect.open_sync(self.path, clock=jittering_clock if writing else system_clock)

    def look(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(self.path / "recollect.db"), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.set_busy_timeout(10_000)
            return list(db.execute(sql, bindings))


@dataclass(frozen=True)
class Served(Place):
    """Behind a server, which has it in PostgreSQL."""

    patience = 0.5
    url: str
    token: str
    database: str

    def open(self, *, writing: bool = False) -> AbstractContextManager[MemoriesSync | Client]:  # noqa: ARG002 - the servers have the clocks
        return Client(self.url, self.token, timeout=60)

    def look(self, sql: str, *bindings: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database, options="-c search_path=recollect") as db:
            return db.execute(sql.replace("?", "%s").encode(), bindings).fetchall()


Follow = Callable[[Place, Choice, int], list[Told]]
"""A way to read the whole feed while it is written."""


def part_of_feed(
    writing: tuple[Place, ...],
    reading: tuple[Place, ...],
    first: int,
    events: int,
    follow: Follow,
    choices: tuple[Choice, ...],
) -> tuple[list[Told], list[list[Told]]]:
    """One process's writers and readers, in turn at the places; returns what was written, and what each reader got."""
    with ExitStack() as stack:
        opened = [stack.enter_context(place.open(writing=True)) for place in writing]
        meet()
        written: list[list[Told]] = []
        read: list[list[Told]] = [[] for _ in choices]
        share = events // WRITERS

        def write(number: int) -> None:
            written.append(_write(opened[number % len(opened)], number, share))

        def reads(number: int) -> None:
            read[number] = follow(reading[(first + number) % len(reading)], choices[number], first + number)

        in_threads(
            *(partial(write, first + number) for number in range(WRITERS)),
            *(partial(reads, number) for number in range(len(choices))),
        )
    return [event for part in written for event in part], read


def _write(memories: MemoriesSync | Client, writer: int, events: int) -> list[Told]:
    """Put and delete in commits of random size until so many events were made, then say so in the store."""
    chance = random.Random(writer)
    told: list[Told] = []
    terms: Any = recollect_client if isinstance(memories, Client) else views
    while len(told) < events:
        count = min(chance.choice((1, 1, 2, 5, 20)), events - len(told))
        operations = [_operation(chance, terms) for _ in range(count)]
        outcomes: Sequence[Any] = memories.batch(operations)
        for operation, outcome in zip(operations, outcomes, strict=True):
            if outcome.kind is not None and outcome.sequence is not None:
                place = (tuple(operation.namespace), operation.key)
                told.append(Told(outcome.sequence, str(outcome.kind), *place, outcome.revision))
    done = memories.put(_DONE, str(writer), {})
    assert done.kind is not None
    assert done.sequence is not None
    return [*told, Told(done.sequence, str(done.kind), _DONE, str(writer), done.revision)]


def _operation(chance: random.Random, terms: Any) -> Any:
    namespace = ("user", str(chance.randrange(_USERS)), chance.choice(("notes", "facts")))
    key = str(chance.randrange(_KEYS))
    if chance.random() < 0.3:
        return terms.DeleteOp(namespace, key)
    return terms.PutOp(namespace, key, {"n": chance.random()})


class _Patience:
    """So that a reader does not wait for ever for writers that have failed."""

    def __init__(self, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._since = time.monotonic()

    def ask(self, memories: MemoriesSync | Client, *, progress: bool) -> bool:
        """Whether everything was written; refuses to ask for ever while nothing happens."""
        if progress:
            self._since = time.monotonic()
        if time.monotonic() - self._since > self._seconds:
            raise TimeoutError("the writers neither write nor say that they are done")
        return len(memories.search(_DONE, limit=100)) == 2 * WRITERS


def by_sequence(place: Place, choice: Choice, seed: int) -> list[Told]:
    """Follow by the cursor the store gives, forgetting all but the cursor now and then, even amid a page."""
    chance = random.Random(seed)
    got: list[Told] = []
    cursor: str | None = None
    while True:
        cursor, finished = _until_restart(place, choice, chance, cursor, got)
        if finished:
            return got


def _until_restart(
    place: Place, choice: Choice, chance: random.Random, cursor: str | None, got: list[Told]
) -> tuple[str | None, bool]:
    patience, page = _Patience(), None
    with place.open() as memories:
        while True:
            ended = patience.ask(memories, progress=bool(page))
            limit, kinds = chance.choice(_LIMITS), choice.kinds
            page = memories.events(choice.within, kinds=kinds, after=cursor, limit=limit, wait=place.patience)
            restart = chance.random() < 0.02
            keep = chance.randint(0, len(page)) if restart else len(page)
            for event in page.events[:keep]:
                got.append(Told(event.sequence, str(event.kind), event.namespace, event.key, event.revision))
                cursor = event.cursor
            if restart:
                return cursor, False
            cursor = page.cursor
            if ended and page.complete:
                return cursor, True


def by_time(place: Place, choice: Choice, seed: int) -> list[Told]:
    """The planted bug: follow by (time, identity), as a log without a sequence would have to."""
    chance = random.Random(seed)
    got: list[Told] = []
    cursor: tuple[int, bytes] = (0, b"")
    patience, page = _Patience(), None
    with place.open() as memories:
        while True:
            ended = patience.ask(memories, progress=bool(page))
            sql = f"SELECT {_TOLD}, at, hash {_ITEMS} AND (at, hash) > (?, ?) ORDER BY at, hash LIMIT ?"
            page = place.look(sql, *cursor, chance.choice(_LIMITS))
            events = (_told(row) for row in page)
            got += [event for event in events if choice.selects(event)]
            if page:
                cursor = page[-1][5:]
            elif ended:
                return got
            else:
                threading.Event().wait(0.002)


def _told(row: tuple[Any, ...]) -> Told:
    return Told(row[0], row[1], decode_namespace(row[2]).segments, row[3], row[4])


def feed(
    crew: Crew, writing: tuple[Place, ...], reading: tuple[Place, ...], count: int, follow: Follow
) -> tuple[list[Told], list[tuple[Choice, list[Told]]]]:
    """What two processes wrote, with at least so many events, and what each reader of them got."""
    parts = crew.together(
        part_of_feed,
        (writing, reading, 0, count // 2, follow, CHOICES[:READERS]),
        (writing, reading, WRITERS, count // 2, follow, CHOICES[READERS:]),
    )
    written = [event for part, _ in parts for event in part]
    read = [got for _, part in parts for got in part]
    return written, list(zip(CHOICES, read, strict=True))


def check_feed(place: Place, count: int, written: list[Told], read: list[tuple[Choice, list[Told]]]) -> None:
    """Fail unless the log is what was written, and each reader got what it asked for of it, once and in order."""
    log = place.raw_log()
    assert len(log) >= count
    assert [event.sequence for event in log] == list(range(1, len(log) + 1))
    assert sorted(written) == log
    for choice, got in read:
        selected = [event for event in log if choice.selects(event)]
        assert len(selected) > count // 100
        assert compare(selected, got) == Discrepancies(0, 0, 0, 0)
        assert got == selected
    with place.open() as memories:
        assert memories.verify().sound


def check_caught(place: Place, read: list[tuple[Choice, list[Told]]]) -> None:
    """Fail unless every reader is seen to have missed and reordered something."""
    log = place.raw_log()
    for choice, got in read:
        found = compare([event for event in log if choice.selects(event)], got)
        assert found.missed > 0
        assert found.reordered > 0
