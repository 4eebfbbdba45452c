"""The checks are checked: each fault that could be made in the Qdrant backend is caught by some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.backends.qdrant import QdrantOptions, QdrantVectors, conditions, points, vectors
from recollect.backends.qdrant.conditions import Between, Is, Where
from recollect.backends.qdrant.points import Stored
from recollect.domain.instants import Instant
from recollect.ports.vectors import Followed, Line, Point, Scope
from recollect.testing.contract.vectors import VECTOR_CHECKS, VectorTrial

Planting = Callable[[pytest.MonkeyPatch], None]


def _no_number_check(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(vectors, "order_of", lambda _: 1 << 52)


def _removals_count_as_written_with_their_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(points, "order_of", lambda number, **_: 2 * number)


def _removed_is_visible(patch: pytest.MonkeyPatch) -> None:
    def removed(line: Line, number: int, row_id: bytes, now: Instant) -> Stored:
        made = points.removed_point(line, number, row_id, now)
        shown = {"id": row_id.hex(), "expires": conditions.NEVER, "archived": 0, "length": 1}
        return replace(made, payload={**made.payload, **shown})

    patch.setattr(vectors, "removed_point", removed)


def _pieces_of_before_are_left(patch: pytest.MonkeyPatch) -> None:
    """A point for each piece, of which only as many are replaced as there are now."""
    kept: dict[str, list[list[float]]] = {}

    def version(line: Line, number: int, point: Point) -> Stored:
        made = points.version_point(line, number, point)
        known = kept.setdefault(made.id, [])
        kept[made.id] = made.meaning + known[len(made.meaning) :]
        return replace(made, meaning=kept[made.id])

    patch.setattr(vectors, "version_point", version)


def _no_tenant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conditions, "of_line", lambda line: Where((Is("line", (conditions.line_key(line),)),)))


def _scope_by_text(patch: pytest.MonkeyPatch) -> None:
    def beginnings(encoded: str) -> list[str]:
        return [encoded[:length] for length in range(1, len(encoded) + 1)]

    patch.setattr(points, "ancestors", beginnings)


def _expiry_in_milliseconds(patch: pytest.MonkeyPatch) -> None:
    def scoped(line: Line, scope: Scope) -> Where:
        return conditions.of_scope(line, replace(scope, now=Instant(round(scope.now / 1e3) * 1_000)))

    patch.setattr(vectors, "of_scope", scoped)


def _words_of_32_bits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(points, "signed", lambda words: [word & 0xFFFF_FFFF for word in words])


def _types_convert(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conditions, "_fact", lambda name, value: f"{name}={float(value) if _is_number(value) else value}")


def _is_number(value: object) -> bool:
    try:
        float(str(int(value) if isinstance(value, bool) else value))
    except ValueError:
        return False
    return True


def _archived_forgotten(patch: pytest.MonkeyPatch) -> None:
    def scoped(line: Line, scope: Scope) -> Where:
        where = conditions.of_scope(line, scope)
        return replace(where, must=tuple(each for each in where.must if getattr(each, "key", "") != "archived"))

    patch.setattr(vectors, "of_scope", scoped)


def _mark_goes_back(patch: pytest.MonkeyPatch) -> None:
    def follow(self: QdrantVectors, line: Line, followed: Followed) -> None:
        collection = self._make(line)
        self._driver.upsert(collection, [points.mark_point(line, followed)], Where((Between("upto", gte=0),)))

    patch.setattr(QdrantVectors, "follow", follow)


def _forgets_only_versions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(vectors, "of_line", lambda line: Where((*conditions.of_line(line).must, Between("expires", gt=0))))
    patch.setattr(vectors, "mark_id", lambda line: points.mark_id(replace(line, series=line.series + 100)))


PLANTED: dict[Planting, str] = {
    _no_number_check: "v2_a_late_write_does_not_undo_a_newer_one",
    _removals_count_as_written_with_their_number: "v2_what_was_removed_does_not_come_back",
    _removed_is_visible: "v2_what_was_removed_does_not_come_back",
    _pieces_of_before_are_left: "v2_a_later_write_replaces_all_of_an_earlier_one",
    _no_tenant: "v1_tenants_planes_and_series_never_meet",
    _scope_by_text: "v5_a_scope_is_whole_segments",
    _expiry_in_milliseconds: "v5_nothing_expired_and_archived_as_asked",
    _words_of_32_bits: "v7_statistics_count_exactly_what_may_be_shown",
    _types_convert: "v5_filters_mean_what_they_always_mean",
    _archived_forgotten: "v5_nothing_expired_and_archived_as_asked",
    _mark_goes_back: "v8_how_far_it_was_followed_is_kept_and_never_goes_back",
    _forgets_only_versions: "v9_forgetting_a_line_leaves_nothing_of_it_and_all_of_others",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_a_planted_fault_is_caught(plant: Planting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plant(monkeypatch)
    store = QdrantVectors(QdrantOptions(path=tmp_path))
    trial = VectorTrial(store, lambda: store, lambda: store)
    try:
        with pytest.raises(AssertionError):
            VECTOR_CHECKS[PLANTED[plant]](trial)
    finally:
        store.close()
