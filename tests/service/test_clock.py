"""The clock of a process never goes back by a little, and follows one that was set."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from threading import Thread

from recollect.backends.clocks import MOST_BACK, SteadyClock
from recollect.main import system_clock


def told_by(*microseconds: int) -> list[int]:
    source: Iterator[int] = iter(each * 1_000 for each in microseconds)
    clock = SteadyClock(lambda: next(source))
    return [clock() for _ in microseconds]


def test_a_clock_that_stands_or_goes_back_a_little_still_goes_on() -> None:
    assert told_by(100, 100, 101, 99, 50, 103, 200) == [100, 101, 102, 103, 104, 105, 200]


def test_processors_that_disagree_are_in_order() -> None:
    here, ahead = range(10_000, 20_000, 100), range(13_000, 23_000, 100)
    told = told_by(*(each for pair in zip(here, ahead, strict=True) for each in pair))
    assert all(before < after for before, after in pairwise(told))
    assert told[-1] <= 22_900 + len(told)


def test_a_clock_that_was_set_back_is_followed() -> None:
    start = 5 * MOST_BACK
    assert told_by(start, start - MOST_BACK, start - MOST_BACK - 2) == [start, start + 1, start - MOST_BACK - 2]


def test_threads_are_never_told_the_same() -> None:
    told: list[int] = []

    def ask() -> None:
        told.extend([system_clock() for _ in range(2_000)])

    threads = [Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(told)) == 16_000
