"""Measures: how well memory serves, of one's own or of the tenant, and how often what was fetched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from recollect.domain.address import DEPTH_CEILING, ROOT, Address, Namespace, checked_key, scope
from recollect.domain.address import namespace as namespace_of
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidQuery, NotFound
from recollect.domain.filters import Filter
from recollect.domain.governance.terms import EventType
from recollect.domain.instants import Instant
from recollect.domain.measuring.recalls import (
    Correction,
    Recall,
    adoption,
    hit_rate,
    named_in,
    precision,
    read_labels,
    recall_in,
    token_cost,
)
from recollect.domain.measuring.settling import Asked, Opened, Window, contradictions, throughput
from recollect.domain.measuring.violations import personal_in
from recollect.domain.promotion import shapes
from recollect.domain.promotion.codes import SignalKind
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.queries import Archived, Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.ports.policy import Verdict
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.proposals import Waiting
from recollect.service.reading import read_optional_moment

DAYS = 30
"""So many days are looked at unless others are asked for."""
MOST_ROWS = 50_000
"""So many rows of a sort are looked at, the newest ones; the answer says whether that was all."""
MOST_IDS = 1_000
"""The ids of so many records are told that hold what they should not."""
SORTS = ("fetch_count", "last_fetched_at")
_PAGE = 500
_CORRECTED = SignalKind.CORRECTION_APPLIED.value


@dataclass(slots=True)
class _Looked:
    """What was looked at so far, and whether that was all there is."""

    counts: dict[str, int] = field(default_factory=dict)
    complete: bool = True


class Measuring(Person):
    """Figures, in the name of one caller."""

    recall: Callable[..., Awaitable[dict[str, Any]]]
    """The way out, whose answers are judged."""

    async def memory_metrics(self, *, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
        """How well memory serves: hits, cost, violations, contradictions, corrections, and the review queue.

        Of the caller's own memory, or, for administrators, of the tenant; of the last 30 days unless others are asked
        for. `looked_at` says how many rows the figures are made from, and `complete` whether those are all.
        """
        self._check_own_name()
        window = self._window(since, until)
        wide = self._caller.is_admin
        place = ROOT if wide else Places(self._owner).own()
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(place.segments, None)
        looked = _Looked()
        found = (
            _Found()
            if view is None
            else await self._found(scope(view.prefix, DEPTH_CEILING), view.filter, window, looked)
        )
        violations = await self._violations(found.records)
        ids = {"record_ids": [each[0] for each in violations[:MOST_IDS]]} if wide else {}
        return {
            "scope": "tenant" if wide else "user",
            "since": shapes.written(window.since),
            "until": shapes.written(window.until),
            "recall": hit_rate(found.recalls),
            "tokens": token_cost(found.recalls),
            "pii": {"violations": len(violations), "target": 0, "by_kind": _by_kind(violations)} | ids,
            "contradictions": contradictions(found.contradictions, window),
            "corrections": adoption(_corrections(found.records, window), found.recalls, found.signals),
            "reviews": throughput(found.proposals, window),
            "looked_at": looked.counts,
            "complete": looked.complete,
        }

    def _window(self, since: datetime | None, until: datetime | None) -> Window:
        end = read_optional_moment(until) or Instant(self._workings.clock() + 1)
        begin = read_optional_moment(since)
        if begin is None:
            length = int(timedelta(days=DAYS) / timedelta(microseconds=1))
            begin = Instant(max(0, end - length))
        if begin >= end:
            raise InvalidQuery("since must lie before until", field="since")
        return Window(begin, end)

    async def _found(self, within: Namespace, wanted: Filter, window: Window, looked: _Looked) -> _Found:
        """Everything that the figures are made from."""
        found = _Found()
        for row in await self._rows(Plane.TRACE, within, wanted, looked, since=window.since):
            if not window.has(row.written_at):
                continue
            told = stored_value(row.value or b"{}")
            if row.address.namespace.segments[-1] == "signals":
                found.signals += told.get("kind") == _CORRECTED
            elif (recall := recall_in(told)) is not None:
                found.recalls.append(recall)
        for row in await self._rows(Plane.CONTRADICTION, within, wanted, looked):
            found.contradictions.append(_opened(stored_value(row.value or b"{}")))
        for row in await self._rows(Plane.PROPOSAL, within, wanted, looked):
            waiting = msgspec.json.decode(row.value or b"{}", type=Waiting)
            if waiting.verdict == Verdict.REVIEW.value:
                found.proposals.append(Asked(waiting.at, waiting.status, waiting.decided_at))
        for row in await self._rows(Plane.RECORD, within, wanted, looked):
            found.records.append(read_record(row.value or b"{}"))
        return found

    async def _rows(
        self, plane: Plane, within: Namespace, wanted: Filter, looked: _Looked, *, since: Instant | None = None
    ) -> list[Row]:
        """The newest rows of a plane; `since` ends the search where only older ones can follow."""
        rows: list[Row] = []
        cursor: str | None = None
        while len(rows) < MOST_ROWS:
            size = min(_PAGE, MOST_ROWS - len(rows))
            query = Find(plane, within, wanted, Order.NEWEST, size, cursor=cursor, archived=Archived.INCLUDE)
            page = await self._workings.store.find(self._tenant, query)
            rows += [row for row in page.rows if row.value is not None]
            cursor = page.cursor
            if cursor is None or (since is not None and page.rows[-1].written_at < since):
                cursor = None
                break
        looked.counts[plane.value] = len(rows)
        looked.complete = looked.complete and cursor is None
        return rows

    async def _violations(self, records: Iterable[Record]) -> list[tuple[str, tuple[str, ...]]]:
        """The live records that hold personal data without a consent that covers them, with what sorts of it."""
        now = self._workings.clock()
        ledgers: dict[str, Ledger] = {}
        found = []
        for record in records:
            if record.ended_at is not None or (record.ends_at is not None and record.ends_at <= now):
                continue
            kinds = personal_in(record)
            if not kinds:
                continue
            rested = record.rested(self._tenant)
            if rested is not None:
                subject = rested.need.subject_ceid
                if subject not in ledgers:
                    ledgers[subject] = await read_ledger(self._workings.store, self._tenant, subject)
                if still_covered(ledgers[subject], rested, now):
                    continue
            found.append((record.id, kinds))
        return sorted(found)

    async def recall_precision(self, labels: Sequence[Mapping[str, Any]], *, limit: int = 10) -> dict[str, Any]:
        """How good recall is on questions whose answers are known: each a `query` and the ids that are `relevant`.

        Each question is asked as the caller would ask it, of the caller's own memory.
        """
        self._check_own_name()
        most, asked = checked_limit(limit), read_labels(labels)
        answers = []
        for query, relevant in asked:
            told = await self.recall(query, limit=most)
            answers.append((named_in(told["memories"], relevant), relevant))
        return precision(answers, most)

    # -- usage

    async def get_usage(self, namespace: Sequence[str], key: str) -> dict[str, Any]:
        """How often a memory was fetched, and when last; for administrators and auditors."""
        self._workings.guard.permit(self._caller, Action.AUDIT)
        place, name = namespace_of(namespace, self._workings.rules.max_depth), checked_key(key)
        for plane in (Plane.ITEM, Plane.RECORD):
            row = await self._workings.store.get(self._tenant, Address(plane, place, name))
            if row is not None:
                usage = (await self._workings.usage.of((row,)))[0]
                return {"namespace": list(place.segments), "key": name, "plane": plane.value, "usage": usage}
        raise NotFound("there is no such memory")

    async def top_usage(
        self, *, sort: str = "fetch_count", namespace_prefix: Sequence[str] = (), limit: int = 100
    ) -> dict[str, Any]:
        """What was fetched most, or with `sort="last_fetched_at"` last; for administrators and auditors."""
        self._workings.guard.permit(self._caller, Action.AUDIT)
        if sort not in SORTS:
            raise InvalidQuery(f"sort is one of {', '.join(SORTS)}", field="sort")
        within = scope(namespace_prefix, self._workings.rules.max_depth)
        return await self._workings.usage.top(
            self._tenant, by_time=sort == SORTS[1], within=within, limit=checked_limit(limit)
        )


@dataclass(slots=True)
class _Found:
    """What the figures are made from."""

    recalls: list[Recall] = field(default_factory=list)
    signals: int = 0
    contradictions: list[Opened] = field(default_factory=list)
    proposals: list[Asked] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


def _opened(told: Mapping[str, Any]) -> Opened:
    resolved = told.get("resolved_at")
    by_rule = str(told.get("resolved_by") or "").startswith("rule:")
    return Opened(Instant(told["opened_at"]), None if resolved is None else Instant(resolved), by_rule)


def _corrections(records: Iterable[Record], window: Window) -> list[Correction]:
    return [
        Correction(each.id, each.promoted_at, each.supersedes)
        for each in records
        if each.event_type is EventType.CORRECTION and window.has(each.promoted_at)
    ]


def _by_kind(violations: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, kinds in violations:
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))
