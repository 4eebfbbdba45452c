"""Searching: from a query and a scope to the memories that answer it, each with a score and, if asked, the reasons.

Nothing is returned because the index says so: what it finds is read again from the store, and shown only if it is
live, in scope and matches at that moment.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from recollect.domain.address import Namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.blinding import Blinder
from recollect.domain.errors import EmbedderTrouble, NotAvailable, StoreBusy
from recollect.domain.filters import EVERYTHING, matches
from recollect.domain.indexable import Scalar, has_leaves
from recollect.domain.late import closeness
from recollect.domain.queries import Archived, shows
from recollect.domain.ranking import (
    LATE_MOST,
    LATE_WEIGHT,
    NEAR_WEIGHT,
    RRF_K,
    SEMANTIC_WEIGHT,
    Asked,
    Candidate,
    Mode,
    allowed,
    looked_at_again,
    reciprocal,
)
from recollect.domain.reasons import Plane
from recollect.domain.rows import Hit, Row, is_expired
from recollect.domain.values import stored_value
from recollect.domain.words import words_in
from recollect.ports.clock import Clock
from recollect.ports.embedder import Purpose
from recollect.ports.store import Store
from recollect.ports.vectors import VectorStore
from recollect.service.following import Following, line_of
from recollect.service.indexing import Indexing
from recollect.service.opened import OpenShelf, Scope, Shelves
from recollect.service.proposing import InVectors, Proposing
from recollect.service.ranked import Among, OnShelf, OnShelves, Several, Wish, Work
from recollect.service.series import Series

_REMEMBERED = 1_024
_SPARE = 16
"""So many more than asked for are ranked, because some may be gone when they are read again."""
_FURTHER = 8
_FEW = 2
_DEEP = 300
"""How many of each of several queries' answers are put together."""
_MOST_CHANGES = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, best first, and what there is to say about all of it."""

    hits: list[Hit]
    explanation: dict[str, Any]


class Searching:
    """Answers queries from the shelves of the scopes they ask about."""

    def __init__(
        self,
        store: Store,
        indexing: Indexing,
        clock: Clock,
        *,
        language: str,
        most_bytes: int,
        vectors: VectorStore | None = None,
        exact: int = 0,
    ) -> None:
        self._store = store
        self._indexing = indexing
        self._clock = clock
        self.language = language
        self._exact = exact
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="recollect-search")
        self.shelves = Shelves(store, self._aside, most_bytes)
        self.following = None if vectors is None else Following(store, vectors, clock, indexing.rules, self._aside)
        self._proposing = None if vectors is None else Proposing(store, vectors, self._aside)
        self._encoded: OrderedDict[tuple[str, str], Meant] = OrderedDict()

    async def search(self, wish: Wish) -> Answer:
        """What a search finds, as of now; once more if another model's series began to serve meanwhile."""
        lines = await self._indexing.book.lines(wish.tenant)
        for _ in range(_MOST_CHANGES):
            if lines is None:
                said = {"mode": wish.mode, "model": None, "searched": 0, "rules": ["nothing is indexed yet"]}
                return Answer([], said)
            answer = await self._answered(wish, lines.serving)
            before, lines = lines, await self._indexing.book.lines(wish.tenant)
            if lines is not None and lines.serving == before.serving:
                return answer
        raise StoreBusy("the model of the index changes all the time; try again")

    async def search_among(self, wish: Wish, series: Series, among: Among) -> Answer:
        """What the search would have found among these versions, which were live at an earlier moment."""
        return await self._answered(wish, series, among)

    async def _answered(self, wish: Wish, series: Series, among: Among | None = None) -> Answer:
        meant, rules = await self._meant(wish, series)
        blinder = await self._indexing.blinder(wish.tenant)
        asked = [self._asked(wish, query, each, blinder) for query, each in zip(wish.queries, meant, strict=True)]
        work = await self._work(wish, series, asked) if among is None else self._past(wish, series, asked, among)
        words = [None if each is None or each.tokens is None else blinder.turn(each.tokens) for each in meant]
        hits = await self._shown(wish, work, words, series, among)
        explanation = {
            "mode": wish.mode,
            "model": series.model,
            "searched": work.searched,
            "fusion": _fusion(wish),
            "rules": rules,
        }
        return Answer(hits, explanation)

    async def _work(self, wish: Wish, series: Series, asked: Sequence[Asked]) -> Work:
        """Where to look: on a shelf in memory, or, if the scope is too large for one, in the vector store."""
        now = self._clock()
        if wish.roots:
            return await self._at_roots(wish, series, asked)
        if self.following is not None and self._proposing is not None:
            small = await self.shelves.fresh_if_small(wish.tenant, wish.plane, wish.within, series, self._exact)
            if small is not None:
                return OnShelf(*small, wish, asked, now, self._aside)
            line = line_of(wish.tenant, wish.plane, series)
            if await self.following.fresh(line):
                return InVectors(self._proposing, line, wish, asked, now)
        opened, narrower = await self.shelves.fresh(wish.tenant, wish.plane, wish.within, series)
        return OnShelf(opened, narrower, wish, asked, now, self._aside)

    async def _at_roots(self, wish: Wish, series: Series, asked: Sequence[Asked]) -> Work:
        """Where to look for what lies at several roots: on all their shelves together, if there is room for those."""
        now = self._clock()
        if self.following is not None and self._proposing is not None:
            small = [
                await self.shelves.fresh_if_small(wish.tenant, wish.plane, root, series, self._exact)
                for root in wish.roots
            ]
            line = line_of(wish.tenant, wish.plane, series)
            if None in small and await self.following.fresh(line):
                proposing = self._proposing
                apart = [replace(wish, within=root, roots=(root,)) for root in wish.roots]
                return Several([InVectors(proposing, line, each, asked, now) for each in apart])
        opened: dict[Scope, tuple[OpenShelf, tuple[str, ...]]] = {}
        for root in wish.roots:
            found, _ = await self.shelves.fresh(wish.tenant, wish.plane, root, series)
            held, roots = opened.get(found.scope, (found, ()))
            opened[found.scope] = held, (*roots, root.encoded)
        return OnShelves(list(opened.values()), wish, asked, now, self._aside)

    def _past(self, wish: Wish, series: Series, asked: Sequence[Asked], among: Among) -> Work:
        opened = OpenShelf(Scope(wish.tenant, wish.plane, wish.within.encoded, series.number), series.dimension)
        opened.shelf = among.shelf
        roots = tuple(root.encoded for root in wish.roots)
        return OnShelves([(opened, roots)], wish, asked, among.now, self._aside)

    async def follow(self, tenant: str, after_page: Callable[[int], Awaitable[bool]] | None = None) -> int:
        """Bring the vector store, if there is one, up to date with all that is indexed; say how much was written."""
        if self.following is None:
            return 0
        return await self.following.round(tenant, await self._indexing.book.lines(tenant), after_page)

    async def having(self, tenant: str, within: Namespace, leaves: Mapping[str, Scalar], plane: Plane) -> list[Row]:
        """Indexed rows in a scope whose values have all of these leaves, newest first: only what is found is opened.

        A leaf is named by its path; an element of a list stands at the path of the list.
        """
        lines = await self._indexing.book.lines(tenant)
        if lines is None:
            return []
        blinder = await self._indexing.blinder(tenant)
        wanted = [blinder.leaf(path, scalar) for path, scalar in leaves.items()]
        opened, narrower = await self.shelves.fresh(tenant, plane, within, lines.serving)
        with opened.lock:
            shelf = opened.shelf
            masks = allowed(shelf, narrower, Archived.EXCLUDE, self._clock(), EVERYTHING, wanted)
            places = [
                (segment, slot)
                for segment, mask in zip(shelf.segments, masks, strict=True)
                for slot in np.flatnonzero(mask)
            ]
            places.sort(key=lambda place: -int(place[0].sequence[place[1]]))
            ids = [segment.ids[slot] for segment, slot in places]
        now, wish = self._clock(), Wish(tenant, within, EVERYTHING, (), plane=plane)
        rows = await self._store.rows(tenant, ids)
        still = [row for row in rows if row.ended_at is None and not is_expired(row.expires_at, now)]
        live = [row for row in still if _may_be_shown(wish, row)]
        return [row for row in live if row.value is not None and has_leaves(stored_value(row.value), leaves)]

    def _asked(self, wish: Wish, query: str, meant: Meant | None, blinder: Blinder) -> Asked:
        words = () if wish.mode is Mode.SEMANTIC else words_in(query, self.language)
        return Asked(_weights(map(blinder.word, words)), None if meant is None else blinder.turn(meant.vector))

    async def _meant(self, wish: Wish, series: Series) -> tuple[list[Meant | None], list[str]]:
        """What a model makes of the queries, and what there is to say about it."""
        nothing: list[Meant | None] = [None] * len(wish.queries)
        if wish.mode is Mode.LEXICAL:
            return nothing, []
        embedder = self._indexing.embedders.of(series)
        if embedder is None:
            if wish.mode is Mode.SEMANTIC:
                raise NotAvailable("nothing makes vectors for what is indexed; search with mode=lexical")
            return nothing, ["found by words alone: nothing makes vectors for what is indexed"]
        model, remembered = embedder, self._encoded
        known = {query: remembered.get((series.model, query)) for query in wish.queries}
        unknown = [query for query, meant in known.items() if meant is None]
        try:
            if unknown:
                encoded = await self._aside(lambda: model.encode(unknown, Purpose.QUERY))
                tokens = encoded.tokens or [None] * len(unknown)
                for query, vector, each in zip(unknown, encoded.vectors, tokens, strict=True):
                    known[query] = remembered[series.model, query] = Meant(vector, each)
        except EmbedderTrouble:
            if wish.mode is Mode.SEMANTIC:
                raise
            return nothing, ["found by words alone: the embedder did not answer"]
        while len(remembered) > _REMEMBERED:
            remembered.popitem(last=False)
        return [known[query] for query in wish.queries], []

    async def _shown(
        self,
        wish: Wish,
        work: Work,
        words: Sequence[NDArray[np.float32] | None],
        series: Series,
        among: Among | None = None,
    ) -> list[Hit]:
        """The hits that are still what the index took them for, as many as were asked for if there are as many."""
        wanted = wish.offset + wish.limit
        most = max(wanted + _SPARE, LATE_MOST)
        ranking, whole = await self._ranked(wish, work, words, series, most, among)
        hits: list[Hit] = []
        at = 0
        while len(hits) < wanted:
            part = ranking[at : at + wanted - len(hits) + _FEW]
            if not part:
                if whole:
                    break
                most *= _FURTHER  # what is ranked deeper begins with what was ranked before
                ranking, whole = await self._ranked(wish, work, words, series, most, among)
                continue
            at += len(part)
            ids = [each.found.id for each in part]
            rows = {row.id: row for row in await self._store.rows(wish.tenant, ids)} if among is None else among.rows
            now = self._clock() if among is None else among.now
            for each in part:
                row = rows.get(each.found.id)
                if each.found.score < wish.min_score or row is None or is_expired(row.expires_at, now):
                    continue
                if (among is not None or row.ended_at is None) and _may_be_shown(wish, row):
                    hits.append(Hit(row, each.found.score, each.matched, each.found.why if wish.explain else None))
        return hits[wish.offset : wanted]

    async def _ranked(
        self,
        wish: Wish,
        work: Work,
        words: Sequence[NDArray[np.float32] | None],
        series: Series,
        most: int,
        among: Among | None,
    ) -> tuple[list[Ranked], bool]:
        """So many of what was found, best first, and whether that is all. Several queries always go equally deep."""
        several = len(wish.queries) > 1
        deep = _DEEP if several else most
        firsts, whole = await work.rank(deep)
        pairs = zip(firsts, words, strict=True)
        rankings = [await self._again(wish, first, word, series, among) for first, word in pairs]
        if several:
            return _together(rankings), True
        return [Ranked(each, (0,)) for each in rankings[0]], whole

    async def _again(
        self,
        wish: Wish,
        first: Sequence[Candidate],
        words: NDArray[np.float32] | None,
        series: Series,
        among: Among | None,
    ) -> Sequence[Candidate]:
        """A second look at the best that were found by words and meaning together."""
        if wish.mode is not Mode.HYBRID:
            return first
        late = None
        if words is not None and first:
            ids = [each.id for each in first[:LATE_MOST]]
            details: Mapping[bytes, bytes] = (
                await self._store.details(wish.tenant, series.number, ids) if among is None else among.details
            )
            late = closeness(words, [details.get(each) for each in ids])
        return looked_at_again(first, late, explain=wish.explain)

    async def _aside(self, work: Any) -> Any:
        if self._store.direct:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """End what is under way."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self.following is not None:
            self.following.close()


@dataclass(frozen=True, slots=True)
class Meant:
    """What a model makes of a query: a vector, and perhaps one for each of its words."""

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was found, in its place of a ranking, and by which of the queries, counted from 0."""

    found: Candidate
    matched: tuple[int, ...]


