"""Reading what is stored as it is, and taking over what was read elsewhere.

Within a tenant, `versions.n` must order versions like `sequence` does. So each tenant that is taken over gets a stretch
of numbers of its own, in which a version has its sequence as its place, in whatever order the versions come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import apsw

from recollect.backends.sqlite.writer import Group
from recollect.domain.errors import StoreCorrupt, StoreIncomplete
from recollect.domain.stored import (
    SHAPES,
    Name,
    Shelf,
    Stored,
    StoredEntry,
    StoredVersion,
    fields_of,
)

_TABLE = "CREATE TABLE IF NOT EXISTS copying (one INTEGER PRIMARY KEY CHECK (one = 1), mark BLOB NOT NULL) STRICT"
_MARKED = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'copying'"
_NAMES: dict[Shelf, tuple[str, ...]] = {
    Shelf.VERSIONS: ("id",),
    Shelf.EVENTS: ("tenant", "sequence"),
    Shelf.RECEIPTS: ("tenant", "lookup"),
    Shelf.ERASURES: ("tenant", "id"),
    Shelf.TENANTS: ("tenant",),
}
_AT_ONCE = 1_000
_BYTES_AT_ONCE = 8 << 20
_STRETCH = 1 << 40
"""How many numbers a tenant gets; a file has room for four million such stretches."""
_LAST = 1 << 62
_WEIGHTS = f"""
SELECT v.id, 300 + coalesce(length(v.value), 0) + coalesce(length(v.attributes), 0) + coalesce(
    (SELECT sum(length(e.content) + coalesce(length(e.detail), 0)) FROM entries e WHERE e.n = v.n), 0
) FROM versions v INDEXED BY versions_id WHERE v.id > ? ORDER BY v.id LIMIT {_AT_ONCE}
"""
_ENTRIES = """
SELECT v.id, e.series, e.content, e.detail FROM versions v INDEXED BY versions_id CROSS JOIN entries e ON e.n = v.n
WHERE v.id > ? AND v.id <= ? AND e.content IS NOT NULL ORDER BY v.id, e.series
"""
_STRETCHES = "SELECT tenant, min(n - sequence), max(n - sequence), max(sequence), max(n) FROM versions GROUP BY tenant"
_RIVAL = """
SELECT id FROM versions WHERE tenant = ? AND plane = ? AND namespace = ? AND key = ? AND ended_at IS NULL AND id <> ?
"""
_KEEP_ENTRY = """
INSERT INTO entries (n, series, tenant, plane, namespace, content, detail) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


# -- the mark


def mark(db: apsw.Connection) -> bytes | None:
    """The mark, if there is one."""
    if next(db.execute(_MARKED), None) is None:
        return None
    found: bytes | None = db.execute("SELECT mark FROM copying").get
    return found


def set_mark(db: apsw.Connection, mark: bytes | None) -> None:
    """Set the mark, or take it away."""
    if mark is None:
        db.execute("DROP TABLE IF EXISTS copying")
    else:
        db.execute(_TABLE)
        db.execute("INSERT OR REPLACE INTO copying (one, mark) VALUES (1, ?)", (mark,))


def check_whole(db: apsw.Connection) -> None:
    """Refuse data that was only partly copied."""
    if mark(db) is not None:
        raise StoreIncomplete(f"{db.filename} holds only a part of what was to be copied there")


# -- reading


def page(db: apsw.Connection, shelf: Shelf, after: Name) -> list[Stored]:
    """The next records after that name."""
    if shelf is Shelf.VERSIONS:
        return list(_versions(db, cast("bytes", after[0]) if after else b""))
    columns, names = ", ".join(fields_of(shelf)), ", ".join(_NAMES[shelf])
    beyond = f"AND ({names}) > ({', '.join('?' * len(after))})" if after else ""
    logged = "sequence > 0" if shelf is Shelf.TENANTS else "true"
    sql = f"SELECT {columns} FROM {shelf} WHERE {logged} {beyond} ORDER BY {names} LIMIT {_AT_ONCE}"
    return [SHAPES[shelf](*row) for row in db.execute(sql, after)]


def amount(db: apsw.Connection, shelf: Shelf) -> int:
    """How many records there are."""
    return int(db.execute(f"SELECT count(*) FROM {shelf}").get)


