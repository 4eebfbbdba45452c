"""Proofs of S47: a stamp that is still the same vouches for everything that was read before."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from recollect.domain.address import namespace
from recollect.domain.commits import Delete, Relabel
from recollect.domain.errors import RevisionConflict
from recollect.domain.planning import Erasure
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Mark, Store
from recollect.testing.contract.scenes import OTHER, TENANT, at, put, refused, write, write_one
from recollect.testing.contract.trial import Trial, clause


@clause("S47")
async def every_change_by_any_instance_is_noticed_by_the_next_stamp(trial: Trial) -> None:
    store, other = trial.store, await trial.second()
    outcome = await write_one(store, put(at("indexed"), index=True))
    assert outcome.id is not None
    mark = Mark(outcome.id, live=True)
    changes: list[Callable[[Store], Awaitable[object]]] = [
        lambda by: write(by, put(at("a"), b"1")),
        lambda by: write(by, put(at("a"), b"1")),
        lambda by: write(by, put(at("a"), archived=True)),
        lambda by: write(by, Relabel(at("a"), 3, '{"label":1}')),
        lambda by: write(by, put(at("a")), tenant=OTHER),
        lambda by: write(by, put(at("a", plane=Plane.TOKEN), ttl=1)),
        lambda by: write(by, Delete(at("a"))),
        lambda by: by.mark_indexed(TENANT, [mark]),
        lambda by: by.sweep(TENANT, Pass.EXPIRE, Retention()),
        lambda by: by.sweep(TENANT, Pass.EVICT, Retention(superseded=0)),
        lambda by: by.sweep(TENANT, Pass.TOMBSTONE, Retention(deleted=0)),
        lambda by: by.sweep(TENANT, Pass.PURGE, Retention(tombstones=0)),
        lambda by: by.erase(Erasure(b"s" * 16, TENANT, "user:ann", namespace(("user", "ann")))),
        lambda by: by.sweep(TENANT, Pass.TRIM, Retention(events=0)),
        lambda by: by.acquire("sweeper", "me", 10),
    ]
    for turn, change in enumerate(changes):
        by = (store, other)[turn % 2]
        before = store.stamp(), other.stamp()
        trial.clock.advance(2)
        await change(by)
        after = store.stamp(), other.stamp()
        assert before[0] != after[0], f"change {turn} was not noticed by the one instance"
        assert before[1] != after[1], f"change {turn} was not noticed by the other instance"


@clause("S47")
async def equal_stamps_mean_that_a_search_finds_the_same(trial: Trial) -> None:
    store, other, query = trial.store, await trial.second(), Find(Plane.ITEM, limit=1_000)

    async def keep_writing() -> None:
        for n in range(60):
            await write((store, other)[n % 2], put(at("busy", key=str(n % 7)), b"%d" % n))
            await asyncio.sleep(0)

    writing = asyncio.create_task(keep_writing())
    seen: list[tuple[object, list[int]]] = []
    finished = False
    while not finished:
        finished = writing.done()
        before = store.stamp()
        found = [row.sequence for row in (await store.find(TENANT, query)).rows]
        if store.stamp() == before:
            seen.append((before, found))
        await asyncio.sleep(0)
    await writing
    for (one, found), (other_one, found_again) in itertools.pairwise(seen):
        assert one != other_one or found == found_again, "the stamp is the same, but what is found is not"
    last = store.stamp()
    assert all(max(found) == 60 for stamp, found in seen if stamp == last), "it vouches for less than is there"


@clause("S47")
async def a_refused_commit_changes_nothing_that_a_stamp_vouches_for(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("kept"), b"1"))
    before = store.stamp()
    row = await store.get(TENANT, at("kept"))
    await refused(RevisionConflict, write(store, put(at("kept"), b"2"), put(at("x"), expected=9)))
    assert await store.get(TENANT, at("kept")) == row
    await write(store, put(at("kept"), b"2"))
    assert store.stamp() != before
