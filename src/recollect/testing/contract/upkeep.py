"""Proofs of S33 to S44: sweeping, indexing, leases, erasing, backups, closing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from recollect.domain.address import namespace
from recollect.domain.errors import LeaseLost, StoreClosed, Unsupported
from recollect.domain.planning import Erasure
from recollect.domain.queries import EventQuery, Find, NamespaceQuery
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Lease, Mark, Store
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
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
    swept = await asyncio.gather(*(each.sweep(TENANT, Pass.EXPIRE, Retention(), limit=7) for each in (store, other) * 6))
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


async def _subject(trial: Trial) -> Erasure:
    """Ann's rows in several planes and states, beside those of others; and the wish to erase hers."""
    store = trial.store
    for plane in Plane:
        await write(store, put(at("user", "ann", key="a", plane=plane), b"secret", policy='{"p":"secret"}'))
    await write(store, put(at("user", "ann", key="a"), b"secret2"), put(at("user", "ann", "deep"), b"secret", ttl=5))
    await write(store, put(at("user", "ann", "gone"), b"secret"))
    await delete(store, at("user", "ann", "gone"))
    for segments in (("user", "anna"), ("user", "ANN"), ("user",), ("users", "ann")):
        await write(store, put(at(*segments), b"other"))
    await write(store, put(at("user", "ann"), b"other"), tenant=OTHER)
    trial.clock.advance(1)
    return Erasure(b"erasure-of-ann-1", TENANT, "user:ann", namespace(("user", "ann")), "officer")


