"""Answers as the REST API shapes them, made alike from what a server and an opened directory return."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.domain.callers import Caller as LocalCaller
    from recollect.domain.rows import Item as LocalItem
    from recollect.ports.policy import Explanation as LocalExplanation
    from recollect.ports.policy import Report as LocalReport
    from recollect.ports.store import Verification as LocalVerification
    from recollect.service.audit import AuditEntry as LocalAuditEntry
    from recollect.service.policies import Change as LocalChange
    from recollect.service.policies import PolicyInForce as LocalPolicy
    from recollect.service.policies import Simulation as LocalSimulation
    from recollect.service.tokens import Token as LocalToken
    from recollect.service.tuning import Tuned as LocalTuned
    from recollect.service.views import ErasureReceipt as LocalReceipt
    from recollect.service.views import Found as LocalFound
    from recollect.service.views import IndexStatus as LocalIndexStatus
    from recollect.service.views import MemoryEvent
    from recollect.service.views import Rebuilding as LocalRebuilding
    from recollect.service.views import Written as LocalWritten
    from recollect_client import (
        AuditEntry,
        Caller,
        Change,
        ErasureReceipt,
        Event,
        Explanation,
        Found,
        IndexStatus,
        Item,
        PolicyInForce,
        Rebuilding,
        Report,
        Simulation,
        Token,
        Tuned,
        Verification,
        Written,
    )

    AnyItem = LocalItem | Item
    AnyFound = LocalFound | Found
    AnyEvent = MemoryEvent | Event
    AnyWritten = LocalWritten | Written
    AnyToken = LocalToken | Token
    AnyPolicy = LocalPolicy | PolicyInForce
    AnyReport = LocalReport | Report
    AnyExplanation = LocalExplanation | Explanation
    AnySimulation = LocalSimulation | Simulation
    AnyAuditEntry = LocalAuditEntry | AuditEntry
    AnyIndexStatus = LocalIndexStatus | IndexStatus
    AnyRebuilding = LocalRebuilding | Rebuilding
    AnyTuned = LocalTuned | Tuned

_TOKEN = ("id", "name", "tenant", "user_id", "client_id", "roles", "scopes")
_VERSION = ("number", "digest", "source", "note", "by")
_CLAUSE = ("module", "line", "title", "held", "failed", "failed_line")
_EXTRACTION = ("running", "done", "total", "changed", "failed")
_REBUILDING = ("model", "done", "total")
_RECEIPT = ("id", "subject", "versions", "live", "sequence", "hash")


def moment(at: datetime | None) -> str | None:
    """A moment in UTC, always with microseconds."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def item(found: AnyItem) -> dict[str, Any]:
    """An item."""
    return {
        "id": str(found.id),
        "namespace": list(found.namespace),
        "key": found.key,
        "value": found.value,
        "attributes": found.attributes,
        "revision": found.revision,
        "archived": found.archived,
        "created_at": moment(found.created_at),
        "updated_at": moment(found.updated_at),
        "expires_at": moment(found.expires_at),
    } | ({} if found.usage is None else {"usage": found.usage})


def found(page: AnyFound, *, several: bool = False) -> dict[str, Any]:
    """A page of a search."""
    told = {"items": [found_item(each, several=several) for each in page], "cursor": page.cursor}
    return told if page.explanation is None else told | {"explanation": page.explanation}


def found_item(found: AnyItem, *, several: bool = False) -> dict[str, Any]:
    """An item of a search; with `several` queries, it says which of them found it."""
    told = item(found) | {"score": found.score}
    if several:
        told["matched_queries"] = list(found.matched_queries)
    return told if found.explanation is None else told | {"explanation": found.explanation}


def version(found: AnyItem) -> dict[str, Any]:
    """A version of an item."""
    return item(found) | {"ended_at": moment(found.ended_at), "end_reason": found.end_reason}


def written(
    namespace: tuple[str, ...],
    key: str,
    done: AnyWritten,
    attributes: dict[str, Any] | None = None,
    *,
    archived: bool = False,
) -> dict[str, Any]:
    """The confirmation of a write."""
    told = {
        **deleted(namespace, key, done),
        "attributes": attributes,
        "created_at": moment(done.created_at),
        "updated_at": moment(done.updated_at),
        "expires_at": moment(done.expires_at),
        "archived": archived,
    }
    return told if done.indexed is None else told | {"indexed": done.indexed}


def deleted(namespace: tuple[str, ...], key: str, done: AnyWritten) -> dict[str, Any]:
    """The confirmation of a deletion."""
    return {
        "id": None if done.id is None else str(done.id),
        "namespace": list(namespace),
        "key": key,
        "kind": done.kind,
        "revision": done.revision,
        "sequence": done.sequence,
    }


