"""What a user of `recollect.open` is promised, told as they would try it; on every backend, in both forms."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import recollect
from recollect import DeleteOp, EndReason, EventKind, Memories, PutOp, errors
from recollect.domain.instants import datetime_of
from recollect.domain.retention import Pass
from recollect.testing.doubles import ManualClock

ALICE = ("user", "alice")


class Awaited:
    """The synchronous form behind awaitable calls, so that one test serves both forms."""

    def __init__(self, memories: recollect.MemoriesSync) -> None:
        self._memories = memories

    def for_tenant(self, tenant: str, *, actor: str = "") -> Awaited:
        return Awaited(self._memories.for_tenant(tenant, actor=actor))

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._memories, name)

        async def awaited(*arguments: Any, **named: Any) -> Any:
            answer = call(*arguments, **named)
            assert not inspect.isawaitable(answer)
            return answer

        return awaited


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite", "memory sync", "sqlite sync"])
async def memories(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Any]:
    backend, _, form = request.param.partition(" ")
    place = ":memory:" if backend == "memory" else tmp_path / "data"
    if form:
        with recollect.open_sync(place, clock=clock, actor="tester") as opened:
            yield Awaited(opened)
    else:
        async with recollect.open(place, clock=clock, actor="tester") as opened:
            yield opened


async def test_what_is_written_is_read(memories: Memories, clock: ManualClock) -> None:
    value = {"text": "likes tea ☕", "big": 1 << 70, "deep": [{"x": None, "y": [True, 1.5, -0.0]}]}
    written = await memories.put(ALICE, "drink", value, attributes={"source": "chat"}, policy_attributes={"n": 1})
    item = await memories.get(ALICE, "drink")
    assert item is not None
    assert (item.value, item.attributes) == (value, {"source": "chat"})
    assert (item.namespace, item.key, item.revision) == (ALICE, "drink", 1)
    assert item.created_at == item.updated_at == written.created_at == datetime_of(clock.now)
    assert written.kind is EventKind.ADD
    assert await memories.get(ALICE, "food") is None
    assert written.id is not None
    by_id = await memories.get_by_id(written.id)
    assert by_id is not None
    assert by_id.value == value


async def test_an_update_keeps_when_the_key_was_created(memories: Memories, clock: ManualClock) -> None:
    first = await memories.put(ALICE, "k", {"turn": 1})
    clock.advance(60)
    second = await memories.put(ALICE, "k", {"turn": 2})
    item = await memories.get(ALICE, "k")
    assert item is not None
    assert (second.kind, second.revision) == (EventKind.UPDATE, 2)
    assert item.created_at == first.created_at
    assert item.updated_at == item.created_at + timedelta(seconds=60)
    await memories.delete(ALICE, "k")
    clock.advance(60)
    third = await memories.put(ALICE, "k", {"turn": 3})
    assert (third.kind, third.revision) == (EventKind.ADD, 3)
    assert third.created_at == datetime_of(clock.now)


async def test_what_expires_is_gone_at_that_very_moment(memories: Memories, clock: ManualClock) -> None:
    await memories.put(ALICE, "soon", {"n": 1}, ttl=10)
    await memories.put(ALICE, "then", {"n": 2}, expires_at=datetime_of(clock.now) + timedelta(seconds=10))
    await memories.put(ALICE, "span", {"n": 3}, ttl=timedelta(seconds=10))
    clock.advance(9.999999)
    assert len(await memories.search(ALICE)) == 3
    clock.advance(0.000001)
    assert len(await memories.search(ALICE)) == 0
    assert [await memories.get(ALICE, key) for key in ("soon", "then", "span")] == [None] * 3
    assert await memories.list_namespaces() == []
    assert (await memories.sweep())[Pass.EXPIRE] == 3
    kinds = [event.kind for event in await memories.events(kinds=["expired"])]
    assert kinds == [EventKind.EXPIRED] * 3
    assert (await memories.sweep())[Pass.EXPIRE] == 0


async def test_a_search_finds_what_lies_at_or_below_a_namespace(memories: Memories) -> None:
    for path in (ALICE, (*ALICE, "notes"), (*ALICE, "notes", "2026"), ("user", "aliced"), ("user",), ("team", "alice")):
        await memories.put(path, "k", {"at": list(path)})
    assert [item.namespace for item in await memories.search(ALICE, order="key")] == [
        ALICE,
        (*ALICE, "notes"),
        (*ALICE, "notes", "2026"),
    ]
    assert len(await memories.search((*ALICE, "notes"))) == 2
    assert len(await memories.search(("user", "al"))) == 0
    assert len(await memories.search(("user",))) == 5
    assert len(await memories.search()) == 6


async def test_pages_put_together_are_the_whole(memories: Memories) -> None:
    for number in range(25):
        await memories.put(ALICE, f"k{number:02}", {"n": number})
    for order, expected in (
        ("newest", [*range(24, -1, -1)]),
        ("oldest", [*range(25)]),
        ("key", [*range(25)]),
    ):
        met: list[int] = []
        cursor: str | None = None
        for _ in range(10):
            page = await memories.search(ALICE, order=order, limit=7, cursor=cursor)
            met += [item.value["n"] for item in page if item.value is not None]
            cursor = page.cursor
            if cursor is None:
                break
        assert met == expected
    assert [i.value for i in await memories.search(ALICE, order="oldest", limit=2, offset=3)] == [{"n": 3}, {"n": 4}]


async def test_attributes_can_be_asked_for(memories: Memories) -> None:
    await memories.put(ALICE, "a", {}, policy_attributes={"topic": "python", "score": 0.9, "tags": ["x", "y"]})
    await memories.put(ALICE, "b", {}, policy_attributes={"topic": "go", "score": 0.4, "at": "2026-01-02T00:00:00Z"})
    await memories.put(ALICE, "c", {}, policy_attributes=MappingProxyType({"topic": "Python", "ok": True}))

    async def asked(filter: dict[str, Any]) -> str:  # noqa: A002 - the word of the API
        return "".join(sorted(item.key for item in await memories.search(ALICE, filter=filter)))

    assert await asked({"topic": "python"}) == "a"
    assert await asked({"topic": ["python", "go"]}) == "ab"
    assert await asked({"topic": {"in": ["go"]}}) == "b"
    assert await asked({"topic": {"$ne": "go"}}) == "ac"
    assert await asked({"score": {"gte": 0.4, "lt": 0.9}}) == "b"
    assert await asked({"tags": "y"}) == "a"
    assert await asked({"ok": True}) == "c"
    assert await asked({"ok": 1}) == ""
    assert await asked({"score": {"$exists": False}}) == "c"
    assert await asked({"at": {"$lt": "2026-01-02T01:30:00+01:00"}}) == "b"
    assert await asked({"topic": "python", "score": {"$gt": 0.95}}) == ""


async def test_namespaces_are_listed_with_patterns(memories: Memories) -> None:
    for path in (("user", "a", "notes"), ("user", "b", "notes"), ("user", "b", "todo"), ("team", "x", "notes")):
        await memories.put(path, "k", {})
    assert await memories.list_namespaces() == [
        ("team", "x", "notes"),
        ("user", "a", "notes"),
        ("user", "b", "notes"),
        ("user", "b", "todo"),
    ]
    assert await memories.list_namespaces(prefix=("user", "*"), suffix=("notes",)) == [
        ("user", "a", "notes"),
        ("user", "b", "notes"),
    ]
    assert await memories.list_namespaces(max_depth=1) == [("team",), ("user",)]
    assert await memories.list_namespaces(max_depth=2, limit=1, offset=1) == [("user", "a")]
    await memories.delete(("team", "x", "notes"), "k")
    assert await memories.list_namespaces(suffix=("x", "*")) == []


async def test_every_change_is_an_event_with_its_value(memories: Memories) -> None:
    await memories.put(ALICE, "k", {"turn": 1}, attributes={"a": 1})
    await memories.put(ALICE, "k", {"turn": 2})
    await memories.delete(ALICE, "k")
    await memories.delete(ALICE, "k")
    page = await memories.events()
    assert [(event.kind, event.value, event.revision, event.sequence) for event in page] == [
        (EventKind.ADD, {"turn": 1}, 1, 1),
        (EventKind.UPDATE, {"turn": 2}, 2, 2),
        (EventKind.DELETE, None, 2, 3),
    ]
    assert [event.attributes for event in page] == [{"a": 1}, None, None]
    assert {event.actor for event in page} == {"tester"}
    assert page.complete
    assert len(await memories.events(after=page.cursor)) == 0
    await memories.put(("user", "bob"), "k", {})
    later = await memories.events(after=page.cursor)
    assert [event.namespace for event in later] == [("user", "bob")]
    assert len(await memories.events(ALICE, kinds=["add", "delete"])) == 2
    assert len(await memories.events(limit=2)) == 2
    assert not (await memories.events(limit=2)).complete


async def test_history_tells_every_version_and_how_it_ended(memories: Memories, clock: ManualClock) -> None:
    for turn in (1, 2, 3):
        await memories.put(ALICE, "k", {"turn": turn})
        clock.advance(10)
    await memories.delete(ALICE, "k")
    past = await memories.history(ALICE, "k")
    assert [(item.revision, item.value, item.end_reason) for item in past] == [
        (3, {"turn": 3}, EndReason.DELETED),
        (2, {"turn": 2}, EndReason.UPDATED),
        (1, {"turn": 1}, EndReason.UPDATED),
    ]
    assert past[0].ended_at == datetime_of(clock.now)
    assert [item.revision for item in await memories.history(ALICE, "k", limit=1, before_revision=3)] == [2]


async def test_the_past_can_be_read_as_it_was(memories: Memories, clock: ManualClock) -> None:
    moments = []
    for turn in (1, 2):
        await memories.put(ALICE, "k", {"turn": turn})
        moments.append(datetime_of(clock.now))
        clock.advance(10)
    await memories.delete(ALICE, "k")
    clock.advance(10)
    first = await memories.get(ALICE, "k", as_of=moments[0])
    assert first is not None
    assert first.value == {"turn": 1}
    assert [item.value for item in await memories.search(as_of=moments[1])] == [{"turn": 2}]
    assert await memories.get(ALICE, "k", as_of=moments[0] - timedelta(microseconds=1)) is None
    assert await memories.get(ALICE, "k", as_of=moments[1] + timedelta(seconds=10)) is None


async def test_a_batch_happens_wholly_or_not_at_all(memories: Memories) -> None:
    await memories.put(ALICE, "old", {"n": 0})
    with pytest.raises(errors.RevisionConflict):
        await memories.batch(
            [PutOp(ALICE, "new", {}), DeleteOp(ALICE, "old"), PutOp(ALICE, "x", {}, expected_revision=3)]
        )
    assert [item.key for item in await memories.search()] == ["old"]
    assert len(await memories.events()) == 1
    done = await memories.batch([PutOp(ALICE, "new", {}), DeleteOp(ALICE, "old"), PutOp(ALICE, "new", {"again": True})])
    assert [outcome.kind for outcome in done] == [EventKind.ADD, EventKind.DELETE, EventKind.UPDATE]
    assert [outcome.sequence for outcome in done] == [2, 3, 4]
    assert [(item.key, item.value) for item in await memories.search()] == [("new", {"again": True})]


async def test_expected_revisions_guard_a_key(memories: Memories) -> None:
    await memories.put(ALICE, "k", {}, expected_revision=0)
    await memories.put(ALICE, "k", {}, expected_revision=1)
    with pytest.raises(errors.RevisionConflict) as caught:
        await memories.put(ALICE, "k", {}, expected_revision=1)
    assert caught.value.details == {"expected": 1, "actual": 2}
    with pytest.raises(errors.RevisionConflict):
        await memories.delete(ALICE, "k", expected_revision=0)
    assert (await memories.delete(ALICE, "k", expected_revision=2)).kind is EventKind.DELETE


async def test_a_repeated_request_changes_nothing(memories: Memories, clock: ManualClock) -> None:
    first = await memories.put(ALICE, "k", {"n": 1}, idempotency_key="once")
    clock.advance(5)
    again = await memories.put(ALICE, "k", {"n": 1}, idempotency_key="once")
    assert again.replayed
    assert not first.replayed
    assert (again.id, again.sequence, again.updated_at) == (first.id, first.sequence, first.updated_at)
    assert len(await memories.events()) == 1
    with pytest.raises(errors.IdempotencyMismatch):
        await memories.put(ALICE, "k", {"n": 2}, idempotency_key="once")
    await memories.for_tenant("other").put(ALICE, "k", {"n": 2}, idempotency_key="once")
    clock.advance(2 * 86_400)
    await memories.sweep()
    assert not (await memories.put(ALICE, "k", {"n": 2}, idempotency_key="once")).replayed


async def test_tenants_never_meet(memories: Memories) -> None:
    other = memories.for_tenant("other", actor="neighbour")
    mine = await memories.put(ALICE, "k", {"of": "mine"})
    await other.put(ALICE, "k", {"of": "other"})
    await other.put(ALICE, "more", {})
    item = await memories.get(ALICE, "k")
    assert item is not None
    assert item.value == {"of": "mine"}
    assert mine.id is not None
    assert await other.get_by_id(mine.id) is None
    assert len(await memories.search()) == 1
    assert [event.sequence for event in await other.events()] == [1, 2]
    assert {event.actor for event in await other.events()} == {"neighbour"}
    await memories.erase("user:alice")
    assert len(await other.search()) == 2
    await other.delete(ALICE, "k")
    assert len(await memories.history(ALICE, "k")) == 1


async def test_the_log_can_be_verified_against_a_head_kept_elsewhere(memories: Memories) -> None:
    await memories.put(ALICE, "k", {})
    head = await memories.head()
    await memories.put(ALICE, "k", {"n": 2})
    report = await memories.verify(head=head)
    assert report.sound
    assert (report.events, report.versions) == (2, 2)
    foreign = f"1:{'00' * 32}"
    assert not (await memories.verify(head=foreign)).sound
    assert not (await memories.verify(head=f"99:{'00' * 32}")).sound


async def test_retention_drops_old_values_and_keeps_the_log_sound(memories: Memories, clock: ManualClock) -> None:
    for turn in (1, 2):
        await memories.put(ALICE, "k", {"turn": turn})
    await memories.put(ALICE, "gone", {})
    await memories.delete(ALICE, "gone")
    done = await memories.sweep()
    assert (done[Pass.EVICT], done[Pass.TOMBSTONE], done[Pass.PURGE]) == (0, 1, 0)
    clock.advance(91 * 86_400)
    done = await memories.sweep()
    assert (done[Pass.EVICT], done[Pass.PURGE]) == (1, 2)
    assert [item.revision for item in await memories.history(ALICE, "k")] == [2]
    assert len(await memories.events()) == 4
    assert (await memories.verify()).sound


async def test_closing_twice_is_fine_and_a_closed_store_refuses(memories: Memories) -> None:
    await memories.put(ALICE, "k", {})
    await memories.close()
    await memories.close()
    for call in (
        lambda: memories.get(ALICE, "k"),
        lambda: memories.put(ALICE, "k", {}),
        lambda: memories.search(),
        lambda: memories.events(),
        lambda: memories.head(),
        lambda: memories.erase("user:alice"),
    ):
        with pytest.raises(errors.StoreClosed):
            await call()


async def test_waiting_for_events_ends_when_there_is_one(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        start = memories.events().cursor
        late = threading.Timer(0.05, lambda: memories.put(ALICE, "k", {}))
        late.start()
        assert [event.kind for event in memories.events(after=start, wait=30)] == [EventKind.ADD]
        late.join()


def test_a_moment_without_a_zone_is_no_moment() -> None:
    with recollect.open_sync(":memory:") as memories, pytest.raises(errors.InvalidExpiry, match="time zone"):
        memories.get(ALICE, "k", as_of=datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None))


async def test_an_answer_does_not_depend_on_what_was_asked_before(memories: Memories) -> None:
    await memories.put(ALICE, "yes", {}, policy_attributes={"flag": True})
    await memories.put(ALICE, "one", {}, policy_attributes={"flag": 1})
    for asked, expected in ((True, "yes"), (1, "one"), (True, "yes"), (1.0, "one"), (False, None), (0, None)):
        found = [item.key for item in await memories.search(ALICE, filter={"flag": asked})]
        assert found == ([] if expected is None else [expected])
