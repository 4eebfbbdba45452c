"""Entries of the search index: kept with the mark of their version, in its transaction, sealed like values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw
import msgspec

from recollect.backends.sqlite.commits import subtree_range
from recollect.backends.sqlite.reads import COLUMNS, Reader
from recollect.backends.sqlite.writer import Group
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
SELECT n, plane, namespace, key, revision FROM versions
WHERE tenant = ? AND id = ? AND ended_at IS NULL AND index_state <> 'unwanted' AND pinned_sequence IS ?
"""
_ENDED = "SELECT n FROM versions WHERE tenant = ? AND id = ? AND ended_at IS NOT NULL AND index_state = 'pending'"
_KEEP = """
INSERT OR REPLACE INTO entries (n, series, tenant, plane, namespace, content, detail) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_DROP = """
INSERT OR REPLACE INTO entries (n, series, tenant, plane, namespace, content)
SELECT n, series, tenant, plane, namespace, NULL FROM entries WHERE n = ? AND content IS NOT NULL
"""
_MARK = "UPDATE versions SET index_state = 'done', index_attempts = 0, index_after = NULL WHERE n = ?"
_PUT_OFF = """
UPDATE versions SET index_attempts = index_attempts + 1, index_after = ?
WHERE tenant = ? AND id = ? AND index_state = 'pending' AND pinned_sequence IS ? AND (ended_at IS NULL) = ?
"""
_ENTRY = """
SELECT e.change, e.n, e.namespace, e.content, v.plane, v.key, v.id, v.revision, v.sequence, v.created_at, v.expires_at,
    v.archived, v.policy_attributes FROM entries e {how} CROSS JOIN versions v ON v.n = e.n
WHERE e.tenant = ? AND e.series = ? AND e.plane = ? AND e.namespace >= ? AND e.namespace < ?
"""
_ALL = (
    _ENTRY.format(how="INDEXED BY entries_scope")
    + "AND (e.namespace, e.n) > (?, ?) AND e.content IS NOT NULL ORDER BY e.namespace, e.n LIMIT ?"
)
_CHANGED = _ENTRY.format(how="NOT INDEXED") + "AND e.change > ? ORDER BY e.change LIMIT ?"
_UPTO = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'entries'), 0)"
_LACKING = f"""
SELECT {COLUMNS}, pinned_sequence, n FROM versions v NOT INDEXED
WHERE n > ? AND tenant = ? AND ended_at IS NULL AND index_state = 'done'
    AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.n = v.n AND e.series = ? AND e.content IS NOT NULL)
ORDER BY n LIMIT ?
"""
_SERIES = "SELECT change FROM entries INDEXED BY entries_scope WHERE tenant = ? AND series = ? LIMIT ?"
_BY_IDS = f"""
SELECT at.key, {", ".join(f"v.{name.strip()}" for name in COLUMNS.split(","))} FROM json_each(?) at
CROSS JOIN versions v INDEXED BY versions_id ON v.id = unhex(at.value) WHERE v.tenant = ? ORDER BY at.key
"""
_DETAILS = """
SELECT v.plane, e.namespace, v.key, v.id, v.revision, e.detail FROM json_each(?) at
CROSS JOIN versions v INDEXED BY versions_id ON v.id = unhex(at.value)
CROSS JOIN entries e INDEXED BY entries_version ON e.n = v.n AND e.series = ?
WHERE v.tenant = ? AND e.detail IS NOT NULL
"""
_OF = """
SELECT e.change, e.n, e.namespace, e.content, v.plane, v.key, v.id, v.revision, v.sequence, v.created_at, v.expires_at,
    v.archived, v.policy_attributes FROM json_each(?) at
CROSS JOIN versions v INDEXED BY versions_id ON v.id = unhex(at.value)
CROSS JOIN entries e INDEXED BY entries_version ON e.n = v.n AND e.series = ?
WHERE v.tenant = ? AND e.content IS NOT NULL
"""
_FIGURES = """
SELECT (SELECT count(*) FROM entries WHERE tenant = ?1 AND series = ?2 AND content IS NOT NULL),
    (SELECT count(*) FROM versions INDEXED BY versions_unindexed WHERE tenant = ?1 AND index_state = 'pending'),
    (SELECT count(*) FROM versions INDEXED BY versions_unindexed
     WHERE tenant = ?1 AND index_state = 'pending' AND index_attempts > 0)
