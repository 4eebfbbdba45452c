"""The sweeper: now and then, whichever process holds the lease sweeps every tenant."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from time import perf_counter

from recollect.domain.errors import LeaseLost, RecollectError
from recollect.domain.retention import Pass
from recollect.ports.store import Lease, Store
from recollect.service.sweeping import sweep
from recollect.service.workings import Rules
from recollect.surfaces.logs import event

log = logging.getLogger("recollect.sweeper")
LEASE = "sweeper"
LEASE_SECONDS = 60.0
BATCH = 100


class Sweeper:
    """Sweeps until it is told to stop; a failure is logged and the next round tries again."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        holder: str,
        seconds: Callable[[], float],
        report: Callable[[Mapping[str, int], float], None],
    ) -> None:
        self._store = store
        self._rules = rules
        self._holder = holder
        self._seconds = seconds
        self._report = report
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End after the batch under way."""
        self._stopping.set()

    async def run(self) -> None:
        """Sweep, wait, and again."""
        while not self._stopping.is_set():
            try:
                await self.round()
            except LeaseLost:
                event(log, logging.WARNING, "sweeper.lease_lost")
            except RecollectError as problem:
                event(log, logging.WARNING, "sweeper.failed", code=problem.code)
            try:
                async with asyncio.timeout(self._seconds()):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def round(self) -> int:
        """Sweep every tenant once, if nobody else is at it; return how many rows were dealt with."""
        lease = await self._store.acquire(LEASE, self._holder, LEASE_SECONDS)
        if lease is None:
            return 0
        began = perf_counter()
        holding = _Holding(self._store, lease)
        counts: dict[str, int] = dict.fromkeys(Pass, 0)

        async def after_batch(step: Pass, done: int) -> bool:
            counts[step] += done
            if done:
                await holding.renew()
            return not self._stopping.is_set()

        try:
            for tenant in await self._store.tenants():
                await sweep(self._store, tenant, self._rules.retention, BATCH, after_batch)
                if self._stopping.is_set():
                    break
        finally:
            await holding.release()
        seconds, total = perf_counter() - began, sum(counts.values())
        self._report(counts, seconds)
        if total:
            event(log, logging.INFO, "sweeper.swept", rows=total, ms=round(seconds * 1000, 1))
        return total


class _Holding:
    """A lease in use: prolonged while the work lasts."""

    def __init__(self, store: Store, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._renewed = perf_counter()

    async def renew(self) -> None:
        if perf_counter() - self._renewed > LEASE_SECONDS / 4:
            self._lease = await self._store.renew(self._lease, LEASE_SECONDS)
            self._renewed = perf_counter()

    async def release(self) -> None:
        try:
            await self._store.release(self._lease)
        except LeaseLost:
            pass
