"""What callers give to and get from the service, under the same names as in process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A datetime with its time zone; the service always answers in UTC."""


@dataclass(frozen=True, slots=True)
class PutOp:
    """One `put` of a batch; the fields are those of `Client.put`."""

    namespace: Sequence[str]
    key: str
    value: Mapping[str, Any]
    _: KW_ONLY
    attributes: Mapping[str, Any] | None = None
    ttl: float | timedelta | None = None
    expires_at: datetime | None = None
    index_fields: Sequence[str] | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """One `delete` of a batch; the fields are those of `Client.delete`."""

    namespace: Sequence[str]
    key: str
    expected_revision: int | None = None


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The confirmation of one operation."""

    kind: str | None
    """What it was in the end: add, update, delete; None when there was nothing to do."""
    namespace: tuple[str, ...]
    key: str
    revision: int
    """The revision that was written or ended; 0 when there was nothing to do."""
    id: UUID | None = None
    """The identity of the version that was written or ended."""
    sequence: int | None = None
    """The place of its event in the log."""
    attributes: dict[str, Any] | None = None
    created_at: Moment | None = None
    """When the key was first given a value."""
    updated_at: Moment | None = None
    """When this happened."""
    expires_at: Moment | None = None
    """When it expires."""
    archived: bool = False
    replayed: bool = False
    """True when an earlier call with the same idempotency key had done it."""
    indexed: bool | None = None
    """Whether queries find it already; None unless it was asked to wait for that."""

    def __hash__(self) -> int:
        return hash((self.id, self.sequence))

    def __repr__(self) -> str:
        return f"Written({self.kind} · revision {self.revision} · event {self.sequence})"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A stored value with what is known about it."""

    id: UUID
    """The identity of this version."""
    namespace: tuple[str, ...]
    """The segments of the namespace it lies in."""
    key: str
    """Its name within the namespace."""
    value: dict[str, Any] | None
    """The stored object; None for a version whose value was evicted or erased."""
    attributes: dict[str, Any] | None = None
    """The attributes given with the value, or None."""
    revision: int
    """How often the key was written so far, this version included."""
    archived: bool = False
    """True while it is left out unless asked for."""
    created_at: Moment
    """When the key was first given a value; kept when the value is updated."""
    updated_at: Moment
    """When this version was written."""
    expires_at: Moment | None = None
    """From when on it can no longer be read; None when it does not expire."""
    ended_at: Moment | None = None
    """When this version stopped being the live one; None while it is."""
    end_reason: str | None = None
    """Why this version stopped being the live one; None while it is."""
    score: float | None = None
    """How well it answers a query, from 0 to 1, within one answer; None when none was asked."""
    matched_queries: tuple[int, ...] = ()
    """Which of several queries found it, counted from 0."""
    explanation: dict[str, Any] | None = None
    """What each arm of the search said of it; None unless that was asked for."""
    usage: dict[str, Any] | None = None
    """How often and when it was last fetched; None unless that was asked for."""

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Item({'/'.join(self.namespace)} · {self.key} · revision {self.revision})"


class Found(msgspec.Struct, frozen=True):
    """Items of a search, and the cursor for those after them; None when there are no more."""

    items: list[Item]
    cursor: str | None
    explanation: dict[str, Any] | None = None
    """How a query was answered; None unless that was asked for."""

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log."""

    kind: str
    """What happened: add, update, delete, expired or erased."""
    namespace: tuple[str, ...]
    """Where it happened."""
    key: str
    """To which key; empty for an erasure, which concerns the whole subtree."""
    sequence: int
    """Its place in the tenant's log."""
    cursor: str
    """Where to continue reading after this event."""
    revision: int
    """The revision that was written or ended."""
    occurred_at: Moment
    """When it happened; a label, while the order is the sequence."""
    id: UUID | None = None
    """The identity of the version that was written or ended."""
    value: dict[str, Any] | None = None
    """The value that was written; None for an end, and once the version was evicted or erased."""
    attributes: dict[str, Any] | None = None
    """The attributes that were written, under the same conditions."""
    expires_at: Moment | None = None
    """When the version expires or expired."""
    archived: bool = False
    actor: str = ""
    """Who asked for it."""
    detail: dict[str, Any] | None = None
    """More about it, where there is more: what an erasure erased."""

    def __hash__(self) -> int:
        return hash((self.sequence, self.cursor))

    def __repr__(self) -> str:
        return f"Event({self.sequence} · {self.kind} · {'/'.join(self.namespace)} · {self.key})"


class Events(msgspec.Struct, frozen=True):
    """A page of the log, and the cursor from which to continue, whether or not there is more yet."""

    events: list[Event]
    cursor: str = msgspec.field(name="after_cursor")
    complete: bool

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong, and where in the log."""

    finding: str
    sequence: int
    message: str


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` looked at, and every problem it found."""

    sound: bool
    """True when nothing was found."""
    head: str
    """Where the log ended, as `head` tells it."""
    events: int
    versions: int
    problems: tuple[Problem, ...]


