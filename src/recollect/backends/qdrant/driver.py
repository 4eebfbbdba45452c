"""What the two ways to Qdrant have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect.backends.qdrant.conditions import Where
from recollect.backends.qdrant.points import Sparse, Stored

NO_WORDS = Sparse([], [])
MEANING, WORDS = "meaning", "words"
"""The names of the vectors of a point."""


@dataclass(frozen=True, slots=True)
class Index:
    """A key of the payload that is filtered by, and how."""

    key: str
    kind: str
    """`keyword`, `integer` or `float`."""
    tenant: bool = False
    """True when what has the same value lies together."""
    lookup: bool = True
    range: bool = False


INDEXES = (
    Index("tenant", "keyword", tenant=True),
    Index("line", "keyword"),
    Index("ancestors", "keyword"),
    Index("facts", "keyword"),
    Index("numbers[].name", "keyword"),
    Index("numbers[].value", "float"),
    Index("words", "integer"),
    Index("length", "integer"),
    Index("archived", "integer"),
    Index("expires", "integer", lookup=False, range=True),
    Index("order", "integer", lookup=False, range=True),
    Index("removed", "integer", lookup=False, range=True),
    Index("upto", "integer", lookup=False, range=True),
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A point that was found."""

    id: bytes
    """Of the version."""
    score: float
    length: int = 0
    words: Sparse = NO_WORDS


def found_in(payload: Mapping[str, Any] | None, score: float, words: Sparse = NO_WORDS) -> Hit:
    """The version of which a search gave this."""
    known = payload or {}
    return Hit(bytes.fromhex(known["id"]), score, known.get("length", 0), words)


class Driver(ABC):
    """Speaks with Qdrant. Whatever goes wrong there is `VectorsUnavailable`."""

    @abstractmethod
    def collections(self) -> Sequence[str]:
        """The names of what there is."""

    @abstractmethod
    def make(self, collection: str, dimension: int) -> None:
        """See that there is a collection with vectors of this dimension, if any, with words and all indexes."""

    @abstractmethod
    def has(self, collection: str) -> bool:
        """True when there is such a collection."""

    @abstractmethod
    def upsert(self, collection: str, points: Sequence[Stored], where: Where) -> None:
        """Write points that are new, or of which the known one satisfies `where`; searches see them from now on."""

    @abstractmethod
    def delete(self, collection: str, where: Where) -> None:
        """Delete what satisfies this."""

    @abstractmethod
    def nearest(self, collection: str, vector: Sequence[float], where: Where, limit: int) -> Sequence[Hit]:
        """The versions with the closest vectors, of which none is missed."""

    @abstractmethod
    def wordiest(self, collection: str, words: Sparse, where: Where, limit: int) -> Sequence[Hit]:
        """The versions with the heaviest words, with their lengths and the words themselves."""

    @abstractmethod
    def count(self, collection: str, where: Where) -> int:
        """How many points satisfy this."""

    @abstractmethod
    def tally(self, collection: str, key: str, where: Where) -> Mapping[Any, int]:
        """How many of them have each value of a key."""

    @abstractmethod
    def get(self, collection: str, point_id: str) -> Mapping[str, Any] | None:
        """What a point holds; None when there is none."""

    @abstractmethod
    def scroll(self, collection: str, where: Where, key: str) -> Sequence[tuple[str, Any]]:
        """All points that satisfy this, with what they hold under a key."""

    @abstractmethod
    def highest(self, collection: str, key: str, where: Where) -> int | None:
        """The highest whole number that any of them holds under a key; None when none holds one."""

    @abstractmethod
    def settle(self, collection: str) -> None:
        """See that all that was written so far outlasts a crash."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""
