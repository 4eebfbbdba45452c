"""The sweeper: now and then, whichever process holds the lease sweeps every tenant."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import perf_counter

from recollect.domain.retention import Pass
from recollect.ports.store import Store
from recollect.service.indexing import Indexing
from recollect.service.rules import Rules
from recollect.service.sweeping import sweep
from recollect.surfaces.logs import event
from recollect.workers.rounds import Holding, Rounds

BATCH = 100


class Sweeper(Rounds):
    """Sweeps every tenant once in a round."""

    name = "sweeper"

    def __init__(
        self,
        store: Store,
        rules: Rules,
        indexing: Indexing,
        *,
        holder: str,
        seconds: Callable[[], float],
        report: Callable[[Mapping[str, int], float], None],
    ) -> None:
        super().__init__(store, holder=holder, seconds=seconds)
        self._rules = rules
        self._indexing = indexing
        self._report = report

    async def work(self, holding: Holding) -> int:
        """Sweep every tenant once; return how many rows were dealt with."""
        began = perf_counter()
        counts: dict[str, int] = dict.fromkeys(Pass, 0)

        async def after_batch(step: Pass, done: int) -> bool:
            counts[step] += done
            if done:
                await holding.renew()
            return not self.stopping

        for tenant in await self._store.tenants():
            await sweep(self._store, self._indexing, tenant, self._rules.retention, BATCH, after_batch)
            if self.stopping:
                break
        seconds, total = perf_counter() - began, sum(counts.values())
        self._report(counts, seconds)
        if total:
            event(self._log, logging.INFO, "sweeper.swept", rows=total, ms=round(seconds * 1000, 1))
        return total
