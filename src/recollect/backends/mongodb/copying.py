"""Reading what is stored as it is, and taking over what was read elsewhere.

What is taken over of a tenant counts as made by one commit, whose number says how far its log goes, so that changes of
entries, which are numbered by the sequences of their versions, lie before it. Nothing here happens all at once, but
everything can be repeated, and the mark says until then that it is not whole.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from recollect.backends.mongodb.documents import event_name, name_of, place_of
from recollect.backends.mongodb.driver import Document, Driver, Order, Taken
from recollect.backends.mongodb.ledger import Ledger, commit_name
from recollect.backends.mongodb.schema import ABOUT, COMMITS, COPYING, ERASURES, EVENTS, RECEIPTS, VERSIONS
from recollect.domain.address import Address, decode_namespace
from recollect.domain.errors import StoreCorrupt
from recollect.domain.events import Head
from recollect.domain.reasons import Plane
from recollect.domain.stored import (
    SHAPES,
    Name,
    Shelf,
    Stored,
    StoredEntry,
    StoredEvent,
    StoredTenant,
    StoredVersion,
    fields_of,
)

_COLLECTIONS = {
    Shelf.VERSIONS: VERSIONS,
    Shelf.EVENTS: EVENTS,
    Shelf.RECEIPTS: RECEIPTS,
    Shelf.ERASURES: ERASURES,
    Shelf.TENANTS: COMMITS,
}
_ORDERS: dict[Shelf, Order] = {
    Shelf.VERSIONS: [("_id", 1)],
    Shelf.EVENTS: [("tenant", 1), ("sequence", 1)],
    Shelf.RECEIPTS: [("tenant", 1), ("_id", 1)],
    Shelf.ERASURES: [("tenant", 1), ("_id", 1)],
}
_IN_NAME = {Shelf.RECEIPTS: "lookup", Shelf.ERASURES: "id"}
"""The field that only the name of the document says."""
_VERSIONS_AT_ONCE, _AT_ONCE = 250, 1_000
_PLACES = 24
"""How many bits of a change's number say which place it has in its commit."""
_COMMIT = b"copied"


# -- the mark


async def mark(driver: Driver) -> bytes | None:
    """The mark, if there is one."""
    found = await driver.find_one(ABOUT, {"_id": COPYING})
    return None if found is None else bytes(found["mark"])


async def set_mark(driver: Driver, mark: bytes | None) -> None:
    """Set the mark, or take it away."""
    if mark is None:
        await driver.remove(ABOUT, {"_id": COPYING})
        return
    try:
        await driver.insert(ABOUT, {"_id": COPYING, "mark": mark})
    except Taken:
        await driver.change(ABOUT, [({"_id": COPYING}, {"$set": {"mark": mark}})])


# -- reading


async def stored(driver: Driver, ledger: Ledger, shelf: Shelf, after: Name) -> AsyncGenerator[list[Stored], None]:
    """The records of a shelf, with every commit carried out."""
    names = sorted(await driver.distinct(COMMITS, "tenant", {}))
    heads = {tenant: (await ledger.state(tenant)).head for tenant in names}
    if shelf is Shelf.TENANTS:
        found: list[Stored] = [
            StoredTenant(tenant, head.sequence, head.hash, head.trimmed, head.trimmed_hash)
            for tenant, head in heads.items()
            if (tenant,) > after and head.sequence
        ]
        if found:
            yield found
        return
    where: Document = {**_beyond(shelf, after), **({"gone": None} if shelf is Shelf.VERSIONS else {})}
    likely = _VERSIONS_AT_ONCE if shelf is Shelf.VERSIONS else _AT_ONCE
    fields = {"was": 0} if shelf is Shelf.VERSIONS else None
    stream = driver.stream(_COLLECTIONS[shelf], where, fields=fields, order=_ORDERS[shelf], likely=likely)
    async with aclosing(stream) as batches:
        async for batch in batches:
            records = [_record(shelf, document) for document in batch]
            if shelf is Shelf.EVENTS:  # those before the kept part of the log may still be there
                told = cast("list[StoredEvent]", records)
                records = [each for each in told if each.sequence > heads.get(each.tenant, Head()).trimmed]
            if records:
                yield records


async def amount(driver: Driver, shelf: Shelf) -> int:
    """About how many records there are."""
    if shelf is Shelf.TENANTS:
        return len(await driver.distinct(COMMITS, "tenant", {}))
    return await driver.count(_COLLECTIONS[shelf], {})


def _beyond(shelf: Shelf, after: Name) -> Document:
    if not after:
        return {}
    if shelf is Shelf.VERSIONS:
        return {"_id": {"$gt": _document_name(shelf, after)}}
    field = "sequence" if shelf is Shelf.EVENTS else "_id"
    last = after[1] if shelf is Shelf.EVENTS else _document_name(shelf, after)
    return {"$or": [{"tenant": {"$gt": after[0]}}, {"tenant": after[0], field: {"$gt": last}}]}