def _versions(db: apsw.Connection, after: bytes) -> Iterable[StoredVersion]:
    last, weight = b"", 0
    for row_id, size in db.execute(_WEIGHTS, (after,)):
        if last and weight + size > _BYTES_AT_ONCE:
            break
        last, weight = row_id, weight + size
    entries: dict[bytes, list[StoredEntry]] = {}
    for row_id, series, content, detail in db.execute(_ENTRIES, (after, last)):
        entries.setdefault(row_id, []).append(StoredEntry(series, content, detail))
    columns = ", ".join(fields_of(Shelf.VERSIONS))
    sql = f"SELECT {columns} FROM versions INDEXED BY versions_id WHERE id > ? AND id <= ? ORDER BY id"
    for row in db.execute(sql, (after, last)):
        yield StoredVersion(*(*row, tuple(entries.get(row[0], ()))))


# -- taking over


class Taking:
    """Takes records over, and knows which numbers each tenant's versions have."""

    def __init__(self) -> None:
        self._stretches: dict[str, tuple[int, int]] | None = None
        self._next = 0

    def take_over(
        self, group: Group, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name], mark: bytes | None
    ) -> None:
        """Keep these records, take those names away, and set the mark if one is given."""
        db = group.flushed()
        try:
            if shelf is Shelf.VERSIONS:
                self._take_versions(db, cast("Sequence[StoredVersion]", records), gone)
            else:
                _take_rows(db, shelf, records, gone)
            if mark is not None:
                set_mark(db, mark)
        except BaseException:
            self._stretches = None  # what was noted may be undone
            raise

    def _take_versions(self, db: apsw.Connection, versions: Sequence[StoredVersion], gone: Sequence[Name]) -> None:
        known = {each.id: db.execute("SELECT n FROM versions WHERE id = ?", (each.id,)).get for each in versions}
        removed = [(name[0],) for name in gone] + [(each.id,) for each in versions if known[each.id] is not None]
        for each in versions:
            if each.ended_at is None:  # a rival comes again, as what it is now
                removed += db.execute(_RIVAL, (each.tenant, each.plane, each.namespace, each.key, each.id))
        db.executemany("DELETE FROM entries WHERE n = (SELECT n FROM versions WHERE id = ?)", removed)
        db.executemany("DELETE FROM versions WHERE id = ?", removed)
        numbers = [self._number(db, each) if known[each.id] is None else known[each.id] for each in versions]
        columns = fields_of(Shelf.VERSIONS)
        marks = ", ".join("?" * (len(columns) + 1))
        sql = f"INSERT INTO versions (n, {', '.join(columns)}) VALUES ({marks})"
        db.executemany(
            sql,
            [(n, *_values(columns, each)) for n, each in zip(numbers, versions, strict=True)],
        )
        db.executemany(
            _KEEP_ENTRY,
            [
                (n, entry.series, each.tenant, each.plane, each.namespace, entry.content, entry.detail)
                for n, each in zip(numbers, versions, strict=True)
                for entry in each.entries
            ],
        )

    def _number(self, db: apsw.Connection, version: StoredVersion) -> int:
        """The number that a new version gets."""
        if self._stretches is None:
            found = list(db.execute(_STRETCHES))
            # Where versions were written one by one, there is room only after the last of them.
            self._stretches = {row[0]: (row[2], 0 if row[1] == row[2] else row[3]) for row in found}
            last = max((row[4] for row in found), default=-1)
            self._next = (last // _STRETCH + 1) * _STRETCH
        if version.tenant not in self._stretches:
            if self._next >= _LAST:
                raise StoreCorrupt("the file has no room for another tenant")
            self._stretches[version.tenant] = (self._next, 0)
            self._next += _STRETCH
        begins, filled = self._stretches[version.tenant]
        if version.sequence <= filled:
            raise StoreCorrupt("a version is missing from the middle of what is there: copy to an empty place")
        return begins + version.sequence


def _take_rows(db: apsw.Connection, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name]) -> None:
    columns = fields_of(shelf)
    where = " AND ".join(f"{name} = ?" for name in _NAMES[shelf])
    sql = f"DELETE FROM {shelf} WHERE {where}"
    db.executemany(sql, gone)
    sql = f"INSERT OR REPLACE INTO {shelf} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    db.executemany(sql, [_values(columns, each) for each in records])


def _values(columns: Sequence[str], record: Stored) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in columns)
