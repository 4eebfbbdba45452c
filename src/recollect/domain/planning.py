"""Deciding a commit: from what is stored now to exactly what is to be stored and told.

Backends load the newest version of every key that a commit touches, call `plan_commit`, and carry the
plan out in one transaction. All of the semantics of writing is here, so that backends cannot differ in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
from msgspec.structs import replace

from recollect.domain.address import Address, Namespace
from recollect.domain.attributes import NONE
from recollect.domain.commits import (
    Commit,
    Condition,
    Delete,
    Expect,
    Expire,
    Outcome,
    Put,
    Receipt,
    Relabel,
    refuse_revision,
)
from recollect.domain.errors import Contention
from recollect.domain.events import Event, Head, next_event, version_digest
from recollect.domain.instants import Instant, checked_expiry
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.rows import is_expired

NO_DIGEST = bytes(32)
NO_RECEIPT = Receipt((), 0)
VALUE, ATTRIBUTES = "value", "attributes"


def entry_field(series: int) -> str:
    """What an entry of the search index is sealed as."""
    return f"index.{series}"


def detail_field(series: int) -> str:
    """What the detail of an entry is sealed as."""
    return f"index.{series}.detail"


class Version(msgspec.Struct):
    """One version as it is stored: sealed. Only its ending, its policy attributes and its index state ever change."""

    address: Address
    id: bytes
    revision: int
    sequence: int
    value: bytes | None
    attributes: bytes | None
    policy_attributes: str
    created_at: Instant
    written_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None = None
    end_reason: EndReason | None = None
    ended_sequence: int | None = None
    index_state: IndexState = IndexState.UNWANTED
    archived: bool = False
    index_fields: str | None = None
    pinned_sequence: int | None = None
    """The event that recorded its present policy attributes; None when that is the one that opened it."""

    def digest(self) -> bytes:
        """What pins its present contents to an event."""
        return version_digest(
            self.value,
            self.attributes,
            self.policy_attributes,
            self.created_at,
            self.expires_at,
            self.archived,
            self.index_fields,
        )


class Newest(msgspec.Struct, frozen=True):
    """What planning needs to know of the newest version of a key, live or not."""

    id: bytes
    revision: int
    created_at: Instant
    written_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None
    index_state: IndexState


class Ending(msgspec.Struct, frozen=True):
    """A stored version that stops being the live one."""

    id: bytes
    at: Instant
    reason: EndReason
    sequence: int
    index_state: IndexState


class Pinned(msgspec.Struct, frozen=True):
    """A stored version, whole, and the digest in the event that it claims; None when there is no such event."""

    version: Version
    digest: bytes | None


class Label(msgspec.Struct, frozen=True):
    """Other policy attributes for a stored version, and the event that pins them."""

    id: bytes
    policy_attributes: str
    sequence: int
    index_state: IndexState


@dataclass(slots=True)
class Plan:
    """Everything to be written: labels first, then endings, then versions, then events, then the head."""

    head: Head
    endings: list[Ending] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    receipt: Receipt = NO_RECEIPT
    labels: list[Label] = field(default_factory=list)


class Seal(Protocol):
    """Seals one field of one version so that it cannot be read elsewhere or moved."""

    def __call__(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field sealed for exactly this place."""
        ...


def ended_index_state(state: IndexState) -> IndexState:
    """The index must hear of the end of whatever it may have heard of."""
    return IndexState.UNWANTED if state is IndexState.UNWANTED else IndexState.PENDING


def relabelled_index_state(state: IndexState) -> IndexState:
    """The index must hear of the new attributes of what it reflects."""
    return IndexState.PENDING if state is IndexState.DONE else state


def after(head: Head, event: Event) -> Head:
    """The head once the event is in the log."""
    return Head(event.sequence, event.hash, head.trimmed, head.trimmed_hash)


