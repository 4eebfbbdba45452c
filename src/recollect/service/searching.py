"""Searching: from a query and a scope to the memories that answer it, each with a score and, if asked, the reasons.

Nothing is returned because the index says so: what it finds is read again from the store, and shown only if it is
live, in scope and matches at that moment.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import Namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import EmbedderTrouble, NotAvailable
from recollect.domain.filters import Filter, matches
from recollect.domain.queries import Archived, shows
from recollect.domain.ranking import (
    NO_VECTOR,
    RRF_K,
    SEMANTIC_WEIGHT,
    Arms,
    Asked,
    Mode,
    allowed,
    arms_of,
    fused,
    ranked,
    reciprocal,
    scaled,
    scaled_words,
)
from recollect.domain.reasons import Plane
from recollect.domain.rows import Hit, Row, is_expired
from recollect.domain.words import words_in
from recollect.ports.clock import Clock
from recollect.ports.embedder import Purpose
from recollect.ports.store import Store
from recollect.service.indexing import Indexing
from recollect.service.opened import OpenShelf, Shelves
from recollect.service.series import Series

_POOL = 100
"""How many of each of several queries' answers are put together."""
_SMALL = 2_000
"""Up to so many versions are scored at once; more are scored aside."""
_REMEMBERED = 1_024
_SPARE = 16
"""So many more than asked for are ranked, because some may be gone when they are read again."""
_FURTHER = 8


