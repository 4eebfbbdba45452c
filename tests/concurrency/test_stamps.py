"""A commit acknowledged in one process is noticed by every later stamp in another: S47 under load."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.stamps import Seen, Stamp, by_own_commits, by_stamp, make_board, opened
from tests.concurrency.stamps import part_of_stamping as part
from tests.concurrency.stamps import part_of_turns as turns
from tests.sizes import sized

from recollect.domain.errors import StoreClosed
from recollect.sync import drive


def _stamped(folder: Path, crew: Crew, count: int, stamp: Stamp) -> list[Seen]:
    drive(opened(folder).close())
    make_board(folder)
    return crew.together(part, (folder, 0, count, stamp), (folder, 1, count, stamp))


@sized(300, 20_000)
def test_a_cache_that_goes_by_stamps_never_answers_what_was_overwritten(tmp_path: Path, crew: Crew, count: int) -> None:
    for seen in _stamped(tmp_path, crew, count, by_stamp):
        assert seen.stale == 0
        assert seen.cached > count / 10, "a cache that is never used proves nothing"
        assert seen.noticed > count / 10


def test_a_stamp_that_knows_only_its_own_process_is_caught(tmp_path: Path, crew: Crew) -> None:
    assert any(seen.stale > 0 for seen in _stamped(tmp_path, crew, 200, by_own_commits))


@sized(60, 2_000)
def test_a_stamp_changes_with_every_commit_and_only_then(tmp_path: Path, crew: Crew, count: int) -> None:
    drive(opened(tmp_path).close())
    assert crew.together(turns, (tmp_path, 0, count), (tmp_path, 1, count)) == [(0, 0), (0, 0)]


def test_a_store_with_one_connection_never_gives_a_stamp_twice(tmp_path: Path) -> None:
    store = opened(tmp_path, exclusive=True)
    assert store.stamp() != store.stamp()
    drive(store.close())


@pytest.mark.parametrize("used", [True, False], ids=["used before", "never used"])
def test_a_closed_store_gives_no_stamp(tmp_path: Path, used: bool) -> None:
    store = opened(tmp_path)
    if used:
        store.stamp()
    drive(store.close())
    with pytest.raises(StoreClosed):
        store.stamp()
    with pytest.raises(StoreClosed):
        store._stamps.read()


def test_a_stamp_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    store = opened(tmp_path)
    before = store.stamp()
    holding, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        rival = opened(tmp_path)
        rival._writer.db.execute("BEGIN IMMEDIATE; INSERT INTO leases VALUES ('held', 'rival', 1, 0)")
        holding.set()
        let_go.wait(60)
        rival._writer.db.execute("COMMIT")
        drive(rival.close())

    thread = threading.Thread(target=hold)
    thread.start()
    assert holding.wait(60)
    began = time.monotonic()
    assert store.stamp() == before, "nothing is committed yet"
    assert time.monotonic() - began < 1
    let_go.set()
    thread.join()
    assert store.stamp() != before
    drive(store.close())
