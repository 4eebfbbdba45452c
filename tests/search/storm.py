"""Writers, indexers that are killed, and searchers, all at once; every search is held against what is known by then."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from tests.search.plain import SETTINGS
from tests.search.soundness import TENANT, unsound
from tests.search.steps import Killed, Steps, counted
from tests.search.victim import Victims

from recollect import Memories
from recollect.domain.callers import new_caller
from recollect.domain.rows import Item
from recollect.main import compose

WRITERS = 8
SEARCHERS = 4
OWNERS = ("owner", "other", "stranger")
VOCABULARY = [f"{word}{n}" for word in ("tea", "coffee", "water", "juice") for n in range(25)]
SHORT_LIFE = 0.3


@dataclass
class Tally:
    """What happened, and every flaw that was found."""

    writes: int = 0
    searches: int = 0
    hits: int = 0
    kills: int = 0
    flaws: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.writes} writes, {self.kills} kills of indexers, {self.searches} searches with {self.hits} hits, "
            f"{len(self.flaws)} flaws"
        )


class Storm:
    """What is known: which versions ended by when, as their writers were told."""

    def __init__(self, memories: Memories, items: int, seed: int) -> None:
        self.memories = memories
        self.tally = Tally()
        self._ended: dict[bytes, float] = {}
        self._items = items
        self._seed = seed
        self._over = asyncio.Event()

    async def write(self, writer: int) -> None:
        """Put, update and delete one's own keys."""
        chance = random.Random(f"{self._seed}-{writer}")
        live: dict[tuple[str, str], bytes] = {}
        for number in range(2 * self._items // WRITERS):
            place = (chance.choice(OWNERS), f"{writer}-{number % max(2, self._items // WRITERS)}")
            namespace, before = ("user", place[0]), live.pop(place, None)
            if before is not None and chance.random() < 0.4:
                await self.memories.delete(namespace, place[1])
            else:
                text = " ".join(chance.choices(VOCABULARY, k=6))
                ttl = SHORT_LIFE if chance.random() < 0.1 else None
                done = await self.memories.put(namespace, place[1], {"text": text, "by": writer}, ttl=ttl)
                assert done.id is not None
                live[place] = done.id.bytes
            if before is not None:
                self._ended[before] = perf_counter()
            self.tally.writes += 1
            if chance.random() < 0.2:
                await asyncio.sleep(0)

    async def search(self, searcher: int, count: int) -> None:
        """Search as the owner of everything and as somebody who may see little."""
        chance = random.Random(f"{self._seed}-search-{searcher}")
        stranger = self.memories.for_caller(new_caller(TENANT, "stranger"))
        for _ in range(count):
            is_stranger = chance.random() < 0.4
            view = stranger if is_stranger else self.memories
            within = chance.choice(((), ("user",), ("user", "owner"), ("user", "stranger")))
            asked = " ".join(chance.choices(VOCABULARY, k=2))
            began, moment = perf_counter(), datetime.now(UTC)
            wait = chance.choice((0, 0, 0, 0.05))
            found = await view.search(within, query=asked, limit=20, wait=wait)
            self.tally.searches += 1
            self.tally.hits += len(found)
            self.tally.flaws += self._flaws(found.items, began, moment, is_stranger, within)

    def _flaws(
        self, hits: Sequence[Item], began: float, moment: datetime, is_stranger: bool, within: tuple[str, ...]
    ) -> list[str]:
        flaws: list[str] = []
        for hit in hits:
            if self._ended.get(hit.id.bytes, began) < began:
                flaws.append(f"{hit} had ended before the search began")
            if hit.expires_at is not None and hit.expires_at <= moment:
                flaws.append(f"{hit} had expired before the search began")
            if is_stranger and hit.namespace[:2] != ("user", "stranger"):
                flaws.append(f"{hit} was shown to a stranger")
            if not is_stranger and hit.namespace[: len(within)] != within:
                flaws.append(f"{hit} is not in {within}")
        return flaws

    async def index(self, folder: Path) -> None:
        """Index by workings of its own, stopped at random steps, and begin again."""
        chance = random.Random(self._seed)
        workings = await asyncio.to_thread(compose, folder, SETTINGS)
        try:
            while not self._over.is_set():
                with counted(workings, Steps(chance.randrange(1, 60), after=chance.random() < 0.5)):
                    try:
                        await workings.indexing.round(TENANT)
                    except Killed:
                        self.tally.kills += 1
                await asyncio.sleep(0.01)
        finally:
            await workings.close()

    async def kill(self, victims: Victims, folder: Path) -> None:
        """Let other processes index the same directory, and kill each at a random step."""
        chance = random.Random(self._seed + 1)
        while not self._over.is_set():
            step = chance.randrange(1, 20)
            killed = await asyncio.to_thread(victims.index, folder, step, after=chance.random() < 0.5, batch=10)
            self.tally.kills += killed
            await asyncio.sleep(0.05)

    async def rage(self, searches: int, victims: Victims | None, folder: Path) -> None:
        """All of it, until the writers and the searchers are done."""
        others = [asyncio.create_task(self.index(folder))]
        if victims is not None:
            others.append(asyncio.create_task(self.kill(victims, folder)))
        busy = [self.write(writer) for writer in range(WRITERS)]
        busy += [self.search(searcher, searches // SEARCHERS) for searcher in range(SEARCHERS)]
        try:
            await asyncio.gather(*busy)
        finally:
            self._over.set()
            await asyncio.gather(*others)

    async def calm(self) -> list[str]:
        """Let everything be indexed, and say what is wrong with the index then."""
        await asyncio.sleep(SHORT_LIFE)
        await self.memories.sweep()
        await self.memories.trigger_index()
        workings = self.memories.workings
        return await unsound(workings.store, await workings.indexing.book.lines(TENANT))


def timed(began: float) -> str:
    return f"{time.perf_counter() - began:.0f} s"
