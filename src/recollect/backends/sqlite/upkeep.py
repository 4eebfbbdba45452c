"""Sweeping, index marks and leases: small pieces of work within the writer's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.backends.sqlite.commits import apply_commit
from recollect.backends.sqlite.writer import Group
from recollect.domain.address import Address, decode_namespace
from recollect.domain.attributes import NONE
from recollect.domain.errors import LeaseLost
from recollect.domain.events import Head
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.planning import expire_commit
from recollect.domain.reasons import Plane
from recollect.domain.retention import EMPTIES, Pass, Retention, Swept, cutoff, due_before
from recollect.domain.verification import Kept
from recollect.ports.clock import Ids
from recollect.ports.keys import Sealer
from recollect.ports.store import Lease, Mark

_EXPIRED = """
SELECT plane, namespace, key FROM versions INDEXED BY versions_expiring
WHERE tenant = ? AND ended_at IS NULL AND expires_at IS NOT NULL AND expires_at <= ?
ORDER BY expires_at, n LIMIT ?
"""
_FULL = """
SELECT n, sequence FROM versions INDEXED BY versions_ended
WHERE tenant = ? AND end_reason IN ({marks}) AND ended_at IS NOT NULL AND ended_at <= ? AND value IS NOT NULL
    AND index_state <> 'pending' ORDER BY ended_at, n LIMIT ?
"""
_EMPTY = """
SELECT n, sequence FROM versions v INDEXED BY versions_empty
WHERE tenant = ? AND ended_at IS NOT NULL AND ended_at <= ? AND value IS NULL AND index_state <> 'pending'
    AND NOT EXISTS (
        SELECT 1 FROM versions p INDEXED BY versions_past
        WHERE p.tenant = v.tenant AND p.plane = v.plane AND p.namespace = v.namespace AND p.key = v.key
            AND p.revision < v.revision AND p.ended_at IS NOT NULL
            AND (p.value IS NOT NULL OR p.index_state = 'pending')
    )
ORDER BY ended_at, n LIMIT ?
"""
_EMPTY_IT = f"""
UPDATE versions
SET value = NULL, attributes = NULL, policy_attributes = '{NONE}', archived = 0, index_fields = NULL,
    pinned_sequence = NULL
WHERE n = ?
"""
_NOTE_KEPT = "UPDATE events SET kept = ? WHERE tenant = ? AND sequence = ?"
_OLD_EVENTS = "SELECT sequence, hash, at FROM events WHERE tenant = ? AND sequence < ? ORDER BY sequence LIMIT ?"


def sweep(
    group: Group, tenant: str, step: Pass, retention: Retention, limit: int, *, now: Instant, ids: Ids, sealer: Sealer
) -> Swept:
    """One batch of one pass."""
    if step is Pass.EXPIRE:
        due = list(group.db.execute(_EXPIRED, (tenant, now, limit + 1)))
        addresses = [Address(Plane(plane), decode_namespace(encoded), key) for plane, encoded, key in due[:limit]]
        if addresses:
            apply_commit(group, expire_commit(tenant, addresses), now=now, ids=ids, sealer=sealer)
        return Swept(len(addresses), len(due) > limit)
    if step is Pass.TRIM:
        return _trim(group, tenant, retention, limit, now)
    before = due_before(step, retention, now)
    if before is None:
        return Swept(0, more=False)
    if step is Pass.PURGE:
        due = list(group.db.execute(_EMPTY, (tenant, before, limit + 1)))
        change, kept = "DELETE FROM versions WHERE n = ?", Kept.PURGED
        group.db.executemany("DELETE FROM entries WHERE n = ?", [(n,) for n, _ in due[:limit]])
    else:
        reasons = [reason.value for reason in EMPTIES[step]]
        sql = _FULL.format(marks=", ".join("?" * len(reasons)))
        due = list(group.db.execute(sql, (tenant, *reasons, before, limit + 1)))
        change, kept = _EMPTY_IT, Kept.EMPTIED
    group.db.executemany(change, [(n,) for n, _ in due[:limit]])
    group.db.executemany(_NOTE_KEPT, [(kept.value, tenant, sequence) for _, sequence in due[:limit]])
    return Swept(len(due[:limit]), len(due) > limit)


def _trim(group: Group, tenant: str, retention: Retention, limit: int, now: Instant) -> Swept:
    db = group.db
    receipts = 0
    old = cutoff(now, retention.receipts)
    if old is not None:
        sql = "DELETE FROM receipts WHERE tenant = ?1 AND lookup IN "
        sql += "(SELECT lookup FROM receipts WHERE tenant = ?1 AND at <= ?2 LIMIT ?3) RETURNING 1"
        receipts = len(list(db.execute(sql, (tenant, old, limit))))
    head = group.head(tenant)
    old = cutoff(now, retention.events)
    cut: list[tuple[int, bytes]] = []
    if old is not None:
        for sequence, hashed, at in db.execute(_OLD_EVENTS, (tenant, head.sequence, limit)):
            if at > old:
                break
            cut.append((sequence, hashed))
    if cut:
        last, last_hash = cut[-1]
        db.execute("DELETE FROM events WHERE tenant = ? AND sequence <= ?", (tenant, last))
        group.move(tenant, Head(head.sequence, head.hash, last, last_hash))
    return Swept(receipts + len(cut), more=receipts == limit or len(cut) == limit)


def mark_indexed(group: Group, tenant: str, marks: Sequence[Mark]) -> int:
    """Mark versions that are still as they were read."""
    done = 0
    for mark in marks:
        state = "ended_at IS NULL" if mark.live else "ended_at IS NOT NULL"
        sql = "UPDATE versions SET index_state = 'done' WHERE tenant = ? AND id = ? AND index_state = 'pending' "
        sql += f"AND pinned_sequence IS ? AND {state}"
        group.db.execute(sql, (tenant, mark.id, mark.pinned_sequence))
        done += group.db.changes()
    return done


def acquire(group: Group, name: str, holder: str, seconds: float, now: Instant) -> Lease | None:
    """Take a lease that is free, ran out, or is one's own already."""
    held = _held(group, name)
    if held is not None and held.expires_at > now:
        if held.holder != holder:
            return None
        fence = held.fence
    else:
        fence = held.fence + 1 if held is not None else 1
    return _keep(group, Lease(name, holder, fence, after_seconds(now, seconds)))


def renew(group: Group, lease: Lease, seconds: float, now: Instant) -> Lease:
    """Prolong a lease that is still held."""
    _check_held(group, lease, now)
    return _keep(group, Lease(lease.name, lease.holder, lease.fence, after_seconds(now, seconds)))


def release(group: Group, lease: Lease, now: Instant) -> None:
    """Give a lease back; its fence stays, so that the next one is larger."""
    _check_held(group, lease, now)
    _keep(group, Lease(lease.name, lease.holder, lease.fence, Instant(0)))


def _held(group: Group, name: str) -> Lease | None:
    row = next(group.db.execute("SELECT name, holder, fence, expires_at FROM leases WHERE name = ?", (name,)), None)
    return None if row is None else Lease(*row)


def _check_held(group: Group, lease: Lease, now: Instant) -> None:
    held = _held(group, lease.name)
    if held is None or held.fence != lease.fence or held.expires_at <= now:
        raise LeaseLost(f"the lease {lease.name!r} is no longer held by {lease.holder!r}")


def _keep(group: Group, lease: Lease) -> Lease:
    sql = "INSERT OR REPLACE INTO leases (name, holder, fence, expires_at) VALUES (?, ?, ?, ?)"
    group.db.execute(sql, (lease.name, lease.holder, lease.fence, lease.expires_at))
    return lease
