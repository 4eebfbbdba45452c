"""The collections and their indexes, and whose database this is.

Only plain and unique indexes are used: those that every server has which speaks MongoDB's protocol. All begin with the
tenant, so that the collections can be sharded by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pymongo import ReadPreference
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from recollect.backends.mongodb.driver import connect, translating
from recollect.backends.mongodb.options import MongoOptions
from recollect.domain.errors import NotAStore, SchemaTooNew, StoreIncomplete
from recollect.ports.engines import Migration

APPLICATION = "recollect"
SCHEMA = 1
ABOUT = "about"
STORE = "store"
KEYS = "keys"
COPYING = "copying"
"""What says that the data was only partly copied."""

VERSIONS, EVENTS, COMMITS, PARTS = "versions", "events", "commits", "parts"
RECEIPTS, ERASURES, LEASES = "receipts", "erasures", "leases"

_Fields = tuple[str, ...]
_UNIQUE: dict[str, tuple[_Fields, ...]] = {VERSIONS: (("tenant", "slot"),)}
_PLAIN: dict[str, tuple[_Fields, ...]] = {
    VERSIONS: (
        ("tenant", "place", "revision"),
        ("tenant", "plane", "ended_at", "namespace", "key"),
        ("tenant", "plane", "namespace", "key", "revision"),
        ("tenant", "plane", "sequence"),
        ("tenant", "since"),
        ("tenant", "index_state", "sequence"),
        ("tenant", "change"),
        ("tenant", "expires_at"),
        ("tenant", "ended_at"),
    ),
    EVENTS: (("tenant", "sequence"), ("tenant", "plane", "namespace", "sequence")),
    COMMITS: (("tenant", "number"),),
    RECEIPTS: (("tenant", "at"),),
    LEASES: (("name", "turn"),),
    PARTS: (("commit",),),
}
_OF_KEYS: dict[str, tuple[_Fields, ...]] = {
    "keys": (("id",), ("tenant", "subject", "generation")),
    "uses": (("key",),),
    "destructions": (("id",), ("tenant", "subject", "number")),
}


def prepare(options: MongoOptions, kind: str) -> None:
    """Make an empty database ours, with its indexes; refuse one that is not ours or too new."""
    with connected(options) as database:
        claimed = _claim(database, kind)
        if kind == STORE and not options.partial and database[ABOUT].find_one({"_id": COPYING}) is not None:
            raise StoreIncomplete(f"the database {options.database} holds only a part of what was to be copied there")
        if claimed.get("prepared"):
            return
        _make_indexes(database, kind)
        database[ABOUT].update_one({"_id": kind}, {"$set": {"prepared": True}})


@contextmanager
def connected(options: MongoOptions) -> Iterator[Any]:
    """The database, for a few questions and answers."""
    with translating(), connect(options) as client:
        yield client.get_database(
            options.database,
            read_preference=ReadPreference.PRIMARY,
            write_concern=WriteConcern("majority", j=True),
        )


def _make_indexes(database: Any, kind: str) -> None:
    for collection, fields, unique in _indexes(kind):
        database[collection].create_index([(name, 1) for name in fields], unique=unique, name="_".join(fields))


def _indexes(kind: str) -> list[tuple[str, _Fields, bool]]:
    """The indexes that are needed: of which collection, over which fields, and whether they are unique."""
    wanted = ((True, _UNIQUE), (False, _PLAIN)) if kind == STORE else ((False, _OF_KEYS),)
    return [
        (collection, fields, unique)
        for unique, indexes in wanted
        for collection, listed in indexes.items()
        for fields in listed
    ]


def lacking_indexes(database: Any) -> list[str]:
    """The names of indexes that are needed and are not there."""
    there = {
        (collection, name)
        for collection in {collection for kind in (STORE, KEYS) for collection, _, _ in _indexes(kind)}
        for name in database[collection].index_information()
    }
    needed = [(collection, "_".join(fields)) for kind in (STORE, KEYS) for collection, fields, _ in _indexes(kind)]
    return [f"{collection}.{name}" for collection, name in needed if (collection, name) not in there]


def is_there(options: MongoOptions) -> bool:
    """True when the database is ours already."""
    with connected(options) as database:
        return database[ABOUT].find_one({"_id": STORE}) is not None


def holds_data(options: MongoOptions) -> bool:
    """True when somebody has ever written there."""
    with connected(options) as database:
        return database[COMMITS].find_one({"sequence": {"$gt": 0}}, {"_id": 1}) is not None


def migration(options: MongoOptions) -> Migration:
    """What is to be done to the database."""
    with connected(options) as database:
        for kind in (STORE, KEYS):
            about = database[ABOUT].find_one({"_id": kind})
            if about is None or not about.get("prepared"):
                return Migration((f"make the collections and indexes in the database {options.database}",))
            _check_known(about)
        return Migration(tuple(f"make the index {name}" for name in lacking_indexes(database)))


def migrate(options: MongoOptions, finish: bool) -> None:  # noqa: ARG001 - no step has a second part yet
    """Make the collections and whatever index is lacking."""
    for kind in (STORE, KEYS):
        prepare(replace(options, partial=True), kind)
        with connected(options) as database:
            _make_indexes(database, kind)


def _claim(database: Any, kind: str) -> dict[str, Any]:
    about = database[ABOUT].find_one({"_id": kind})
    if about is None:
        if not set(database.list_collection_names()) <= _ours():
            raise NotAStore("this database belongs to another program: name an empty one, or the right one")
        if kind == STORE and database[VERSIONS].find_one({}, {"_id": 1}) is not None:
            raise NotAStore("this database has data but does not say whose: name an empty one, or the right one")
        about = {"_id": kind, "application": APPLICATION, "schema": SCHEMA}
        try:
            database[ABOUT].insert_one(about)
        except DuplicateKeyError:
            about = database[ABOUT].find_one({"_id": kind})
    _check_known(about)
    return dict(about)


def _check_known(about: Any) -> None:
    if about.get("application") != APPLICATION or not isinstance(about.get("schema"), int):
        raise NotAStore("this database belongs to another program: name an empty one, or the right one")
    if about["schema"] > SCHEMA:
        raise SchemaTooNew(
            f"the data has schema {about['schema']}; this program knows up to {SCHEMA}", schema=about["schema"]
        )


def _ours() -> set[str]:
    return {ABOUT, VERSIONS, EVENTS, COMMITS, PARTS, RECEIPTS, ERASURES, LEASES, *_OF_KEYS}
