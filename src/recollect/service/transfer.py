"""Transfer: a tenant's items with their history, as entries that another store can take over, page by page.

An export is the log of items retold in its order, up to where the log ended when the export began. An import
repeats it, and commits with every page how far it got, so that a transfer that was cut off goes on where
it was, and a later export of the same log adds only what is new.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.address import DEPTH_CEILING, Address, checked_key, namespace
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import SYSTEM_TENANT, Action, Caller
from recollect.domain.commits import Commit, Delete, Expire, Operation, Put
from recollect.domain.errors import InvalidCursor, InvalidRequest, RevisionConflict
from recollect.domain.events import Head
from recollect.domain.indexable import wants_index
from recollect.domain.instants import Instant, checked_expiry, datetime_of, parse_rfc3339
from recollect.domain.queries import (
    Archived,
    EventQuery,
    Find,
    Order,
    checked_limit,
    parse_transfer_cursor,
    transfer_cursor,
)
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.rows import Row
from recollect.domain.text import shown
from recollect.domain.values import encode_value, stored_value
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork
from recollect.service.guard import Guard, Ruling, given_in
from recollect.service.reading import read_fields

MAX_ENTRIES = 500
_SOURCE = re.compile(r"[0-9a-f]{64}")
_PROGRESS = namespace(("import",))
_NAMES = namespace(("export",))
_PLACE = ("sequence", "kind", "namespace", "key", "revision", "at")
_FIELDS = frozenset({*_PLACE, "value", "attributes", "policy_attributes", "expires_at", "archived", "index_fields"})
_KINDS = frozenset({EventKind.ADD, EventKind.UPDATE, EventKind.DELETE, EventKind.EXPIRED})


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Entries in the order of the log, the cursor for those after them, and how far it is."""

    source: str
    entries: list[dict[str, Any]]
    cursor: str | None
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Imported:
    """How far an import of a source has got, and what this page added."""

    source: str
    sequence: int
    imported: int
    skipped: int


