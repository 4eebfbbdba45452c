"""Settling: how long contradictions stay open, and how fast people decide about what waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.domain.instants import Instant, datetime_of
from recollect.domain.measuring.spread import MICROSECONDS, spread
from recollect.domain.promotion import shapes

DAY = 86_400 * MICROSECONDS


class Window(msgspec.Struct, frozen=True):
    """The time that is looked at: from a moment on, up to another."""

    since: Instant
    until: Instant

    def has(self, at: Instant) -> bool:
        """Whether something happened in it."""
        return self.since <= at < self.until


class Opened(msgspec.Struct, frozen=True):
    """A contradiction: when it was opened and settled, and whether a rule did that on the spot."""

    opened_at: Instant
    resolved_at: Instant | None
    by_rule: bool = False


class Asked(msgspec.Struct, frozen=True):
    """A proposal that waited for a person."""

    at: Instant
    status: str
    decided_at: Instant | None


def contradictions(opened: Iterable[Opened], window: Window) -> dict[str, Any]:
    """How long those took that people settled in a window, and which are open at its end.

    What a rule settles on the spot takes no time, and is only counted.
    """
    durations: list[int] = []
    by_rule = 0
    left: list[Instant] = []
    for each in opened:
        if each.resolved_at is not None and window.has(each.resolved_at):
            if each.by_rule:
                by_rule += 1
            else:
                durations.append(each.resolved_at - each.opened_at)
        elif each.opened_at < window.until and (each.resolved_at is None or each.resolved_at >= window.until):
            left.append(each.opened_at)
    oldest = min(left, default=None)
    told = spread(durations)
    return {
        "resolved": told.pop("count"),
        **told,
        "resolved_by_rule": by_rule,
        "open": len(left),
        "oldest_open_at": shapes.written(oldest),
        "oldest_open_seconds": None if oldest is None else (window.until - oldest) / MICROSECONDS,
    }


def throughput(asked: Iterable[Asked], window: Window) -> dict[str, Any]:
    """How many proposals were decided in a window, day by day and how; how long they had waited; how many still do."""
    days: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    durations: list[int] = []
    waiting: list[Instant] = []
    for each in asked:
        if each.decided_at is not None and window.has(each.decided_at):
            days[datetime_of(each.decided_at).date().isoformat()] += 1
            verdicts[each.status] += 1
            durations.append(each.decided_at - each.at)
        elif each.at < window.until and (each.status == "waiting" or (each.decided_at or 0) >= window.until):
            waiting.append(each.at)
    oldest = min(waiting, default=None)
    told = spread(durations)
    length = (window.until - window.since) / DAY
    return {
        "decided": told["count"],
        "per_day": None if length <= 0 else round(told["count"] / length, 3),
        "by_day": [{"day": day, "decided": count} for day, count in sorted(days.items())],
        "by_verdict": dict(sorted(verdicts.items())),
        "median_waiting_seconds": told["median_seconds"],
        "p90_waiting_seconds": told["p90_seconds"],
        "waiting": len(waiting),
        "oldest_waiting_seconds": None if oldest is None else (window.until - oldest) / MICROSECONDS,
    }
