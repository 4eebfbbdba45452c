"""Commits: what is to change, as one value that is carried out wholly or not at all.

A commit lists operations (`Put`, `Delete` and others) and, beside them, what they rest on (`Expect`, `Unchanged`).
Because it is a value, a backend may apply it in a transaction, or append it as one document.

What is made for every single write (here, and in rows, events and planning) is an immutable
`msgspec.Struct` rather than a frozen dataclass: it says the same and is made several times as fast.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from recollect.domain.address import Address, Namespace
from recollect.domain.attributes import NONE
from recollect.domain.errors import InvalidCommit, InvalidExpiry, RevisionConflict
from recollect.domain.instants import LAST, Instant
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.text import flaw_in, shown

MAX_OPERATIONS = 1_000
MAX_COMMIT_BYTES = 64 << 20
MAX_IDEMPOTENCY_KEY = 255
MAX_ACTOR = 255


class Put(msgspec.Struct, frozen=True):
    """Give a key a value, in place of the one it may have."""

    address: Address
    value: bytes
    attributes: bytes | None = None
    policy_attributes: str = NONE
    expires_at: Instant | None = None
    ttl: int | None = None
    """Microseconds from the commit on; an alternative to `expires_at`."""
    expected_revision: int | None = None
    """The revision the key must have now; 0 means that it must not exist; None means whatever."""
    index: bool = False
    """Whether the search index is to reflect this version."""
    archived: bool = False
    """Whether searches and listings are to leave it out unless they ask for such."""
    index_fields: str | None = None
    """Which fields of the value the search index is to reflect, as a JSON list; None means every text in it."""
    at: Instant | None = None
    """When it happened elsewhere, for what is imported; None means now. A `ttl` counts from then."""


class Delete(msgspec.Struct, frozen=True):
    """Take a key's value away. Deleting what is not there changes nothing."""

    address: Address
    expected_revision: int | None = None
    at: Instant | None = None
    """When it happened elsewhere; None means now."""


class Expire(msgspec.Struct, frozen=True):
    """End the live version if its time is up; otherwise change nothing."""

    address: Address
    at: Instant | None = None
    """When it happened elsewhere; None means now."""


class Relabel(msgspec.Struct, frozen=True):
    """Give the live version other policy attributes, in place: it stays the version it is.

    Changes nothing when the live version is no longer the one that was read, or has these attributes already.
    """

    address: Address
    revision: int
    """The revision of the live version, as it was read."""
    policy_attributes: str


class Expect(msgspec.Struct, frozen=True):
    """Refuse the commit unless the key is still at this revision; 0 means absent."""

    address: Address
    revision: int


class Unchanged(msgspec.Struct, frozen=True):
    """Refuse the commit if anything at or below a namespace changed after that point of the log."""

    plane: Plane
    within: Namespace
    since: int


Dated = Put | Delete | Expire
"""What may have happened elsewhere, and be told as of then."""
Operation = Dated | Relabel
Condition = Expect | Unchanged


class Idempotency(msgspec.Struct, frozen=True):
    """A caller's name for a request, so that repeating it changes nothing the second time."""

    lookup: bytes
    fingerprint: bytes


class Commit(msgspec.Struct, frozen=True):
    """Everything that is to happen at once in one tenant."""

    tenant: str
    operations: tuple[Operation, ...]
    conditions: tuple[Condition, ...] = ()
    actor: str = ""
    """Who asked for it, as the door knows them; kept in the events."""
    idempotency: Idempotency | None = None


class Outcome(msgspec.Struct, frozen=True):
    """What one operation did. `kind` and `sequence` are None when there was nothing to do."""

    kind: EventKind | None
    sequence: int | None
    id: bytes | None
    revision: int
    created_at: Instant | None
    written_at: Instant | None
    expires_at: Instant | None


class Receipt(msgspec.Struct, frozen=True):
    """What a commit did, operation by operation. `replayed` when an earlier identical request had done it."""

    outcomes: tuple[Outcome, ...]
    head: int
    replayed: bool = False


