"""Who is asked: Recollect in each of its modes, and what others do with the same texts and the same model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import log1p
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

import recollect
from benchmarks.recall.cached import Remembering
from benchmarks.recall.data import Conversation, Turn
from recollect.config import Settings
from recollect.domain.words import words_in
from recollect.ports.embedder import Embedder, Purpose
from recollect.service.views import PutOp
from recollect.sync import MemoriesSync

DEPTH = 100
_BATCH = 500
MODES = ("hybrid", "semantic", "lexical")
Ranking = list[tuple[str, str]]
"""Turns with their sessions, best first."""


@contextmanager
def opened(folder: Path, cache: Path | None) -> Iterator[MemoriesSync]:
    """Recollect with its default settings; with a cache, what the model made before is not made again."""
    with recollect.open_sync(folder, settings=Settings()) as memories:
        embedders = memories._memories.workings.indexing.embedders
        if cache is not None and embedders.configured is not None:
            embedders.configured = Remembering(embedders.configured, cache)
        yield memories


def embedder_of(memories: MemoriesSync) -> Embedder:
    """The model that it uses."""
    configured = memories._memories.workings.indexing.embedders.configured
    if configured is None:
        raise ValueError("recall is measured with an embedder")
    return configured


def store(memories: MemoriesSync, conversation: Conversation) -> None:
    """Remember every turn as a user would: who, when, what, in a namespace for each session."""
    puts = [
        PutOp(
            (*home(conversation), turn.session),
            turn.id,
            {"date": turn.date, "speaker": turn.speaker, "text": turn.text},
        )
        for turn in conversation.turns
    ]
    for start in range(0, len(puts), _BATCH):
        memories.batch(puts[start : start + _BATCH])


def home(conversation: Conversation) -> tuple[str, str]:
    """Where a conversation lies."""
    return ("user", conversation.name)


def ask(memories: MemoriesSync, conversation: Conversation, question: str, mode: str) -> Ranking:
    """What Recollect finds."""
    found = memories.search(home(conversation), query=question, mode=mode, limit=DEPTH)
    return [(item.key, item.namespace[-1]) for item in found]


class PlainBm25:
    """BM25 as Lucene has it, over the whole text with speaker and date, stemmed."""

    name = "BM25 alone"

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._docs = [Counter(words_in(f"({turn.date}) {turn.speaker}: {turn.text}")) for turn in turns]
        self._lengths = [sum(doc.values()) for doc in self._docs]
        self._average = sum(self._lengths) / len(self._lengths)
        self._having = Counter(word for doc in self._docs for word in doc)

    def ask(self, question: str) -> Ranking:
        """The best by words."""
        words = set(words_in(question))
        scores = []
        for doc, length in zip(self._docs, self._lengths, strict=True):
            held = 1.2 * (0.25 + 0.75 * length / self._average)
            scores.append(sum(self._rarity(word) * doc[word] / (doc[word] + held) for word in words & doc.keys()))
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[:DEPTH]
        return [(self._turns[place].id, self._turns[place].session) for place in best if scores[place] > 0]

    def _rarity(self, word: str) -> float:
        having = self._having[word]
        return log1p((len(self._docs) - having + 0.5) / (having + 0.5))


class LangGraphStore:
    """LangGraph's own store, with the same model: the closest vectors, and nothing else."""

    name = "LangGraph InMemoryStore, same model"

    def __init__(self, turns: Sequence[Turn], embedder: Embedder) -> None:
        self._purpose = Purpose.PASSAGE  # it does not tell queries from passages itself

        def embed(texts: Sequence[str]) -> list[list[float]]:
            rows: list[list[float]] = embedder.embed(list(texts), self._purpose).tolist()
            return rows

        index: Any = {"dims": embedder.model().dimension, "embed": embed, "fields": ["text"]}
        self._store = InMemoryStore(index=index)
        for turn in turns:  # one by one: a batch in which two texts are equal fails
            value = {"text": f"{turn.speaker}: {turn.text}", "date": turn.date}
            self._store.put(("turns", turn.session), turn.id, value)
        self._purpose = Purpose.QUERY

    def ask(self, question: str) -> Ranking:
        """The closest by the model."""
        found = self._store.search(("turns",), query=question, limit=DEPTH)
        return [(item.key, item.namespace[-1]) for item in found]