def _may_be_shown(wish: Wish, row: Row) -> bool:
    return (
        row.value is not None
        and shows(wish.archived, archived=row.archived)
        and wish.within.contains(row.address.namespace)
        and (not wish.filter or matches(wish.filter, stored_attributes(row.policy_attributes)))
        and (wish.keep is None or wish.keep(row))
    )


def _together(rankings: Sequence[Sequence[Candidate]]) -> list[Ranked]:
    """Several queries' rankings as one, by reciprocal ranks."""
    scores = reciprocal([[each.id for each in ranking] for ranking in rankings])
    found: dict[bytes, list[tuple[int, int, Candidate]]] = {}
    for number, ranking in enumerate(rankings):
        for rank, each in enumerate(ranking, 1):
            found.setdefault(each.id, []).append((number, rank, each))
    order = sorted(found, key=lambda row_id: (-scores[row_id], min(rank for _, rank, _ in found[row_id]), row_id))
    together = []
    for row_id in order:
        said = [
            {"query": number, "rank": rank, "score": round(each.score, 6), **each.why}
            for number, rank, each in found[row_id]
        ]
        merged = structs.replace(found[row_id][0][2], score=scores[row_id], why={"queries": said})
        together.append(Ranked(merged, tuple(number for number, _, _ in found[row_id])))
    return together


def _weights(words: Any) -> dict[int, float]:
    weights: dict[int, float] = {}
    for word in words:
        weights[word] = weights.get(word, 0.0) + 1.0
    return weights


def _fusion(wish: Wish) -> dict[str, Any]:
    if wish.mode is not Mode.HYBRID:
        return {"method": wish.mode.value}
    weights = {"semantic": SEMANTIC_WEIGHT, "lexical": round(1 - SEMANTIC_WEIGHT, 6)}
    said = {"method": "weighted sum", "weights": weights, "late": LATE_WEIGHT, "near": NEAR_WEIGHT}
    return said | ({"rrf_k": RRF_K} if len(wish.queries) > 1 else {})
