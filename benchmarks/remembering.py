"""What it costs to remember by rules: captures beside plain puts in one run, and the whole way in step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import recollect
from benchmarks.running import Tell
from benchmarks.workload import Counts
from recollect import MemoriesSync, Settings

RECORDS = 1_000
"""How many records the space holds in which the whole way is measured."""
_SETTINGS = Settings(embedder="hashing")
GOALS = {"capture beside put": 0.5, "capture to record, ms": 5.0}


def measured(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> dict[str, Any]:
    """Medians in milliseconds of single calls on SQLite in process, and the ratio of captures to puts."""
    with recollect.open_sync(folder / "remembering", settings=_SETTINGS) as memories:
        tell("put and capture, by turns")
        put, later = _by_turns(memories, counts)
        tell(f"a space of {RECORDS:,} records")
        records = min(RECORDS, counts.items)
        for number in range(records):
            memories.capture([{"text": f"I prefer drink number {number}."}])
        tell("the whole way in")
        whole = _each(counts.writes, lambda number: memories.capture([{"text": f"I prefer meal number {number}."}]))
        again = _each(counts.writes, lambda number: memories.capture([{"text": f"I prefer meal number {number}."}]))
        nothing = _each(counts.writes, lambda number: memories.capture([{"text": f"What is {number} times two?"}]))
        dry = _each(counts.writes, lambda number: memories.would_remember({"text": f"I prefer dish number {number}."}))
    rows = {
        "put": put,
        "capture, looked into later": later,
        "capture to record": whole,
        "capture of what is known": again,
        "capture of nothing to remember": nothing,
        "dry run": dry,
    }
    return {
        "machine": dict(machine),
        "records": records,
        "milliseconds": {name: round(median(taken), 3) for name, taken in rows.items()},
        "ratios": {"capture beside put": round(median(put) / median(later), 3)},
        "goals": GOALS,
    }


def _by_turns(memories: MemoriesSync, counts: Counts) -> tuple[list[float], list[float]]:
    """Plain puts and plain captures, a block each in turn, so that both meet the same disk."""
    put: list[float] = []
    later: list[float] = []
    for turn in range(counts.rounds):
        texts = [f"I prefer thing number {turn * counts.writes + each}." for each in range(counts.writes)]
        put += _each(counts.writes, partial(_put, memories, texts))
        later += _each(counts.writes, partial(_captured, memories, texts))
    return put, later


def _put(memories: MemoriesSync, texts: Sequence[str], number: int) -> None:
    memories.put(("user", "admin", "b"), texts[number], {"text": texts[number]})


def _captured(memories: MemoriesSync, texts: Sequence[str], number: int) -> None:
    memories.capture([{"text": texts[number]}], remember="later")


def _each(count: int, call: Callable[[int], object]) -> list[float]:
    taken = []
    for number in range(count):
        began = perf_counter()
        call(number)
        taken.append((perf_counter() - began) * 1_000)
    return taken


def table(found: Mapping[str, Any]) -> str:
    """The figures, for people."""
    lines = [f"Remembering, in process on SQLite, {found['records']:,} records in the space (medians)"]
    lines += [f"  {name:<32} {taken:8.3f} ms" for name, taken in found["milliseconds"].items()]
    lines += [f"  {name:<32} {ratio:8.2f} ×  (goal: {GOALS[name]} ×)" for name, ratio in found["ratios"].items()]
    return "\n".join(lines)
