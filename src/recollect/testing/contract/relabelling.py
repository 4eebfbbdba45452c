"""Proofs of S49 and S50: policy attributes are computed anew in place, and the log vouches for them."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

from msgspec.structs import replace

from recollect.domain.address import namespace
from recollect.domain.commits import Delete, Expect, Operation, Put, Relabel, Unchanged, idempotency
from recollect.domain.errors import Contention, IdempotencyMismatch
from recollect.domain.filters import parse_filter
from recollect.domain.planning import Erasure
from recollect.domain.queries import EventQuery, Find, NamespaceQuery
from recollect.domain.reasons import EventKind, IndexState, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Mark
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
    everything,
    keys_of,
    log_of,
    put,
    refused,
    relabel,
    write,
    write_one,
)
from recollect.testing.contract.trial import Stored, Trial, clause

OLD, NEW, NEWEST = '{"level":1}', '{"level":2}', '{"level":3}'


@clause("S49")
async def relabelling_changes_the_attributes_and_nothing_else(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    await write(store, put(place, b"older"))
    trial.clock.advance(1)
    wished = Put(place, b"value", b"sealed", OLD, ttl=9_000_000, archived=True, index_fields='["a"]')
    written = await write_one(store, wished)
    before, log, head = await store.history(TENANT, place), await log_of(store), await store.head(TENANT)
    trial.clock.advance(1)
    done = (await write(store, Relabel(place, 2, NEW), actor="relabeller")).outcomes[0]
    assert done == replace(written, kind=EventKind.RELABELLED, sequence=head.sequence + 1)
    wanted = [replace(before[0], policy_attributes=NEW), before[1]]
    for opening in (trial.second, trial.reopen):
        reader = await opening()
        assert await reader.history(TENANT, place) == wanted
        assert await reader.get(TENANT, place) == wanted[0]
        assert await reader.get(TENANT, place, as_of=before[0].written_at) == wanted[0]
        assert await reader.get_by_id(TENANT, before[0].id) == wanted[0]
    told = await entries_of(trial.store)
    assert [entry.event for entry in told[:-1]] == log
    event, opened = told[-1].event, told[-2].event
    assert event.kind is EventKind.RELABELLED
    assert (event.address, event.row_id, event.revision) == (opened.address, opened.row_id, opened.revision)
    assert (event.expires_at, event.at, event.actor) == (opened.expires_at, trial.clock(), "relabeller")
    assert event.digest != opened.digest
    report = await trial.store.verify(TENANT)
    assert report.sound, report.problems


@clause("S49", "S9")
async def relabelling_what_is_not_as_it_was_read_does_nothing(trial: Trial) -> None:
    store, place, brief = trial.store, at("labelled"), at("brief")
    await write(store, put(place, policy=OLD), put(brief, policy=OLD, ttl=5))
    await write(store, put(place, policy=OLD), put(at("gone"), policy=OLD))
    await delete(store, at("gone"))
    trial.clock.advance(5)
    wishes = [Relabel(place, revision, NEW) for revision in (-1, 0, 1, 3)]
    wishes += [Relabel(place, 2, OLD), Relabel(brief, 1, NEW), Relabel(at("gone"), 1, NEW), Relabel(at("no"), 0, NEW)]
    wishes += [Relabel(at("labelled", plane=Plane.TODO), 2, NEW)]
    for wish in wishes:
        before = await everything(store, wish.address)
        done = await write_one(store, wish)
        assert (done.kind, done.sequence, done.id, done.revision) == (None, None, None, 0)
        assert await everything(store, wish.address) == before, f"{wish} changed something"
    assert (await relabel(store, place, 2, NEW, OTHER)).kind is None
    assert (await relabel(store, place, 2, NEW)).kind is EventKind.RELABELLED
    assert (await relabel(store, place, 2, NEW)).kind is None, "it has them already"
    assert (await store.verify(TENANT)).sound


@clause("S49", "S15")
async def every_filter_sees_the_new_attributes(trial: Trial) -> None:
    store, old, new = trial.store, parse_filter({"level": 1}), parse_filter({"level": 2})
    for key in ("a", "b", "c"):
        await write(store, put(at("judged", key, key=key), policy=OLD))
    moment = trial.clock()
    trial.clock.advance(1)
    await relabel(store, at("judged", "b", key="b"), 1, NEW)
    for as_of in (None, moment):
        assert sorted(await keys_of(store, Find(Plane.ITEM, filter=old, as_of=as_of))) == ["a", "c"]
        assert await keys_of(store, Find(Plane.ITEM, filter=new, as_of=as_of)) == ["b"]
    assert list(await store.namespaces(TENANT, NamespaceQuery(filter=new))) == [("judged", "b")]
    assert len(await store.namespaces(TENANT, NamespaceQuery(filter=old))) == 2
    told = await entries_of(store, query=EventQuery(filter=new))
    assert [(entry.event.sequence, entry.event.kind) for entry in told] == [(2, "add"), (4, "relabelled")]
    assert [entry.row.policy_attributes if entry.row else None for entry in told] == [NEW, None]


@clause("S49", "S37")
async def the_index_hears_of_new_attributes_and_a_mark_of_older_ones_does_not_count(trial: Trial) -> None:
    store, place = trial.store, at("indexed")
    first = await write_one(store, put(place, policy=OLD, index=True))
    assert first.id is not None
    read = await store.pending(TENANT)
    assert await store.mark_indexed(TENANT, [each.mark for each in read]) == 1
    await relabel(store, place, 1, NEW)
    again = await store.pending(TENANT)
    assert [(each.row.id, each.live, each.row.policy_attributes) for each in again] == [(first.id, True, NEW)]
    await relabel(store, place, 1, NEWEST)
    stale = [Mark(first.id, live=True), *(each.mark for each in (*read, *again))]
    assert await store.mark_indexed(TENANT, stale) == 0, "the index does not reflect the newest attributes"
    last = await store.pending(TENANT)
    assert [each.row.policy_attributes for each in last] == [NEWEST]
    assert await store.mark_indexed(TENANT, [each.mark for each in last]) == 1
    assert await store.pending(TENANT) == []
    await delete(store, place)
    assert await store.mark_indexed(TENANT, [each.mark for each in last]) == 0
    assert await store.mark_indexed(TENANT, [each.mark for each in await store.pending(TENANT)]) == 1
    await write(store, put(at("unwanted"), policy=OLD))
    await relabel(store, at("unwanted"), 1, NEW)
    row = await store.get(TENANT, at("unwanted"))
    assert row is not None
    assert row.index_state is IndexState.UNWANTED
    assert (await store.verify(TENANT)).sound


@clause("S49", "S5")
async def a_relabelling_sees_what_came_before_it_in_the_same_commit(trial: Trial) -> None:
    store, kept, fresh = trial.store, at("kept"), at("fresh")
    await write(store, put(kept, b"1", policy=OLD, index=True))
    operations: list[Operation] = [
        Relabel(kept, 1, NEW),
        Relabel(kept, 1, NEW),
        Relabel(kept, 1, NEWEST),
        put(fresh, b"2", policy=OLD),
        Relabel(fresh, 1, NEW),
        put(kept, b"3", policy=OLD),
        Relabel(kept, 1, OLD),
        Relabel(kept, 2, NEW),
        Delete(fresh),
        Relabel(fresh, 1, NEWEST),
    ]
    receipt = await write(store, *operations)
    kinds = [None if each.kind is None else each.kind.value for each in receipt.outcomes]
    again = "relabelled"
    assert kinds == [again, None, again, "add", again, "update", None, again, "delete", None]
    assert [row.policy_attributes for row in await store.history(TENANT, kept)] == [NEW, NEWEST]
    assert [row.policy_attributes for row in await store.history(TENANT, fresh)] == [NEW]
    assert [event.kind.value for event in await log_of(store)] == ["add", *(kind for kind in kinds if kind)]
    report = await store.verify(TENANT)
    assert report.sound, report.problems


@clause("S49")
async def many_are_relabelled_in_one_commit_as_one_by_one(trial: Trial) -> None:
    store = trial.store
    places = [at("many", str(n % 3), key=str(n)) for n in range(40)]
    await write(store, *(put(place, b"%d" % n, policy=OLD) for n, place in enumerate(places)))
    receipt = await write(store, *(Relabel(place, 1 + n % 2, NEW) for n, place in enumerate(places)))
    assert [each.kind is None for each in receipt.outcomes] == [n % 2 == 1 for n in range(40)]
    found = await keys_of(store, Find(Plane.ITEM, filter=parse_filter({"level": 2}), limit=7))
    assert sorted(found, key=int) == [str(n) for n in range(0, 40, 2)]
    assert [event.sequence for event in await log_of(store)] == list(range(1, 61))
    assert (await store.verify(TENANT)).sound


@clause("S49", "S6")
async def a_search_that_was_rested_on_is_changed_by_it_but_a_revision_is_not(trial: Trial) -> None:
    store, place = trial.store, at("rested", "on")
    await write(store, put(place, policy=OLD))
    since = (await store.head(TENANT)).sequence
    await relabel(store, place, 1, NEW)
    change = Unchanged(Plane.ITEM, namespace(("rested",)), since)
    await refused(Contention, write(store, put(at("x")), conditions=(change,)))
    await write(store, put(at("x")), conditions=(Expect(place, 1), replace(change, plane=Plane.TODO)))
    await write(store, put(place, expected=1))


@clause("S49", "S7", "S8")
async def a_repeated_relabelling_is_recognised(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    await write(store, put(place, policy=OLD))
    wish = Relabel(place, 1, NEW)
    first = await write(store, wish, request=idempotency("once", "", [wish]))
    again = await write(store, wish, request=idempotency("once", "", [wish]))
    assert (again.outcomes, again.head, again.replayed) == (first.outcomes, first.head, True)
    for other in (Relabel(place, 2, NEW), Relabel(place, 1, NEWEST), Relabel(at("x"), 1, NEW), Delete(place)):
        await refused(IdempotencyMismatch, write(store, other, request=idempotency("once", "", [other])))
    assert len(await log_of(store)) == 2


@clause("S49", "S26")
async def a_relabelling_is_never_told_as_of_before_the_version(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    written = await write_one(store, put(place, policy=OLD))
    trial.clock.advance(-3_600)
    await relabel(store, place, 1, NEW)
    event = (await log_of(store))[-1]
    assert (event.sequence, event.at) == (2, written.written_at)
    assert (await store.verify(TENANT)).sound


@clause("S49", "S29", "S30", "S34")
async def what_was_relabelled_ends_and_is_swept_like_any_other(trial: Trial) -> None:
    store = trial.store
    for key in ("replaced", "deleted", "expired", "live"):
        place = at("swept", key=key)
        await write(store, put(place, policy=OLD, ttl=5 if key == "expired" else None))
        await relabel(store, place, 1, NEW)
        await relabel(store, place, 1, NEWEST)
    await write(store, put(at("swept", key="replaced")), Delete(at("swept", key="deleted")))
    trial.clock.advance(10)
    keep = Retention(superseded=0, deleted=0, tombstones=0)
    log = await log_of(store)
    for step in (Pass.EXPIRE, Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE):
        await store.sweep(TENANT, step, keep)
        report = await store.verify(TENANT)
        assert report.sound, (step, report.problems)
    assert (await log_of(store))[: len(log)] == log
    row = await store.get(TENANT, at("swept", key="live"))
    assert row is not None
    assert row.policy_attributes == NEWEST


@clause("S49", "S40", "S41")
async def what_was_relabelled_is_erased_with_its_attributes(trial: Trial) -> None:
    store, place = trial.store, at("user", "ann")
    await write(store, put(place, policy=OLD))
    await relabel(store, place, 1, NEW)
    await write(store, put(place, policy=OLD, index=True))
    await relabel(store, place, 2, NEW)
    await store.erase(Erasure(b"r" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    assert (await relabel(store, place, 2, NEWEST)).kind is None
    rows = await store.history(TENANT, place)
    assert [(row.value, row.policy_attributes) for row in rows] == [(None, "{}")] * 2
    report = await store.verify(TENANT)
    assert report.sound, report.problems
    assert await store.mark_indexed(TENANT, [each.mark for each in await store.pending(TENANT)]) == 1


@clause("S49", "S31")
async def a_log_trimmed_anywhere_between_still_vouches_for_what_was_relabelled(trial: Trial) -> None:
    store, place = trial.store, at("labelled")
    await write(store, put(place, policy=OLD))
    for attributes in (NEW, NEWEST, OLD):
        trial.clock.advance(1)
        await relabel(store, place, 1, attributes)
    await write(store, put(at("last")))
    for trimmed in range(1, 5):
        swept = await store.sweep(TENANT, Pass.TRIM, Retention(events=0), limit=1)
        assert (swept.done, (await store.head(TENANT)).trimmed) == (1, trimmed)
        report = await store.verify(TENANT)
        assert report.sound, (trimmed, report.problems)
    assert (await relabel(store, place, 1, NEW)).kind is EventKind.RELABELLED, "what is not kept cannot contradict"
    assert (await store.verify(TENANT)).sound


@clause("S50")
async def what_was_altered_is_not_pinned_anew(trial: Trial) -> None:
    store, place = trial.store, at("altered")
    await write(store, put(at("before"), policy=OLD))
    written = await write_one(store, Put(place, b"1", None, OLD, index_fields='["a"]'))
    await relabel(store, place, 1, NEW)
    assert written.id is not None
    assert written.created_at is not None
    edits: dict[str, tuple[Stored, Stored]] = {
        "policy_attributes": (NEW, '{"level":9}'),
        "attributes": (None, b"forged"),
        "created_at": (written.created_at, written.created_at - 1),
        "archived": (0, 1),
        "index_fields": ('["a"]', None),
        "pinned_sequence": (3, 1),
    }
    for field, (stored, edited) in edits.items():
        await trial.tamper.edit_version(TENANT, written.id, field, edited)
        head = await store.head(TENANT)
        assert (await relabel(store, place, 1, NEWEST)).kind is None, f"an edited {field} was pinned"
        assert await store.head(TENANT) == head
        assert not (await store.verify(TENANT)).sound
        await trial.tamper.edit_version(TENANT, written.id, field, stored)
        assert (await store.verify(TENANT)).sound
    assert (await relabel(store, place, 1, NEWEST)).kind is EventKind.RELABELLED
    await trial.tamper.edit_version(TENANT, written.id, "value", b"forged")
    assert (await relabel(store, place, 1, NEW)).kind is None
    assert not (await store.verify(TENANT)).sound


@clause("S50")
async def a_claim_to_a_part_of_the_log_that_is_gone_does_not_hide_an_edit(trial: Trial) -> None:
    store, place = trial.store, at("altered")
    for n in range(3):
        await write(store, put(at("old", key=str(n))))
    await store.sweep(TENANT, Pass.TRIM, Retention(events=0), limit=2)
    written = await write_one(store, put(place, policy=OLD))
    assert written.id is not None
    await trial.tamper.edit_version(TENANT, written.id, "policy_attributes", '{"level":9}')
    await trial.tamper.edit_version(TENANT, written.id, "pinned_sequence", 1)
    assert (await relabel(store, place, 1, NEW)).kind is None
    assert not (await store.verify(TENANT)).sound
