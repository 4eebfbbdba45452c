"""Entries of the search index: kept with the mark of their version, in its transaction, sealed like values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import INDEXED, Bound, is_long, within_sql
from recollect.backends.postgres.reads import COLUMNS, Reader
from recollect.backends.postgres.writer import Group
from recollect.domain.address import Address, Namespace, decode_namespace
from recollect.domain.errors import KeyErased
from recollect.domain.instants import Instant
from recollect.domain.planning import detail_field, entry_field
from recollect.domain.reasons import Plane
from recollect.domain.retention import Swept
from recollect.domain.rows import Row
from recollect.ports.keys import Sealer
from recollect.ports.store import Entry, EntryPage, IndexFigures, Mark, Pending, Place, Reflected

_LIVE = """
SELECT plane, namespace, key, revision, sequence FROM versions
WHERE tenant = $1 AND id = $2 AND ended_at IS NULL AND index_state <> 'unwanted'
    AND pinned_sequence IS NOT DISTINCT FROM $3::bigint
"""
_ENDED = "SELECT series FROM entries WHERE id = $1 AND content IS NOT NULL"
_KEEP = """
INSERT INTO entries (id, series, tenant, sequence, plane, namespace, change, content, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id, series) DO UPDATE SET change = excluded.change, content = excluded.content, detail = excluded.detail
"""
_DROP = "UPDATE entries SET content = NULL, detail = NULL, change = $3 WHERE id = $1 AND series = $2"
_MARK = "UPDATE versions SET index_state = 'done', index_attempts = 0, index_after = NULL WHERE id = $1"
_MARK_ENDED = """
UPDATE versions SET index_state = 'done', index_attempts = 0, index_after = NULL
WHERE tenant = $1 AND id = $2 AND ended_at IS NOT NULL AND index_state = 'pending' RETURNING 1
"""
_PUT_OFF = """
UPDATE versions SET index_attempts = index_attempts + 1, index_after = $1
WHERE tenant = $2 AND id = $3 AND index_state = 'pending' AND pinned_sequence IS NOT DISTINCT FROM $4::bigint
    AND (ended_at IS NULL) = $5::boolean
"""
_ENTRY = """
SELECT e.change, e.sequence, e.namespace, e.content, v.plane, v.key, v.id, v.revision, v.sequence, v.created_at,
    v.expires_at, v.archived, v.policy_attributes FROM entries e JOIN versions v ON v.id = e.id
WHERE e.tenant = $1 AND e.series = $2 AND e.plane = $3 AND {within}
"""
_ALL = _ENTRY + "AND ({order}) > ({begins}, {sequence}) AND e.content IS NOT NULL ORDER BY {order} LIMIT {limit}"
_CHANGED = _ENTRY + "AND e.change > {since} ORDER BY e.change LIMIT {limit}"
_UPTO = "SELECT change FROM tenants WHERE tenant = $1"
_LACKING = f"""
SELECT {COLUMNS}, pinned_sequence FROM versions v
WHERE tenant = $1 AND sequence > $2 AND ended_at IS NULL AND index_state = 'done'
    AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = v.id AND e.series = $3 AND e.content IS NOT NULL)
ORDER BY sequence LIMIT $4
"""
_SERIES = "SELECT change FROM entries WHERE tenant = $1 AND series = $2 LIMIT $3"
_BY_IDS = f"""
SELECT {", ".join(f"v.{name.strip()}" for name in COLUMNS.split(","))}
FROM unnest($2::bytea[]) WITH ORDINALITY AS asked (id, place)
JOIN versions v ON v.id = asked.id WHERE v.tenant = $1 ORDER BY asked.place
"""
_DETAILS = """
SELECT v.plane, e.namespace, v.key, v.id, v.revision, e.detail FROM versions v
JOIN entries e ON e.id = v.id AND e.series = $2
WHERE v.tenant = $1 AND v.id = ANY($3::bytea[]) AND e.detail IS NOT NULL
"""
_OF = """
SELECT e.change, e.sequence, e.namespace, e.content, v.plane, v.key, v.id, v.revision, v.sequence, v.created_at,
    v.expires_at, v.archived, v.policy_attributes FROM versions v JOIN entries e ON e.id = v.id AND e.series = $2