"""


def reflect(group: Group, tenant: str, series: int, reflected: Sequence[Reflected], sealer: Sealer) -> int:
    """Keep entries with their marks, where the versions are as they were read."""
    return sum(_reflect(group.db, tenant, series, each, sealer) for each in reflected)


def _reflect(db: apsw.Connection, tenant: str, series: int, reflected: Reflected, sealer: Sealer) -> bool:
    mark = reflected.mark
    if not mark.live:
        found = next(db.execute(_ENDED, (tenant, mark.id)), None)
        if found is not None:
            db.execute(_DROP, found)
            db.execute(_MARK, found)
        return found is not None
    stored = next(db.execute(_LIVE, (tenant, mark.id, mark.pinned_sequence)), None)
    if stored is None:
        return False
    n, plane, encoded, key, revision = stored
    if reflected.entry is not None:
        address = Address(Plane(plane), decode_namespace(encoded), key)
        sealed = sealer.seal(tenant, address, mark.id, revision, entry_field(series), reflected.entry)
        detail = reflected.detail
        if detail is not None:
            detail = sealer.seal(tenant, address, mark.id, revision, detail_field(series), detail)
        db.execute(_KEEP, (n, series, tenant, plane, encoded, sealed, detail))
    db.execute(_MARK, (n,))
    return True


def put_off(group: Group, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
    """Let these wait until a moment, unless they changed."""
    group.db.executemany(_PUT_OFF, [(until, tenant, mark.id, mark.pinned_sequence, mark.live) for mark in marks])


def drop_series(group: Group, tenant: str, series: int, limit: int) -> Swept:
    """Remove entries of a series; nobody who reads entries reads that one any more."""
    changes = list(group.db.execute(_SERIES, (tenant, series, limit)))
    group.db.executemany("DELETE FROM entries WHERE change = ?", changes)
    return Swept(len(changes), more=len(changes) == limit)


def entries(
    db: apsw.Connection,
    sealer: Sealer,
    tenant: str,
    plane: Plane,
    within: Namespace,
    series: int,
    after: Place | None,
    limit: int,
) -> EntryPage:
    """A page of what is kept in a scope."""
    upto = int(db.execute(_UPTO).get)  # first: whatever is kept from now on comes again as a change
    low, high = subtree_range(within)
    stored = list(db.execute(_ALL, (tenant, series, plane, low, high, *(after or ("", 0)), limit)))
    found = [entry for _, entry in _opened(sealer, tenant, series, stored) if entry.content is not None]
    return EntryPage(found, upto, (stored[-1][2], stored[-1][1]) if len(stored) == limit else None)


def entry_changes(
    db: apsw.Connection,
    sealer: Sealer,
    tenant: str,
    plane: Plane,
    within: Namespace,
    series: int,
    since: int,
    limit: int,
) -> EntryPage:
    """What was kept or dropped in a scope."""
    upto = int(db.execute(_UPTO).get)
    if upto <= since:
        return EntryPage([], since)
    low, high = subtree_range(within)
    stored = list(db.execute(_CHANGED, (tenant, series, plane, low, high, since, limit)))
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


def entries_of(db: apsw.Connection, sealer: Sealer, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
    """What is kept of these."""
    asked = msgspec.json.encode([each.hex() for each in ids]).decode()
    opened = _opened(sealer, tenant, series, db.execute(_OF, (asked, series, tenant)))
    return [entry for _, entry in opened if entry.content is not None]


def lacking(
    db: apsw.Connection, reader: Reader, tenant: str, series: int, after: int, limit: int
) -> tuple[Sequence[Pending], int]:
    """Live versions that are reflected elsewhere but not in this series."""
    stored = list(db.execute(_LACKING, (after, tenant, series, limit)))
    found = ((reader.row(tenant, row), pinned) for *row, pinned, _ in stored)
    return [Pending(row, True, pinned) for row, pinned in found], int(stored[-1][-1]) if stored else after


def rows(db: apsw.Connection, reader: Reader, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
    """Versions by their ids."""
    asked = msgspec.json.encode([each.hex() for each in ids]).decode()
    return [reader.row(tenant, row) for _, *row in db.execute(_BY_IDS, (asked, tenant))]


def details(db: apsw.Connection, sealer: Sealer, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
    """What entries have beside their contents."""
    asked, field, found = msgspec.json.encode([each.hex() for each in ids]).decode(), detail_field(series), {}
    for plane, encoded, key, row_id, revision, detail in db.execute(_DETAILS, (asked, series, tenant)):
        address = Address(Plane(plane), decode_namespace(encoded), key)
        with suppress(KeyErased):
            found[row_id] = sealer.open(tenant, address, row_id, revision, field, detail)
    return found


def figures(db: apsw.Connection, tenant: str, series: int) -> IndexFigures:
    """How much there is, and how much waits."""
    return IndexFigures(*next(db.execute(_FIGURES, (tenant, series))))
