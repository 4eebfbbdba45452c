"""Trials of the PostgreSQL store, each in schemas of its own on one server."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from recollect.backends.keyring import Envelope, FileMasterKeys, Plain
from recollect.backends.postgres import PostgresKeyStore, PostgresOptions, PostgresStore
from recollect.backends.postgres.connections import translating
from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions
from recollect.domain.address import Address
from recollect.domain.planning import Version
from recollect.ports.keys import Sealer
from recollect.ports.store import Store
from recollect.testing.contract.trial import Stored, Trial
from recollect.testing.contract.vectors import VectorTrial
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.drivers import forged
from recollect.testing.engines import postgres_url

_NUMBERS = itertools.count()


def fresh_schema() -> str:
    """The name of a schema that nobody has used, by any process on the same server."""
    return f"t{os.getpid()}_{os.urandom(3).hex()}_{next(_NUMBERS)}"


def drop_schema(url: str, *names: str) -> None:
    """Remove schemas with everything in them."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


class _PostgresScene:
    """Every store and key store that a trial opened in its schemas, so that all get closed."""

    def __init__(self, folder: Path, *, encrypted: bool, make: type[PostgresStore]) -> None:
        self.url = postgres_url()
        self.schema = fresh_schema()
        self._folder = folder
        self._encrypted = encrypted
        self._make = make
        self.clock = ManualClock()
        self._ids = SerialIds()
        self._stores: list[PostgresStore] = []
        self._envelopes: list[Envelope] = []

    def open(self) -> PostgresStore:
        keys = f"{self.schema}_keys" if self._encrypted else None
        options = PostgresOptions(self.url, self.schema, keys, connections=8)
        store = self._make(options, clock=self.clock, ids=self._ids, sealer=self._sealer(), leases=self.clock)
        self._stores.append(store)
        return store

    def _sealer(self) -> Sealer:
        if not self._encrypted:
            return Plain()
        master = FileMasterKeys(self._folder / "master.key", create=True)
        keys = PostgresKeyStore(PostgresOptions(self.url, f"{self.schema}_keys"))
        self._envelopes.append(Envelope(keys, master, self.clock))
        return self._envelopes[-1]

    async def close(self) -> None:
        try:
            for store in self._stores:
                await store.close()
                check_nothing_leaked(store)
            for envelope in self._envelopes:
                envelope.close()
        finally:
            drop_schema(self.url, self.schema, f"{self.schema}_keys")


def check_nothing_leaked(store: PostgresStore) -> None:
    """Fail when a closed store still has a thread, a connection or somebody who waits."""
    threads = [*store._threads._threads, *store._slow._threads]
    assert not [thread for thread in threads if thread.is_alive()], "a thread is still running"
    assert store._bell._thread is None or not store._bell._thread.is_alive(), "the bell's thread is still running"
    assert not store._pool._all, "a connection is still open"
    assert not store._signal._listeners, "somebody still waits for the closed store"


@asynccontextmanager
async def postgres_trial(
    folder: Path, *, encrypted: bool, make: type[PostgresStore] = PostgresStore
) -> AsyncIterator[Trial]:
    """A trial of the PostgreSQL store in a schema of its own; raises `EngineMissing` where there is no server."""
    scene = _PostgresScene(folder, encrypted=encrypted, make=make)
    tamper = PostgresTamper(scene.url, scene.schema)

    async def second() -> Store:
        return scene.open()

    async def reopen() -> Store:
        await trial.store.close()
        trial.store = scene.open()
        return trial.store

    async def force(tenant: str, address: Address) -> None:
        with translating():
            tamper.insert(tenant, forged(address))

    trial = Trial(scene.open(), scene.clock, second, reopen, force, tamper, None, folder)
    try:
        yield trial
    finally:
        await scene.close()


class PostgresTamper:
    """Alters the tables of a schema through a connection of its own."""

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema

    async def edit_event(self, tenant: str, sequence: int, field: str, value: Stored) -> None:
        """Set a column of the event's row."""
        sql = f"UPDATE events SET {field} = %s WHERE tenant = %s AND sequence = %s"  # noqa: S608 - a name of ours
        self._run((sql, (value, tenant, sequence)))

    async def delete_event(self, tenant: str, sequence: int) -> None:
        """Delete the event's row."""
        self._run(("DELETE FROM events WHERE tenant = %s AND sequence = %s", (tenant, sequence)))

    async def swap_events(self, tenant: str, one: int, other: int) -> None:
        """Exchange the sequences of two rows."""
        move = "UPDATE events SET sequence = %s WHERE tenant = %s AND sequence = %s"
        self._run((move, (-1, tenant, one)), (move, (one, tenant, other)), (move, (other, tenant, -1)))

    async def truncate(self, tenant: str, after: int, *, move_head: bool) -> None:
        """Delete the rows at the end, and the versions with them."""
        self._run(
            ("DELETE FROM events WHERE tenant = %s AND sequence > %s", (tenant, after)),
            ("DELETE FROM versions WHERE tenant = %s AND sequence > %s", (tenant, after)),
        )
        if move_head:
            last = "(SELECT hash FROM events WHERE tenant = %s AND sequence = %s)"
            sql = f"UPDATE tenants SET sequence = %s, hash = {last} WHERE tenant = %s"  # noqa: S608 - constants
            self._run((sql, (after, tenant, after, tenant)))

    async def edit_version(self, tenant: str, row_id: bytes, field: str, value: Stored) -> None:
        """Set a column of the version's row."""
        sql = f"UPDATE versions SET {field} = %s WHERE tenant = %s AND id = %s"  # noqa: S608 - a name of ours
        self._run((sql, (value, tenant, row_id)))

    async def delete_version(self, tenant: str, row_id: bytes) -> None:
        """Delete the version's row."""
        self._run(("DELETE FROM versions WHERE tenant = %s AND id = %s", (tenant, row_id)))

    def insert(self, tenant: str, version: Version) -> None:
        """Insert a live version, with no check but those of the schema."""
        address = version.address
        place = (tenant, address.plane.value, address.namespace.encoded, address.key)
        sql = (
            "INSERT INTO versions (id, tenant, plane, namespace, key, revision, sequence, created_at, written_at, "
            "index_state, policy_attributes, value) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        )
        moments = (version.created_at, version.written_at)
        rest = (version.index_state.value, version.policy_attributes, version.value)
        self._run((sql, (version.id, *place, version.revision, version.sequence, *moments, *rest)))

    def _run(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute(f'SET search_path TO "{self._schema}"')
            for sql, bindings in statements:
                connection.execute(sql, bindings)


@contextmanager
def postgres_vectors_trial(*, half: bool = False) -> Iterator[VectorTrial]:
    """A trial of vectors in a schema of its own; raises `EngineMissing` where there is no server."""
    options = VectorOptions(postgres_url(), fresh_schema(), half=half, connections=4)
    opened: list[PostgresVectors] = []

    def second() -> PostgresVectors:
        opened.append(PostgresVectors(options))
        return opened[-1]

    def reopen() -> PostgresVectors:
        opened[0].close()
        return second()

    try:
        yield VectorTrial(second(), second, reopen)
    finally:
        for vectors in opened:
            vectors.close()
            assert not vectors._pool._all, "a connection is still open"
        drop_schema(options.url, options.schema)
