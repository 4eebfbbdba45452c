"""Sweeping, index marks and leases: small pieces of work within a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.backends.postgres.commits import apply_commit
from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import BEGINNING
from recollect.backends.postgres.writer import Group
from recollect.domain.address import Address, decode_namespace
from recollect.domain.attributes import NONE
from recollect.domain.errors import LeaseLost
from recollect.domain.events import Head
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.planning import expire_commit
from recollect.domain.reasons import Plane
from recollect.domain.retention import EMPTIES, Pass, Retention, Swept, cutoff, due_before
from recollect.domain.verification import Kept
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Sealer
from recollect.ports.store import Lease, Mark

_EXPIRED = """
SELECT plane, namespace, key FROM versions
WHERE tenant = $1 AND ended_at IS NULL AND expires_at IS NOT NULL AND expires_at <= $2
ORDER BY expires_at, sequence LIMIT $3
"""
_FULL = """
SELECT id, sequence FROM versions
WHERE tenant = $1 AND end_reason = ANY($2::text[]) AND ended_at IS NOT NULL AND ended_at <= $3 AND value IS NOT NULL
    AND index_state <> 'pending' ORDER BY ended_at, sequence LIMIT $4
"""
_EMPTY = f"""
SELECT id, sequence FROM versions v
WHERE tenant = $1 AND ended_at IS NOT NULL AND ended_at <= $2 AND value IS NULL AND index_state <> 'pending'
    AND NOT EXISTS (
        SELECT 1 FROM versions p
        WHERE p.tenant = v.tenant AND p.plane = v.plane AND p.namespace = v.namespace AND p.key = v.key
            AND {BEGINNING.replace("namespace", "p.namespace")} = {BEGINNING.replace("namespace", "v.namespace")}
            AND p.revision < v.revision AND p.ended_at IS NOT NULL
            AND (p.value IS NOT NULL OR p.index_state = 'pending')
    )
ORDER BY ended_at, sequence LIMIT $3
"""
_EMPTY_IT = f"""
UPDATE versions
SET value = NULL, attributes = NULL, policy_attributes = '{NONE}', archived = 0, index_fields = NULL,
    pinned_sequence = NULL
WHERE id = ANY($1::bytea[])
"""
_PURGE_IT = "DELETE FROM versions WHERE id = ANY($1::bytea[])"
_PURGE_ENTRIES = "DELETE FROM entries WHERE id = ANY($1::bytea[])"
_NOTE_KEPT = "UPDATE events SET kept = $3 WHERE tenant = $1 AND sequence = ANY($2::bigint[])"
_OLD_EVENTS = "SELECT sequence, hash, at FROM events WHERE tenant = $1 AND sequence < $2 ORDER BY sequence LIMIT $3"
_OLD_RECEIPTS = """
DELETE FROM receipts WHERE tenant = $1 AND lookup IN
(SELECT lookup FROM receipts WHERE tenant = $1 AND at <= $2 LIMIT $3) RETURNING 1
"""


def sweep(
    group: Group, step: Pass, retention: Retention, limit: int, *, now: Instant, ids: Ids, sealer: Sealer
) -> Swept:
    """One batch of one pass."""
    link, tenant = group.link, group.tenant
    if step is Pass.EXPIRE:
        due = link.rows(_EXPIRED, tenant, now, limit + 1)
        addresses = [Address(Plane(plane), decode_namespace(encoded), key) for plane, encoded, key in due[:limit]]
        if addresses:
            commit = expire_commit(tenant, addresses)
            apply_commit(group, commit, now=now, ids=ids, sealer=sealer)
        return Swept(len(addresses), len(due) > limit)
    if step is Pass.TRIM:
        return _trim(group, retention, limit, now)
    before = due_before(step, retention, now)
    if before is None:
        return Swept(0, more=False)
    if step is Pass.PURGE:
        due, kept = link.rows(_EMPTY, tenant, before, limit + 1), Kept.PURGED
    else:
        reasons = [reason.value for reason in EMPTIES[step]]
        due, kept = link.rows(_FULL, tenant, reasons, before, limit + 1), Kept.EMPTIED
    found = due[:limit]
    if found:
        ids_of, sequences = [row_id for row_id, _ in found], [sequence for _, sequence in found]
        if step is Pass.PURGE:
            link.send(_PURGE_ENTRIES, ids_of)
        link.send(_PURGE_IT if step is Pass.PURGE else _EMPTY_IT, ids_of)
        link.send(_NOTE_KEPT, tenant, sequences, kept.value)
    return Swept(len(found), len(due) > limit)


def _trim(group: Group, retention: Retention, limit: int, now: Instant) -> Swept:
    link, tenant, head = group.link, group.tenant, group.head
    receipts = 0
    old = cutoff(now, retention.receipts)
    if old is not None:
        receipts = len(link.rows(_OLD_RECEIPTS, tenant, old, limit))
    old = cutoff(now, retention.events)
    cut: list[tuple[int, bytes]] = []
    if old is not None:
        for sequence, hashed, at in link.rows(_OLD_EVENTS, tenant, head.sequence, limit):
            if at > old:
                break
            cut.append((sequence, hashed))
    if cut:
        last, last_hash = cut[-1]
        link.send("DELETE FROM events WHERE tenant = $1 AND sequence <= $2", tenant, last)
        group.move(Head(head.sequence, head.hash, last, last_hash))
    return Swept(receipts + len(cut), more=receipts == limit or len(cut) == limit)


_MARK = """
UPDATE versions SET index_state = 'done'
WHERE tenant = $1 AND id = $2 AND index_state = 'pending' AND pinned_sequence IS NOT DISTINCT FROM $3::bigint
    AND (ended_at IS NULL) = $4::boolean RETURNING 1
