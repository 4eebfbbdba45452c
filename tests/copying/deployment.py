"""A deployment with a past of any length, and what can be seen of one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import recollect
from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.config import Settings
from recollect.config.secret import Secret
from recollect.deployments import place_of
from recollect.domain.address import Address, namespace
from recollect.domain.commits import Commit, Delete, Operation, Put, idempotency
from recollect.domain.planning import Erasure
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.stored import Shelf, Stored
from recollect.engines import engine_of
from recollect.main import compose, random_ids, system_clock
from recollect.ports.store import Reflected, Store
from recollect.service.workings import Workings

TENANTS = ("acme", "initech", "umbrella")
SETTINGS = Settings(embedder="hashing")
_AT_ONCE = 200
_SERIES = 1


def lived(home: Path, items: int) -> None:
    """So many items in several tenants: some updated, deleted, expired, archived, indexed; one user is erased."""
    with recollect.open_sync(home, settings=SETTINGS) as memories:
        memories.put(["user", "alice"], "diet", {"text": "vegan"}, idempotency_key="once")
    asyncio.run(_lived(home, items))


async def _lived(home: Path, items: int) -> None:
    workings = compose(home, SETTINGS)
    store = workings.store
    try:
        at_once = min(_AT_ONCE, items // len(TENANTS))
        for start in range(0, items, at_once):
            tenant = TENANTS[start // at_once % len(TENANTS)]
            numbers = range(start, min(start + at_once, items))
            await store.commit(Commit(tenant, tuple(_put(n, "first") for n in numbers), actor="writer"))
            operations: tuple[Operation, ...] = (
                *(_put(n, "second") for n in numbers if n % 5 == 0),
                *(Delete(_address(n)) for n in numbers if n % 10 == 3),
            )
            if operations:
                asked = idempotency(f"batch {start}", "writer", operations)
                await store.commit(Commit(tenant, operations, actor="writer", idempotency=asked))
            waiting = [each.mark for each in await store.pending(tenant, limit=_AT_ONCE) if each.live]
            some = waiting[: len(waiting) // 2]
            await store.reflect(tenant, _SERIES, [Reflected(mark, b"entry" * 20, b"detail" * 40) for mark in some])
        await _age(workings)
    finally:
        await store.close()
        workings.keyring.close()


def _address(n: int) -> Address:
    return Address(Plane.ITEM, namespace(("user", f"u{n % 50}", "notes")), f"k{n}")


def _put(n: int, word: str) -> Put:
    value = b'{"text":"%s of %d, %s"}' % (word.encode(), n, b"x" * (n % 200))
    ttl = 1_000 if n % 20 == 7 else None
    return Put(_address(n), value, ttl=ttl, archived=n % 25 == 4, index=True, policy_attributes='{"team":"red"}')


async def _age(workings: Workings) -> None:
    store, keep = workings.store, Retention(superseded=0, deleted=0, tombstones=0)
    await asyncio.sleep(0.01)
    for tenant in TENANTS:
        for step in (Pass.EXPIRE, Pass.EVICT):
            while (await store.sweep(tenant, step, keep, limit=500)).more:
                pass
        await store.sweep(tenant, Pass.TOMBSTONE, keep, limit=20)
        await store.sweep(tenant, Pass.PURGE, keep, limit=5)
    await store.sweep(TENANTS[1], Pass.TRIM, Retention(events=0), limit=50)
    erasure = Erasure(b"e" * 16, TENANTS[0], "user:u1", namespace(("user", "u1")), "officer")
    workings.keyring.destroy(erasure)
    await store.erase(erasure)
    workings.keyring.settle(erasure.id)


def records(place: str, home: Path) -> dict[Shelf, list[Stored]]:
    """Everything that a place keeps, as it is stored."""

    async def read() -> dict[Shelf, list[Stored]]:
        store = _opened(place, home)
        found: dict[Shelf, list[Stored]] = {}
        try:
            for shelf in Shelf:
                async with aclosing(store.stored(shelf)) as batches:
                    found[shelf] = [each async for batch in batches for each in batch]
        finally:
            await store.close()
        return found

    return asyncio.run(read())


def _opened(place: str, home: Path) -> Store:
    where = place_of(place, home=home)
    if where.url is None:
        return SqliteStore(SqliteOptions(where.file), clock=system_clock, ids=random_ids, sealer=Plain())
    return engine_of(where.url, SETTINGS).store(copied=True, clock=system_clock, ids=random_ids, sealer=Plain())


def settings_of(place: str) -> Settings:
    """The settings of a service over that place."""
    return Settings(embedder="hashing", store=Secret(place) if "://" in place else None)


def opens(place: str, home: Path) -> None:
    """Read and write with the keys that came along: all that is there can be read, and what was erased cannot."""
    with recollect.open_sync(home, tenant=TENANTS[2], settings=settings_of(place)) as memories:
        found = list(memories.search(["user"], limit=50))
        assert found
        assert all(item.value and item.value["text"] for item in found)
        assert memories.verify().sound
    with recollect.open_sync(home, settings=settings_of(place)) as memories:
        again = memories.put(["user", "alice"], "diet", {"text": "vegan"}, idempotency_key="once")
        assert (again.revision, again.sequence) == (1, 1)
