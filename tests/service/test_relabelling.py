"""What callers see of policy attributes that are computed anew: other answers to filters, and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import EventKind, MemoriesSync, errors
from recollect.domain.address import Address, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Relabel
from recollect.domain.reasons import Plane
from recollect.sync import drive
from recollect.testing.doubles import ManualClock

ALICE = ("user", "alice")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def memories(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[MemoriesSync]:
    place = ":memory:" if request.param == "memory" else tmp_path / "data"
    with recollect.open_sync(place, clock=clock, actor="tester") as opened:
        yield opened


def relabel(memories: MemoriesSync, key: str, **attributes: Any) -> None:
    """What a background pass does: it reads an item and gives it other policy attributes."""
    item = memories.get(ALICE, key)
    assert item is not None
    inner = memories._memories
    wish = Relabel(Address(Plane.ITEM, namespace(ALICE), key), item.revision, encode_attributes(attributes))
    done = drive(inner._store.commit(Commit(inner._tenant, (wish,), actor="relabeller")))
    assert done.outcomes[0].kind is EventKind.RELABELLED


def test_an_item_is_what_it_was_but_filters_see_the_new_attributes(memories: MemoriesSync, clock: ManualClock) -> None:
    memories.put(ALICE, "k", {"n": 1}, attributes={"a": 1}, policy_attributes={"level": 1}, ttl=100)
    before = memories.get(ALICE, "k")
    assert before is not None
    clock.advance(5)
    relabel(memories, "k", level=2)
    for item in (
        memories.get(ALICE, "k"),
        memories.get(ALICE, "k", as_of=before.updated_at),
        memories.get_by_id(before.id),
        memories.history(ALICE, "k")[0],
        memories.search(filter={"level": 2}).items[0],
    ):
        assert item is not None
        assert (item.id, item.revision, item.value, item.attributes) == (before.id, 1, {"n": 1}, {"a": 1})
        assert (item.created_at, item.updated_at) == (before.created_at, before.updated_at)
        assert (item.expires_at, item.ended_at) == (before.expires_at, None)
    assert len(memories.history(ALICE, "k")) == 1
    assert memories.search(filter={"level": 1}).items == []
    assert memories.put(ALICE, "k", {"n": 2}, expected_revision=1).kind is EventKind.UPDATE
    assert memories.verify().sound


def test_the_log_does_not_tell_of_it_and_cursors_go_on_across_it(memories: MemoriesSync) -> None:
    memories.put(ALICE, "a", {"n": 1})
    memories.put(ALICE, "b", {"n": 1})
    for level in range(3):
        relabel(memories, "a", level=level)
        relabel(memories, "b", level=level)
    memories.put(ALICE, "a", {"n": 2})
    relabel(memories, "a", level=9)
    whole = memories.events()
    assert [(event.sequence, event.kind) for event in whole] == [(1, "add"), (2, "add"), (9, "update")]
    assert whole.complete
    cursor, met = None, []
    for _ in range(10):
        page = memories.events(after=cursor, limit=1)
        met += [event.sequence for event in page]
        cursor = page.cursor
        if page.complete:
            break
    assert met == [1, 2, 9]
    assert len(memories.events(after=cursor)) == 0
    assert [event.sequence for event in memories.events(after=whole.events[1].cursor)] == [9]
    assert memories.head().startswith("10:"), "it is part of the log all the same"
    memories.delete(ALICE, "b")
    assert [event.kind for event in memories.events(after=cursor)] == ["delete"]


@pytest.mark.parametrize("kind", ["relabelled", EventKind.RELABELLED])
def test_asking_for_it_is_refused_like_any_unknown_kind(memories: MemoriesSync, kind: str) -> None:
    with pytest.raises(errors.InvalidQuery, match=r"use one of add, update, delete, expired, erased$"):
        memories.events(kinds=["add", kind])
    with pytest.raises(errors.InvalidQuery, match="is not a kind of event"):
        memories.events(kinds=["renamed"])
    assert list(memories.events(kinds=[])) == []


def test_it_does_not_end_a_wait(memories: MemoriesSync) -> None:
    memories.put(ALICE, "k", {"n": 1})
    cursor = memories.events().cursor

    def meanwhile() -> None:
        for level in range(3):
            time.sleep(0.05)
            relabel(memories, "k", level=level)
        memories.put(ALICE, "k", {"n": 2})

    other = threading.Thread(target=meanwhile)
    other.start()
    page = memories.events(after=cursor, wait=30)
    other.join()
    assert [event.kind for event in page] == [EventKind.UPDATE]


def test_an_export_skips_it(memories: MemoriesSync) -> None:
    memories.put(ALICE, "a", {"n": 1}, policy_attributes={"level": 1})
    for level in range(2, 5):
        relabel(memories, "a", level=level)
    memories.put(ALICE, "a", {"n": 2}, policy_attributes={"level": 1})
    relabel(memories, "a", level=5)
    for limit in (1, 100):
        page = memories.export_page(limit=limit)
        entries = [*page.entries]
        for _ in range(10):
            if page.cursor is None:
                break
            page = memories.export_page(page.cursor, limit=limit)
            entries += page.entries
        assert page.cursor is None
        assert [(entry["sequence"], entry["kind"]) for entry in entries] == [(1, "add"), (5, "update")]
        with recollect.open_sync(":memory:") as elsewhere:
            assert elsewhere.import_page(page.source, entries).imported == 2
            assert [item.value for item in elsewhere.history(ALICE, "a")] == [{"n": 2}, {"n": 1}]
            told = {**entries[1], "sequence": 9, "kind": "relabelled"}
            with pytest.raises(errors.InvalidRequest, match="is not a kind of entry"):
                elsewhere.import_page(page.source, [told])
            assert elsewhere.verify().sound
