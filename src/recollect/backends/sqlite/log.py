"""Reading and checking the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from recollect.backends.sqlite.commits import subtree_range
from recollect.backends.sqlite.conditions import filter_sql
from recollect.backends.sqlite.reads import COLUMNS, Reader
from recollect.backends.sqlite.sealed import SEALED, SEALED_WIDTH, sealed_version
from recollect.domain.address import Address, decode_namespace
from recollect.domain.events import Entry, Event, Head
from recollect.domain.queries import EventPage, EventQuery, check_reach
from recollect.domain.reasons import EventKind, Finding, Plane
from recollect.domain.verification import Kept, LogChecker, Problem
from recollect.ports.store import Progress, Verification

_HEAD = "SELECT sequence, hash, trimmed, trimmed_hash FROM tenants WHERE tenant = ?"
_EVENT = (
    "e.sequence, e.kind, e.plane, e.namespace, e.key, e.row_id, e.revision, e.at, e.expires_at, e.actor, e.detail, "
    "e.digest, e.previous, e.hash"
)
_EVENT_WIDTH = 14
_VERSION = ", ".join(f"v.{name}" for name in COLUMNS.split(", "))
_PROGRESS_EVERY = 1_000


@contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """Several questions to one and the same state; within a transaction they are that anyway."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("COMMIT")


def head(db: apsw.Connection, tenant: str) -> Head:
    """Where the tenant's log ends."""
    row = next(db.execute(_HEAD, (tenant,)), None)
    return Head() if row is None else Head(*row)


def events(db: apsw.Connection, reader: Reader, tenant: str, query: EventQuery) -> EventPage:
    """A page of the log, and of the versions its events opened, from one snapshot."""
    with snapshot(db):
        now_at = head(db, tenant)
        check_reach(query.after, now_at)
        sql, bindings = _events_sql(tenant, query)
        rows = list(db.execute(sql, bindings))
    entries = [Entry(_event(tenant, row), _opened(reader, tenant, row[_EVENT_WIDTH:])) for row in rows[: query.limit]]
    if len(rows) > query.limit:
        return EventPage(entries, entries[-1].event.sequence, now_at.sequence)
    return EventPage(entries, now_at.sequence, now_at.sequence)


def _opened(reader: Reader, tenant: str, stored: Sequence[Any]) -> Any:
    return reader.row(tenant, stored) if stored and stored[0] is not None else None


def _events_sql(tenant: str, query: EventQuery) -> tuple[str, list[object]]:
    clauses = ["e.tenant = ?", "e.sequence > ?"]
    bindings: list[object] = [tenant, query.after]
    if query.within.segments:
        clauses.append("e.namespace >= ? AND e.namespace < ?")
        bindings += subtree_range(query.within)
    if query.planes is not None:
        marks = ", ".join("?" * len(query.planes))
        clauses.append(f"(e.plane IN ({marks}) OR e.kind = 'erased')")
        bindings += [plane.value for plane in query.planes]
    if query.kinds is not None:
        clauses.append(f"e.kind IN ({', '.join('?' * len(query.kinds))})")
        bindings += [kind.value for kind in query.kinds]
    if query.since is not None:
        clauses.append("e.at > ?")
        bindings.append(query.since)
    if query.until is not None:
        clauses.append("e.at < ?")
        bindings.append(query.until)
    columns, joined = _EVENT, ""
    if query.values:
        columns = f"{_EVENT}, {_VERSION}"
        joined = "LEFT JOIN versions v ON v.id = e.row_id AND e.kind IN ('add', 'update')"
    if query.filter:
        asked, bound = filter_sql(query.filter)
        clauses.append(f"EXISTS (SELECT 1 FROM versions WHERE id = e.row_id AND value IS NOT NULL{asked})")
        bindings += bound
    sql = f"SELECT {columns} FROM events e {joined} WHERE {' AND '.join(clauses)} ORDER BY e.sequence LIMIT ?"
    return sql, [*bindings, query.limit + 1]


def _event(tenant: str, row: Sequence[Any]) -> Event:
    sequence, kind, plane, encoded, key, row_id, revision, at, expires_at, actor, detail, digest, previous, hashed = (
        row[:_EVENT_WIDTH]
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


_EVERY_EVENT = f"""
SELECT {_EVENT}, e.kept, {SEALED} FROM events e
LEFT JOIN versions v ON v.id = e.row_id AND v.tenant = e.tenant
WHERE e.tenant = ? ORDER BY e.sequence
"""
_EVERY_VERSION = f"""
SELECT {SEALED}, {_EVENT}, {_EVENT.replace("e.", "x.")}, {_EVENT.replace("e.", "r.")}, (
    SELECT max(revision) FROM versions p WHERE p.tenant = v.tenant AND p.plane = v.plane
        AND p.namespace = v.namespace AND p.key = v.key AND p.ended_at IS NOT NULL
) FROM versions v
LEFT JOIN events e ON e.tenant = v.tenant AND e.sequence = v.sequence
LEFT JOIN events x ON x.tenant = v.tenant AND x.sequence = v.ended_sequence
LEFT JOIN events r ON r.tenant = v.tenant AND r.sequence = v.pinned_sequence
WHERE v.tenant = ?
"""


def verify(
    db: apsw.Connection, tenant: str, expected: tuple[int, bytes] | None, progress: Progress | None
) -> Verification:
    """Check every event and every version of a tenant, within one snapshot."""
    with snapshot(db):
        end = head(db, tenant)
        checker = LogChecker(end, expected)
        total = end.sequence - end.trimmed
        for row in db.execute(_EVERY_EVENT, (tenant,)):
            _check_event(checker, tenant, row)
            if progress is not None and checker.events % _PROGRESS_EVERY == 0:
                progress(min(checker.events, total), total)
            if checker.full:
                break
        for row in db.execute(_EVERY_VERSION, (tenant,)):
            _check_version(checker, tenant, row)
            if checker.full:
                break
    if progress is not None:
        progress(total, total)
    return Verification(end, checker.events, checker.versions, checker.finish())


def _check_event(checker: LogChecker, tenant: str, row: Sequence[Any]) -> None:
    try:
        event, kept = _event(tenant, row), Kept(row[_EVENT_WIDTH])
        version = sealed_version(row[_EVENT_WIDTH + 1 :])
    except (ValueError, KeyError):
        checker.events += 1
        checker.problems.append(Problem(Finding.EVENT_ALTERED, row[0], f"event {row[0]} has a field of no known kind"))
        return
    checker.event(event, kept, version)


def _check_version(checker: LogChecker, tenant: str, row: Sequence[Any]) -> None:
    try:
        version = sealed_version(row)
        opened, ended, pinned = (
            None if row[begin] is None else _event(tenant, row[begin:])
            for begin in (SEALED_WIDTH, SEALED_WIDTH + _EVENT_WIDTH, SEALED_WIDTH + 2 * _EVENT_WIDTH)
        )
    except (ValueError, KeyError):
        version = None
        opened = ended = pinned = None
    if version is None:
        message = f"event {row[5]} opened a version with a field of no known kind"
        checker.problems.append(Problem(Finding.VERSION_ALTERED, row[5], message))
        return
    checker.version(version, opened, ended, max(version.revision, row[-1] or 0), pinned)
