"""What a deployment keeps, record by record, exactly as it is stored and in the same form whatever the engine.

Values, attributes and entries are sealed, enumerations are plain text and namespaces are encoded. So a record can be
moved to another engine without a key, and compared with the one there.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

Name = tuple[str | int | bytes, ...]
"""What orders the records of a shelf, and tells them apart; the same in every engine."""


class Shelf(StrEnum):
    """A kind of record. They are copied in this order: what makes a tenant visible comes last."""

    VERSIONS = "versions"
    EVENTS = "events"
    RECEIPTS = "receipts"
    ERASURES = "erasures"
    TENANTS = "tenants"


class StoredEntry(msgspec.Struct, frozen=True):
    """What the search index keeps of a version in one series, sealed."""

    series: int
    content: bytes
    detail: bytes | None


class StoredVersion(msgspec.Struct, frozen=True):
    """A version, with what the index keeps of it and how often it was put off."""

    id: bytes
    tenant: str
    plane: str
    namespace: str
    key: str
    revision: int
    sequence: int
    created_at: int
    written_at: int
    expires_at: int | None
    ended_at: int | None
    end_reason: str | None
    ended_sequence: int | None
    pinned_sequence: int | None
    index_state: str
    index_attempts: int
    index_after: int | None
    archived: int
    index_fields: str | None
    policy_attributes: str
    attributes: bytes | None
    value: bytes | None
    entries: tuple[StoredEntry, ...] = ()
    """By series; those that were dropped are left out, since nobody remembers them elsewhere."""

    @property
    def name(self) -> Name:
        """Its id."""
        return (self.id,)


class StoredEvent(msgspec.Struct, frozen=True):
    """An event with its hash, and how much is kept of the version that it opened."""

    tenant: str
    sequence: int
    kind: str
    plane: str
    namespace: str
    key: str
    row_id: bytes
    revision: int
    at: int
    expires_at: int | None
    actor: str
    detail: str
    digest: bytes
    previous: bytes
    hash: bytes
    kept: int

    @property
    def name(self) -> Name:
        """Its place in the log."""
        return (self.tenant, self.sequence)


class StoredReceipt(msgspec.Struct, frozen=True):
    """What a request with an idempotency key was answered."""

    tenant: str
    lookup: bytes
    fingerprint: bytes
    receipt: bytes
    at: int

    @property
    def name(self) -> Name:
        """Whose request it was, and which."""
        return (self.tenant, self.lookup)


class StoredErasure(msgspec.Struct, frozen=True):
    """The receipt of an erasure."""

    tenant: str
    id: bytes
    subject: str
    sequence: int
    hash: bytes
    at: int
    versions: int
    live: int

    @property
    def name(self) -> Name:
        """Whose it was, and which."""
        return (self.tenant, self.id)


class StoredTenant(msgspec.Struct, frozen=True):
    """Where the log of a tenant ends, and where its kept part begins; tenants without one are left out."""

    tenant: str
    sequence: int
    hash: bytes
    trimmed: int
    trimmed_hash: bytes

    @property
    def name(self) -> Name:
        """Its name."""
        return (self.tenant,)


Stored = StoredVersion | StoredEvent | StoredReceipt | StoredErasure | StoredTenant
SHAPES: dict[Shelf, type[Stored]] = {
    Shelf.VERSIONS: StoredVersion,
    Shelf.EVENTS: StoredEvent,
    Shelf.RECEIPTS: StoredReceipt,
    Shelf.ERASURES: StoredErasure,
    Shelf.TENANTS: StoredTenant,
}
"""What the records of each shelf look like."""


def fields_of(shelf: Shelf) -> tuple[str, ...]:
    """The fields of a shelf's records that are columns of a table: all but the entries of a version."""
    return tuple(name for name in SHAPES[shelf].__struct_fields__ if name != "entries")