def plan_commit(
    commit: Commit,
    *,
    head: Head,
    newest: Callable[[Address], Newest | None],
    pinned: Callable[[bytes], Pinned | None],
    changed_since: Callable[[Plane, Namespace, int], bool],
    now: Instant,
    new_id: Callable[[Instant], bytes],
    seal: Seal,
) -> Plan:
    """Decide a commit. Raises, with nothing decided, when a condition does not hold.

    `pinned` is asked only for versions that are to be relabelled, by their id.
    """
    work = _Planning(commit, head, newest, pinned, now, new_id, seal)
    for condition in commit.conditions:
        work.require(condition, changed_since)
    for operation in commit.operations:
        if isinstance(operation, Put):
            outcome = work.put(operation)
        elif isinstance(operation, Delete):
            outcome = work.delete(operation)
        elif isinstance(operation, Relabel):
            outcome = work.relabel(operation)
        else:
            outcome = work.expire(operation)
        work.outcomes.append(outcome)
    return work.finish()


class _Planning:
    """A commit being decided: what is known of each key, and what will be written and told."""

    def __init__(
        self,
        commit: Commit,
        head: Head,
        newest: Callable[[Address], Newest | None],
        pinned: Callable[[bytes], Pinned | None],
        now: Instant,
        new_id: Callable[[Instant], bytes],
        seal: Seal,
    ) -> None:
        self.tenant = commit.tenant
        self.actor = commit.actor
        self.now = now
        self.new_id = new_id
        self.seal = seal
        self.stored = newest
        self.pinned = pinned
        self.known: dict[Address, Newest | Version] = {}
        self.head = head
        self.sequence = head.sequence
        self.hash = head.hash
        self.labels: dict[bytes, Label] = {}
        self.endings: list[Ending] = []
        self.versions: list[Version] = []
        self.events: list[Event] = []
        self.outcomes: list[Outcome] = []

    def newest(self, address: Address, at: Instant | None) -> Newest | Version | None:
        """The newest version of a key, with what this commit did before; one expired at the moment is ended first."""
        found = self.known.get(address) if self.known else None
        if found is None:
            found = self.stored(address)
        moment = self.now if at is None else at
        if found is not None and found.ended_at is None and is_expired(found.expires_at, moment):
            self.finish_version(found, address, EventKind.EXPIRED, EndReason.EXPIRED, at)
            return self.known[address]
        return found

    def detail(self, at: Instant | None) -> str:
        """What an event says beside its fields: for one that happened elsewhere, when it was recorded here."""
        return "" if at is None else msgspec.json.encode({"imported_at": self.now}).decode()

    def require(self, condition: Condition, changed_since: Callable[[Plane, Namespace, int], bool]) -> None:
        """Refuse the commit when the condition no longer holds."""
        if isinstance(condition, Expect):
            found = self.stored(condition.address)
            gone = found is None or found.ended_at is not None or is_expired(found.expires_at, self.now)
            if (0 if found is None or gone else found.revision) != condition.revision:
                raise Contention(f"{condition.address.namespace} · {condition.address.key} changed since it was read")
        elif condition.since < self.head.trimmed or changed_since(condition.plane, condition.within, condition.since):
            raise Contention(f"{str(condition.within) or 'the tenant'} changed since it was read")

    def put(self, put: Put) -> Outcome:
        """Open a new version, ending the live one if there is one."""
        address = put.address
        newest = self.newest(address, put.at)
        live = None if newest is None or newest.ended_at is not None else newest
        expected = put.expected_revision
        if expected is not None and expected != (live.revision if live else 0):
            raise refuse_revision(address, expected, live.revision if live else 0)
        moment = self.now if put.at is None else put.at
        at, revision, created_at = moment, 1, moment
        if newest is not None:
            at = max(at, newest.written_at, newest.ended_at or newest.written_at)
            revision = newest.revision + 1
            created_at = live.created_at if live else at
        expires_at = put.expires_at if put.ttl is None else checked_expiry(Instant(moment + put.ttl))
        row_id = self.new_id(at)
        value = self.seal(self.tenant, address, row_id, revision, VALUE, put.value)
        attributes = put.attributes
        if attributes is not None:
            attributes = self.seal(self.tenant, address, row_id, revision, ATTRIBUTES, attributes)
        digest = version_digest(
            value, attributes, put.policy_attributes, created_at, expires_at, put.archived, put.index_fields
        )
        kind = EventKind.ADD if live is None else EventKind.UPDATE
        sequence = self.tell(kind, address, row_id, revision, at, expires_at, self.detail(put.at), digest)
        if live is not None:
            self.end(address, live, at, EndReason.UPDATED, sequence)
        version = Version(
            address,
            row_id,
            revision,
            sequence,
            value,
            attributes,
            put.policy_attributes,
            created_at,
            at,
            expires_at,
            None,
            None,
            None,
            IndexState.PENDING if put.index else IndexState.UNWANTED,
            put.archived,
            put.index_fields,
        )
        self.known[address] = version
        self.versions.append(version)
        return Outcome(kind, sequence, row_id, revision, created_at, at, expires_at)

    def delete(self, delete: Delete) -> Outcome:
        """End the live version if there is one."""
        newest = self.newest(delete.address, delete.at)
        live = None if newest is None or newest.ended_at is not None else newest
        expected = delete.expected_revision
        if expected is not None and expected != (live.revision if live else 0):
            raise refuse_revision(delete.address, expected, live.revision if live else 0)
        if live is None:
            return _NOTHING
        return self.finish_version(live, delete.address, EventKind.DELETE, EndReason.DELETED, delete.at)

    def expire(self, expire: Expire) -> Outcome:
        """End the live version if its time is up."""
        found = self.known.get(expire.address) or self.stored(expire.address)
        moment = self.now if expire.at is None else expire.at
        if found is None or found.ended_at is not None or not is_expired(found.expires_at, moment):
            return _NOTHING
        return self.finish_version(found, expire.address, EventKind.EXPIRED, EndReason.EXPIRED, expire.at)

    def relabel(self, relabel: Relabel) -> Outcome:
        """Give the live version other policy attributes, if it is the one that was read."""
        address, told = relabel.address, relabel.policy_attributes
        live = self.known.get(address) or self.stored(address)
        if live is None or live.ended_at is not None or is_expired(live.expires_at, self.now):
            return _NOTHING
        whole = None
        if live.revision == relabel.revision:
            whole = live if isinstance(live, Version) else self.as_recorded(live.id)
        if whole is None or whole.policy_attributes == told:
            return _NOTHING
        kind, at, state = EventKind.RELABELLED, max(self.now, live.written_at), relabelled_index_state(live.index_state)
        digest = replace(whole, policy_attributes=told).digest()
        sequence = self.tell(kind, address, live.id, live.revision, at, live.expires_at, "", digest)
        if isinstance(live, Version):
            live.policy_attributes, live.pinned_sequence, live.index_state = told, sequence, state
        else:
            self.labels[live.id] = Label(live.id, told, sequence, state)
            self.known[address] = replace(live, index_state=state)
        return Outcome(kind, sequence, live.id, live.revision, live.created_at, live.written_at, live.expires_at)

    def as_recorded(self, row_id: bytes) -> Version | None:
        """A stored version, with what this commit did before; None when it is not as the log recorded it.

        Pinning such a version anew would hide from `verify` whatever was done to it.
        """
        found = self.pinned(row_id)
        if found is None:
            return None
        version = found.version
        recorded_at = version.sequence if version.pinned_sequence is None else version.pinned_sequence
        altered = recorded_at > self.head.trimmed and found.digest != version.digest()
        if altered or recorded_at < version.sequence:
            return None
        label = self.labels.get(row_id)
        return version if label is None else replace(version, policy_attributes=label.policy_attributes)

    def finish_version(
        self, live: Newest | Version, address: Address, kind: EventKind, reason: EndReason, at: Instant | None
    ) -> Outcome:
        """End a live version with nothing in its place, now or at the moment when that happened elsewhere."""
        detail = self.detail(at)
        at = max(self.now if at is None else at, live.written_at)
        sequence = self.tell(kind, address, live.id, live.revision, at, live.expires_at, detail, NO_DIGEST)
        self.end(address, live, at, reason, sequence)
        return Outcome(kind, sequence, live.id, live.revision, live.created_at, at, live.expires_at)

    def tell(
        self,
        kind: EventKind,
        address: Address,
        row_id: bytes,
        revision: int,
        at: Instant,
        expires_at: Instant | None,
        detail: str,
        digest: bytes,
    ) -> int:
        """Append the next event, and return its sequence."""
        self.sequence += 1
        event = next_event(
            self.tenant,
            self.sequence,
            kind,
            address,
            row_id,
            revision,
            at,
            expires_at,
            self.actor,
            detail,
            digest,
            self.hash,
        )
        self.hash = event.hash
        self.events.append(event)
        return self.sequence

    def end(self, address: Address, version: Newest | Version, at: Instant, reason: EndReason, sequence: int) -> None:
        """Note that a version is no longer the live one."""
        state = ended_index_state(version.index_state)
        if isinstance(version, Version):
            version.ended_at, version.end_reason = at, reason
            version.ended_sequence, version.index_state = sequence, state
        else:
            self.endings.append(Ending(version.id, at, reason, sequence, state))
            self.known[address] = replace(version, ended_at=at)

    def finish(self) -> Plan:
        """Everything that was decided."""
        head = Head(self.sequence, self.hash, self.head.trimmed, self.head.trimmed_hash)
        receipt = Receipt(tuple(self.outcomes), self.sequence)
        return Plan(head, self.endings, self.versions, self.events, receipt, list(self.labels.values()))


