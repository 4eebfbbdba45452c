"""A year of conversation: whether a context costs more at its end than after 1,000 turns, and what the year takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from tests.conversation.year import year

import recollect
from benchmarks.running import Tell
from recollect import MemoriesSync, Settings

EARLY = 1_000
_PAGE, _CALLS = 100, 50
_CURATED_EVERY = 2_500
_QUERIES = (
    "What does Anna Abel like?",
    "Which tools does project Apollo use?",
    "What did I want to do tomorrow?",
    "Who likes chess?",
    "How was the meeting?",
)
_SETTINGS = Settings(embedder="hashing")
GOALS = {"context at the end beside 1,000 turns": 1.5}


def measured(turns: int, machine: Mapping[str, object], folder: Path, tell: Tell) -> dict[str, Any]:
    """Medians in milliseconds of contexts early and late in a year, on SQLite in process; its memory and its disk."""
    told = year(turns).turns
    source = sha256(f"a year of {turns}".encode()).hexdigest()
    early: dict[str, float] | None = None
    curated, began = 0, perf_counter()
    with recollect.open_sync(folder / "year", settings=_SETTINGS) as memories:
        for start in range(0, turns, _PAGE):
            memories.import_conversation(told[start : start + _PAGE], source=source, position=start)
            done = min(start + _PAGE, turns)
            if done % _CURATED_EVERY == 0:
                curated += _curated(memories)
                tell(f"  year: {done:,} of {turns:,} turns")
            if done == min(EARLY, turns):
                curated += _curated(memories)
                early = _contexts(memories) | _taken(folder / "year")
        taken = perf_counter() - began
        curated += _curated(memories)
        late = _contexts(memories) | _taken(folder / "year")
        progress = memories.conversation_progress(source)
    if early is None:
        raise AssertionError("a year has an early part")
    ratio = round(late["context_p50_ms"] / early["context_p50_ms"], 3)
    return {
        "machine": dict(machine),
        "turns": turns,
        "turns_per_second": round(turns / taken, 1),
        "curator_actions": curated,
        "imported": {name: progress[name] for name in ("sessions", "memories", "waiting", "todos")},
        f"after {min(EARLY, turns):,} turns": early,
        "at the end": late,
        "ratios": {"context at the end beside 1,000 turns": ratio},
        "goals": GOALS,
    }


def table(found: Mapping[str, Any]) -> str:
    """The figures, one a line."""
    lines = [f"{found['turns']:,} turns, {found['turns_per_second']:,} a second, {found['imported']}"]
    for name in (next(each for each in found if each.startswith("after")), "at the end"):
        figures = ", ".join(f"{figure} {value:,}" for figure, value in found[name].items())
        lines.append(f"{name}: {figures}")
    lines += [f"{name}: {value} (goal {GOALS[name]})" for name, value in found["ratios"].items()]
    return "\n".join(lines)


def _curated(memories: MemoriesSync) -> int:
    done = 0
    while actions := memories.curate()["actions"]:
        done += len(actions)
    return done


def _contexts(memories: MemoriesSync) -> dict[str, float]:
    """The median of contexts for several queries, once everything is warm."""
    taken = []
    for number in range(_CALLS + len(_QUERIES)):
        began = perf_counter()
        memories.conversation_context(_QUERIES[number % len(_QUERIES)])
        taken.append((perf_counter() - began) * 1_000)
    return {"context_p50_ms": round(median(taken[len(_QUERIES) :]), 3)}


def _taken(folder: Path) -> dict[str, float]:
    """Megabytes of memory that the process has now, and of disk that the year takes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    disk = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return {"rss_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1), "disk_mb": round(disk / 1e6, 1)}
