"""Two processes share a subject's data key from the first moment on, and lose it together: K1, S40 under load."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
from tests.concurrency.crew import Crew
from tests.concurrency.rivals import USER, Erasing, Note, part_of_acquaintance, part_of_erasing
from tests.sizes import sized

import recollect
from recollect.domain.reasons import EventKind


@sized(50, 2_000)
def test_a_new_subject_gets_one_key_however_many_ask_at_once(tmp_path: Path, crew: Crew, count: int) -> None:
    recollect.open_sync(tmp_path).close()
    read = crew.together(part_of_acquaintance, (tmp_path, "left", "right", count), (tmp_path, "right", "left", count))
    assert read == [count, count]
    with closing(apsw.Connection(str(tmp_path / "keys" / "wrapped.db"))) as db:
        keys = list(db.execute("SELECT subject, count(*) FROM keys WHERE subject LIKE 'user:new %' GROUP BY subject"))
    assert len(keys) == count
    assert {number for _, number in keys} == {1}


@sized(15, 300)
def test_erasing_while_others_write_takes_what_came_before_and_nothing_else(
    tmp_path: Path, crew: Crew, count: int
) -> None:
    recollect.open_sync(tmp_path).close()
    parts = crew.together(part_of_erasing, (tmp_path, 0, count), (tmp_path, 1, count))
    notes = [note for part, _ in parts for note in part]
    erasings = [erasing for _, part in parts for erasing in part]
    assert len(erasings) == count
    _check_order(notes, erasings)
    last = max(erasing.sequence for erasing in erasings)
    before = {note.key for note in notes if note.sequence < last}
    after = {note.key for note in notes if note.sequence > last}
    assert len(before) > count
    with recollect.open_sync(tmp_path) as memories:
        memories.put((*USER, "0"), "afterwards", {"key": "afterwards"})
        kept = {item.key: item for room in range(3) for item in _all(memories, room)}
        assert set(kept) == after | {"afterwards"}
        assert all(item.value == {"key": key} for key, item in kept.items())
        log = _log(memories)
        assert sum(event.kind is EventKind.ERASED for event in log) == count
        readable = {event.key for event in log if event.value is not None and event.namespace[:2] == USER}
        assert readable == after | {"afterwards"}
        assert memories.verify().sound


def _check_order(notes: list[Note], erasings: list[Erasing]) -> None:
    """What was asked for after an erasure had returned comes after it in the log."""
    for erasing in erasings:
        assert all(note.sequence > erasing.sequence for note in notes if note.invoked > erasing.returned)


def _all(memories: recollect.MemoriesSync, room: int) -> list[recollect.Item]:
    items: list[recollect.Item] = []
    cursor = None
    while True:
        found = memories.search((*USER, str(room)), order="key", limit=1_000, cursor=cursor)
        items += found
        cursor = found.cursor
        if cursor is None:
            return items


def _log(memories: recollect.MemoriesSync) -> list[recollect.MemoryEvent]:
    events: list[recollect.MemoryEvent] = []
    page = memories.events(limit=1_000)
    events += page
    while not page.complete:
        page = memories.events(after=page.cursor, limit=1_000)
        events += page
    return events
