"""The chronicler: ends sessions that fell silent, makes the summaries that are due, and curates where that is wanted.

It is woken by every turn of its own process that makes something due, and looks now and then for what others caused.
One process has the lease; that a summary is made once does not rest on it, but on the note that is taken away with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from recollect.domain.callers import SYSTEM_TENANT
from recollect.domain.errors import LeaseLost, RecollectError
from recollect.ports.store import Store
from recollect.service.conversation.curator import Curator
from recollect.service.conversation.summarizing import Summarizing
from recollect.surfaces.logs import event
from recollect.workers.rounds import Holding, Rounds

SILENCE_SECONDS = 30.0
"""So often it is looked for sessions that fell silent."""


class Chronicler(Rounds):
    """Makes what is due in every tenant."""

    name = "chronicler"
    lease_seconds = 30.0
    lingers = True

    def __init__(
        self, store: Store, summarizing: Summarizing, curator: Curator, *, holder: str, seconds: Callable[[], float]
    ) -> None:
        super().__init__(store, holder=holder, seconds=seconds)
        self._summarizing, self._curator = summarizing, curator
        self._looked: float | None = None

    async def work(self, holding: Holding) -> int:
        """Go through every tenant; one in which something fails does not hold up the others."""

        async def after_each(_: int) -> bool:
            await holding.renew()
            return not self.stopping

        silent = self._looked is None or monotonic() - self._looked >= SILENCE_SECONDS
        self._looked = monotonic() if silent else self._looked
        total = 0
        for tenant in await self._store.tenants():
            if tenant == SYSTEM_TENANT or self.stopping:
                continue
            try:
                curated = await self._curator.curate_late(tenant, after_each) if silent else 0
                closed = await self._summarizing.close_idle(tenant, after_each=after_each) if silent else 0
                made = await self._summarizing.summarize_due(tenant, after_each=after_each)
            except LeaseLost:
                raise  # another process is at it now
            except RecollectError as problem:
                event(self._log, logging.WARNING, "chronicler.tenant_failed", tenant=tenant, code=problem.code)
                continue
            if closed or made or curated:
                done = {"sessions": closed, "summaries": made, "curated": curated}
                event(self._log, logging.INFO, "chronicler.wrote", tenant=tenant, **done)
            total += closed + made + curated
        return total
