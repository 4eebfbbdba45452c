"""Trials of the backends that come with the package, for the contract suite; and a model for those of others."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import replace

from recollect.backends.keyring import Envelope, FileMasterKeys, Plain
from recollect.backends.memory import MemoryKeyStore, MemoryStore
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions, SqliteStore
from recollect.backends.sqlite.connections import translating
from recollect.domain.address import Address, decode_namespace
from recollect.domain.events import Event, Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Version
from recollect.domain.reasons import EndReason, EventKind, Plane
from recollect.ports.keys import Sealer
from recollect.ports.store import Store
from recollect.testing.contract.trial import Stored, Trial
from recollect.testing.doubles import ManualClock, SerialIds


class OneMasterKey:
    """A master key that is always the same."""

    def __init__(self, key: bytes = b"m" * 32, name: str = "the only one") -> None:
        self._key, self._name = key, name

    def current(self) -> tuple[str, bytes]:
        """The only one."""
        return self._name, self._key

    def named(self, name: str) -> bytes | None:
        """The only one, if that is its name."""
        return self._key if name == self._name else None


# -- in memory


@asynccontextmanager
async def memory_trial(scratch: Path, make: type[MemoryStore] = MemoryStore) -> AsyncIterator[Trial]:
    """A trial of the in-memory store, encrypted. It is the only instance on its data."""
    clock = ManualClock()
    envelope = Envelope(MemoryKeyStore(), OneMasterKey(), clock)
    store = make(clock=clock, ids=SerialIds(), sealer=envelope)

    async def same() -> Store:
        return store

    async def force(tenant: str, address: Address) -> None:
        store._insert(store._tenants[tenant], forged(address))

    yield Trial(store, clock, same, same, force, MemoryTamper(store), None, scratch)
    await store.close()
    assert not store._signal._listeners, "somebody still waits for the closed store"


def forged(address: Address) -> Version:
    """A live version that no commit made."""
    moment = Instant(0)
    return Version(
        address=address,
        id=b"f" * 16,
        revision=99,
        sequence=99,
        value=b"forged",
        attributes=None,
        policy_attributes="{}",
        created_at=moment,
        written_at=moment,
        expires_at=None,
    )


class MemoryTamper:
    """Alters the structures of an in-memory store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def edit_event(self, tenant: str, sequence: int, field: str, value: Stored) -> None:
        """Put an altered event in place of the one that was there."""
        log = self._store._tenants[tenant].log
        place = self._place(tenant, sequence)
        log[place] = replace(log[place], **_domain_change(log[place].address, field, value))

    async def delete_event(self, tenant: str, sequence: int) -> None:
        """Take an event out of the list."""
        del self._store._tenants[tenant].log[self._place(tenant, sequence)]

    async def swap_events(self, tenant: str, one: int, other: int) -> None:
        """Let two events change places."""
        log = self._store._tenants[tenant].log
        here, there = self._place(tenant, one), self._place(tenant, other)
        log[here], log[there] = replace(log[there], sequence=one), replace(log[here], sequence=other)

    async def truncate(self, tenant: str, after: int, *, move_head: bool) -> None:
        """Cut the list off, and the versions with it."""
        stored = self._store._tenants[tenant]
        del stored.log[self._place(tenant, after) + 1 :]
        for version in [version for version in stored.by_id.values() if version.sequence > after]:
            await self.delete_version(tenant, version.id)
        if move_head:
            stored.head = Head(after, stored.log[-1].hash, stored.head.trimmed, stored.head.trimmed_hash)

    async def edit_version(self, tenant: str, row_id: bytes, field: str, value: Stored) -> None:
        """Set a field of the version."""
        version = self._store._tenants[tenant].by_id[row_id]
        for name, changed in _domain_change(version.address, field, value).items():
            setattr(version, name, changed)

    async def delete_version(self, tenant: str, row_id: bytes) -> None:
        """Take a version out of both dictionaries."""
        stored = self._store._tenants[tenant]
        version = stored.by_id.pop(row_id)
        stored.versions[version.address].remove(version)
        if not stored.versions[version.address]:
            del stored.versions[version.address]

    def _place(self, tenant: str, sequence: int) -> int:
        log: list[Event] = self._store._tenants[tenant].log
        return next(place for place, event in enumerate(log) if event.sequence == sequence)


def _domain_change(address: Address, field: str, value: Any) -> dict[str, Any]:
    """The change of a stored field, in the domain's types."""
    match field:
        case "plane":
            return {"address": replace(address, plane=Plane(value))}
        case "namespace":
            return {"address": replace(address, namespace=decode_namespace(value))}
        case "key":
            return {"address": replace(address, key=value)}
        case "kind":
            return {"kind": EventKind(value)}
        case "end_reason":
            return {"end_reason": None if value is None else EndReason(value)}
        case _:
            return {field: value}


# -- SQLite