def _document_name(shelf: Shelf, name: Name) -> str:
    if shelf is Shelf.VERSIONS:
        return name_of(cast("bytes", name[0]))
    if shelf is Shelf.EVENTS:
        return event_name(str(name[0]), cast("int", name[1]))
    tenant, last = cast("tuple[str, bytes]", name)
    return f"{tenant}/{last.hex()}"


def _record(shelf: Shelf, document: Document) -> Stored:
    values = {name: document.get(name) for name in fields_of(shelf)}
    if shelf is Shelf.VERSIONS:
        values["id"] = bytes.fromhex(document["_id"])
        values["entries"] = _entries(document.get("entries") or {})
    elif shelf in _IN_NAME:
        values[_IN_NAME[shelf]] = bytes.fromhex(document["_id"].rpartition("/")[2])
    shape: Any = SHAPES[shelf]
    record: Stored = shape(**values)
    return record


def _entries(kept: dict[str, Any]) -> tuple[StoredEntry, ...]:
    found = [
        StoredEntry(int(series.removeprefix("s")), entry["content"], entry.get("detail"))
        for series, entry in kept.items()
        if "content" in entry
    ]
    return tuple(sorted(found, key=lambda entry: entry.series))


# -- taking over


async def take_over(driver: Driver, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name]) -> None:
    """Keep these records, and take those names away."""
    if shelf is Shelf.TENANTS:
        await _take_tenants(driver, cast("Sequence[StoredTenant]", records), gone)
        return
    collection = _COLLECTIONS[shelf]
    if gone:
        await driver.remove(collection, {"_id": {"$in": [_document_name(shelf, name) for name in gone]}})
    if not records:
        return
    documents = [_document(shelf, each) for each in records]
    if await driver.add(collection, documents):
        return
    # Some are there, from an earlier attempt or as what they were: then all are written anew.
    await driver.remove(collection, {"_id": {"$in": [document["_id"] for document in documents]}})
    if shelf is Shelf.VERSIONS:  # whoever else holds their slots comes again, as what it is now
        live = [document["slot"] for document in documents if document["ended_at"] is None]
        await driver.remove(collection, {"slot": {"$in": live}})
    if not await driver.add(collection, documents):
        raise StoreCorrupt("what is copied would break a rule that the database enforces: copy to an empty place")


async def _take_tenants(driver: Driver, tenants: Sequence[StoredTenant], gone: Sequence[Name]) -> None:
    for tenant in [name[0] for name in gone] + [each.tenant for each in tenants]:
        await _forget(driver, {"tenant": tenant})
    for each in tenants:
        number = _last_commit(each.sequence)
        document: Document = {
            "_id": commit_name(each.tenant, number),
            "tenant": each.tenant,
            "number": number,
            "commit": _COMMIT,
            "at": 0,
            "sequence": each.sequence,
            "hash": each.hash,
            "trimmed": each.trimmed,
            "trimmed_hash": each.trimmed_hash,
            "applied": True,
            "parts": 0,
        }
        await driver.insert(COMMITS, document)


async def _forget(driver: Driver, mine: Document) -> None:
    """Take a tenant's commits away, and what its purging and trimming have left, which says by what commit."""
    newest = await driver.find(COMMITS, mine, fields={"plan": 0}, order=[("number", -1)], limit=1)
    if newest:
        await driver.remove(VERSIONS, {**mine, "gone": {"$gt": 0}})
        await driver.remove(EVENTS, {**mine, "sequence": {"$lte": newest[0]["trimmed"]}})
        await driver.remove(COMMITS, mine)


def _last_commit(sequence: int) -> int:
    return 2 + (sequence >> _PLACES)


def _document(shelf: Shelf, record: Stored) -> Document:
    values = {name: getattr(record, name) for name in fields_of(shelf)}
    document: Document = {"_id": _document_name(shelf, record.name), **values}
    if isinstance(record, StoredVersion):
        return _version_document(document, record)
    if shelf is Shelf.EVENTS:
        document["kept_since"] = 0
    else:
        del document[_IN_NAME[shelf]]
    return document


def _version_document(document: Document, version: StoredVersion) -> Document:
    address = Address(Plane(version.plane), decode_namespace(version.namespace), version.key)
    place = place_of(version.tenant, address)
    del document["id"]
    document |= {
        "place": place,
        "slot": place if version.ended_at is None else version.id,
        "began": 1,
        "since": 1,
        "was": [],
    }
    if version.entries:
        document["entries"] = {
            f"s{each.series}": {"content": each.content, **({} if each.detail is None else {"detail": each.detail})}
            for each in version.entries
        }
        document["change"] = (1 << _PLACES) + version.sequence
    return document
