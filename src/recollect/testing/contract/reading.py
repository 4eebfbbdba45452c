"""Proofs of S12 to S14, S19 to S21 and S24: what a read of a key, its history or its past sees."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import itertools

from recollect.domain.address import ROOT, namespace
from recollect.domain.commits import Delete, Operation, Put
from recollect.domain.instants import Instant
from recollect.domain.queries import EventQuery, Find, NamespaceQuery, Order
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.rows import Row
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
    keys_of,
    later,
    put,
    rows_of,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

AWKWARD = ["a", "ab", "A", "%", "_", "\x1e", "é", "e\u0301", "日", ".", "*", "a/b", " ", "\x7f", "%41", "\U0001f600"]
"""Segments and keys at which encodings, patterns and collations go wrong."""


@clause("S12")
async def a_read_sees_what_was_acknowledged_before_from_any_instance(trial: Trial) -> None:
    other = await trial.second()
    for round_number in range(20):
        writer, reader = (trial.store, other) if round_number % 2 else (other, trial.store)
        value = b'{"n":%d}' % round_number
        outcome = await write_one(writer, put(at("shared"), value))
        row = await reader.get(TENANT, at("shared"))
        assert row is not None
        assert (row.value, row.revision) == (value, round_number + 1)
        assert (await reader.head(TENANT)).sequence == outcome.sequence
        assert (await reader.find(TENANT, Find(Plane.ITEM))).rows == [row]
        assert (await reader.events(TENANT, EventQuery(after=round_number))).entries[0].row == row
    await delete(other, at("shared"))
    assert await trial.store.get(TENANT, at("shared")) is None
    assert await trial.store.namespaces(TENANT, NamespaceQuery()) == []


@clause("S12", "S13")
async def several_read_together_are_each_what_a_read_alone_gives(trial: Trial) -> None:
    other = await trial.second()
    await write(trial.store, put(at("a"), b"1"), put(at("gone")), put(at("brief"), b"2", ttl=5))
    await write(other, put(at("a"), b"3"), tenant=OTHER)
    await delete(trial.store, at("gone"))
    places = [(OTHER, at("a")), (TENANT, at("gone")), (TENANT, at("a")), (TENANT, at("brief")), (TENANT, at("a"))]
    for store in (trial.store, other):
        alone = [await store.get(*place) for place in places]
        assert [row and row.value for row in alone] == [b"3", None, b"1", b"2", b"1"]
        assert list(await store.get_each(places)) == alone
    trial.clock.advance(5)
    assert [row is None for row in await other.get_each(places)] == [False, True, False, True, False]
    assert list(await other.get_each([])) == []


@clause("S12")
async def what_was_acknowledged_is_there_after_reopening(trial: Trial) -> None:
    await write(trial.store, put(at("kept"), b'{"kept":true}'), put(at("gone")))
    await delete(trial.store, at("gone"))
    head = await trial.store.head(TENANT)
    store = await trial.reopen()
    row = await store.get(TENANT, at("kept"))
    assert row is not None
    assert row.value == b'{"kept":true}'
    assert await store.get(TENANT, at("gone")) is None
    assert await store.head(TENANT) == head
    assert (await store.verify(TENANT)).sound
    assert (await write_one(store, put(at("kept")))).revision == 2


@clause("S13")
async def what_expires_at_a_moment_is_not_seen_from_that_moment_on(trial: Trial) -> None:
    store, place, clock = trial.store, at("brief"), trial.clock
    moment = later(clock(), 10)
    await write(store, put(place, ttl=10), Put(at("dated"), b"{}", expires_at=moment))
    for now, seen in ((moment - 1, True), (moment, False), (moment + 1, False), (moment - 1, True)):
        clock.now = Instant(now)
        assert (await store.get(TENANT, place) is not None) is seen
        assert (await store.get(TENANT, at("dated")) is not None) is seen
        for order in Order:
            assert len((await store.find(TENANT, Find(Plane.ITEM, order=order))).rows) == (2 if seen else 0)
        assert len(await store.namespaces(TENANT, NamespaceQuery())) == (2 if seen else 0)
    clock.now = moment
    assert [row.ended_at for row in await store.history(TENANT, place)] == [None], "no sweeper ran"
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    clock.now = Instant(moment - 1)
    assert await store.get(TENANT, place) is None, "an expiry that was swept is final"


@clause("S13", "S20")
async def what_had_expired_is_not_seen_as_of_then_either(trial: Trial) -> None:
    store, place, clock = trial.store, at("brief"), trial.clock
    written = clock()
    await write(store, put(place, ttl=10))
    clock.advance(100)
    for moment, seen in ((written, True), (later(written, 10) - 1, True), (later(written, 10), False)):
        assert (await store.get(TENANT, place, as_of=Instant(moment)) is not None) is seen
        found = await store.find(TENANT, Find(Plane.ITEM, as_of=Instant(moment)))
        assert len(found.rows) == (1 if seen else 0)


@clause("S14")
async def a_scope_matches_whole_segments(trial: Trial) -> None:
    store = trial.store
    names = ["al", "alice", "alice2", "ALICE", "Alice", "alic", "alice%", "alice_"]
    for name in names:
        await write(store, put(at("user", name, key=name)), put(at("user", name, "notes", key=f"{name}/notes")))
    await write(store, put(at("USER", "alice", key="upper")), put(at("user", key="above")))
    for name in names:
        scope = namespace(("user", name))
        assert set(await keys_of(store, Find(Plane.ITEM, scope))) == {name, f"{name}/notes"}
        listed = await store.namespaces(TENANT, NamespaceQuery(within=scope))
        assert set(listed) == {("user", name), ("user", name, "notes")}
        told = await entries_of(store, query=EventQuery(within=scope))
        assert {entry.event.address.key for entry in told} == {name, f"{name}/notes"}
    assert len(await keys_of(store, Find(Plane.ITEM, namespace(("user",))))) == 2 * len(names) + 1
    assert len(await keys_of(store, Find(Plane.ITEM, ROOT))) == 2 * len(names) + 2


@clause("S14")
async def awkward_segments_and_keys_are_taken_literally(trial: Trial) -> None:
    store = trial.store
    for segment in AWKWARD:
        await write(store, *(put(at("top", segment, key=key), f"{segment}|{key}".encode()) for key in AWKWARD))
    for segment in AWKWARD:
        for key in AWKWARD:
            row = await store.get(TENANT, at("top", segment, key=key))
            assert row is not None
            assert row.value == f"{segment}|{key}".encode()
        scope = namespace(("top", segment))
        rows = await rows_of(store, Find(Plane.ITEM, scope, order=Order.KEY))
        assert [row.address.key for row in rows] == sorted(AWKWARD, key=str.encode)
        assert {row.address.namespace for row in rows} == {scope}
    listed = await store.namespaces(TENANT, NamespaceQuery())
    assert set(listed) == {("top", segment) for segment in AWKWARD}


def _endings(rows: list[Row]) -> list[tuple[int, bytes | None, int | None, EndReason | None]]:
    return [(row.revision, row.value, row.ended_at, row.end_reason) for row in rows]


@clause("S19")
async def history_has_every_version_with_why_and_when_it_ended(trial: Trial) -> None:
    store, place, clock = trial.store, at("storied"), trial.clock
    start = clock()
    await write(store, put(place, b"1"))
    clock.advance(1)
    await write(store, put(place, b"2"))
    clock.advance(1)
    await delete(store, place)
    clock.advance(1)
    await write(store, put(place, b"3", ttl=1))
    clock.advance(5)
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    await write(store, put(place, b"4"))
    rows = list(await store.history(TENANT, place))
    assert _endings(rows) == [
        (4, b"4", None, None),
        (3, b"3", later(start, 8), EndReason.EXPIRED),
        (2, b"2", later(start, 2), EndReason.DELETED),
        (1, b"1", later(start, 1), EndReason.UPDATED),
    ]
    assert [row.created_at for row in rows] == [later(start, 8), later(start, 3), start, start]
    assert [row.written_at for row in rows] == [later(start, 8), later(start, 3), later(start, 1), start]


@clause("S19")
async def history_can_be_read_in_parts(trial: Trial) -> None:
    store, place = trial.store, at("storied")
    for n in range(1, 8):
        await write(store, put(place, b"%d" % n))
    await write(store, put(at("storied", key="other")))
    parts: list[int] = []
    before: int | None = None
    for _ in range(4):
        page = await store.history(TENANT, place, limit=2, before=before)
        parts += [row.revision for row in page]
        before = page[-1].revision
    assert parts == [7, 6, 5, 4, 3, 2, 1]
    assert await store.history(TENANT, place, limit=2, before=1) == []
    assert await store.history(TENANT, at("storied", key="never")) == []


@clause("S19")
async def a_version_ended_by_an_evicted_value_stays_in_history(trial: Trial) -> None:
    store, place = trial.store, at("thinned")
    await write(store, put(place, b"1"))
    await write(store, put(place, b"2"))
    trial.clock.advance(10)
    await store.sweep(TENANT, Pass.EVICT, Retention(superseded=0))
    rows = await store.history(TENANT, place)
    assert [(row.revision, row.value, row.end_reason) for row in rows] == [
        (2, b"2", None),
        (1, None, EndReason.UPDATED),
    ]


@clause("S20")
async def a_read_as_of_a_moment_sees_what_was_live_then(trial: Trial) -> None:
    store, clock, place, other = trial.store, trial.clock, at("past"), at("past", key="other")
    start = clock()
    live: list[set[bytes]] = []
    steps: list[list[Operation]] = [
        [put(place, b"1")],
        [put(place, b"2"), put(other, b"o")],
        [Delete(place)],
        [put(place, b"3")],
        [],
    ]
    for operations in steps:
        if operations:
            await write(store, *operations)
        live.append({row.value or b"" for row in (await store.find(TENANT, Find(Plane.ITEM))).rows})
        clock.advance(1)
    assert live[1] == {b"2", b"o"}
    for step, values in enumerate(live):
        for moment in (later(start, step), Instant(later(start, step + 1) - 1)):
            for order in Order:
                rows = await rows_of(store, Find(Plane.ITEM, order=order, as_of=moment, limit=1))
                assert {row.value for row in rows} == values
                assert len(rows) == len(values)
            row = await store.get(TENANT, place, as_of=moment)
            assert ({row.value} if row else set()) == values - {b"o"}
    assert await store.get(TENANT, place, as_of=Instant(start - 1)) is None
    assert (await store.find(TENANT, Find(Plane.ITEM, as_of=Instant(start - 1)))).rows == []


@clause("S20")
async def versions_of_one_key_never_overlap_whatever_the_clock_does(trial: Trial) -> None:
    store, clock, place = trial.store, trial.clock, at("past")
    start = clock()
    for n, move in enumerate((0, 5, -20, 0, 3, -1, 40)):
        clock.advance(move)
        await write(store, put(place, b"%d" % n) if n != 4 else Delete(place))
    rows = await store.history(TENANT, place)
    for newer, older in itertools.pairwise(rows):
        assert older.ended_at is not None
        assert older.written_at <= older.ended_at <= newer.written_at
    for moment in range(start - 30_000_000, start + 60_000_000, 1_000_000):
        seen = [row for row in rows if row.live_as_of(Instant(moment))]
        assert len(seen) <= 1
        assert await store.get(TENANT, place, as_of=Instant(moment)) == (seen[0] if seen else None)


@clause("S21")
async def a_row_is_had_by_its_id_live_or_not_in_its_own_tenant(trial: Trial) -> None:
    store, place = trial.store, at("known")
    first = await write_one(store, put(place, b"1"))
    second = await write_one(store, put(place, b"2"))
    assert first.id is not None
    assert second.id is not None
    assert first.id != second.id
    for row_id, value in ((first.id, b"1"), (second.id, b"2")):
        row = await store.get_by_id(TENANT, row_id)
        assert row is not None
        assert (row.id, row.value, row.address) == (row_id, value, place)
        assert await store.get_by_id(OTHER, row_id) is None
    await delete(store, place)
    row = await store.get_by_id(TENANT, second.id)
    assert row is not None
    assert row.end_reason is EndReason.DELETED
    assert await store.get_by_id(TENANT, bytes(16)) is None


@clause("S24")
async def values_come_back_exactly_as_they_were_given(trial: Trial) -> None:
    store = trial.store
    values = [b"{}", b'{"a":1}', b'{"a": 1 }', bytes(range(256)), "日é\u0301\U0001f600".encode(), b"x" * 300_000, b""]
    for n, value in enumerate(values):
        attributes = None if n % 2 else value
        policy = f'{{"n":{n},"text":"\\u001e%_日"}}'
        place = at("exact", key=str(n))
        fields = '["text","日"]' if n % 3 else None
        outcome = await write_one(store, Put(place, value, attributes, policy, index=bool(n % 2), index_fields=fields))
        row = await store.get(TENANT, place)
        assert row is not None
        assert (row.value, row.attributes, row.policy_attributes) == (value, attributes, policy)
        assert (row.index_fields, row.archived) == (fields, False)
        assert (row.id, row.revision, row.sequence) == (outcome.id, outcome.revision, outcome.sequence)
        assert (row.created_at, row.written_at) == (outcome.created_at, outcome.written_at)
        assert row.index_state is (IndexState.PENDING if n % 2 else IndexState.UNWANTED)
    store = await trial.reopen()
    found = await rows_of(store, Find(Plane.ITEM, order=Order.OLDEST))
    assert [row.value for row in found] == values
    told = await entries_of(store, query=EventQuery(kinds=frozenset({EventKind.ADD})))
    assert [entry.row.value for entry in told if entry.row is not None] == values
