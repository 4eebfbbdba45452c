"""What the reference keeps of one tenant, and how it picks and orders from it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

from recollect.backends.memory.entries import Index
from recollect.domain.address import Address
from recollect.domain.commits import Receipt
from recollect.domain.events import Event, Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Newest, Pinned, Version
from recollect.domain.queries import Order, Place
from recollect.domain.reasons import IndexState
from recollect.domain.retention import EMPTIES, Pass
from recollect.domain.rows import Row
from recollect.domain.verification import Kept


@dataclass(slots=True)
class Tenant:
    """Every version and every event of one tenant."""

    head: Head = field(default_factory=Head)
    versions: dict[Address, list[Version]] = field(default_factory=dict)
    by_id: dict[bytes, Version] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    kept: dict[int, Kept] = field(default_factory=dict)
    receipts: dict[bytes, tuple[bytes, Receipt, Instant]] = field(default_factory=dict)
    erasures: dict[bytes, Erased] = field(default_factory=dict)
    index: Index = field(default_factory=Index)

    def newest(self, address: Address) -> Newest | None:
        """What planning needs to know of the newest version of a key."""
        versions = self.versions.get(address)
        if not versions:
            return None
        last = versions[-1]
        return Newest(
            last.id,
            last.revision,
            last.created_at,
            last.written_at,
            last.expires_at,
            last.ended_at,
            last.index_state,
        )

    def pinned(self, row_id: bytes) -> Pinned | None:
        """A version, and what the event that it claims recorded of it."""
        version = self.by_id.get(row_id)
        if version is None:
            return None
        claimed = version.pinned_sequence or version.sequence
        place = bisect_left(self.log, claimed, key=attrgetter("sequence"))
        found = [event.digest for event in self.log[place : place + 1] if event.sequence == claimed]
        return Pinned(version, found[0] if found else None)

    def attributes_of(self, event: Event) -> str | None:
        """The attributes of the version that the event opened or ended, while they are kept."""
        version = self.by_id.get(event.row_id)
        return None if version is None or version.value is None else version.policy_attributes


def is_due(version: Version, step: Pass, before: Instant | None) -> bool:
    """True when the pass is to take this version, which ended at or before the moment."""
    if before is None or version.ended_at is None or version.ended_at > before:
        return False
    if version.index_state is IndexState.PENDING:
        return False
    if step is Pass.PURGE:
        return version.value is None
    return version.value is not None and version.end_reason in EMPTIES[step]


def sort_key(order: Order) -> Callable[[Row], tuple[str, str] | int]:
    """What rows are sorted by."""
    if order is Order.KEY:
        return lambda row: (row.address.namespace.encoded, row.address.key)
    return lambda row: row.sequence


def beyond(rows: list[Row], place: Place, order: Order) -> list[Row]:
    """The rows after the place where an earlier page ended."""
    if order is Order.KEY:
        return [row for row in rows if (row.address.namespace.encoded, row.address.key) > place[1:]]
    if order is Order.NEWEST:
        return [row for row in rows if row.sequence < place.sequence]
    return [row for row in rows if row.sequence > place.sequence]
