"""Carrying out commits and erasures within a transaction: load, let the domain decide, write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw
import msgspec

from recollect.backends.sqlite.sealed import SEALED, SEALED_WIDTH, sealed_version
from recollect.backends.sqlite.writer import Group
from recollect.domain.address import Address, Namespace, subtree_bounds
from recollect.domain.attributes import NONE
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import IdempotencyMismatch
from recollect.domain.instants import Instant
from recollect.domain.planning import (
    Erased,
    Erasure,
    Newest,
    Pinned,
    Plan,
    addresses_of,
    after,
    plan_commit,
    plan_erasure,
)
from recollect.domain.reasons import IndexState, Plane
from recollect.domain.verification import Kept
from recollect.ports.clock import Ids
from recollect.ports.keys import Sealer

_NEWEST = "SELECT id, revision, created_at, written_at, expires_at, ended_at, index_state FROM versions "
_LIVE = _NEWEST + "WHERE tenant = ? AND plane = ? AND namespace = ? AND key = ? AND ended_at IS NULL"
_PAST = (
    _NEWEST + "WHERE tenant = ? AND plane = ? AND namespace = ? AND key = ? AND ended_at IS NOT NULL "
    "ORDER BY revision DESC LIMIT 1"
)
_AT_PLACE = "plane = at.value ->> 0 AND namespace = at.value ->> 1 AND {table}.key = at.value ->> 2"
_MANY = (
    "SELECT at.key, v.id, revision, created_at, written_at, expires_at, ended_at, index_state FROM json_each(?2) at "
)
_MANY_LIVE = (
    _MANY
    + f"""
CROSS JOIN versions v INDEXED BY versions_live ON tenant = ?1 AND {_AT_PLACE.format(table="v")} AND ended_at IS NULL
"""
)
_MANY_PAST = (
    _MANY
    + f"""
CROSS JOIN versions v ON n = (
    SELECT n FROM versions p INDEXED BY versions_past
    WHERE tenant = ?1 AND {_AT_PLACE.format(table="p")} AND ended_at IS NOT NULL ORDER BY revision DESC LIMIT 1
)
"""
)
_FEW = 4
"""Up to so many keys are looked up one by one; more are looked up together."""
_PINNED = f"""
SELECT {SEALED}, e.digest FROM versions v
LEFT JOIN events e ON e.tenant = v.tenant AND e.sequence = coalesce(v.pinned_sequence, v.sequence) WHERE v.id = ?
"""
_LABEL = """
UPDATE versions SET policy_attributes = ?2, pinned_sequence = ?3, index_state = ?4, index_attempts = 0,
    index_after = NULL WHERE id = ?1
"""
_END = """
UPDATE versions SET ended_at = ?2, end_reason = ?3, ended_sequence = ?4, index_state = ?5, index_attempts = 0,
    index_after = NULL WHERE id = ?1
