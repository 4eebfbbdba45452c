"""Random programs on Qdrant and on the reference: every answer is the same, whatever was written, removed and asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.sizes import sized
from tests.vectors.loopback import loopback

from recollect.backends.memory import MemoryVectors
from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.domain.address import ROOT, namespace
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.ports.vectors import Point, Scope, VectorStore
from recollect.testing.contract.vectors import LINE, NOW, row

VERSIONS = 40
SEGMENTS = ["a", "ab", "A", "%", "_", "é", "日", ".", "#"]
NAMES = ["topic", "a.b", "a-b", "a_b", "0"]
BIG = 1 << 53
VALUES: list[Any] = [
    *("x", "X", "1", "true", "", "é", "n1", "long " * 40, "2026-05-01T00:00:00Z", "2026-05-01T02:00:00.000001+02:00"),
    *(
        True,
        False,
        0,
        1,
        1.0,
        -0.0,
        0.1,
        1e300,
        BIG,
        BIG + 1,
        float(BIG),
        -BIG - 1,
        (1 << 63) - 1,
        "9999-01-01T00:00:00Z",
    ),
]
WORDS = [1, 2, 3, (1 << 63) + 7, (1 << 64) - 1, 1 << 40]


@contextmanager
def _embedded(folder: Path) -> Iterator[VectorStore]:
    vectors = QdrantVectors(QdrantOptions(path=folder))
    yield vectors
    vectors.close()


@contextmanager
def _http(folder: Path) -> Iterator[VectorStore]:
    with loopback() as server:
        vectors = QdrantVectors(QdrantOptions(url=server.url))
        yield vectors
        vectors.close()


class Chance(random.Random):
    """Makes up what is written and asked."""

    def vector(self) -> Any:
        made = np.array([self.gauss(0, 1) for _ in range(LINE.dimension)], np.float32)
        return made / np.linalg.norm(made)

    def place(self) -> tuple[str, ...]:
        return tuple(self.choices(SEGMENTS[:3] if self.random() < 0.7 else SEGMENTS, k=self.randint(1, 3)))

    def attributes(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name in self.sample(NAMES, self.randint(0, 3)):
            made[name] = self.choice([self.choice(VALUES), self.choices(VALUES, k=self.randint(0, 3)), None])
        return made

    def point(self) -> Point:
        words = self.sample(WORDS, self.randint(0, 4))
        counts = [self.randint(1, 5) for _ in words]
        pieces = [self.vector() for _ in range(self.choice([0, 1, 1, 3]))]
        return Point(
            row(self.randrange(VERSIONS)),
            namespace(self.place()).encoded,
            self.choice([None, None, Instant(NOW + self.randint(-1, 1))]),
            self.random() < 0.2,
            json.dumps(self.attributes()),
            np.array(words, np.uint64),
            np.array(counts, np.uint8),
            sum(counts),
            tuple(map(str, range(len(pieces)))),
            np.array(pieces, np.float32).reshape(-1, LINE.dimension),
        )

    def asked(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name in self.sample(NAMES, self.choice([0, 1, 1, 2])):
            value = self.choice(VALUES)
            ranged = not isinstance(value, bool) and (not isinstance(value, str) or value[:1] in ("2", "9"))
            conditions = [{"$eq": value}, {"$ne": value}, {"in": [value, "x", 1]}, {"$exists": self.random() < 0.5}]
            made[name] = {self.choice(["gt", "gte", "lt", "lte"]): value} if ranged else self.choice(conditions)
        return made

    def scope(self) -> Scope:
        within = ROOT if self.random() < 0.5 else namespace(self.place())
        return Scope(
            Instant(NOW + self.randint(-1, 1)), within, parse_filter(self.asked()), self.choice(list(Archived))
        )


def _step(chance: Chance, vectors: VectorStore, reference: VectorStore) -> None:
    points = [chance.point() for _ in range(chance.randint(0, 6))]
    removed = [row(chance.randrange(VERSIONS)) for _ in range(chance.choice([0, 0, 1]))]
    number = chance.randint(1, 50)
    for each in (vectors, reference):
        each.write(LINE, number, points, removed, NOW)
    scope, asked, words = chance.scope(), chance.vector(), {word: chance.uniform(0.5, 3) for word in WORDS[:4]}
    _alike(vectors.nearest(LINE, scope, asked, 50), reference.nearest(LINE, scope, asked, 50), scope)
    sharing = [each.sharing(LINE, scope, words, 3.5, 50) for each in (vectors, reference)]
    _alike(sharing[0], sharing[1], scope)
    known, expected = (each.statistics(LINE, scope, WORDS) for each in (vectors, reference))
    assert (known.count, known.having) == (expected.count, expected.having), scope
    assert known.average == pytest.approx(expected.average)


def _alike(found: Any, expected: Any, scope: Scope) -> None:
    assert sorted(row_id for row_id, _ in found) == sorted(row_id for row_id, _ in expected), scope
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([score for _, score in expected], abs=1e-3)
    assert dict(found) == pytest.approx(dict(expected), abs=1e-3)


@pytest.mark.parametrize("opened", [_embedded, _http], ids=["embedded", "http"])
@sized(60, 2_000)
def test_a_random_program_has_the_same_answers(
    opened: Callable[[Path], AbstractContextManager[VectorStore]], count: int, tmp_path: Path
) -> None:
    chance, reference = Chance(7), MemoryVectors()
    with opened(tmp_path) as vectors:
        for _ in range(count):
            _step(chance, vectors, reference)
