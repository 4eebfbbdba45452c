"""Things that expire while they are read, swept and renewed, and the judging of what readers and the log say."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.concurrency.crew import Crew, in_threads, meet

import recollect
from recollect.config import Secret, Settings
from recollect.domain.instants import Instant, instant_of
from recollect.domain.retention import Pass
from recollect.service.views import PutOp
from recollect.sync import MemoriesSync

_EPOCH = 1_767_225_600_000_000
_ROOMS = 8
_LONGEST_LIFE = 300_000
_MOST_LONGER = 60_000_000


def steady_clock() -> Instant:
    """Real time that never steps back and is the same in all processes of a machine."""
    return Instant(_EPOCH + time.monotonic_ns() // 1_000)


class Mortal(NamedTuple):
    """An item that was acknowledged, is written once, and is alone in its namespace."""

    room: str
    name: str
    expires_at: int


class Verdicts:
    """How many reads were right, wrong, or too close to the moment to tell."""

    def __init__(self) -> None:
        self.alive = self.gone = self.late = self.lost = 0
        self._lock = threading.Lock()

    def judge(self, expires_at: int, before: int, after: int, *, found: bool) -> None:
        """Judge a read that began at `before` and ended at `after`."""
        with self._lock:
            if before >= expires_at:
                self.late += found
                self.gone += not found
            elif after < expires_at:
                self.lost += not found
                self.alive += found


class Watch:
    """Readers, sweepers and a writer on one data directory, until so many reads were done."""

    def __init__(self, writing: MemoriesSync, reading: MemoriesSync, reads: int) -> None:
        self._writing, self._reading, self._reads = writing, reading, reads
        self._mortals: list[Mortal] = []
        self._over = threading.Event()
        self._shortest = steady_clock() + _LONGEST_LIFE * 2
        self.gets, self.searches, self.listings = Verdicts(), Verdicts(), Verdicts()

    def run(self, readers: int = 4, sweepers: int = 2) -> None:
        """Until the count is reached."""
        self._give_birth(random.Random(0))
        reading = [partial(self._read, number, self._reads // readers) for number in range(readers)]

        def read() -> None:
            try:
                in_threads(*reading)
            finally:
                self._over.set()

        in_threads(read, self._write, *([self._sweep] * sweepers))

    def _write(self) -> None:
        chance = random.Random(1)
        while not self._over.wait(0.004):
            self._give_birth(chance)

    def _give_birth(self, chance: random.Random) -> None:
        names = [(str(chance.randrange(_ROOMS)), f"{len(self._mortals) + place}") for place in range(10)]
        operations = [
            PutOp(("room", room, name), "it", {"n": name}, ttl=chance.uniform(0.005, _LONGEST_LIFE / 1e6))
            for room, name in names
        ]
        for (room, name), written in zip(names, self._writing.batch(operations), strict=True):
            assert written.expires_at is not None
            self._mortals.append(Mortal(room, name, instant_of(written.expires_at)))

    def _sweep(self) -> None:
        while not self._over.wait(0.001):
            self._writing.sweep()

    def _read(self, number: int, reads: int) -> None:
        chance = random.Random(number)
        asks = (self._get, self._get, self._get, self._get, self._get, self._get, self._search, self._list)
        done = 0
        while done < reads or steady_clock() < self._shortest:
            chance.choice(asks)(chance)
            done += 1

    def _get(self, chance: random.Random) -> None:
        mortal = self._mortals[-chance.randint(1, min(300, len(self._mortals)))]
        before = steady_clock()
        found = self._reading.get(("room", mortal.room, mortal.name), "it")
        self.gets.judge(mortal.expires_at, before, steady_clock(), found=found is not None)

    def _search(self, chance: random.Random) -> None:
        room = str(chance.randrange(_ROOMS))
        expected = self._recent(room)
        before = steady_clock()
        items = self._reading.search(("room", room), limit=1_000)
        after = steady_clock()
        self._judge(self.searches, expected, {item.namespace[2] for item in items}, before, after)

    def _list(self, chance: random.Random) -> None:
        room = str(chance.randrange(_ROOMS))
        expected = self._recent(room)
        before = steady_clock()
        namespaces = self._reading.list_namespaces(prefix=("room", room), limit=1_000)
        after = steady_clock()
        self._judge(self.listings, expected, {segments[2] for segments in namespaces}, before, after)

    def _recent(self, room: str) -> list[Mortal]:
        return [mortal for mortal in self._mortals[-400:] if mortal.room == room]

    @staticmethod
    def _judge(verdicts: Verdicts, expected: list[Mortal], found: set[str], before: int, after: int) -> None:
        for mortal in expected:
            verdicts.judge(mortal.expires_at, before, after, found=mortal.name in found)


class Told(NamedTuple):
    """An event of the log, as far as lifetimes are concerned."""

    key: str
    kind: str
    revision: int
    at: int
    expires_at: int | None


def opened(path: Path, store: str | None) -> MemoriesSync:
    """The memories of a data directory, or of a database, by the steady clock."""
    settings = Settings(store=None if store is None else Secret(store), embedder="hashing", policy_engine="builtin")
    return recollect.open_sync(path, settings=settings, clock=steady_clock)


def part_of_sweeping(path: Path, store: str | None, number: int, items: int, seconds: float, sweepers: int) -> int:
    """One process's part: sweepers, and one who renews what is about to expire; returns what was swept."""
    swept: list[int] = []
    over = threading.Event()
    with opened(path, store) as memories:
        until = steady_clock() + round(seconds * 1_000_000)
        most = until + _MOST_LONGER

        def sweep() -> None:
            while not over.wait(0.002):
                swept.append(memories.sweep(batch=random.randint(1, 50))[Pass.EXPIRE])

        def renew() -> None:
            chance = random.Random(number)
            key, renewed = "0", False
            try:
                # On however busy a machine, until something was renewed in time, and something swept here.
                while (now := steady_clock()) < until or (now < most and not (renewed and any(swept))):
                    if chance.random() < 0.5:  # otherwise the same one again, which may still be live
                        key = str(chance.randrange(items))
                    life = chance.choice((0.001, 0.01, 0.1, 0.3, 1.0))
                    renewed = memories.put(("mortal",), key, {"by": number}, ttl=life).kind == "update" or renewed
                while memories.search(("mortal",), limit=1):
                    over.wait(0.01)
            finally:
                over.set()

        meet()
        in_threads(*[sweep] * sweepers, renew)
        meet()
        swept.append(memories.sweep()[Pass.EXPIRE])
    return sum(swept)


