"""How many of the nearest the index finds, with and without filters, and that work for common words is bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sizes import sized
from tests.vectors.pgvector.conftest import OpenVectors

from recollect.backends.memory import MemoryVectors
from recollect.backends.postgres.vectors import PostgresVectors, lexical, nearest, store
from recollect.domain.address import namespace
from recollect.domain.filters import parse_filter
from recollect.ports.vectors import Line, Point, Scope
from recollect.testing.contract.vectors import LINE, NOW, SCOPE, point, row

TOP = 10
FULL = 100_000
QUERIES = 12


def clustered(count: int, dimension: int, chance: np.random.Generator) -> NDArray[np.float32]:
    """Vectors of unit length around some centres, as those of texts are."""
    centres = chance.normal(size=(max(50, count // 100), dimension))
    around = centres[chance.integers(len(centres), size=count)] + 0.7 * chance.normal(size=(count, dimension))
    unit: NDArray[np.float32] = (around / np.linalg.norm(around, axis=1, keepdims=True)).astype(np.float32)
    return unit


def fill(vectors: PostgresVectors, line: Line, given: NDArray[np.float32]) -> None:
    """Write all of them, then make the index, which is quicker than the other way round."""
    vectors._dimensions.add(line.dimension)
    for first in range(0, len(given), 2_000):
        points = [
            Point(
                row(number),
                namespace(("user", f"u{number % 4}")).encoded,
                None,
                number % 10 == 0,
                json.dumps({"part": number % 1_000}),
                np.zeros(0, np.uint64),
                np.zeros(0, np.uint8),
                0,
                ("text",),
                given[number : number + 1],
            )
            for number in range(first, min(first + 2_000, len(given)))
        ]
        vectors.write(line, 1, points, [], NOW)
    vectors._dimensions.clear()
    vectors._make_index(line.dimension)


def below(part: int) -> Scope:
    return replace(SCOPE, filter=parse_filter({"part": {"lt": part}}))


SCOPES: dict[str, tuple[Scope, Callable[[int], bool]]] = {
    "everything": (Scope(NOW), lambda n: n % 10 != 0),
    "a quarter": (replace(SCOPE, within=namespace(("user", "u1"))), lambda n: n % 4 == 1 and n % 10 != 0),
    "a third": (below(333), lambda n: n % 1_000 < 333 and n % 10 != 0),
    "a twentieth": (below(50), lambda n: n % 1_000 < 50 and n % 10 != 0),
    "a two-hundredth": (below(5), lambda n: n % 1_000 < 5 and n % 10 != 0),
    "a quarter of a third": (
        replace(below(333), within=namespace(("user", "u3"))),
        lambda n: n % 4 == 3 and n % 1_000 < 333 and n % 10 != 0,
    ),
}


@sized(20_000, FULL)
def test_nearly_all_of_the_nearest_are_found(count: int, opened: OpenVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SMALL", 1_000)
    vectors, chance = opened(), np.random.default_rng(7)
    line = replace(LINE, dimension=384 if count == FULL else 64)
    given = clustered(count, line.dimension, chance)
    fill(vectors, line, given)
    walks = 0
    honest = nearest._walk

    def walk(*rest: object, **named: object) -> object:
        nonlocal walks
        walks += 1
        return honest(*rest, **named)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(nearest, "_walk", walk)
    queries = given[chance.integers(count, size=QUERIES)] + 0.02 * chance.normal(size=(QUERIES, line.dimension))
    for name, (scope, shows) in SCOPES.items():
        shown = np.array([number for number in range(count) if shows(number)])
        found = 0
        for query in (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32):
            best = {row(int(each)) for each in shown[np.argsort(-(given[shown] @ query))[:TOP]]}
            got = [row_id for row_id, _ in vectors.nearest(line, scope, query, TOP)]
            assert all(shows(int.from_bytes(each, "big")) for each in got), f"outside of {name}"
            assert len(set(got)) == TOP
            found += len(best.intersection(got))
        assert found >= 0.98 * TOP * len(queries), f"of {name} only {found}"
        assert walks or len(shown) <= 1_000, f"the index was not asked for {name}"
        walks = 0


def test_a_walk_that_keeps_too_few_in_view_is_noticed(opened: OpenVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that the test above is for: it finds the first, and few of the rest."""
    monkeypatch.setattr(nearest, "_WIDTH", 1)
    monkeypatch.setattr(nearest, "_MOST_WIDTH", 1)
    monkeypatch.setitem(nearest._SETTINGS, "hnsw.iterative_scan", "off")
    monkeypatch.setattr(nearest, "compared", lambda *_: None)
    vectors, chance = opened(), np.random.default_rng(7)
    line = replace(LINE, dimension=16)
    given = clustered(2_000, line.dimension, chance)
    fill(vectors, line, given)
    monkeypatch.setattr(store, "SMALL", -1)
    assert len(vectors.nearest(line, SCOPE, given[1], TOP)) < TOP


@sized(1_500, 30_000)
def test_common_words_are_looked_at_up_to_a_bound(
    count: int, opened: OpenVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is common, the rare word is found, and everything it shares counts."""
    monkeypatch.setattr(store, "SMALL", 100)
    monkeypatch.setattr(lexical, "COUNTED", 300)
    monkeypatch.setattr(lexical, "PER_WORD", 200)
    monkeypatch.setattr(lexical, "IN_ALL", 300)
    vectors, reference = opened(), MemoryVectors()
    points = [point(n, words={1: 1, 2: 1 + n % 3} | ({3: 1} if n % 100 == 99 else {})) for n in range(count)]
    for each in (vectors, reference):
        each.write(LINE, 1, points, [], NOW)
    asked = {1: 0.1, 2: 0.2, 3: 5.0}
    (found, expected) = (each.sharing(LINE, SCOPE, asked, 4.0, 10) for each in (vectors, reference))
    assert [row_id for row_id, _ in found] == [row_id for row_id, _ in expected]
    assert np.allclose([score for _, score in found], [score for _, score in expected])
    assert 200 <= len(vectors.sharing(LINE, SCOPE, asked, 4.0, count)) <= 300
    for _ in range(2):  # the second time, what is large is remembered
        said = vectors.statistics(LINE, SCOPE, [1, 2, 3, 4])
        assert (said.having[3], said.having[4]) == (count // 100, 0)
        assert 300 < said.having[1] <= said.count
        assert said.average == pytest.approx(3.0, abs=0.1)