WHERE v.tenant = $1 AND v.id = ANY($3::bytea[]) AND e.content IS NOT NULL
"""
_FIGURES = """
SELECT (SELECT count(*) FROM entries WHERE tenant = $1 AND series = $2 AND content IS NOT NULL),
    (SELECT count(*) FROM versions WHERE tenant = $1 AND index_state = 'pending'),
    (SELECT count(*) FROM versions WHERE tenant = $1 AND index_state = 'pending' AND index_attempts > 0)
"""


def reflect(group: Group, series: int, reflected: Sequence[Reflected], sealer: Sealer) -> int:
    """Keep entries with their marks, where the versions are as they were read."""
    tenant, link = group.tenant, group.link
    live = [each for each in reflected if each.mark.live]
    asked = [link.send(_LIVE, tenant, each.mark.id, each.mark.pinned_sequence) for each in live]
    found = [cursor.fetchone() for cursor in asked]
    done = 0
    for each, stored in zip(live, found, strict=True):
        if stored is not None:
            _keep(group, series, each, stored, sealer)
            done += 1
    return done + sum(_drop(group, each.mark.id) for each in reflected if not each.mark.live)


def _keep(group: Group, series: int, reflected: Reflected, stored: Sequence[Any], sealer: Sealer) -> None:
    plane, encoded, key, revision, sequence = stored
    row_id, tenant = reflected.mark.id, group.tenant
    if reflected.entry is not None:
        address = Address(Plane(plane), decode_namespace(encoded), key)
        sealed = sealer.seal(tenant, address, row_id, revision, entry_field(series), reflected.entry)
        detail = reflected.detail
        if detail is not None:
            detail = sealer.seal(tenant, address, row_id, revision, detail_field(series), detail)
        change = group.changes() + 1
        group.link.send(_KEEP, row_id, series, tenant, sequence, plane, encoded, change, sealed, detail)
    group.link.send(_MARK, row_id)


def _drop(group: Group, row_id: bytes) -> bool:
    link = group.link
    marked, kept = link.send(_MARK_ENDED, group.tenant, row_id), link.send(_ENDED, row_id)
    if marked.fetchone() is None:
        return False
    for (series,) in kept.fetchall():
        link.send(_DROP, row_id, series, group.changes() + 1)
    return True


def put_off(group: Group, marks: Sequence[Mark], until: Instant) -> None:
    """Let these wait until a moment, unless they changed."""
    group.link.many(_PUT_OFF, [(until, group.tenant, mark.id, mark.pinned_sequence, mark.live) for mark in marks])


def drop_series(group: Group, series: int, limit: int) -> Swept:
    """Remove entries of a series; nobody who reads entries reads that one any more."""
    changes = [change for (change,) in group.link.rows(_SERIES, group.tenant, series, limit)]
    if changes:
        sql = "DELETE FROM entries WHERE tenant = $1 AND change = ANY($2::bigint[])"
        group.link.send(sql, group.tenant, changes)
    return Swept(len(changes), more=len(changes) == limit)


def entries(
    link: Link,
    sealer: Sealer,
    tenant: str,
    plane: Plane,
    within: Namespace,
    series: int,
    after: Place | None,
    limit: int,
) -> EntryPage:
    """A page of what is kept in a scope."""
    upto = _upto(link, tenant)  # first: whatever is kept from now on comes again as a change
    whole = after is not None and is_long(after[0])
    stored = _page(link, tenant, plane, within, series, after, limit, whole=whole)
    if not whole and any(is_long(row[2]) for row in stored):
        stored = _page(link, tenant, plane, within, series, after, limit, whole=True)
    found = [entry for _, entry in _opened(sealer, tenant, series, stored) if entry.content is not None]
    return EntryPage(found, upto, (stored[-1][2], stored[-1][1]) if len(stored) == limit else None)


def _page(
    link: Link,
    tenant: str,
    plane: Plane,
    within: Namespace,
    series: int,
    after: Place | None,
    limit: int,
    *,
    whole: bool,
) -> list[tuple[Any, ...]]:
    bound = Bound(tenant, series, plane.value)
    inside = within_sql(within, bound, "e.")
    order = f"{'e.namespace' if whole else f'left(e.namespace, {INDEXED})'}, e.sequence"
    encoded, sequence = after or ("", 0)
    begins, last = bound.add(encoded if whole else encoded[:INDEXED]), bound.add(sequence)
    sql = _ALL.format(within=inside, order=order, begins=begins, sequence=last, limit=bound.add(limit))
    return link.rows(sql, *bound.values)


def _upto(link: Link, tenant: str) -> int:
    found = link.row(_UPTO, tenant)
    return int(found[0]) if found else 0


def entry_changes(
    link: Link,
    sealer: Sealer,
    tenant: str,
    plane: Plane,
    within: Namespace,
    series: int,
    since: int,
    limit: int,
) -> EntryPage:
    """What was kept or dropped in a scope."""
    upto = _upto(link, tenant)
    if upto <= since:
        return EntryPage([], since)
    bound = Bound(tenant, series, plane.value)
    inside = within_sql(within, bound, "e.")
    sql = _CHANGED.format(within=inside, since=bound.add(since), limit=bound.add(limit))
    stored = link.rows(sql, *bound.values)
    more = len(stored) == limit
    found = [entry for _, entry in _opened(sealer, tenant, series, stored)]
    return EntryPage(found, int(stored[-1][0]) if more else upto, more=more)


def _opened(sealer: Sealer, tenant: str, series: int, stored: Iterable[Sequence[Any]]) -> Iterator[tuple[int, Entry]]:
    field = entry_field(series)
    for row in stored:
        change, _, encoded, content, plane, key, row_id, revision, *known = row
        sequence, created_at, expires_at, archived, policy = known
        if content is not None:
            address = Address(Plane(plane), decode_namespace(encoded), key)
            try:
                content = sealer.open(tenant, address, row_id, revision, field, content)
            except KeyErased:
                content = None
        yield change, Entry(row_id, encoded, created_at, sequence, expires_at, archived == 1, policy, content)


def entries_of(link: Link, sealer: Sealer, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
    """What is kept of these."""
    stored = link.rows(_OF, tenant, series, list(ids))
    return [entry for _, entry in _opened(sealer, tenant, series, stored) if entry.content is not None]


def lacking(
    link: Link, reader: Reader, tenant: str, series: int, after: int, limit: int
) -> tuple[Sequence[Pending], int]:
    """Live versions that are reflected elsewhere but not in this series."""
    stored = link.rows(_LACKING, tenant, after, series, limit)
    found = [Pending(reader.row(tenant, row), True, pinned) for *row, pinned in stored]
    return found, found[-1].row.sequence if found else after


def rows(link: Link, reader: Reader, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
    """Versions by their ids."""
    return [reader.row(tenant, row) for row in link.rows(_BY_IDS, tenant, list(ids))]


def details(link: Link, sealer: Sealer, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
    """What entries have beside their contents."""
    field, found = detail_field(series), {}
    for plane, encoded, key, row_id, revision, detail in link.rows(_DETAILS, tenant, series, list(ids)):
        address = Address(Plane(plane), decode_namespace(encoded), key)
        with suppress(KeyErased):
            found[row_id] = sealer.open(tenant, address, row_id, revision, field, detail)
    return found


def figures(link: Link, tenant: str, series: int) -> IndexFigures:
    """How much there is, and how much waits."""
    row = link.row(_FIGURES, tenant, series)
    return IndexFigures(*(row or (0, 0, 0)))
