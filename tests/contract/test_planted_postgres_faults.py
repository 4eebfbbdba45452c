"""Faults planted in the PostgreSQL store: the checks of the clause that each of them breaks must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_planted_faults import (
    first_alone,
    happening_now,
    vouched_for,
    without_deletes,
)
from tests.engines.postgres import needs_postgres

from recollect.backends.postgres import (
    commits,
    conditions,
    entries,
    erasing,
    log,
    places,
    reads,
    schema,
    store,
    upkeep,
    writing,
)
from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound
from recollect.backends.postgres.writer import Group
from recollect.domain.address import Namespace
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import RecollectError
from recollect.domain.filters import EVERYTHING
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived, EventQuery, NamespaceQuery
from recollect.ports.store import Mark
from recollect.testing.contract import CHECKS, MakeTrial, failures
from recollect.testing.drivers import fresh_folders
from recollect.testing.postgres import postgres_trial


def plant_like_prefix(patch: pytest.MonkeyPatch) -> None:
    def like(within: Namespace, bound: Bound, table: str = "") -> str:
        return f"{table}namespace LIKE {bound.add(within.encoded + '%')}"

    patch.setattr(reads, "within_sql", like)


def plant_folded_case(patch: pytest.MonkeyPatch) -> None:
    honest = places.within_sql

    def folded(within: Namespace, bound: Bound, table: str = "") -> str:
        if not within.segments:
            return honest(within, bound, table)
        column, low = f"{table}namespace", bound.add(within.encoded)
        return f"({column} ILIKE {low} OR {column} ILIKE {low} || chr(30) || '%')"

    patch.setattr(reads, "within_sql", folded)


def plant_commit_on_error(patch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit

    def careless(group: Group, commit: Commit, **rest: Any) -> Receipt:
        try:
            return honest(group, commit, **rest)
        except RecollectError:
            if len(commit.operations) > 1:
                first = first_alone(commit)
                honest(group, first, **rest)
            raise

    patch.setattr(commits, "apply_commit", careless)


def plant_lost_event(patch: pytest.MonkeyPatch) -> None:
    honest = commits.write_plan
    patch.setattr(commits, "write_plan", lambda group, plan: honest(group, without_deletes(plan)))


def plant_missing_unique_index(patch: pytest.MonkeyPatch) -> None:
    unique = "CREATE UNIQUE INDEX versions_live"
    assert unique in schema.STEPS[0].pre
    loose = tuple(replace(step, pre=step.pre.replace(unique, "CREATE INDEX versions_live")) for step in schema.STEPS)
    patch.setattr(store, "migrate", lambda link, name: schema.migrate(link, name, loose))


def plant_unconditional_mark(patch: pytest.MonkeyPatch) -> None:
    def mark(group: Group, marks: Sequence[Mark]) -> int:
        sql = "UPDATE versions SET index_state = 'done' WHERE tenant = $1 AND id = $2 RETURNING 1"
        return sum(len(group.link.rows(sql, group.tenant, each.id)) for each in marks)

    patch.setattr(upkeep, "mark_indexed", mark)


def plant_mark_of_any_attributes(patch: pytest.MonkeyPatch) -> None:
    condition = "pinned_sequence IS NOT DISTINCT FROM $3::bigint"
    assert condition in upkeep._MARK
    patch.setattr(upkeep, "_MARK", upkeep._MARK.replace(condition, "($3::bigint IS NULL OR true)"))


def plant_cursor_by_time(patch: pytest.MonkeyPatch) -> None:
    honest = log._events_sql

    def by_time(tenant: str, query: EventQuery, after: int) -> tuple[str, Bound]:
        sql, bound = honest(tenant, query, after)
        if after:
            beyond = "(e.at, e.row_id) > (SELECT at, row_id FROM events WHERE tenant = $1 AND sequence = $2)"
            sql = sql.replace("e.sequence > $2", beyond)
        return sql.replace("ORDER BY e.sequence", "ORDER BY e.at, e.row_id"), bound

    sql, _ = honest("t", EventQuery(), 0)
    assert "ORDER BY e.sequence" in sql
    assert "e.sequence > $2" in sql
    patch.setattr(log, "_events_sql", by_time)


def plant_archived_shown(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reads, "_SHOWN", dict.fromkeys(Archived, ""))


def plant_unfiltered_namespaces(patch: pytest.MonkeyPatch) -> None:
    honest = reads.namespaces

    def listed(link: Link, tenant: str, query: NamespaceQuery, now: Instant) -> Sequence[tuple[str, ...]]:
        return honest(link, tenant, replace(query, filter=EVERYTHING), now)

    patch.setattr(reads, "namespaces", listed)


def plant_moments_not_looked_at_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reads, "is_exact", lambda _: True)


def plant_decimal_numbers(patch: pytest.MonkeyPatch) -> None:
    honest = conditions._number_test

    def decimal(*given: Any) -> str:
        return honest(*given).replace("v::text ~ '[.eE]'", "false")

    patch.setattr(conditions, "_number_test", decimal)
    patch.setattr(conditions, "_EXACT", 0)


def plant_lost_moment(patch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit
    patch.setattr(
        commits,
        "apply_commit",
        lambda group, commit, **rest: honest(group, happening_now(commit), **rest),
    )


def plant_altered_pinned_anew(patch: pytest.MonkeyPatch) -> None:
    honest = commits.pinned
    patch.setattr(commits, "pinned", lambda link, row_id: vouched_for(honest(link, row_id)))


def plant_index_not_told(patch: pytest.MonkeyPatch) -> None:
    told = "index_state = given.index_state"
    assert told in writing._LABEL
    patch.setattr(writing, "_LABEL", writing._LABEL.replace(told, "index_state = v.index_state"))


def plant_own_stamps_only(patch: pytest.MonkeyPatch) -> None:
    """What a store that counts its own commits would say: others' are not among them."""
    honest = store.PostgresStore._committed

    def counted(self: Any) -> None:
        self.counted = getattr(self, "counted", 0) + 1
        honest(self)

    patch.setattr(store.PostgresStore, "_committed", counted)
    patch.setattr(store.PostgresStore, "stamp", lambda self: getattr(self, "counted", 0))


