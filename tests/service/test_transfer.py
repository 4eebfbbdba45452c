"""Moving elsewhere: everything arrives, with its history; cut off, it goes on; done twice, nothing happens twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import MemoriesSync, Settings, errors
from recollect.domain.callers import new_caller
from recollect.service.transfer import ExportPage
from recollect.testing.doubles import ManualClock

ALICE = ("user", "alice", "notes")
SOURCE = "ab" * 32
ENTRY = {
    "sequence": 1,
    "kind": "add",
    "namespace": list(ALICE),
    "key": "k",
    "at": "2026-01-01T00:00:00Z",
    "value": {"n": 1},
}


class Places:
    """Stores to move between, with one clock."""

    def __init__(self, stack: ExitStack, folder: Path | None) -> None:
        self.clock = ManualClock()
        self._stack, self._folder = stack, folder

    def open(self, name: str, **settings: Any) -> MemoriesSync:
        place: Any = ":memory:" if self._folder is None else self._folder / name
        made = recollect.open_sync(place, settings=Settings(**settings), clock=self.clock, actor=f"of {name}")
        return self._stack.enter_context(made)


@pytest.fixture(params=["memory", "sqlite"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    with ExitStack() as stack:
        yield Places(stack, None if request.param == "memory" else tmp_path)


def filled(places: Places, name: str = "source", **settings: Any) -> MemoriesSync:
    """A store in which everything that can happen to an item has happened."""
    store = places.open(name, filterable_attributes=("lang",), **settings)
    for number in range(3):
        store.put(ALICE, "thrice", {"n": number}, attributes={"lang": "en", "deep": {"n": number}})
        places.clock.advance(1)
    store.put(ALICE, "archived", {"n": 1})
    store.archive(ALICE, "archived")
    store.put(ALICE, "back", {"n": 1})
    store.archive(ALICE, "back")
    store.archive(ALICE, "back", archived=False)
    store.put(ALICE, "gone", {"n": 1})
    places.clock.advance(1)
    store.delete(ALICE, "gone")
    store.put(ALICE, "again", {"n": 1})
    store.delete(ALICE, "again")
    store.put(ALICE, "again", {"n": 2})
    store.put(ALICE, "later", {"n": 1}, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    store.put(ALICE, "short", {"n": 1}, ttl=5)
    store.put(("project", "a/b", "\x1e", "🦊"), "odd key / %2F", {"": [1.5, None, "é\u202e", 2**64]})
    store.put(("project",), "marked", {}, policy_attributes={"tier": "gold"})
    places.clock.advance(10)
    store.sweep()
    store.put(ALICE, "last", {"n": 1}, ttl=3_600)
    return store


def everything(store: MemoriesSync) -> list[object]:
    """All items, live or not, and all that happened to them."""
    items = store.search(order="key", limit=1_000, archived="include").items
    told = [
        (event.kind, event.namespace, event.key, event.value, event.attributes, event.occurred_at, event.expires_at)
        for event in store.events(limit=1_000)
    ]
    places = sorted({(event.namespace, event.key) for event in store.events(limit=1_000)})
    versions = [
        (
            item.key,
            item.revision,
            item.value,
            item.attributes,
            item.archived,
            item.created_at,
            item.updated_at,
            item.expires_at,
            item.ended_at,
            item.end_reason,
            item.row.policy_attributes,
        )
        for place in places
        for item in store.history(*place, limit=1_000)
    ]
    return [[(item.namespace, item.key, item.value) for item in items], told, versions, store.list_namespaces()]


def pages(store: MemoriesSync, limit: int = 4) -> list[ExportPage]:
    """A whole export."""
    found = [store.export_page(limit=limit)]
    while (cursor := found[-1].cursor) is not None:
        found.append(store.export_page(cursor, limit=limit))
    return found


def moved(source: MemoriesSync, target: MemoriesSync, limit: int = 4) -> tuple[int, int]:
    """Move everything; how many entries were taken over, and how many were there already."""
    done = [target.import_page(page.source, page.entries) for page in pages(source, limit)]
    return sum(each.imported for each in done), sum(each.skipped for each in done)


@pytest.mark.parametrize("limit", [1, 4, 500])
def test_everything_arrives_with_its_history(limit: int, places: Places) -> None:
    source, target = filled(places, keep_deleted_seconds=None), places.open("target", filterable_attributes=("lang",))
    imported, skipped = moved(source, target, limit)
    assert (imported, skipped) == (len(list(source.events(limit=1_000))), 0)
    assert everything(target) == everything(source)
    assert target.verify().sound
    assert {event.actor for event in target.events(limit=1_000)} == {"of target"}


def test_a_transfer_that_loses_something_is_noticed(places: Places) -> None:
    source, target = filled(places, keep_deleted_seconds=None), places.open("target", filterable_attributes=("lang",))
    for page in pages(source):
        entries = [entry | {"archived": False} if "archived" in entry else entry for entry in page.entries]
        target.import_page(page.source, entries)
    assert everything(target) != everything(source)


def test_what_was_evicted_is_left_out_and_the_rest_arrives(places: Places) -> None:
    source = filled(places, keep_superseded_seconds=0)
    source.sweep()
    assert any(event.value is None and event.kind == "add" for event in source.events(limit=1_000))
    target = places.open("target", filterable_attributes=("lang",))
    moved(source, target)
    assert everything(target)[0] == everything(source)[0]
    assert target.get(ALICE, "gone") is None
    assert target.verify().sound


def test_a_transfer_that_was_cut_off_goes_on(places: Places) -> None:
    source, target = filled(places, keep_deleted_seconds=None), places.open("target", filterable_attributes=("lang",))
    export = pages(source)
    for page in export[:2]:
        target.import_page(page.source, page.entries)
    reached = target.import_progress(export[0].source)
    assert reached == export[1].entries[-1]["sequence"]
    done = [target.import_page(page.source, page.entries) for page in export]
    assert [each.imported == 0 for each in done] == [True, True] + [False] * (len(export) - 2)
    assert done[-1].sequence == target.import_progress(export[0].source)
    assert everything(target) == everything(source)


def test_a_page_that_overlaps_adds_only_what_is_new(places: Places) -> None:
    source, target = filled(places), places.open("target")
    entries = pages(source, 500)[0].entries
    name = pages(source)[0].source
    assert target.import_page(name, entries[:5]).imported == 5
    again = target.import_page(name, entries[3:8])
    assert (again.imported, again.skipped) == (3, 2)


def test_importing_twice_changes_nothing(places: Places) -> None:
    source, target = filled(places), places.open("target")
    imported, _ = moved(source, target)
    head = target.head()
    assert moved(source, target) == (0, imported)
    assert moved(source, target, 2) == (0, imported)
    assert target.head() == head


def test_a_later_export_adds_only_what_is_new(places: Places) -> None:
    source, target = filled(places, keep_deleted_seconds=None), places.open("target", filterable_attributes=("lang",))
    imported, _ = moved(source, target)
    source.put(ALICE, "news", {"n": 1})
    source.delete(ALICE, "thrice")
    assert moved(source, target) == (2, imported)
    assert everything(target) == everything(source)


def test_an_export_ends_where_the_log_ended_when_it_began(places: Places) -> None:
    source = filled(places)
    first = source.export_page(limit=3)
    source.put(ALICE, "news", {"n": 1})
    assert first.cursor is not None
    rest = source.export_page(first.cursor, limit=500)
    assert "news" not in {entry["key"] for entry in [*first.entries, *rest.entries]}
    assert (rest.cursor, rest.done, rest.total) == (None, first.total, first.total)


def test_two_sources_can_be_brought_together(places: Places) -> None:
    one, two, target = places.open("one"), places.open("two"), places.open("target")
    one.put(ALICE, "k", {"from": "one"})
    two.put(ALICE, "k", {"from": "two"})
    two.put(ALICE, "own", {"from": "two"})
    assert moved(one, target) == (1, 0)
    assert moved(two, target) == (2, 0)
    found = target.get(ALICE, "k")
    assert found is not None
    assert (found.value, found.revision) == ({"from": "two"}, 2)


def test_entries_of_this_very_log_are_refused(places: Places) -> None:
    source = filled(places)
    source.export_page()  # the first one gives the log a name
    head = source.head()
    for page in pages(source):
        with pytest.raises(errors.InvalidRequest, match="this very log"):
            source.import_page(page.source, page.entries)
    assert source.head() == head
    moved(source, source.for_tenant("other"))
    assert everything(source.for_tenant("other"))[0] == everything(source)[0]


def test_a_log_that_was_trimmed_gives_what_is_still_there(places: Places) -> None:
    source = filled(places, keep_events_seconds=1)
    places.clock.advance(30)
    source.sweep()
    source.put(ALICE, "after", {"n": 1})
    with pytest.raises(errors.CursorExpired):
        source.events(after=recollect.open_sync(":memory:").events().cursor)
    target = places.open("target", filterable_attributes=("lang",))
    moved(source, target, 3)
    assert everything(target)[0] == everything(source)[0]
    mine = {item.key: item for item in source.search(limit=100, archived="include")}
    theirs = {item.key: item for item in target.search(limit=100, archived="include")}
    for key, item in mine.items():
        assert (theirs[key].archived, theirs[key].expires_at) == (item.archived, item.expires_at)
        assert theirs[key].updated_at == item.updated_at
    assert target.verify().sound


def test_the_policy_of_the_new_place_says_what_can_be_filtered(places: Places) -> None:
    source, target = places.open("source"), places.open("target", filterable_attributes=("lang",))
    source.put(ALICE, "k", {}, attributes={"lang": "en"})
    assert source.search(filter={"lang": "en"}).items == []
    moved(source, target)
    assert [item.key for item in target.search(filter={"lang": "en", "sub": "alice"})] == ["k"]


def test_an_entry_cannot_say_whose_it_is(places: Places) -> None:
    target = places.open("target")
    forged = ENTRY | {"policy_attributes": {"sub": "bob", "tier": "gold"}}
    target.import_page(SOURCE, [forged])
    assert target.search(filter={"sub": "bob"}).items == []
    assert [item.key for item in target.search(filter={"sub": "alice", "tier": "gold"})] == ["k"]


@pytest.mark.parametrize(
    "caller",
    [
        new_caller("default", "alice"),
        new_caller("default", "eve", roles=["auditor", "operator"]),
        new_caller("default", "root", roles=["admin"], scopes=["read", "write", "delete"]),
    ],
    ids=lambda caller: caller.user_id,
)
def test_only_administrators_move_things(caller: Any, places: Places) -> None:
    store = filled(places).for_caller(caller)
    for call in (
        store.export_page,
        lambda: store.import_progress(SOURCE),
        lambda: store.import_page(SOURCE, [ENTRY]),
    ):
        with pytest.raises(errors.Forbidden):
            call()


WRONG: list[tuple[str, Any, type[errors.RecollectError]]] = [
    ("no list", "entries", errors.InvalidRequest),
    ("no objects", [5], errors.InvalidRequest),
    ("an unknown field", [ENTRY | {"tenant": "x"}], errors.InvalidRequest),
    ("no sequence", [ENTRY | {"sequence": None}], errors.InvalidRequest),
    ("a sequence of zero", [ENTRY | {"sequence": 0}], errors.InvalidRequest),
    ("a sequence that is true", [ENTRY | {"sequence": True}], errors.InvalidRequest),
    ("a sequence of 2^63", [ENTRY | {"sequence": 1 << 63}], errors.InvalidRequest),
    ("one sequence twice", [ENTRY, ENTRY], errors.InvalidRequest),
    ("sequences backwards", [ENTRY | {"sequence": 2}, ENTRY], errors.InvalidRequest),
    ("an erasure", [ENTRY | {"kind": "erased"}], errors.InvalidRequest),
    ("no moment", [ENTRY | {"at": None}], errors.InvalidRequest),
    ("a moment of text", [ENTRY | {"at": "yesterday"}], errors.InvalidRequest),
    ("a moment before 1970", [ENTRY | {"at": "1969-12-31T23:59:59Z"}], errors.InvalidExpiry),
    ("an expiry after all calendars", [ENTRY | {"expires_at": "9999-12-31T23:59:59-01:00"}], errors.InvalidExpiry),
    ("an expiry before 1970", [ENTRY | {"expires_at": "0001-01-01T00:00:00Z"}], errors.InvalidExpiry),
    ("no namespace", [ENTRY | {"namespace": []}], errors.InvalidNamespace),
    ("a namespace too deep", [ENTRY | {"namespace": ["a"] * 65}], errors.InvalidNamespace),
    ("no key", [ENTRY | {"key": ""}], errors.InvalidKey),
    ("no value", [ENTRY | {"value": None}], errors.InvalidValue),
    ("a value with NUL", [ENTRY | {"value": {"a": "\x00"}}], errors.InvalidValue),
    ("attributes that are none", [ENTRY | {"policy_attributes": [1]}], errors.InvalidRequest),
    ("attributes that cannot be kept", [ENTRY | {"policy_attributes": {"a": {}}}], errors.InvalidAttributes),
    ("501 entries", [ENTRY | {"sequence": number} for number in range(1, 502)], errors.InvalidRequest),
    ("one of two", [ENTRY, ENTRY | {"sequence": 2, "value": None}], errors.InvalidValue),
]


@pytest.mark.parametrize(("entries", "error"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_entries_that_make_no_sense_are_refused_as_a_whole(
    entries: Any, error: type[errors.RecollectError], places: Places
) -> None:
    target = places.open("target")
    with pytest.raises(error):
        target.import_page(SOURCE, entries)
    assert target.import_progress(SOURCE) == 0
    assert target.verify().events == 0


@pytest.mark.parametrize("source", ["", "ab", "AB" * 32, "../" * 22, None, 5, SOURCE + "\n"])
def test_a_source_is_what_an_export_gives(source: Any, places: Places) -> None:
    target = places.open("target")
    for call in (lambda: target.import_progress(source), lambda: target.import_page(source, [])):
        with pytest.raises(errors.InvalidRequest):
            call()


def test_a_cursor_of_something_else_is_refused(places: Places) -> None:
    source = filled(places)
    small = places.open("small")
    far = source.export_page(limit=3).cursor
    for cursor in ("", "garbage!", source.events().cursor, source.search(limit=1).cursor, far):
        with pytest.raises(errors.InvalidCursor):
            small.export_page(cursor or "")
    for limit in (0, 1_001, True):
        with pytest.raises(errors.InvalidQuery):
            source.export_page(limit=limit)


def test_a_namespace_deeper_than_the_new_place_allows_arrives_all_the_same(places: Places) -> None:
    source, target = places.open("source", max_depth=20), places.open("target")
    source.put(("a",) * 15, "k", {})
    assert moved(source, target) == (1, 0)
    assert [item.namespace for item in target.search()] == [("a",) * 15]
    assert moved(target, places.open("third", max_depth=15)) == (1, 0)


def test_what_was_erased_does_not_come_along(places: Places) -> None:
    source, target = filled(places), places.open("target")
    source.erase("user:alice")
    moved(source, target)
    assert [item.namespace[0] for item in target.search(limit=100, archived="include")] == ["project", "project"]
