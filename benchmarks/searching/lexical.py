"""Words alone, in two ways: our lists of words in memory, and SQLite's FTS5 over the same hashed words.

The tables of FTS5 have no content and can delete: what they would be here. All keep hashes instead of words, all are
warm, and are asked for the ten best by BM25. Without content, FTS5 counts words by their positions: with `detail=none`
it is small and fast and gives every memory the score 0, so that table is timed but ranks nothing.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import apsw
import numpy as np

from benchmarks.searching.corpus import Layout
from benchmarks.workload import PAGE, Sample, one_by_one
from recollect.domain.blinding import Blinder
from recollect.domain.contents import content_of
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.ranking import Asked, Mode, allowed, arms_of, candidates, fused
from recollect.domain.shelves import Shelf, Slip
from recollect.domain.words import words_in

LISTS, FULL, NONE = "lists", "fts5", "fts5 detail=none"
_NOW = Instant(1)
Hashed = list[int]


def compare(layout: Layout, searches: int) -> dict[str, Any]:
    """How long both take to build and to answer, and how many of their ten best are the same."""
    blinder = Blinder(b"k" * 32)
    texts = [memory.text for memory in layout.memories(0, layout.in_team)]
    hashed = [[blinder.word(word) for word in words_in(text)] for text in texts]
    queries = [[blinder.word(word) for word in words_in(each.text)] for each in layout.of_team(searches, 3)]
    lists = _Lists(hashed)
    tables = {FULL: _Table(hashed, "full"), NONE: _Table(hashed, "none")}
    ways: dict[str, _Lists | _Table] = {LISTS: lists, **tables}
    try:
        found: dict[str, Any] = {"memories": len(texts)}
        for name, way in ways.items():
            one_by_one(way.search, queries[:5])
            found[name] = _figures(one_by_one(way.search, queries), way.seconds)
            pairs = [(set(lists.search(query)), set(way.search(query))) for query in queries[:50]]
            found[name]["same_hits"] = sum(len(ours & theirs) for ours, theirs in pairs) / max(
                sum(len(ours) for ours, _ in pairs), 1
            )
        found[NONE]["ranks"] = tables[NONE].ranks(queries)
        found[FULL]["ranks"] = tables[FULL].ranks(queries)
        return found
    finally:
        for table in tables.values():
            table.close()


def _figures(sample: Sample, seconds: float) -> dict[str, Any]:
    return {"p50_us": sample.percentile(0.5), "p99_us": sample.percentile(0.99), "built_in_seconds": seconds}


class _Lists:
    """Our own way: the words of all memories, sorted, each with the memories that have it."""

    def __init__(self, hashed: list[Hashed]) -> None:
        nothing = np.zeros(0, np.uint64)
        contents = [content_of(np.array(words, np.uint64), nothing, (), None) for words in hashed]
        began = perf_counter()
        self._shelf = Shelf(0)
        self._shelf.take(
            Slip(number.to_bytes(16), "", Instant(number), number, None, False, "{}", content)
            for number, content in enumerate(contents)
        )
        self.seconds = perf_counter() - began

    def search(self, words: Hashed) -> list[int]:
        """The numbers of the ten best."""
        shelf, weights = self._shelf, dict[int, float]()
        for word in words:
            weights[word] = weights.get(word, 0.0) + 1.0
        masks = allowed(shelf, None, Archived.EXCLUDE, _NOW, parse_filter(None))
        arms = arms_of(shelf, Asked(weights, None), masks)
        scores, found = fused(arms, Mode.LEXICAL)
        best = candidates(shelf, scores, found & arms.allowed, PAGE)
        return [int.from_bytes(each.id) for each in best]


class _Table:
    """FTS5 in the SQLite that we link, in memory, so that no disk is in the way."""

    def __init__(self, hashed: list[Hashed], detail: str) -> None:
        self._database = apsw.Connection(":memory:")
        self._database.execute(
            f"CREATE VIRTUAL TABLE words USING fts5(hashes, content='', contentless_delete=1, detail={detail}, "
            "tokenize='ascii')"
        )
        texts = [(number, " ".join(f"{word:x}" for word in words)) for number, words in enumerate(hashed)]
        began = perf_counter()
        with self._database:
            self._database.executemany("INSERT INTO words(rowid, hashes) VALUES (?, ?)", texts)
        self._database.execute("INSERT INTO words(words) VALUES ('optimize')")
        self.seconds = perf_counter() - began

    def search(self, words: Hashed) -> list[int]:
        """The numbers of the ten best."""
        found = self._database.execute("SELECT rowid FROM words(?) ORDER BY rank LIMIT ?", (_any_of(words), PAGE))
        return [row[0] for row in found]

    def ranks(self, queries: list[Hashed]) -> bool:
        """Whether its scores tell memories apart."""
        found = [self._database.execute("SELECT rank FROM words(?)", (_any_of(words),)) for words in queries[:5]]
        return any(abs(score) > 0 for rows in found for (score,) in rows)

    def close(self) -> None:
        """Let go of it."""
        self._database.close()


def _any_of(words: Hashed) -> str:
    return " OR ".join(f'"{word:x}"' for word in words)
