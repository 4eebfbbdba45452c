"""What callers of the use-cases give and get: operations, confirmations, pages and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from recollect.domain.commits import Outcome
from recollect.domain.events import Entry
from recollect.domain.instants import datetime_of
from recollect.domain.planning import Erased
from recollect.domain.queries import event_cursor
from recollect.domain.reasons import EventKind
from recollect.domain.retention import Pass
from recollect.domain.rows import Item
from recollect.domain.values import stored_value


@dataclass(frozen=True, slots=True)
class PutOp:
    """One `put` of a batch; the fields are those of `Memories.put`."""

    namespace: Sequence[str]
    key: str
    value: Mapping[str, Any]
    attributes: Mapping[str, Any] | None = None
    policy_attributes: Mapping[str, Any] | None = None
    ttl: float | timedelta | None = None
    expires_at: datetime | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """One `delete` of a batch; the fields are those of `Memories.delete`."""

    namespace: Sequence[str]
    key: str
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The confirmation of one operation. `kind` is None when there was nothing to do."""

    kind: EventKind | None
    id: UUID | None
    revision: int
    sequence: int | None
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None
    replayed: bool = False

    @staticmethod
    def of(outcome: Outcome, *, replayed: bool = False) -> Written:
        """The confirmation of what an operation did."""
        return Written(
            outcome.kind,
            None if outcome.id is None else UUID(bytes=outcome.id),
            outcome.revision,
            outcome.sequence,
            None if outcome.created_at is None else datetime_of(outcome.created_at),
            None if outcome.written_at is None else datetime_of(outcome.written_at),
            None if outcome.expires_at is None else datetime_of(outcome.expires_at),
            replayed,
        )


@dataclass(frozen=True, slots=True)
class Found:
    """Items of a search, and the cursor for those after them; None when there are no more."""

    items: list[Item]
    cursor: str | None

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """One entry of the log, as its reader sees it."""

    entry: Entry

    @property
    def kind(self) -> EventKind:
        """What happened."""
        return self.entry.event.kind

    @property
    def namespace(self) -> tuple[str, ...]:
        """Where it happened."""
        return self.entry.event.address.namespace.segments

    @property
    def key(self) -> str:
        """To which key; empty for an erasure, which concerns the whole subtree."""
        return self.entry.event.address.key

    @property
    def sequence(self) -> int:
        """Its place in the tenant's log, counted from 1 without gaps."""
        return self.entry.event.sequence

    @property
    def cursor(self) -> str:
        """Where to continue reading after this event."""
        return event_cursor(self.sequence)

    @property
    def revision(self) -> int:
        """The revision that was written or ended."""
        return self.entry.event.revision

    @property
    def occurred_at(self) -> datetime:
        """When it happened; a label, while the order is the sequence."""
        return datetime_of(self.entry.event.at)

    @property
    def expires_at(self) -> datetime | None:
        """When the version expires or expired."""
        instant = self.entry.event.expires_at
        return None if instant is None else datetime_of(instant)

    @property
    def actor(self) -> str:
        """Who asked for it."""
        return self.entry.event.actor

    @property
    def detail(self) -> dict[str, Any] | None:
        """More about it, where there is more: what an erasure erased."""
        return stored_value(self.entry.event.detail.encode()) if self.entry.event.detail else None

    @property
    def value(self) -> dict[str, Any] | None:
        """The value that was written; None for an end, and once the version was evicted or erased."""
        row = self.entry.row
        return None if row is None or row.value is None else stored_value(row.value)

    @property
    def attributes(self) -> dict[str, Any] | None:
        """The attributes that were written, under the same conditions."""
        row = self.entry.row
        return None if row is None or row.attributes is None else stored_value(row.attributes)

    def __repr__(self) -> str:
        return f"MemoryEvent({self.sequence} · {self.kind} · {'/'.join(self.namespace)} · {self.key})"


@dataclass(frozen=True, slots=True)
class Events:
    """A page of the log, and the cursor from which to continue, whether or not there is more yet."""

    events: list[MemoryEvent]
    cursor: str
    complete: bool

    def __iter__(self) -> Iterator[MemoryEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """Proof of an erasure: what was made unreadable, and the event of the log that says so."""

    id: UUID
    subject: str
    versions: int
    live: int
    sequence: int
    hash: str
    at: datetime

    @staticmethod
    def of(erased: Erased) -> ErasureReceipt:
        """The receipt as its caller sees it."""
        return ErasureReceipt(
            UUID(bytes=erased.id),
            erased.subject,
            erased.versions,
            erased.live,
            erased.sequence,
            erased.hash.hex(),
            datetime_of(erased.at),
        )


Sweep = dict[Pass, int]
"""How much each pass of a sweep did."""
