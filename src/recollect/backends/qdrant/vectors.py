"""The vector store on Qdrant: a collection for each model, a point for each version.

Every version of a scope is compared, and no graph of neighbours is built: Qdrant's finds too few of the nearest when
points have the vectors of several pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.backends.qdrant.conditions import Among, Between, Is, Where, holds_again, of_line, of_scope
from recollect.backends.qdrant.driver import Driver, Hit
from recollect.backends.qdrant.options import QdrantOptions
from recollect.backends.qdrant.points import (
    Stored,
    collection_of,
    mark_id,
    mark_point,
    model_of,
    number_of,
    order_of,
    removed_point,
    signed,
    sparse_query,
    times_of,
    version_point,
)
from recollect.domain.errors import InvalidSetting, VectorsUnavailable
from recollect.domain.instants import Instant
from recollect.domain.ranking import K1
from recollect.domain.reasons import Plane
from recollect.ports.vectors import EXACT_FILTERS, Followed, Line, Point, Scope, Statistics, VectorStore, held

_BATCH_POINTS, _BATCH_NUMBERS = 256, 1 << 18
_OVERSAMPLED = 3
"""So many times as many as asked for are weighed anew with the average of the search."""


class QdrantVectors(VectorStore):
    """Keeps versions as points of Qdrant, on a server or in a folder."""

    capabilities = frozenset({EXACT_FILTERS})

    def __init__(self, options: QdrantOptions, driver: Driver | None = None) -> None:
        self._driver = _driver_for(options) if driver is None else driver
        self._made: set[str] = set()
        self._closed = False

    # -- writing

    def write(self, line: Line, number: int, points: Sequence[Point], removed: Sequence[bytes], now: Instant) -> None:
        """Keep some and remove others; the condition on what is known is checked by Qdrant itself."""
        collection = self._make(line)
        older = Where((Between("order", lte=order_of(number)),))
        for batch in _batches(version_point(line, number, each) for each in points):
            self._driver.upsert(collection, batch, older)
        for batch in _batches(removed_point(line, number, each, now) for each in removed):
            self._driver.upsert(collection, batch, older)

    def follow(self, line: Line, followed: Followed) -> None:
        """Note how far it was followed, after what it vouches for is safe."""
        collection = self._make(line)
        self._driver.settle(collection)
        self._driver.upsert(collection, [mark_point(line, followed)], Where((Between("upto", lte=followed.upto),)))
        self._driver.settle(collection)

    def forget(self, line: Line) -> None:
        """Remove all of it; first how far it was followed, so that this never vouches for what is gone."""
        if collection := self._existing(line):
            self._driver.delete(collection, Where((Among((mark_id(line),)),)))
            self._driver.settle(collection)
            self._driver.delete(collection, of_line(line))
            self._driver.settle(collection)

    def tidy(self, before: Instant) -> None:
        """Delete what is remembered of older removals."""
        for collection, _, _ in self._collections():
            self._driver.delete(collection, Where((Between("removed", lt=before),)))

    # -- searching

    def nearest(
        self, line: Line, scope: Scope, vector: NDArray[np.float32], limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """The closest of all."""
        collection = self._existing(line)
        if not collection or not line.dimension or limit < 1:
            return []
        where = self._where(collection, line, scope)
        hits = self._driver.nearest(collection, vector.tolist(), where, limit)
        return _best([(hit.id, hit.score) for hit in hits], limit)

    def sharing(
        self, line: Line, scope: Scope, words: Mapping[int, float], average: float, limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """Those with the most of the words, weighed by this average."""
        collection = self._existing(line)
        if not collection or not words or limit < 1:
            return []
        query = sparse_query(words)
        where = self._where(collection, line, scope)
        hits = self._driver.wordiest(collection, query, where, _OVERSAMPLED * limit)
        weights = dict(zip(query.places, query.values, strict=True))
        return _best([(hit.id, _weighed(hit, weights, average)) for hit in hits], limit)

    def statistics(self, line: Line, scope: Scope, words: Sequence[int]) -> Statistics:
        """Everything counted by Qdrant; the average from how many versions have each length."""
        collection = self._existing(line)
        if not collection:
            return Statistics(0, 1.0, dict.fromkeys(words, 0))
        where = self._where(collection, line, scope)
        lengths = self._driver.tally(collection, "length", where)
        count = sum(lengths.values())
        average = sum(length * times for length, times in lengths.items()) / count if count else 1.0
        having = dict.fromkeys(words, 0)
        for word in having if count else ():
            having[word] = self._driver.count(collection, where.and_(Is("words", tuple(signed([word])))))
        return Statistics(count, max(average, 1.0), having)

    def _where(self, collection: str, line: Line, scope: Scope) -> Where:
        """The scope in Qdrant's words; where those let more pass, those that match are looked up and named."""
        where = of_scope(line, scope)
        if not where.again:
            return where
        found = self._driver.scroll(collection, where, "numbers")
        return of_line(line).and_(Among(tuple(each for each, kept in found if holds_again(where.again, kept or ()))))

    # -- what there is

    def followed(self, line: Line) -> Followed | None:
        """How far it was followed."""
        collection = self._existing(line)
        found = self._driver.get(collection, mark_id(line)) if collection else None
        return None if found is None else Followed(found["upto"], Instant(found["at"]))

    def highest(self, line: Line) -> int:
        """The highest number."""
        collection = self._existing(line)
        return number_of(self._driver.highest(collection, "order", of_line(line)) or 0) if collection else 0

    def lines(self, tenant: str) -> Sequence[Line]:
        """Those of a tenant, in all collections."""
        found = []
        for collection, model, dimension in self._collections():
            for key in self._driver.tally(collection, "line", Where((Is("tenant", (tenant,)),))):
                plane, _, series = key.rpartition(".")
                found.append(Line(tenant, Plane(plane), int(series), model, dimension))
        return found

    def close(self) -> None:
        """Refuse from now on, and let go of server or folder."""
        if not self._closed:
            self._closed = True
            self._driver.close()

    def _collections(self) -> Iterator[tuple[str, str, int]]:
        self._check_open()
        for collection in self._driver.collections():
            if model := model_of(collection):
                yield collection, *model

    def _make(self, line: Line) -> str:
        """The line's collection, which there is from now on."""
        self._check_open()
        collection = collection_of(line)
        if collection not in self._made:
            self._driver.make(collection, line.dimension)
            self._made.add(collection)
        return collection

    def _existing(self, line: Line) -> str:
        """The line's collection, or nothing when there is none."""
        self._check_open()
        collection = collection_of(line)
        return collection if collection in self._made or self._driver.has(collection) else ""

    def _check_open(self) -> None:
        if self._closed:
            raise VectorsUnavailable("the vector store is closed")


