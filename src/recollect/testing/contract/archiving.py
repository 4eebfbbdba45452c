"""Proofs of S45 and S48: what is told of a version beside its value, and what it means."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import itertools

from recollect.domain.address import namespace
from recollect.domain.commits import Commit, Delete, Expect, Put
from recollect.domain.errors import Contention, RevisionConflict
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, Find, NamespaceQuery, Order, shows
from recollect.domain.reasons import EndReason, EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.units import UnitOfWork
from recollect.testing.contract.scenes import (
    TENANT,
    at,
    delete,
    keys_of,
    later,
    log_of,
    put,
    refused,
    rows_of,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause


@clause("S45")
async def a_search_shows_what_is_archived_only_when_told_to(trial: Trial) -> None:
    store = trial.store
    for n in range(12):
        policy = f'{{"n":{n % 3}}}'
        await write(store, put(at("shelf", f"{n % 4}", key=f"{n:02}"), policy=policy, archived=n % 5 < 2))
    moment = trial.clock()
    trial.clock.advance(1)
    for asked, order, as_of in itertools.product(Archived, Order, (None, moment)):
        shown = [f"{n:02}" for n in range(12) if shows(asked, archived=n % 5 < 2)]
        for limit in (1, 2, 100):
            query = Find(Plane.ITEM, order=order, limit=limit, as_of=as_of, archived=asked)
            rows = await rows_of(store, query)
            assert sorted(row.address.key for row in rows) == shown
            assert all(row.archived == (int(row.address.key) % 5 < 2) for row in rows)
        some = Find(Plane.ITEM, namespace(("shelf", "1")), parse_filter({"n": 2}), order, as_of=as_of, archived=asked)
        assert sorted(await keys_of(store, some)) == [key for key in shown if key == "05"]
    assert await keys_of(store, Find(Plane.ITEM)) == await keys_of(store, Find(Plane.ITEM, archived=Archived.EXCLUDE))


@clause("S45", "S22")
async def a_namespace_is_listed_by_the_rows_that_are_shown(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("plain")), put(at("away"), archived=True, policy='{"x":1}'))
    await write(store, put(at("both"), policy='{"x":1}'), put(at("both", key="second"), archived=True))
    listed = {
        Archived.EXCLUDE: [("both",), ("plain",)],
        Archived.INCLUDE: [("away",), ("both",), ("plain",)],
        Archived.ONLY: [("away",), ("both",)],
    }
    for asked, wanted in listed.items():
        assert await store.namespaces(TENANT, NamespaceQuery(archived=asked)) == wanted
        assert await store.namespaces(TENANT, NamespaceQuery(archived=asked, limit=1, offset=1)) == wanted[1:2]
    assert await store.namespaces(TENANT, NamespaceQuery()) == listed[Archived.EXCLUDE]
    matching = NamespaceQuery(filter=parse_filter({"x": 1}), archived=Archived.ONLY)
    assert await store.namespaces(TENANT, matching) == [("away",)], "the filter is asked of the rows that are shown"


@clause("S45")
async def what_is_archived_is_the_live_version_of_its_key(trial: Trial) -> None:
    store, place = trial.store, at("away")
    assert (await write_one(store, put(place, b"1"))).kind is EventKind.ADD
    outcome = await write_one(store, put(place, b"2", expected=1, archived=True))
    assert (outcome.kind, outcome.revision) == (EventKind.UPDATE, 2)
    row = await store.get(TENANT, place)
    assert row is not None
    assert (row.value, row.revision, row.archived) == (b"2", 2, True)
    assert await store.get_by_id(TENANT, row.id) == row
    assert [(each.revision, each.archived) for each in await store.history(TENANT, place)] == [(2, True), (1, False)]
    await refused(RevisionConflict, write(store, put(place, expected=0)))
    await refused(Contention, write(store, put(at("other")), conditions=(Expect(place, 0),)))

    async def update(unit: UnitOfWork) -> None:
        found = await unit.get(place)
        assert found is not None
        assert found.archived
        assert (await unit.find(Find(Plane.ITEM, place.namespace))).rows == []
        unit.write(put(place, b"3", archived=True))

    await store.transact(TENANT, update)
    store = await trial.reopen()
    assert [row.archived for row in await store.history(TENANT, place)] == [True, True, False]
    assert (await delete(store, place)).revision == 3
    assert (await store.history(TENANT, place))[0].end_reason is EndReason.DELETED
    assert await store.get(TENANT, place) is None
    assert (await store.verify(TENANT)).sound


@clause("S45")
async def a_write_without_the_mark_brings_a_key_back(trial: Trial) -> None:
    store, place = trial.store, at("back")
    start = trial.clock()
    for n, archived in enumerate((True, False, True, True, False)):
        await write(store, put(place, b"%d" % n, archived=archived))
        for asked in Archived:
            seen = [b"%d" % n] if shows(asked, archived=archived) else []
            found = await rows_of(store, Find(Plane.ITEM, archived=asked))
            assert [row.value for row in found] == seen
        trial.clock.advance(1)
    assert [event.kind for event in await log_of(store)] == [EventKind.ADD] + [EventKind.UPDATE] * 4
    for n, archived in enumerate((True, False, True, True, False)):
        for asked in Archived:
            found = await rows_of(store, Find(Plane.ITEM, as_of=later(start, n), archived=asked))
            assert [row.value for row in found] == ([b"%d" % n] if shows(asked, archived=archived) else [])
    row = await store.get(TENANT, place, as_of=later(start, 2))
    assert row is not None
    assert row.archived


@clause("S45", "S13")
async def what_is_archived_expires_and_is_swept_and_erased_like_any_other(trial: Trial) -> None:
    store, everything = trial.store, Find(Plane.ITEM, archived=Archived.INCLUDE)
    await write(store, put(at("brief"), ttl=1, archived=True), put(at("user", "ann"), archived=True))
    trial.clock.advance(1)
    assert await keys_of(store, everything) == ["k"]
    assert (await store.sweep(TENANT, Pass.EXPIRE, Retention())).done == 1
    await store.erase(Erasure(b"a" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    assert await keys_of(store, everything) == []
    trial.clock.advance(10)
    await store.sweep(TENANT, Pass.TOMBSTONE, Retention(deleted=0))
    for place in (at("brief"), at("user", "ann")):
        rows = await store.history(TENANT, place)
        assert [(row.value, row.archived) for row in rows] == [(None, False)], "the mark goes with the contents"
    assert (await store.verify(TENANT)).sound


@clause("S45", "S5")
async def one_commit_can_archive_and_bring_back(trial: Trial) -> None:
    store, place = trial.store, at("quick")
    await write(store, put(place, archived=True), put(place, expected=1), Delete(place, 2), put(place, archived=True))
    assert [row.archived for row in await store.history(TENANT, place)] == [True, False, True]
    assert await keys_of(store, Find(Plane.ITEM)) == []
    moment = Instant(trial.clock() + 1)
    assert await keys_of(store, Find(Plane.ITEM, as_of=moment, archived=Archived.ONLY)) == ["k"]
    assert (await store.verify(TENANT)).sound


@clause("S48")
async def the_fields_to_be_indexed_stay_with_the_version_until_its_value_goes(trial: Trial) -> None:
    store = trial.store
    wished = Put(at("shelf", key="k"), b'{"title":"a"}', index_fields='["title"]')
    first = (await store.commit(Commit(TENANT, (wished,)))).outcomes[0]
    await write(store, Put(at("shelf", key="k"), b"{}", index_fields="[]"))
    await write(store, put(at("shelf", key="k")))
    versions = await store.history(TENANT, at("shelf", key="k"))
    assert [row.index_fields for row in versions] == [None, "[]", '["title"]']
    assert (await store.verify(TENANT)).sound
    trial.clock.advance(1)
    await store.sweep(TENANT, Pass.EVICT, Retention(superseded=0))
    assert first.id is not None
    emptied = await store.get_by_id(TENANT, first.id)
    assert emptied is not None
    assert (emptied.value, emptied.index_fields) == (None, None)
    assert (await store.verify(TENANT)).sound
