"""Proofs of S33 to S39: sweeping, indexing, leases."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import asyncio

from recollect.domain.address import namespace
from recollect.domain.errors import LeaseLost
from recollect.domain.planning import Erasure
from recollect.domain.queries import Find
from recollect.domain.reasons import EventKind, IndexState, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Lease, Mark, Store
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    log_of,
    put,
    refused,
    rows_of,
    seconds,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

NOTHING_KEPT = Retention(superseded=0, deleted=0, tombstones=0)


@clause("S33")
async def expiring_gives_one_event_per_version_however_many_sweep(trial: Trial) -> None:
    store, other = trial.store, await trial.second()
    await write(store, *(put(at("brief", key=str(n)), ttl=1 + n % 3) for n in range(30)), put(at("lasting")))
    trial.clock.advance(2)
    swept = await asyncio.gather(
        *(each.sweep(TENANT, Pass.EXPIRE, Retention(), limit=7) for each in (store, other) * 6)
    )
    assert sum(batch.done for batch in swept) == 20
    expired = [event for event in await log_of(store) if event.kind is EventKind.EXPIRED]
    assert len({event.row_id for event in expired}) == len(expired) == 20
    assert len(await rows_of(store, Find(Plane.ITEM))) == 11
    assert (await store.verify(TENANT)).sound


@clause("S33")
async def a_batch_says_whether_another_is_waiting(trial: Trial) -> None:
    store = trial.store
    await write(store, *(put(at("brief", key=str(n)), ttl=1) for n in range(5)))
    trial.clock.advance(1)
    batches = [await store.sweep(TENANT, Pass.EXPIRE, Retention(), limit=2) for _ in range(4)]
    assert [(batch.done, batch.more) for batch in batches] == [(2, True), (2, True), (1, False), (0, False)]


@clause("S34")
async def values_are_dropped_only_when_they_ended_long_enough_ago(trial: Trial) -> None:
    store, clock = trial.store, trial.clock
    await write(store, put(at("v", key="updated"), b"1"), put(at("v", key="deleted"), b"1"))
    await write(store, put(at("v", key="expired"), b"1", ttl=1), put(at("v", key="live"), b"1"))
    clock.advance(1)
    await write(store, put(at("v", key="updated"), b"2"))
    await delete(store, at("v", key="deleted"))
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    keep = Retention(superseded=seconds(10), deleted=seconds(20), tombstones=None)

    async def emptied() -> set[str]:
        names = ("updated", "deleted", "expired", "live")
        kept = {name: await store.history(TENANT, at("v", key=name)) for name in names}
        return {name for name, rows in kept.items() if any(row.value is None for row in rows)}

    for wait, wanted in ((9, set()), (1, {"updated"}), (9, {"updated"}), (1, {"updated", "deleted", "expired"})):
        clock.advance(wait)
        await store.sweep(TENANT, Pass.EVICT, keep)
        await store.sweep(TENANT, Pass.TOMBSTONE, keep)
        assert await emptied() == wanted
    clock.advance(10_000)
    for step in (Pass.EVICT, Pass.TOMBSTONE):
        swept = await store.sweep(TENANT, step, Retention(superseded=None, deleted=None))
        assert (swept.done, swept.more) == (0, False)
    rows = await store.history(TENANT, at("v", key="updated"))
    assert [row.value for row in rows] == [b"2", None]
    assert (await store.verify(TENANT)).sound


@clause("S34")
async def values_that_the_index_has_not_seen_end_are_kept(trial: Trial) -> None:
    store, place = trial.store, at("indexed")
    first = await write_one(store, put(place, b"1", index=True))
    second = await write_one(store, put(place, b"2", index=True))
    await delete(store, place)
    trial.clock.advance(10)
    assert first.id is not None
    assert second.id is not None
    for step in (Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE):
        assert (await store.sweep(TENANT, step, NOTHING_KEPT)).done == 0
    assert await store.mark_indexed(TENANT, [Mark(first.id, live=False)]) == 1
    for step, done in ((Pass.EVICT, 1), (Pass.TOMBSTONE, 0), (Pass.PURGE, 1)):
        assert (await store.sweep(TENANT, step, NOTHING_KEPT)).done == done
    assert [row.value for row in await store.history(TENANT, place)] == [b"2"]
    assert await store.mark_indexed(TENANT, [Mark(second.id, live=False)]) == 1
    for step, done in ((Pass.EVICT, 0), (Pass.TOMBSTONE, 1), (Pass.PURGE, 1)):
        assert (await store.sweep(TENANT, step, NOTHING_KEPT)).done == done
    assert (await store.verify(TENANT)).sound


@clause("S35")
async def purging_removes_only_emptied_versions_that_ended_long_ago(trial: Trial) -> None:
    store, place = trial.store, at("purged")
    await write(store, put(place, b"1"))
    await write(store, put(place, b"2"))
    keep = Retention(superseded=0, deleted=0, tombstones=seconds(10))
    assert (await store.sweep(TENANT, Pass.PURGE, keep)).done == 0
    trial.clock.advance(10)
    assert (await store.sweep(TENANT, Pass.PURGE, keep)).done == 0, "a version that still has its value is kept"
    await store.sweep(TENANT, Pass.EVICT, keep)
    trial.clock.advance(-1)
    assert (await store.sweep(TENANT, Pass.PURGE, keep)).done == 0, "it ended less than ten seconds ago"
    trial.clock.advance(1)
    assert (await store.sweep(TENANT, Pass.PURGE, keep)).done == 1
    assert [row.revision for row in await store.history(TENANT, place)] == [2]
    assert (await write_one(store, put(place))).revision == 3
    assert (await store.verify(TENANT)).sound


@clause("S35")
async def a_pass_can_stop_after_any_batch_and_go_on_later(trial: Trial) -> None:
    store = trial.store
    for n in range(7):
        await write(store, put(at("many", key=str(n)), b"1"))
        await delete(store, at("many", key=str(n)))
    trial.clock.advance(1)
    for step in (Pass.TOMBSTONE, Pass.PURGE):
        done = 0
        for _ in range(4):
            swept = await store.sweep(TENANT, step, NOTHING_KEPT, limit=2)
            done += swept.done
            assert swept.more == (done < 7)
            store = await trial.reopen()
            assert (await store.verify(TENANT)).sound
        assert done == 7
    assert len(await log_of(store)) == 14


@clause("S35", "S31")
async def trimming_goes_in_batches_from_the_oldest_on(trial: Trial) -> None:
    store = trial.store
    for n in range(6):
        await write(store, put(at("many", key=str(n))))
    trial.clock.advance(1)
    for trimmed, more in ((2, True), (4, True), (5, False), (5, False)):
        swept = await store.sweep(TENANT, Pass.TRIM, Retention(events=0), limit=2)
        assert (swept.more, (await store.head(TENANT)).trimmed) == (more, trimmed)
        assert (await store.verify(TENANT)).sound


@clause("S36")
async def a_version_is_pending_until_marked_and_again_from_its_end(trial: Trial) -> None:
    store, place = trial.store, at("indexed")
    await write(store, put(at("indexed", key="unwanted")))
    outcome = await write_one(store, put(place, b"1", index=True))
    assert outcome.id is not None
    for mark_live, ending in ((True, None), (False, delete)):
        if ending is not None:
            await ending(store, place)
        waiting = await store.pending(TENANT)
        assert [(each.row.id, each.live, each.row.value) for each in waiting] == [(outcome.id, mark_live, b"1")]
        assert waiting[0].row.index_state is IndexState.PENDING
        assert await store.mark_indexed(TENANT, [Mark(outcome.id, mark_live)]) == 1
        assert await store.pending(TENANT) == []
        assert await store.mark_indexed(TENANT, [Mark(outcome.id, mark_live)]) == 0
    assert (await store.verify(TENANT)).sound


@clause("S36")
async def every_kind_of_end_makes_a_version_pending_again(trial: Trial) -> None:
    store = trial.store
    place = at("user", "ann")
    for ending in ("update", "expiry", "erasure"):
        outcome = await write_one(store, put(place, index=True, ttl=5))
        assert outcome.id is not None
        await store.mark_indexed(TENANT, [Mark(outcome.id, live=True)])
        match ending:
            case "update":
                await write(store, put(place))
            case "expiry":
                trial.clock.advance(5)
                await store.sweep(TENANT, Pass.EXPIRE, Retention())
            case "erasure":
                await store.erase(Erasure(b"i" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
        waiting = {each.row.id: each.live for each in await store.pending(TENANT)}
        assert waiting.get(outcome.id) is False, f"the {ending} was not told to the index"


@clause("S36")
async def what_waits_comes_oldest_first_and_in_batches(trial: Trial) -> None:
    store, ids = trial.store, []
    for n in range(5):
        trial.clock.advance(-1)
        ids.append((await write_one(store, put(at("queue", key=str(9 - n)), index=True))).id)
    assert [each.row.id for each in await store.pending(TENANT)] == ids
    assert [each.row.id for each in await store.pending(TENANT, limit=2)] == ids[:2]


@clause("S37")
async def a_mark_applies_only_to_a_version_that_is_still_as_it_was_read(trial: Trial) -> None:
    store, place = trial.store, at("indexed")
    first = await write_one(store, put(place, b"1", index=True))
    assert first.id is not None
    read = await store.pending(TENANT)
    second = await write_one(store, put(place, b"2", index=True))
    assert second.id is not None
    assert await store.mark_indexed(TENANT, [Mark(each.row.id, each.live) for each in read]) == 0
    assert [(each.row.id, each.live) for each in await store.pending(TENANT)] == [(first.id, False), (second.id, True)]
    assert await store.mark_indexed(TENANT, [Mark(second.id, live=False), Mark(bytes(16), live=True)]) == 0
    assert await store.mark_indexed(OTHER, [Mark(second.id, live=True)]) == 0
    assert await store.mark_indexed(TENANT, [Mark(first.id, live=False), Mark(second.id, live=True)]) == 2
    row = await store.get(TENANT, place)
    assert row is not None
    assert row.index_state is IndexState.DONE


@clause("S38")
async def at_most_one_holder_has_a_lease_and_fences_grow(trial: Trial) -> None:
    stores = (trial.store, await trial.second())
    taken = await asyncio.gather(*(stores[n % 2].acquire("sweeper", f"holder-{n}", 10) for n in range(10)))
    first = next(lease for lease in taken if lease is not None)
    assert sum(lease is not None for lease in taken) == 1
    fences = [first.fence]
    for n, store in enumerate(stores * 2):
        trial.clock.advance(9)
        assert await store.acquire("sweeper", f"rival-{n}", 10) is None
        trial.clock.advance(1)
        lease = await store.acquire("sweeper", f"rival-{n}", 10)
        assert lease is not None
        assert lease.expires_at == trial.clock() + seconds(10)
        fences.append(lease.fence)
    assert fences == sorted(set(fences))
    other = await trial.store.acquire("other", "anybody", 10)
    assert other is not None, "leases of other names are independent"


@clause("S38")
async def the_holder_prolongs_its_own_lease_and_keeps_its_fence(trial: Trial) -> None:
    store = trial.store
    first = await store.acquire("sweeper", "me", 10)
    assert first is not None
    trial.clock.advance(5)
    again = await store.acquire("sweeper", "me", 10)
    renewed = await store.renew(first, 20)
    assert again is not None
    assert first.fence == again.fence == renewed.fence
    assert renewed.expires_at == trial.clock() + seconds(20)
    await store.release(renewed)
    following = await (await trial.second()).acquire("sweeper", "you", 10)
    assert following is not None
    assert following.fence > first.fence, "a lease that was given back still has a smaller fence"


@clause("S39")
async def a_lease_that_ran_out_or_was_taken_is_lost(trial: Trial) -> None:
    store = trial.store
    lease = await store.acquire("sweeper", "me", 10)
    assert lease is not None
    trial.clock.advance(10)
    await _is_lost(store, lease)
    taken = await store.acquire("sweeper", "you", 10)
    assert taken is not None
    await _is_lost(store, lease)
    assert await store.acquire("sweeper", "me", 10) is None, "the former holder could not give the new lease away"
    await store.release(taken)
    await _is_lost(store, taken)
    again = await store.acquire("sweeper", "you", 10)
    assert again is not None
    assert again.fence > taken.fence
    await _is_lost(store, taken)
    await _is_lost(store, Lease("never", "me", 1, trial.clock()))


async def _is_lost(store: Store, lease: Lease) -> None:
    await refused(LeaseLost, store.renew(lease, 10))
    await refused(LeaseLost, store.release(lease))