class ErasureReceipt(msgspec.Struct, frozen=True):
    """Proof of an erasure: what was made unreadable, and the event of the log that says so."""

    id: UUID
    subject: str
    versions: int
    live: int
    sequence: int
    hash: str
    at: Moment


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """An API key as it is listed: whom it stands for and how long, never the secret."""

    id: str
    name: str
    tenant: str
    user_id: str
    client_id: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: Moment
    created_by: str
    expires_at: Moment | None = None
    revoked_at: Moment | None = None


class NewToken(msgspec.Struct, frozen=True):
    """A fresh API key, and its secret: the only time that it is shown."""

    token: Token
    secret: str

    def __repr__(self) -> str:
        return f"NewToken({self.token!r}, secret=…)"


class ExportPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of everything a tenant has, and the cursor for the next part."""

    source: str
    """Which log this comes from, as `import_page` wants to know."""
    entries: list[dict[str, Any]]
    cursor: str | None
    done: int
    """How far it got, out of `total`."""
    total: int


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """How far an import has come, and what this part of it did."""

    source: str
    sequence: int
    imported: int
    skipped: int


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who the service takes the holder of the token for."""

    tenant: str
    user_id: str
    client_id: str = ""
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    credential: str = ""
    """By which key or token they were recognised; it is no secret."""


class PolicyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One policy that was in force once, or is."""

    number: int
    """Counted from 1; 0 stands for the policy of the service, which is the built-in one unless it has its own."""
    digest: str
    source: str
    note: str
    by: str
    at: Moment | None = None


class PolicyInForce(msgspec.Struct, frozen=True, kw_only=True):
    """The policy in force, with its texts, and the versions that can be gone back to."""

    version: PolicyVersion
    modules: dict[str, str]
    packages: tuple[str, ...]
    """Those that it has itself; the built-in ones stand in for the others."""
    versions: tuple[PolicyVersion, ...]

    def __hash__(self) -> int:
        return hash((self.version.number, self.version.digest))


class PolicyProblem(msgspec.Struct, frozen=True):
    """Why a bundle is refused, and where in it."""

    message: str
    module: str = ""
    line: int = 0


class Check(msgspec.Struct, frozen=True):
    """One test of a bundle, or one question to which every bundle must say no."""

    name: str
    passed: bool
    note: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a bundle before it may decide anything."""

    sound: bool
    """True when it may be put in force."""
    problems: tuple[PolicyProblem, ...]
    checks: tuple[Check, ...]
    packages: tuple[str, ...]
    """Those that the bundle itself has; the built-in ones stand in for the others."""


class Decision(msgspec.Struct, frozen=True):
    """Whether something may be done, and why not."""

    allow: bool
    reason: str = ""


class Narrowed(msgspec.Struct, frozen=True):
    """The part of a search that the caller may see: below this prefix, and matching this filter."""

    prefix: tuple[str, ...] = msgspec.field(name="namespace_prefix")
    filter: dict[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.prefix)


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One clause of the rule that decides: whether it held, and what in it did not."""

    module: str
    line: int
    title: str
    held: bool
    failed: str = ""
    """The first expression that did not hold."""
    failed_line: int = 0


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why the policy says what it says."""

    package: str
    rule: str
    """The rule that was asked, by its full name."""
    decision: Decision | None = None
    narrowed: Narrowed | None = None
    clauses: tuple[Clause, ...] = ()
    input: dict[str, Any] = {}
    """What the rule was told."""

    def __hash__(self) -> int:
        return hash((self.rule, self.decision, self.clauses))


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that would be another one: who wanted to do what, and what they would be told."""

    user_id: str
    client_id: str
    roles: tuple[str, ...]
    action: str
    namespace: tuple[str, ...]
    key: str
    before: Decision
    after: Decision


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy would have decided otherwise, of all that was asked lately."""

    tried: int
    changes: tuple[Change, ...]
    report: Report


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was done, by whom, why, and what exactly."""

    id: UUID
    action: str
    by: str
    at: Moment
    justification: str
    details: dict[str, Any]

    def __hash__(self) -> int:
        return hash(self.id)


class AuditPage(msgspec.Struct, frozen=True):
    """Entries, newest first, and where to go on."""

    entries: list[AuditEntry]
    cursor: str | None


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """How far the attributes of what is stored were brought up to date with the policy in force."""

    running: bool
    done: int
    """How many items were looked at."""
    total: int
    changed: int
    """How many of them got other attributes."""
    failed: int
    """How many the policy could not be asked about; they keep the attributes they have."""
    started_at: Moment | None = None
    finished_at: Moment | None = None


class Rebuilding(msgspec.Struct, frozen=True, kw_only=True):
    """How far the vectors of another model are made, which searches will use once all are there."""

    model: str
    done: int
    total: int
    started_at: Moment


class IndexStatus(msgspec.Struct, frozen=True, kw_only=True):
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


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that can be changed at run time, and which of them were."""

    settings: dict[str, int | float]
    changed: tuple[str, ...]

    def __hash__(self) -> int:
        return hash(self.changed)