def checked_commit(commit: Commit) -> Commit:
    """The commit itself, refused when it is empty, too large or contradicts itself."""
    if not commit.operations and not commit.conditions:
        raise InvalidCommit("a commit needs at least one operation")
    if len(commit.operations) > MAX_OPERATIONS:
        raise InvalidCommit(f"a commit has at most {MAX_OPERATIONS:,} operations, this one {len(commit.operations):,}")
    weight = 0
    for operation in commit.operations:
        if isinstance(operation, Relabel):
            continue
        if operation.at is not None and not 0 <= operation.at <= LAST:
            raise InvalidCommit("the moment of an operation lies outside the years 1970 to 9999")
        if isinstance(operation, Put):
            weight += len(operation.value) + len(operation.attributes or b"")
            if operation.expires_at is not None and operation.ttl is not None:
                raise InvalidExpiry("give either a time to live or a moment of expiry, not both")
    if weight > MAX_COMMIT_BYTES:
        raise InvalidCommit(f"a commit has at most {MAX_COMMIT_BYTES:,} bytes of values, this one {weight:,}")
    return commit


def checked_actor(actor: object) -> str:
    """The name of who asks, refused when the log could not carry it exactly."""
    if not isinstance(actor, str) or len(actor) > MAX_ACTOR or flaw_in(actor):
        raise InvalidCommit(f"an actor is text of at most {MAX_ACTOR} characters, without NUL or lone surrogates")
    return actor


def checked_revision(revision: object) -> int | None:
    """The expected revision itself, refused when no key could ever have it."""
    if revision is None:
        return None
    if isinstance(revision, bool) or not isinstance(revision, int) or not 0 <= revision < 1 << 63:
        raise InvalidCommit(f"an expected revision is a whole number from 0, not {shown(revision)}")
    return revision


def idempotency(key: object, actor: str, operations: Sequence[Operation]) -> Idempotency:
    """How a request is recognised when it comes again, without keeping the key or anything of the values.

    Only hashes are kept, keyed with the caller's own key, so that a stored fingerprint cannot be
    used to guess what was written.
    """
    if not isinstance(key, str) or not key or len(key) > MAX_IDEMPOTENCY_KEY or flaw_in(key):
        raise InvalidCommit(f"an idempotency key is text of 1 to {MAX_IDEMPOTENCY_KEY} characters")
    said = [_said(operation) for operation in operations]
    return Idempotency(
        lookup=sha256(msgspec.msgpack.encode(("recollect-idempotency/1", actor, key))).digest(),
        fingerprint=hmac.digest(key.encode(), msgspec.msgpack.encode((actor, said)), "sha256"),
    )


def _said(operation: Operation) -> tuple[object, ...]:
    address = operation.address
    place = (type(operation).__name__, address.plane.value, address.namespace.encoded, address.key)
    match operation:
        case Put():
            return (
                *place,
                operation.value,
                operation.attributes,
                operation.policy_attributes,
                operation.expires_at,
                operation.ttl,
                operation.expected_revision,
                operation.index,
                *_told_since(operation, archived=operation.archived, fields=operation.index_fields),
            )
        case Delete():
            return (*place, operation.expected_revision, *_told_since(operation))
        case Expire():
            return (*place, *_told_since(operation))
        case Relabel():
            return (*place, operation.revision, operation.policy_attributes)


def _told_since(operation: Dated, *, archived: bool = False, fields: str | None = None) -> tuple[object, ...]:
    """What came later to operations: told only where it is used, so that fingerprints kept before still match."""
    told = (archived, operation.at) if archived or operation.at is not None else ()
    return told if fields is None else (*told, fields)


def refuse_revision(address: Address, expected: int, actual: int) -> RevisionConflict:
    """The error for a key that is not at the revision its writer expected."""
    found = f"at revision {actual}" if actual else "absent"
    return RevisionConflict(
        f"{address.namespace} · {address.key} is {found}, not {f'at revision {expected}' if expected else 'absent'}",
        expected=expected,
        actual=actual,
    )