_NOTHING = Outcome(None, None, None, 0, None, None, None)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The wish to make everything of one subject unreadable, with an identity so that it happens once."""

    id: bytes
    tenant: str
    subject: str
    namespace: Namespace
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Erased:
    """The receipt of an erasure: what was erased, and where in the log it says so."""

    id: bytes
    tenant: str
    subject: str
    sequence: int
    hash: bytes
    at: Instant
    versions: int
    live: int


def plan_erasure(erasure: Erasure, *, head: Head, versions: int, live: int, now: Instant) -> tuple[Event, Erased]:
    """The event and the receipt of an erasure that covers so many versions, so many of them live."""
    detail = msgspec.json.encode({"subject": erasure.subject, "versions": versions, "live": live}, order="sorted")
    event = next_event(
        erasure.tenant,
        head.sequence + 1,
        EventKind.ERASED,
        Address(Plane.ITEM, erasure.namespace, ""),
        erasure.id,
        0,
        now,
        None,
        erasure.actor,
        detail.decode(),
        NO_DIGEST,
        head.hash,
    )
    return event, Erased(erasure.id, erasure.tenant, erasure.subject, event.sequence, event.hash, now, versions, live)


def empty_version(version: Version) -> None:
    """Leave a version its place in history, and nothing of its contents, nor of what pinned them."""
    version.value = version.attributes = None
    version.policy_attributes, version.archived, version.index_fields = NONE, False, None
    version.pinned_sequence = None


def erase_version(version: Version, event: Event) -> None:
    """What an erasure leaves of a version: its place in history, and nothing of its contents."""
    empty_version(version)
    if version.ended_at is None:
        version.ended_at, version.end_reason = max(event.at, version.written_at), EndReason.ERASED
        version.ended_sequence = event.sequence
    version.index_state = ended_index_state(version.index_state)


def expire_commit(tenant: str, addresses: Iterable[Address]) -> Commit:
    """The commit by which a sweeper ends what has expired."""
    return Commit(tenant, tuple(Expire(address) for address in addresses), actor="sweeper")


def addresses_of(commit: Commit) -> list[Address]:
    """Every key whose newest version deciding the commit needs, once each."""
    touched = [operation.address for operation in commit.operations]
    touched += [condition.address for condition in commit.conditions if isinstance(condition, Expect)]
    return list(dict.fromkeys(touched)) if len(touched) > 1 else touched
