"""Turns: those in one process who would only get in each other's way go one after the other.

What they do is right without it, since the store refuses whoever was not first; it saves them from trying again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """Who waits for what, in this process."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, *what: Hashable) -> AsyncIterator[None]:
        """Wait until nobody else is at it; code that is driven without an event loop cannot wait, and does not."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            yield
            return
        lock = self._locks.setdefault((id(loop), *what), asyncio.Lock())
        async with lock:
            yield