class Transfer:
    """Gives out a tenant's items with their history, and takes such over."""

    def __init__(self, store: Store, guard: Guard) -> None:
        self._store = store
        self._guard = guard

    async def export_page(self, by: Caller, cursor: str | None = None, *, limit: int = MAX_ENTRIES) -> ExportPage:
        """A page of the tenant's items with their history; from the beginning without a cursor."""
        self._guard.permit(by, Action.TRANSFER)
        head = await self._store.head(by.tenant)
        source = await self._source(by.tenant)
        end, after = (head.sequence, 0) if cursor is None else parse_transfer_cursor(cursor)
        if end > head.sequence:
            raise InvalidCursor("this cursor is from another log; start again without one")
        most = checked_limit(limit)
        if after < head.trimmed:
            entries, after = await self._before_the_log(by.tenant, head, after, most)
        else:
            entries, after = await self._from_the_log(by.tenant, after, end, most)
        more = None if after >= end else transfer_cursor(end, after)
        return ExportPage(source, entries, more, min(after, end), end)

    async def _from_the_log(self, tenant: str, after: int, end: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        query = EventQuery(after, planes=frozenset({Plane.ITEM}), kinds=_KINDS, limit=limit)
        page = await self._store.events(tenant, query)
        entries: list[dict[str, Any]] = []
        for entry in page.entries:
            if entry.event.sequence > end:
                return entries, end
            if entry.event.kind in (EventKind.DELETE, EventKind.EXPIRED):
                entries.append(_ending(entry.event.kind, entry.event.sequence, entry.event.address, entry.event.at))
            elif entry.row is not None and entry.row.value is not None:
                entries.append(_version(entry.event.kind, entry.row))
        return entries, min(page.after, end)

    async def _before_the_log(
        self, tenant: str, head: Head, after: int, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Live items whose events are no longer kept, as if each had just been added."""
        entries: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            query = Find(Plane.ITEM, order=Order.OLDEST, limit=1_000, cursor=cursor, archived=Archived.INCLUDE)
            page = await self._store.find(tenant, query)
            for row in page.rows:
                if row.sequence > head.trimmed:
                    return entries, head.trimmed
                if row.sequence > after:
                    entries.append(_version(EventKind.ADD, row))
                    if len(entries) == limit:
                        return entries, row.sequence
            cursor = page.cursor
            if cursor is None:
                return entries, head.trimmed

    async def import_progress(self, by: Caller, source: str) -> int:
        """Up to which sequence of the source everything is here; 0 when nothing is."""
        self._guard.permit(by, Action.TRANSFER)
        row = await self._store.get(by.tenant, _progress(source))
        return _reached(row)

    async def import_page(self, by: Caller, source: str, entries: Sequence[dict[str, Any]]) -> Imported:
        """Take over a page of entries in one commit; those that are here already are skipped."""
        self._guard.permit(by, Action.TRANSFER)
        place = _progress(source)
        if isinstance(entries, str | bytes) or not isinstance(entries, Sequence) or len(entries) > MAX_ENTRIES:
            raise InvalidRequest(f"entries are a list of at most {MAX_ENTRIES}")
        if source == await self._name(by.tenant):
            raise InvalidRequest("these entries come from this very log; import them into another store or tenant")

        async def work(unit: UnitOfWork) -> Imported:
            ruling = await self._guard.begin(by)
            unit.require(*ruling.conditions)
            read = [await self._entry(ruling, entry) for entry in entries]
            sequences = [sequence for sequence, _ in read]
            if sequences != sorted(set(sequences)):
                raise InvalidRequest("entries come in the order of their sequences, each once")
            reached = _reached(await unit.get(place))
            fresh = [operation for sequence, operation in read if sequence > reached]
            for operation in fresh:
                unit.write(operation)
            last = max([reached, *sequences])
            if last > reached:
                unit.write(Put(place, encode_value({"sequence": last})))
            return Imported(source, last, len(fresh), len(read) - len(fresh))

        return await self._store.transact(by.tenant, work, actor=by.actor)

    async def _entry(self, ruling: Ruling, entry: object) -> tuple[int, Operation]:
        if not isinstance(entry, dict) or not set(entry) <= _FIELDS:
            raise InvalidRequest(f"an entry is an object with the fields {', '.join(sorted(_FIELDS))}")
        sequence, kind, at = entry.get("sequence"), entry.get("kind"), _moment(entry.get("at"), "at")
        if isinstance(sequence, bool) or not isinstance(sequence, int) or not 0 < sequence < 1 << 63 or at is None:
            raise InvalidRequest("an entry has a sequence, counted from 1, and a moment `at`")
        if kind not in _KINDS:
            raise InvalidRequest(f"{shown(kind)} is not a kind of entry; use one of {', '.join(sorted(_KINDS))}")
        place, key = namespace(entry.get("namespace", ()), DEPTH_CEILING), checked_key(entry.get("key"))
        address = Address(Plane.ITEM, place, key)
        if kind == EventKind.DELETE:
            return sequence, Delete(address, at=at)
        if kind == EventKind.EXPIRED:
            return sequence, Expire(address, at=at)
        value, sealed = entry.get("value"), entry.get("attributes")
        encoded = encode_value(value)
        attributes = None if sealed is None else encode_value(sealed, "attributes")
        given = entry.get("policy_attributes")
        if given is not None and not isinstance(given, dict):
            raise InvalidRequest("policy_attributes are an object")
        plain = await ruling.extract(place.segments, key, value or {}, sealed, given)
        expires_at = _moment(entry.get("expires_at"), "expires_at")
        archived = entry.get("archived") is True
        fields = read_fields(entry.get("index_fields"))
        return sequence, Put(
            address,
            encoded,
            attributes,
            encode_attributes(plain),
            expires_at,
            archived=archived,
            index=wants_index(fields),
            index_fields=fields,
            at=at,
        )

    async def _source(self, tenant: str) -> str:
        """What identifies a tenant's log wherever its entries go: a random name, given at its first export."""
        while True:
            if name := await self._name(tenant):
                return name
            named = Put(_kept_name(tenant), encode_value({"source": secrets.token_hex(32)}), expected_revision=0)
            with suppress(RevisionConflict):
                await self._store.commit(Commit(SYSTEM_TENANT, (named,)))

    async def _name(self, tenant: str) -> str | None:
        row = await self._store.get(SYSTEM_TENANT, _kept_name(tenant))
        return None if row is None or row.value is None else str(stored_value(row.value)["source"])


def _version(kind: EventKind, row: Row) -> dict[str, Any]:
    return {
        "sequence": row.sequence,
        "kind": kind.value,
        "namespace": list(row.address.namespace.segments),
        "key": row.address.key,
        "revision": row.revision,
        "at": _shown(row.written_at),
        "value": stored_value(row.value or b"{}"),
        "attributes": None if row.attributes is None else stored_value(row.attributes),
        "policy_attributes": given_in(row.policy_attributes),
        "expires_at": None if row.expires_at is None else _shown(row.expires_at),
        "archived": row.archived,
        "index_fields": None if row.index_fields is None else msgspec.json.decode(row.index_fields),
    }


def _ending(kind: EventKind, sequence: int, address: Address, at: Instant) -> dict[str, Any]:
    place = {"namespace": list(address.namespace.segments), "key": address.key}
    return {"sequence": sequence, "kind": kind.value, **place, "at": _shown(at)}


def _shown(instant: Instant) -> str:
    return datetime_of(instant).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _moment(text: object, what: str) -> Instant | None:
    if text is None:
        return None
    if isinstance(text, datetime):
        text = text.isoformat()
    found = parse_rfc3339(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidRequest(f"`{what}` is a moment like 2026-01-01T00:00:00Z, not {shown(text)}")
    return checked_expiry(found)


def _kept_name(tenant: str) -> Address:
    """Where the name of a tenant's log is kept: not in that log, which an export leaves as it is."""
    return Address(Plane.TRANSFER, _NAMES, tenant)


def _progress(source: object) -> Address:
    if not isinstance(source, str) or not _SOURCE.fullmatch(source):
        raise InvalidRequest("a source is the text that an export gives")
    return Address(Plane.TRANSFER, _PROGRESS, source)


def _reached(row: Row | None) -> int:
    return 0 if row is None or row.value is None else int(stored_value(row.value)["sequence"])