def sweep_together(crew: Crew, processes: int, sweepers: int, path: Path, store: str | None, items: int) -> str:
    """Let processes sweep what expires and is renewed meanwhile; fail unless the log tells of each expiry once."""
    with opened(path, store) as memories:
        for start in range(0, items, 100):
            keys = range(start, min(start + 100, items))
            memories.batch([PutOp(("mortal",), str(key), {}, ttl=0.2 + key % 100 / 500) for key in keys])
    seconds = 1.5 if items <= 500 else 10.0
    swept = crew.together(
        part_of_sweeping, *((path, store, number, items, seconds, sweepers) for number in range(processes))
    )
    with opened(path, store) as memories:
        log = whole_log(memories)
        sound = memories.verify().sound
    told = check_told_once(log, items)
    assert all(part > 0 for part in swept)  # or only some of them swept at all
    assert sum(swept) <= told  # the rest was ended by whoever wrote the key anew
    assert any(event.kind == "update" for event in log)
    assert sound
    return f"{told} expiries told of once, by {processes} processes that swept {swept}"


def check_told_once(log: Sequence[Told], items: int) -> int:
    """Fail unless each lifetime ended as it must, with one event; return how many did."""
    expired = Counter((event.key, event.revision) for event in log if event.kind == "expired")
    assert unlawful(log) == []
    assert set(expired.values()) == {1}
    assert len(expired) >= items
    assert len({event.key for event in log}) == items
    return len(expired)


def unlawful(events: Iterable[Told]) -> list[str]:
    """What a log says that cannot be: every version ends once, expires when due, and is renewed only before."""
    wrong: list[str] = []
    live: dict[str, Told] = {}
    for event in events:
        before = live.pop(event.key, None)
        if event.kind == "expired":
            if before is None or before.revision != event.revision:
                wrong.append(f"{event}: there was no such version to expire")
            elif before.expires_at is None or event.at < before.expires_at:
                wrong.append(f"{event}: it was not due before {before.expires_at}")
            continue
        live[event.key] = event
        if event.kind == "update":
            if before is None:
                wrong.append(f"{event}: there was nothing to renew")
            elif before.expires_at is not None and event.at >= before.expires_at:
                wrong.append(f"{event}: what it renewed had expired at {before.expires_at}")
        elif before is not None:
            wrong.append(f"{event}: the version before never ended")
    return wrong + [f"{event}: it never expired" for event in live.values()]


def whole_log(memories: MemoriesSync) -> list[Told]:
    """Every event of the log."""
    told: list[Told] = []
    cursor = None
    while True:
        page = memories.events(after=cursor, limit=1_000)
        for event in page:
            expires_at = None if event.expires_at is None else instant_of(event.expires_at)
            told.append(Told(event.key, event.kind.value, event.revision, instant_of(event.occurred_at), expires_at))
        if page.complete:
            return told
        cursor = page.cursor
