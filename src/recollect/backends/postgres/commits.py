"""Carrying out commits within a transaction: load, let the domain decide, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import psycopg

from recollect.backends.postgres.connections import Link, Row
from recollect.backends.postgres.places import BEGINNING, INDEXED, Bound, at, place_of, subtree_range, within_sql
from recollect.backends.postgres.sealed import SEALED, SEALED_WIDTH, sealed_version
from recollect.backends.postgres.writer import Group
from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import IdempotencyMismatch
from recollect.domain.instants import Instant
from recollect.domain.planning import Newest, Pinned, Plan, addresses_of, plan_commit
from recollect.domain.reasons import IndexState, Plane
from recollect.ports.clock import Ids
from recollect.ports.keys import Sealer

_COLUMNS = "id, revision, created_at, written_at, expires_at, ended_at, index_state"
_NEWEST = f"""
(SELECT {_COLUMNS} FROM versions WHERE {at()} AND ended_at IS NULL)
UNION ALL
(SELECT {_COLUMNS} FROM versions WHERE {at()} AND ended_at IS NOT NULL ORDER BY revision DESC LIMIT 1)
"""
_AT_PLACE = f"tenant = $1 AND plane = a.plane AND {BEGINNING} = left(a.space, {INDEXED}) AND key = a.name"
_MANY = f"""
SELECT a.place, v.* FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS a (plane, space, name, place)
CROSS JOIN LATERAL (
    (SELECT {_COLUMNS} FROM versions WHERE {_AT_PLACE} AND namespace = a.space AND ended_at IS NULL)
    UNION ALL
    (SELECT {_COLUMNS} FROM versions WHERE {_AT_PLACE} AND namespace = a.space AND ended_at IS NOT NULL
     ORDER BY revision DESC LIMIT 1)
) v
"""
_FEW = 4
"""Up to so many keys are looked up one by one; more are looked up together."""
_PINNED = f"""
SELECT {SEALED}, e.digest FROM versions v
LEFT JOIN events e ON e.tenant = v.tenant AND e.sequence = coalesce(v.pinned_sequence, v.sequence) WHERE v.id = $1
"""
_CHANGED = """
SELECT 1 FROM events WHERE tenant = $1 AND sequence > $2 AND (
    (plane = $3 AND {within}) OR (kind = 'erased' AND ({within} OR {around}))
) LIMIT 1
"""
_RECEIPT = "SELECT fingerprint, receipt FROM receipts WHERE tenant = $1 AND lookup = $2"
_KEEP_RECEIPT = "INSERT INTO receipts (tenant, lookup, fingerprint, receipt, at) VALUES ($1, $2, $3, $4, $5)"

_encode_receipt = msgspec.msgpack.Encoder().encode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


class Asked:
    """What a commit needs to know: asked for at once, and read when it is needed."""

    def __init__(self, link: Link, commit: Commit) -> None:
        request = commit.idempotency
        self.lookup = None if request is None else request.lookup
        self._receipt = None if request is None else link.send(_RECEIPT, commit.tenant, request.lookup)
        self.addresses = addresses_of(commit)
        self._single: list[psycopg.Cursor[Row]] = []
        self._many: psycopg.Cursor[Row] | None = None
        if len(self.addresses) <= _FEW:
            self._single = [link.send(_NEWEST, *place_of(commit.tenant, each)) for each in self.addresses]
        else:
            planes = [address.plane.value for address in self.addresses]
            spaces = [address.namespace.encoded for address in self.addresses]
            self._many = link.send(_MANY, commit.tenant, planes, spaces, [each.key for each in self.addresses])

    def receipt(self) -> Row | None:
        """Fingerprint and receipt of the same request, if it was carried out before."""
        return None if self._receipt is None else self._receipt.fetchone()

    def newest(self) -> Callable[[Address], Newest | None]:
        """The newest version of each key: the live one, else the last that was."""
        found: dict[Address, Newest] = {}
        if self._many is not None:
            for row in self._many.fetchall():
                _keep_newest(found, self.addresses[row[0] - 1], row[1:])
        for address, cursor in zip(self.addresses, self._single, strict=False):
            for row in cursor.fetchall():
                _keep_newest(found, address, row)
        return found.get


def _keep_newest(found: dict[Address, Newest], address: Address, row: Sequence[Any]) -> None:
    row_id, revision, created_at, written_at, expires_at, ended_at, index_state = row
    if ended_at is None or address not in found:
        state = IndexState(index_state)
        found[address] = Newest(row_id, revision, created_at, written_at, expires_at, ended_at, state)


def apply_commit(group: Group, commit: Commit, asked: Asked, *, now: Instant, ids: Ids, sealer: Sealer) -> Receipt:
    """Decide the commit on what is stored now, and write the plan."""
    if group.has_outdated(asked.addresses, asked.lookup):
        group.flush()
        asked = Asked(group.link, commit)
    request = commit.idempotency
    known = asked.receipt()
    if request is not None and known is not None:
        if known[0] != request.fingerprint:
            raise IdempotencyMismatch("this idempotency key was used for a different request")
        first = _decode_receipt(known[1])
        return Receipt(first.outcomes, first.head, replayed=True)
    plan = plan_commit(
        commit,
        head=group.head,
        newest=asked.newest(),
        pinned=lambda row_id: pinned(group.flushed(), row_id),
        changed_since=lambda plane, within, since: changed_since(group.flushed(), commit.tenant, plane, within, since),
        now=now,
        new_id=ids,
        seal=sealer.seal,
    )
    write_plan(group, plan)
    group.outdate(asked.addresses, asked.lookup)
    if request is not None:
        kept = _encode_receipt(plan.receipt)
        group.link.send(_KEEP_RECEIPT, commit.tenant, request.lookup, request.fingerprint, kept, now)
    return plan.receipt


def pinned(link: Link, row_id: bytes) -> Pinned | None:
    """A version, and what the event that it claims recorded of it."""
    row = link.row(_PINNED, row_id)
    try:
        version = None if row is None else sealed_version(row)
    except (ValueError, KeyError):  # a field of no known kind: `verify` tells of it
        return None
    return None if row is None or version is None else Pinned(version, row[SEALED_WIDTH])


def changed_since(link: Link, tenant: str, plane: Plane, within: Namespace, since: int) -> bool:
    """True when the log tells of a change to this plane and scope after that point."""
    bound = Bound(tenant, since, plane.value)
    inside = within_sql(within, bound)
    low = bound.add(subtree_range(within)[0])
    around = f'({low}::text COLLATE "C" >= namespace AND {low}::text COLLATE "C" < namespace || chr(31))'
    return link.row(_CHANGED.format(within=inside, around=around), *bound.values) is not None


def write_plan(group: Group, plan: Plan) -> None:
    """Have what was decided written, together with what others in the transaction decide."""
    if plan.events:
        group.defer(plan)
