"""Reading what the reference keeps as it is, and taking over what was read elsewhere."""

from __future__ import annotations

from bisect import insort
from collections.abc import AsyncGenerator, Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from recollect.backends.memory.alone import alone
from recollect.backends.memory.indexing import IndexKeeping
from recollect.backends.memory.shelf import Tenant
from recollect.domain.address import Address, decode_namespace
from recollect.domain.commits import Receipt
from recollect.domain.events import Event, Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Version
from recollect.domain.reasons import EndReason, EventKind, IndexState, Plane
from recollect.domain.stored import (
    Name,
    Shelf,
    Stored,
    StoredEntry,
    StoredErasure,
    StoredEvent,
    StoredReceipt,
    StoredTenant,
    StoredVersion,
)
from recollect.domain.verification import Kept

Tenants = dict[str, Tenant]
_encode_receipt = msgspec.msgpack.Encoder().encode
_decode_receipt = msgspec.msgpack.Decoder(Receipt).decode


class Copyable(IndexKeeping):
    """Gives out and takes over what it keeps, as it is."""

    capabilities = frozenset({"copy"})
    _tenants: Tenants
    _unfinished: bytes | None = None

    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        """The records of a shelf, as they are."""
        self._check_open()
        with self._lock:
            found = _all(self._tenants, shelf, after)
        if found:
            yield found

    @alone
    async def amount(self, shelf: Shelf) -> int:
        """How many records a shelf has."""
        return len(_all(self._tenants, shelf, ()))

    @alone
    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        """Keep records as they are, together with the mark."""
        self._commits += 1
        _take_over(self._tenants, shelf, records, gone)
        self._unfinished = mark or self._unfinished

    @alone
    async def mark(self) -> bytes | None:
        """The mark that the data is being copied; nobody else can open it."""
        return self._unfinished

    @alone
    async def set_mark(self, mark: bytes | None) -> None:
        """Mark the data as being copied, or as whole."""
        self._unfinished = mark


def _all(tenants: Tenants, shelf: Shelf, after: Name) -> list[Stored]:
    """Every record of a shelf after that name, in order."""
    found = [each for name, tenant in tenants.items() for each in _records(name, tenant, shelf)]
    return sorted((each for each in found if each.name > after), key=attrgetter("name"))


def _records(name: str, tenant: Tenant, shelf: Shelf) -> Iterator[Stored]:
    match shelf:
        case Shelf.VERSIONS:
            for version in tenant.by_id.values():
                yield _stored_version(name, tenant, version)
        case Shelf.EVENTS:
            for event in tenant.log:
                yield _stored_event(event, tenant.kept.get(event.sequence, Kept.WHOLE))
        case Shelf.RECEIPTS:
            for lookup, (fingerprint, receipt, at) in tenant.receipts.items():
                yield StoredReceipt(name, lookup, fingerprint, _encode_receipt(receipt), at)
        case Shelf.ERASURES:
            for erased in tenant.erasures.values():
                told = (erased.subject, erased.sequence, erased.hash, erased.at, erased.versions, erased.live)
                yield StoredErasure(name, erased.id, *told)
        case Shelf.TENANTS:
            head = tenant.head
            if head.sequence:
                yield StoredTenant(name, head.sequence, head.hash, head.trimmed, head.trimmed_hash)


def _stored_version(tenant: str, stored: Tenant, version: Version) -> StoredVersion:
    attempts, until = stored.index.waiting.get(version.id, (0, None))
    entries = [
        StoredEntry(series, kept.content, kept.detail)
        for (row_id, series), kept in sorted(stored.index.kept.items(), key=lambda item: item[0])
        if row_id == version.id and kept.content is not None
    ]
    return StoredVersion(
        version.id,
        tenant,
        version.address.plane.value,
        version.address.namespace.encoded,
        version.address.key,
        version.revision,
        version.sequence,
        version.created_at,
        version.written_at,
        version.expires_at,
        version.ended_at,
        None if version.end_reason is None else version.end_reason.value,
        version.ended_sequence,
        version.pinned_sequence,
        version.index_state.value,
        attempts,
        until,
        int(version.archived),
        version.index_fields,
        version.policy_attributes,
        version.attributes,
        version.value,
        tuple(entries),
    )