@dataclass(frozen=True, slots=True)
class Wish:
    """A search by query, valid once made."""

    tenant: str
    within: Namespace
    filter: Filter
    queries: tuple[str, ...]
    mode: Mode = Mode.HYBRID
    limit: int = 10
    offset: int = 0
    archived: Archived = Archived.EXCLUDE
    min_score: float = 0.0
    explain: bool = False
    plane: Plane = Plane.ITEM


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first, and what there is to say about all of it."""

    hits: list[Hit]
    explanation: dict[str, Any]


class Searching:
    """Answers queries from the shelves of the scopes they ask about."""

    def __init__(self, store: Store, indexing: Indexing, clock: Clock, *, language: str, most_bytes: int) -> None:
        self._store = store
        self._indexing = indexing
        self._clock = clock
        self._language = language
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="recollect-search")
        self.shelves = Shelves(store, self._aside, most_bytes)
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    async def search(self, wish: Wish) -> Answer:
        """What a search finds, as of now."""
        lines = await self._indexing.book.lines(wish.tenant)
        if lines is None:
            return Answer([], {"mode": wish.mode, "model": None, "searched": 0, "rules": ["nothing is indexed yet"]})
        series = lines.serving
        vectors, rules = await self._embedded(wish, series)
        blinder = await self._indexing.blinder(wish.tenant)
        asked = [
            Asked(
                {} if wish.mode is Mode.SEMANTIC else _weights(blinder.word(w) for w in words_in(q, self._language)),
                None if vector is None else blinder.turn(vector),
            )
            for q, vector in zip(wish.queries, vectors, strict=True)
        ]
        opened, narrower = await self.shelves.fresh(wish.tenant, wish.plane, wish.within, series)
        work = _Work(opened, narrower, wish, asked, self._clock())
        hits = await self._shown(wish, work, small=len(opened.shelf) <= _SMALL)
        explanation = {
            "mode": wish.mode,
            "model": series.model,
            "searched": work.searched,
            "fusion": _fusion(wish),
            "rules": rules,
        }
        return Answer(hits, explanation)

    async def _embedded(self, wish: Wish, series: Series) -> tuple[list[NDArray[np.float32] | None], list[str]]:
        nothing: list[NDArray[np.float32] | None] = [None] * len(wish.queries)
        if wish.mode is Mode.LEXICAL:
            return nothing, []
        embedder = self._indexing.embedders.of(series)
        if embedder is None:
            if wish.mode is Mode.SEMANTIC:
                raise NotAvailable("nothing makes vectors here (embedder = none); search with mode=lexical")
            return nothing, ["found by words alone: there is no embedder"]
        try:
            unknown = [query for query in dict.fromkeys(wish.queries) if (series.model, query) not in self._vectors]
            if unknown:
                model = embedder
                rows = await self._aside(lambda: model.embed(unknown, Purpose.QUERY))
                for query, row in zip(unknown, rows, strict=True):
                    self._vectors[series.model, query] = row
            found: list[NDArray[np.float32] | None] = [self._vectors[series.model, query] for query in wish.queries]
            while len(self._vectors) > _REMEMBERED:
                self._vectors.popitem(last=False)
        except EmbedderTrouble:
            if wish.mode is Mode.SEMANTIC:
                raise
            return nothing, ["found by words alone: the embedder did not answer"]
        return found, []

    async def _shown(self, wish: Wish, work: _Work, *, small: bool) -> list[Hit]:
        """The hits that are still what the index took them for, as many as were asked for if there are as many."""
        wanted = wish.offset + wish.limit
        most, at = wanted + _SPARE, 0
        hits: list[Hit] = []
        while True:
            rank = partial(work.rank, most)
            ranking = rank() if small else await self._aside(rank)
            part = ranking[at:]
            rows = {row.id: row for row in await self._store.rows(wish.tenant, [each.id for each in part])}
            now = self._clock()
            for each in part:
                row = rows.get(each.id)
                if row is not None and _may_be_shown(wish, row) and not is_expired(row.expires_at, now):
                    hits.append(Hit(row, each.score, each.matched, each.explanation if wish.explain else None))
            if len(hits) >= wanted or len(ranking) < most:
                return hits[wish.offset : wanted]
            most, at = most * _FURTHER, len(ranking)

    async def _aside(self, work: Any) -> Any:
        if self._store.direct:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """End what is under way."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _may_be_shown(wish: Wish, row: Row) -> bool:
    return (
        row.ended_at is None
        and row.value is not None
        and shows(wish.archived, archived=row.archived)
        and wish.within.contains(row.address.namespace)
        and (not wish.filter or matches(wish.filter, stored_attributes(row.policy_attributes)))
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """A version in its place of a ranking."""

    id: bytes
    score: float
    matched: tuple[int, ...]
    """Which of the queries found it, counted from 0."""
    explanation: dict[str, Any]


class _Work:
    """The part of a search that only computes."""

    def __init__(self, opened: OpenShelf, narrower: str | None, wish: Wish, asked: Sequence[Asked], now: Any) -> None:
        self._opened, self._narrower, self._wish, self._asked, self._now = opened, narrower, wish, asked, now
        self.searched = 0

    def rank(self, most: int) -> list[Ranked]:
        """So many of what was found, best first."""
        with self._opened.lock:
            shelf, wish = self._opened.shelf, self._wish
            masks = allowed(shelf, self._narrower, wish.archived, self._now, wish.filter)
            self.searched = sum(int(mask.sum()) for mask in masks)
            several = len(self._asked) > 1
            deep = max(_POOL, most) if several else most
            rankings = [self._ranking(arms_of(shelf, asked, masks), deep) for asked in self._asked]
            together = _together(rankings)[:most] if several else rankings[0]
            return [each for each in together if each.score >= wish.min_score]

    def _ranking(self, arms: Arms, most: int) -> list[Ranked]:
        shelf = self._opened.shelf
        scores, found = fused(arms, self._wish.mode)
        explained = _Explaining(arms) if self._wish.explain else None
        result = []
        for place in ranked(shelf, scores, found & arms.allowed, most):
            segment, slot = shelf.at(place)
            why = {} if explained is None else explained.of(self._opened, place)
            result.append(Ranked(segment.ids[slot], float(min(max(scores[place], 0.0), 1.0)), (0,), why))
        return result


class _Explaining:
    """What each arm said, for whoever wants to know."""

    def __init__(self, arms: Arms) -> None:
        self._arms = arms
        self._words, self._meaning = scaled_words(arms), scaled(arms.semantic, arms.semantic > NO_VECTOR)
        self._ranks = {name: _ranks(scores) for name, scores in (("l", arms.lexical), ("s", arms.semantic))}

    def of(self, opened: OpenShelf, place: int) -> dict[str, Any]:
        """Rank, score and share of each arm that found it."""
        arms, said = self._arms, dict[str, Any]()
        if arms.lexical[place] > 0:
            said["lexical"] = {
                "rank": int(self._ranks["l"][place]),
                "score": round(float(arms.lexical[place]), 6),
                "scaled": round(float(self._words[place]), 6),
            }
        if arms.semantic[place] > NO_VECTOR:
            said["semantic"] = {
                "rank": int(self._ranks["s"][place]),
                "score": round(float(arms.semantic[place]), 6),
                "scaled": round(float(self._meaning[place]), 6),
                "field": opened.shelf.path_of(int(arms.best[place])),
            }
        return said


def _ranks(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _together(rankings: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """Several queries' rankings as one, by reciprocal ranks."""
    scores = reciprocal([[each.id for each in ranking] for ranking in rankings])
    found: dict[bytes, list[tuple[int, int, Ranked]]] = {}
    for number, ranking in enumerate(rankings):
        for rank, each in enumerate(ranking, 1):
            found.setdefault(each.id, []).append((number, rank, each))
    order = sorted(found, key=lambda row_id: (-scores[row_id], min(rank for _, rank, _ in found[row_id]), row_id))
    return [
        Ranked(
            row_id,
            scores[row_id],
            tuple(number for number, _, _ in found[row_id]),
            {
                "queries": [
                    {"query": number, "rank": rank, "score": round(each.score, 6), **each.explanation}
                    for number, rank, each in found[row_id]
                ]
            },
        )
        for row_id in order
    ]


def _weights(words: Any) -> dict[int, float]:
    weights: dict[int, float] = {}
    for word in words:
        weights[word] = weights.get(word, 0.0) + 1.0
    return weights


def _fusion(wish: Wish) -> dict[str, Any]:
    if wish.mode is not Mode.HYBRID:
        return {"method": wish.mode.value}
    weights = {"semantic": SEMANTIC_WEIGHT, "lexical": round(1 - SEMANTIC_WEIGHT, 6)}
    return {"method": "weighted sum", "weights": weights} | ({"rrf_k": RRF_K} if len(wish.queries) > 1 else {})
