"""Traces: what was decided, as it was written down, newest first; as events or in the Plain view."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from recollect.domain.address import ROOT, Namespace
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidQuery, NotFound
from recollect.domain.filters import Filter, parse_filter
from recollect.domain.governance.plain import plain as as_plain
from recollect.domain.governance.traces import TRACES, type_of
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service.guard import Ruling
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places
from recollect.service.reading import read_optional_moment

TYPES = tuple(type_of(each) for each in TRACES)
_TRACES = "traces"
_PAGES = 50
"""So many pages are looked through for one answer; its cursor leads on from there."""


class Tracing(Person):
    """What was decided, in the name of one caller."""

    async def list_traces(
        self,
        *,
        type: str | None = None,  # noqa: A002 - the word of the events themselves
        session: str | None = None,
        record: str | None = None,
        cause: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        plain: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What was decided about the caller's memories, newest first, each with its events in order.

        Only traces with an event of a type, of a session, about a record, of a cause (a capture's id, `turn`, `recall`
        …), or of a time are given, if that is said; `plain` gives each event as lines of `key: value`. Administrators
        see those of the whole tenant.
        """
        self._check_own_name()
        if type is not None and type not in TYPES:
            raise InvalidQuery(f"a type is one of {', '.join(TYPES)}", field="type")
        given = {"types": type, "session": session, "records": record, "cause": cause}
        asked = {name: shapes.text(value, name) for name, value in given.items() if value is not None}
        first, last, most = read_optional_moment(since), read_optional_moment(until), checked_limit(limit)
        ruling = await self._workings.guard.begin(self._caller)
        scope = await self._scope_of_traces(ruling, asked)
        if scope is None:
            return {_TRACES: [], "cursor": None}
        found: list[Row] = []
        for _ in range(_PAGES):
            query = Find(Plane.TRACE, *scope, Order.NEWEST, most, cursor=cursor)
            page = await self._workings.store.find(self._tenant, query)
            found += [row for row in page.rows if _is_trace(row) and _within(row, first, last)]
            cursor = page.cursor
            if first is not None and page.rows and page.rows[-1].written_at < first:
                cursor = None
            if found or cursor is None:
                break
        if scope[0] is ROOT:
            found = [row for row in found if await self._may_see_trace(ruling, row)]
        return {_TRACES: [_shown(row, plain=plain) for row in found], "cursor": cursor}

    async def get_trace(self, trace_id: str, *, plain: bool = False) -> dict[str, Any]:
        """One trace of the caller's."""
        self._check_own_name()
        if not isinstance(trace_id, str) or not 0 < len(trace_id) <= 200 or not trace_id.isprintable():
            raise NotFound("trace not found")
        address = Places(self._owner).trace(trace_id)
        ruling = await self._workings.guard.begin(self._caller)
        if not await ruling.allows(Action.READ, address.namespace.segments, trace_id):
            raise NotFound("trace not found")
        row = await self._workings.store.get(self._tenant, address)
        if row is None or row.value is None:
            raise NotFound("trace not found")
        return _shown(row, plain=plain)

    async def _scope_of_traces(self, ruling: Ruling, asked: dict[str, Any]) -> tuple[Namespace, Filter] | None:
        """Where the traces lie that the caller may see: their own; everybody's, if they administer."""
        if self._caller.is_admin:
            return ROOT, parse_filter(asked or None)
        place = Places(self._owner).own(_TRACES)
        view = await ruling.view(place.segments, asked or None)
        return None if view is None or view.prefix != place.segments else (place, view.filter)

    async def _may_see_trace(self, ruling: Ruling, row: Row) -> bool:
        return await ruling.allows(Action.READ, row.address.namespace.segments, row.address.key)


def _is_trace(row: Row) -> bool:
    return row.value is not None and row.address.namespace.segments[-1] == _TRACES


def _within(row: Row, first: Instant | None, last: Instant | None) -> bool:
    return (first is None or row.written_at >= first) and (last is None or row.written_at < last)


def _shown(row: Row, *, plain: bool) -> dict[str, Any]:
    told = {"id": row.address.key} | dict(stored_value(row.value or b"{}"))
    if plain:
        told["plain"] = [as_plain(each) for each in told.pop("events")]
    return told
