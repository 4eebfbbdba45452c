"""Proofs of S46: what happened elsewhere is told as of the moment when it happened there."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import itertools

from recollect.domain.commits import Delete, Expire, Operation, idempotency
from recollect.domain.errors import IdempotencyMismatch, InvalidCommit, RevisionConflict
from recollect.domain.instants import LAST, Instant
from recollect.domain.queries import Find
from recollect.domain.reasons import EndReason, EventKind, Plane
from recollect.testing.contract.scenes import (
    SECOND,
    TENANT,
    at,
    entries_of,
    keys_of,
    later,
    log_of,
    put,
    refused,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause

DAY = 86_400


@clause("S46")
async def a_history_from_elsewhere_keeps_its_moments(trial: Trial) -> None:
    store, place, now = trial.store, at("moved"), trial.clock()
    begin = later(now, -100 * DAY)
    moments = [later(begin, n * DAY) for n in range(5)]
    story: list[Operation] = [
        put(place, b"1", when=moments[0]),
        put(place, b"2", ttl=DAY, when=moments[1]),
        Expire(place, at=moments[2]),
        put(place, b"3", when=moments[3]),
        Delete(place, at=moments[4]),
    ]
    for operation in story:
        await write(store, operation)
        trial.clock.advance(1)
    log = await log_of(store)
    assert [event.at for event in log] == moments
    assert [event.kind for event in log] == ["add", "update", "expired", "add", "delete"]
    assert [event.detail for event in log] == [f'{{"imported_at":{later(now, n)}}}' for n in range(5)]
    rows = await store.history(TENANT, place)
    assert [(row.created_at, row.written_at, row.ended_at, row.end_reason) for row in rows] == [
        (moments[3], moments[3], moments[4], EndReason.DELETED),
        (moments[0], moments[1], moments[2], EndReason.EXPIRED),
        (moments[0], moments[0], moments[1], EndReason.UPDATED),
    ]
    assert [row.expires_at for row in rows] == [None, moments[2], None]
    for moment, value in zip(moments, (b"1", b"2", None, b"3", None), strict=True):
        row = await store.get(TENANT, place, as_of=moment)
        assert (row.value if row else None) == value
        found = (await store.find(TENANT, Find(Plane.ITEM, as_of=moment))).rows
        assert [each.value for each in found] == ([value] if value else [])
    assert (await store.verify(TENANT)).sound


@clause("S46", "S25")
async def what_happens_here_says_nothing_of_an_import(trial: Trial) -> None:
    store, place = trial.store, at("here")
    await write(store, put(place), put(at("there"), when=later(trial.clock(), -5)), Delete(place))
    log = await log_of(store)
    assert [event.detail != "" for event in log] == [False, True, False]
    assert [event.at for event in log] == [trial.clock(), later(trial.clock(), -5), trial.clock()]
    assert [event.sequence for event in log] == [1, 2, 3], "time is a label; order is the sequence"


@clause("S46")
async def no_moment_lies_before_the_version_it_follows(trial: Trial) -> None:
    store, place, now = trial.store, at("late"), trial.clock()
    await write(store, put(place, b"1"))
    early = later(now, -DAY)
    outcome = await write_one(store, put(place, b"2", when=early))
    assert (outcome.written_at, outcome.created_at) == (now, now)
    assert (await write_one(store, Delete(place, at=early))).written_at == now
    assert (await write_one(store, put(place, b"3", when=early))).written_at == now
    assert (await write_one(store, put(at("other"), when=early))).written_at == early, "other keys are not concerned"
    trial.clock.advance(-2 * DAY)
    assert (await write_one(store, put(place, b"4"))).written_at == now
    rows = await store.history(TENANT, place)
    for newer, older in itertools.pairwise(rows):
        assert older.ended_at is not None
        assert older.written_at <= older.ended_at <= newer.written_at
    assert (await store.verify(TENANT)).sound


@clause("S46", "S13")
async def whether_the_version_before_had_expired_is_judged_as_of_the_moment(trial: Trial) -> None:
    store, now = trial.store, trial.clock()
    begin = later(now, -100)
    for name, lapse, told in (("in time", 9, ["add", "update"]), ("too late", 10, ["add", "expired", "add"])):
        place = at("lapsed", name)
        since = (await store.head(TENANT)).sequence
        first = await write_one(store, put(place, b"1", ttl=10, when=begin))
        assert first.expires_at == later(begin, 10), "a time to live counts from the moment"
        assert await store.get(TENANT, place) is None, "it has expired by now"
        moment = later(begin, lapse)
        await refused(RevisionConflict, write(store, put(place, expected=1 if lapse == 10 else 0, when=moment)))
        await write(store, put(place, b"2", when=moment))
        events = [entry.event for entry in await entries_of(store) if entry.event.sequence > since]
        assert [event.kind for event in events] == told
        assert all(event.detail for event in events)
        assert events[-1].at == moment
        row = await store.get(TENANT, place)
        assert row is not None
        assert (row.revision, row.created_at) == (2, begin if lapse == 9 else moment)
    assert (await store.verify(TENANT)).sound


@clause("S46", "S33")
async def expiring_and_deleting_ask_as_of_their_moment(trial: Trial) -> None:
    store, place, begin = trial.store, at("timed"), later(trial.clock(), -100)
    await write(store, put(place, ttl=10, when=begin))
    assert (await write_one(store, Expire(place, at=later(begin, 9)))).kind is None
    assert (await write_one(store, Delete(place, 1, at=later(begin, 9)))).kind is EventKind.DELETE
    await write(store, put(place, ttl=10, when=later(begin, 20)))
    assert (await write_one(store, Delete(place, at=later(begin, 30)))).kind is None, "it had expired by then"
    assert [event.kind for event in await log_of(store)] == ["add", "delete", "add", "expired"]
    assert [event.at for event in await log_of(store)] == [later(begin, n) for n in (0, 9, 20, 30)]
    await write(store, put(at("ahead"), ttl=10))
    ahead = Instant(trial.clock() + 10 * SECOND)
    assert (await write_one(store, Expire(at("ahead")))).kind is None
    assert (await write_one(store, Expire(at("ahead"), at=ahead))).kind is EventKind.EXPIRED
    assert (await store.verify(TENANT)).sound


@clause("S46", "S8")
async def another_moment_or_mark_is_another_request(trial: Trial) -> None:
    store, place, moment = trial.store, at("asked"), later(trial.clock(), -5)
    first = (put(place, when=moment),)
    await write(store, *first, request=idempotency("import-1", "", first))
    assert (await write(store, *first, request=idempotency("import-1", "", first))).replayed
    others: list[Operation] = [put(place), put(place, when=later(moment, 1)), put(place, archived=True, when=moment)]
    for other in others:
        await refused(IdempotencyMismatch, write(store, other, request=idempotency("import-1", "", (other,))))


@clause("S46", "S1")
async def a_moment_that_no_calendar_has_is_refused(trial: Trial) -> None:
    store = trial.store
    for moment in (Instant(-1), Instant(LAST + 1)):
        for operation in (put(at("x"), when=moment), Delete(at("x"), at=moment), Expire(at("x"), at=moment)):
            await refused(InvalidCommit, write(store, put(at("beside")), operation))
    assert await keys_of(store, Find(Plane.ITEM)) == []
    for moment in (Instant(0), LAST):
        assert (await write_one(store, put(at("edge", key=str(moment)), when=moment))).written_at == moment
