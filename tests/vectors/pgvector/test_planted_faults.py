"""Faults planted in the vectors of PostgreSQL: some check of the clause that each of them breaks must notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.engines.postgres import needs_postgres

from recollect.backends.postgres.places import Bound
from recollect.backends.postgres.vectors import lexical, nearest, scopes, store, writing
from recollect.backends.postgres.vectors.links import Integers, signed
from recollect.domain.address import Namespace
from recollect.domain.filters import EVERYTHING
from recollect.domain.queries import Archived
from recollect.testing.contract.vectors import VECTOR_CHECKS
from recollect.testing.postgres import postgres_vectors_trial


def replaced(patch: pytest.MonkeyPatch, module: Any, name: str, old: str, new: str) -> None:
    text = getattr(module, name)
    assert old in text
    patch.setattr(module, name, text.replace(old, new))


def plant_like_prefix(patch: pytest.MonkeyPatch) -> None:
    def like(within: Namespace, bound: Bound) -> str:
        return f"namespace LIKE {bound.add(within.encoded + '%')}"

    patch.setattr(scopes, "within_sql", like)


def plant_any_number(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, writing, "_KEEP", "known.number < excluded.number OR", "true OR")


def plant_return_of_the_removed(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, writing, "_KEEP", " AND known.removed_at IS NULL", "")


def plant_words_outlive_removal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scopes, "words_sql", scopes.vectors_sql)
    patch.setattr(lexical, "words_sql", scopes.vectors_sql)
    replaced(patch, writing, "_KEEP", ", words = excluded.words, counts = excluded.counts", "")


def plant_vectors_outlive_replacement(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, writing, "_DROP_VECTORS", "memory_id = ANY", "piece < 0 AND memory_id = ANY")
    replaced(
        patch, writing, "_KEEP_VECTORS", "SELECT $1, memory_id, piece,", "SELECT $1, memory_id, piece + 10 * number,"
    )


def plant_unfiltered_sharing(patch: pytest.MonkeyPatch) -> None:
    honest = store.PostgresVectors.sharing

    def sharing(self: Any, line: Any, scope: Any, *rest: Any) -> Any:
        return honest(self, line, replace(scope, filter=EVERYTHING), *rest)

    patch.setattr(store.PostgresVectors, "sharing", sharing)


def plant_tenants_meet(patch: pytest.MonkeyPatch) -> None:
    loose = writing._OF.replace("tenant = $1", "$1::text IS NOT NULL")
    replaced(patch, writing, "_LINE", writing._OF, f"{loose} ORDER BY line LIMIT 1")


def plant_series_meet(patch: pytest.MonkeyPatch) -> None:
    loose = writing._OF.replace("series = $3", "$3::bigint IS NOT NULL")
    replaced(patch, writing, "_LINE", writing._OF, f"{loose} ORDER BY line LIMIT 1")


def plant_several_times(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(store, "SMALL", -1)
    patch.setattr(nearest, "each_once", lambda found: sorted(found, key=lambda pair: -pair[1]))


def plant_archived_shown(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scopes, "_SHOWN", dict.fromkeys(Archived, ""))


def plant_signs_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lexical, "signed", lambda words: Integers(abs(signed(words).values)))


def plant_going_back(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, writing, "_FOLLOW", "upto <= $2", "true")


def plant_removals_never_forgotten(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, writing, "_OLD", "removed_at < $1", "removed_at < $1 - 8000000000")


def plant_moments_not_noted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "moments_in", lambda _: None)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "prefix by LIKE": (plant_like_prefix, "v5"),
    "numbers not looked at": (plant_any_number, "v2"),
    "the removed come back": (plant_return_of_the_removed, "v2"),
    "words outlive removal": (plant_words_outlive_removal, "v3"),
    "vectors outlive replacement": (plant_vectors_outlive_replacement, "v2"),
    "sharing unfiltered": (plant_unfiltered_sharing, "v5"),
    "tenants meet": (plant_tenants_meet, "v1"),
    "series meet": (plant_series_meet, "v1"),
    "versions found several times": (plant_several_times, "v4"),
    "archived shown": (plant_archived_shown, "v5"),
    "signs of words lost": (plant_signs_lost, "v6"),
    "following goes back": (plant_going_back, "v8"),
    "removals never forgotten": (plant_removals_never_forgotten, "v12"),
    "moments not noted": (plant_moments_not_noted, "v5"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_planted_in_pgvector_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_postgres()
    plant, clause = FAULTS[fault]
    plant(monkeypatch)
    caught = []
    for name, check in VECTOR_CHECKS.items():
        if name.split("_")[0] == clause:
            with postgres_vectors_trial() as trial:
                try:
                    check(trial)
                except AssertionError:
                    caught.append(name)
    assert caught
