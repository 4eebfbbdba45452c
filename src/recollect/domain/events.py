"""Events: the log of everything that happened, in which each entry carries the hash of the one before."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import msgspec

from recollect.domain.address import Address
from recollect.domain.instants import Instant
from recollect.domain.reasons import EventKind
from recollect.domain.rows import Row

GENESIS = bytes(32)
"""What the first event of a tenant carries as the hash before it."""
_FORMAT = "recollect-event/1"
_pack = msgspec.msgpack.Encoder().encode


class Event(msgspec.Struct, frozen=True):
    """One entry of a tenant's log. Order is the sequence; time is only a label."""

    tenant: str
    sequence: int
    kind: EventKind
    address: Address
    row_id: bytes
    revision: int
    at: Instant
    expires_at: Instant | None
    actor: str
    detail: str
    digest: bytes
    previous: bytes
    hash: bytes


class Entry(msgspec.Struct, frozen=True):
    """An event together with the version that it tells of, while that is kept."""

    event: Event
    row: Row | None


@dataclass(frozen=True, slots=True)
class Head:
    """Where a tenant's log ends, and where its kept part begins."""

    sequence: int = 0
    hash: bytes = GENESIS
    trimmed: int = 0
    """The last sequence that is no longer kept; 0 when the log is whole."""
    trimmed_hash: bytes = GENESIS

    def text(self) -> str:
        """The head as one line, to be kept elsewhere and given to `verify` later."""
        return f"{self.sequence}:{self.hash.hex()}"


def version_digest(
    sealed_value: bytes | None,
    sealed_attributes: bytes | None,
    policy_attributes: str,
    created_at: Instant,
    expires_at: Instant | None,
    archived: bool = False,
    index_fields: str | None = None,
) -> bytes:
    """What pins a stored version to its event without keeping the version readable."""
    contents: tuple[object, ...] = (sealed_value, sealed_attributes, policy_attributes, created_at, expires_at)
    # What came later counts only where it is set, so that digests from before still hold.
    if archived:
        contents = (*contents, True)
    return sha256(_pack(contents if index_fields is None else (*contents, index_fields))).digest()


def next_event(
    tenant: str,
    sequence: int,
    kind: EventKind,
    address: Address,
    row_id: bytes,
    revision: int,
    at: Instant,
    expires_at: Instant | None,
    actor: str,
    detail: str,
    digest: bytes,
    previous: bytes,
) -> Event:
    """The event that follows the one with the hash `previous`."""
    hashed = _hash(tenant, sequence, kind, address, row_id, revision, at, expires_at, actor, detail, digest, previous)
    return Event(
        tenant, sequence, kind, address, row_id, revision, at, expires_at, actor, detail, digest, previous, hashed
    )


def rehash(event: Event) -> bytes:
    """The hash that this event should carry."""
    return _hash(
        event.tenant,
        event.sequence,
        event.kind,
        event.address,
        event.row_id,
        event.revision,
        event.at,
        event.expires_at,
        event.actor,
        event.detail,
        event.digest,
        event.previous,
    )


def _hash(
    tenant: str,
    sequence: int,
    kind: EventKind,
    address: Address,
    row_id: bytes,
    revision: int,
    at: Instant,
    expires_at: Instant | None,
    actor: str,
    detail: str,
    digest: bytes,
    previous: bytes,
) -> bytes:
    """The hash of an event: over every field, each with its length, and the hash before."""
    place = (address.plane, address.namespace.encoded, address.key)
    said = (_FORMAT, previous, tenant, sequence, kind, *place, row_id, revision, at, expires_at, actor, detail, digest)
    return sha256(_pack(said)).digest()
