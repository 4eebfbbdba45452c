"""Reading what is stored as it is, and taking over what was read elsewhere, with COPY.

Changes of entries are numbered within a tenant. Those that are taken over get numbers by the sequence of their version,
and the tenant goes on counting after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import psycopg

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import BEGINNING
from recollect.domain.errors import StoreCorrupt, StoreIncomplete
from recollect.domain.stored import (
    SHAPES,
    Name,
    Shelf,
    Stored,
    StoredEntry,
    StoredTenant,
    StoredVersion,
    fields_of,
)

_NAMES: dict[Shelf, tuple[tuple[str, str], ...]] = {
    Shelf.VERSIONS: (("id", "bytea"),),
    Shelf.EVENTS: (("tenant", "text"), ("sequence", "bigint")),
    Shelf.RECEIPTS: (("tenant", "text"), ("lookup", "bytea")),
    Shelf.ERASURES: (("tenant", "text"), ("id", "bytea")),
    Shelf.TENANTS: (("tenant", "text"),),
}
_TYPES: dict[type, str] = {bytes: "bytea", str: "text", int: "int8"}
_NARROW = ("index_attempts", "archived", "kept")
"""Columns that are integers of four bytes."""
_AT_ONCE = 1_000
_BYTES_AT_ONCE = 8 << 20
_SERIES_OF_ONE = 1_000
"""How many series a version may have entries in; there are two for a while when the model is changed."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('recollect copying ' || current_schema(), 0))"
_THERE = """
SELECT 1 FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE s.nspname = current_schema() AND c.relname = 'copying'
"""
_WEIGHTS = f"""
SELECT v.id, 300 + coalesce(octet_length(v.value), 0) + coalesce(octet_length(v.attributes), 0) + coalesce(
    (SELECT sum(octet_length(e.content) + coalesce(octet_length(e.detail), 0)) FROM entries e WHERE e.id = v.id), 0
)::bigint FROM versions v WHERE v.id > $1 ORDER BY v.id LIMIT {_AT_ONCE}
"""
_ENTRIES = """
SELECT id, series, content, detail FROM entries
WHERE id > $1 AND id <= $2 AND content IS NOT NULL ORDER BY id, series
"""
_RIVALS = f"""
DELETE FROM versions v USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
    AS n (tenant, plane, namespace, key, id)
WHERE v.tenant = n.tenant AND v.plane = n.plane AND {BEGINNING.replace("namespace", "v.namespace")} = {
    BEGINNING.replace("namespace", "n.namespace")
} AND v.namespace = n.namespace AND v.key = n.key
    AND v.ended_at IS NULL AND v.id <> n.id RETURNING v.id
"""
_DROP_ENTRIES = "DELETE FROM entries WHERE id = ANY($1::bytea[])"
_ENTRY_COLUMNS = ("id", "series", "tenant", "sequence", "plane", "namespace", "change", "content", "detail")
_ENTRY_TYPES = ("bytea", "int8", "text", "int8", "text", "text", "int8", "bytea", "bytea")


# -- the mark


def mark(link: Link) -> bytes | None:
    """The mark, if there is one."""
    if link.row(_THERE) is None:
        return None
    found = link.row("SELECT mark FROM copying")
    return None if found is None else bytes(found[0])


def set_mark(link: Link, mark: bytes | None) -> None:
    """Set the mark, or take it away; within a transaction."""
    if mark is None:
        link.connection.execute("DROP TABLE IF EXISTS copying", prepare=False)
        return
    if link.row(_THERE) is None:
        sql = "CREATE TABLE copying (one integer PRIMARY KEY CHECK (one = 1), mark bytea NOT NULL)"
        link.connection.execute(sql, prepare=False)
    sql = "INSERT INTO copying (one, mark) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET mark = excluded.mark"
    link.connection.execute(sql, (mark,), prepare=False)


def check_whole(link: Link, schema: str) -> None:
    """Refuse data that was only partly copied."""
    if mark(link) is not None:
        raise StoreIncomplete(f"the schema {schema} holds only a part of what was to be copied there")


# -- reading


def page(link: Link, shelf: Shelf, after: Name) -> list[Stored]:
    """The next records after that name."""
    if shelf is Shelf.VERSIONS:
        return list(_versions(link, cast("bytes", after[0]) if after else b""))
    columns, names = ", ".join(fields_of(shelf)), ", ".join(name for name, _ in _NAMES[shelf])
    bounds = ", ".join(f"${n}::{kind}" for n, (_, kind) in enumerate(_NAMES[shelf], 1))
    beyond = f"AND ({names}) > ({bounds})" if after else ""
    logged = "sequence > 0" if shelf is Shelf.TENANTS else "true"
    sql = f"SELECT {columns} FROM {shelf} WHERE {logged} {beyond} ORDER BY {names} LIMIT {_AT_ONCE}"
    return [SHAPES[shelf](*row) for row in link.rows(sql, *after)]


def amount(link: Link, shelf: Shelf) -> int:
    """How many records there are."""
    found = link.row(f"SELECT count(*) FROM {shelf}")
    return int(found[0]) if found else 0


