"""Gathering: everything that figures are made from, page by page and up to a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.domain.address import Namespace
from recollect.domain.filters import Filter
from recollect.domain.governance.terms import EventType
from recollect.domain.instants import Instant
from recollect.domain.measuring.recalls import Correction, Recall, recall_in
from recollect.domain.measuring.settling import Asked, Opened, Window
from recollect.domain.measuring.violations import personal_in
from recollect.domain.promotion.codes import SignalKind
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.ports.policy import Verdict
from recollect.ports.store import Store
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.proposals import Waiting

MOST_ROWS = 50_000
"""So many rows of a sort are looked at, the newest ones; the answer says whether that was all."""
_PAGE = 500
_CORRECTED = SignalKind.CORRECTION_APPLIED.value


@dataclass(slots=True)
class Gathering:
    """What was found in a tenant, and how much was looked at for it."""

    store: Store
    tenant: str
    window: Window
    recalls: list[Recall] = field(default_factory=list)
    signals: int = 0
    """How many corrections the improvement loop was told of."""
    contradictions: list[Opened] = field(default_factory=list)
    proposals: list[Asked] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    looked_at: dict[str, int] = field(default_factory=dict)
    complete: bool = True

    async def gather(self, within: Namespace, wanted: Filter) -> None:
        """Take in everything at or below a namespace that passes a filter."""
        for row in await self._rows(Plane.TRACE, within, wanted, since=self.window.since):
            if not self.window.has(row.written_at):
                continue
            told = stored_value(row.value or b"{}")
            if row.address.namespace.segments[-1] == "signals":
                self.signals += told.get("kind") == _CORRECTED
            elif (recall := recall_in(told)) is not None:
                self.recalls.append(recall)
        for row in await self._rows(Plane.CONTRADICTION, within, wanted):
            self.contradictions.append(_opened(stored_value(row.value or b"{}")))
        for row in await self._rows(Plane.PROPOSAL, within, wanted):
            waiting = msgspec.json.decode(row.value or b"{}", type=Waiting)
            if waiting.verdict == Verdict.REVIEW.value:
                self.proposals.append(Asked(waiting.at, waiting.status, waiting.decided_at))
        for row in await self._rows(Plane.RECORD, within, wanted):
            self.records.append(read_record(row.value or b"{}"))

    async def _rows(
        self, plane: Plane, within: Namespace, wanted: Filter, *, since: Instant | None = None
    ) -> list[Row]:
        """The newest rows of a plane; `since` ends the search where only older ones can follow."""
        rows: list[Row] = []
        cursor: str | None = None
        while len(rows) < MOST_ROWS:
            size = min(_PAGE, MOST_ROWS - len(rows))
            query = Find(plane, within, wanted, Order.NEWEST, size, cursor=cursor, archived=Archived.INCLUDE)
            page = await self.store.find(self.tenant, query)
            rows += [row for row in page.rows if row.value is not None]
            cursor = page.cursor
            if cursor is None or (since is not None and page.rows[-1].written_at < since):
                cursor = None
                break
        self.looked_at[plane.value] = len(rows)
        self.complete = self.complete and cursor is None
        return rows

    async def violations(self, now: Instant) -> list[tuple[str, tuple[str, ...]]]:
        """The live records that hold personal data without a consent that covers them, with what sorts of it."""
        ledgers: dict[str, Ledger] = {}
        found = []
        for record in self.records:
            if record.ended_at is not None or (record.ends_at is not None and record.ends_at <= now):
                continue
            kinds = personal_in(record)
            if not kinds:
                continue
            rested = record.rested(self.tenant)
            if rested is not None:
                subject = rested.need.subject_ceid
                if subject not in ledgers:
                    ledgers[subject] = await read_ledger(self.store, self.tenant, subject)
                if still_covered(ledgers[subject], rested, now):
                    continue
            found.append((record.id, kinds))
        return sorted(found)

    def corrections(self) -> list[Correction]:
        """The records of the window that put others right."""
        return [
            Correction(each.id, each.promoted_at, each.supersedes)
            for each in self.records
            if each.event_type is EventType.CORRECTION and self.window.has(each.promoted_at)
        ]


def _opened(told: Mapping[str, Any]) -> Opened:
    resolved = told.get("resolved_at")
    by_rule = str(told.get("resolved_by") or "").startswith("rule:")
    return Opened(Instant(told["opened_at"]), None if resolved is None else Instant(resolved), by_rule)


def by_kind(violations: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    """How many of them hold personal data of each sort."""
    counts: dict[str, int] = {}
    for _, kinds in violations:
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))
