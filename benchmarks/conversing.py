"""What a conversation costs: a turn through everything, and the context for the next one, beside a thousand records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import recollect
from benchmarks.recalling import _begun, _each, _fill
from benchmarks.running import Tell
from benchmarks.workload import Counts
from recollect import MemoriesSync, Settings
from recollect.sync import drive

RECORDS = 1_000
"""How many records the user has before the conversation begins."""
GOALS = {"turn, ms": 25.0, "context, ms": 25.0}
_SETTINGS = Settings(embedder="hashing")
_SAID = (
    "I'll call {name} tomorrow about plan {number}.",
    "My friend {name} lives in town {number}.",
    "I prefer tea number {number} in the morning.",
    "What do you think of idea {number}?",
    "I'm struggling with task {number} at work.",
)
_NAMES = ("Jane", "John", "Maria", "Theo", "Ada", "Wei")


def measured(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> dict[str, Any]:
    """Medians in milliseconds of single calls on SQLite in process, with the hashing embedder."""
    records = min(RECORDS, counts.items)
    with recollect.open_sync(folder / "conversing", settings=_SETTINGS) as memories:
        tell(f"a user with {records:,} records")
        _fill(memories, _begun(memories), "admin", records)
        drive(memories._memories._workings.indexing.catch_up("default"))
        memories.put_seed("She sails, and lives in Lisbon.")
        memories.conversation_context("sailing")
        tell("turns, each with the context for it, by turns")
        turn: list[float] = []
        context: list[float] = []
        evidence: list[float] = []
        for number in range(counts.writes):
            turn += _each(1, _turn(memories, number))
            context += _each(1, lambda _: memories.conversation_context())
            evidence += _each(1, lambda _: memories.conversation_context(template="evidence"))
    taken = {"turn": turn, "context": context, "context, evidence": evidence}
    return {
        "machine": dict(machine),
        "records": records,
        "turns": counts.writes,
        "milliseconds": {name: round(median(each), 3) for name, each in taken.items()},
        "95 of 100": {name: round(sorted(each)[int(len(each) * 0.95)], 3) for name, each in taken.items()},
        "goals": GOALS,
    }


def _turn(memories: MemoriesSync, number: int) -> Callable[[int], object]:
    words = _SAID[number % len(_SAID)].format(name=_NAMES[number % len(_NAMES)], number=number)
    return lambda _: memories.converse(words, ai="I see.")


def table(found: Mapping[str, Any]) -> str:
    """The figures, for people."""
    lines = [f"A conversation, in process on SQLite, beside {found['records']:,} records (medians, 95 of 100)"]
    for name, taken in found["milliseconds"].items():
        lines.append(f"  {name:<28} {taken:8.3f} ms  {found['95 of 100'][name]:8.3f} ms")
    return "\n".join(lines)
