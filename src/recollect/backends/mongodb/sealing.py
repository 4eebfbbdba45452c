"""Sealing and opening beside the event loop: keys may have to be fetched, and only one thread at a time may seal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from recollect.backends.mongodb.documents import row_in
from recollect.backends.mongodb.driver import Document
from recollect.domain.rows import Row
from recollect.ports.keys import Sealer

Result = TypeVar("Result")


class Sealing:
    """Runs work with the sealer: on a thread of its own, or on the caller's when that is a plain one."""

    def __init__(self, sealer: Sealer, *, direct: bool) -> None:
        self.sealer = sealer
        self._lock = threading.Lock()
        self._sealers = None if direct else ThreadPoolExecutor(1, thread_name_prefix="recollect-sealer")
        self._openers = None if direct else ThreadPoolExecutor(2, thread_name_prefix="recollect-opener")

    async def seal(self, work: Callable[[], Result]) -> Result:
        """Do something that seals."""
        if self._sealers is not None:
            return await asyncio.get_running_loop().run_in_executor(self._sealers, work)
        with self._lock:
            return work()

    async def open(self, work: Callable[[], Result]) -> Result:
        """Do something that opens, or takes long."""
        if self._openers is not None:
            return await asyncio.get_running_loop().run_in_executor(self._openers, work)
        return work()

    async def rows(self, documents: Iterable[Document]) -> list[Row]:
        """The rows of versions."""
        stored = list(documents)
        return await self.open(lambda: [row_in(each, self.sealer) for each in stored]) if stored else []

    def close(self) -> None:
        """Let the threads end."""
        for threads in (self._sealers, self._openers):
            if threads is not None:
                threads.shutdown(wait=True)