def event(told: AnyEvent) -> dict[str, Any]:
    """An entry of the log."""
    return {
        "id": None if told.id is None else str(told.id),
        "namespace": list(told.namespace),
        "key": told.key,
        "kind": told.kind,
        "sequence": told.sequence,
        "cursor": told.cursor,
        "revision": told.revision,
        "occurred_at": moment(told.occurred_at),
        "value": told.value,
        "attributes": told.attributes,
        "expires_at": moment(told.expires_at),
        "archived": told.archived,
        "actor": told.actor,
        "detail": told.detail,
    }


def verification(found: LocalVerification | Verification) -> dict[str, Any]:
    """What a check of the log found."""
    head = found.head
    return {
        "sound": found.sound,
        "head": head if isinstance(head, str) else head.text(),
        "events": found.events,
        "versions": found.versions,
        "problems": [{"finding": p.finding, "sequence": p.sequence, "message": p.message} for p in found.problems],
    }


def token(found: AnyToken) -> dict[str, Any]:
    """An API key."""
    return {
        **{name: getattr(found, name) for name in _TOKEN},
        "created_at": moment(found.created_at),
        "created_by": found.created_by,
        "expires_at": moment(found.expires_at),
        "revoked_at": moment(found.revoked_at),
    }


def caller(who: LocalCaller | Caller) -> dict[str, Any]:
    """Who asks."""
    return {
        "tenant": who.tenant,
        "user_id": who.user_id,
        "client_id": who.client_id,
        "roles": sorted(who.roles),
        "scopes": sorted(who.scopes),
        "credential": who.credential,
    }


def receipt(erased: LocalReceipt | ErasureReceipt) -> dict[str, Any]:
    """The proof of an erasure."""
    return {name: getattr(erased, name) for name in _RECEIPT} | {"at": moment(erased.at)}


# -- policies, the audit, the index and the settings


def policy(found: AnyPolicy) -> dict[str, Any]:
    """The policy in force, with its texts and the versions before it."""
    return {
        "version": policy_version(found.version),
        "modules": dict(found.modules),
        "packages": list(found.packages),
        "versions": [policy_version(each) for each in found.versions],
    }


def policy_version(found: Any) -> dict[str, Any]:
    """One version of a policy, without its texts."""
    return {name: getattr(found, name) for name in _VERSION} | {"at": moment(found.at)}


def report(found: AnyReport) -> dict[str, Any]:
    """What there is to say against a policy."""
    return {
        "sound": found.sound,
        "problems": [{"message": each.message, "module": each.module, "line": each.line} for each in found.problems],
        "checks": [{"name": each.name, "passed": each.passed, "note": each.note} for each in found.checks],
        "packages": list(found.packages),
    }


def explanation(found: AnyExplanation) -> dict[str, Any]:
    """Why a policy says what it says."""
    decision, narrowed = found.decision, found.narrowed
    opened = None if narrowed is None else {"namespace_prefix": list(narrowed.prefix), "filter": narrowed.filter}
    return {
        "package": found.package,
        "rule": found.rule,
        "decision": None if decision is None else {"allow": decision.allow, "reason": decision.reason},
        "narrowed": opened,
        "clauses": [{name: getattr(each, name) for name in _CLAUSE} for each in found.clauses],
        "input": found.input,
    }


def simulation(found: AnySimulation) -> dict[str, Any]:
    """What a policy would have decided otherwise."""
    return {
        "tried": found.tried,
        "changes": [change(each) for each in found.changes],
        "report": report(found.report),
    }


def change(found: LocalChange | Change) -> dict[str, Any]:
    """A decision that would be another one."""
    asked: Any = getattr(found, "asked", found)
    who: Any = getattr(asked, "caller", asked)
    return {
        "user_id": who.user_id,
        "client_id": who.client_id,
        "roles": sorted(who.roles),
        "action": asked.action,
        "namespace": list(asked.namespace),
        "key": asked.key,
        "before": {"allow": found.before.allow, "reason": found.before.reason},
        "after": {"allow": found.after.allow, "reason": found.after.reason},
    }


def audit_entry(found: AnyAuditEntry) -> dict[str, Any]:
    """One thing that was done."""
    return {
        "id": str(found.id),
        "action": found.action,
        "by": found.by,
        "at": moment(found.at),
        "justification": found.justification,
        "details": found.details,
    }


def index_status(found: AnyIndexStatus) -> dict[str, Any]:
    """What is indexed, and what is still to be done behind the scenes."""
    extraction, rebuilding = found.extraction, found.rebuilding
    moments = {"started_at": moment(extraction.started_at), "finished_at": moment(extraction.finished_at)}
    return {
        "pending": found.pending,
        "failed": found.failed,
        "indexed": found.indexed,
        "model": found.model,
        "rebuilding": None
        if rebuilding is None
        else {name: getattr(rebuilding, name) for name in _REBUILDING} | {"started_at": moment(rebuilding.started_at)},
        "extraction": {name: getattr(extraction, name) for name in _EXTRACTION} | moments,
    }


def tuned(found: AnyTuned) -> dict[str, Any]:
    """The settings that can be changed at run time."""
    return {"settings": dict(found.settings), "changed": list(found.changed)}
