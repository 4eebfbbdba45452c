"""How long things are kept after they are no longer live, and what a sweep does about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect.domain.instants import Instant
from recollect.domain.reasons import EndReason

_DAY = 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each kind of leftover is kept, in microseconds; None means for ever."""

    superseded: int | None = 90 * _DAY
    """The values of versions that a newer one replaced; until then `history` and `as_of` show them."""
    deleted: int | None = 0
    """The values of versions that were deleted or expired."""
    tombstones: int | None = 90 * _DAY
    """What is left of ended versions once their value is gone."""
    events: int | None = None
    """The log itself; trimming it moves its beginning, and older cursors get a clear error."""
    receipts: int | None = _DAY
    """How long a repeated request with the same idempotency key is recognised."""


class Pass(StrEnum):
    """The passes of a sweep, in their order."""

    EXPIRE = "expire"
    """End live versions whose time is up; each gives one `expired` event."""
    EVICT = "evict"
    """Drop the values of superseded versions that are old enough."""
    TOMBSTONE = "tombstone"
    """Drop the values of deleted and expired versions."""
    PURGE = "purge"
    """Drop what is left of versions that ended long ago."""
    TRIM = "trim"
    """Drop the oldest part of the log, if a retention is set for it, and receipts that are too old."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one batch of a pass did; `more` when another batch is waiting."""

    done: int
    more: bool


def cutoff(now: Instant, keep: int | None) -> Instant | None:
    """What ended at or before this moment has been kept long enough; None when nothing ever has."""
    return None if keep is None else Instant(now - keep)


EMPTIES = {
    Pass.EVICT: frozenset({EndReason.UPDATED}),
    Pass.TOMBSTONE: frozenset({EndReason.DELETED, EndReason.EXPIRED}),
}
"""Which versions each of the emptying passes is about, by why they ended."""


def due_before(step: Pass, retention: Retention, now: Instant) -> Instant | None:
    """What ended at or before this moment is due for the pass; None when nothing is."""
    keep = {Pass.EVICT: retention.superseded, Pass.TOMBSTONE: retention.deleted, Pass.PURGE: retention.tombstones}
    return cutoff(now, keep[step])
