"""What a search must find, said in plain Python: scope and filter, BM25 over the scope, cosines of hashed texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from recollect.backends.embedding import HashingEmbedder
from recollect.config import Settings
from recollect.domain.filters import matches, parse_filter
from recollect.domain.indexable import passages
from recollect.domain.passages import pieces_of
from recollect.domain.ranking import K1, B
from recollect.domain.rows import Item
from recollect.domain.words import words_in
from recollect.ports.embedder import Purpose

SETTINGS = Settings(embedder="hashing", policy_engine="builtin")
"""Searches that load no model, and no process for policies."""
TOLERANCE = 2e-5


@dataclass(frozen=True)
class Memory:
    """A live version, as its writer remembers it."""

    id: bytes
    place: tuple[str, ...]
    key: str
    value: dict[str, Any]
    attributes: dict[str, Any]
    created_at: int
    archived: bool = False
    expires_at: int | None = None
    fields: str | None = None

    @property
    def words(self) -> list[str]:
        return [word for each in passages(self.value, self.fields) for word in words_in(each.text)]


@dataclass(frozen=True)
class Question:
    """A search by query."""

    within: tuple[str, ...]
    query: str
    mode: str
    filter: dict[str, Any] | None = None
    archived: str = "exclude"
    limit: int = 10
    offset: int = 0


def in_scope(memories: Iterable[Memory], asked: Question, now: int) -> list[Memory]:
    """What the question may show."""
    written = parse_filter(asked.filter)
    return [
        each
        for each in memories
        if each.place[: len(asked.within)] == asked.within
        and (asked.archived == "include" or each.archived == (asked.archived == "only"))
        and (each.expires_at is None or now < each.expires_at)
        and each.fields != "[]"
        and matches(written, each.attributes)
    ]


def bm25(scope: Sequence[Memory], query: str) -> dict[bytes, float]:
    """The score of everything that has a word of the query; statistics are those of the scope alone."""
    texts = {each.id: Counter(each.words) for each in scope}
    lengths = {row_id: sum(words.values()) for row_id, words in texts.items()}
    average = max(sum(lengths.values()) / max(len(texts), 1), 1.0)
    scores: dict[bytes, float] = {}
    for word, weight in Counter(words_in(query)).items():
        having = {row_id: min(words[word], 255) for row_id, words in texts.items() if words[word]}
        rarity = weight * math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for row_id, times in having.items():
            held = K1 * (1 - B + B * lengths[row_id] / average)
            scores[row_id] = scores.get(row_id, 0.0) + rarity * times * (K1 + 1) / (times + held)
    return scores


@lru_cache(maxsize=100_000)
def hashed(text: str, dimension: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    row: np.ndarray[Any, np.dtype[np.float32]] = HashingEmbedder(dimension).embed([text], Purpose.PASSAGE)[0]
    return row


def cosines(scope: Sequence[Memory], query: str, dimension: int = 256) -> dict[bytes, float]:
    """The cosine of the closest text of everything that has one."""
    asked = hashed(query, dimension)
    scores: dict[bytes, float] = {}
    for each in scope:
        texts = [piece.text for piece in pieces_of(passages(each.value, each.fields), apart=each.fields is not None)]
        if texts:
            scores[each.id] = max(float(hashed(text, dimension) @ asked) for text in texts)
    return scores


def flaws_in(hits: Sequence[Item], memories: Iterable[Memory], asked: Question, now: int) -> list[str]:
    """What is wrong with an answer."""
    scope = {each.id: each for each in in_scope(memories, asked, now)}
    got = [hit.id.bytes for hit in hits]
    flaws = [f"{hit} is not in the scope" for hit in hits if hit.id.bytes not in scope]
    if len(set(got)) < len(got):
        flaws.append("a hit came twice")
    if flaws:
        return flaws
    words, meaning = bm25(list(scope.values()), asked.query), cosines(list(scope.values()), asked.query)
    top = max(words.values(), default=1.0)
    match asked.mode:
        case "lexical":
            wanted = {row_id: score / top for row_id, score in words.items()}
        case "semantic":
            wanted = {row_id: min(max(score, 0.0), 1.0) for row_id, score in meaning.items()}
        case _:
            wanted = dict.fromkeys(words.keys() | meaning.keys(), math.nan)
    return _flaws_of_ranking(hits, scope, wanted, asked)


def _flaws_of_ranking(
    hits: Sequence[Item], scope: dict[bytes, Memory], wanted: dict[bytes, float], asked: Question
) -> list[str]:
    expected = max(0, min(asked.limit, len(wanted) - asked.offset))
    flaws: list[str] = []
    if len(hits) != expected or any(hit.id.bytes not in wanted for hit in hits):
        flaws.append(f"{len(hits)} hits instead of {expected}, of {len(wanted)}")
        return flaws
    scores = [hit.score if hit.score is not None else math.nan for hit in hits]
    flaws += [f"a score of {score}" for score in scores if not 0 <= score <= 1]
    merits = [(-s, -scope[hit.id.bytes].created_at, hit.id.bytes) for s, hit in zip(scores, hits, strict=True)]
    if merits != sorted(merits):
        flaws.append("the hits are not in order")
    if asked.mode == "hybrid":
        return flaws
    flaws += [
        f"{hit} has {score}, not {wanted[hit.id.bytes]}"
        for hit, score in zip(hits, scores, strict=True)
        if abs(score - wanted[hit.id.bytes]) > TOLERANCE
    ]
    best = sorted(wanted.values(), reverse=True)[asked.offset : asked.offset + asked.limit]
    if any(abs(one - other) > TOLERANCE for one, other in zip(best, scores, strict=True)):
        flaws.append("something better was left out")
    return flaws
