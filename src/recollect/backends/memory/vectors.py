"""A vector store in memory that compares with everything: what others have to agree with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import in_subtree
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import VectorsUnavailable
from recollect.domain.filters import matches
from recollect.domain.instants import Instant
from recollect.domain.queries import shows
from recollect.domain.ranking import K1
from recollect.domain.rows import is_expired
from recollect.ports.vectors import EXACT_FILTERS, Followed, Line, Point, Scope, Statistics, VectorStore, held


@dataclass(slots=True)
class _Kept:
    """What is known of a version: the number it came with, and what it is, or when it was removed."""

    number: int
    point: Point | None
    at: Instant


@dataclass(slots=True)
class _Shelf:
    versions: dict[bytes, _Kept] = field(default_factory=dict)
    followed: Followed | None = None


class MemoryVectors(VectorStore):
    """Keeps points in dictionaries."""

    capabilities = frozenset({EXACT_FILTERS})

    def __init__(self) -> None:
        self._lines: dict[Line, _Shelf] = {}
        self._lock = threading.Lock()
        self._closed = False

    def write(self, line: Line, number: int, points: Sequence[Point], removed: Sequence[bytes], now: Instant) -> None:
        """Keep some and remove others."""
        with self._lock:
            versions = self._of(line).versions
            changes: list[tuple[bytes, Point | None]] = [(point.id, point) for point in points]
            for row_id, point in changes + [(each, None) for each in removed]:
                known = versions.get(row_id)
                if known is None or number > known.number or (number == known.number and known.point is not None):
                    versions[row_id] = _Kept(number, point, now)

    def nearest(
        self, line: Line, scope: Scope, vector: NDArray[np.float32], limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """The closest of all."""

        def closeness(point: Point) -> float | None:
            return float((point.vectors @ vector).max()) if len(point.vectors) else None

        return self._best(line, scope, closeness, limit)

    def sharing(
        self, line: Line, scope: Scope, words: Mapping[int, float], average: float, limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """Those with the most of the words."""

        def sum_of(point: Point) -> float | None:
            hold = held(point.length, average)
            times = dict(zip(point.words.tolist(), point.counts.tolist(), strict=True))
            found = [weight * (K1 + 1) * times[w] / (times[w] + hold) for w, weight in words.items() if w in times]
            return sum(found) if found else None

        return self._best(line, scope, sum_of, limit)

    def statistics(self, line: Line, scope: Scope, words: Sequence[int]) -> Statistics:
        """Everything counted."""
        with self._lock:
            points = list(self._shown(line, scope))
        average = sum(point.length for point in points) / len(points) if points else 1.0
        having = {word: sum(bool((point.words == np.uint64(word)).any()) for point in points) for word in words}
        return Statistics(len(points), max(average, 1.0), having)

    def _best(
        self, line: Line, scope: Scope, score: Callable[[Point], float | None], limit: int
    ) -> list[tuple[bytes, float]]:
        with self._lock:
            scored = [(point.id, score(point)) for point in self._shown(line, scope)]
        found = [(row_id, value) for row_id, value in scored if value is not None]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def _shown(self, line: Line, scope: Scope) -> Iterator[Point]:
        for kept in self._of(line).versions.values():
            point = kept.point
            if (
                point is not None
                and not is_expired(point.expires_at, scope.now)
                and shows(scope.archived, archived=point.archived)
                and in_subtree(scope.within.encoded, point.namespace)
                and matches(scope.filter, stored_attributes(point.policy_attributes))
            ):
                yield point

    def followed(self, line: Line) -> Followed | None:
        """How far it was followed."""
        with self._lock:
            return self._of(line).followed

    def highest(self, line: Line) -> int:
        """The highest number."""
        with self._lock:
            return max((kept.number for kept in self._of(line).versions.values()), default=0)

    def follow(self, line: Line, followed: Followed) -> None:
        """Note how far it was followed."""
        with self._lock:
            known = self._of(line).followed
            if known is None or known.upto <= followed.upto:
                self._of(line).followed = followed

    def lines(self, tenant: str) -> Sequence[Line]:
        """Those of a tenant."""
        with self._lock:
            self._check_open()
            return [line for line, shelf in self._lines.items() if line.tenant == tenant and _holds(shelf)]

    def forget(self, line: Line) -> None:
        """Remove all of it."""
        with self._lock:
            self._check_open()
            self._lines.pop(line, None)

    def tidy(self, before: Instant) -> None:
        """Forget older removals."""
        with self._lock:
            self._check_open()
            for shelf in self._lines.values():
                gone = [each for each, kept in shelf.versions.items() if kept.point is None and kept.at < before]
                for each in gone:
                    del shelf.versions[each]

    def close(self) -> None:
        """Refuse from now on."""
        self._closed = True

    def _of(self, line: Line) -> _Shelf:
        self._check_open()
        return self._lines.setdefault(line, _Shelf())

    def _check_open(self) -> None:
        if self._closed:
            raise VectorsUnavailable("the vector store is closed")


def _holds(shelf: _Shelf) -> bool:
    return shelf.followed is not None or bool(shelf.versions)
