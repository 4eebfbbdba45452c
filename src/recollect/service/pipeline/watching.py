"""Watching: what differs, what there is to learn from, and what was decided, as it was written down."""

from __future__ import annotations

from typing import Any

from recollect.domain.address import ROOT
from recollect.domain.errors import InvalidQuery
from recollect.domain.filters import parse_filter
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service.guard import Ruling
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places


class Watching(Person):
    """What is told of memories, in the name of one caller."""

    async def list_contradictions(
        self, *, status: str = "open", limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """Where what was said differs from what is known: open ones, or those that were resolved and how."""
        if status not in ("open", "resolved"):
            raise InvalidQuery("status is open or resolved")
        asked = {"status": status}
        return await self._told(Plane.CONTRADICTION, "contradictions", asked, limit, cursor, wide=self._reviews)

    async def list_signals(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """What there is to learn from: corrections, rejections, edits, contradictions, consents taken back."""
        return await self._told(Plane.TRACE, "signals", None, limit, cursor, wide=self._reviews)

    async def _told(
        self, plane: Plane, below: str, asked: dict[str, Any] | None, limit: int, cursor: str | None, *, wide: bool
    ) -> dict[str, Any]:
        """What is told of one sort: of everybody, as far as the policy lets them see it, or of the caller's own."""
        self._check_own_name()
        place = Places(self._owner).own(below)
        ruling = await self._workings.guard.begin(self._caller)
        most = checked_limit(limit)
        if wide:
            within, wanted = ROOT, parse_filter(asked)
        else:
            view = await ruling.view(place.segments, asked)
            if view is None or view.prefix != place.segments:
                return {below: [], "cursor": None}
            within, wanted = place, view.filter
        page = await self._workings.store.find(
            self._tenant, Find(plane, within, wanted, Order.NEWEST, most, cursor=cursor)
        )
        rows = [row for row in page.rows if row.value is not None and row.address.namespace.segments[-1] == below]
        if wide:
            rows = [row for row in rows if await self._may_see(ruling, row)]
        told = [{"id": row.address.key} | dict(stored_value(row.value or b"{}")) for row in rows]
        return {below: told, "cursor": page.cursor}

    async def _may_see(self, ruling: Ruling, row: Row) -> bool:
        return await ruling.allows(self._seeing, row.address.namespace.segments, row.address.key)
