"""Readers of the event log get all of it, whatever else happens: S26, S27 and S28 under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.feed import InFolder, by_sequence, by_time, check_caught, check_feed, feed
from tests.sizes import sized

import recollect
from recollect.testing.feed import Discrepancies, compare


@pytest.fixture
def place(tmp_path: Path) -> InFolder:
    recollect.open_sync(tmp_path).close()
    return InFolder(tmp_path)


@sized(8_000, 100_000)
def test_readers_that_keep_only_a_cursor_miss_double_and_reorder_nothing(
    place: InFolder, crew: Crew, count: int
) -> None:
    check_feed(place, count, *feed(crew, (place,), (place,), count, by_sequence))


def test_readers_that_page_by_time_are_caught(place: InFolder, crew: Crew) -> None:
    check_caught(place, feed(crew, (place,), (place,), 2_000, by_time)[1])


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
