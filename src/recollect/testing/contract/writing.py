"""Proofs of S1 to S11: what a commit does, and when it is refused."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import asyncio

from recollect.domain.address import ROOT, namespace
from recollect.domain.commits import Commit, Delete, Expect, Operation, Unchanged, idempotency
from recollect.domain.errors import Contention, IdempotencyMismatch, RecollectError, RevisionConflict
from recollect.domain.planning import Erasure
from recollect.domain.queries import Find, NamespaceQuery
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.units import UnitOfWork
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    everything,
    log_of,
    put,
    refused,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause


@clause("S1")
async def a_commit_that_fails_at_any_operation_leaves_nothing(trial: Trial) -> None:
    store = trial.store
    places = [at("all", key=f"k{place}") for place in range(3)]
    await write(store, put(places[0], b'{"old":1}'))
    before = await everything(store, places[0])
    for failing in range(3):
        operations = [put(place, b'{"new":1}') for place in places]
        operations[failing] = put(places[failing], b'{"new":1}', expected=7)
        await refused(RevisionConflict, write(store, *operations))
        assert await everything(store, places[0]) == before
        for place in places[1:]:
            assert await store.history(TENANT, place) == []


@clause("S1")
async def a_refused_commit_leaves_nothing_beside_one_that_succeeds(trial: Trial) -> None:
    store = trial.store
    good = [write(store, put(at("good", key=str(n)))) for n in range(8)]
    bad = [write(store, put(at("bad", key=str(n))), put(at("bad", key="x"), expected=9)) for n in range(8)]
    mixed = [call for pair in zip(good, bad, strict=True) for call in pair]
    answers = await asyncio.gather(*mixed, return_exceptions=True)
    assert [type(answer).__name__ for answer in answers] == ["Receipt", "RevisionConflict"] * 8
    assert len((await store.find(TENANT, Find(Plane.ITEM, namespace(("good",))))).rows) == 8
    assert (await store.find(TENANT, Find(Plane.ITEM, namespace(("bad",))))).rows == []
    assert (await store.head(TENANT)).sequence == 8


@clause("S2")
async def a_key_has_one_live_version_however_often_it_is_written(trial: Trial) -> None:
    store = trial.store
    await asyncio.gather(*(write(store, put(at("busy"), b'{"n":%d}' % n)) for n in range(10)))
    await write(store, put(at("busy")), Delete(at("busy")), put(at("busy")))
    versions = await store.history(TENANT, at("busy"))
    assert [row.ended_at is None for row in versions] == [True] + [False] * 11
    assert len((await store.find(TENANT, Find(Plane.ITEM))).rows) == 1


@clause("S2")
async def a_second_live_version_is_refused_by_the_structure_itself(trial: Trial) -> None:
    await write(trial.store, put(at("only"), b'{"first":true}'))
    await refused(RecollectError, trial.force_second_live(TENANT, at("only")))
    rows = (await trial.store.find(TENANT, Find(Plane.ITEM))).rows
    assert [row.value for row in rows] == [b'{"first":true}']


@clause("S3")
async def revisions_count_from_one_and_go_on_after_a_deletion(trial: Trial) -> None:
    store, place = trial.store, at("counted")
    assert [(await write_one(store, put(place))).revision for _ in range(3)] == [1, 2, 3]
    assert (await delete(store, place)).revision == 3
    assert (await write_one(store, put(place))).revision == 4
    await write(store, put(place, ttl=1))
    trial.clock.advance(2)
    assert (await write_one(store, put(place))).revision == 6
    assert (await write_one(store, put(at("counted", key="other")))).revision == 1
    assert [row.revision for row in await store.history(TENANT, place)] == [6, 5, 4, 3, 2, 1]


@clause("S3")
async def no_revision_is_given_twice_while_any_version_is_kept(trial: Trial) -> None:
    store, place = trial.store, at("swept")
    await write(store, put(place))
    await write(store, put(place))
    await delete(store, place)
    trial.clock.advance(10)
    keep = Retention(superseded=None, deleted=0, tombstones=0)
    for step in (Pass.TOMBSTONE, Pass.PURGE):
        await store.sweep(TENANT, step, keep)
    assert (await store.history(TENANT, place))[-1].revision == 1, "the superseded version is still kept"
    assert (await write_one(store, put(place))).revision == 3


@clause("S4")
async def an_expected_revision_that_is_not_the_keys_is_refused(trial: Trial) -> None:
    store, place = trial.store, at("guarded")
    conflict = await refused(RevisionConflict, write(store, put(place, expected=1)))
    assert conflict.details == {"expected": 1, "actual": 0}
    await write(store, put(place, expected=0))
    conflict = await refused(RevisionConflict, write(store, put(place, expected=0)))
    assert conflict.details == {"expected": 0, "actual": 1}
    await write(store, put(place, expected=1))
    for wrong in (0, 1, 3):
        await refused(RevisionConflict, write(store, Delete(place, wrong)))
    await write(store, Delete(place, 2))
    await refused(RevisionConflict, write(store, put(place, expected=2)))
    await write(store, Delete(place, 0))
    await write(store, put(place, expected=0))
    assert [event.kind for event in await log_of(store)] == [
        EventKind.ADD,
        EventKind.UPDATE,
        EventKind.DELETE,
        EventKind.ADD,
    ]


@clause("S4")
async def what_has_expired_counts_as_absent(trial: Trial) -> None:
    store, place = trial.store, at("fleeting")
    await write(store, put(place, ttl=1))
    trial.clock.advance(1)
    await refused(RevisionConflict, write(store, put(place, expected=1)))
    assert (await write_one(store, put(place, expected=0))).revision == 2


@clause("S4")
async def of_many_writers_with_one_expectation_exactly_one_succeeds(trial: Trial) -> None:
    other = await trial.second()
    stores = [trial.store, other] * 8
    calls = [write(store, put(at("race"), b'{"n":%d}' % n, expected=0)) for n, store in enumerate(stores)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(answer, BaseException) for answer in answers) == 1
    assert all(isinstance(answer, RevisionConflict) for answer in answers if isinstance(answer, BaseException))


@clause("S5")
async def a_later_operation_sees_what_an_earlier_one_did(trial: Trial) -> None:
    store, place = trial.store, at("steps")
    receipt = await write(
        store,
        put(place, b'{"n":1}', expected=0),
        put(place, b'{"n":2}', expected=1),
        Delete(place, 2),
        Delete(place, 0),
        put(place, b'{"n":3}', expected=0),
    )
    assert [outcome.revision for outcome in receipt.outcomes] == [1, 2, 2, 0, 3]
    assert [outcome.sequence for outcome in receipt.outcomes] == [1, 2, 3, None, 4]
    assert receipt.head == 4
    assert [event.kind for event in await log_of(store)] == [
        EventKind.ADD,
        EventKind.UPDATE,
        EventKind.DELETE,
        EventKind.ADD,
    ]
    live = await store.get(TENANT, place)
    assert live is not None
    assert (live.value, live.revision) == (b'{"n":3}', 3)
    assert (await store.verify(TENANT)).sound


@clause("S6")
async def a_key_that_changed_since_it_was_read_refuses_the_commit(trial: Trial) -> None:
    store, read, target = trial.store, at("read"), at("target")
    await write(store, put(target), conditions=(Expect(read, 0),))
    await write(store, put(read))
    await refused(Contention, write(store, put(target), conditions=(Expect(read, 0),)))
    await write(store, put(target), conditions=(Expect(read, 1),))
    await write(store, put(read))
    await refused(Contention, write(store, put(target), conditions=(Expect(read, 1),)))
    await delete(store, read)
    await refused(Contention, write(store, put(target), conditions=(Expect(read, 2),)))
    await write(store, put(target), conditions=(Expect(read, 0),))
    assert len(await store.history(TENANT, target)) == 3


@clause("S6")
async def a_phantom_in_a_searched_scope_refuses_the_commit(trial: Trial) -> None:
    store, target = trial.store, at("target")
    await write(store, put(at("scope", "a"), ttl=5))
    changes: list[Operation] = [
        put(at("scope", key="new")),
        put(at("scope", "deep", "er")),
        put(at("scope", "a")),
        Delete(at("scope", "a")),
    ]
    for change in changes:
        async with store.begin(TENANT) as unit:
            await unit.find(Find(Plane.ITEM, namespace(("scope",))))
        since = (await store.head(TENANT)).sequence
        condition = Unchanged(Plane.ITEM, namespace(("scope",)), since)
        await write(store, put(at("scopes")), put(at("elsewhere")), put(at("scope", plane=Plane.TODO)))
        await write(store, put(target), conditions=(condition,))
        await write(store, change)
        await refused(Contention, write(store, put(target), conditions=(condition,)))
        everywhere = Unchanged(Plane.ITEM, ROOT, since)
        await refused(Contention, write(store, put(target), conditions=(everywhere,)))


@clause("S6")
async def an_erasure_above_or_below_a_searched_scope_refuses_the_commit(trial: Trial) -> None:
    store, target = trial.store, at("target")
    scopes = [("user",), ("user", "ann"), ("user", "ann", "notes")]
    since = (await write(store, put(at("user", "ann", "notes")))).head
    await store.erase(Erasure(b"e" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    for plane in (Plane.ITEM, Plane.TODO):
        for scope in scopes:
            condition = Unchanged(plane, namespace(scope), since)
            await refused(Contention, write(store, put(target), conditions=(condition,)))
        beside = Unchanged(plane, namespace(("user", "anna")), since)
        await write(store, put(at("result")), conditions=(beside,))


@clause("S6")
async def a_change_that_was_trimmed_from_the_log_still_refuses_the_commit(trial: Trial) -> None:
    store = trial.store
    since = (await write(store, put(at("scope")))).head
    await write(store, put(at("scope", key="phantom")))
    await write(store, put(at("elsewhere")))
    trial.clock.advance(10)
    await store.sweep(TENANT, Pass.TRIM, Retention(events=0))
    assert (await store.head(TENANT)).trimmed == 2
    condition = Unchanged(Plane.ITEM, namespace(("scope",)), since)
    await refused(Contention, write(store, put(at("target")), conditions=(condition,)))


@clause("S6")
async def a_unit_of_work_runs_again_until_what_it_read_stands(trial: Trial) -> None:
    store, counter = trial.store, at("counter")

    async def increase(unit: UnitOfWork) -> None:
        row = await unit.get(counter)
        count = 0 if row is None or row.value is None else int(row.value)
        await asyncio.sleep(0)
        unit.write(put(counter, b"%d" % (count + 1)))

    await asyncio.gather(*(store.transact(TENANT, increase, attempts=64) for _ in range(8)))
    row = await store.get(TENANT, counter)
    assert row is not None
    assert (row.value, row.revision) == (b"8", 8)


@clause("S7")
async def a_repeated_request_returns_the_first_receipt_and_changes_nothing(trial: Trial) -> None:
    store, place = trial.store, at("asked")
    operations = (put(place, b'{"n":1}'), Delete(at("absent")), put(at("asked", key="b"), ttl=9))
    request = idempotency("request-1", "ann", operations)
    first = await write(store, *operations, request=request, actor="ann")
    assert not first.replayed
    await write(store, put(place, b'{"n":2}'))
    trial.clock.advance(5)
    before = await everything(store, place)
    again = await write(store, *operations, request=request, actor="ann")
    assert (again.outcomes, again.head, again.replayed) == (first.outcomes, first.head, True)
    other = await trial.second()
    assert (await write(other, *operations, request=request, actor="ann")).outcomes == first.outcomes
    assert await everything(store, place) == before


@clause("S7")
async def a_repeated_request_that_did_nothing_returns_the_first_receipt_too(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("before")))
    nothing = (Delete(at("absent")),)
    request = idempotency("request-2", "", nothing)
    first = await write(store, *nothing, request=request)
    assert first.head == 1
    await write(store, put(at("after")))
    again = await write(store, *nothing, request=request)
    assert (again.outcomes, again.head) == (first.outcomes, first.head)


@clause("S7")
async def a_refused_request_is_not_remembered(trial: Trial) -> None:
    store, place = trial.store, at("asked")
    operations = (put(place, expected=1),)
    request = idempotency("request-3", "", operations)
    await refused(RevisionConflict, write(store, *operations, request=request))
    await write(store, put(place))
    assert not (await write(store, *operations, request=request)).replayed
    assert len(await store.history(TENANT, place)) == 2


@clause("S8")
async def the_same_idempotency_key_with_another_request_is_refused(trial: Trial) -> None:
    store, place = trial.store, at("asked")
    first, other = (put(place, b'{"n":1}'),), (put(place, b'{"n":2}'),)
    await write(store, *first, request=idempotency("request-4", "", first))
    before = await everything(store, place)
    await refused(IdempotencyMismatch, write(store, *other, request=idempotency("request-4", "", other)))
    assert await everything(store, place) == before
    await write(store, *other, request=idempotency("request-4", "", other), tenant=OTHER)
    await write(store, *other, request=idempotency("request-5", "", other))


@clause("S9")
async def deleting_what_is_not_there_changes_nothing(trial: Trial) -> None:
    store, place = trial.store, at("absent")
    outcome = await delete(store, place)
    assert (outcome.kind, outcome.sequence, outcome.id, outcome.revision) == (None, None, None, 0)
    assert await log_of(store) == []
    await write(store, put(place))
    await delete(store, place)
    before = await everything(store, place)
    assert (await delete(store, place)).kind is None
    assert await everything(store, place) == before


@clause("S10")
async def the_same_address_in_two_tenants_is_two_things(trial: Trial) -> None:
    store, place = trial.store, at("user", "ann")
    mine = await write_one(store, put(place, b'{"mine":1}', index=True))
    theirs = await write_one(store, put(place, b'{"theirs":1}', index=True), OTHER)
    assert mine.revision == theirs.revision == 1
    await write(store, put(place, b'{"mine":2}'))
    await delete(store, place)
    row = await store.get(OTHER, place)
    assert row is not None
    assert (row.tenant, row.value, row.revision) == (OTHER, b'{"theirs":1}', 1)
    assert len(await store.history(OTHER, place)) == 1
    assert [event.tenant for event in await log_of(store, OTHER)] == [OTHER]
    assert [row.tenant for row in (await store.find(OTHER, Find(Plane.ITEM))).rows] == [OTHER]
    assert [waiting.row.tenant for waiting in await store.pending(OTHER)] == [OTHER]
    assert (await store.head(TENANT)).sequence == 3
    await store.erase(Erasure(b"1" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    assert await store.get(OTHER, place) == row
    assert (await store.verify(TENANT)).sound
    assert (await store.verify(OTHER)).sound


@clause("S10")
async def an_unknown_tenant_is_empty(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("somewhere")))
    assert await store.get(OTHER, at("somewhere")) is None
    assert await store.namespaces(OTHER, NamespaceQuery()) == []
    assert (await store.find(OTHER, Find(Plane.ITEM))).rows == []
    assert (await store.head(OTHER)).sequence == 0
    assert await log_of(store, OTHER) == []
    assert (await store.verify(OTHER)).sound


@clause("S11")
async def the_same_place_in_two_planes_is_two_things(trial: Trial) -> None:
    store = trial.store
    for plane in Plane:
        outcome = await write_one(store, put(at("same", plane=plane), plane.value.encode()))
        assert outcome.revision == 1
    await delete(store, at("same", plane=Plane.ITEM))
    for plane in Plane:
        row = await store.get(TENANT, at("same", plane=plane))
        rows = (await store.find(TENANT, Find(plane))).rows
        if plane is Plane.ITEM:
            assert row is None
            assert rows == []
        else:
            assert row is not None
            assert row.value == plane.value.encode()
            assert rows == [row]


@clause("S1", "S5")
async def a_commit_of_conditions_alone_only_checks_them(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("read")))
    receipt = await store.commit(Commit(TENANT, (), (Expect(at("read"), 1),)))
    assert (receipt.outcomes, receipt.head) == ((), 1)
    await refused(Contention, store.commit(Commit(TENANT, (), (Expect(at("read"), 2),))))
