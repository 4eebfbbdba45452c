"""How fast texts are indexed, by each model, short ones and long ones."""

from __future__ import annotations

from pathlib import Path

import recollect
from benchmarks.searching.corpus import LONG, SHORT, Memory, text_of
from benchmarks.searching.subjects import HASHING, LOCAL, fill
from benchmarks.workload import Counts

_LENGTHS = {"about 35 tokens": SHORT, "about 150 tokens": LONG}
_MODELS = {"hashing": HASHING, "local model": LOCAL}
_WARM = 4
"""Texts beforehand: the model is loaded by then."""


def rates(folder: Path, counts: Counts) -> dict[str, float]:
    """How many texts are indexed in a second."""
    found: dict[str, float] = {}
    for length, words in _LENGTHS.items():
        for model, settings in _MODELS.items():
            count = max(counts.searches // 2, 4) if settings is LOCAL else 5 * counts.searches
            texts = [Memory(("rate",), f"m{number}", text_of(number, words)) for number in range(count + _WARM)]
            with recollect.open_sync(folder / f"{model} {words}", settings=settings) as memories:
                fill(memories, texts[:_WARM])
                found[f"{model}, {length}"] = count / fill(memories, texts[_WARM:])[1]
    return found
