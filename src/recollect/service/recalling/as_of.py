"""As of: a recall as it would have been answered at an earlier moment, without what may not be seen now.

Versions that were live then are laid on a shelf of their own and searched as a shelf of live ones is. What was erased,
or ended and swept since, is gone from the past as well; what rests on a consent is shown only if that covers it now.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import EndReason, Plane
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.shelves import Shelf, Slip
from recollect.ports.store import Pending
from recollect.service.making import Made, Making
from recollect.service.ranked import Among, Wish
from recollect.service.recalling.sources import PAGE, Source, settled
from recollect.service.searching import Answer
from recollect.service.series import Series

_AT_ONCE = 200
"""So many versions are made anew, or looked up, at once."""


class Past(Source):
    """Records as they were."""

    @property
    def as_of(self) -> Instant | None:
        """The moment, for the store."""
        return self.moment

    async def _searched(self, wish: Wish) -> Answer:
        await settled(self._workings, self._tenant, self._wait)
        lines = await self._workings.indexing.book.lines(self._tenant)
        if lines is None:
            return Answer([], {"mode": wish.mode, "model": None, "searched": 0, "rules": ["nothing is indexed yet"]})
        rows = await self._rows(wish)
        among = await self._among(rows, lines.serving)
        return await self._workings.searching.search_among(wish, lines.serving, among)

    async def _rows(self, wish: Wish) -> list[Row]:
        """Everything that was live in the scope of a search."""
        found: list[Row] = []
        for root in wish.roots:
            cursor: str | None = None
            while True:
                query = Find(Plane.RECORD, root, wish.filter, Order.OLDEST, PAGE, 0, cursor, self.as_of, wish.archived)
                page = await self._workings.store.find(self._tenant, query)
                found += [row for row in page.rows if row.address.namespace == root and row.value is not None]
                cursor = page.cursor
                if cursor is None:
                    break
        return found

    async def _among(self, rows: Sequence[Row], series: Series) -> Among:
        contents, details = await self._indexed(rows, series)
        missing = [row for row in rows if row.id not in contents]
        for start in range(0, len(missing), _AT_ONCE):
            await self._made(missing[start : start + _AT_ONCE], series, contents, details)
        shelf = Shelf(series.dimension)
        shelf.take(
            Slip(
                row.id,
                row.address.namespace.encoded,
                row.created_at,
                row.sequence,
                row.expires_at,
                row.archived,
                row.policy_attributes,
                contents[row.id],
            )
            for row in rows
        )
        return Among(shelf, {row.id: row for row in rows}, details, self.moment)

    async def _indexed(self, rows: Sequence[Row], series: Series) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """What the index has of these versions, or of later ones that say the same."""
        contents: dict[bytes, bytes] = {}
        details: dict[bytes, bytes] = {}
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            live = await self._workings.store.get_each([(self._tenant, row.address) for row in part])
            same = {row.id: now.id for row, now in zip(part, live, strict=True) if now is not None and _alike(row, now)}
            ids = list(dict.fromkeys(same.values()))
            entries = await self._workings.store.entries_of(self._tenant, series.number, ids)
            known = {entry.id: entry.content for entry in entries if entry.content is not None}
            detailed = await self._workings.store.details(self._tenant, series.number, ids)
            contents |= {then: known[now] for then, now in same.items() if now in known}
            details |= {then: detailed[now] for then, now in same.items() if now in detailed}
        return contents, details

    async def _made(
        self, rows: Sequence[Row], series: Series, contents: dict[bytes, bytes], details: dict[bytes, bytes]
    ) -> None:
        """Make what the index had of versions that ended since."""
        indexing = self._workings.indexing
        blinder = await indexing.blinder(self._tenant)
        making = Making(blinder, self._workings.searching.language, indexing.embedders.of(series))
        waiting = [Pending(row, live=True) for row in rows]
        made = await indexing.aside(lambda: making.make(waiting, lenient=True))
        for row, each in zip(rows, made, strict=True):
            if isinstance(each, Made):
                contents[row.id] = each.entry
                if each.detail is not None:
                    details[row.id] = each.detail

    async def still(self, rows: Sequence[Row], *, past: bool = False) -> list[Record | None]:
        """The records as they were, unless somebody took them back since, or their consent covers them no more."""
        found: list[Record | None] = []
        now = await self._workings.store.get_each([(self._tenant, row.address) for row in rows])
        for row, present in zip(rows, now, strict=True):
            record = None if row.value is None or not self._admits(row, past=past) else read_record(row.value)
            if record is not None and present is None and await self._taken_back(row):
                record = None
            if record is not None:
                covered = await self._covered(record, self.moment)
                covered = covered and await self._covered(record, self._workings.clock())
                record = record if covered else None
            found.append(record)
        return found

    async def _taken_back(self, row: Row) -> bool:
        """Whether what is gone was ended by somebody, and not by its time."""
        last = await self._workings.store.history(self._tenant, row.address, limit=1)
        return bool(last) and last[0].end_reason is EndReason.DELETED


def _alike(row: Row, now: Row) -> bool:
    """Whether two versions of a record say the same, so that the same is found of them."""
    if row.id == now.id:
        return True
    if row.value is None or now.value is None or row.index_fields != now.index_fields:
        return False
    return read_record(row.value).text == read_record(now.value).text
