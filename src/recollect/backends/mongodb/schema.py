"""The collections and their indexes, and whose database this is.

Only plain and unique indexes are used: those that every server has which speaks MongoDB's protocol. All begin with the
tenant, so that the collections can be sharded by it.
"""

from __future__ import annotations

from typing import Any

from pymongo import ReadPreference
from pymongo.errors import DuplicateKeyError
from pymongo.write_concern import WriteConcern

from recollect.backends.mongodb.driver import connect, translating
from recollect.backends.mongodb.options import MongoOptions
from recollect.domain.errors import NotAStore, SchemaTooNew, StoreIncomplete

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
    with translating(), connect(options) as client:
        database = client.get_database(
            options.database,
            read_preference=ReadPreference.PRIMARY,
            write_concern=WriteConcern("majority", j=True),
        )
        claimed = _claim(database, kind)
        if kind == STORE and not options.partial and database[ABOUT].find_one({"_id": COPYING}) is not None:
            raise StoreIncomplete(f"the database {options.database} holds only a part of what was to be copied there")
        if claimed.get("prepared"):
            return
        for unique, indexes in ((True, _UNIQUE), (False, _PLAIN)) if kind == STORE else ((False, _OF_KEYS),):
            for collection, wanted in indexes.items():
                for fields in wanted:
                    keys = [(name, 1) for name in fields]
                    database[collection].create_index(keys, unique=unique, name="_".join(fields))
        database[ABOUT].update_one({"_id": kind}, {"$set": {"prepared": True}})


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
    if about.get("application") != APPLICATION or not isinstance(about.get("schema"), int):
        raise NotAStore("this database belongs to another program: name an empty one, or the right one")
    if about["schema"] > SCHEMA:
        raise SchemaTooNew(
            f"the data has schema {about['schema']}; this program knows up to {SCHEMA}", schema=about["schema"]
        )
    return dict(about)


def _ours() -> set[str]:
    return {ABOUT, VERSIONS, EVENTS, COMMITS, PARTS, RECEIPTS, ERASURES, LEASES, *_OF_KEYS}
