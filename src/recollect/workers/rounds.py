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

    def __init__(self, store: Store, *, holder: str, seconds: Callable[[], float]) -> None:
        self._store = store
        self._holder = holder
        self._seconds = seconds
        self._stopping = asyncio.Event()
        self._log = logging.getLogger(f"recollect.{self.name}")

    def stop(self) -> None:
        """End after the batch under way."""
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        """True once it was told to end."""
        return self._stopping.is_set()

    async def run(self) -> None:
        """Work, wait, and again."""
        while not self.stopping:
            try:
                await self.round()
            except LeaseLost:
                event(self._log, logging.WARNING, f"{self.name}.lease_lost")
            except RecollectError as problem:
                event(self._log, logging.WARNING, f"{self.name}.failed", code=problem.code)
            try:
                async with asyncio.timeout(self._seconds()):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def round(self) -> int:
        """One round, if nobody else is at it; return how much was done."""
        lease = await self._store.acquire(self.name, self._holder, LEASE_SECONDS)
        if lease is None:
            return 0
        holding = Holding(self._store, lease)
        try:
            return await self.work(holding)
        finally:
            await holding.release()

    @abstractmethod
    async def work(self, holding: Holding) -> int:
        """Do what is due and say how much that was, prolonging the lease meanwhile."""


class Holding:
    """A lease in use: prolonged while the work lasts."""

    def __init__(self, store: Store, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._renewed = perf_counter()

    async def renew(self) -> None:
        """Prolong it, if it is time to."""
        if perf_counter() - self._renewed > LEASE_SECONDS / 4:
            self._lease = await self._store.renew(self._lease, LEASE_SECONDS)
            self._renewed = perf_counter()

    async def release(self) -> None:
        """Give it back, unless somebody else has it."""
        try:
            await self._store.release(self._lease)
        except LeaseLost:
            pass
