"""Usage: loads are noted in memory, where that costs a read next to nothing, and written down in batches."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import msgspec

from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Delete, Expect, Put
from recollect.domain.errors import OutcomeUnknown, RecollectError
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Item, Row
from recollect.domain.usage import Used, joined, settled, unused
from recollect.ports.store import Store
from recollect.ports.units import UnitOfWork

MOST_WAITING = 20_000
"""Loads of so many different things are noted between two times of writing down; those of others are not counted."""
MOST_LOOKED_AT = 50_000
"""So many things are looked at for a list of those that are used most."""
_FEW = 1_000
"""Loads of so many versions are noted by their ids, before they are brought to the rest."""
_BATCH = 100
_PAGE = 500
_ACTOR = "counter"
Each = TypeVar("Each")
Loads = dict[tuple[str, Address], Used]
_Held = dict[str, Used]

log = logging.getLogger("recollect.usage")


@dataclass(slots=True)
class _Noted:
    """How often one version was given lately."""

    tenant: str
    address: Address
    since: Instant
    count: int
    last: Instant


class Usage:
    """Counts loads. Whatever goes wrong with it is told in the log, and to no reader."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._noted: dict[bytes, _Noted] = {}
        self._waiting: Loads = {}
        self._under_way: list[Loads] = []
        self._dropped = 0
        self._tidied: dict[str, str | None] = {}

    # -- noting

    def note(
        self, tenant: str, namespace: Namespace, key: str, plane: Plane, at: Instant, since: Instant | None = None
    ) -> None:
        """That something was given to somebody who asked for it; `since` is when it came to be, if that is known."""
        self._keep({(tenant, Address(plane, namespace, key)): Used(Instant(-1) if since is None else since, 1, at)})

    def load(self, row: Row, at: Instant) -> None:
        """That this row was given to somebody who asked for it; by its id, since reads go through here."""
        with self._lock:
            noted = self._noted.get(row.id)
            if noted is not None:
                noted.count += 1
                noted.last = at
                return
            self._noted[row.id] = _Noted(row.tenant, row.address, row.created_at, 1, at)
            if len(self._noted) >= _FEW:
                self._fold()

    def _fold(self) -> None:
        """Bring what was noted by ids to the rest; the lock is held."""
        noted, self._noted = self._noted, {}
        for each in noted.values():
            self._take((each.tenant, each.address), Used(each.since, each.count, each.last))

    def _keep(self, loads: Mapping[tuple[str, Address], Used]) -> None:
        with self._lock:
            for thing, used in loads.items():
                self._take(thing, used)

    def _take(self, thing: tuple[str, Address], used: Used) -> None:
        before = self._waiting.get(thing)
        if before is None and len(self._waiting) >= MOST_WAITING:
            self._dropped += used.count
            return
        both = joined(before, used)
        if both is not None:
            self._waiting[thing] = both

    def forget(self, tenant: str, within: Namespace) -> None:
        """Drop what was noted of things at or below a namespace."""
        with self._lock:
            self._fold()
            for loads in (self._waiting, *self._under_way):
                for thing in [each for each in loads if each[0] == tenant and within.contains(each[1].namespace)]:
                    del loads[thing]

    # -- writing down

    async def flush(self) -> int:
        """Write down what was noted, and say of how many things; what cannot be written now waits for the next time."""
        with self._lock:
            self._fold()
            taken, self._waiting = self._waiting, {}
            dropped, self._dropped = self._dropped, 0
            self._under_way.append(taken)
        if dropped:
            _tell("usage.dropped", loads=dropped)
        done = 0
        try:
            by_tenant: dict[str, dict[Address, list[Address]]] = {}
            for tenant, thing in list(taken):
                by_tenant.setdefault(tenant, {}).setdefault(_place_of(thing), []).append(thing)
            for tenant, places in sorted(by_tenant.items()):
                for batch in _batched(places.items(), _BATCH):
                    done += await self._flushed(tenant, dict(batch), taken)
        finally:
            with self._lock:
                self._under_way = [each for each in self._under_way if each is not taken]
            self._keep(taken)
        return done

    async def _flushed(self, tenant: str, places: Mapping[Address, Sequence[Address]], taken: Loads) -> int:
        """Write down the loads of what lies at these places; they are taken away from `taken` once they are."""
        with self._lock:
            noted = {thing: taken.get((tenant, thing)) for things in places.values() for thing in things}
        mine = {thing: used for thing, used in noted.items() if used is not None}
        try:
            await self._add(tenant, list(places), mine)
        except OutcomeUnknown as problem:  # adding them again could count them twice
            _tell("usage.lost", tenant=tenant, code=problem.code, things=len(mine))
        except RecollectError as problem:
            _tell("usage.failed", tenant=tenant, code=problem.code, things=len(mine))
            return 0
        with self._lock:
            for address in mine:
                taken.pop((tenant, address), None)
        return len(mine)

    async def _add(self, tenant: str, places: Sequence[Address], loads: Mapping[Address, Used]) -> None:
        """Add loads to what is held at places, in one transaction; whatever is held of things that are gone goes."""

        async def work(unit: UnitOfWork) -> None:
            rows = await self._store.get_each([(tenant, place) for place in places])
            held = [_held(row) for row in rows]
            things = await self._things(tenant, places, held, loads)
            for place, row, before in zip(places, rows, held, strict=True):
                unit.require(Expect(place, 0 if row is None else row.revision))
                there = {plane: things.get(_thing_at(place, plane)) for plane in _PLANES}
                mine = {
                    plane: used if used.since >= 0 else Used(there[plane] or used.since, used.count, used.last)
                    for plane in _PLANES
                    if (used := loads.get(_thing_at(place, plane))) is not None
                }
                after = settled(before, mine, there)
                if after and after != before:
                    unit.write(Put(place, msgspec.json.encode(after)))
                elif row is not None and not after:
                    unit.write(Delete(place))

        await self._store.transact(tenant, work, actor=_ACTOR)

    async def _things(
        self, tenant: str, places: Sequence[Address], held: Sequence[_Held], loads: Iterable[Address] = ()
    ) -> dict[Address, Instant | None]:
        """When each thing came to be of which there is something to say; None for those that are gone."""
        wanted = list(
            dict.fromkeys(
                [
                    *loads,
                    *(_thing_at(place, plane) for place, each in zip(places, held, strict=True) for plane in each),
                ]
            )
        )
        rows = await self._store.get_each([(tenant, address) for address in wanted])
        return {address: None if row is None else row.created_at for address, row in zip(wanted, rows, strict=True)}

    async def tidy(self, tenant: str, *, everything: bool = False) -> int:
        """Take away what is held of things that are gone: a page of it at a time, going on where it ended."""
        gone, cursor = 0, None if everything else self._tidied.get(tenant)
        while True:
            query = Find(Plane.USAGE, order=Order.KEY, limit=_PAGE, cursor=cursor, archived=Archived.INCLUDE)
            page = await self._store.find(tenant, query)
            places = [row.address for row in page.rows]
            held = [_held(row) for row in page.rows]
            things = await self._things(tenant, places, held)
            stale = [
                place
                for place, each in zip(places, held, strict=True)
                if any(things.get(_thing_at(place, plane)) != used.since for plane, used in each.items())
            ]
            for batch in _batched(stale, _BATCH):
                await self._add(tenant, batch, {})
            gone += len(stale)
            cursor = self._tidied[tenant] = page.cursor
            if cursor is None or not everything:
                return gone

    # -- telling

    async def of(self, rows: Sequence[Row]) -> list[dict[str, Any] | None]:
        """How often these were fetched so far, by anybody as far as it was written down, and by this process."""
        try:
            found = await self._store.get_each([(row.tenant, _place_of(row.address)) for row in rows])
        except RecollectError as problem:
            _tell("usage.unread", code=problem.code, things=len(rows))
            return [None] * len(rows)
        return [self._shown(row, _held(held)) for row, held in zip(rows, found, strict=True)]

    async def show(self, items: Iterable[Item]) -> None:
        """Let items say how often they were fetched so far; nothing is asked for none."""
        shown = list(items)
        if shown:
            for item, usage in zip(shown, await self.of([each.row for each in shown]), strict=True):
                item.usage = usage

    def _shown(self, row: Row, held: _Held) -> dict[str, Any]:
        used = held.get(row.address.plane.value)
        with self._lock:
            self._fold()
            noted = [loads.get((row.tenant, row.address)) for loads in (self._waiting, *self._under_way)]
        for each in noted:
            if each is not None and each.since < 0:
                used = joined(used, Used(row.created_at, each.count, each.last))
            else:
                used = joined(used, each)
        return unused() if used is None or used.since != row.created_at else used.shown()

    async def top(self, tenant: str, *, by_time: bool, within: Namespace, limit: int) -> dict[str, Any]:
        """What was fetched most, or last, first; with how much was looked at, and whether that was all."""
        await self.flush()
        found: list[tuple[int, int, str, str, str]] = []
        places: dict[tuple[str, str], Address] = {}
        looked, cursor = 0, None
        while looked < MOST_LOOKED_AT:
            query = Find(Plane.USAGE, within, order=Order.KEY, limit=_PAGE, cursor=cursor)
            page = await self._store.find(tenant, query)
            for row in page.rows:
                name = (row.address.namespace.encoded, row.address.key)
                places[name] = row.address
                for plane, used in _held(row).items():
                    figures = (used.last, used.count) if by_time else (used.count, used.last)
                    found.append((-figures[0], -figures[1], *name, plane))
            looked += len(page.rows)
            cursor = page.cursor
            if cursor is None:
                break
        entries: list[dict[str, Any]] = []
        ordered = [_thing_at(places[each[2], each[3]], each[4]) for each in sorted(found)]
        for start in range(0, len(ordered), _PAGE):
            if len(entries) >= limit:
                break
            some = ordered[start : start + _PAGE]
            rows = [row for row in await self._store.get_each([(tenant, one) for one in some]) if row is not None]
            entries += [
                _entry(row, usage)
                for row, usage in zip(rows, await self.of(rows), strict=True)
                if usage is not None and usage["fetch_count"]
            ]
        return {"usage": entries[:limit], "looked_at": looked, "complete": cursor is None}


def _batched(many: Iterable[Each], size: int) -> Iterator[list[Each]]:
    """So many at a time."""
    left = iter(many)
    while batch := list(islice(left, size)):
        yield batch


_PLANES = (Plane.ITEM.value, Plane.RECORD.value)
"""What loads are counted of."""


def _entry(row: Row, usage: dict[str, Any]) -> dict[str, Any]:
    address = row.address
    return {
        "namespace": list(address.namespace.segments),
        "key": address.key,
        "plane": address.plane.value,
        "usage": usage,
    }


def _place_of(thing: Address) -> Address:
    """Where it is kept how often something was fetched: beside it, so that it is erased with it."""
    return Address(Plane.USAGE, thing.namespace, thing.key)


def _thing_at(place: Address, plane: str) -> Address:
    return Address(Plane(plane), place.namespace, place.key)


def _held(row: Row | None) -> _Held:
    return {} if row is None or row.value is None else msgspec.json.decode(row.value, type=_Held)


def _tell(name: str, **fields: object) -> None:
    log.warning(name, extra={"fields": fields})
