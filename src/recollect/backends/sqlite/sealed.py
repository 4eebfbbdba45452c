"""Stored versions as the domain knows them: sealed, as they are decided on and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.domain.address import Address, decode_namespace
from recollect.domain.planning import Version
from recollect.domain.reasons import EndReason, IndexState, Plane

SEALED = (
    "v.plane, v.namespace, v.key, v.id, v.revision, v.sequence, v.value, v.attributes, v.policy_attributes, "
    "v.created_at, v.written_at, v.expires_at, v.ended_at, v.end_reason, v.ended_sequence, v.index_state, "
    "v.archived, v.index_fields, v.pinned_sequence"
)
SEALED_WIDTH = 19
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
