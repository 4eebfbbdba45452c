"""The tools of an agent, in process: how long one call takes with so many notes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import recollect
from benchmarks.running import Disagreement, Tell
from benchmarks.searching.corpus import SHORT, question, text_of
from benchmarks.searching.subjects import HASHING, LOCAL
from benchmarks.workload import Counts, Sample, awaited
from recollect import Memories
from recollect.domain.notes import BUDGETS

NOTES = 1_000
_TYPES = ("fact", "preference", "instruction")
_MODELS = {"hashing": HASHING, "local model": LOCAL}
Series = dict[tuple[str, str], list[Sample]]
"""The samples of all rounds, by tool and model."""


@dataclass(frozen=True)
class Agent:
    """Somebody with tools, in one session."""

    memories: Memories
    session: str

    async def call(self, asked: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Call one tool."""
        name, arguments = asked
        return await self.memories.call_tool(name, arguments, session=self.session)


def compare(counts: Counts, folder: Path, tell: Tell) -> Series:
    """Time the tools over notes that were stored by them, with both models in turns."""
    return asyncio.run(_compared(counts, folder, tell))


async def _compared(counts: Counts, folder: Path, tell: Tell) -> Series:
    series: Series = {}
    many = min(NOTES, counts.items)
    opened: dict[str, Memories] = {}
    try:
        for model, settings in _MODELS.items():
            opened[model] = await recollect.open(folder / model, settings=settings)
            await _fill(opened[model], many)
            tell(f"{many:,} notes are kept and indexed, {model}")
        for number in range(counts.rounds):
            for model in list(opened) if number % 2 == 0 else list(opened)[::-1]:
                for name, sample in await _round(opened[model], counts, number, many):
                    series.setdefault((name, model), []).append(sample)
            tell(f"tools, round {number + 1} of {counts.rounds} done")
    finally:
        for memories in opened.values():
            await memories.close()
    return series


async def _fill(memories: Memories, many: int) -> None:
    """Keep notes by the tool itself, in as many sessions as that takes, and index them."""
    for number in range(many):
        agent = Agent(memories, f"fill-{number // BUDGETS['stores']}")
        await agent.call(("memory_store", _note(number)))
    about = many // 2
    found = await Agent(memories, "check").call(("memory_search", {"query": _content(about), "limit": 1}))
    if [each["content"] for each in found["results"]] != [_content(about)]:
        raise Disagreement("a note is not found by its own words")


async def _round(memories: Memories, counts: Counts, number: int, many: int) -> Sequence[tuple[str, Sample]]:
    times = max(counts.searches // 2, 4)
    agent = Agent(memories, f"round-{number}")
    queries = [question((number * times + at) % many, 1_000 + number, at) for at in range(times)]
    asked: dict[str, list[tuple[str, Mapping[str, Any]]]] = {
        "memory_search": [("memory_search", {"query": query}) for query in queries],
        "memory_search by tag": [("memory_search", {"query": query, "tags": ["tag1"]}) for query in queries],
        "memory_search newest": [("memory_search", {"limit": 20})] * times,
        "memory_brief": [("memory_brief", {})] * max(times // 4, 2),
        "memory_store": [("memory_store", _note(many + number * 100 + at)) for at in range(BUDGETS["stores"])],
    }
    found = [(name, await awaited(agent.call, work)) for name, work in asked.items()]
    await agent.call(asked["memory_search"][0])  # what was stored is indexed before the next round is timed
    return found


def _note(number: int) -> dict[str, Any]:
    return {
        "type": _TYPES[number % len(_TYPES)],
        "content": _content(number),
        "tags": [f"tag{number % 10}", "bench"],
    }


def _content(number: int) -> str:
    """Prose without what could be taken for a credential, which notes refuse."""
    words = [word for word in text_of(number, SHORT).split() if word.strip(".,;()'").isalpha()]
    return " ".join(["note", str(number), *words])