@clause("S40")
async def erasing_empties_every_version_in_all_planes_and_nothing_else(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    erased = await store.erase(erasure)
    assert (erased.versions, erased.live) == (len(Plane) + 3, len(Plane) + 1)
    for entry in await entries_of(store):
        if entry.row is None:
            continue
        hers = erasure.namespace.contains(entry.row.address.namespace)
        assert (entry.row.value is None) == hers
        assert not hers or entry.row.ended_at is not None
        assert not hers or (entry.row.attributes, entry.row.policy_attributes) == (None, "{}")
    for plane in Plane:
        assert await store.get(TENANT, at("user", "ann", key="a", plane=plane)) is None
        assert await rows_of(store, Find(plane, erasure.namespace)) == []
        rows = await store.history(TENANT, at("user", "ann", key="a", plane=plane))
        assert rows[0].end_reason is EndReason.ERASED
    assert len(await rows_of(store, Find(Plane.ITEM))) == 4
    assert await store.get(OTHER, at("user", "ann")) is not None


@clause("S40")
async def an_erasure_happens_once(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    erased = await store.erase(erasure)
    assert (await write_one(store, put(at("user", "ann"), b"new"))).kind is EventKind.ADD
    log = await log_of(store)
    trial.clock.advance(1)
    assert await store.erase(erasure) == erased
    assert await (await trial.second()).erase(erasure) == erased
    assert await log_of(store) == log
    row = await store.get(TENANT, at("user", "ann"))
    assert row is not None
    assert row.value == b"new", "what came after an erasure is not touched by repeating it"


@clause("S40", "S10")
async def an_erasure_of_the_same_identity_in_another_tenant_is_another_one(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    await store.erase(erasure)
    theirs = await store.erase(Erasure(erasure.id, OTHER, erasure.subject, erasure.namespace))
    assert (theirs.tenant, theirs.versions, theirs.live) == (OTHER, 1, 1)
    assert await store.get(OTHER, at("user", "ann")) is None


@clause("S41")
async def erasing_leaves_a_receipt_and_the_log_still_verifies(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    before = await log_of(store)
    erased = await store.erase(erasure)
    log = await log_of(store)
    assert log[:-1] == before, "the log tells what happened before, as it did before"
    receipt = log[-1]
    assert receipt.kind is EventKind.ERASED
    assert (receipt.sequence, receipt.hash, receipt.at) == (erased.sequence, erased.hash, erased.at)
    assert (receipt.row_id, receipt.actor) == (erasure.id, "officer")
    assert receipt.address.namespace == erasure.namespace
    report = await store.verify(TENANT)
    assert report.sound, report.problems
    for plane in Plane:
        told = await entries_of(store, query=EventQuery(planes=frozenset({plane}), kinds=frozenset({EventKind.ERASED})))
        assert [entry.event for entry in told] == [receipt], "an erasure concerns every plane"
    await write(store, put(at("user", "ann", key="a"), b"new"))
    assert (await store.verify(TENANT)).sound


@clause("S41")
async def erasing_nothing_leaves_a_receipt_as_well(trial: Trial) -> None:
    erased = await trial.store.erase(Erasure(b"n" * 16, TENANT, "user:nobody", namespace(("user", "nobody"))))
    assert (erased.versions, erased.live, erased.sequence) == (0, 0, 1)
    assert [event.kind for event in await log_of(trial.store)] == [EventKind.ERASED]
    assert (await trial.store.verify(TENANT)).sound


@clause("S42")
async def a_backup_is_a_consistent_copy_taken_while_others_write(trial: Trial) -> None:
    store, target = trial.store, trial.scratch / "copy.backup"
    if "backup" not in store.capabilities:
        assert trial.open_backup is None
        await refused(Unsupported, store.backup(target))
        assert not target.exists()
        return
    assert trial.open_backup is not None
    await write(store, *(put(at("data", key=str(n)), b"x" * 2_000) for n in range(50)))
    stop = asyncio.Event()
    written = 0

    async def keep_writing() -> None:
        nonlocal written
        while not stop.is_set() and written < 5_000:
            await write(store, put(at("pair", key="one"), b"%d" % written), put(at("pair", key="two"), b"%d" % written))
            written += 1

    writer = asyncio.create_task(keep_writing())
    while written < 3:
        await asyncio.sleep(0)
    acknowledged = written
    told: list[tuple[int, int]] = []
    await store.backup(target, lambda done, total: told.append((done, total)))
    stop.set()
    await writer
    assert told
    assert told[-1][0] == told[-1][1]
    copy = await trial.open_backup(target)
    report = await copy.verify(TENANT)
    assert report.sound, report.problems
    one, two = await copy.get(TENANT, at("pair", key="one")), await copy.get(TENANT, at("pair", key="two"))
    assert one is not None
    assert two is not None
    assert one.value == two.value
    assert one.revision >= acknowledged
    assert len(await rows_of(copy, Find(Plane.ITEM, namespace(("data",))))) == 50
    log = await log_of(store)
    assert (await log_of(copy)) == log[: report.head.sequence]
    await write(copy, put(at("only", "in", "the", "copy")))
    assert await store.get(TENANT, at("only", "in", "the", "copy")) is None


@clause("S43")
async def a_closed_store_refuses_every_call(trial: Trial) -> None:
    store = trial.store
    outcome = await write_one(store, put(at("kept")))
    lease = await store.acquire("sweeper", "me", 10)
    assert lease is not None
    assert outcome.id is not None
    await store.close()
    await store.close()
    calls: list[Awaitable[object]] = [
        write(store, put(at("late"))),
        store.get(TENANT, at("kept")),
        store.get(TENANT, at("kept"), as_of=trial.clock()),
        store.get_by_id(TENANT, outcome.id),
        store.find(TENANT, Find(Plane.ITEM)),
        store.history(TENANT, at("kept")),
        store.namespaces(TENANT, NamespaceQuery()),
        store.tenants(),
        store.head(TENANT),
        store.events(TENANT, EventQuery()),
        store.wait(TENANT, 0, 5),
        store.verify(TENANT),
        *(store.sweep(TENANT, step, Retention()) for step in Pass),
        store.pending(TENANT),
        store.mark_indexed(TENANT, [Mark(outcome.id, live=True)]),
        store.acquire("sweeper", "you", 10),
        store.renew(lease, 10),
        store.release(lease),
        store.erase(Erasure(b"c" * 16, TENANT, "user:ann", namespace(("user", "ann")))),
        store.aside(lambda: None),
    ]
    if "backup" in store.capabilities:
        calls.append(store.backup(trial.scratch / "late.backup"))
    for call in calls:
        await refused(StoreClosed, call)


@clause("S44")
async def tenants_are_those_that_have_ever_written_sorted(trial: Trial) -> None:
    store = trial.store
    assert list(await store.tenants()) == []
    for name in ("zeta", "alpha", "Beta", "a.b", "a-b", "9"):
        await write(store, put(at("x")), tenant=name)
        await store.get("reader", at("x"))
    await delete(store, at("x"), "nothing-to-delete")
    await delete(store, at("x"), "alpha")
    assert list(await store.tenants()) == ["9", "Beta", "a-b", "a.b", "alpha", "zeta"]
