"""Reading and checking the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.backends.postgres.conditions import filter_sql, is_exact
from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import BEGINNING, Bound, within_sql
from recollect.backends.postgres.reads import COLUMNS, Reader
from recollect.backends.postgres.sealed import (
    EVENT,
    EVENT_WIDTH,
    SEALED,
    SEALED_WIDTH,
    sealed_version,
    stored_event,
)
from recollect.domain.attributes import stored_attributes
from recollect.domain.events import Entry, Head
from recollect.domain.filters import matches
from recollect.domain.queries import EventPage, EventQuery, check_reach
from recollect.domain.reasons import Finding
from recollect.domain.verification import Kept, LogChecker, Problem
from recollect.ports.store import Progress, Verification

_HEAD = "SELECT sequence, hash, trimmed, trimmed_hash FROM tenants WHERE tenant = $1"
_VERSION = ", ".join(f"v.{name}" for name in COLUMNS.split(", "))
_PROGRESS_EVERY = 1_000
_AT_ONCE = 500


def head(link: Link, tenant: str) -> Head:
    """Where the tenant's log ends."""
    row = link.row(_HEAD, tenant)
    return Head() if row is None else Head(*row)


def events(link: Link, reader: Reader, tenant: str, query: EventQuery) -> EventPage:
    """A page of the log, and of the versions its events opened, from one snapshot."""
    with link.pipeline(), link.snapshot():
        asked = link.send(_HEAD, tenant)
        first = _send(link, tenant, query, query.after)
        found = asked.fetchone()
        rows = first.fetchall()
        if not is_exact(query.filter):
            rows = _matching(link, tenant, query, rows)
    now_at = Head() if found is None else Head(*found)
    check_reach(query.after, now_at)
    entries = [
        Entry(stored_event(tenant, row), _opened(reader, tenant, row[EVENT_WIDTH:-1])) for row in rows[: query.limit]
    ]
    if len(rows) > query.limit:
        return EventPage(entries, entries[-1].event.sequence, now_at.sequence)
    return EventPage(entries, now_at.sequence, now_at.sequence)


def _send(link: Link, tenant: str, query: EventQuery, after: int) -> Any:
    sql, bound = _events_sql(tenant, query, after)
    return link.send(sql, *bound.values)


def _matching(link: Link, tenant: str, query: EventQuery, rows: list[Any]) -> list[Any]:
    """Of events that the engine thinks may match, enough that do."""
    matching: list[Any] = []
    while True:
        matching += [row for row in rows if matches(query.filter, stored_attributes(row[-1]))]
        if len(rows) < _AT_ONCE or len(matching) > query.limit:
            return matching
        rows = _send(link, tenant, query, rows[-1][0]).fetchall()


def _opened(reader: Reader, tenant: str, stored: Sequence[Any]) -> Any:
    return reader.row(tenant, stored) if stored and stored[0] is not None else None


def _events_sql(tenant: str, query: EventQuery, after: int) -> tuple[str, Bound]:
    bound = Bound(tenant, after)
    clauses = ["e.tenant = $1", "e.sequence > $2"]
    if query.within.segments:
        clauses.append(within_sql(query.within, bound, "e."))
    if query.planes is not None:
        planes = bound.add([plane.value for plane in query.planes])
        clauses.append(f"(e.plane = ANY({planes}::text[]) OR e.kind = 'erased')")
    if query.kinds is not None:
        clauses.append(f"e.kind = ANY({bound.add([kind.value for kind in query.kinds])}::text[])")
    if query.since is not None:
        clauses.append(f"e.at > {bound.add(query.since)}")
    if query.until is not None:
        clauses.append(f"e.at < {bound.add(query.until)}")
    columns, joined, policy = EVENT, "", "NULL"
    if query.values:
        columns = f"{EVENT}, {_VERSION}"
        joined = "LEFT JOIN versions v ON v.id = e.row_id AND e.kind IN ('add', 'update')"
    if query.filter:
        joined += " JOIN versions f ON f.id = e.row_id AND f.value IS NOT NULL"
        clauses.append(f"true{filter_sql(query.filter, bound, 'f.')}")
        policy = "f.policy_attributes"
    limit = bound.add(query.limit + 1 if is_exact(query.filter) else _AT_ONCE)
    where = f"WHERE {' AND '.join(clauses)} ORDER BY e.sequence LIMIT {limit}"
    return f"SELECT {columns}, {policy} FROM events e {joined} {where}", bound


_EVERY_EVENT = f"""
SELECT {EVENT}, e.kept, {SEALED} FROM events e
LEFT JOIN versions v ON v.id = e.row_id AND v.tenant = e.tenant
WHERE e.tenant = $1 ORDER BY e.sequence
"""
_SAME_BEGINNING = f"{BEGINNING.replace('namespace', 'p.namespace')} = {BEGINNING.replace('namespace', 'v.namespace')}"
_EVERY_VERSION = f"""
SELECT {SEALED}, {EVENT}, {EVENT.replace("e.", "x.")}, {EVENT.replace("e.", "r.")}, (
    SELECT max(revision) FROM versions p WHERE p.tenant = v.tenant AND p.plane = v.plane
        AND {_SAME_BEGINNING} AND p.namespace = v.namespace AND p.key = v.key AND p.ended_at IS NOT NULL
) FROM versions v
LEFT JOIN events e ON e.tenant = v.tenant AND e.sequence = v.sequence
LEFT JOIN events x ON x.tenant = v.tenant AND x.sequence = v.ended_sequence
LEFT JOIN events r ON r.tenant = v.tenant AND r.sequence = v.pinned_sequence
WHERE v.tenant = $1
"""


def verify(link: Link, tenant: str, expected: tuple[int, bytes] | None, progress: Progress | None) -> Verification:
    """Check every event and every version of a tenant, within one snapshot."""
    with link.snapshot():
        end = head(link, tenant)
        checker = LogChecker(end, expected)
        total = end.sequence - end.trimmed
        for row in link.stream(_EVERY_EVENT, tenant):
            _check_event(checker, tenant, row)
            if progress is not None and checker.events % _PROGRESS_EVERY == 0:
                progress(min(checker.events, total), total)
            if checker.full:
                break
        for row in link.stream(_EVERY_VERSION, tenant):
            _check_version(checker, tenant, row)
            if checker.full:
                break
    if progress is not None:
        progress(total, total)
    return Verification(end, checker.events, checker.versions, checker.finish())


def _check_event(checker: LogChecker, tenant: str, row: Sequence[Any]) -> None:
    try:
        event, kept = stored_event(tenant, row), Kept(row[EVENT_WIDTH])
        version = sealed_version(row[EVENT_WIDTH + 1 :])
    except (ValueError, KeyError):
        checker.events += 1
        checker.problems.append(Problem(Finding.EVENT_ALTERED, row[0], f"event {row[0]} has a field of no known kind"))
        return
    checker.event(event, kept, version)


def _check_version(checker: LogChecker, tenant: str, row: Sequence[Any]) -> None:
    try:
        version = sealed_version(row)
        opened, ended, pinned = (
            None if row[begin] is None else stored_event(tenant, row[begin:])
            for begin in (SEALED_WIDTH, SEALED_WIDTH + EVENT_WIDTH, SEALED_WIDTH + 2 * EVENT_WIDTH)
        )
    except (ValueError, KeyError):
        version = None
        opened = ended = pinned = None
    if version is None:
        message = f"event {row[5]} opened a version with a field of no known kind"
        checker.problems.append(Problem(Finding.VERSION_ALTERED, row[5], message))
        return
    checker.version(version, opened, ended, max(version.revision, row[-1] or 0), pinned)
