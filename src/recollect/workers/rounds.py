"""Rounds: work that comes around now and then, done by whichever process holds its lease."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter

from recollect.domain.errors import LeaseLost, RecollectError
from recollect.ports.store import Lease, Store
from recollect.surfaces.logs import event

LEASE_SECONDS = 60.0


class Rounds(ABC):
    """Works until it is told to stop; a failure is logged and the next round tries again."""

    name: str
    """What its lease is called, and its lines in the log."""
    lease_seconds = LEASE_SECONDS
    lingers = False
    """Whether the lease is kept from one round to the next, for work that comes around often."""

    def __init__(self, store: Store, *, holder: str, seconds: Callable[[], float]) -> None:
        self._store = store
        self._holder = holder
        self._seconds = seconds
        self._stopping = False
        self._stirred = asyncio.Event()
        self._held: Holding | None = None
        self._log = logging.getLogger(f"recollect.{self.name}")

    def stop(self) -> None:
        """End after the batch under way."""
        self._stopping = True
        self._stirred.set()

    def wake(self) -> None:
        """Begin the next round now, or once more after the one under way."""
        self._stirred.set()

    @property
    def stopping(self) -> bool:
        """True once it was told to end."""
        return self._stopping

    async def run(self) -> None:
        """Work, wait, and again."""
        while not self.stopping:
            self._stirred.clear()
            try:
                await self.round()
            except LeaseLost:
                event(self._log, logging.WARNING, f"{self.name}.lease_lost")
            except RecollectError as problem:
                event(self._log, logging.WARNING, f"{self.name}.failed", code=problem.code)
            try:
                async with asyncio.timeout(self._seconds()):
                    await self._stirred.wait()
            except TimeoutError:
                continue
        if self._held is not None:
            await self._held.release()

    async def round(self) -> int:
        """One round, if nobody else is at it; return how much was done."""
        holding = await self._hold()
        if holding is None:
            return 0
        try:
            return await self.work(holding)
        except BaseException:
            self._held = None
            await holding.release()
            raise
        finally:
            if not self.lingers:
                self._held = None
                await holding.release()

    async def _hold(self) -> Holding | None:
        """The lease: the one held from an earlier round while it is fresh, or a new one."""
        if self._held is None or not self._held.fresh:
            lease = await self._store.acquire(self.name, self._holder, self.lease_seconds)
            self._held = None if lease is None else Holding(self._store, lease, self.lease_seconds)
        return self._held

    @abstractmethod
    async def work(self, holding: Holding) -> int:
        """Do what is due and say how much that was, prolonging the lease meanwhile."""


class Holding:
    """A lease in use: prolonged while the work lasts."""

    def __init__(self, store: Store, lease: Lease, seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._lease = lease
        self._seconds = seconds
        self._renewed = perf_counter()
        self._released = False

    @property
    def fresh(self) -> bool:
        """True while it surely lasts for a while."""
        return not self._released and perf_counter() - self._renewed < self._seconds / 2

    async def renew(self) -> None:
        """Prolong it, if it is time to."""
        if perf_counter() - self._renewed > self._seconds / 4:
            self._lease = await self._store.renew(self._lease, self._seconds)
            self._renewed = perf_counter()

    async def release(self) -> None:
        """Give it back, unless somebody else has it."""
        if self._released:
            return
        self._released = True
        try:
            await self._store.release(self._lease)
        except LeaseLost:
            pass
