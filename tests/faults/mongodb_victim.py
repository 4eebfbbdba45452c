"""A process that writes to MongoDB and kills itself at a given point of a commit; and the same without dying.

The points lie before and after the insert of the commit, and then amid and after every write that carries it out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence

from recollect.backends.keyring import Plain
from recollect.backends.mongodb import MongoOptions, MongoStore
from recollect.backends.mongodb import store as store_module
from recollect.backends.mongodb.driver import Document, Driver, Where
from recollect.backends.mongodb.schema import COMMITS
from recollect.domain.address import ROOT, namespace
from recollect.domain.commits import Delete, Relabel
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, Find
from recollect.domain.reasons import Plane
from recollect.ports.store import Reflected, Store
from recollect.testing.contract.scenes import TENANT, at, entries_of, put, rows_of, write
from recollect.testing.doubles import ManualClock, SerialIds

KEYS = "abcdef"
Point = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    """Go on."""


class Interrupted(Driver):
    """A driver that calls at every point of a commit, once it was told to."""

    point: Point = staticmethod(_nothing)

    async def insert(self, collection: str, document: Document) -> None:
        if collection != COMMITS:
            return await super().insert(collection, document)
        await self.point()
        await super().insert(collection, document)
        return await self.point()

    async def add(self, collection: str, documents: Sequence[Document]) -> bool:
        half = len(documents) // 2
        first = await super().add(collection, documents[:half]) if half else True
        await self.point()
        rest = await super().add(collection, documents[half:])
        await self.point()
        return first and rest

    async def change(self, collection: str, changes: Sequence[tuple[Where, Document]]) -> None:
        half = len(changes) // 2
        if half:
            await super().change(collection, changes[:half])
        await self.point()
        await super().change(collection, changes[half:])
        await self.point()

    async def change_all(self, collection: str, where: Where, change: Document) -> None:
        await self.point()
        await super().change_all(collection, where, change)
        await self.point()


def opened(options: MongoOptions, clock: ManualClock, ids: SerialIds) -> MongoStore:
    """A store whose commits can be interrupted."""
    honest, store_module.Driver = store_module.Driver, Interrupted  # type: ignore[attr-defined]
    try:
        return MongoStore(options, clock=clock, ids=ids, sealer=Plain())
    finally:
        store_module.Driver = honest  # type: ignore[attr-defined]


async def prepare(store: Store, clock: ManualClock) -> None:
    """What is there before the commit that is interrupted."""
    await write(store, *(put(at("user", "ann", key=key), b"1", index=True, policy='{"n":1}') for key in KEYS))
    for key in KEYS[:3]:
        await write(store, put(at("user", "ann", key=key), b"2", index=True))
    waiting = await store.pending(TENANT, limit=2)
    await store.reflect(TENANT, 1, [Reflected(each.mark, b"entry") for each in waiting])
    clock.advance(10)


async def commit(store: Store) -> None:
    """Updates, deletions, relabelled and new versions at once."""
    places = {key: at("user", "ann", key=key) for key in KEYS}
    await write(
        store,
        put(places["a"], b"3", index=True),
        put(places["b"], b"3"),
        Delete(places["c"]),
        Relabel(places["d"], 1, '{"n":2}'),
        Delete(places["e"]),
        put(at("user", "bob"), b"new"),
        put(at("user", "bob"), b"newer"),
    )


async def erase(store: Store) -> None:
    await store.erase(Erasure(b"e" * 16, TENANT, "user:ann", namespace(("user", "ann"))))


async def reflect(store: Store) -> None:
    waiting = await store.pending(TENANT)
    done = await store.reflect(TENANT, 1, [Reflected(each.mark, b"x" if each.live else None) for each in waiting])
    assert done == len(waiting)


ACTS: dict[str, Callable[[Store], Awaitable[None]]] = {
    "commit": commit,
    "erase": erase,
    "reflect": reflect,
}


async def snapshot(store: Store) -> tuple[object, ...]:
    """Everything that can be seen, and that the log is sound."""
    report = await store.verify(TENANT)
    assert report.sound, report.problems
    entries = await store.entries(TENANT, Plane.ITEM, ROOT, 1)
    return (
        await rows_of(store, Find(Plane.ITEM, limit=1_000, archived=Archived.INCLUDE)),
        [await store.history(TENANT, at("user", name, key=key)) for name in ("ann", "bob") for key in KEYS + "k"],
        await entries_of(store),
        await store.head(TENANT),
        await store.pending(TENANT),
        sorted((entry.id, entry.content) for entry in entries.entries),
        await store.index_figures(TENANT, 1),
    )


async def main(url: str, database: str, act: str, dies_at: int) -> None:
    """Prepare, then die in the middle of the act; or say that there is no such point."""
    clock, ids = ManualClock(), SerialIds()
    store = opened(MongoOptions(url, database), clock, ids)
    await prepare(store, clock)
    points = 0

    async def die() -> None:
        nonlocal points
        if points == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        points += 1

    store._driver.point = die  # type: ignore[attr-defined]
    await ACTS[act](store)
    print("survived")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
