"""What a search asks for, and the ranking of what is on a shelf of its scope."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import Namespace
from recollect.domain.filters import Filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.ranking import (
    NO_VECTOR,
    Arms,
    Asked,
    Candidate,
    Mode,
    allowed,
    arms_of,
    best_of,
    candidates,
    closest_path,
    fused,
    scaled,
    scaled_words,
)
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.shelves import Shelf
from recollect.service.opened import Aside, OpenShelf

_SMALL = 2_000
"""Up to so many versions are scored at once; more are scored aside."""


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
    keep: Callable[[Row], bool] | None = None
    """What else a row must satisfy to be shown; it is asked of rows that were read again."""
    roots: tuple[Namespace, ...] = ()
    """Where it must lie, exactly: several scopes that are searched as one. `within` is around all of them."""


@dataclass(frozen=True, slots=True)
class Among:
    """The versions of an earlier moment, to be searched in place of those that are live now."""

    shelf: Shelf
    rows: Mapping[bytes, Row]
    details: Mapping[bytes, bytes]
    now: Instant


class Work(ABC):
    """A search under way: what it may show, ranked as deep as is asked for."""

    searched: int
    """Among how many versions it looks."""

    @abstractmethod
    async def rank(self, most: int) -> tuple[list[list[Candidate]], bool]:
        """So many of what each query finds, best first; and whether that is all that the first of them finds."""


class OnShelf(Work):
    """A search of a shelf that has everything in the scope."""

    def __init__(
        self, opened: OpenShelf, narrower: str | None, wish: Wish, asked: Sequence[Asked], now: Instant, aside: Aside
    ) -> None:
        self._opened, self._narrower, self._wish, self._asked, self._now = opened, narrower, wish, asked, now
        self._aside = aside
        self.searched = 0

    async def rank(self, most: int) -> tuple[list[list[Candidate]], bool]:
        """The best of all."""
        small = len(self._opened.shelf) <= _SMALL
        firsts = self._ranked(most) if small else await self._aside(partial(self._ranked, most))
        return firsts, len(firsts[0]) < most

    def _ranked(self, most: int) -> list[list[Candidate]]:
        with self._opened.lock:
            shelf, wish = self._opened.shelf, self._wish
            masks = allowed(shelf, self._narrower, wish.archived, self._now, wish.filter)
            self.searched = sum(int(mask.sum()) for mask in masks)
            return [ranking(shelf, wish, asked, arms_of(shelf, asked, masks), most) for asked in self._asked]


class OnShelves(Work):
    """A search of several scopes as one: what lies exactly at their roots, scored together."""

    def __init__(
        self,
        opened: Sequence[tuple[OpenShelf, tuple[str, ...]]],
        wish: Wish,
        asked: Sequence[Asked],
        now: Instant,
        aside: Aside,
    ) -> None:
        self._opened, self._wish, self._asked, self._now = opened, wish, asked, now
        self._aside = aside
        self.searched = 0

    async def rank(self, most: int) -> tuple[list[list[Candidate]], bool]:
        """The best of all."""
        small = sum(len(each.shelf) for each, _ in self._opened) <= _SMALL
        firsts = self._ranked(most) if small else await self._aside(partial(self._ranked, most))
        return firsts, len(firsts[0]) < most

    def _ranked(self, most: int) -> list[list[Candidate]]:
        wish = self._wish
        with ExitStack() as held:
            for each, _ in sorted(self._opened, key=lambda pair: pair[0].scope):  # all in one order: nobody waits twice
                held.enter_context(each.lock)
            masks = [
                mask
                for each, roots in self._opened
                for mask in allowed(each.shelf, None, wish.archived, self._now, wish.filter, roots=roots)
            ]
            segments = [segment for each, _ in self._opened for segment in each.shelf.segments]
            shelf = Shelf(self._opened[0][0].shelf.dimension, 0, segments)
            self.searched = sum(int(mask.sum()) for mask in masks)
            return [ranking(shelf, wish, asked, arms_of(shelf, asked, masks), most) for asked in self._asked]


class Several(Work):
    """Searches of scopes too large for shelves, each scored by itself."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._works = works
        self.searched = 0

    async def rank(self, most: int) -> tuple[list[list[Candidate]], bool]:
        """The best of each, together."""
        found = [await work.rank(most) for work in self._works]
        self.searched = sum(work.searched for work in self._works)
        several = zip(*(firsts for firsts, _ in found), strict=True)
        return [best_of(each, most) for each in several], all(whole for _, whole in found)


def ranking(shelf: Shelf, wish: Wish, asked: Asked, arms: Arms, most: int) -> list[Candidate]:
    """The best on a shelf by what the arms say of them, with the reasons if they are wished for."""
    scores, found = fused(arms, wish.mode)
    why = _Explaining(asked, arms, shelf).of if wish.explain else None
    return candidates(shelf, scores, found & arms.allowed, most, why)


class _Explaining:
    """What each arm said, for whoever wants to know."""

    def __init__(self, asked: Asked, arms: Arms, shelf: Shelf) -> None:
        self._asked = asked
        self._arms = arms
        self._shelf = shelf
        self._words = scaled_words(arms)
        self._meaning = scaled(arms.semantic, arms.semantic > NO_VECTOR, arms.floor)
        self._ranks = {name: _ranks(scores) for name, scores in (("l", arms.lexical), ("s", arms.semantic))}

    def of(self, place: int) -> dict[str, Any]:
        """Rank, score and share of each arm that found it."""
        arms, said = self._arms, dict[str, Any]()
        if arms.lexical[place] > 0:
            said["lexical"] = {
                "rank": int(self._ranks["l"][place]),
                "score": round(float(arms.lexical[place]), 6),
                "scaled": round(float(self._words[place]), 6),
            }
        if arms.semantic[place] > NO_VECTOR and self._asked.vector is not None:
            segment, slot = self._shelf.at(place)
            said["semantic"] = {
                "rank": int(self._ranks["s"][place]),
                "score": round(float(arms.semantic[place]), 6),
                "scaled": round(float(self._meaning[place]), 6),
                "field": closest_path(segment, slot, self._asked.vector),
            }
        return said


def _ranks(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks
