"""Talking: how one caller reads what lies between their turns."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from recollect.domain.address import Address, Namespace
from recollect.domain.callers import Action
from recollect.domain.errors import InvalidRequest, NotFound
from recollect.domain.queries import Find, Order, checked_limit
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.domain.text import flaw_in
from recollect.service.pipeline.person import Person

Read = TypeVar("Read", bound=msgspec.Struct)
_LONGEST_ID = 100


class Talking(Person):
    """Who talks with personas, as the parts of the conversation know them."""

    async def _may(self, action: Action, address: Address) -> None:
        """Refuse unless the caller may do this."""
        self._check_own_name()
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(action, address.namespace.segments, address.key)

    async def _kept_at(self, address: Address, sort: type[Read]) -> Read | None:
        """What lies at an address, for who was found to be allowed to read it."""
        row = await self._workings.store.get(self._tenant, address)
        return None if row is None or row.value is None else read_row(row, sort)

    async def _found_at(self, address: Address, sort: type[Read], what: str) -> Read:
        """What lies at an address, if the caller may read it and it is there."""
        await self._may(Action.READ, address)
        found = await self._kept_at(address, sort)
        if found is None:
            raise NotFound(f"{what} not found")
        return found

    async def _listed(
        self, plane: Plane, place: Namespace, asked: dict[str, Any] | None, limit: int, cursor: str | None
    ) -> tuple[list[Row], str | None]:
        """A page of what lies somewhere, as far as the policy opens it."""
        self._check_own_name()
        ruling = await self._workings.guard.begin(self._caller)
        view = await ruling.view(place.segments, asked)
        if view is None or view.prefix != place.segments:
            return [], None
        query = Find(plane, place, view.filter, Order.NEWEST, checked_limit(limit), cursor=cursor)
        page = await self._workings.store.find(self._tenant, query)
        return [row for row in page.rows if row.value is not None], page.cursor


def read_row(row: Row, sort: type[Read]) -> Read:
    """What a row holds."""
    return msgspec.json.decode(row.value or b"", type=sort)


def read_id(given: object) -> str:
    """An id as callers give it."""
    if not isinstance(given, str) or not 0 < len(given) <= _LONGEST_ID or flaw_in(given) or not given.isprintable():
        raise InvalidRequest(f"an id is text of 1 to {_LONGEST_ID} characters", field="id")
    return given
