"""Stored versions and events as the domain knows them: sealed, as they are decided on and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.domain.address import Address, decode_namespace
from recollect.domain.events import Event
from recollect.domain.planning import Version
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane

SEALED = (
    "v.plane, v.namespace, v.key, v.id, v.revision, v.sequence, v.value, v.attributes, v.policy_attributes, "
    "v.created_at, v.written_at, v.expires_at, v.ended_at, v.end_reason, v.ended_sequence, v.index_state, "
    "v.archived, v.index_fields, v.pinned_sequence"
)
SEALED_WIDTH = 19
EVENT = (
    "e.sequence, e.kind, e.plane, e.namespace, e.key, e.row_id, e.revision, e.at, e.expires_at, e.actor, e.detail, "
    "e.digest, e.previous, e.hash"
)
EVENT_WIDTH = 14
_MARKS = {0: False, 1: True}


def sealed_version(row: Sequence[Any]) -> Version | None:
    """The version in these columns; None when there is none. Raises `ValueError` or `KeyError` for no known kind."""
    if row[3] is None:
        return None
    return Version(
        address=Address(Plane(row[0]), decode_namespace(row[1]), row[2]),
        id=row[3],
        revision=row[4],
        sequence=row[5],
        value=row[6],
        attributes=row[7],
        policy_attributes=row[8],
        created_at=row[9],
        written_at=row[10],
        expires_at=row[11],
        ended_at=row[12],
        end_reason=None if row[13] is None else EndReason(row[13]),
        ended_sequence=row[14],
        index_state=IndexState(row[15]),
        archived=_MARKS[row[16]],
        index_fields=row[17],
        pinned_sequence=row[18],
    )


def stored_event(tenant: str, row: Sequence[Any]) -> Event:
    """The event in the first of these columns."""
    sequence, kind, plane, encoded, key, row_id, revision, at, expires_at, actor, detail, digest, previous, hashed = (
        row[:EVENT_WIDTH]
    )
    return Event(
        tenant,
        sequence,
        EventKind(kind),
        Address(Plane(plane), decode_namespace(encoded), key),
        row_id,
        revision,
        at,
        expires_at,
        actor,
        detail,
        digest,
        previous,
        hashed,
    )
