"""A store and its keys on files in memory, a random program for them, and what is in them afterwards."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from recollect.backends.keyring import Envelope
from recollect.backends.keyring.envelope import Plain
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions, SqliteStore
from recollect.backends.sqlite.schema import MIGRATIONS
from recollect.domain.address import Address, namespace, namespace_of_subject
from recollect.domain.commits import Commit, Delete, Idempotency, Operation, Put, Receipt, Relabel
from recollect.domain.errors import RecollectError
from recollect.domain.planning import Erasure
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.sync import drive
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.faults.files import MemoryFiles

DATA, KEYS = "/disk/data.db", "/disk/keys.db"
TENANT = "default"
_names = itertools.count()


@contextmanager
def memory_files() -> Iterator[MemoryFiles]:
    """Files in memory, registered with SQLite for as long as they are used."""
    files = MemoryFiles(f"memory-files-{next(_names)}")
    try:
        yield files
    finally:
        files.unregister()


class StaticMaster:
    """A master key that is kept elsewhere, as with a secret manager."""

    def current(self) -> tuple[str, bytes]:
        return "static", b"m" * 32

    def named(self, name: str) -> bytes | None:
        return b"m" * 32 if name == "static" else None


@dataclass
class Opened:
    """An open store, with its keyring when it is sealed, and the clock that both go by."""

    store: SqliteStore
    keyring: Envelope | None
    clock: ManualClock
    ids: SerialIds

    def close(self) -> None:
        drive(self.store.close())
        if self.keyring is not None:
            self.keyring.close()


def options(files: MemoryFiles, path: str, *, synchronous: str = "FULL", tight: bool = False) -> SqliteOptions:
    """With few pages between checkpoints; `tight` checkpoints each commit, and spills pages before it ends."""
    return SqliteOptions(
        Path(path),
        synchronous=synchronous,
        exclusive=True,
        vfs=files.name,
        checkpoint_pages=1 if tight else 40,
        cache_kib=20 if tight else 4_096,
    )


def open_store(
    files: MemoryFiles,
    *,
    sealed: bool,
    synchronous: str = "FULL",
    keys_synchronous: str = "FULL",
    tight: bool = False,
    clock: ManualClock | None = None,
    ids: SerialIds | None = None,
) -> Opened:
    """Open the data file and, when sealed, the file with its keys, both exclusively."""
    clock, ids = clock or ManualClock(), ids or SerialIds()
    keyring: Envelope | None = None
    if sealed:
        keys = SqliteKeyStore(options(files, KEYS, synchronous=keys_synchronous))
        try:
            keyring = Envelope(keys, StaticMaster(), clock)
        except RecollectError:
            with suppress(apsw.Error):
                keys.close()
            raise
    try:
        store = SqliteStore(
            options(files, DATA, synchronous=synchronous, tight=tight),
            clock=clock,
            ids=ids,
            sealer=keyring or Plain(),
            direct=True,
        )
    except RecollectError:
        if keyring is not None:
            with suppress(apsw.Error):  # SQLite passes over what fails while closing; its Python driver does not
                keyring.close()
        raise
    return Opened(store, keyring, clock, ids)


def place(subject: int, key: int) -> Address:
    return Address(Plane.ITEM, namespace(("user", f"u{subject}", "notes")), f"k{key}")


def program(opened: Opened, chance: random.Random, length: int) -> Iterator[Callable[[], object]]:
    """Calls that each make one transaction: puts, updates, deletes, relabellings, batches, expiries and an erasure."""
    erase_at = chance.randrange(length // 3, length)
    subjects = [1, 2, 3]
    for at in range(length):
        opened.clock.advance(1)
        if at == erase_at:
            subjects.remove(2)
            yield partial(erase, opened, "user:u2")
        elif chance.random() < 0.1:
            yield lambda: drive(opened.store.sweep(TENANT, Pass.EXPIRE, Retention()))
        else:
            size = chance.choice((1, 1, 1, 6))
            operations = tuple(_operation(chance, subjects) for _ in range(size))
            yield partial(commit, opened, *operations)


def commit(opened: Opened, *operations: Operation, idempotency: Idempotency | None = None) -> Receipt:
    return drive(opened.store.commit(Commit(TENANT, operations, (), "", idempotency)))


def _operation(chance: random.Random, subjects: list[int]) -> Operation:
    address = place(chance.choice(subjects), chance.randrange(6))
    if chance.random() < 0.25:
        return Delete(address)
    if chance.random() < 0.25:
        return Relabel(address, chance.randrange(1, 4), f'{{"label":{chance.randrange(3)}}}')
    value = b'{"text":"%s"}' % (b"%x" % chance.getrandbits(64) * chance.choice((1, 8, 300)))
    return Put(address, value, ttl=3_000_000 if chance.random() < 0.3 else None)


def erase(opened: Opened, subject: str) -> None:
    """An erasure as the use-case does it: keys first, then rows and receipt, then settled."""
    erasure = Erasure(opened.ids(opened.clock()), TENANT, subject, namespace_of_subject(subject), "")
    if opened.keyring is not None:
        opened.keyring.destroy(erasure)
    drive(opened.store.erase(erasure))
    if opened.keyring is not None:
        opened.keyring.settle(erasure.id)


Dump = dict[str, list[tuple[Any, ...]]]
_TABLES = ("tenants", "versions", "events", "receipts", "erasures", "entries")
_SEALED_FREE = {
    "tenants": "tenant, sequence, trimmed",
    "versions": "n, id, plane, namespace, key, revision, sequence, created_at, written_at, expires_at, ended_at, "
    "end_reason, ended_sequence, index_state, policy_attributes, archived, index_fields, pinned_sequence, "
    "attributes IS NULL, value IS NULL",
    "events": "sequence, kind, plane, namespace, key, row_id, revision, at, expires_at, actor, detail, kept",
    "receipts": "tenant, lookup, fingerprint, at",
    "erasures": "id, tenant, subject, sequence, at, versions, live",
    "entries": "change, n, series, tenant, plane, namespace, content IS NULL",
}
"""What is the same in two runs although sealing draws fresh nonces in each."""


@contextmanager
def raw(files: MemoryFiles, path: str) -> Iterator[apsw.Connection]:
    """A connection that knows nothing of us; leaving it alone keeps the files as they are."""
    connection = apsw.Connection(path, vfs=files.name, statementcachesize=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        yield connection
    finally:
        connection.close()


def make_schema(connection: apsw.Connection, steps: int) -> None:
    """Take away what later steps added, so that the file is as a release with so many steps left it."""
    for step in range(len(MIGRATIONS), steps, -1):
        for name in _ADDED[step]:
            connection.execute(f"ALTER TABLE versions DROP COLUMN {name}")
        for name in _ADDED_TABLES.get(step, ()):
            connection.execute(f"DROP TABLE {name}")
    connection.execute(f"PRAGMA user_version = {steps}")


_ADDED = {2: ("archived", "index_fields"), 3: ("pinned_sequence",), 4: ("index_attempts", "index_after")}
"""The columns of versions that each step added."""
_ADDED_TABLES = {4: ("entries",)}


def dump(connection: apsw.Connection, *, sealed: bool = False) -> Dump:
    """Everything in the tables, or nothing for a file that has none yet."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        return {}
    return {
        table: connection.execute(f"SELECT {_SEALED_FREE[table] if sealed else '*'} FROM {table}").fetchall()
        for table in _TABLES
    }
