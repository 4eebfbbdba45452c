"""The tables, and how an older file becomes a newer one.

`versions.n` grows with every insert, and there is one writer: so `n` orders versions like the log does,
and an index that ends in it needs no sorting. `entries.change` grows in the same way with whatever the search index
keeps or drops; what was dropped leaves a row without content, so that those who keep entries in memory hear of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

from recollect.domain.errors import EngineTooOld, NotAStore, SchemaTooNew

APPLICATION_ID = 0x5265636F  # "Reco"
OLDEST_SQLITE = 3_051_003

_FIRST = """
CREATE TABLE tenants (
    tenant       TEXT PRIMARY KEY,
    sequence     INTEGER NOT NULL,
    hash         BLOB NOT NULL,
    trimmed      INTEGER NOT NULL DEFAULT 0,
    trimmed_hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE versions (
    n                 INTEGER PRIMARY KEY,
    id                BLOB NOT NULL,
    tenant            TEXT NOT NULL,
    plane             TEXT NOT NULL,
    namespace         TEXT NOT NULL,
    key               TEXT NOT NULL,
    revision          INTEGER NOT NULL,
    sequence          INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    written_at        INTEGER NOT NULL,
    expires_at        INTEGER,
    ended_at          INTEGER,
    end_reason        TEXT,
    ended_sequence    INTEGER,
    index_state       TEXT NOT NULL,
    policy_attributes TEXT NOT NULL,
    attributes        BLOB,
    value             BLOB
) STRICT;

CREATE UNIQUE INDEX versions_live ON versions (tenant, plane, namespace, key) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX versions_past ON versions (tenant, plane, namespace, key, revision) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX versions_id ON versions (id);
CREATE INDEX versions_expiring ON versions (tenant, expires_at) WHERE ended_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX versions_unindexed ON versions (tenant, n) WHERE index_state = 'pending';
CREATE INDEX versions_ended ON versions (tenant, end_reason, ended_at) WHERE ended_at IS NOT NULL AND value IS NOT NULL;
CREATE INDEX versions_empty ON versions (tenant, ended_at) WHERE ended_at IS NOT NULL AND value IS NULL;

CREATE TABLE events (
    tenant     TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    plane      TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    key        TEXT NOT NULL,
    row_id     BLOB NOT NULL,
    revision   INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    expires_at INTEGER,
    actor      TEXT NOT NULL,
    detail     TEXT NOT NULL,
    digest     BLOB NOT NULL,
    previous   BLOB NOT NULL,
    hash       BLOB NOT NULL,
    kept       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE receipts (
    tenant      TEXT NOT NULL,
    lookup      BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    receipt     BLOB NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (tenant, lookup)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_at ON receipts (tenant, at);

CREATE TABLE erasures (
    tenant   TEXT NOT NULL,
    id       BLOB NOT NULL,
    subject  TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    at       INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    live     INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    fence      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

_ARCHIVED = """
ALTER TABLE versions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN index_fields TEXT;
"""

_RELABELLED = """
ALTER TABLE versions ADD COLUMN pinned_sequence INTEGER;
"""

_SEARCHED = """
ALTER TABLE versions ADD COLUMN index_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN index_after INTEGER;

CREATE TABLE entries (
    change    INTEGER PRIMARY KEY AUTOINCREMENT,
    n         INTEGER NOT NULL,
    series    INTEGER NOT NULL,
    tenant    TEXT NOT NULL,
    plane     TEXT NOT NULL,
    namespace TEXT NOT NULL,
    content   BLOB,
    detail    BLOB
) STRICT;
CREATE UNIQUE INDEX entries_version ON entries (n, series);
CREATE INDEX entries_scope ON entries (tenant, series, plane, namespace, n);

UPDATE versions SET index_state = 'pending'
WHERE plane = 'item' AND ended_at IS NULL AND value IS NOT NULL AND index_fields IS NOT '[]';
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _ARCHIVED, _RELABELLED, _SEARCHED)
"""Step n takes a file from schema n to n + 1. Steps are added, never changed."""


def check_engine() -> None:
    """Refuse an SQLite with the bug that can corrupt a write-ahead log shared by two connections."""
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
        raise EngineTooOld(f"SQLite {apsw.sqlite_lib_version()} is too old; 3.51.3 is needed")


def migrate(connection: apsw.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring the file to the newest schema, in one transaction; refuse files that are not ours or too new."""
    if _version(connection) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise NotAStore("this database belongs to another program")
        if version > len(migrations):
            raise SchemaTooNew(
                f"the data has schema {version}; this program knows up to {len(migrations)}", schema=version
            )
        for step in migrations[version:]:
            connection.execute(step)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself after some errors
            connection.execute("ROLLBACK")
        raise


def check_ours(path: Path, newest: int = len(MIGRATIONS)) -> None:
    """Refuse a file that is not ours or too new, by its header alone: nothing is opened, so nothing is touched."""
    wal = path.with_name(path.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        return  # the newest header is in there; it is in our mode already, so that opening it changes nothing
    with path.open("rb") as file:
        header = file.read(108)
    if not header:
        return
    if len(header) < 108 or not header.startswith(b"SQLite format 3\0"):
        raise NotAStore(f"{path} is not a database")
    version, application, tables = (int.from_bytes(header[a:b]) for a, b in ((60, 64), (68, 72), (103, 105)))
    if application != APPLICATION_ID and (application or version or tables):
        raise NotAStore(f"{path} belongs to another program")
    if version > newest:
        raise SchemaTooNew(f"the data has schema {version}; this program knows up to {newest}", schema=version)


def version_of(path: Path) -> int:
    """The schema that a file has; it is only read."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return _version(connection)
    finally:
        connection.close()


def _version(connection: apsw.Connection) -> int:
    application = connection.execute("PRAGMA application_id").get
    version = connection.execute("PRAGMA user_version").get
    if application not in (0, APPLICATION_ID) or (version and application != APPLICATION_ID):
        raise NotAStore("this database belongs to another program")
    return int(version)