def _stored_event(event: Event, kept: Kept) -> StoredEvent:
    address = event.address
    place = (address.plane.value, address.namespace.encoded, address.key)
    return StoredEvent(
        event.tenant,
        event.sequence,
        event.kind.value,
        *place,
        event.row_id,
        event.revision,
        event.at,
        event.expires_at,
        event.actor,
        event.detail,
        event.digest,
        event.previous,
        event.hash,
        kept.value,
    )


def _take_over(tenants: Tenants, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name]) -> None:
    """Keep these records in place of those of the same names, and take those names away."""
    for name in [*gone, *(each.name for each in records)]:
        _remove(tenants, shelf, name)
    for record in records:
        _keep(tenants.setdefault(record.tenant, Tenant()), record)


def _remove(tenants: Tenants, shelf: Shelf, name: Name) -> None:
    first: Any
    first, *rest = name
    if shelf is Shelf.VERSIONS:
        for stored in tenants.values():
            version = stored.by_id.get(first)
            if version is not None:
                _drop(stored, version)
        return
    tenant = tenants.get(first)
    if tenant is None:
        return
    last: Any = rest[0] if rest else None
    match shelf:
        case Shelf.EVENTS:
            tenant.log[:] = [event for event in tenant.log if event.sequence != last]
        case Shelf.RECEIPTS:
            tenant.receipts.pop(last, None)
        case Shelf.ERASURES:
            tenant.erasures.pop(last, None)
        case _:
            tenant.head = Head()


def _drop(stored: Tenant, version: Version) -> None:
    del stored.by_id[version.id]
    stored.index.forget(version.id)
    siblings = stored.versions[version.address]
    siblings.remove(version)
    if not siblings:
        del stored.versions[version.address]


def _keep(stored: Tenant, record: Stored) -> None:
    match record:
        case StoredVersion():
            _keep_version(stored, record)
        case StoredEvent():
            insort(stored.log, _event(record), key=attrgetter("sequence"))
            stored.kept[record.sequence] = Kept(record.kept)
        case StoredReceipt():
            receipt = _decode_receipt(record.receipt)
            stored.receipts[record.lookup] = (record.fingerprint, receipt, Instant(record.at))
        case StoredErasure():
            told = (record.subject, record.sequence, record.hash, Instant(record.at), record.versions, record.live)
            stored.erasures[record.id] = Erased(record.id, record.tenant, *told)
        case StoredTenant():
            stored.head = Head(record.sequence, record.hash, record.trimmed, record.trimmed_hash)


def _keep_version(stored: Tenant, record: StoredVersion) -> None:
    version = _version(record)
    siblings = stored.versions.setdefault(version.address, [])
    if version.ended_at is None:
        for rival in [each for each in siblings if each.ended_at is None]:
            _drop(stored, rival)  # it comes again, as what it is now
    siblings = stored.versions.setdefault(version.address, [])
    insort(siblings, version, key=attrgetter("revision"))
    stored.by_id[version.id] = version
    for entry in record.entries:
        stored.index.keep(version, entry.series, entry.content, entry.detail)
    if record.index_after is not None:
        stored.index.waiting[version.id] = (record.index_attempts, Instant(record.index_after))


def _version(record: StoredVersion) -> Version:
    return Version(
        address=_address(record),
        id=record.id,
        revision=record.revision,
        sequence=record.sequence,
        value=record.value,
        attributes=record.attributes,
        policy_attributes=record.policy_attributes,
        created_at=Instant(record.created_at),
        written_at=Instant(record.written_at),
        expires_at=_instant(record.expires_at),
        ended_at=_instant(record.ended_at),
        end_reason=None if record.end_reason is None else EndReason(record.end_reason),
        ended_sequence=record.ended_sequence,
        index_state=IndexState(record.index_state),
        archived=bool(record.archived),
        index_fields=record.index_fields,
        pinned_sequence=record.pinned_sequence,
    )


def _event(record: StoredEvent) -> Event:
    return Event(
        record.tenant,
        record.sequence,
        EventKind(record.kind),
        _address(record),
        record.row_id,
        record.revision,
        Instant(record.at),
        _instant(record.expires_at),
        record.actor,
        record.detail,
        record.digest,
        record.previous,
        record.hash,
    )


def _address(record: StoredVersion | StoredEvent) -> Address:
    return Address(Plane(record.plane), decode_namespace(record.namespace), record.key)


def _instant(moment: int | None) -> Instant | None:
    return None if moment is None else Instant(moment)
