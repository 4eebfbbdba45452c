"""The rememberer: looks into captures that wait, wherever they were captured, so that none is forgotten.

It is woken by every capture of its own process, and looks now and then for those of others. One process has the lease;
that a capture is looked into once does not rest on it, but on the note that is taken away with what was found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from recollect.domain.callers import SYSTEM_TENANT
from recollect.domain.errors import LeaseLost, RecollectError
from recollect.ports.store import Store
from recollect.service.pipeline.engine import Remembering
from recollect.surfaces.logs import event
from recollect.workers.rounds import Holding, Rounds


class Rememberer(Rounds):
    """Looks into what waits in every tenant."""

    name = "rememberer"
    lease_seconds = 30.0
    lingers = True

    def __init__(self, store: Store, remembering: Remembering, *, holder: str, seconds: Callable[[], float]) -> None:
        super().__init__(store, holder=holder, seconds=seconds)
        self._remembering = remembering

    async def work(self, holding: Holding) -> int:
        """Go through every tenant; one in which something fails does not hold up the others."""

        async def after_each(_: int) -> bool:
            await holding.renew()
            return not self.stopping

        total = 0
        for tenant in await self._store.tenants():
            if tenant == SYSTEM_TENANT or self.stopping:
                continue
            try:
                done = await self._remembering.round(tenant, after_each)
            except LeaseLost:
                raise  # another process is at it now
            except RecollectError as problem:
                event(self._log, logging.WARNING, "rememberer.tenant_failed", tenant=tenant, code=problem.code)
                continue
            if done:
                event(self._log, logging.INFO, "rememberer.looked", tenant=tenant, captures=done)
            total += done
        return total
