"""Versions and events as documents, and what of them held at an earlier commit.

Enumerations are stored by their value and namespaces by their encoding. What users name (keys, attributes) is only ever
a value, never the name of a field. A version's document has, beside its own fields:

    place   a hash of where the version is, the same for every version of a key
    slot    the place while it is live, its own id afterwards; unique, so that no key can have two live versions
    began   the number of the commit that made it
    since   the number of the last commit that changed it
    was     what its fields were before that, and before that: the newest first, each with its own `since`
    gone    the number of the commit that purged it; what is left keeps a late writer from making it anew
    entries what the search index keeps of it, by series; `change` says when that last changed
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from recollect.backends.mongodb.driver import Document
from recollect.domain.address import Address, Namespace, decode_namespace, subtree_bounds
from recollect.domain.errors import KeyErased
from recollect.domain.events import Event
from recollect.domain.planning import ATTRIBUTES, VALUE, Newest, Version
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.rows import Row
from recollect.ports.keys import Sealer

KEPT_STATES = 4
"""How many earlier states a version's document has at most; who reads at a still earlier one reads anew."""
WITHOUT_ENTRIES = {"entries": 0}
_MARKS = {0: False, 1: True}


class Moved(Exception):
    """What a reader wanted to see was overwritten meanwhile: it has to look again, at a later commit."""


def name_of(row_id: bytes) -> str:
    """The name of a version's document."""
    return row_id.hex()


def event_name(tenant: str, sequence: int) -> str:
    """The name of an event's document."""
    return f"{tenant}/{sequence:016x}"


def place_of(tenant: str, address: Address) -> bytes:
    """A short name for a place, that no other place has."""
    parts = (tenant, address.plane.value, address.namespace.encoded, address.key)
    return sha256(msgspec.msgpack.encode(parts)).digest()


def at_address(tenant: str, address: Address) -> Document:
    """Every version of a key."""
    return {"tenant": tenant, "place": place_of(tenant, address)}


def below(within: Namespace) -> Document:
    """The range of encodings at or below a namespace: between the two, no other encoding can lie."""
    return {"$gte": within.encoded, "$lt": subtree_bounds(within.encoded)[1]}


def version_document(tenant: str, version: Version, number: int) -> Document:
    """A new version, made by the commit of that number."""
    address = version.address
    place = place_of(tenant, address)
    return {
        "_id": name_of(version.id),
        "tenant": tenant,
        "place": place,
        "slot": place if version.ended_at is None else version.id,
        "began": number,
        "since": number,
        "was": [],
        "plane": address.plane.value,
        "namespace": address.namespace.encoded,
        "key": address.key,
        "revision": version.revision,
        "sequence": version.sequence,
        "value": version.value,
        "attributes": version.attributes,
        "policy_attributes": version.policy_attributes,
        "created_at": version.created_at,
        "written_at": version.written_at,
        "expires_at": version.expires_at,
        "ended_at": version.ended_at,
        "end_reason": None if version.end_reason is None else version.end_reason.value,
        "ended_sequence": version.ended_sequence,
        "index_state": version.index_state.value,
        "archived": int(version.archived),
        "index_fields": version.index_fields,
        "pinned_sequence": version.pinned_sequence,
        "index_attempts": 0,
        "index_after": None,
    }


def changed(document: Document, number: int, fields: Document, *, forget: bool = False) -> Document:
    """What to set so that the commit of that number changes these fields; what they were is kept, unless to forget."""
    past = {name: document.get(name) for name in fields}
    was = [] if forget else [{"since": document["since"], **past}, *document["was"]][:KEPT_STATES]
    return {**fields, "since": number, "was": was}


def as_at(document: Document, number: int) -> Document | None:
    """The document as it was after the commit of that number; None when it was not there."""
    if document["began"] > number:
        return None
    while document["since"] > number:
        if not document["was"]:
            raise Moved
        before, *older = document["was"]
        document = {**document, **before, "was": older}
    return None if document.get("gone") else document


def address_in(document: Mapping[str, Any]) -> Address:
    """Where the thing is that a document tells of."""
    return Address(Plane(document["plane"]), decode_namespace(document["namespace"]), document["key"])


def stored_version(document: Mapping[str, Any]) -> Version:
    """The version, sealed. Raises `ValueError` or `KeyError` when a field is of no known kind."""
    reason = document["end_reason"]
    return Version(
        address=address_in(document),
        id=bytes.fromhex(document["_id"]),
        revision=document["revision"],
        sequence=document["sequence"],
        value=document["value"],
        attributes=document["attributes"],
        policy_attributes=document["policy_attributes"],
        created_at=document["created_at"],
        written_at=document["written_at"],
        expires_at=document["expires_at"],
        ended_at=document["ended_at"],
        end_reason=None if reason is None else EndReason(reason),
        ended_sequence=document["ended_sequence"],
        index_state=IndexState(document["index_state"]),
        archived=_MARKS[document["archived"]],
        index_fields=document["index_fields"],
        pinned_sequence=document["pinned_sequence"],
    )


def newest_in(document: Mapping[str, Any]) -> Newest:
    """What planning needs to know of a version."""
    return Newest(
        bytes.fromhex(document["_id"]),
        document["revision"],
        document["created_at"],
        document["written_at"],
        document["expires_at"],
        document["ended_at"],
        IndexState(document["index_state"]),
    )


def row_in(document: Mapping[str, Any], sealer: Sealer) -> Row:
    """The row of a version, opened. One whose key was destroyed a moment ago is empty already."""
    version, tenant = stored_version(document), document["tenant"]
    value, attributes = version.value, version.attributes
    try:
        if value is not None:
            value = sealer.open(tenant, version.address, version.id, version.revision, VALUE, value)
        if attributes is not None:
            attributes = sealer.open(tenant, version.address, version.id, version.revision, ATTRIBUTES, attributes)
    except KeyErased:
        value = attributes = None
    return Row(
        tenant,
        version.address,
        version.id,
        version.revision,
        version.sequence,
        value,
        attributes,
        version.policy_attributes,
        version.created_at,
        version.written_at,
        version.expires_at,
        version.ended_at,
        version.end_reason,
        version.index_state,
        version.archived,
        version.index_fields,
    )


def event_document(event: Event) -> Document:
    """An event, with its version kept whole."""
    address = event.address
    return {
        "_id": event_name(event.tenant, event.sequence),
        "tenant": event.tenant,
        "sequence": event.sequence,
        "kind": event.kind.value,
        "plane": address.plane.value,
        "namespace": address.namespace.encoded,
        "key": address.key,
        "row_id": event.row_id,
        "revision": event.revision,
        "at": event.at,
        "expires_at": event.expires_at,
        "actor": event.actor,
        "detail": event.detail,
        "digest": event.digest,
        "previous": event.previous,
        "hash": event.hash,
        "kept": 0,
        "kept_since": 0,
    }


def event_in(document: Mapping[str, Any]) -> Event:
    """The event. Raises `ValueError` when a field is of no known kind."""
    return Event(
        document["tenant"],
        document["sequence"],
        EventKind(document["kind"]),
        address_in(document),
        document["row_id"],
        document["revision"],
        document["at"],
        document["expires_at"],
        document["actor"],
        document["detail"],
        document["digest"],
        document["previous"],
        document["hash"],
    )