class _SqliteScene:
    """Every store and key store that a trial opened on one directory, so that all get closed."""

    def __init__(self, folder: Path, *, encrypted: bool, make: type[SqliteStore]) -> None:
        self.path = folder / "data.db"
        self._folder = folder
        self._encrypted = encrypted
        self._make = make
        self.clock = ManualClock()
        self._ids = SerialIds()
        self._stores: list[SqliteStore] = []
        self._envelopes: list[Envelope] = []

    def open(self, path: Path | None = None) -> SqliteStore:
        options = SqliteOptions(path or self.path)
        store = self._make(options, clock=self.clock, ids=self._ids, sealer=self._sealer())
        self._stores.append(store)
        return store

    def _sealer(self) -> Sealer:
        if not self._encrypted:
            return Plain()
        master = FileMasterKeys(self._folder / "master.key", create=True)
        keys = SqliteKeyStore(SqliteOptions(self._folder / "keys.db"))
        self._envelopes.append(Envelope(keys, master, self.clock))
        return self._envelopes[-1]

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
            check_nothing_leaked(store)
        for envelope in self._envelopes:
            envelope.close()


def check_nothing_leaked(store: SqliteStore) -> None:
    """Fail when a closed store still has a thread, a connection or somebody who waits."""
    assert not store._writer._thread.is_alive(), "the writer's thread is still running"
    assert not [thread for thread in store._threads._threads if thread.is_alive()], "a reader's thread is still running"
    assert not store._pool._all, "a reader's connection is still open"
    assert not store._pool._idle, "a closed connection is still handed out"
    assert store._stamps._closed, "stamps are still given"
    assert not store._signal._listeners, "somebody still waits for the closed store"
    try:
        store._writer.db.execute("SELECT 1")
    except apsw.ConnectionClosedError:
        return
    raise AssertionError("the writer's connection is still open")


@asynccontextmanager
async def sqlite_trial(folder: Path, *, encrypted: bool, make: type[SqliteStore] = SqliteStore) -> AsyncIterator[Trial]:
    """A trial of the SQLite store on a file in an empty directory."""
    scene = _SqliteScene(folder, encrypted=encrypted, make=make)

    async def second() -> Store:
        return scene.open()

    async def reopen() -> Store:
        await trial.store.close()
        trial.store = scene.open()
        return trial.store

    async def open_backup(path: Path) -> Store:
        return scene.open(path)

    async def force(tenant: str, address: Address) -> None:
        with translating():
            SqliteTamper(scene.path).insert(tenant, forged(address))

    trial = Trial(scene.open(), scene.clock, second, reopen, force, SqliteTamper(scene.path), open_backup, folder)
    try:
        yield trial
    finally:
        await scene.close()


class SqliteTamper:
    """Alters the tables of a file through a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def edit_event(self, tenant: str, sequence: int, field: str, value: Stored) -> None:
        """Set a column of the event's row."""
        sql = f"UPDATE events SET {field} = ? WHERE tenant = ? AND sequence = ?"  # noqa: S608 - a name of ours
        self._run((sql, (value, tenant, sequence)))

    async def delete_event(self, tenant: str, sequence: int) -> None:
        """Delete the event's row."""
        self._run(("DELETE FROM events WHERE tenant = ? AND sequence = ?", (tenant, sequence)))

    async def swap_events(self, tenant: str, one: int, other: int) -> None:
        """Exchange the sequences of two rows."""
        move = "UPDATE events SET sequence = ? WHERE tenant = ? AND sequence = ?"
        self._run((move, (-1, tenant, one)), (move, (one, tenant, other)), (move, (other, tenant, -1)))

    async def truncate(self, tenant: str, after: int, *, move_head: bool) -> None:
        """Delete the rows at the end, and the versions with them."""
        self._run(
            ("DELETE FROM events WHERE tenant = ? AND sequence > ?", (tenant, after)),
            ("DELETE FROM versions WHERE tenant = ? AND sequence > ?", (tenant, after)),
        )
        if move_head:
            last = "(SELECT hash FROM events WHERE tenant = ?2 AND sequence = ?1)"
            sql = f"UPDATE tenants SET sequence = ?1, hash = {last} WHERE tenant = ?2"  # noqa: S608 - constants
            self._run((sql, (after, tenant)))

    async def edit_version(self, tenant: str, row_id: bytes, field: str, value: Stored) -> None:
        """Set a column of the version's row."""
        sql = f"UPDATE versions SET {field} = ? WHERE tenant = ? AND id = ?"  # noqa: S608 - a name of ours
        self._run((sql, (value, tenant, row_id)))

    async def delete_version(self, tenant: str, row_id: bytes) -> None:
        """Delete the version's row."""
        self._run(("DELETE FROM versions WHERE tenant = ? AND id = ?", (tenant, row_id)))

    def insert(self, tenant: str, version: Version) -> None:
        """Insert a live version, with no check but those of the schema."""
        address = version.address
        place = (tenant, address.plane.value, address.namespace.encoded, address.key)
        sql = (
            "INSERT INTO versions (id, tenant, plane, namespace, key, revision, sequence, created_at, written_at, "
            "index_state, policy_attributes, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        moments = (version.created_at, version.written_at)
        rest = (version.index_state.value, version.policy_attributes, version.value)
        self._run((sql, (version.id, *place, version.revision, version.sequence, *moments, *rest)))

    def _run(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(10_000)
            with connection:
                for sql, bindings in statements:
                    connection.execute(sql, bindings)
        finally:
            connection.close()


def fresh_folders(parent: Path) -> Callable[[], Path]:
    """A function that makes a new empty directory in another one with every call."""
    numbers = itertools.count()

    def make() -> Path:
        folder = parent / f"trial-{next(numbers)}"
        folder.mkdir()
        return folder

    return make
