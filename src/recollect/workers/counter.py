"""The counter: every process writes down what it counted, and looks how much waits for people."""

from __future__ import annotations

from collections.abc import Callable

from recollect.domain.callers import SYSTEM_TENANT
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.ports.clock import Clock
from recollect.ports.store import Store
from recollect.service.pipeline.places import QUEUE
from recollect.service.usage import Usage
from recollect.workers.rounds import Holding, Rounds

MOST_WAITING = 10_000
"""So many proposals of a tenant are counted; where more wait, the gauge says so many."""
_PAGE = 1_000


class Counter(Rounds):
    """Needs no lease: what was noted in a process is known to it alone."""

    name = "counter"

    def __init__(
        self,
        store: Store,
        usage: Usage,
        clock: Clock,
        *,
        holder: str,
        seconds: Callable[[], float],
        report: Callable[[int, float], None],
    ) -> None:
        super().__init__(store, holder=holder, seconds=seconds)
        self._usage = usage
        self._clock = clock
        self._report = report

    async def round(self) -> int:
        """Write down what was counted, and tidy some of it; return of how many things that was."""
        done = await self._usage.flush()
        waiting, oldest = 0, 0.0
        for tenant in await self._store.tenants():
            if tenant == SYSTEM_TENANT:
                continue
            if self.stopping:
                return done
            await self._usage.tidy(tenant)
            count, age = await self._queue(tenant)
            waiting, oldest = waiting + count, max(oldest, age)
        self._report(waiting, oldest)
        return done

    async def _queue(self, tenant: str) -> tuple[int, float]:
        """How many proposals wait in a tenant, and for how many seconds the oldest has."""
        count, oldest, cursor = 0, 0.0, None
        while count < MOST_WAITING:
            query = Find(Plane.LINK, QUEUE, order=Order.OLDEST, limit=_PAGE, cursor=cursor)
            page = await self._store.find(tenant, query)
            ages = [max(0, self._clock() - row.created_at) / 1_000_000 for row in page.rows]
            count, oldest, cursor = count + len(ages), max([oldest, *ages]), page.cursor
            if cursor is None:
                break
        return count, oldest

    async def work(self, holding: Holding) -> int:
        """A round, under a lease that somebody gave it all the same."""
        await holding.renew()
        return await self.round()