def plant_kept(patch: pytest.MonkeyPatch) -> None:
    assert "AND ended_at IS NULL" in entries._LIVE
    patch.setattr(entries, "_LIVE", entries._LIVE.replace("AND ended_at IS NULL", ""))


def plant_untold(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entries, "_CHANGED", entries._CHANGED.replace("ORDER BY", "AND e.content IS NOT NULL ORDER BY"))


def plant_put_off(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "_END", writing._END.replace("index_after = NULL", "index_after = v.index_after"))


def plant_all_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entries, "_SERIES", entries._SERIES.replace("series = $2", "(series = $2 OR true)"))


def plant_entries_outlive_erasing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(erasing, "_drop_entries", lambda *_: None)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "prefix by LIKE": (plant_like_prefix, "S14"),
    "case folding": (plant_folded_case, "S14"),
    "commit on error": (plant_commit_on_error, "S1"),
    "lost event": (plant_lost_event, "S25"),
    "missing unique index": (plant_missing_unique_index, "S2"),
    "unconditional index mark": (plant_unconditional_mark, "S37"),
    "mark of older attributes": (plant_mark_of_any_attributes, "S37"),
    "event cursor by time": (plant_cursor_by_time, "S26"),
    "archived rows found": (plant_archived_shown, "S45"),
    "namespaces unfiltered": (plant_unfiltered_namespaces, "S22"),
    "moments not looked at again": (plant_moments_not_looked_at_again, "S15"),
    "floats taken for decimal numbers": (plant_decimal_numbers, "S15"),
    "lost moment of an import": (plant_lost_moment, "S46"),
    "altered version pinned anew": (plant_altered_pinned_anew, "S50"),
    "index not told of attributes": (plant_index_not_told, "S49"),
    "stamp that misses changes": (plant_own_stamps_only, "S47"),
    "kept whatever happened": (plant_kept, "S52"),
    "entries outlive erasing": (plant_entries_outlive_erasing, "S52"),
    "drops untold": (plant_untold, "S54"),
    "put off for ever": (plant_put_off, "S55"),
    "all series dropped": (plant_all_dropped, "S57"),
}


def in_postgres(folder: Path) -> MakeTrial:
    needs_postgres()
    fresh = fresh_folders(folder)
    return lambda: postgres_trial(fresh(), encrypted=False)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_planted_in_postgres_is_caught(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, number = FAULTS[fault]
    plant(monkeypatch)
    assert await failures(in_postgres(tmp_path), [check for check in CHECKS if number in check.clauses])
