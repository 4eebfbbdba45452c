"""Units of work: what is read is remembered, what is written happens together at the end, or not at all."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from recollect.domain.address import Address
from recollect.domain.commits import Commit, Condition, Expect, Operation, Receipt, Unchanged
from recollect.domain.queries import Find, Page
from recollect.domain.rows import Row

if TYPE_CHECKING:
    from recollect.ports.store import Store


class UnitOfWork:
    """Reads that are remembered and writes that happen together at the end, or not at all.

    A read-only or failed unit of work writes nothing. What was read is checked again when it commits:
    single keys by their revision, searches by whether anything in their scope changed.
    """

    def __init__(self, store: Store, tenant: str, actor: str = "") -> None:
        self._store = store
        self._tenant = tenant
        self._actor = actor
        self._operations: list[Operation] = []
        self._conditions: list[Condition] = []
        self.receipt: Receipt | None = None

    async def get(self, address: Address) -> Row | None:
        """The live version at an address; the commit rests on it."""
        row = await self._store.get(self._tenant, address)
        self._conditions.append(Expect(address, row.revision if row else 0))
        return row

    async def find(self, query: Find) -> Page:
        """Live rows in a scope; the commit rests on nothing being written there. (Mere expiry is not a write.)"""
        since = (await self._store.head(self._tenant)).sequence
        page = await self._store.find(self._tenant, query)
        self._conditions.append(Unchanged(query.plane, query.within, since))
        return page

    def require(self, *conditions: Condition) -> None:
        """Refuse the commit unless these still hold."""
        self._conditions += conditions

    def write(self, operation: Operation) -> None:
        """Do this when the unit of work ends well."""
        self._operations.append(operation)

    async def __aenter__(self) -> UnitOfWork:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._operations:
            commit = Commit(self._tenant, tuple(self._operations), tuple(self._conditions), self._actor)
            self.receipt = await self._store.commit(commit)
