"""Deciding a commit: from what is stored now to exactly what is to be stored and told.

Backends load the newest version of every key that a commit touches, call `plan_commit`, and carry the
plan out in one transaction. All of the semantics of writing is here, so that backends cannot differ in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from recollect.domain.address import Address, Namespace
from recollect.domain.attributes import NONE
from recollect.domain.commits import Commit, Condition, Delete, Expect, Expire, Outcome, Put, Receipt, refuse_revision
from recollect.domain.errors import Contention
from recollect.domain.events import Event, Head, event_hash, version_digest
from recollect.domain.instants import Instant, checked_expiry
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.rows import is_expired

NO_DIGEST = bytes(32)
NO_RECEIPT = Receipt((), 0)
VALUE, ATTRIBUTES = "value", "attributes"


@dataclass(slots=True)
class Version:
    """One version as it is stored: sealed. Only its ending and its index state ever change."""

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
    digest: bytes
    ended_at: Instant | None = None
    end_reason: EndReason | None = None
    ended_sequence: int | None = None
    index_state: IndexState = IndexState.UNWANTED


@dataclass(frozen=True, slots=True)
class Newest:
    """What planning needs to know of the newest version of a key, live or not."""

    id: bytes
    revision: int
    created_at: Instant
    written_at: Instant
    expires_at: Instant | None
    ended_at: Instant | None
    index_state: IndexState


@dataclass(frozen=True, slots=True)
class Ending:
    """A stored version that stops being the live one."""

    id: bytes
    at: Instant
    reason: EndReason
    sequence: int
    index_state: IndexState


@dataclass(slots=True)
class Plan:
    """Everything to be written: endings first, then versions, then events, then the head."""

    head: Head
    endings: list[Ending] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    receipt: Receipt = NO_RECEIPT


class Seal(Protocol):
    """Seals one field of one version so that it cannot be read elsewhere or moved."""

    def __call__(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field sealed for exactly this place."""
        ...


def ended_index_state(state: IndexState) -> IndexState:
    """The index must hear of the end of whatever it may have heard of."""
    return IndexState.UNWANTED if state is IndexState.UNWANTED else IndexState.PENDING


def chained(
    tenant: str,
    head: Head,
    *,
    kind: EventKind,
    address: Address,
    row_id: bytes,
    revision: int,
    at: Instant,
    expires_at: Instant | None = None,
    actor: str = "",
    detail: str = "",
    digest: bytes = NO_DIGEST,
) -> Event:
    """The next event of a tenant's log."""
    sequence = head.sequence + 1
    hashed = event_hash(
        tenant=tenant,
        sequence=sequence,
        kind=kind,
        address=address,
        row_id=row_id,
        revision=revision,
        at=at,
        expires_at=expires_at,
        actor=actor,
        detail=detail,
        digest=digest,
        previous=head.hash,
    )
    return Event(
        tenant, sequence, kind, address, row_id, revision, at, expires_at, actor, detail, digest, head.hash, hashed
    )


def after(head: Head, event: Event) -> Head:
    """The head once the event is in the log."""
    return Head(event.sequence, event.hash, head.trimmed, head.trimmed_hash)


def plan_commit(
    commit: Commit,
    *,
    head: Head,
    newest: Callable[[Address], Newest | None],
    changed_since: Callable[[Plane, Namespace, int], bool],
    now: Instant,
    new_id: Callable[[Instant], bytes],
    seal: Seal,
) -> Plan:
    """Decide a commit. Raises, with nothing decided, when a condition does not hold."""
    work = _Planning(commit, head, newest, now, new_id, seal)
    for condition in commit.conditions:
        work.require(condition, changed_since)
    for operation in commit.operations:
        match operation:
            case Put():
                work.put(operation)
            case Delete():
                work.delete(operation)
            case Expire():
                work.expire(operation)
    return work.finish()


