"""Wrapped data keys in MongoDB, where nothing but the wrapping is changed in place, so that no use goes uncounted.

Uses are documents that are added up. A destruction has a number, one more than the one before; a key says how many
destructions its maker knew of. One that is older than the last destruction of its subject counts for nothing, whenever
it arrives: so whoever made it without knowing of the destruction cannot bring it back.

MongoDB may keep traces of a deleted document for a while: in its journal, in the log for its replicas, and in free
space. These are wrapped keys, so they are of no use without the master key.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pymongo import MongoClient, ReadPreference
from pymongo.errors import BulkWriteError, DuplicateKeyError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from recollect.backends.mongodb.driver import Document, connect, translating
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.schema import KEYS, prepare
from recollect.domain.instants import Instant
from recollect.ports.keys import Destruction, KeyStore, WrappedKey

_FEW = 4
"""For up to so many keys, destructions are looked up one by one; for more, together."""
_DUPLICATE = 11_000


class MongoKeyStore(KeyStore):
    """Wrapped keys, their uses, and what was destroyed, each in a collection."""

    def __init__(self, options: MongoOptions) -> None:
        prepare(options, KEYS)
        self._lock = threading.Lock()
        self._client: MongoClient[Document] = connect(options)
        with translating():
            database = self._client.get_database(
                options.database,
                read_preference=ReadPreference.PRIMARY,
                read_concern=ReadConcern("majority"),
                write_concern=WriteConcern("majority", j=True),
            )
            self._keys, self._uses = database["keys"], database["uses"]
            self._destroyed = database["destructions"]

    def epoch(self) -> int:
        """How many destructions there were."""
        with translating():
            return self._epoch()

    def newest(self, tenant: str, subject: str) -> WrappedKey | None:
        """The key of the highest generation."""
        with translating():
            where = {"tenant": tenant, "subject": subject, "epoch": {"$gte": self._last(tenant, subject)}}
            found = self._keys.find_one(where, sort=[("generation", -1)])
            return None if found is None else self._key(found)

    def masters(self) -> Sequence[str]:
        """The names of the master keys that wrap what is kept."""
        with translating():
            return sorted(self._keys.distinct("master"))

    def by_id(self, key_id: bytes) -> WrappedKey | None:
        """The key of that id."""
        with translating():
            found = self._keys.find_one({"id": key_id})
            if found is None or found["epoch"] < self._last(found["tenant"], found["subject"]):
                return None
            return self._key(found)

    def kept(self, after: bytes = b"", limit: int = 1_000) -> Sequence[WrappedKey]:
        """Keys in the order of their ids, without those that a destruction left behind."""
        found: list[WrappedKey] = []
        with translating():
            lasts = self._lasts()
            while len(found) < limit:
                batch = self._keys.find({"id": {"$gt": after}}, sort=[("id", 1)], limit=limit).to_list()
                if not batch:
                    break
                after = batch[-1]["id"]
                alive = [key for key in batch if key["epoch"] >= lasts.get((key["tenant"], key["subject"]), 0)]
                used = self._used([key["id"] for key in alive])
                found += [_wrapped(key, used.get(key["id"], 0)) for key in alive]
        return found[:limit]

    def add(self, make: Callable[[], Iterable[WrappedKey]]) -> None:
        """Keep new keys; the first to give a subject a generation wins."""
        with self._lock, translating():
            epoch, keys = self._epoch(), list(make())
            if not keys:
                return
            lasts = self._lasts() if len(keys) > _FEW else {}
            named = {
                _name(key, lasts.get(_whose(key), 0) if lasts else self._last(key.tenant, key.subject)): key
                for key in keys
            }
            counted = {key.id: _uses(key.id, key.reserved) for key in named.values()}
            self._uses.insert_many(counted.values())
            try:
                documents = [{"_id": name, "epoch": epoch, **_fields(key)} for name, key in named.items()]
                self._keys.insert_many(documents, ordered=False)
            except BulkWriteError as problem:
                refused = problem.details.get("writeErrors", [])
                if not refused or any(each.get("code") != _DUPLICATE for each in refused):
                    raise
                lost = [counted[documents[each["index"]]["id"]]["_id"] for each in refused]
                self._uses.delete_many({"_id": {"$in": lost}})

    def reserve(self, key_ids: Sequence[bytes], uses: int) -> None:
        """Count uses before they happen."""
        with translating():
            self._count(key_ids, uses)

    def destroy(self, destruction: Destruction) -> None:
        """Remember it, and delete the subject's keys that were made without knowing of it."""
        with self._lock, translating():
            known = self._destroyed.find_one({"id": destruction.id})
            while known is None:
                number = self._epoch() + 1
                try:
                    self._destroyed.insert_one({"_id": f"{number:016x}", "number": number, **_told(destruction)})
                except DuplicateKeyError:
                    pass
                known = self._destroyed.find_one({"id": destruction.id})
            self._forget(known)

    def destructions(self, *, unsettled: bool = False) -> Sequence[Destruction]:
        """What was destroyed, oldest first."""
        with translating():
            where: Document = {"settled": False} if unsettled else {}
            found = self._destroyed.find(where, sort=[("number", 1)]).to_list()
        return [
            Destruction(
                each["id"], each["tenant"], each["subject"], Instant(int(each["at"])), each["actor"], each["settled"]
            )
            for each in found
        ]

    def settle(self, destruction_id: bytes) -> None:
        """Note that the receipt is in the log, and delete keys that came too late."""
        with translating():
            known = self._destroyed.find_one({"id": destruction_id})
            if known is not None:
                self._forget(known)
                self._destroyed.update_one({"_id": known["_id"]}, {"$set": {"settled": True}})

    def rewrap(self, change: Callable[[WrappedKey], WrappedKey]) -> int:
        """Replace the keys that the change changes, until it changes none: others may add some meanwhile."""
        done = 0
        with self._lock, translating():
            while True:
                keys = {each["_id"]: self._key(each) for each in self._keys.find().to_list()}
                changed = {name: new for name, key in keys.items() if (new := change(key)) is not key}
                for name, key in changed.items():
                    wrapping = {"master": key.master, "wrapped": key.wrapped}
                    self._keys.update_one({"_id": name}, {"$set": wrapping})
                done += len(changed)
                if not changed:
                    return done

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def _epoch(self) -> int:
        """The number of the last destruction; they are numbered without gaps, and named in their order."""
        found = self._destroyed.find_one({}, sort=[("_id", -1)])
        return 0 if found is None else int(found["number"])

    def _last(self, tenant: str, subject: str) -> int:
        """The number of the last destruction of a subject; 0 when there was none."""
        found = self._destroyed.find_one({"tenant": tenant, "subject": subject}, sort=[("number", -1)])
        return 0 if found is None else int(found["number"])

    def _forget(self, destruction: Document) -> None:
        where = {
            "tenant": destruction["tenant"],
            "subject": destruction["subject"],
            "epoch": {"$lt": destruction["number"]},
        }
        ids = [each["id"] for each in self._keys.find(where, {"id": 1}).to_list()]
        self._keys.delete_many(where)
        self._uses.delete_many({"key": {"$in": ids}})

    def _lasts(self) -> dict[tuple[str, str], int]:
        """The number of the last destruction of every subject that was ever destroyed."""
        told = self._destroyed.find({}, {"tenant": 1, "subject": 1, "number": 1}, sort=[("number", 1)]).to_list()
        return {(each["tenant"], each["subject"]): int(each["number"]) for each in told}

    def _count(self, key_ids: Sequence[bytes], uses: int) -> None:
        if key_ids:
            self._uses.insert_many([_uses(key_id, uses) for key_id in key_ids])

    def _used(self, key_ids: Sequence[bytes]) -> dict[bytes, int]:
        used: dict[bytes, int] = {}
        for each in self._uses.find({"key": {"$in": list(key_ids)}}).to_list() if key_ids else []:
            used[each["key"]] = used.get(each["key"], 0) + int(each["uses"])
        return used

    def _key(self, found: Document) -> WrappedKey:
        return _wrapped(found, self._used([found["id"]]).get(found["id"], 0))


def _wrapped(found: Document, reserved: int) -> WrappedKey:
    return WrappedKey(
        found["id"],
        found["tenant"],
        found["subject"],
        int(found["generation"]),
        found["master"],
        found["wrapped"],
        reserved,
    )


def _uses(key_id: bytes, uses: int) -> Document:
    return {"_id": secrets.token_hex(12), "key": key_id, "uses": uses}


def _whose(key: WrappedKey) -> tuple[str, str]:
    return key.tenant, key.subject


def _name(key: WrappedKey, last: int) -> str:
    """One generation of a subject, counted from its last destruction, is one document."""
    return f"{key.tenant}/{key.subject}/{last}/{key.generation}"


def _fields(key: WrappedKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "subject": key.subject,
        "generation": key.generation,
        "master": key.master,
        "wrapped": key.wrapped,
    }


def _told(destruction: Destruction) -> dict[str, Any]:
    return {
        "id": destruction.id,
        "tenant": destruction.tenant,
        "subject": destruction.subject,
        "at": destruction.at,
        "actor": destruction.actor,
        "settled": destruction.settled,
    }
