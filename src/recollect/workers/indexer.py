"""The indexer: brings attributes up to date with the policy, and the search index with what is stored, wherever it is.

It is woken by every write of its own process, and looks now and then for those of others. One process holds the lease.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from recollect.domain.callers import SYSTEM_TENANT
from recollect.domain.errors import LeaseLost, RecollectError
from recollect.ports.store import Store
from recollect.service.decisions import Decisions
from recollect.service.extraction import Extractor
from recollect.service.indexing import Indexing
from recollect.service.searching import Searching
from recollect.surfaces.logs import event
from recollect.workers.rounds import Holding, Rounds

KEEP_SECONDS = 60.0
"""How often what was decided is written down."""


class Indexer(Rounds):
    """Extracts anew and indexes what is due in every tenant."""

    name = "indexer"
    lease_seconds = 10.0
    lingers = True

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        indexing: Indexing,
        searching: Searching,
        decisions: Decisions,
        *,
        holder: str,
        seconds: Callable[[], float],
    ) -> None:
        super().__init__(store, holder=holder, seconds=seconds)
        self._extractor = extractor
        self._indexing = indexing
        self._searching = searching
        self._decisions = decisions
        self._kept = monotonic()

    async def round(self) -> int:
        """What was decided is written down by every process for itself, now and then; the rest is done by one."""
        if monotonic() - self._kept >= KEEP_SECONDS:
            self._kept = monotonic()
            await self._decisions.keep()
        return await super().round()

    async def work(self, holding: Holding) -> int:
        """Go through every tenant; one whose policy fails does not hold up the others."""

        async def after_batch(_: int) -> bool:
            await holding.renew()
            return not self.stopping

        total = 0
        for tenant in await self._store.tenants():
            if tenant == SYSTEM_TENANT or self.stopping:
                continue
            try:
                done = await self._extractor.round(tenant, after_batch)
                total += await self._indexing.round(tenant, after_batch)
                await self._searching.follow(tenant, after_batch)
            except LeaseLost:
                raise  # another process is at it now
            except RecollectError as problem:
                event(self._log, logging.WARNING, "indexer.tenant_failed", tenant=tenant, code=problem.code)
                continue
            if done:
                event(self._log, logging.INFO, "indexer.extracted", tenant=tenant, items=done)
            total += done
        return total
