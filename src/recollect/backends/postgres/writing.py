"""Writing what was decided: one statement each for labels, for endings, and for versions with their events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from recollect.backends.postgres.arrays import Array, BytesArray, NumberArray, TextArray
from recollect.backends.postgres.connections import Link
from recollect.domain.events import Event
from recollect.domain.instants import Instant
from recollect.domain.planning import Ending, Label, Plan, Version

_LABELLED = (
    ("id", BytesArray),
    ("policy_attributes", TextArray),
    ("pinned_sequence", NumberArray),
    ("index_state", TextArray),
)
_ENDED = (
    ("id", BytesArray),
    ("ended_at", NumberArray),
    ("end_reason", TextArray),
    ("ended_sequence", NumberArray),
    ("index_state", TextArray),
)
_VERSION = (
    ("id", BytesArray),
    ("plane", TextArray),
    ("namespace", TextArray),
    ("key", TextArray),
    ("revision", NumberArray),
    ("sequence", NumberArray),
    ("created_at", NumberArray),
    ("written_at", NumberArray),
    ("expires_at", NumberArray),
    ("ended_at", NumberArray),
    ("end_reason", TextArray),
    ("ended_sequence", NumberArray),
    ("index_state", TextArray),
    ("policy_attributes", TextArray),
    ("attributes", BytesArray),
    ("value", BytesArray),
    ("archived", NumberArray),
    ("index_fields", TextArray),
    ("pinned_sequence", NumberArray),
)
_EVENT = (
    ("sequence", NumberArray),
    ("kind", TextArray),
    ("plane", TextArray),
    ("namespace", TextArray),
    ("key", TextArray),
    ("row_id", BytesArray),
    ("revision", NumberArray),
    ("at", NumberArray),
    ("expires_at", NumberArray),
    ("actor", TextArray),
    ("detail", TextArray),
    ("digest", BytesArray),
    ("previous", BytesArray),
    ("hash", BytesArray),
)
_REQUEST = (("lookup", BytesArray), ("fingerprint", BytesArray), ("receipt", BytesArray), ("at", NumberArray))
_KINDS = {BytesArray: "bytea", TextArray: "text", NumberArray: "bigint"}
Columns = tuple[tuple[str, type[BytesArray] | type[TextArray] | type[NumberArray]], ...]
Request = tuple[bytes, bytes, bytes, Instant]
"""What is kept of a request: how it is found, its fingerprint, its receipt, and when it was carried out."""


def _given(columns: Columns, first: int) -> str:
    """Rows from arrays, whose parameters begin at that number."""
    names = ", ".join(name for name, _ in columns)
    arrays = ", ".join(f"${place}::{_KINDS[kind]}[]" for place, (_, kind) in enumerate(columns, first))
    return f"unnest({arrays}) AS given ({names})"


def _insert(table: str, columns: Columns, first: int) -> str:
    names = ", ".join(name for name, _ in columns)
    return f"INSERT INTO {table} (tenant, {names}) SELECT $1, {names} FROM {_given(columns, first)}"


_LABEL = f"""
UPDATE versions v SET policy_attributes = given.policy_attributes, pinned_sequence = given.pinned_sequence,
    index_state = given.index_state, index_attempts = 0, index_after = NULL
FROM {_given(_LABELLED, 1)} WHERE v.id = given.id
"""
_END = f"""
UPDATE versions v SET ended_at = given.ended_at, end_reason = given.end_reason, ended_sequence = given.ended_sequence,
    index_state = given.index_state, index_attempts = 0, index_after = NULL
FROM {_given(_ENDED, 1)} WHERE v.id = given.id
"""
_TELL = _insert("events", _EVENT, 2)
_WRITE = f"WITH told AS ({_TELL}) {_insert('versions', _VERSION, 2 + len(_EVENT))}"
_KEEP = _insert("receipts", _REQUEST, 2)


class Deferred:
    """What commits have decided and is not written yet, put together so that it can be written at once."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._labels: dict[bytes, Label] = {}
        self._endings: list[Ending] = []
        self._versions: dict[bytes, Version] = {}
        self._events: list[Event] = []
        self._requests: list[Request] = []

    def add(self, plan: Plan) -> None:
        """Have this written too; what it says of a version that is not written yet becomes a part of that."""
        for label in plan.labels:
            self._labels[label.id] = label
        for ending in plan.endings:
            version = self._versions.get(ending.id)
            if version is None:
                self._endings.append(ending)
            else:
                version.ended_at, version.end_reason = ending.at, ending.reason
                version.ended_sequence, version.index_state = ending.sequence, ending.index_state
        for version in plan.versions:
            self._versions[version.id] = version
        self._events += plan.events

    def keep(self, request: Request) -> None:
        """Have the receipt of a request written too."""
        self._requests.append(request)

    def write(self, link: Link) -> None:
        """Write all of it: labels, endings, versions and events, receipts."""
        if self._labels:
            labels = ((x.id, x.policy_attributes, x.sequence, x.index_state.value) for x in self._labels.values())
            link.send(_LABEL, *_arrays(_LABELLED, labels))
        if self._endings:
            endings = ((x.id, x.at, x.reason.value, x.sequence, x.index_state.value) for x in self._endings)
            link.send(_END, *_arrays(_ENDED, endings))
        events = _arrays(_EVENT, map(_event, self._events)) if self._events else []
        if self._versions:
            versions = _arrays(_VERSION, map(_version, self._versions.values()))
            link.send(_WRITE, self._tenant, *events, *versions)
        elif self._events:
            link.send(_TELL, self._tenant, *events)
        if self._requests:
            link.send(_KEEP, self._tenant, *_arrays(_REQUEST, self._requests))


def _arrays(columns: Columns, rows: Iterable[Sequence[Any]]) -> list[Array]:
    return [kind(column) for (_, kind), column in zip(columns, zip(*rows, strict=True), strict=True)]


def _version(version: Version) -> Sequence[object]:
    address = version.address
    return (
        version.id,
        address.plane.value,
        address.namespace.encoded,
        address.key,
        version.revision,
        version.sequence,
        version.created_at,
        version.written_at,
        version.expires_at,
        version.ended_at,
        None if version.end_reason is None else version.end_reason.value,
        version.ended_sequence,
        version.index_state.value,
        version.policy_attributes,
        version.attributes,
        version.value,
        int(version.archived),
        version.index_fields,
        version.pinned_sequence,
    )


def _event(event: Event) -> Sequence[object]:
    address = event.address
    return (
        event.sequence,
        event.kind.value,
        address.plane.value,
        address.namespace.encoded,
        address.key,
        event.row_id,
        event.revision,
        event.at,
        event.expires_at,
        event.actor,
        event.detail,
        event.digest,
        event.previous,
        event.hash,
    )
