"""Lapsing: what rests on a consent is ended once that covers it no more, at once or as soon as the service is back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from recollect.domain.address import ROOT, Address
from recollect.domain.callers import Caller, local_caller
from recollect.domain.filters import parse_filter
from recollect.domain.governance.reasons import Reason
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger, consent_of
from recollect.domain.promotion.signals import on_revocation
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.service.pipeline.places import LAPSES, Places, consents_of, places_at
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Waiting

Result = TypeVar("Result")
_AT_ONCE = 100
"""So many records are ended in one transaction."""
_CONSENTS = 1_000
"""So many consents are read at once."""


class Within(Protocol):
    """Decides and writes in one transaction."""

    async def __call__(
        self, caller: Caller, places: Places, work: Callable[[Promoting], Awaitable[Result]], cause: str | None = None
    ) -> Result:
        """Do the work, again whenever what it rests on changed."""
        ...


class Lapse(msgspec.Struct, frozen=True, kw_only=True):
    """The note that a consent may cover less than before, and what was ended for it so far."""

    subject: str
    consent: str
    reason: Reason
    by: str
    """Whose feed tells of it."""
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lapsing:
    """Ends what rested on consents."""

    store: Store
    clock: Clock
    within: Within

    async def due(self, tenant: str) -> int:
        """Settle every note whose time has come; say how many records were ended."""
        ended = 0
        while True:
            page = await self.store.find(tenant, Find(Plane.LINK, LAPSES, order=Order.KEY, limit=_AT_ONCE))
            now = self.clock()
            notes = [row.address for row in page.rows if int(row.address.key.partition(" ")[0]) <= now]
            for note in notes:
                ended += len((await self.settle(local_caller(tenant, "rememberer"), note))[0])
            if not notes:
                return ended

    async def settle(self, caller: Caller, note: Address) -> tuple[tuple[str, ...], dict[str, Any] | None]:
        """End what is covered no more, and tell so once all is ended; says which records, and what was told."""
        row = await self.store.get(caller.tenant, note)
        if row is None or row.value is None:
            return (), None  # somebody else did
        lapse = msgspec.json.decode(row.value, type=Lapse)
        for consent_id in _chain(await read_ledger(self.store, caller.tenant, lapse.subject), lapse.consent):
            await self._end_all(caller, note, lapse, consent_id)

        async def tell(under_way: Promoting) -> tuple[tuple[str, ...], dict[str, Any] | None]:
            raw = await under_way.draft.bytes_at(note)
            if raw is None:
                return (), None
            held = msgspec.json.decode(raw, type=Lapse)
            under_way.draft.delete(note)
            said = (await under_way.ledger(held.subject)).get(held.consent)
            if held.reason is not Reason.CONSENT_REVOKED or said is None:
                return held.ended, None
            event, signal = on_revocation(said, held.ended, under_way.now)
            under_way.draft.put(under_way.places.signal(under_way.new_id("sig")), event.as_json(), new=True)
            if signal is not None:
                under_way.signal(signal)
            return held.ended, event.as_json()

        return await self.within(caller, Places(lapse.by), tell, lapse.consent)

    async def _end_all(self, caller: Caller, note: Address, lapse: Lapse, consent_id: str) -> None:
        """End the records that rest on one consent, and withdraw what waits by it."""
        for plane in (Plane.RECORD, Plane.PROPOSAL):
            asked = {"consent": consent_id} if plane is Plane.RECORD else {"consent": consent_id, "status": "waiting"}
            cursor: str | None = None
            while True:
                wanted = parse_filter(asked)
                query = Find(plane, ROOT, wanted, Order.KEY, _AT_ONCE, cursor=cursor, archived=Archived.INCLUDE)
                page = await self.store.find(caller.tenant, query)
                by_place: dict[Places, list[Row]] = {}
                for row in page.rows:
                    by_place.setdefault(places_at(row.address.namespace, lapse.by), []).append(row)
                for places, rows in by_place.items():
                    await self._end(caller, places, rows, note, lapse)
                cursor = page.cursor
                if cursor is None:
                    break

    async def _end(self, caller: Caller, places: Places, rows: list[Row], note: Address, lapse: Lapse) -> None:
        async def work(under_way: Promoting) -> None:
            ledger = await under_way.ledger(lapse.subject)
            gone: list[str] = []
            for row in rows:
                raw = await under_way.draft.bytes_at(row.address)
                if raw is None:
                    continue
                held = _read(row.address.plane, raw)
                rested = held.rested(under_way.tenant)
                if rested is None or still_covered(ledger, rested, under_way.now):
                    continue
                if isinstance(held, Record):
                    await under_way.end(held, lapse.reason)
                    gone += [held.id] if held.ended_at is None else []
                elif held.status == "waiting":
                    withdrawn = msgspec.structs.replace(held, status="withdrawn", decided_at=under_way.now)
                    under_way.keep(withdrawn)
            told = await under_way.draft.bytes_at(note)
            if told is not None and gone:
                before = msgspec.json.decode(told, type=Lapse)
                after = msgspec.structs.replace(before, ended=(*before.ended, *gone))
                under_way.draft.put(note, msgspec.json.encode(after))

        await self.within(caller, places, work, lapse.consent)


def _chain(ledger: Ledger, consent_id: str | None) -> Iterator[str]:
    """The consent and those in whose place it stands; a record may rest on any of them."""
    while consent_id is not None and (consent := ledger.get(consent_id)) is not None:
        yield consent_id
        consent_id = consent.supersedes


def _read(plane: Plane, raw: bytes) -> Record | Waiting:
    return read_record(raw) if plane is Plane.RECORD else msgspec.json.decode(raw, type=Waiting)


async def read_ledger(store: Store, tenant: str, subject: str) -> Ledger:
    """The consents of a subject, as they are now."""
    found = []
    cursor: str | None = None
    while True:
        query = Find(Plane.CONSENT, consents_of(subject), order=Order.OLDEST, limit=_CONSENTS, cursor=cursor)
        page = await store.find(tenant, query)
        found += [consent_of(stored_value(row.value)["consent"]) for row in page.rows if row.value is not None]
        cursor = page.cursor
        if cursor is None:
            return Ledger(tenant, tuple(found))
