"""Wrapped data keys in a small SQLite file of their own, which forgets for good what is deleted from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from recollect.backends.sqlite.connections import empty_log, open_connection, translated
from recollect.backends.sqlite.options import SqliteOptions
from recollect.backends.sqlite.schema import check_engine, migrate
from recollect.domain.errors import StoreBusy
from recollect.domain.instants import Instant
from recollect.ports.keys import Destruction, KeyStore, WrappedKey

_SCHEMA = """
CREATE TABLE keys (
    id         BLOB PRIMARY KEY,
    tenant     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    generation INTEGER NOT NULL,
    master     TEXT NOT NULL,
    wrapped    BLOB NOT NULL,
    reserved   INTEGER NOT NULL,
    UNIQUE (tenant, subject, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE destructions (
    id      BLOB PRIMARY KEY,
    tenant  TEXT NOT NULL,
    subject TEXT NOT NULL,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    settled INTEGER NOT NULL
) STRICT;
"""
_COLUMNS = "id, tenant, subject, generation, master, wrapped, reserved"


class SqliteKeyStore(KeyStore):
    """Wrapped keys in a file. Deleted keys are overwritten, and the log of the file is emptied after."""

    def __init__(self, options: SqliteOptions) -> None:
        check_engine()
        self._lock = threading.RLock()
        try:
            self._db = open_connection(options, writes=True)
            try:
                self._db.execute("PRAGMA secure_delete = ON; PRAGMA cache_size = -2048")
                migrate(self._db, (_SCHEMA,))
            except BaseException:
                with suppress(apsw.Error):
                    self._db.close()
                raise
        except apsw.Error as problem:
            raise translated(problem) from problem
        self._seen, self._epoch = -1, 0

    def epoch(self) -> int:
        """How many destructions there were; counted anew only when some process has changed the file."""
        with self._lock, self._translating():
            seen = int(self._db.execute("PRAGMA data_version").get)
            if seen != self._seen:
                self._epoch = int(self._db.execute("SELECT count(*) FROM destructions").get)
                self._seen = seen
            return self._epoch

    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        """The key of the highest generation."""
        sql = f"SELECT {_COLUMNS} FROM keys WHERE tenant = ? AND subject = ? ORDER BY generation DESC LIMIT 1"
        return self._one(sql, (tenant, subject))

    def masters(self) -> Sequence[str]:
        """The names of the master keys that wrap what is kept."""
        with self._lock, self._translating():
            return [name for (name,) in self._db.execute("SELECT DISTINCT master FROM keys")]

    def by_id(self, key_id: bytes) -> WrappedKey | None:
        """The key of that id."""
        return self._one(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", (key_id,))

    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        """Keys in the order of their ids."""
        sql = f"SELECT {_COLUMNS} FROM keys WHERE id > ? ORDER BY id LIMIT ?"
        with self._lock, self._translating():
            return [WrappedKey(*row) for row in self._db.execute(sql, (after, limit))]

    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        """Keep new keys, made within the transaction; the first to give a subject a generation wins."""
        with self._transaction():
            self._db.executemany(
                f"INSERT OR IGNORE INTO keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (key.id, key.tenant, key.subject, key.generation, key.master, key.wrapped, key.reserved)
                    for key in make()
                ],
            )

    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        """Count uses durably before they happen, in one transaction for all."""
        with self._transaction():
            sql = "UPDATE keys SET reserved = reserved + ? WHERE id = ?"
            self._db.executemany(sql, [(uses, key_id) for key_id in key_ids])

    def destroy(self, destruction: Destruction) -> None:
        """Delete and overwrite the subject's keys, remember it, and empty the write-ahead log."""
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO destructions (id, tenant, subject, at, actor, settled) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    destruction.id,
                    destruction.tenant,
                    destruction.subject,
                    destruction.at,
                    destruction.actor,
                    int(destruction.settled),
                ),
            )
            self._db.execute(
                "DELETE FROM keys WHERE tenant = ? AND subject = ?", (destruction.tenant, destruction.subject)
            )
            self._seen = -1
        self._empty_log()

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first."""
        sql = "SELECT id, tenant, subject, at, actor, settled FROM destructions WHERE settled <= ? ORDER BY rowid"
        with self._lock, self._translating():
            return [
                Destruction(row[0], row[1], row[2], Instant(row[3]), row[4], bool(row[5]))
                for row in self._db.execute(sql, (0 if unsettled else 1,))
            ]

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt is in the log."""
        with self._transaction():
            self._db.execute("UPDATE destructions SET settled = 1 WHERE id = ?", (destruction_id,))

    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        """Replace the keys that the change changes, all of them or none."""
        with self._transaction():
            keys = [WrappedKey(*row) for row in self._db.execute(f"SELECT {_COLUMNS} FROM keys")]
            changed = [new for key in keys if (new := change(key)) is not key]
            self._db.executemany(
                "UPDATE keys SET master = ?, wrapped = ? WHERE id = ?",
                [(key.master, key.wrapped, key.id) for key in changed],
            )
        self._empty_log()
        return len(changed)

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy of the file, readable for its owner only."""
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._lock, self._translating():
            copy = apsw.Connection(str(target))
            with copy.backup("main", self._db, "main") as steps:
                steps.step(-1)
            copy.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _empty_log(self) -> None:
        with self._lock, self._translating():
            if not empty_log(self._db):
                raise StoreBusy("the key store is still being read, so traces may be left; repeat the call")

    def _one(self, sql: str, bindings: tuple[object, ...]) -> WrappedKey | None:
        with self._lock, self._translating():
            row = next(self._db.execute(sql, bindings), None)
            return None if row is None else WrappedKey(*row)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._translating():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if not self._db.get_autocommit():
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as problem:
            raise translated(problem) from problem
