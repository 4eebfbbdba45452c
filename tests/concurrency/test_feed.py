"""Readers of the event log get all of it, whatever else happens: S26, S27 and S28 under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.feed import (
    CHOICES,
    READERS,
    WRITERS,
    Choice,
    Follow,
    Told,
    by_sequence,
    by_time,
    part_of_feed,
    raw_log,
)
from tests.sizes import sized

import recollect
from recollect.testing.feed import Discrepancies, compare


@sized(8_000, 100_000)
def test_readers_that_keep_only_a_cursor_miss_double_and_reorder_nothing(
    tmp_path: Path, crew: Crew, count: int
) -> None:
    written, read = _feed(tmp_path, crew, count, by_sequence)
    log = list(raw_log(tmp_path))
    assert len(log) >= count
    assert [event.sequence for event in log] == list(range(1, len(log) + 1))
    assert sorted(written) == log
    for choice, got in read:
        selected = [event for event in log if choice.selects(event)]
        assert len(selected) > count // 100
        assert compare(selected, got) == Discrepancies(0, 0, 0, 0)
        assert got == selected
    with recollect.open_sync(tmp_path) as memories:
        assert memories.verify().sound


def test_readers_that_page_by_time_are_caught(tmp_path: Path, crew: Crew) -> None:
    _, read = _feed(tmp_path, crew, 2_000, by_time)
    log = list(raw_log(tmp_path))
    for choice, got in read:
        found = compare([event for event in log if choice.selects(event)], got)
        assert found.missed > 0
        assert found.reordered > 0


def _feed(path: Path, crew: Crew, count: int, follow: Follow) -> tuple[list[Told], list[tuple[Choice, list[Told]]]]:
    recollect.open_sync(path).close()
    parts = crew.together(
        part_of_feed,
        (path, 0, count // 2, follow, CHOICES[:READERS]),
        (path, WRITERS, count // 2, follow, CHOICES[READERS:]),
    )
    written = [event for part, _ in parts for event in part]
    read = [got for _, part in parts for got in part]
    return written, list(zip(CHOICES, read, strict=True))


@pytest.mark.parametrize(
    ("read", "found"),
    [
        ("abcd", Discrepancies(0, 0, 0, 0)),
        ("abd", Discrepancies(1, 0, 0, 0)),
        ("", Discrepancies(4, 0, 0, 0)),
        ("abccd", Discrepancies(0, 1, 0, 0)),
        ("abcabcd", Discrepancies(0, 3, 0, 2)),
        ("acbd", Discrepancies(0, 0, 0, 1)),
        ("abcxd", Discrepancies(0, 0, 1, 0)),
    ],
)
def test_the_comparison_tells_what_a_reader_got_wrong(read: str, found: Discrepancies) -> None:
    assert compare("abcd", read) == found
    assert found.none == (read == "abcd")


def test_the_comparison_refuses_a_log_in_which_events_are_equal() -> None:
    with pytest.raises(ValueError, match="equal"):
        compare("aa", "a")
