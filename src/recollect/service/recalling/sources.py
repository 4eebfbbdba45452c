"""Sources: the records that a recall is made from, as they are now."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from recollect.domain.address import ROOT, Address
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import EmbedderTrouble
from recollect.domain.filters import EVERYTHING, matches, parse_filter
from recollect.domain.governance.terms import Kind, Space
from recollect.domain.instants import Instant
from recollect.domain.promotion.consent_checks import still_covered
from recollect.domain.promotion.consents import Ledger
from recollect.domain.queries import Archived, Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.recall.asking import Asked
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.usage import grown
from recollect.service.pipeline.lapsing import read_ledger
from recollect.service.ranked import Wish
from recollect.service.recalling.scope import Behind
from recollect.service.searching import Answer
from recollect.service.workings import Workings

PAGE = 200


class Source(ABC):
    """Where records come from, at one moment."""

    def __init__(
        self,
        workings: Workings,
        tenant: str,
        asked: Asked,
        places: Sequence[Behind],
        phases: Mapping[Space, str | None],
        moment: Instant,
        wait: float | None,
    ) -> None:
        self._workings, self._tenant, self._asked, self._phases = workings, tenant, asked, phases
        self.moment = moment
        self._wait = wait
        self._places = {each.root: each for each in places}
        self._ledgers: dict[str, Ledger] = {}
        self.given: dict[str, Row] = {}
        """The rows that were looked at once more and may be given, by the ids of their records."""

    @property
    def as_of(self) -> Instant | None:
        """The moment, where it is an earlier one."""
        return None

    async def at(self, place: Behind, kind: Kind, most: int | None, *, past: bool = False) -> list[Row]:
        """So many rows of a kind that lie exactly in a space and are asked for, those written last first."""
        wanted = place.filter.and_(parse_filter(self._asked.labels(kind)))
        archived = Archived.ONLY if past else Archived.EXCLUDE
        found: list[Row] = []
        cursor: str | None = None
        while True:
            query = Find(Plane.RECORD, place.root, wanted, Order.NEWEST, PAGE, 0, cursor, self.as_of, archived)
            page = await self._workings.store.find(self._tenant, query)
            found += [row for row in page.rows if row.address.namespace == place.root and self._admits(row, past=past)]
            cursor = page.cursor
            if cursor is None or (most is not None and len(found) >= most):
                return found[:most]

    def _admits(self, row: Row, *, past: bool) -> bool:
        """Whether the record in a row lies where it may be seen, is asked for, and stands, or no longer does."""
        place = self._places.get(row.address.namespace)
        if place is None or row.value is None or row.archived is not past:
            return False
        if place.filter and not matches(place.filter, stored_attributes(row.policy_attributes)):
            return False
        record = read_record(row.value)
        return (record.ended_at is None) is not past and self._asked.admits(record, self.moment, self._phases)

    async def search(self, query: str, most: int, *, past: bool = False) -> Answer:
        """What answers a query best, in all spaces, of the records that are found by what they say."""
        seen = {place.filter for place in self._places.values()}
        common = seen.pop() if len(seen) == 1 else EVERYTHING
        wish = Wish(
            self._tenant,
            ROOT,
            common.and_(parse_filter(self._asked.labels(Kind.SEMANTIC))),
            (query,),
            limit=most,
            archived=Archived.ONLY if past else Archived.EXCLUDE,
            explain=self._asked.explain,
            plane=Plane.RECORD,
            keep=partial(self._admits, past=past),
            roots=tuple(self._places),
        )
        return await self._searched(wish)

    @abstractmethod
    async def _searched(self, wish: Wish) -> Answer:
        """What a search finds at the moment."""

    @abstractmethod
    async def still(self, rows: Sequence[Row], *, past: bool = False) -> list[Record | None]:
        """The records in rows, looked at once more: None for each that may not be seen now."""

    async def grown(self, records: Sequence[Record], rows: Sequence[Row]) -> list[Record]:  # noqa: ARG002 - see `Present`
        """The records with the importance that they have at the moment."""
        return list(records)

    async def _covered(self, record: Record, moment: Instant) -> bool:
        """Whether the consent that a record rests on, if it does, covers it at a moment."""
        rested = record.rested(self._tenant)
        if rested is None:
            return True
        subject = rested.need.subject_ceid
        if subject not in self._ledgers:
            self._ledgers[subject] = await read_ledger(self._workings.store, self._tenant, subject)
        return still_covered(self._ledgers[subject], rested, moment)


class Present(Source):
    """Records as they are now."""

    async def at(self, place: Behind, kind: Kind, most: int | None, *, past: bool = False) -> list[Row]:
        """The same; the facts of a user whose records are in memory are named there, however many other records."""
        if kind is Kind.PROFILE and not past and self._workings.spaces.has(self._tenant, place.root):
            space = await self._workings.spaces.fresh(self._tenant, place.root)
            facts = [each.record.id for each in space.at(place.root, self.moment) if each.record.kind is kind]
            if most is None or len(facts) <= most:
                addresses = [Address(Plane.RECORD, place.root, each.split(":", 2)[2]) for each in facts]
                rows = await self._workings.store.get_each([(self._tenant, each) for each in addresses])
                return [row for row in rows if row is not None and self._admits(row, past=False)]
        return await super().at(place, kind, most, past=past)

    async def _searched(self, wish: Wish) -> Answer:
        await settled(self._workings, self._tenant, self._wait)
        return await self._workings.searching.search(wish)

    async def still(self, rows: Sequence[Row], *, past: bool = False) -> list[Record | None]:
        """The records as they are at this very moment, read anew."""
        return await self.there([row.address for row in rows], past=past)

    async def there(self, addresses: Sequence[Address], *, past: bool = False) -> list[Record | None]:
        """The records at these addresses that may be seen at this very moment: None for each that may not."""
        fresh = await self._workings.store.get_each([(self._tenant, each) for each in addresses])
        found: list[Record | None] = []
        for row in fresh:
            if row is None or row.value is None or not self._admits(row, past=past):
                found.append(None)
                continue
            record = read_record(row.value)
            covered = await self._covered(record, self._workings.clock())
            self.given |= {record.id: row} if covered else {}
            found.append(record if covered else None)
        return found

    async def grown(self, records: Sequence[Record], rows: Sequence[Row]) -> list[Record]:
        """The records with the importance that they have by now, where a setting lets that grow with use."""
        most = self._workings.rules.usage_importance
        if not most:
            return list(records)
        found = []
        for record, usage in zip(records, await self._workings.usage.of(rows), strict=True):
            importance, reasons = grown(record.importance, 0 if usage is None else usage["fetch_count"], most)
            why = (*record.importance_reason, *reasons)
            found.append(msgspec.structs.replace(record, importance=importance, importance_reason=why))
        return found


async def settled(workings: Workings, tenant: str, wait: float | None) -> None:
    """See that what was written is indexed; without a `wait`, wherever nobody else would do so."""
    if wait or (wait is None and workings.indexing.inline):
        with suppress(EmbedderTrouble):  # what is indexed already can be searched all the same
            await workings.indexing.settle(tenant, math.inf if wait is None else wait)
