"""Differences between SQLite and the reference, planted so that random programs must find them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recollect.backends.sqlite import commits, reads, upkeep
from recollect.domain.queries import Archived
from recollect.domain.reasons import EventKind
from recollect.ports.store import Mark


def loose_scope(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reads, "subtree_range", lambda within: (within.encoded, within.encoded + "\x7f"))


def late_expiry(patch: pytest.MonkeyPatch) -> None:
    assert "expires_at > ?" in reads._GET
    patch.setattr(reads, "_GET", reads._GET.replace("expires_at > ?", "expires_at >= ?"))


def lost_deletion(patch: pytest.MonkeyPatch) -> None:
    honest = commits.write_plan

    def write(group: Any, tenant: str, plan: Any) -> None:
        kept = [event for event in plan.events if event.kind is not EventKind.DELETE]
        honest(group, tenant, replace(plan, events=kept))

    patch.setattr(commits, "write_plan", write)


def lost_labels(patch: pytest.MonkeyPatch) -> None:
    honest = commits.write_plan
    patch.setattr(commits, "write_plan", lambda group, tenant, plan: honest(group, tenant, replace(plan, labels=[])))


def emptied_but_pinned(patch: pytest.MonkeyPatch) -> None:
    assert "pinned_sequence = NULL" in upkeep._EMPTY_IT
    patch.setattr(upkeep, "_EMPTY_IT", upkeep._EMPTY_IT.replace(",\n    pinned_sequence = NULL", ""))


def forgotten_archive(patch: pytest.MonkeyPatch) -> None:
    assert reads._SHOWN[Archived.ONLY]
    patch.setattr(reads, "_SHOWN", {**reads._SHOWN, Archived.ONLY: ""})


def unconditional_mark(patch: pytest.MonkeyPatch) -> None:
    def mark(group: Any, tenant: str, marks: list[Mark]) -> int:
        sql = "UPDATE versions SET index_state = 'done' WHERE tenant = ? AND id = ?"
        for each in marks:
            group.db.execute(sql, (tenant, each.id))
        return len(marks)

    patch.setattr(upkeep, "mark_indexed", mark)


ALL = [
    loose_scope,
    late_expiry,
    lost_deletion,
    lost_labels,
    emptied_but_pinned,
    forgotten_archive,
    unconditional_mark,
]
