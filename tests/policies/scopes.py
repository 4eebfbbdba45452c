"""Random searches and random answers of policies to them, over few words, so that they often meet."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.ports.policy import Narrowed

SEGMENTS = ("a", "ab", "A", "%", "_", "\x1e", "é", "日", ".", "user", "alice", "bob", "*", "a/b")
NAMES = ("topic", "score", "flag", "tags", "sub")
Segments = tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """A version that was written, with what can be filtered by."""

    namespace: Segments
    key: str
    plain: Mapping[str, Any]
    live: bool


@dataclass(frozen=True)
class Asked:
    """What a caller asks for; the pattern is that of a listing of namespaces."""

    prefix: Segments
    filter: Mapping[str, Any] | None
    pattern: Segments
    suffix: Segments
    order: str
    limit: int


class Chance:
    """Random prefixes, filters and attributes over few words, so that they often meet."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def segments(self, least: int, most: int) -> Segments:
        known = SEGMENTS if self.random.random() < 0.3 else SEGMENTS[:3]
        return tuple(self.random.choice(known) for _ in range(self.random.randint(least, most)))

    def scalar(self) -> Any:
        return self.random.choice(["tea", "a%", "é", "", 0, 1, 1.5, -2, True, False, "2026-01-01T00:00:00Z"])

    def plain(self) -> dict[str, Any]:
        chosen = [name for name in NAMES if self.random.random() < 0.6]
        return {name: [self.scalar(), self.scalar()] if name == "tags" else self.scalar() for name in chosen}

    def filter(self, *, sound: bool) -> dict[str, Any]:
        """A filter of up to three conditions; an unsound one now and then, unless it must not be."""
        written: dict[str, Any] = {}
        for name in self.random.sample(NAMES, self.random.choice([0, 0, 1, 1, 1, 2, 3])):
            written[name] = self._condition()
        if not sound and self.random.random() < 0.05:
            written[self.random.choice(["", "$or", "topic"])] = self.random.choice(
                [{}, {"$where": "1"}, None, [], {"$in": []}]
            )
        return written

    def _condition(self) -> Any:
        kind = self.random.randrange(5)
        if kind == 0:
            return {"$exists": self.random.random() < 0.7}
        if kind == 1:
            return {self.random.choice(["in", "$in"]): [self.scalar() for _ in range(self.random.randint(1, 3))]}
        if kind == 2:
            return {
                self.random.choice(["$gt", "gte", "lt", "$lte"]): self.random.choice(
                    [0, 1, 1.5, "2026-01-01T00:00:00Z"]
                )
            }
        if kind == 3:
            return {"$ne": self.scalar()}
        return self.scalar()

    def asked(self) -> Asked:
        prefix = self.segments(0, 3)
        pattern = tuple("*" if self.random.random() < 0.2 else each for each in prefix)
        suffix = self.segments(0, 1) if self.random.random() < 0.3 else ()
        order = self.random.choice(["newest", "oldest", "key"])
        return Asked(prefix, self.filter(sound=False) or None, pattern, suffix, order, self.random.choice([1, 3, 100]))

    def narrowed(self, asked: Segments) -> Narrowed:
        """The same, deeper, wider, beside, or anything."""
        kind = self.random.randrange(7)
        if kind <= 1:
            prefix = asked
        elif kind == 6 and asked:  # beside it, by a letter
            prefix = (*asked[:-1], asked[-1] + "b")
        elif kind <= 3:
            prefix = asked + self.segments(1, 2)
        elif kind == 4:
            prefix = asked[: self.random.randint(0, len(asked))]
        else:
            prefix = self.segments(0, 4)
        return Narrowed(prefix, self.filter(sound=False))
