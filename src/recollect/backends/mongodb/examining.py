"""What a doctor wants to know of a server that speaks MongoDB's protocol."""

from __future__ import annotations

import time
from typing import Any

from pymongo.errors import OperationFailure

from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.schema import ABOUT, COMMITS, STORE, connected, lacking_indexes
from recollect.ports.engines import Examined, Symptom, skew

OLDEST_WIRE = 8
"""The protocol of MongoDB 4.2, the oldest that the driver speaks."""


def examine(options: MongoOptions) -> Examined:
    """Everything that can be found out from here."""
    with connected(options) as database:
        before = time.time()
        hello = database.client.admin.command("hello")
        after = time.time()
        found = [_version(database, hello), skew(hello["localTime"].timestamp(), before, after), _role(hello)]
        found += [*_connections(database), _durability(hello)]
        if database[ABOUT].find_one({"_id": STORE}) is None:
            what = f"the database {options.database} is not prepared yet"
            found.append(Symptom("schema", "warning", what, "Run `recollect migrate`, or `recollect serve`."))
            return tuple(found)
        return (*found, _indexes(database), _wrapped(database))


def _version(database: Any, hello: dict[str, Any]) -> Symptom:
    wire, version = int(hello.get("maxWireVersion", 0)), database.client.server_info().get("version", "unknown")
    text = f"version {version}, protocol {wire}"
    if wire < OLDEST_WIRE:
        return Symptom("database", "failure", f"{text} is too old", "Upgrade the server to MongoDB 4.2 or newer.")
    return Symptom("database", "ok", text)


def _role(hello: dict[str, Any]) -> Symptom:
    if hello.get("readOnly"):
        return Symptom("role", "failure", "the server takes no writes", "Name a server that takes writes in `store`.")
    if not hello.get("isWritablePrimary", hello.get("ismaster", True)):
        advice = "Name the whole replica set in `store`, so that its primary is found."
        return Symptom("role", "failure", "the server is a secondary and takes no writes", advice)
    return Symptom("role", "ok", "takes writes")


def _connections(database: Any) -> list[Symptom]:
    """What the server tells of its connections, if it does and we may know."""
    try:
        status = database.client.admin.command("serverStatus").get("connections")
    except OperationFailure:
        return []
    if not status or "available" not in status:
        return []
    what = f"{int(status['current'])} in use, {int(status['available'])} free"
    if int(status["available"]) < 20:
        return [Symptom("connections", "warning", what, "Allow more connections at the server.")]
    return [Symptom("connections", "ok", what)]


def _durability(hello: dict[str, Any]) -> Symptom:
    if "setName" in hello:
        return Symptom("durability", "ok", "acknowledged once on the disks of a majority")
    return Symptom("durability", "ok", "acknowledged once on the server's disk; there is no replica set")


def _indexes(database: Any) -> Symptom:
    missing = lacking_indexes(database)
    if missing:
        return Symptom("indexes", "failure", f"missing: {', '.join(missing)}", "Run `recollect migrate`.")
    return Symptom("indexes", "ok", "all are there")


def _wrapped(database: Any) -> Symptom:
    keys = database["keys"].count_documents({})
    if not keys and database[COMMITS].find_one({"sequence": {"$gt": 0}}, {"_id": 1}) is not None:
        what = "there is data, but the collection of wrapped keys is empty"
        return Symptom("wrapped keys", "failure", what, "Bring that collection back: nothing can be read without it.")
    return Symptom("wrapped keys", "ok", f"{keys:,} in the collection keys")