def _versions(link: Link, after: bytes) -> Iterable[StoredVersion]:
    last, weight = b"", 0
    for row_id, size in link.rows(_WEIGHTS, after):
        if last and weight + size > _BYTES_AT_ONCE:
            break
        last, weight = row_id, weight + size
    entries: dict[bytes, list[StoredEntry]] = {}
    for row_id, series, content, detail in link.rows(_ENTRIES, after, last):
        entries.setdefault(row_id, []).append(StoredEntry(series, content, detail))
    columns = ", ".join(fields_of(Shelf.VERSIONS))
    sql = f"SELECT {columns} FROM versions WHERE id > $1 AND id <= $2 ORDER BY id"
    for row in link.rows(sql, after, last):
        yield StoredVersion(*(*row, tuple(entries.get(row[0], ()))))


# -- taking over


def take_over(
    link: Link, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name], mark: bytes | None = None
) -> None:
    """Keep these records, take those names away, and set the mark if one is given; within a transaction."""
    link.send(_LOCK)
    _remove(link, shelf, gone)
    link.send("SAVEPOINT taking")
    try:
        _keep(link, shelf, records)
    except psycopg.errors.UniqueViolation:
        link.send("ROLLBACK TO SAVEPOINT taking")
        _remove(link, shelf, [each.name for each in records])
        if shelf is Shelf.VERSIONS:
            _remove_rivals(link, cast("Sequence[StoredVersion]", records))
        _keep(link, shelf, records)
    if mark is not None:
        set_mark(link, mark)


def _keep(link: Link, shelf: Shelf, records: Sequence[Stored]) -> None:
    if shelf is Shelf.VERSIONS:
        _take_versions(link, cast("Sequence[StoredVersion]", records))
    elif shelf is Shelf.TENANTS:
        _take_tenants(link, cast("Sequence[StoredTenant]", records))
    else:
        _copy_in(link, shelf, _columns(shelf), [_values(shelf, each) for each in records])


def _remove(link: Link, shelf: Shelf, names: Sequence[Name]) -> None:
    if not names:
        return
    arrays = ", ".join(f"${n}::{kind}[]" for n, (_, kind) in enumerate(_NAMES[shelf], 1))
    columns = ", ".join(name for name, _ in _NAMES[shelf])
    same = " AND ".join(f"t.{name} = n.{name}" for name, _ in _NAMES[shelf])
    bindings = [list(parts) for parts in zip(*names, strict=True)]
    if shelf is Shelf.VERSIONS:
        link.send(_DROP_ENTRIES, *bindings)
    sql = f"DELETE FROM {shelf} t USING unnest({arrays}) AS n ({columns}) WHERE {same}"
    link.send(sql, *bindings)


def _remove_rivals(link: Link, versions: Sequence[StoredVersion]) -> None:
    """Remove what else is live at the places of these; it comes again, as what it is now."""
    live = [(each.tenant, each.plane, each.namespace, each.key, each.id) for each in versions if each.ended_at is None]
    if live:
        rivals = [row_id for (row_id,) in link.rows(_RIVALS, *(list(parts) for parts in zip(*live, strict=True)))]
        link.send(_DROP_ENTRIES, rivals)


def _take_versions(link: Link, versions: Sequence[StoredVersion]) -> None:
    _copy_in(link, "versions", _columns(Shelf.VERSIONS), [_values(Shelf.VERSIONS, each) for each in versions])
    entries = []
    for each in versions:
        if len(each.entries) >= _SERIES_OF_ONE:
            raise StoreCorrupt("a version has entries in more series than can be")
        for place, entry in enumerate(each.entries):
            change = each.sequence * _SERIES_OF_ONE + place
            where = (each.id, entry.series, each.tenant, each.sequence, each.plane, each.namespace, change)
            entries.append((*where, entry.content, entry.detail))
    _copy_in(link, "entries", dict(zip(_ENTRY_COLUMNS, _ENTRY_TYPES, strict=True)), entries)


def _take_tenants(link: Link, tenants: Sequence[StoredTenant]) -> None:
    columns = {**_columns(Shelf.TENANTS), "change": "int8"}
    rows = [(*_values(Shelf.TENANTS, each), (each.sequence + 1) * _SERIES_OF_ONE) for each in tenants]
    _copy_in(link, "tenants", columns, rows)
    # They come last, and the server does not know yet how much has come before.
    link.connection.execute("ANALYZE versions, events, entries, receipts", prepare=False)


def _copy_in(link: Link, table: str, columns: dict[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    with link.connection.cursor() as cursor, cursor.copy(sql) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def _columns(shelf: Shelf) -> dict[str, str]:
    """The columns of a shelf's table, with their types."""
    kinds = SHAPES[shelf].__annotations__
    return {name: "int4" if name in _NARROW else _type(str(kinds[name])) for name in fields_of(shelf)}


def _type(annotation: str) -> str:
    return next(theirs for ours, theirs in _TYPES.items() if annotation.startswith(ours.__name__))


def _values(shelf: Shelf, record: Stored) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in fields_of(shelf))
