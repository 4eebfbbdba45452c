"""Open spaces: the records of the spaces of late conversations, kept in memory and brought up to date by the log."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from recollect.domain.address import Namespace
from recollect.domain.events import Entry
from recollect.domain.governance.items import Item
from recollect.domain.instants import Instant
from recollect.domain.queries import EventQuery, Find, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.remembering.records import Record, live_record
from recollect.domain.rows import Row, is_expired
from recollect.ports.store import Store

_PAGE = 500
_MOST_RECORDS = 200_000
"""So many records are kept in memory, of whichever spaces were used last."""
_RECORDS = frozenset({Plane.RECORD})
_ERASED = frozenset({EventKind.ERASED})


@dataclass(frozen=True, slots=True)
class Held:
    """A record, the same as governance sees it, and until when it is there."""

    record: Record
    item: Item
    expires_at: Instant | None

    def is_there(self, now: Instant) -> bool:
        """Whether it is there at a moment."""
        return not is_expired(self.expires_at, now)


@dataclass(slots=True)
class Space:
    """The live records below a namespace, by namespace and key, in the order in which they came."""

    within: Namespace
    upto: int = 0
    records: dict[Namespace, dict[str, Held]] = field(default_factory=dict)
    count: int = 0
    held: int = 0
    """How many records it had when it was last kept."""

    def at(self, namespace: Namespace, now: Instant) -> list[Held]:
        """What lies at a namespace itself and is there at a moment."""
        return [each for each in list(self.records.get(namespace, {}).values()) if each.is_there(now)]

    def take(self, row: Row) -> None:
        """Take a version in place of the one before."""
        record = None if row.value is None or row.archived else live_record(row.value)
        if record is None:
            self.drop(row.address.namespace, row.address.key)
            return
        there = self.records.setdefault(row.address.namespace, {})
        self.count += row.address.key not in there
        there[row.address.key] = Held(record, record.item(), row.expires_at)

    def drop(self, namespace: Namespace, key: str) -> None:
        """Drop what is at a key."""
        if self.records.get(namespace, {}).pop(key, None) is not None:
            self.count -= 1

    def tell(self, entry: Entry) -> None:
        """Take what the log tells."""
        event = entry.event
        if event.kind in (EventKind.ADD, EventKind.UPDATE):
            if entry.row is not None:
                self.take(entry.row)
            else:
                self.drop(event.address.namespace, event.address.key)
        elif event.kind in (EventKind.DELETE, EventKind.EXPIRED):
            self.drop(event.address.namespace, event.address.key)


class OpenSpaces:
    """The spaces that were used lately."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: OrderedDict[tuple[str, Namespace], Space] = OrderedDict()
        self._held = 0

    def has(self, tenant: str, within: Namespace) -> bool:
        """Whether the records below a namespace are in memory, so that to look through them costs no reading."""
        return (tenant, within) in self._open

    async def fresh(self, tenant: str, within: Namespace) -> Space:
        """The live records below a namespace, as of now; `upto` says up to where in the log."""
        known = self._open.pop((tenant, within), None)
        self._held -= 0 if known is None else known.held
        space = await self._read(tenant, within) if known is None else await self._follow(tenant, known)
        self._keep((tenant, within), space)
        return space

    def _keep(self, name: tuple[str, Namespace], space: Space) -> None:
        """Keep a space, and let go of those that were not used for longest when there are too many records."""
        before = self._open.pop(name, None)  # somebody else may have read it meanwhile
        space.held = space.count
        self._held += space.held - (0 if before is None else before.held)
        self._open[name] = space
        while len(self._open) > 1 and self._held > _MOST_RECORDS:
            self._held -= self._open.popitem(last=False)[1].held

    async def _follow(self, tenant: str, space: Space) -> Space:
        head = await self._store.head(tenant)
        if head.sequence == space.upto:
            return space
        if head.sequence < space.upto or space.upto < head.trimmed:
            return await self._read(tenant, space.within)
        erased = EventQuery(space.upto, space.within, kinds=_ERASED, limit=1, values=False)
        if (await self._store.events(tenant, erased)).entries:
            return await self._read(tenant, space.within)
        while True:
            page = await self._store.events(tenant, EventQuery(space.upto, space.within, _RECORDS, limit=_PAGE))
            for entry in page.entries:
                space.tell(entry)
            space.upto = page.after
            if page.complete:
                return space

    async def _read(self, tenant: str, within: Namespace) -> Space:
        space = Space(within, (await self._store.head(tenant)).sequence)
        rows: list[Row] = []
        cursor: str | None = None
        while True:
            page = await self._store.find(
                tenant, Find(Plane.RECORD, within, order=Order.KEY, limit=_PAGE, cursor=cursor)
            )
            rows += page.rows
            cursor = page.cursor
            if cursor is None:
                break
        taken = Space(within, space.upto)
        for row in rows:
            taken.take(row)
        for namespace, there in taken.records.items():
            space.records[namespace] = dict(sorted(there.items(), key=lambda pair: pair[1].record.tick))
        space.count = taken.count
        return await self._follow(tenant, space)
