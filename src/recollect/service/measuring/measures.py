"""Measures: how well memory serves, of one's own or of the tenant, and how often what was fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from recollect.domain.address import DEPTH_CEILING, ROOT, Address, checked_key, scope
from recollect.domain.address import namespace as namespace_of
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidQuery, NotFound
from recollect.domain.instants import Instant
from recollect.domain.measuring.recalls import (
    adoption,
    hit_rate,
    named_in,
    precision,
    read_labels,
    token_cost,
)
from recollect.domain.measuring.settling import Window, contradictions, throughput
from recollect.domain.promotion import shapes
from recollect.domain.queries import checked_limit
from recollect.domain.reasons import Plane
from recollect.service.measuring.gathering import Gathering, by_kind
from recollect.service.pipeline.places import Places
from recollect.service.reading import read_optional_moment
from recollect.service.recalling.recall import Recalling

DAYS = 30
"""So many days are looked at unless others are asked for."""
MOST_IDS = 1_000
"""The ids of so many records are told that hold what they should not."""
SORTS = ("fetch_count", "last_fetched_at")


class Measuring(Recalling):
    """Figures, in the name of one caller."""

    async def memory_metrics(self, *, since: datetime | None = None, until: datetime | None = None) -> dict[str, Any]:
        """How well memory serves: hits, cost, violations, contradictions, corrections, and the review queue.

        Of the caller's own memory, or, for administrators, of the tenant; of the last 30 days unless others are asked
        for. `looked_at` says how many rows the figures are made from, and `complete` whether those are all.
        """
        self._check_own_name()
        window = _window(since, until, self._workings.clock())
        wide = self._caller.is_admin
        place = ROOT if wide else Places(self._owner).own()
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(place.segments, None)
        gathering = Gathering(self._workings.store, self._tenant, window)
        if view is not None:
            await gathering.gather(scope(view.prefix, DEPTH_CEILING), view.filter)
        violations = await gathering.violations(self._workings.clock())
        ids = {"record_ids": [each[0] for each in violations[:MOST_IDS]]} if wide else {}
        return {
            "scope": "tenant" if wide else "user",
            "since": shapes.written(window.since),
            "until": shapes.written(window.until),
            "recall": hit_rate(gathering.recalls),
            "tokens": token_cost(gathering.recalls),
            "pii": {"violations": len(violations), "target": 0, "by_kind": by_kind(violations)} | ids,
            "contradictions": contradictions(gathering.contradictions, window),
            "corrections": adoption(gathering.corrections(), gathering.recalls, gathering.signals),
            "reviews": throughput(gathering.proposals, window),
            "looked_at": gathering.looked_at,
            "complete": gathering.complete,
        }

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


def _window(since: datetime | None, until: datetime | None, now: Instant) -> Window:
    """The time that is asked for."""
    end = read_optional_moment(until) or Instant(now + 1)
    begin = read_optional_moment(since)
    if begin is None:
        length = int(timedelta(days=DAYS) / timedelta(microseconds=1))
        begin = Instant(max(0, end - length))
    if begin >= end:
        raise InvalidQuery("since must lie before until", field="since")
    return Window(begin, end)
