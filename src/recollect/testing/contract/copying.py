"""Proofs of S60 to S62: reading what is stored as it is, taking it over, and the mark of what is only partly there."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from msgspec.structs import replace

from recollect.domain.address import ROOT, namespace
from recollect.domain.commits import idempotency
from recollect.domain.errors import StoreIncomplete, Unsupported
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, EventQuery, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.stored import Name, Shelf, Stored, StoredEvent, StoredTenant, StoredVersion
from recollect.ports.store import Mark, Reflected, Store
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
    later,
    put,
    refused,
    relabel,
    rows_of,
    seconds,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

_SERIES, _NEXT_SERIES = 7, 12
_ASKED = (put(at("asked"), b'{"n":1}'),)
_REQUEST = idempotency("request", "ann", _ASKED)
_ERASURE = Erasure(b"erasure-of-eve-1", TENANT, "user:eve", namespace(("user", "eve")), "officer")
_ADDRESSES = [
    *(at("shelf", key=f"k{n}") for n in range(6)),
    *(at("old", key=key) for key in ("a", "b", "c")),
    at("shelf"),
    at("asked"),
    at("user", "eve"),
    at("set", "aside"),
    at("from", "elsewhere"),
]


async def _copies(trial: Trial) -> bool:
    """Whether the store can be copied; one that does not declare it must say no."""
    store = trial.store
    if "copy" in store.capabilities:
        return True
    await refused(Unsupported, store.mark())
    await refused(Unsupported, store.set_mark(b"mark"))
    await refused(Unsupported, store.amount(Shelf.VERSIONS))
    await refused(Unsupported, store.take_over(Shelf.VERSIONS, []))
    await refused(Unsupported, _records(store, Shelf.VERSIONS))
    return False


async def _lived(trial: Trial) -> Store:
    """A store with a past: of every state that a version can be in, in two tenants, and with a log that was cut."""
    store = trial.store
    for key in ("a", "b", "c"):
        await write(store, put(at("old", key=key), b"first"))
        await write(store, put(at("old", key=key), b"second"))
    await delete(store, at("old", key="a"))
    trial.clock.advance(100)
    late = Retention(superseded=0, deleted=0, tombstones=seconds(50), events=seconds(50))
    for step in Pass:
        await store.sweep(TENANT, step, late)
    await write(store, *(put(at("shelf", key=f"k{n}"), b"value", index=True) for n in range(6)))
    await write(store, put(at("shelf", key="k1"), b"newer", index=True, policy='{"team":"red"}'))
    await write(store, put(at("old", key="b"), b"third"), put(at("set", "aside"), b"kept", archived=True))
    await write(store, put(at("from", "elsewhere"), b"old news", when=later(trial.clock(), -90)))
    await delete(store, at("shelf", key="k2"))
    await relabel(store, at("shelf", key="k3"), 1, '{"team":"blue"}')
    await write(store, put(at("user", "eve"), b"secret", index=True))
    await write(store, *_ASKED, request=_REQUEST, actor="ann")
    await _index(store)
    await store.erase(_ERASURE)
    await write(store, put(at("shelf", key="k4"), b"short", ttl=1))
    await write(store, put(at("shelf"), b"of another"), tenant=OTHER)
    await write(store, put(at("shelf"), b"of another, again"), tenant=OTHER)
    trial.clock.advance(2)
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    await store.sweep(TENANT, Pass.EVICT, Retention(superseded=0), limit=2)
    return store


async def _index(store: Store) -> None:
    """Entries in two series, with and without details; one version is put off, and some are left to wait."""
    waiting = {each.row.address.key: each.mark for each in await store.pending(TENANT) if each.live}
    first, second, third = (waiting[key] for key in ("k0", "k1", "k5"))
    await store.reflect(TENANT, _SERIES, [Reflected(first, b"entry", b"detail"), Reflected(second, b"another")])
    await store.reflect(TENANT, _NEXT_SERIES, [Reflected(Mark(first.id, live=True), b"anew")])
    await store.put_off(TENANT, [third], later((await store.rows(TENANT, [third.id]))[0].written_at, 60))


async def _records(store: Store, shelf: Shelf, after: Name = ()) -> list[Stored]:
    found: list[Stored] = []
    async with aclosing(store.stored(shelf, after)) as batches:
        async for batch in batches:
            assert batch, "a batch is never empty"
            found += batch
    return found


async def _all_records(store: Store) -> dict[Shelf, list[Stored]]:
    return {shelf: await _records(store, shelf) for shelf in Shelf}


async def _told(store: Store) -> list[object]:
    """What a store answers; equal for two that keep the same."""
    answers: list[object] = [await store.tenants()]
    for tenant in (TENANT, OTHER):
        verified = await store.verify(tenant)
        assert verified.sound, verified.problems
        head = await store.head(tenant)
        answers += [verified, head, await entries_of(store, tenant, EventQuery(after=head.trimmed))]
        answers += [await store.history(tenant, address) for address in _ADDRESSES]
        for order in Order:
            answers.append(await rows_of(store, Find(Plane.ITEM, order=order, archived=Archived.INCLUDE), tenant))
        answers += [await store.pending(tenant), await store.count(tenant, Plane.ITEM)]
        for series in (_SERIES, _NEXT_SERIES):
            kept = (await store.entries(tenant, Plane.ITEM, ROOT, series)).entries
            details = await store.details(tenant, series, [each.id for each in kept])
            answers += [kept, details, await store.index_figures(tenant, series)]
            answers.append((await store.lacking(tenant, series))[0])
    return answers


@clause("S60")
async def every_record_is_read_once_in_the_order_of_their_names(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = await _lived(trial)
    for shelf, found in (await _all_records(store)).items():
        names = [each.name for each in found]
        assert names, f"nothing was read of {shelf}"
        assert names == sorted(set(names))
        assert await store.amount(shelf) >= len(names)
        for place, name in enumerate(names):
            assert await _records(store, shelf, name) == found[place + 1 :]
    assert await _records(store, Shelf.VERSIONS, (b"\xff" * 16,)) == []


@clause("S60")
async def records_are_what_is_stored_and_sealed(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = await _lived(trial)
    found = await _all_records(store)
    versions = [each for each in found[Shelf.VERSIONS] if isinstance(each, StoredVersion)]
    known = [row for tenant in (TENANT, OTHER) for a in _ADDRESSES for row in await store.history(tenant, a)]
    assert {each.id for each in versions} == {row.id for row in known}
    for each in versions:
        row = next(row for row in known if row.id == each.id)
        assert (each.tenant, each.revision, each.sequence, each.ended_at) == (
            row.tenant,
            row.revision,
            row.sequence,
            row.ended_at,
        )
        assert (each.value is None) == (row.value is None)
    entries = {each.id: [entry.series for entry in each.entries] for each in versions if each.entries}
    assert sorted(entries.values()) == [[_SERIES], [_SERIES, _NEXT_SERIES]]
    assert sum(each.index_attempts for each in versions) == 1
    events = [each for each in found[Shelf.EVENTS] if isinstance(each, StoredEvent)]
    logs = [
        entry.event
        for tenant in (TENANT, OTHER)
        for entry in await entries_of(store, tenant, EventQuery(after=(await store.head(tenant)).trimmed))
    ]
    assert [(each.tenant, each.sequence, each.hash) for each in events] == [
        (event.tenant, event.sequence, event.hash) for event in logs
    ]
    assert {each.kept for each in events} == {0, 1}
    for tenant in [each for each in found[Shelf.TENANTS] if isinstance(each, StoredTenant)]:
        head = await store.head(tenant.tenant)
        assert (tenant.sequence, tenant.hash, tenant.trimmed) == (head.sequence, head.hash, head.trimmed)
    assert (await store.head(TENANT)).trimmed > 0


@clause("S61")
async def what_is_taken_over_answers_as_it_did_where_it_was_read(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = await _lived(trial)
    found, told = await _all_records(store), await _told(store)
    await _take_away(store, found)
    assert list(await store.tenants()) == []
    assert await _all_records(store) == {shelf: [] for shelf in Shelf}
    for shelf in Shelf:
        for portion in _portions(found[shelf]):
            await store.take_over(shelf, portion)
    assert await _all_records(store) == found
    assert await _told(store) == told
    assert (await write(store, *_ASKED, request=_REQUEST, actor="ann")).replayed
    erased = await store.erase(_ERASURE)
    assert erased.sequence < (await store.head(TENANT)).sequence
    again = await trial.reopen()
    assert await _told(again) == told


async def _take_away(store: Store, found: dict[Shelf, list[Stored]]) -> None:
    for shelf, records in found.items():
        await store.take_over(shelf, [], [each.name for each in records])


def _portions(records: Sequence[Stored]) -> list[Sequence[Stored]]:
    """All of them, in portions that are not in their order; some of them come twice."""
    return [records[-1:], records[1::2], records[::2], records[:3]]


@clause("S61", "S3", "S16", "S26")
async def one_goes_on_writing_where_it_was_taken_over(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = await _lived(trial)
    found = await _all_records(store)
    before = await store.head(TENANT)
    await _take_away(store, found)
    for shelf in Shelf:
        await store.take_over(shelf, found[shelf])
    written = await write_one(store, put(at("old", key="b"), b"anew", index=True))
    assert (written.sequence, written.revision) == (before.sequence + 1, 4)
    newest = await rows_of(store, Find(Plane.ITEM, limit=1))
    assert newest[0].id == written.id
    assert written.id is not None
    upto = (await store.entries(TENANT, Plane.ITEM, ROOT, _SERIES)).upto
    await store.reflect(TENANT, _SERIES, [Reflected(Mark(written.id, live=True), b"fresh")])
    changed = await store.entry_changes(TENANT, Plane.ITEM, ROOT, _SERIES, upto)
    assert written.id in [each.id for each in changed.entries]
    await delete(store, at("shelf", key="k0"))
    assert (await store.verify(TENANT)).sound


@clause("S61")
async def a_record_takes_the_place_of_the_one_of_its_name(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = await _lived(trial)
    found = await _all_records(store)
    await _take_away(store, found)
    for shelf in Shelf:
        await store.take_over(shelf, found[shelf])
    version = next(each for each in found[Shelf.VERSIONS] if isinstance(each, StoredVersion) and len(each.entries) == 2)
    ended = replace(version, ended_at=version.written_at + 5, end_reason="deleted", ended_sequence=99, entries=())
    fresh = replace(version, id=b"\xfe" * 16, revision=2, sequence=98)
    await store.take_over(Shelf.VERSIONS, [fresh])  # while the other is still live
    await store.take_over(Shelf.VERSIONS, [ended])
    others = [each for each in found[Shelf.VERSIONS] if each.name != version.name]
    assert await _records(store, Shelf.VERSIONS) == sorted([*others, ended, fresh], key=lambda each: each.name)
    event = found[Shelf.EVENTS][3]
    assert isinstance(event, StoredEvent)
    await store.take_over(Shelf.EVENTS, [replace(event, kept=2)])
    assert (await _records(store, Shelf.EVENTS))[3] == replace(event, kept=2)


@clause("S62")
async def data_that_is_only_partly_copied_is_refused_until_it_is_whole(trial: Trial) -> None:
    if not await _copies(trial):
        return
    store = trial.store
    await write(store, put(at("here")))
    assert await store.mark() is None
    await store.set_mark(b"begun")
    assert await store.mark() == b"begun"
    await _refused_to_others(trial)
    event = (await _records(store, Shelf.EVENTS))[0]
    await store.take_over(Shelf.EVENTS, [event], mark=b"further")
    await store.take_over(Shelf.EVENTS, [event])
    assert await store.mark() == b"further"
    await _refused_to_others(trial)
    await store.set_mark(None)
    assert await store.mark() is None
    whole = await trial.second()
    assert await whole.mark() is None
    assert (await whole.verify(TENANT)).sound


async def _refused_to_others(trial: Trial) -> None:
    """Whoever else opens the data is refused; where there can be nobody else, there is nobody to refuse."""

    async def opened() -> object:
        other = await trial.second()
        if other is trial.store:
            raise StoreIncomplete("nobody else can open it")
        return other

    await refused(StoreIncomplete, opened())
