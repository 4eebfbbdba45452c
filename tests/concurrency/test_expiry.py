"""What expires is gone for every reader from that very moment on, and the log says so once: S13 and S33 under load."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.lifetimes import Told, Watch, steady_clock, sweep_together, unlawful
from tests.sizes import sized

import recollect
from recollect.domain.instants import Instant
from recollect.testing.doubles import ManualClock

SECONDS = 1_000_000


@sized(5_000, 100_000)
def test_no_read_that_begins_at_or_after_the_expiry_finds_the_item(tmp_path: Path, count: int) -> None:
    with recollect.open_sync(tmp_path, clock=steady_clock) as memories:
        watch = Watch(memories, memories, count)
        watch.run()
    for verdicts in (watch.gets, watch.searches, watch.listings):
        assert verdicts.late == 0
        assert verdicts.lost == 0
        assert verdicts.gone > 50
        assert verdicts.alive > 50


def test_a_reader_whose_clock_lags_is_caught(tmp_path: Path) -> None:
    with (
        recollect.open_sync(tmp_path, clock=steady_clock) as memories,
        recollect.open_sync(tmp_path, clock=lambda: Instant(steady_clock() - 30_000)) as lagging,
    ):
        watch = Watch(memories, lagging, 2_000)
        watch.run(sweepers=0)
    assert watch.gets.late > 0
    assert watch.searches.late > 0
    assert watch.listings.late > 0


def test_the_last_microsecond_before_the_expiry_still_counts(tmp_path: Path) -> None:
    clock = ManualClock()
    with recollect.open_sync(tmp_path, clock=clock) as memories:
        memories.put(("a",), "k", {"n": 1}, ttl=1)
        clock.now = Instant(clock.now + SECONDS - 1)
        assert memories.get(("a",), "k") is not None
        assert len(memories.search()) == 1
        assert memories.list_namespaces() == [("a",)]
        clock.now = Instant(clock.now + 1)
        assert memories.get(("a",), "k") is None
        assert len(memories.search()) == 0
        assert memories.list_namespaces() == []


@sized(500, 5_000)
def test_four_sweepers_in_two_processes_tell_of_every_expiry_once(tmp_path: Path, crew: Crew, count: int) -> None:
    sweep_together(crew, 2, 2, tmp_path, None, count)


LAWFUL = [Told("k", "add", 1, 10, 20), Told("k", "update", 2, 19, 30), Told("k", "expired", 2, 30, 30)]


def test_a_lawful_life_is_accepted() -> None:
    assert unlawful(LAWFUL) == []
    assert unlawful([*LAWFUL, Told("k", "add", 3, 31, 40), Told("k", "expired", 3, 45, 40)]) == []


@pytest.mark.parametrize(
    "log",
    [
        pytest.param([*LAWFUL, LAWFUL[-1]], id="an expiry told twice"),
        pytest.param(LAWFUL[:-1], id="an expiry never told"),
        pytest.param([*LAWFUL[:2], Told("k", "expired", 1, 30, 20)], id="a renewed version that expires"),
        pytest.param([LAWFUL[0], Told("k", "expired", 1, 19, 20)], id="an expiry before its time"),
        pytest.param([LAWFUL[0], Told("k", "update", 2, 20, 30), LAWFUL[2]], id="a renewal after the expiry"),
        pytest.param([LAWFUL[0], Told("k", "add", 2, 21, 30), LAWFUL[2]], id="an expiry left out"),
    ],
)
def test_an_unlawful_life_is_found(log: list[Told]) -> None:
    assert unlawful(log)
