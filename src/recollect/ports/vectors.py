"""Vector stores: where scopes that are too large for a process's memory are searched, by words and by meaning.

V1  What was written is found in its own tenant, plane and series only, from the moment that the call returned, by every
    instance on the same data.
V2  Each write has a number. Writing a version anew replaces what is known of it, unless that came with a higher number;
    what was removed does not come back with the same or a lower one.
V3  What was removed is found no more.
V4  The nearest versions are given best first, each once, with the cosine of the closest of its vectors. In a scope of
    up to a thousand versions none is missed; in a larger one, few.
V5  Nothing outside of the scope is given: whole segments, the filter as `domain.filters.matches` means it, archived or
    not as asked, and nothing that has expired. A store may let pass what its filters cannot tell apart, and then says
    so by `capabilities` without `exact filters`; it never leaves out what matches.
V6  The versions that share words with a query are given best first, by the sum of what their words count, each word by
    how often it occurs and held back by the length, as BM25 does.
V7  The statistics of a scope say how many versions it has, how long they are on average, and how many have each word;
    counts above ten thousand may be estimates.
V8  How far the store was followed is kept, and with it all that was written before; nothing is said of it after
    everything was forgotten. The highest number that anything came with is known, of what is kept and remembered.
V9  Forgetting a line leaves nothing of it, and of others everything; the lines of a tenant are known.
V10 Any number of threads may use it at once.
V11 Trouble with a server is `VectorsUnavailable`, which may pass; a closed vector store refuses with it.
V12 Removals are remembered for at least so long as `REMEMBERED_SECONDS`, so that one who writes late is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import ROOT, Namespace
from recollect.domain.filters import EVERYTHING, Filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.ranking import K1, B
from recollect.domain.reasons import Plane

REMEMBERED_SECONDS = 3_600.0
EXACT_FILTERS = "exact filters"
COUNTED = 10_000
"""Up to so many, statistics are exact."""
EXACT = 1_000
"""In a scope of up to so many versions, none of the nearest is missed."""


@dataclass(frozen=True, slots=True)
class Line:
    """The vectors of one model in one plane of a tenant."""

    tenant: str
    plane: Plane
    series: int
    model: str
    dimension: int
    """0 when there is no model, and versions are found by words alone."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a vector store keeps of a version."""

    id: bytes
    namespace: str
    """Encoded, as every backend stores it."""
    expires_at: Instant | None
    archived: bool
    policy_attributes: str
    """As the store keeps them: an object in JSON."""
    words: NDArray[np.uint64]
    """Blinded, each once."""
    counts: NDArray[np.uint8]
    """How often each of them occurs."""
    length: int
    paths: tuple[str, ...]
    vectors: NDArray[np.float32]
    """A row of unit length for each path."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may show."""

    now: Instant
    within: Namespace = ROOT
    filter: Filter = EVERYTHING
    archived: Archived = Archived.EXCLUDE


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 has to know of a scope."""

    count: int
    average: float
    """How many words a version has, at least 1."""
    having: Mapping[int, int] = field(default_factory=dict)
    """How many versions have each of the words that were asked about."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How far, and when, a vector store was brought up to date."""

    upto: int
    at: Instant


def held(length: float, average: float) -> float:
    """How much a text of this length is held back (V6): a word that occurs t times counts (K1 + 1) t / (t + this)."""
    return K1 * (1 - B + B * length / average)


class VectorStore(ABC):
    """Finds candidates in large scopes. Its calls block, so they are made on a thread. The module has the promises.

    It follows what the store's index keeps, and is never trusted: what it proposes is read again from the store.
    Everything in it can be made anew from there, so it need not be backed up. Words and vectors reach it blinded.
    """

    capabilities: frozenset[str] = frozenset()

    @abstractmethod
    def write(self, line: Line, number: int, points: Sequence[Point], removed: Sequence[bytes], now: Instant) -> None:
        """Keep some versions and remove others, unless newer is known of them (V1 to V3, V12)."""

    @abstractmethod
    def nearest(
        self, line: Line, scope: Scope, vector: NDArray[np.float32], limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """The versions whose vectors come closest to this one (V4, V5)."""

    @abstractmethod
    def sharing(
        self, line: Line, scope: Scope, words: Mapping[int, float], average: float, limit: int
    ) -> Sequence[tuple[bytes, float]]:
        """The versions that have these words, each of which counts so much (V5, V6)."""

    @abstractmethod
    def statistics(self, line: Line, scope: Scope, words: Sequence[int]) -> Statistics:
        """What there is in a scope (V5, V7)."""

    @abstractmethod
    def followed(self, line: Line) -> Followed | None:
        """How far it was followed; None when it never was (V8)."""

    @abstractmethod
    def highest(self, line: Line) -> int:
        """The highest number that anything of a line was written or removed with; 0 when there is nothing (V8)."""

    @abstractmethod
    def follow(self, line: Line, followed: Followed) -> None:
        """Note how far it was followed, unless it was followed further, so that it lasts (V8)."""

    @abstractmethod
    def lines(self, tenant: str) -> Sequence[Line]:
        """The lines of a tenant of which there is something (V9)."""

    @abstractmethod
    def forget(self, line: Line) -> None:
        """Remove all of a line, and how far it was followed (V9)."""

    @abstractmethod
    def tidy(self, before: Instant) -> None:
        """Let go of what is remembered of removals from before a moment (V12)."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held (V11)."""
