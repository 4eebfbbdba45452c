"""What a commit writes, decided before anything is written; and how it is carried out, again if need be.

A plan is complete: whoever has it can carry it out without knowing what it is about. Every write of it is harmless when
it was done before, by the same process or another one: a new document has its name already; a changed one says that a
commit of this number or a later one changed it; what is kept of an event's version only ever gets less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import bson

from recollect.backends.mongodb.documents import event_document, event_name
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.schema import ERASURES, EVENTS, RECEIPTS, VERSIONS
from recollect.domain.errors import StoreCorrupt
from recollect.domain.events import Event, Head
from recollect.domain.verification import Kept


@dataclass(slots=True)
class Plan:
    """Every document that a commit adds, changes or removes, and the head of the log after it."""

    head: Head
    changes: list[tuple[str, Document, list[str]]] = field(default_factory=list)
    """Versions by name: what to set, and which fields to take away."""
    versions: list[Document] = field(default_factory=list)
    events: list[Document] = field(default_factory=list)
    kept: dict[int, list[int]] = field(default_factory=dict)
    """By how much is kept of their versions: events, by their sequences."""
    receipts: list[Document] = field(default_factory=list)
    erasures: list[Document] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    """Receipts to forget, by name; unless one of that name was made later than `forgotten`."""
    forgotten: int = 0

    @property
    def empty(self) -> bool:
        """True when there is nothing to write."""
        return not (self.changes or self.versions or self.events or self.kept or self.receipts or self.outdated)

    def tell(self, events: list[Event]) -> None:
        """Append events to the log."""
        self.events += [event_document(event) for event in events]

    def note(self, kept: Kept, sequences: list[int]) -> None:
        """Note how much is kept of the versions that these events opened."""
        if sequences:
            self.kept[kept.value] = sequences

    def encoded(self) -> bytes:
        """The plan as one piece."""
        parts: Document = {
            "changes": [[name, fields, gone] for name, fields, gone in self.changes],
            "versions": self.versions,
            "events": self.events,
            "kept": [[kept, sequences] for kept, sequences in self.kept.items()],
            "receipts": self.receipts,
            "erasures": self.erasures,
            "outdated": self.outdated,
            "forgotten": self.forgotten,
        }
        return bson.encode(parts)


async def carry_out(driver: Driver, tenant: str, number: int, encoded: bytes) -> None:
    """Write everything that a plan says: what ends before what takes its place."""
    plan: Any = bson.decode(encoded)
    if plan["changes"]:
        await driver.change(VERSIONS, [_guarded(tenant, number, *change) for change in plan["changes"]])
    if plan["versions"] and not await driver.add(VERSIONS, plan["versions"]):
        await _check_there(driver, [document["_id"] for document in plan["versions"]])
    if plan["events"]:
        await driver.add(EVENTS, plan["events"])
    for kept, sequences in plan["kept"]:
        await _note(driver, tenant, number, kept, sequences)
    if plan["receipts"]:
        await driver.add(RECEIPTS, plan["receipts"])
    if plan["erasures"]:
        await driver.add(ERASURES, plan["erasures"])
    if plan["outdated"]:
        await driver.remove(RECEIPTS, {"_id": {"$in": plan["outdated"]}, "at": {"$lte": plan["forgotten"]}})


def _guarded(tenant: str, number: int, name: str, fields: Document, gone: list[str]) -> tuple[Document, Document]:
    change: Document = {"$set": fields}
    if gone:
        change["$unset"] = dict.fromkeys(gone, "")
    return {"_id": name, "tenant": tenant, "since": {"$lt": number}}, change


async def _note(driver: Driver, tenant: str, number: int, kept: int, sequences: list[int]) -> None:
    names = [event_name(tenant, sequence) for sequence in sequences]
    where = {"_id": {"$in": names}, "kept": {"$lt": kept}}
    await driver.change_all(EVENTS, where, {"$set": {"kept": kept, "kept_since": number}})


async def _check_there(driver: Driver, names: list[str]) -> None:
    """Documents that were there already are those of this very plan; anything else took a slot that was not free."""
    found = await driver.count(VERSIONS, {"_id": {"$in": names}})
    if found != len(set(names)):
        raise StoreCorrupt("a key would have two live versions: run `verify`, and restore from a backup")
