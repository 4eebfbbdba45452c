"""Wrapped data keys in a schema of their own, in the database of the data or in another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import psycopg

from recollect.backends.postgres.connections import Link, Row, is_lost, open_link, translating
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.schema import Step, migrate
from recollect.domain.instants import Instant
from recollect.ports.keys import Destruction, KeyStore, WrappedKey

_SCHEMA = """
CREATE TABLE keys (
    id         bytea PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    master     text COLLATE "C" NOT NULL,
    wrapped    bytea NOT NULL,
    reserved   bigint NOT NULL,
    UNIQUE (tenant, subject, generation)
);

CREATE TABLE destructions (
    n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id      bytea NOT NULL UNIQUE,
    tenant  text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    at      bigint NOT NULL,
    actor   text COLLATE "C" NOT NULL,
    settled boolean NOT NULL
);
"""
STEPS = (Step(_SCHEMA),)
_COLUMNS = "id, tenant, subject, generation, master, wrapped, reserved"
_OF = "tenant = $1 AND subject = $2"
_ONE_AT_A_TIME = "LOCK TABLE keys IN SHARE ROW EXCLUSIVE MODE"


def epoch_of(schema: str) -> str:
    """The statement that asks the key store in a schema of the same database for the number of its last destruction."""
    return f'SELECT coalesce(max(n), 0) FROM "{schema}".destructions'


class PostgresKeyStore(KeyStore):
    """Wrapped keys in two tables. When some are destroyed, the table is written anew without them."""

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options
        self._lock = threading.RLock()
        self._closed = False
        with translating():
            self._link: Link | None = open_link(options)
            try:
                migrate(self._link, options.schema, STEPS)
            except BaseException:
                self._link.close()
                raise

    def epoch(self) -> int:
        """The number of the last destruction."""
        return int(self._rows(epoch_of(self._options.schema))[0][0])

    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        """The key of the highest generation."""
        sql = f"SELECT {_COLUMNS} FROM keys WHERE {_OF} ORDER BY generation DESC LIMIT 1"
        return self._one(sql, tenant, subject)

    def masters(self) -> Sequence[str]:
        """The names of the master keys that wrap what is kept."""
        return [name for (name,) in self._rows("SELECT DISTINCT master FROM keys")]

    def by_id(self, key_id: bytes) -> WrappedKey | None:
        """The key of that id."""
        return self._one(f"SELECT {_COLUMNS} FROM keys WHERE id = $1", key_id)

    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        """Keys in the order of their ids."""
        sql = f"SELECT {_COLUMNS} FROM keys WHERE id > $1 ORDER BY id LIMIT $2"
        with self._asking() as link:
            return [WrappedKey(*row) for row in link.rows(sql, after, limit)]

    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        """Keep new keys, made within the transaction; the first to give a subject a generation wins."""
        with self._changing() as link:
            sql = f"INSERT INTO keys ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING"
            link.many(
                sql,
                [
                    (key.id, key.tenant, key.subject, key.generation, key.master, key.wrapped, key.reserved)
                    for key in make()
                ],
            )

    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        """Count uses durably before they happen, in one transaction for all."""
        with self._changing() as link:
            link.send("UPDATE keys SET reserved = reserved + $1 WHERE id = ANY($2::bytea[])", uses, list(key_ids))

    def destroy(self, destruction: Destruction) -> None:
        """Delete the subject's keys, remember it, and write the table anew, so that its file has them no more."""
        with self._changing() as link:
            link.send(
                "INSERT INTO destructions (id, tenant, subject, at, actor, settled) VALUES ($1, $2, $3, $4, $5, $6) "
                "ON CONFLICT (id) DO NOTHING",
                destruction.id,
                destruction.tenant,
                destruction.subject,
                destruction.at,
                destruction.actor,
                destruction.settled,
            )
            link.send(f"DELETE FROM keys WHERE {_OF}", destruction.tenant, destruction.subject)
        self._write_anew()

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first."""
        sql = "SELECT id, tenant, subject, at, actor, settled FROM destructions WHERE NOT settled OR $1 ORDER BY n"
        return [
            Destruction(row[0], row[1], row[2], Instant(row[3]), row[4], row[5])
            for row in self._rows(sql, not unsettled)
        ]

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt is in the log."""
        with self._changing() as link:
            link.send("UPDATE destructions SET settled = true WHERE id = $1", destruction_id)

    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        """Replace the keys that the change changes, all of them or none."""
        with self._changing() as link:
            keys = [WrappedKey(*row) for row in link.rows(f"SELECT {_COLUMNS} FROM keys")]
            changed = [new for key in keys if (new := change(key)) is not key]
            sql = "UPDATE keys SET master = $1, wrapped = $2 WHERE id = $3"
            link.many(sql, [(key.master, key.wrapped, key.id) for key in changed])
        self._write_anew()
        return len(changed)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            if self._link is not None:
                self._link.close()

    def _write_anew(self) -> None:
        with self._asking() as link:
            link.send("VACUUM (FULL) keys")

    def _one(self, sql: str, *bindings: object) -> WrappedKey | None:
        return next((WrappedKey(*row) for row in self._rows(sql, *bindings)), None)

    def _rows(self, sql: str, *bindings: object) -> list[Row]:
        """What a question is answered; asked again when the connection had broken."""
        with self._lock, translating():
            for again in (True, False):
                try:
                    return self._connected().rows(sql, *bindings)
                except psycopg.Error as problem:
                    self._drop_if_lost(problem)
                    if not again or not is_lost(problem):
                        raise
        raise AssertionError("unreachable: the second attempt returns or raises")

    def _connected(self) -> Link:
        if self._closed:
            raise psycopg.OperationalError("the key store was closed")
        if self._link is None or self._link.connection.closed:
            self._link = open_link(self._options)
        return self._link

    def _drop_if_lost(self, problem: psycopg.Error) -> None:
        if is_lost(problem) and self._link is not None:
            self._link.close()

    @contextmanager
    def _asking(self) -> Iterator[Link]:
        with self._lock, translating():
            try:
                yield self._connected()
            except psycopg.Error as problem:
                self._drop_if_lost(problem)
                raise

    @contextmanager
    def _changing(self) -> Iterator[Link]:
        self._rows("SELECT 1")  # a connection that has broken is replaced before anything is begun
        with self._asking() as link:
            link.send("BEGIN")
            try:
                link.send(_ONE_AT_A_TIME)
                yield link
                link.send("COMMIT")
            except BaseException:
                if not link.connection.broken and not link.connection.closed:
                    link.send("ROLLBACK")
                raise