"""
_INSERT = """
INSERT INTO versions (id, tenant, plane, namespace, key, revision, sequence, created_at, written_at, expires_at,
    ended_at, end_reason, ended_sequence, index_state, policy_attributes, attributes, value, archived,
    index_fields, pinned_sequence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TELL = """
INSERT INTO events (tenant, sequence, kind, plane, namespace, key, row_id, revision, at, expires_at, actor, detail,
    digest, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_CHANGED = """
SELECT 1 FROM events WHERE tenant = ?1 AND sequence > ?2 AND (
    (plane = ?3 AND namespace >= ?4 AND namespace < ?5)
    OR (kind = 'erased' AND (namespace >= ?4 AND namespace < ?5 OR ?4 >= namespace AND ?4 < namespace || x'1f'))
) LIMIT 1
"""
_RECEIPT = "SELECT fingerprint, receipt FROM receipts WHERE tenant = ? AND lookup = ?"
_KEEP_RECEIPT = "INSERT INTO receipts (tenant, lookup, fingerprint, receipt, at) VALUES (?, ?, ?, ?, ?)"

_encode_receipt = msgspec.msgpack.Encoder().encode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


def apply_commit(group: Group, commit: Commit, *, now: Instant, ids: Ids, sealer: Sealer) -> Receipt:
    """Decide the commit on what is stored now, and write the plan."""
    request = commit.idempotency
    if request is not None:
        known = next(group.db.execute(_RECEIPT, (commit.tenant, request.lookup)), None)
        if known is not None:
            if known[0] != request.fingerprint:
                raise IdempotencyMismatch("this idempotency key was used for a different request")
            first = _decode_receipt(known[1])
            return Receipt(first.outcomes, first.head, replayed=True)
    plan = plan_commit(
        commit,
        head=group.head(commit.tenant),
        newest=newest_of(group.db, commit.tenant, addresses_of(commit)),
        pinned=lambda row_id: pinned(group.db, row_id),
        changed_since=lambda plane, within, since: changed_since(group.db, commit.tenant, plane, within, since),
        now=now,
        new_id=ids,
        seal=sealer.seal,
    )
    write_plan(group, commit.tenant, plan)
    if request is not None:
        kept = _encode_receipt(plan.receipt)
        group.db.execute(_KEEP_RECEIPT, (commit.tenant, request.lookup, request.fingerprint, kept, now))
    return plan.receipt


def newest(db: apsw.Connection, tenant: str, address: Address) -> Newest | None:
    """The newest version of a key: the live one, else the last that was."""
    place = (tenant, address.plane, address.namespace.encoded, address.key)
    row = next(db.execute(_LIVE, place), None) or next(db.execute(_PAST, place), None)
    return None if row is None else _newest(row)


def newest_of(db: apsw.Connection, tenant: str, addresses: Sequence[Address]) -> Callable[[Address], Newest | None]:
    """The newest version of each of these keys; many are asked for in two statements instead of two each."""
    if len(addresses) <= _FEW:
        return {address: newest(db, tenant, address) for address in addresses}.get
    found: dict[Address, Newest] = {}
    for statement in (_MANY_LIVE, _MANY_PAST):
        addresses = [address for address in addresses if address not in found] if found else addresses
        places = [(address.plane, address.namespace.encoded, address.key) for address in addresses]
        for place, *row in db.execute(statement, (tenant, msgspec.json.encode(places).decode())):
            found[addresses[place]] = _newest(row)
    return found.get


def _newest(row: Sequence[Any]) -> Newest:
    row_id, revision, created_at, written_at, expires_at, ended_at, index_state = row
    return Newest(row_id, revision, created_at, written_at, expires_at, ended_at, IndexState(index_state))


def pinned(db: apsw.Connection, row_id: bytes) -> Pinned | None:
    """A version, and what the event that it claims recorded of it."""
    row = next(db.execute(_PINNED, (row_id,)), None)
    try:
        version = None if row is None else sealed_version(row)
    except (ValueError, KeyError):  # a field of no known kind: `verify` tells of it
        return None
    return None if row is None or version is None else Pinned(version, row[SEALED_WIDTH])


def changed_since(db: apsw.Connection, tenant: str, plane: Plane, within: Namespace, since: int) -> bool:
    """True when the log tells of a change to this plane and scope after that point."""
    low, high = subtree_range(within)
    return next(db.execute(_CHANGED, (tenant, since, plane.value, low, high)), None) is not None


def subtree_range(within: Namespace) -> tuple[str, str]:
    """The range of encodings at or below a namespace: between the two, no other encoding can lie."""
    return within.encoded, subtree_bounds(within.encoded)[1]


def write_plan(group: Group, tenant: str, plan: Plan) -> None:
    """Write what was decided: labels, endings, versions, events, head."""
    db = group.db
    if plan.labels:
        db.executemany(
            _LABEL,
            [(label.id, label.policy_attributes, label.sequence, label.index_state) for label in plan.labels],
        )
    if plan.endings:
        db.executemany(
            _END,
            [(ending.id, ending.at, ending.reason, ending.sequence, ending.index_state) for ending in plan.endings],
        )
    if plan.versions:
        db.executemany(
            _INSERT,
            [
                (
                    version.id,
                    tenant,
                    version.address.plane,
                    version.address.namespace.encoded,
                    version.address.key,
                    version.revision,
                    version.sequence,
                    version.created_at,
                    version.written_at,
                    version.expires_at,
                    version.ended_at,
                    version.end_reason,
                    version.ended_sequence,
                    version.index_state,
                    version.policy_attributes,
                    version.attributes,
                    version.value,
                    version.archived,
                    version.index_fields,
                    version.pinned_sequence,
                )
                for version in plan.versions
            ],
        )
    if plan.events:
        db.executemany(
            _TELL,
            [
                (
                    event.tenant,
                    event.sequence,
                    event.kind,
                    event.address.plane,
                    event.address.namespace.encoded,
                    event.address.key,
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
                for event in plan.events
            ],
        )
        group.move(tenant, plan.head)


_ERASED = "SELECT id, tenant, subject, sequence, hash, at, versions, live FROM erasures WHERE tenant = ? AND id = ?"
_KEEP_ERASED = (
    "INSERT INTO erasures (id, tenant, subject, sequence, hash, at, versions, live) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_MINE = """
SELECT n FROM versions WHERE tenant = ?1 AND plane = ?2 AND namespace >= ?3 AND namespace < ?4 AND ended_at IS NULL
UNION ALL
SELECT n FROM versions WHERE tenant = ?1 AND plane = ?2 AND namespace >= ?3 AND namespace < ?4 AND ended_at IS NOT NULL
"""
_COUNT = f"SELECT count(*), total(ended_at IS NULL) FROM versions WHERE n IN ({_MINE})"
_NOTE_EMPTIED = f"""
UPDATE events SET kept = {Kept.EMPTIED.value}
WHERE tenant = ?1 AND sequence IN (SELECT sequence FROM versions WHERE n IN ({_MINE}))
"""
_EMPTY = f"""
UPDATE versions SET
    value = NULL, attributes = NULL, policy_attributes = '{NONE}', archived = 0, index_fields = NULL,
    pinned_sequence = NULL,
    end_reason = CASE WHEN ended_at IS NULL THEN 'erased' ELSE end_reason END,
    ended_sequence = CASE WHEN ended_at IS NULL THEN ?6 ELSE ended_sequence END,
    ended_at = CASE WHEN ended_at IS NULL THEN max(?5, written_at) ELSE ended_at END,
    index_state = CASE WHEN index_state = 'unwanted' THEN 'unwanted' ELSE 'pending' END,
    index_attempts = 0, index_after = NULL
WHERE n IN ({_MINE})
"""
_DROP_ENTRIES = """
INSERT OR REPLACE INTO entries (n, series, tenant, plane, namespace, content)
SELECT n, series, tenant, plane, namespace, NULL FROM entries
WHERE tenant = ?1 AND plane = ?2 AND namespace >= ?3 AND namespace < ?4 AND content IS NOT NULL
"""


def apply_erasure(group: Group, erasure: Erasure, *, now: Instant) -> Erased:
    """Empty every version of the subject in all planes, once, and leave the receipt."""
    db = group.db
    known = next(db.execute(_ERASED, (erasure.tenant, erasure.id)), None)
    if known is not None:
        return Erased(*known)
    low, high = subtree_range(erasure.namespace)
    places: Iterable[tuple[str, str, str, str]] = [(erasure.tenant, plane.value, low, high) for plane in Plane]
    counts = [next(db.execute(_COUNT, place)) for place in places]
    versions, live = sum(int(count[0]) for count in counts), sum(int(count[1]) for count in counts)
    event, erased = plan_erasure(erasure, head=group.head(erasure.tenant), versions=versions, live=live, now=now)
    for place in places:
        db.execute(_NOTE_EMPTIED, place)
        db.execute(_EMPTY, (*place, event.at, event.sequence))
        db.execute(_DROP_ENTRIES, place)
    plan = Plan(after(group.head(erasure.tenant), event), events=[event])
    write_plan(group, erasure.tenant, plan)
    db.execute(
        _KEEP_ERASED,
        (
            erased.id,
            erased.tenant,
            erased.subject,
            erased.sequence,
            erased.hash,
            erased.at,
            erased.versions,
            erased.live,
        ),
    )
    return erased