def _driver_for(options: QdrantOptions) -> Driver:
    """The driver for a server or for a folder; each is imported only when it is used, because both are large."""
    try:
        if options.path is None:
            from recollect.backends.qdrant.served import Served

            return Served(options)
        from recollect.backends.qdrant.embedded import Embedded

        return Embedded(options.path)
    except ImportError:
        raise InvalidSetting("vectors: Qdrant needs its driver; install recollect[qdrant]") from None


def _batches(points: Iterator[Stored]) -> Iterator[list[Stored]]:
    """What is written at once: neither too many points nor too many numbers."""
    batch: list[Stored] = []
    size = 0
    for point in points:
        batch.append(point)
        size += sum(map(len, point.meaning)) + (len(point.words.places) if point.words else 0)
        if len(batch) >= _BATCH_POINTS or size >= _BATCH_NUMBERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _weighed(hit: Hit, weights: Mapping[int, float], average: float) -> float:
    """What the words of a version count in this search."""
    weight = np.array([weights.get(place, 0.0) for place in hit.words.places])
    times = times_of(np.array(hit.words.values), hit.length)
    return float((weight * (K1 + 1) * times / (times + held(hit.length, average))).sum())


def _best(found: list[tuple[bytes, float]], limit: int) -> list[tuple[bytes, float]]:
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]
