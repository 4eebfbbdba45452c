"""Reads and writes of a key by several threads and processes behave as if they happened one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.concurrency.crew import Crew
from tests.concurrency.histories import check_then_act, history, part_of_histories, swap
from tests.sizes import sized

import recollect
from recollect.testing.linearizability import Call, Done, Read, Refused, Remove, Seen, Write, violations

CALLS, THREADS = 60, 6
PLANTED_HISTORIES = 30


@sized(100, 2_000)
def test_histories_of_six_threads_are_linearizable(tmp_path: Path, count: int) -> None:
    with recollect.open_sync(tmp_path) as memories:
        for number in range(count):
            calls = history(memories, number, threads=THREADS, calls=CALLS // THREADS)
            assert len(calls) == CALLS
            assert violations(calls) == []


@sized(100, 2_000)
def test_histories_of_two_processes_are_linearizable(tmp_path: Path, crew: Crew, count: int) -> None:
    parts = _two_processes(tmp_path, crew, count)
    assert len(parts) == count
    assert sum(_overlap(*pair) for pair in parts) > count * 0.8  # or the processes did not meet at all
    for ours, theirs in parts:
        assert len(ours) + len(theirs) == CALLS
        assert violations(ours + theirs) == []


def test_check_then_act_by_six_threads_is_caught(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path) as memories:
        caught = sum(
            bool(violations(history(memories, number, threads=THREADS, calls=CALLS // THREADS, swap=check_then_act)))
            for number in range(PLANTED_HISTORIES)
        )
    assert caught >= 0.9 * PLANTED_HISTORIES


def test_check_then_act_by_two_processes_is_caught(tmp_path: Path, crew: Crew) -> None:
    parts = _two_processes(tmp_path, crew, PLANTED_HISTORIES, check_then_act)
    assert sum(bool(violations(ours + theirs)) for ours, theirs in parts) >= 0.9 * PLANTED_HISTORIES


def _two_processes(path: Path, crew: Crew, count: int, how: object = swap) -> list[tuple[list[Call], list[Call]]]:
    recollect.open_sync(path).close()
    half = THREADS // 2
    parts = crew.together(
        part_of_histories,
        (path, range(count), 0, half, CALLS // THREADS, how),
        (path, range(count), half, half, CALLS // THREADS, how),
    )
    return list(zip(*parts, strict=True))


def _overlap(ours: list[Call], theirs: list[Call]) -> bool:
    spans = [(min(c.invoked for c in part), max(c.returned or c.invoked for c in part)) for part in (ours, theirs)]
    return max(start for start, _ in spans) < min(end for _, end in spans)


LEGAL = {
    "nothing happened": [],
    "an absent key is read as absent": [Call("k", Read(), 1, Seen(0), 2)],
    "a read during a write sees it or not": [
        Call("k", Write("x"), 1, Done(1), 10),
        Call("k", Read(), 2, Seen(1, "x"), 9),
        Call("k", Read(), 3, Seen(0), 8),
    ],
    "one of two rivals wins": [
        Call("k", Write("x", 0), 1, Done(1), 5),
        Call("k", Write("y", 0), 2, Refused(1), 6),
        Call("k", Read(), 7, Seen(1, "x"), 8),
    ],
    "revisions go on after a deletion": [
        Call("k", Write("x"), 1, Done(1), 2),
        Call("k", Remove(), 3, Done(1), 4),
        Call("k", Remove(), 5, Done(0), 6),
        Call("k", Remove(1), 7, Refused(0), 8),
        Call("k", Write("y", 0), 9, Done(2), 10),
    ],
    "an unknown write took effect much later": [
        Call("k", Write("x"), 1),
        Call("k", Read(), 2, Seen(0), 3),
        Call("k", Read(), 4, Seen(1, "x"), 5),
    ],
    "an unknown write never took effect": [Call("k", Write("x"), 1), Call("k", Write("y", 0), 2, Done(1), 3)],
    "an unknown comparison may have been refused": [
        Call("k", Write("x", 5), 1),
        Call("k", Read(), 2, Seen(0), 3),
    ],
    "keys do not concern each other": [
        Call("k", Write("x"), 1, Done(1), 2),
        Call("l", Read(), 3, Seen(0), 4),
    ],
}

ILLEGAL = {
    "an acknowledged write is not seen": [Call("k", Write("x"), 1, Done(1), 2), Call("k", Read(), 3, Seen(0), 4)],
    "a value nobody wrote": [Call("k", Write("x"), 1, Done(1), 2), Call("k", Read(), 3, Seen(1, "y"), 4)],
    "both rivals win": [Call("k", Write("x", 0), 1, Done(1), 5), Call("k", Write("y", 0), 2, Done(2), 6)],
    "a rival is refused by nothing": [Call("k", Write("y", 0), 2, Refused(1), 6)],
    "a write is overwritten and comes back": [
        Call("k", Write("x"), 1, Done(1), 2),
        Call("k", Write("y"), 3, Done(2), 4),
        Call("k", Read(), 5, Seen(1, "x"), 6),
    ],
    "two readers see two orders": [
        Call("k", Write("x"), 1, Done(1), 20),
        Call("k", Read(), 2, Seen(1, "x"), 3),
        Call("k", Read(), 4, Seen(0), 5),
    ],
    "a revision is given twice": [Call("k", Write("x"), 1, Done(1), 2), Call("k", Write("y"), 3, Done(1), 4)],
    "a revision is given again after a deletion": [
        Call("k", Write("x"), 1, Done(1), 2),
        Call("k", Remove(), 3, Done(1), 4),
        Call("k", Write("y"), 5, Done(1), 6),
    ],
    "a deletion is forgotten": [
        Call("k", Write("x"), 1, Done(1), 2),
        Call("k", Remove(), 3, Done(1), 4),
        Call("k", Read(), 5, Seen(1, "x"), 6),
    ],
    "an unknown write happened before it was asked for": [
        Call("k", Read(), 1, Seen(1, "x"), 2),
        Call("k", Write("x"), 3),
    ],
    "an unknown write happened twice": [
        Call("k", Write("x"), 1),
        Call("k", Read(), 2, Seen(1, "x"), 3),
        Call("k", Remove(), 4, Done(1), 5),
        Call("k", Read(), 6, Seen(2, "x"), 7),
    ],
}


@pytest.mark.parametrize("calls", LEGAL.values(), ids=LEGAL.keys())
def test_the_checker_accepts_a_history_in_which(calls: list[Call]) -> None:
    assert violations(calls) == []


@pytest.mark.parametrize("calls", ILLEGAL.values(), ids=ILLEGAL.keys())
def test_the_checker_refuses_a_history_in_which(calls: list[Call]) -> None:
    [found] = violations(calls)
    assert found.key == "k"
    assert found.unexplained
    assert len(found.explained) + len(found.unexplained) == len(calls)


def test_a_call_has_an_answer_exactly_when_it_returned() -> None:
    with pytest.raises(ValueError, match="has an answer"):
        Call("k", Read(), 1, Seen(0))
