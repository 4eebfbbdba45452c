"""Proofs of S25 to S28 and S30 to S32: what the log tells, in which order, and how it is read."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import replace

from recollect.domain.address import ROOT, namespace
from recollect.domain.commits import Delete
from recollect.domain.errors import CursorExpired, InvalidCursor, RevisionConflict
from recollect.domain.events import GENESIS, Event, rehash
from recollect.domain.filters import EVERYTHING, Filter, parse_filter
from recollect.domain.planning import Erasure
from recollect.domain.queries import EventQuery, parse_event_cursor, selects
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
    later,
    log_of,
    put,
    refused,
    relabel,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

MANY = frozenset({EventKind.ADD, EventKind.DELETE})


@clause("S25")
async def every_change_appends_exactly_one_event(trial: Trial) -> None:
    store, place = trial.store, at("told")
    outcomes = [
        await write_one(store, put(place, b"1")),
        await write_one(store, put(place, b"2", ttl=5)),
        await delete(store, place),
        await delete(store, place),
        await write_one(store, put(place, b"3", ttl=5)),
    ]
    trial.clock.advance(5)
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    await refused(RevisionConflict, write(store, put(place, expected=9)))
    log = await log_of(store)
    assert [event.kind for event in log] == ["add", "update", "delete", "add", "expired"]
    assert [event.row_id for event in log[:4]] == [outcome.id for outcome in outcomes if outcome.id]
    assert log[4].row_id == log[3].row_id
    assert [event.revision for event in log] == [1, 2, 2, 3, 3]
    assert {event.address for event in log} == {place}
    assert [event.sequence for event in log] == [1, 2, 3, 4, 5]


@clause("S25")
async def what_expired_unswept_is_told_by_the_commit_that_meets_it(trial: Trial) -> None:
    store, place = trial.store, at("told")
    await write(store, put(place, ttl=1))
    trial.clock.advance(1)
    assert await store.get(TENANT, place) is None
    assert len(await log_of(store)) == 1, "a read appends nothing"
    await write(store, put(place), actor="ann")
    assert [event.kind for event in await log_of(store)] == ["add", "expired", "add"]
    await write(store, put(at("told", key="b"), ttl=1))
    trial.clock.advance(1)
    assert (await delete(store, at("told", key="b"))).kind is None
    assert [event.kind for event in await log_of(store)] == ["add", "expired", "add", "add", "expired"]
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    assert len(await log_of(store)) == 5
    assert (await store.verify(TENANT)).sound


@clause("S25")
async def an_event_says_who_when_and_brings_the_version_it_opened(trial: Trial) -> None:
    store, place = trial.store, at("told")
    await write(store, put(place, b"1", ttl=60), actor="ann")
    trial.clock.advance(1)
    await write(store, put(place, b"2"), Delete(place), actor="bob")
    entries = await entries_of(store)
    assert [entry.event.actor for entry in entries] == ["ann", "bob", "bob"]
    start = entries[0].event.at
    assert [entry.event.at for entry in entries] == [start, later(start, 1), later(start, 1)]
    assert entries[0].event.expires_at == later(start, 60)
    assert [entry.row.value if entry.row else None for entry in entries] == [b"1", b"2", None]
    bare = await entries_of(store, query=EventQuery(values=False))
    assert [entry.row for entry in bare] == [None, None, None]
    assert [entry.event for entry in bare] == [entry.event for entry in entries]


@clause("S26")
async def sequences_are_dense_in_the_order_of_commits_whatever_the_clock_does(trial: Trial) -> None:
    store = trial.store
    keys: list[str] = []
    for n, move in enumerate((0, -3600, 7200, 0, -86_400, 1, -1, 0)):
        trial.clock.advance(move)
        names = [f"{n}b", f"{n}a"]
        await write(store, *(put(at("order", key=name)) for name in names))
        await write(store, put(at("order", key="theirs")), tenant=OTHER)
        keys += names
    log = await log_of(store)
    assert [event.address.key for event in log] == keys
    assert [event.sequence for event in log] == list(range(1, len(keys) + 1))
    assert [event.sequence for event in await log_of(store, OTHER)] == list(range(1, 9))
    for size in (1, 3):
        paged = await entries_of(store, query=EventQuery(limit=size))
        assert [entry.event for entry in paged] == log
    assert (await store.verify(TENANT)).sound


@clause("S26")
async def sequences_are_dense_although_many_write_at_once_and_some_are_refused(trial: Trial) -> None:
    stores = [trial.store, await trial.second()]
    calls = [
        write(stores[n % 2], put(at("many", key=str(n % 7)), expected=0 if n % 5 == 0 else None)) for n in range(40)
    ]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    receipts = [answer for answer in answers if not isinstance(answer, BaseException)]
    log = await log_of(trial.store)
    assert [event.sequence for event in log] == list(range(1, len(receipts) + 1))
    assert sorted(receipt.head for receipt in receipts) == [event.sequence for event in log]


async def _mixed_log(trial: Trial) -> list[Event]:
    """A log of every kind of event, in several planes and scopes, with the clock going back and forth."""
    store = trial.store
    for n in range(30):
        trial.clock.advance((-5, 2, 0, 11)[n % 4])
        plane = (Plane.ITEM, Plane.TODO, Plane.RECORD)[n % 3]
        place = at(("user", "users")[n % 2], ("ann", "anna", "ANN")[n % 3], key=f"k{n % 4}", plane=plane)
        match n % 6:
            case 3:
                outcome = await write_one(store, put(place, b"%d" % n))
                await relabel(store, place, outcome.revision, f'{{"n":{n}}}')
            case 4:
                await write(store, put(place, b"%d" % n))
                await delete(store, place)
            case 5:
                await write(store, put(place, ttl=0.001), put(at("user", key="same"), b"%d" % n))
            case _:
                await write(store, put(place, b"%d" % n))
    trial.clock.advance(100)
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    await store.erase(Erasure(b"x" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    await write(store, put(at("user", "ann")))
    return await log_of(store)


@clause("S27")
async def pages_of_events_put_together_are_the_whole_log(trial: Trial) -> None:
    log = await _mixed_log(trial)
    assert {event.kind for event in log} == set(EventKind)
    assert [event.sequence for event in log] == list(range(1, len(log) + 1))
    for size in (1, 2, 5, len(log), len(log) + 1):
        paged = await entries_of(trial.store, query=EventQuery(limit=size))
        assert [entry.event for entry in paged] == log


@clause("S27")
async def filtered_pages_of_events_miss_none_and_double_none(trial: Trial) -> None:
    log = await _mixed_log(trial)
    moments = sorted({event.at for event in log})
    middle, early = moments[len(moments) // 2], moments[1]
    scopes = (ROOT, namespace(("user",)), namespace(("user", "ann")), namespace(("user", "an")))
    planes = (None, frozenset({Plane.ITEM}), frozenset({Plane.TODO, Plane.RECORD}), frozenset({Plane.BUDGET}))
    kinds = (None, MANY, frozenset({EventKind.ERASED}), frozenset({EventKind.EXPIRED, EventKind.UPDATE}))
    spans = ((None, None), (early, None), (None, middle), (early, middle), (middle, early))
    for scope, plane, kind, (since, until) in itertools.product(scopes, planes, kinds, spans):
        query = EventQuery(0, scope, plane, kind, since, until, values=False)
        wanted = [event for event in log if selects(query, event)]
        for size in (1, 4):
            paged = await entries_of(trial.store, query=replace(query, limit=size))
            assert [entry.event for entry in paged] == wanted
        after = len(log) // 2
        rest = await entries_of(trial.store, query=replace(query, after=after))
        assert [entry.event for entry in rest] == [event for event in wanted if event.sequence > after]


@clause("S27")
async def events_are_filtered_by_the_attributes_of_the_version_they_tell_of(trial: Trial) -> None:
    store, place = trial.store, at("judged")
    for n in range(24):
        here = at("judged", key=f"k{n % 5}")
        policy = f'{{"odd":{n % 2},"n":{n}}}'
        outcome = await write_one(store, put(here, b"%d" % n, policy=policy, ttl=3 if n % 7 == 0 else None))
        if n % 3 == 1:
            await relabel(store, here, outcome.revision, f'{{"odd":1,"n":{n + 10}}}')
        if n % 4 == 3:
            await delete(store, here)
        trial.clock.advance(1)
    await store.sweep(TENANT, Pass.EXPIRE, Retention())
    await write(store, put(place), put(at("user", "ann"), policy='{"odd":1}'))
    await store.erase(Erasure(b"f" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    log = await log_of(store)
    kept = {event.row_id: await store.get_by_id(TENANT, event.row_id) for event in log}
    told = {key: row.policy_attributes for key, row in kept.items() if row is not None and row.value is not None}
    assert {event.kind for event in log} == set(EventKind)
    for written in ({"odd": 1}, {"odd": {"$ne": 1}}, {"n": {"gte": 20}}, {"odd": {"$exists": False}}, {"n": 99}, {}):
        for kind, values in itertools.product((None, MANY), (True, False)):
            query = EventQuery(kinds=kind, filter=parse_filter(written), values=values)
            wanted = [event for event in log if selects(query, event, told.get(event.row_id))]
            for size in (1, 3, 1_000):
                paged = await entries_of(store, query=replace(query, limit=size))
                assert [entry.event for entry in paged] == wanted, f"{written}"
            page = await store.events(TENANT, replace(query, limit=3))
            assert len(page.entries) == min(3, len(wanted)), "a page is not full although there is more"
            rest = await entries_of(store, query=replace(query, after=len(log) // 2))
            assert [entry.event for entry in rest] == [event for event in wanted if event.sequence > len(log) // 2]


@clause("S27", "S30")
async def an_event_whose_version_is_gone_passes_only_the_empty_filter(trial: Trial) -> None:
    store, place = trial.store, at("thinned")
    odd, bare = parse_filter({"odd": 1}), parse_filter({"odd": {"$exists": False}})
    await write(store, put(place, policy='{"odd":1}'), put(at("bare")))
    await write(store, put(place, policy='{"odd":1}'))
    await delete(store, place)

    async def told(asked: Filter) -> list[int]:
        return [entry.event.sequence for entry in await entries_of(store, query=EventQuery(filter=asked))]

    assert (await told(odd), await told(bare)) == ([1, 3, 4], [2])
    trial.clock.advance(10)
    keep = Retention(superseded=0, deleted=0, tombstones=0)
    for step, left in ((Pass.EVICT, [3, 4]), (Pass.TOMBSTONE, []), (Pass.PURGE, [])):
        await store.sweep(TENANT, step, keep)
        assert (await told(odd), await told(bare)) == (left, [2])
    assert await told(EVERYTHING) == [1, 2, 3, 4]


@clause("S27")
async def paging_goes_on_where_it_stopped_while_others_write(trial: Trial) -> None:
    store, after, met = trial.store, 0, []
    for turn in range(12):
        trial.clock.advance(-1 if turn % 2 else 1)
        await write(store, put(at("feed", key=f"{turn}a")), put(at("feed", key=f"{turn}b")))
        page = await store.events(TENANT, EventQuery(after=after, limit=3 if turn % 3 else 1))
        met += [entry.event for entry in page.entries]
        after = page.after
    met += [entry.event for entry in await entries_of(store, query=EventQuery(after=after))]
    assert met == await log_of(store)
    assert len(met) == 24


@clause("S27")
async def a_point_beyond_the_end_of_the_log_is_refused(trial: Trial) -> None:
    await write(trial.store, put(at("one")))
    page = await trial.store.events(TENANT, EventQuery(after=1))
    assert (page.entries, page.after, page.head, page.complete) == ([], 1, 1, True)
    await refused(InvalidCursor, trial.store.events(TENANT, EventQuery(after=2)))
    await refused(InvalidCursor, trial.store.events(OTHER, EventQuery(after=1)))


@clause("S28")
async def each_event_carries_the_hash_of_the_one_before(trial: Trial) -> None:
    assert (await trial.store.head(TENANT)).hash == GENESIS
    log = await _mixed_log(trial)
    before = GENESIS
    for event in log:
        assert event.previous == before
        assert event.hash == rehash(event)
        before = event.hash
    head = await trial.store.head(TENANT)
    assert (head.sequence, head.hash) == (log[-1].sequence, log[-1].hash)


@clause("S30")
async def an_evicted_or_purged_version_leaves_its_event(trial: Trial) -> None:
    store, place = trial.store, at("thinned")
    await write(store, put(place, b"1"))
    await write(store, put(place, b"2"))
    await delete(store, place)
    log = await log_of(store)
    trial.clock.advance(10)
    keep = Retention(superseded=0, deleted=0, tombstones=0)
    await store.sweep(TENANT, Pass.EVICT, keep)
    rows = [entry.row for entry in await entries_of(store)]
    assert rows[0] is not None
    assert (rows[0].value, rows[0].attributes, rows[0].policy_attributes) == (None, None, "{}")
    assert rows[1] is not None
    assert rows[1].value == b"2"
    await store.sweep(TENANT, Pass.TOMBSTONE, keep)
    await store.sweep(TENANT, Pass.PURGE, keep)
    assert [entry.row for entry in await entries_of(store)] == [None, None, None]
    assert await log_of(store) == log
    assert await store.history(TENANT, place) == []
    assert (await store.verify(TENANT)).sound


@clause("S31")
async def a_cursor_before_the_kept_part_is_refused_with_the_oldest_that_works(trial: Trial) -> None:
    store = trial.store
    for n in range(6):
        await write(store, put(at("long", key=str(n))))
        trial.clock.advance(1)
    log = await log_of(store)
    keep = Retention(events=3_000_000)
    swept = await store.sweep(TENANT, Pass.TRIM, keep)
    assert swept.done == 4
    for after in range(4):
        refusal = await refused(CursorExpired, store.events(TENANT, EventQuery(after=after)))
        oldest = refusal.details["oldest"]
        assert isinstance(oldest, str)
        assert parse_event_cursor(oldest) == 4
    rest = await entries_of(store, query=EventQuery(after=4))
    assert [entry.event for entry in rest] == log[4:]
    head = await store.head(TENANT)
    assert (head.sequence, head.trimmed, head.trimmed_hash) == (6, 4, log[3].hash)
    assert (await store.verify(TENANT)).sound
    trial.clock.advance(1_000)
    await store.sweep(TENANT, Pass.TRIM, keep)
    assert (await store.head(TENANT)).trimmed == 5, "the last event is kept, so that the chain goes on"
    assert (await write_one(store, put(at("long")))).sequence == 7
    assert (await store.verify(TENANT)).sound


@clause("S32")
async def waiting_returns_at_once_when_there_is_something(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("there")))
    began = time.monotonic()
    assert await store.wait(TENANT, 0, 30)
    assert time.monotonic() - began < 5


@clause("S32")
async def waiting_ends_with_the_time_out(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("other")), tenant=OTHER)
    began = time.monotonic()
    assert not await store.wait(TENANT, 0, 0.15)
    assert 0.1 <= time.monotonic() - began < 5
    assert not await store.wait(TENANT, 0, 0)


@clause("S32")
async def waiting_is_ended_by_a_commit_from_any_instance(trial: Trial) -> None:
    for writer in (trial.store, await trial.second()):
        after = (await trial.store.head(TENANT)).sequence
        began = time.monotonic()
        waiting = asyncio.create_task(trial.store.wait(TENANT, after, 30))
        await asyncio.sleep(0.02)
        await write(writer, put(at("other")), tenant=OTHER)
        assert not waiting.done(), "the commit of another tenant is no event of this one"
        await write(writer, put(at("news")))
        assert await waiting
        assert time.monotonic() - began < 10