class _Planning:
    def __init__(
        self,
        commit: Commit,
        head: Head,
        newest: Callable[[Address], Newest | None],
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
        self.known: dict[Address, Newest | Version] = {}
        self.plan = Plan(head)
        self.outcomes: list[Outcome] = []

    def newest(self, address: Address) -> Newest | Version | None:
        return self.known.get(address) or self.stored(address)

    def live(self, address: Address) -> Newest | Version | None:
        found = self.newest(address)
        if found is None or found.ended_at is not None or is_expired(found.expires_at, self.now):
            return None
        return found

    def require(self, condition: Condition, changed_since: Callable[[Plane, Namespace, int], bool]) -> None:
        if isinstance(condition, Expect):
            live = self.live(condition.address)
            if (live.revision if live else 0) != condition.revision:
                raise Contention(f"{condition.address.namespace} · {condition.address.key} changed since it was read")
        elif changed_since(condition.plane, condition.within, condition.since):
            raise Contention(f"{str(condition.within) or 'the tenant'} changed since it was read")

    def put(self, put: Put) -> None:
        address = put.address
        self.expire(Expire(address), quiet=True)
        newest = self.newest(address)
        live = newest is not None and newest.ended_at is None
        if put.expected_revision is not None:
            actual = newest.revision if newest is not None and live else 0
            if actual != put.expected_revision:
                raise refuse_revision(address, put.expected_revision, actual)
        at, revision, created_at = self.now, 1, self.now
        if newest is not None:
            at = max(at, newest.written_at, newest.ended_at or newest.written_at)
            revision = newest.revision + 1
            created_at = newest.created_at if live else at
        kind = EventKind.UPDATE if live else EventKind.ADD
        expires_at = put.expires_at if put.ttl is None else checked_expiry(Instant(self.now + put.ttl))
        row_id = self.new_id(at)
        value = self.seal(self.tenant, address, row_id, revision, VALUE, put.value)
        attributes = None
        if put.attributes is not None:
            attributes = self.seal(self.tenant, address, row_id, revision, ATTRIBUTES, put.attributes)
        digest = version_digest(value, attributes, put.policy_attributes, created_at, expires_at)
        sequence = self.tell(kind, address, row_id, revision, at, expires_at, digest)
        if newest is not None and live:
            self.end(address, newest, at, EndReason.UPDATED, sequence)
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
            digest,
            index_state=IndexState.PENDING if put.index else IndexState.UNWANTED,
        )
        self.known[address] = version
        self.plan.versions.append(version)
        self.outcomes.append(Outcome(kind, sequence, row_id, revision, created_at, at, expires_at))

    def delete(self, delete: Delete) -> None:
        self.expire(Expire(delete.address), quiet=True)
        newest = self.newest(delete.address)
        live = newest if newest is not None and newest.ended_at is None else None
        actual = live.revision if live else 0
        if delete.expected_revision is not None and actual != delete.expected_revision:
            raise refuse_revision(delete.address, delete.expected_revision, actual)
        if live is None:
            self.outcomes.append(_NOTHING)
            return
        self.outcomes.append(self.finish_version(live, delete.address, EventKind.DELETE, EndReason.DELETED))

    def expire(self, expire: Expire, quiet: bool = False) -> None:
        newest = self.newest(expire.address)
        outcome = _NOTHING
        if newest is not None and newest.ended_at is None and is_expired(newest.expires_at, self.now):
            outcome = self.finish_version(newest, expire.address, EventKind.EXPIRED, EndReason.EXPIRED)
        if not quiet:
            self.outcomes.append(outcome)

    def finish_version(self, live: Newest | Version, address: Address, kind: EventKind, reason: EndReason) -> Outcome:
        at = max(self.now, live.written_at)
        sequence = self.tell(kind, address, live.id, live.revision, at, live.expires_at, NO_DIGEST)
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
        digest: bytes,
    ) -> int:
        plan = self.plan
        event = chained(
            self.tenant,
            plan.head,
            kind=kind,
            address=address,
            row_id=row_id,
            revision=revision,
            at=at,
            expires_at=expires_at,
            actor=self.actor,
            digest=digest,
        )
        plan.events.append(event)
        plan.head = after(plan.head, event)
        return event.sequence

    def end(self, address: Address, version: Newest | Version, at: Instant, reason: EndReason, sequence: int) -> None:
        state = ended_index_state(version.index_state)
        if isinstance(version, Version):
            version.ended_at, version.end_reason = at, reason
            version.ended_sequence, version.index_state = sequence, state
        else:
            self.plan.endings.append(Ending(version.id, at, reason, sequence, state))
            self.known[address] = replace(version, ended_at=at)

    def finish(self) -> Plan:
        self.plan.receipt = Receipt(tuple(self.outcomes), self.plan.head.sequence)
        return self.plan


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
    event = chained(
        erasure.tenant,
        head,
        kind=EventKind.ERASED,
        address=Address(Plane.ITEM, erasure.namespace, ""),
        row_id=erasure.id,
        revision=0,
        at=now,
        actor=erasure.actor,
        detail=detail.decode(),
    )
    return event, Erased(erasure.id, erasure.tenant, erasure.subject, event.sequence, event.hash, now, versions, live)


def erase_version(version: Version, event: Event) -> None:
    """What an erasure leaves of a version: its place in history, and nothing of its contents."""
    version.value = version.attributes = None
    version.policy_attributes = NONE
    if version.ended_at is None:
        version.ended_at, version.end_reason = max(event.at, version.written_at), EndReason.ERASED
        version.ended_sequence = event.sequence
    version.index_state = ended_index_state(version.index_state)


def expire_commit(tenant: str, addresses: Iterable[Address]) -> Commit:
    """The commit by which a sweeper ends what has expired."""
    return Commit(tenant, tuple(Expire(address) for address in addresses), actor="sweeper")


def addresses_of(commit: Commit) -> Iterable[Address]:
    """Every key whose newest version deciding the commit needs, once each."""
    touched = [operation.address for operation in commit.operations]
    touched += [condition.address for condition in commit.conditions if isinstance(condition, Expect)]
    return dict.fromkeys(touched)
