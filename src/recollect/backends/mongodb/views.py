"""What held at one commit: searching versions as if nothing was written since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from recollect.backends.mongodb.documents import WITHOUT_ENTRIES, as_at
from recollect.backends.mongodb.driver import Document, Driver, Order, Where
from recollect.backends.mongodb.ledger import Ledger, State
from recollect.backends.mongodb.schema import VERSIONS
from recollect.domain.attributes import stored_attributes
from recollect.domain.filters import Filter, matches
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived, shows
from recollect.domain.rows import is_expired

Holds = Callable[[Document], bool]
Sorting = Callable[[Document], Any]


class View:
    """The versions of a tenant at one commit."""

    def __init__(self, driver: Driver, ledger: Ledger, state: State) -> None:
        self._driver = driver
        self._ledger = ledger
        self.state = state

    async def all(self, scope: Document, wanted: Where, holds: Holds, fields: Document | None = None) -> list[Document]:
        """Every version in a scope of which something holds. `wanted` is what to ask the server for, and says as much.

        The scope must be of what never changes in a version, so that what was changed since is found by it too.
        """
        fields = WITHOUT_ENTRIES if fields is None else fields
        found = await self._driver.find(VERSIONS, {**scope, **wanted}, fields=fields)
        return self._merged(found, await self._changed(scope, fields), holds)

    async def page(
        self, scope: Document, wanted: Where, holds: Holds, order: Order, sorting: Sorting, count: int
    ) -> list[Document]:
        """The first so many of them in an order, which must be of what never changes."""
        backwards = order[0][1] < 0
        asked: Document = {**scope, **wanted}
        found: list[Document] = []
        stream = self._driver.stream(VERSIONS, asked, fields=WITHOUT_ENTRIES, order=order, likely=count)
        async with aclosing(stream) as batches:
            async for batch in batches:
                found += [each for each in batch if each["since"] > self.state.number or holds(each)]
                if len(found) < count:
                    continue
                last = sorting(batch[-1])
                chosen = self._merged(found, await self._changed(scope, WITHOUT_ENTRIES), holds)
                chosen = [each for each in chosen if (sorting(each) >= last if backwards else sorting(each) <= last)]
                if len(chosen) >= count:
                    return sorted(chosen, key=sorting, reverse=backwards)[:count]
        chosen = self._merged(found, await self._changed(scope, WITHOUT_ENTRIES), holds)
        return sorted(chosen, key=sorting, reverse=backwards)[:count]

    async def by_names(self, names: Sequence[str]) -> dict[str, Document]:
        """Versions of the tenant by the names of their documents."""
        where = {"_id": names[0]} if len(names) == 1 else {"_id": {"$in": list(names)}}
        found = await self._driver.find(VERSIONS, where, fields=WITHOUT_ENTRIES) if names else []
        seen = [as_at(document, self.state.number) for document in found if document["tenant"] == self.state.tenant]
        return {document["_id"]: document for document in seen if document is not None}

    async def _changed(self, scope: Document, fields: Document) -> list[Document]:
        """What was changed since, or began since: asked for after everything else, so that nothing slips through."""
        if await self._ledger.is_newest(self.state):
            return []
        return await self._driver.find(VERSIONS, {**scope, "since": {"$gt": self.state.number}}, fields=fields)

    def _merged(self, found: list[Document], changed: list[Document], holds: Holds) -> list[Document]:
        latest = {document["_id"]: document for document in found} | {each["_id"]: each for each in changed}
        seen = (as_at(document, self.state.number) for document in latest.values())
        return [document for document in seen if document is not None and holds(document)]


def unexpired(now: Instant) -> Document:
    """Asks for what has not expired."""
    return {"$or": [{"expires_at": None}, {"expires_at": {"$gt": now}}]}


def live(now: Instant) -> tuple[Document, Holds]:
    """What is live now."""

    def holds(document: Document) -> bool:
        return document["ended_at"] is None and not is_expired(document["expires_at"], now)

    return {"ended_at": None, **unexpired(now)}, holds


def live_as_of(moment: Instant) -> tuple[Document, Holds]:
    """What was live at a moment, and still has its value."""

    def holds(document: Document) -> bool:
        ended = document["ended_at"]
        return (
            document["value"] is not None
            and document["written_at"] <= moment
            and (ended is None or ended > moment)
            and not is_expired(document["expires_at"], moment)
        )

    return {"written_at": {"$lte": moment}}, holds


def shown(holds: Holds, archived: Archived, asked: Filter) -> Holds:
    """The same, narrowed to what a search shows and a filter matches."""

    def narrowed(document: Document) -> bool:
        return (
            holds(document)
            and shows(archived, archived=document["archived"] == 1)
            and matches(asked, stored_attributes(document["policy_attributes"]))
        )

    return narrowed
