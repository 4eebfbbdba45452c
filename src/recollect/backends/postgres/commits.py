"""Carrying out commits within a transaction: load, let the domain decide, write."""

from __future__ import annotations

import msgspec

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound, subtree_range, within_sql
from recollect.backends.postgres.sealed import SEALED, SEALED_WIDTH, sealed_version
from recollect.backends.postgres.writer import Group
from recollect.domain.address import Namespace
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import IdempotencyMismatch
from recollect.domain.instants import Instant
from recollect.domain.planning import Pinned, Plan, addresses_of, plan_commit
from recollect.domain.reasons import Plane
from recollect.ports.clock import Ids
from recollect.ports.keys import Sealer

_PINNED = f"""
SELECT {SEALED}, e.digest FROM versions v
LEFT JOIN events e ON e.tenant = v.tenant AND e.sequence = coalesce(v.pinned_sequence, v.sequence) WHERE v.id = $1
"""
_CHANGED = """
SELECT 1 FROM events WHERE tenant = $1 AND sequence > $2 AND (
    (plane = $3 AND {within}) OR (kind = 'erased' AND ({within} OR {around}))
) LIMIT 1
"""
_encode_receipt = msgspec.msgpack.Encoder().encode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


def apply_commit(group: Group, commit: Commit, *, now: Instant, ids: Ids, sealer: Sealer) -> Receipt:
    """Decide the commit on what is stored now, and have the plan written."""
    request = commit.idempotency
    lookup = None if request is None else request.lookup
    group.known.ask(addresses_of(commit), (lookup,))
    if request is not None and (before := group.known.receipt(request.lookup)) is not None:
        fingerprint, kept = before
        if fingerprint != request.fingerprint:
            raise IdempotencyMismatch("this idempotency key was used for a different request")
        first = _decode_receipt(kept)
        return Receipt(first.outcomes, first.head, replayed=True)
    plan = plan_commit(
        commit,
        head=group.head,
        newest=group.known.newest,
        pinned=lambda row_id: pinned(group.flushed(), row_id),
        changed_since=lambda plane, within, since: changed_since(group.flushed(), commit.tenant, plane, within, since),
        now=now,
        new_id=ids,
        seal=sealer.seal,
    )
    write_plan(group, plan)
    if request is not None:
        group.keep(request, _encode_receipt(plan.receipt), now)
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
