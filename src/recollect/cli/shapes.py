"""Answers as the REST API shapes them, made alike from what a server and an opened directory return."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.domain.callers import Caller as LocalCaller
    from recollect.domain.rows import Item as LocalItem
    from recollect.ports.store import Verification as LocalVerification
    from recollect.service.tokens import Token as LocalToken
    from recollect.service.views import ErasureReceipt as LocalReceipt
    from recollect.service.views import MemoryEvent
    from recollect.service.views import Written as LocalWritten
    from recollect_client import Caller, ErasureReceipt, Event, Item, Token, Verification, Written

    AnyItem = LocalItem | Item
    AnyEvent = MemoryEvent | Event
    AnyWritten = LocalWritten | Written
    AnyToken = LocalToken | Token

_TOKEN = ("id", "name", "tenant", "user_id", "client_id", "roles", "scopes")
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
    }


def found_item(found: AnyItem) -> dict[str, Any]:
    """An item of a search."""
    return item(found) | {"score": getattr(found, "score", None)}


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
    return {
        **deleted(namespace, key, done),
        "attributes": attributes,
        "created_at": moment(done.created_at),
        "updated_at": moment(done.updated_at),
        "expires_at": moment(done.expires_at),
        "archived": archived,
    }


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
