"""Answers on the wire: what the use-cases return, as JSON, in which stored values are the very bytes they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from recollect.domain.callers import Caller
from recollect.domain.instants import Instant, datetime_of
from recollect.domain.rows import Item
from recollect.ports.policy import Explanation, Report
from recollect.ports.store import Verification
from recollect.service.audit import AuditPage
from recollect.service.policies import Change, PolicyInForce, Simulation
from recollect.service.tokens import NewToken, Token
from recollect.service.transfer import ExportPage, Imported
from recollect.service.tuning import Tuned
from recollect.service.views import DeleteOp, ErasureReceipt, Events, Found, IndexStatus, MemoryEvent, PutOp, Written
from recollect.wire.requests import PatchBody

Told = TypeVar("Told")
_NULL = msgspec.Raw(b"null")
encode = msgspec.json.Encoder().encode


class WrittenAnswer(msgspec.Struct):
    """The confirmation of a write."""

    id: str | None
    namespace: list[str]
    key: str
    kind: str | None
    revision: int
    sequence: int | None
    attributes: Any
    created_at: str | None
    updated_at: str | None
    expires_at: str | None
    archived: bool
    indexed: bool | msgspec.UnsetType = msgspec.UNSET


class DeletedAnswer(msgspec.Struct):
    """The confirmation of a deletion within a batch."""

    id: str | None
    namespace: list[str]
    key: str
    kind: str | None
    revision: int
    sequence: int | None
    indexed: bool | msgspec.UnsetType = msgspec.UNSET


class ItemAnswer(msgspec.Struct):
    """An item."""

    id: str
    namespace: tuple[str, ...]
    key: str
    value: msgspec.Raw
    attributes: msgspec.Raw
    revision: int
    archived: bool
    created_at: str
    updated_at: str
    expires_at: str | None
    usage: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class FoundAnswer(ItemAnswer):
    """An item of a search; its score is null when nothing was ranked, and the rest is told only where it was asked."""

    score: float | None = None
    matched_queries: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    explanation: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class VersionAnswer(ItemAnswer):
    """A version of an item, with when and why it ended."""

    ended_at: str | None = None
    end_reason: str | None = None


class EventAnswer(msgspec.Struct):
    """An entry of the log."""

    id: str
    namespace: tuple[str, ...]
    key: str
    kind: str
    sequence: int
    cursor: str
    revision: int
    occurred_at: str
    value: msgspec.Raw
    attributes: msgspec.Raw
    expires_at: str | None
    archived: bool
    actor: str
    detail: Any


def written(operation: PutOp, done: Written) -> WrittenAnswer:
    """The confirmation of a put."""
    return _written(operation.namespace, operation.key, done, operation.attributes, archived=False)


def archived(wish: PatchBody, done: Written) -> WrittenAnswer:
    """The confirmation that an item was set aside or brought back."""
    return _written(wish.namespace, wish.key, done, None, archived=wish.archived)


def _written(
    namespace: Sequence[str], key: str, done: Written, attributes: Mapping[str, Any] | None, *, archived: bool
) -> WrittenAnswer:
    outcome = done.outcome
    return WrittenAnswer(
        None if outcome.id is None else _uuid(outcome.id),
        list(namespace),
        key,
        done.kind,
        done.revision,
        done.sequence,
        attributes,
        rfc3339(done.created_at),
        rfc3339(done.updated_at),
        rfc3339(done.expires_at),
        archived,
        _told(done.indexed),
    )


def step(operation: PutOp | DeleteOp, done: Written) -> WrittenAnswer | DeletedAnswer:
    """The confirmation of a step of a batch."""
    if isinstance(operation, PutOp):
        return written(operation, done)
    return DeletedAnswer(
        None if done.id is None else str(done.id),
        list(operation.namespace),
        operation.key,
        done.kind,
        done.revision,
        done.sequence,
        _told(done.indexed),
    )


def item(found: Item) -> ItemAnswer:
    """An item as its reader gets it."""
    told = ItemAnswer(*_item(found))
    told.usage = _told(found.usage)
    return told


def version(found: Item) -> VersionAnswer:
    """A version as its reader gets it."""
    ended = VersionAnswer(*_item(found))
    ended.ended_at, ended.end_reason = rfc3339(found.ended_at), found.end_reason
    return ended


def search(found: Found, *, several: bool = False) -> dict[str, Any]:
    """A page of a search; with `several` queries, each item says which of them found it."""
    told = {"items": [_found(each, several) for each in found.items], "cursor": found.cursor}
    return told if found.explanation is None else told | {"explanation": found.explanation}


def _found(each: Item, several: bool) -> FoundAnswer:
    told = FoundAnswer(*_item(each))
    told.score, told.explanation, told.usage = each.score, _told(each.explanation), _told(each.usage)
    if several:
        told.matched_queries = each.matched_queries
    return told


def _item(found: Item) -> tuple[Any, ...]:
    row = found.row
    return (
        _uuid(row.id),
        row.address.namespace.segments,
        row.address.key,
        _raw(row.value),
        _raw(row.attributes),
        row.revision,
        row.archived,
        _moment(row.created_at),
        _moment(row.written_at),
        _moment(row.expires_at),
    )


def events(page: Events) -> dict[str, Any]:
    """A page of the log."""
    return {
        "events": [event(each) for each in page.events],
        "after_cursor": page.cursor,
        "complete": page.complete,
    }


def event(entry: MemoryEvent) -> EventAnswer:
    """One entry of the log."""
    told, row = entry.entry.event, entry.entry.row
    return EventAnswer(
        _uuid(told.row_id),
        told.address.namespace.segments,
        told.address.key,
        told.kind,
        told.sequence,
        entry.cursor,
        told.revision,
        _moment(told.at),
        _NULL if row is None else _raw(row.value),
        _NULL if row is None else _raw(row.attributes),
        _moment(told.expires_at),
        row is not None and row.archived,
        told.actor,
        entry.detail,
    )


def verification(found: Verification) -> dict[str, Any]:
    """What `verify` looked at and found."""
    problems = [{"finding": p.finding, "sequence": p.sequence, "message": p.message} for p in found.problems]
    return {
        "sound": found.sound,
        "head": found.head.text(),
        "events": found.events,
        "versions": found.versions,
        "problems": problems,
    }


def receipt(erased: ErasureReceipt) -> Mapping[str, Any]:
    """The proof of an erasure."""
    return _fields(erased)


def token(found: Token) -> Mapping[str, Any]:
    """An API key as it is listed."""
    return _fields(found)


def new_token(made: NewToken) -> dict[str, Any]:
    """A fresh API key with its secret."""
    return {"token": token(made.token), "secret": made.secret}


def exported(page: ExportPage) -> Mapping[str, Any]:
    """A page of an export."""
    return _fields(page)


def imported(done: Imported) -> Mapping[str, Any]:
    """How far an import got."""
    return _fields(done)


def policy(found: PolicyInForce) -> dict[str, Any]:
    """The policy in force, with its texts and the versions before it."""
    return {
        "version": _fields(found.version),
        "modules": found.modules,
        "packages": found.packages,
        "versions": [_fields(each) for each in found.versions],
    }


def report(found: Report) -> dict[str, Any]:
    """What there is to say against a policy."""
    return {
        "sound": found.sound,
        "problems": found.problems,
        "checks": found.checks,
        "packages": found.packages,
    }


def explanation(found: Explanation) -> dict[str, Any]:
    """Why a policy says what it says."""
    narrowed = found.narrowed
    return {
        "package": found.package,
        "rule": found.rule,
        "decision": found.decision,
        "narrowed": narrowed and {"namespace_prefix": narrowed.prefix, "filter": narrowed.filter},
        "clauses": found.clauses,
        "input": found.input,
    }


def simulation(found: Simulation) -> dict[str, Any]:
    """What a policy would have decided otherwise."""
    return {
        "tried": found.tried,
        "changes": [_change(each) for each in found.changes],
        "report": report(found.report),
    }


def _change(found: Change) -> dict[str, Any]:
    asked, who = found.asked, found.asked.caller
    return {
        "user_id": who.user_id,
        "client_id": who.client_id,
        "roles": sorted(who.roles),
        "action": asked.action,
        "namespace": asked.namespace,
        "key": asked.key,
        "before": found.before,
        "after": found.after,
    }


def audit(page: AuditPage) -> dict[str, Any]:
    """A page of what administrators did."""
    return {"entries": [_fields(each) for each in page.entries], "cursor": page.cursor}


def index_status(found: IndexStatus) -> dict[str, Any]:
    """What is indexed, and what is still to be done behind the scenes."""
    return {
        "pending": found.pending,
        "failed": found.failed,
        "indexed": found.indexed,
        "model": found.model,
        "rebuilding": None if found.rebuilding is None else _fields(found.rebuilding),
        "extraction": _fields(found.extraction),
    }


def tuned(found: Tuned) -> Mapping[str, Any]:
    """The settings that can be changed at run time."""
    return _fields(found)


def caller(who: Caller) -> dict[str, Any]:
    """Who asks, as the service knows them."""
    return {
        "tenant": who.tenant,
        "user_id": who.user_id,
        "client_id": who.client_id,
        "roles": sorted(who.roles),
        "scopes": sorted(who.scopes),
        "credential": who.credential,
    }


def _fields(thing: Any) -> Mapping[str, Any]:
    shown = {name: getattr(thing, name) for name in thing.__dataclass_fields__}
    return {name: rfc3339(value) if isinstance(value, datetime) else value for name, value in shown.items()}


def _told(said: Told | None) -> Told | msgspec.UnsetType:
    """What was asked for; what was not is left out."""
    return msgspec.UNSET if said is None else said


def _raw(encoded: bytes | None) -> msgspec.Raw:
    return _NULL if encoded is None else msgspec.Raw(encoded)


def _moment(instant: Instant | None) -> Any:
    return None if instant is None else rfc3339(datetime_of(instant))


def rfc3339(moment: datetime | None) -> Any:
    """A moment as answers give it; always with microseconds, which a plain encoder leaves out when they are zero."""
    return None if moment is None else moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _uuid(raw: bytes) -> str:
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
