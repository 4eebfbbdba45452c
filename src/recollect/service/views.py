"""What callers of the use-cases give and get: operations, confirmations, pages and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from recollect.domain.commits import Outcome
from recollect.domain.events import Entry
from recollect.domain.instants import Instant, datetime_of
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
    index_fields: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """One `delete` of a batch; the fields are those of `Memories.delete`."""

    namespace: Sequence[str]
    key: str
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The confirmation of one operation."""

    outcome: Outcome
    replayed: bool = False
    """True when an earlier call with the same idempotency key had done it."""
    indexed: bool | None = None
    """Whether queries find it already; None unless it was asked to wait for that."""

    @property
    def kind(self) -> EventKind | None:
        """What it was in the end: add, update, delete; None when there was nothing to do."""
        return self.outcome.kind

    @property
    def id(self) -> UUID | None:
        """The identity of the version that was written or ended."""
        return None if self.outcome.id is None else UUID(bytes=self.outcome.id)

    @property
    def revision(self) -> int:
        """The revision that was written or ended; 0 when there was nothing to do."""
        return self.outcome.revision

    @property
    def sequence(self) -> int | None:
        """The place of its event in the log."""
        return self.outcome.sequence

    @property
    def created_at(self) -> datetime | None:
        """When the key was first given a value."""
        return _shown(self.outcome.created_at)

    @property
    def updated_at(self) -> datetime | None:
        """When this happened."""
        return _shown(self.outcome.written_at)

    @property
    def expires_at(self) -> datetime | None:
        """When it expires."""
        return _shown(self.outcome.expires_at)

    def __repr__(self) -> str:
        return f"Written({self.kind} · revision {self.revision} · event {self.sequence})"


def _shown(instant: Instant | None) -> datetime | None:
    return None if instant is None else datetime_of(instant)


@dataclass(frozen=True, slots=True)
class Found:
    """Items of a search, and the cursor for those after them; None when there are no more."""

    items: list[Item]
    cursor: str | None
    explanation: dict[str, Any] | None = None
    """How a query was answered; None unless that was asked for."""

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
    def id(self) -> UUID:
        """The identity of the version that was written or ended; for an erasure, of the erasure."""
        return UUID(bytes=self.entry.event.row_id)

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

    @property
    def archived(self) -> bool:
        """True when the version that was written is set aside."""
        return self.entry.row is not None and self.entry.row.archived

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


@dataclass(frozen=True, slots=True)
class Extraction:
    """How far the attributes of what is stored were brought up to date with the policy in force."""

    running: bool
    done: int
    """How many items were looked at."""
    total: int
    changed: int
    """How many of them got other attributes."""
    failed: int
    """How many the policy could not be asked about; they keep the attributes they have."""
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """How far the vectors of another model are made, which searches will use once all are there."""

    model: str
    done: int
    total: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What is still to be done behind the scenes."""

    pending: int
    """How many versions the search index does not reflect."""
    extraction: Extraction
    failed: int = 0
    """How many of them could not be indexed and will be tried again."""
    indexed: int = 0
    """How many versions queries can find."""
    model: str | None = None
    """By which model searches go; None before anything was indexed."""
    rebuilding: Rebuilding | None = None