"""


def mark_indexed(group: Group, marks: Sequence[Mark]) -> int:
    """Mark versions that are still as they were read."""
    tenant = group.tenant
    marked = [group.link.send(_MARK, tenant, mark.id, mark.pinned_sequence, mark.live) for mark in marks]
    return sum(len(each.fetchall()) for each in marked)


_MAKE_LEASE = "INSERT INTO leases (name, holder, fence, expires_at) VALUES ($1, '', 0, 0) ON CONFLICT (name) DO NOTHING"
_HELD = "SELECT name, holder, fence, expires_at FROM leases WHERE name = $1 FOR UPDATE"
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_KEEP = "UPDATE leases SET holder = $2, fence = $3, expires_at = $4 WHERE name = $1"


def acquire(link: Link, name: str, holder: str, seconds: float, clock: Clock | None) -> Lease | None:
    """Take a lease that is free, ran out, or is one's own already."""
    link.send(_MAKE_LEASE, name)
    held, now = _held(link, name), _now(link, clock)
    fence = 1 if held is None else held.fence + 1
    if held is not None and held.expires_at > now:
        if held.holder != holder:
            return None
        fence = held.fence
    return _keep(link, Lease(name, holder, fence, after_seconds(now, seconds)))


def renew(link: Link, lease: Lease, seconds: float, clock: Clock | None) -> Lease:
    """Prolong a lease that is still held."""
    now = _check_held(link, lease, clock)
    return _keep(link, Lease(lease.name, lease.holder, lease.fence, after_seconds(now, seconds)))


def release(link: Link, lease: Lease, clock: Clock | None) -> None:
    """Give a lease back; its fence stays, so that the next one is larger."""
    _check_held(link, lease, clock)
    _keep(link, Lease(lease.name, lease.holder, lease.fence, Instant(0)))


def _held(link: Link, name: str) -> Lease | None:
    row = link.row(_HELD, name)
    return None if row is None else Lease(*row)


def _check_held(link: Link, lease: Lease, clock: Clock | None) -> Instant:
    """The present moment, at which it is held."""
    held, now = _held(link, lease.name), _now(link, clock)
    if held is None or held.fence != lease.fence or held.expires_at <= now:
        raise LeaseLost(f"the lease {lease.name!r} is no longer held by {lease.holder!r}")
    return now


def _now(link: Link, clock: Clock | None) -> Instant:
    """The present moment by the server's clock, which is the same for all whose own clocks differ, or by this one."""
    if clock is not None:
        return clock()
    [found] = link.rows(_NOW)
    return Instant(found[0])


def _keep(link: Link, lease: Lease) -> Lease:
    link.send(_KEEP, lease.name, lease.holder, lease.fence, lease.expires_at)
    return lease
