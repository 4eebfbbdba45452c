"""Trials of the MongoDB backend: each has a database of its own on a given server, and drops it when it is over."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from recollect.backends.keyring import Envelope, Plain
from recollect.backends.mongodb import MongoKeyStore, MongoOptions, MongoStore
from recollect.backends.mongodb.documents import event_name, name_of, version_document
from recollect.backends.mongodb.driver import translating
from recollect.backends.mongodb.schema import COMMITS, EVENTS, VERSIONS
from recollect.domain.address import Address
from recollect.ports.keys import Sealer
from recollect.ports.store import Store
from recollect.testing.contract.trial import Stored, Trial
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.drivers import OneMasterKey, forged


class MongoScene:
    """Every store and key store that a trial opened on one database, so that all get closed."""

    def __init__(self, url: str, *, encrypted: bool = True, make: type[MongoStore] = MongoStore) -> None:
        self.options = MongoOptions(url, f"trial_{secrets.token_hex(8)}")
        self.clock = ManualClock()
        self._ids = SerialIds()
        self._encrypted = encrypted
        self._make = make
        self._stores: list[MongoStore] = []
        self.envelopes: list[Envelope] = []

    def open(self, *, direct: bool = False) -> MongoStore:
        """Another instance on the same data, as another process would have it."""
        options = replace(self.options, turns=str(len(self._stores)))
        store = self._make(options, clock=self.clock, ids=self._ids, sealer=self._sealer(), direct=direct)
        self._stores.append(store)
        return store

    def _sealer(self) -> Sealer:
        if not self._encrypted:
            return Plain()
        self.envelopes.append(Envelope(MongoKeyStore(self.options), OneMasterKey(), self.clock))
        return self.envelopes[-1]

    async def close(self) -> None:
        """Close everything, and drop the database."""
        for store in self._stores:
            await store.close()
            assert not store._signal._listeners, "somebody still waits for the closed store"
        for envelope in self.envelopes:
            envelope.close()
        with MongoClient[dict[str, Any]](self.options.url) as client:
            client.drop_database(self.options.database)


@asynccontextmanager
async def mongo_trial(
    url: str, scratch: Path, *, encrypted: bool = True, make: type[MongoStore] = MongoStore
) -> AsyncIterator[Trial]:
    """A trial of the MongoDB store in a new database on this server."""
    scene = MongoScene(url, encrypted=encrypted, make=make)

    async def second() -> Store:
        return scene.open()

    async def reopen() -> Store:
        await trial.store.close()
        trial.store = scene.open()
        return trial.store

    tamper = MongoTamper(scene.options)

    async def force(tenant: str, address: Address) -> None:
        with translating():
            tamper.versions.insert_one(version_document(tenant, forged(address), 1))

    try:
        trial = Trial(scene.open(), scene.clock, second, reopen, force, tamper, None, scratch)
        yield trial
    finally:
        tamper.close()
        await scene.close()


class MongoTamper:
    """Alters the documents of a database through a client of its own."""

    def __init__(self, options: MongoOptions) -> None:
        self._client: MongoClient[dict[str, Any]] = MongoClient(options.url)
        database = self._client[options.database]
        self.versions, self.events, self.commits = database[VERSIONS], database[EVENTS], database[COMMITS]

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    async def edit_event(self, tenant: str, sequence: int, field: str, value: Stored) -> None:
        """Set a field of the event's document."""
        self.events.update_one({"tenant": tenant, "sequence": sequence}, {"$set": {field: value}})

    async def delete_event(self, tenant: str, sequence: int) -> None:
        """Delete the event's document."""
        self.events.delete_one({"_id": event_name(tenant, sequence)})

    async def swap_events(self, tenant: str, one: int, other: int) -> None:
        """Exchange the sequences of two documents."""
        for now, then in ((one, -1), (other, one), (-1, other)):
            self.events.update_one({"tenant": tenant, "sequence": now}, {"$set": {"sequence": then}})

    async def truncate(self, tenant: str, after: int, *, move_head: bool) -> None:
        """Delete the documents at the end, and the versions with them."""
        late = {"tenant": tenant, "sequence": {"$gt": after}}
        self.events.delete_many(late)
        self.versions.delete_many(late)
        if move_head:
            last = self.events.find_one({"tenant": tenant, "sequence": after})
            newest = self.commits.find_one({"tenant": tenant}, sort=[("number", -1)])
            assert last is not None
            assert newest is not None
            change = {"$set": {"sequence": after, "hash": last["hash"]}}
            self.commits.update_one({"_id": newest["_id"]}, change)

    async def edit_version(self, tenant: str, row_id: bytes, field: str, value: Stored) -> None:
        """Set a field of the version's document."""
        self.versions.update_one({"_id": name_of(row_id), "tenant": tenant}, {"$set": {field: value}})

    async def delete_version(self, tenant: str, row_id: bytes) -> None:
        """Delete the version's document."""
        self.versions.delete_one({"_id": name_of(row_id), "tenant": tenant})
