"""The contract of the VectorStore port as checks that any vector store can be put through.

Supply a `VectorTrial` of your own; let your test runner call each of `VECTOR_CHECKS` on a fresh one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.backends.memory import MemoryVectors
from recollect.domain.address import namespace
from recollect.domain.errors import VectorsUnavailable
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.reasons import Plane
from recollect.ports.vectors import (
    EXACT_FILTERS,
    REMEMBERED_SECONDS,
    Followed,
    Line,
    Point,
    Scope,
    Statistics,
    VectorStore,
)

NOW = Instant(1_800_000_000_000_000)
LINE = Line("acme", Plane.ITEM, 1, "test-model", 8)
SCOPE = Scope(NOW)


@dataclass(slots=True)
class VectorTrial:
    """A fresh, empty vector store, and what the checks need around it."""

    vectors: VectorStore
    second: Callable[[], VectorStore]
    """Another instance on the same data; the same object when there can be only one."""
    reopen: Callable[[], VectorStore]
    """Close it and open its data anew; the same object when nothing outlives it."""


VectorCheck = Callable[[VectorTrial], None]
VECTOR_CHECKS: dict[str, VectorCheck] = {}
"""By their names, which begin with the clause that they prove."""


def _check(function: VectorCheck) -> VectorCheck:
    VECTOR_CHECKS[function.__name__] = function
    return function


# -- what is written


def unit(*values: float) -> NDArray[np.float32]:
    """A vector of unit length that begins so."""
    vector = np.zeros(LINE.dimension, np.float32)
    vector[: len(values)] = values
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def row(number: int) -> bytes:
    """The id of a version."""
    return number.to_bytes(16, "big")


def point(
    number: int,
    *vectors: NDArray[np.float32],
    place: tuple[str, ...] = ("user", "ann"),
    words: Mapping[int, int] | None = None,
    attributes: Mapping[str, Any] | None = None,
    expires_at: Instant | None = None,
    archived: bool = False,
) -> Point:
    """A version with these vectors and words."""
    times = words or {}
    return Point(
        row(number),
        namespace(place).encoded,
        expires_at,
        archived,
        json.dumps(dict(attributes or {})),
        np.array(list(times), np.uint64),
        np.array(list(times.values()), np.uint8),
        sum(times.values()),
        tuple(f"field{index}" for index in range(len(vectors))),
        np.array(vectors, np.float32).reshape(-1, LINE.dimension),
    )


def _write(
    vectors: VectorStore, *points: Point, number: int = 1, removed: Sequence[int] = (), line: Line = LINE
) -> None:
    vectors.write(line, number, points, [row(each) for each in removed], NOW)


def _near(
    vectors: VectorStore,
    vector: NDArray[np.float32] | None = None,
    scope: Scope = SCOPE,
    limit: int = 10,
    line: Line = LINE,
) -> list[int]:
    asked = unit(1) if vector is None else vector
    return [int.from_bytes(row_id, "big") for row_id, _ in vectors.nearest(line, scope, asked, limit)]


def _wordy(
    vectors: VectorStore, words: Mapping[int, float], scope: Scope = SCOPE, limit: int = 10, line: Line = LINE
) -> list[int]:
    found = vectors.sharing(line, scope, words, 4.0, limit)
    return [int.from_bytes(row_id, "big") for row_id, _ in found]


# -- the checks


@_check
def v1_what_was_written_is_found_at_once_by_every_instance(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(1), words={7: 1}))
    for vectors in (trial.vectors, trial.second()):
        assert _near(vectors) == [1]
        assert _wordy(vectors, {7: 1.0}) == [1]


@_check
def v1_tenants_planes_and_series_never_meet(trial: VectorTrial) -> None:
    others = [replace(LINE, tenant="other"), replace(LINE, plane=Plane.INDEX), replace(LINE, series=2)]
    for number, line in enumerate([LINE, *others], 1):
        _write(trial.vectors, point(number, unit(1), words={7: 1}), line=line)
    for number, line in enumerate([LINE, *others], 1):
        assert _near(trial.vectors, line=line) == [number]
        assert _wordy(trial.vectors, {7: 1.0}, line=line) == [number]
        assert trial.vectors.statistics(line, SCOPE, [7]).having == {7: 1}


@_check
def v1_models_of_other_dimensions_live_side_by_side(trial: VectorTrial) -> None:
    wide = replace(LINE, series=2, model="wide", dimension=12)
    _write(trial.vectors, point(1, unit(1)))
    vector = np.eye(1, 12, dtype=np.float32)
    trial.vectors.write(wide, 1, [replace(point(2), paths=("text",), vectors=vector)], [], NOW)
    assert _near(trial.vectors) == [1]
    assert [row_id for row_id, _ in trial.vectors.nearest(wide, SCOPE, vector[0], 5)] == [row(2)]


@_check
def v1_a_line_without_a_model_is_found_by_words(trial: VectorTrial) -> None:
    plain = replace(LINE, series=3, model="none", dimension=0)
    words = replace(point(1, words={7: 1}), vectors=np.zeros((0, 0), np.float32))
    trial.vectors.write(plain, 1, [words], [], NOW)
    assert _wordy(trial.vectors, {7: 1.0}, line=plain) == [1]


@_check
def v2_a_later_write_replaces_all_of_an_earlier_one(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(0, 1), unit(1), words={7: 1, 8: 1}))
    _write(trial.vectors, point(1, unit(0, 0, 1), words={9: 1}, attributes={"a": 1}), number=2)
    ((_, score),) = trial.vectors.nearest(LINE, SCOPE, unit(1), 5)
    assert abs(score) < 1e-3, "the old vectors are still there"
    assert _wordy(trial.vectors, {7: 1.0}) == []
    assert _wordy(trial.vectors, {9: 1.0}) == [1]
    assert _near(trial.vectors, scope=replace(SCOPE, filter=parse_filter({"a": 1}))) == [1]


@_check
def v2_a_late_write_does_not_undo_a_newer_one(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(1), words={7: 1}), number=5)
    _write(trial.vectors, point(1, unit(0, 1), words={8: 1}), number=4)
    ((_, score),) = trial.vectors.nearest(LINE, SCOPE, unit(1), 5)
    assert score > 0.99
    assert (_wordy(trial.vectors, {7: 1.0}), _wordy(trial.vectors, {8: 1.0})) == ([1], [])


@_check
def v2_what_was_removed_does_not_come_back(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(1), words={7: 1}), number=3)
    _write(trial.vectors, removed=[1, 2], number=5)
    for late in (3, 4, 5):
        _write(trial.vectors, point(1, unit(1), words={7: 1}), point(2, unit(1), words={7: 1}), number=late)
    assert _near(trial.vectors) == []
    assert _wordy(trial.vectors, {7: 1.0}) == []
    assert trial.vectors.statistics(LINE, SCOPE, [7]).count == 0


@_check
def v3_what_was_removed_is_found_no_more(trial: VectorTrial) -> None:
    _write(trial.vectors, *(point(each, unit(1), words={7: 1}) for each in (1, 2, 3)))
    _write(trial.vectors, removed=[2], number=2)
    assert sorted(_near(trial.vectors)) == [1, 3]
    assert sorted(_wordy(trial.vectors, {7: 1.0})) == [1, 3]


@_check
def v3_a_late_removal_leaves_what_is_newer(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(1)), number=5)
    _write(trial.vectors, removed=[1], number=4)
    assert _near(trial.vectors) == [1]


@_check
def v4_the_nearest_come_first_each_once_with_its_cosine(trial: VectorTrial) -> None:
    _write(
        trial.vectors,
        point(1, unit(1, 1)),
        point(2, unit(0, 1), unit(1, 0.1), unit(1, 0.2)),
        point(3, unit(-1)),
        point(4, unit(0, 0, 1)),
        point(5, words={7: 1}),
    )
    found = trial.vectors.nearest(LINE, SCOPE, unit(1), 10)
    assert [row_id for row_id, _ in found] == [row(each) for each in (2, 1, 4, 3)]
    expected = [1 / np.sqrt(1.01), 1 / np.sqrt(2), 0, -1]
    assert np.allclose([score for _, score in found], expected, atol=2e-3)
    assert _near(trial.vectors, limit=2) == [2, 1]


@_check
def v4_none_is_missed_in_a_small_scope(trial: VectorTrial) -> None:
    chance, reference = np.random.default_rng(1), MemoryVectors()
    raw = chance.normal(size=(400, LINE.dimension)).astype(np.float32)
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    points = [point(each, raw[each], place=("user", f"u{each % 4}")) for each in range(400)]
    for vectors in (trial.vectors, reference):
        _write(vectors, *points)
    for _ in range(10):
        asked = chance.normal(size=LINE.dimension).astype(np.float32)
        asked /= np.linalg.norm(asked)
        scope = replace(SCOPE, within=namespace(("user", f"u{chance.integers(4)}")))
        assert _near(trial.vectors, asked, scope) == _near(reference, asked, scope)


_SHOWN = [
    ({"topic": "python"}, [1]),
    ({"topic": {"in": ["python", "go"]}}, [1, 2]),
    ({"topic": {"$ne": "python"}}, [2, 3]),
    ({"topic": {"$exists": False}}, [4]),
    ({"score": {"gte": 0.5, "lt": 2}}, [1, 2]),
    ({"score": 1}, [2]),
    ({"score": "1"}, [3]),
    ({"tags": "a"}, [1]),
    ({"tags": {"$ne": "a"}}, [2]),
    ({"on": True}, [3]),
    ({"when": {"gte": "2026-01-01T00:00:00Z"}}, [2]),
    ({"sure": {"$exists": True}}, []),
    ({"topic": "python", "score": {"gt": 0.6}}, []),
]


@_check
def v5_filters_mean_what_they_always_mean(trial: VectorTrial) -> None:
    points = [
        point(1, unit(1), attributes={"topic": "python", "score": 0.5, "tags": ["a", "b"]}, words={7: 1}),
        point(2, unit(1), attributes={"topic": "go", "score": 1.0, "tags": ["c"]}, words={7: 1}),
        point(3, unit(1), attributes={"topic": "c", "score": "1", "on": True, "sure": None}, words={7: 1}),
        point(4, unit(1), attributes={"on": 1}, words={7: 1}),
    ]
    points[1] = replace(
        points[1], policy_attributes='{"topic":"go","score":1.0,"tags":["c"],"when":"2026-05-01T00:00:00Z"}'
    )
    _write(trial.vectors, *points)
    exact = EXACT_FILTERS in trial.vectors.capabilities
    for written, expected in _SHOWN:
        scope = replace(SCOPE, filter=parse_filter(written))
        for found in (_near(trial.vectors, scope=scope), _wordy(trial.vectors, {7: 1.0}, scope)):
            assert set(expected) <= set(found), written
            assert not exact or sorted(found) == expected, written
        count = trial.vectors.statistics(LINE, scope, []).count
        assert count == len(expected) or (not exact and count > len(expected)), written


@_check
def v5_a_scope_is_whole_segments(trial: VectorTrial) -> None:
    places = [
        ("user", "al"),
        ("user", "alice"),
        ("user", "alice", "notes"),
        ("USER", "alice"),
        ("user", "alice%"),
        ("é",),
    ]
    _write(trial.vectors, *(point(n, unit(1), place=each, words={7: 1}) for n, each in enumerate(places, 1)))
    for within, expected in (
        (("user", "alice"), [2, 3]),
        (("user", "al"), [1]),
        (("user",), [1, 2, 3, 5]),
        (("é",), [6]),
        (("user", "alice", "notes", "deep"), []),
        ((), [1, 2, 3, 4, 5, 6]),
    ):
        scope = replace(SCOPE, within=namespace(within)) if within else SCOPE
        assert sorted(_near(trial.vectors, scope=scope)) == expected, within
        assert sorted(_wordy(trial.vectors, {7: 1.0}, scope)) == expected, within
        assert trial.vectors.statistics(LINE, scope, [7]).having == {7: len(expected)}, within


@_check
def v5_long_namespaces_are_told_apart(trial: VectorTrial) -> None:
    deep = tuple("n" * 200 for _ in range(7))
    _write(trial.vectors, point(1, unit(1), place=(*deep, "a")), point(2, unit(1), place=(*deep, "b")))
    assert _near(trial.vectors, scope=replace(SCOPE, within=namespace((*deep, "a")))) == [1]
    assert sorted(_near(trial.vectors, scope=replace(SCOPE, within=namespace(deep)))) == [1, 2]


@_check
def v5_nothing_expired_and_archived_as_asked(trial: VectorTrial) -> None:
    soon, later = Instant(NOW + 1), Instant(NOW + 2)
    _write(
        trial.vectors,
        point(1, unit(1), words={7: 1}, expires_at=soon),
        point(2, unit(1), words={7: 1}, expires_at=later),
        point(3, unit(1), words={7: 1}, archived=True),
    )
    for scope, expected in (
        (SCOPE, [1, 2]),
        (Scope(soon), [2]),
        (Scope(later), []),
        (Scope(NOW, archived=Archived.INCLUDE), [1, 2, 3]),
        (Scope(NOW, archived=Archived.ONLY), [3]),
    ):
        assert sorted(_near(trial.vectors, scope=scope)) == expected
        assert sorted(_wordy(trial.vectors, {7: 1.0}, scope)) == expected
        assert trial.vectors.statistics(LINE, scope, [7]) == Statistics(len(expected), 1.0, {7: len(expected)}), (
            "nothing that may not be shown is counted"
        )


@_check
def v6_what_shares_more_and_rarer_words_comes_first(trial: VectorTrial) -> None:
    large = 2**64 - 5
    _write(
        trial.vectors,
        point(1, words={large: 1, 8: 1, 9: 2}),
        point(2, words={large: 3, 10: 1}),
        point(3, words={8: 1, 11: 3}),
        point(4, words={large: 1, 12: 40}),
        point(5, words={13: 4}),
    )
    found = trial.vectors.sharing(LINE, SCOPE, {large: 2.0, 8: 1.0}, 4.0, 10)
    assert [row_id for row_id, _ in found] == [row(each) for each in (1, 2, 3, 4)]
    assert all(score > 0 for _, score in found)
    assert _wordy(trial.vectors, {large: 2.0, 8: 1.0}, limit=1) == [1]
    assert _wordy(trial.vectors, {99: 1.0}) == []
    assert _wordy(trial.vectors, {}) == []


@_check
def v7_statistics_count_exactly_what_may_be_shown(trial: VectorTrial) -> None:
    large = 2**64 - 5
    _write(
        trial.vectors,
        point(1, words={7: 2, 8: 2}, place=("a",)),
        point(2, words={7: 1, large: 1}, place=("a",)),
        point(3, words={7: 30}, place=("b",)),
    )
    found = trial.vectors.statistics(LINE, replace(SCOPE, within=namespace(("a",))), [7, 8, 10, large])
    assert (found.count, found.having) == (2, {7: 2, 8: 1, 10: 0, large: 1})
    assert found.average == 3.0
    assert trial.vectors.statistics(LINE, replace(SCOPE, within=namespace(("c",))), [7]) == Statistics(0, 1.0, {7: 0})


@_check
def v8_how_far_it_was_followed_is_kept_and_never_goes_back(trial: VectorTrial) -> None:
    vectors = trial.vectors
    assert vectors.followed(LINE) is None
    _write(vectors, point(1, unit(1)))
    vectors.follow(LINE, Followed(7, NOW))
    vectors.follow(replace(LINE, series=2), Followed(9, NOW))
    vectors.follow(LINE, Followed(6, NOW))
    assert trial.second().followed(LINE) == Followed(7, NOW)
    assert (vectors.highest(LINE), vectors.highest(replace(LINE, series=2))) == (1, 0)
    _write(vectors, point(2, unit(1)), number=2**40)
    _write(vectors, removed=[3], number=2**40 + 1)
    assert trial.second().highest(LINE) == 2**40 + 1
    later = Instant(NOW + 5)
    vectors.follow(LINE, Followed(7, later))
    again = trial.reopen()
    assert again.followed(LINE) == Followed(7, later)
    assert again.followed(replace(LINE, series=2)) == Followed(9, NOW)
    assert sorted(_near(again)) == [1, 2]


@_check
def v9_forgetting_a_line_leaves_nothing_of_it_and_all_of_others(trial: VectorTrial) -> None:
    vectors, other = trial.vectors, replace(LINE, series=2)
    elsewhere = replace(LINE, tenant="other")
    for line in (LINE, other, elsewhere):
        _write(vectors, point(1, unit(1), words={7: 1}), line=line)
        vectors.follow(line, Followed(3, NOW))
    assert sorted(line.series for line in vectors.lines("acme")) == [1, 2]
    assert vectors.lines("other") == [elsewhere]
    assert vectors.lines("nobody") == []
    vectors.forget(LINE)
    assert (vectors.followed(LINE), _near(vectors), _wordy(vectors, {7: 1.0})) == (None, [], [])
    assert vectors.lines("acme") == [other]
    assert _near(vectors, line=other) == _near(vectors, line=elsewhere) == [1]
    _write(vectors, point(1, unit(1)))
    assert _near(vectors) == [1], "it can begin anew with any number"


@_check
def v10_threads_may_write_and_search_at_once(trial: VectorTrial) -> None:
    def work(number: int) -> None:
        chance = random.Random(number)
        for turn in range(10):
            _write(trial.vectors, point(100 * number + turn, unit(1, chance.random()), words={7: 1}))
            assert _near(trial.vectors, limit=1_000)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(_near(trial.vectors, limit=1_000)) == 40


@_check
def v11_a_closed_one_refuses(trial: VectorTrial) -> None:
    trial.vectors.close()
    trial.vectors.close()
    calls: Iterable[Callable[[], object]] = (
        lambda: _write(trial.vectors, point(1, unit(1))),
        lambda: _near(trial.vectors),
        lambda: _wordy(trial.vectors, {7: 1.0}),
        lambda: trial.vectors.statistics(LINE, SCOPE, []),
        lambda: trial.vectors.followed(LINE),
        lambda: trial.vectors.highest(LINE),
        lambda: trial.vectors.follow(LINE, Followed(1, NOW)),
        lambda: trial.vectors.lines("acme"),
        lambda: trial.vectors.forget(LINE),
        lambda: trial.vectors.tidy(NOW),
    )
    for call in calls:
        try:
            call()
        except VectorsUnavailable:
            continue
        raise AssertionError("a closed vector store answered")


@_check
def v12_removals_are_remembered_for_a_while(trial: VectorTrial) -> None:
    _write(trial.vectors, point(1, unit(1)), number=3)
    _write(trial.vectors, removed=[1], number=5)
    trial.vectors.tidy(Instant(NOW - 1))
    _write(trial.vectors, point(1, unit(1)), number=4)
    assert _near(trial.vectors) == []
    trial.vectors.tidy(Instant(NOW + int(REMEMBERED_SECONDS * 1e6)))
    assert trial.vectors.statistics(LINE, SCOPE, []).count == 0
    _write(trial.vectors, point(1, unit(1)), number=4)
    assert _near(trial.vectors) == [1], "what is forgotten cannot be held against anybody"
