"""Taking turns within a process, so that writers of one tenant do not run into each other's commits.

Nothing rests on it: between processes, whoever is first wins. All stores on the same data share the turns.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary, WeakValueDictionary

_guard = threading.Lock()
_threads: WeakValueDictionary[tuple[str, str], _Lock] = WeakValueDictionary()
_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[tuple[str, str], asyncio.Lock]]
_loops = WeakKeyDictionary()


class _Lock:
    """A lock that can be kept track of."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Turns:
    """The turns of those who use one database."""

    def __init__(self, data: str, *, direct: bool) -> None:
        self._data = data
        self._direct = direct

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Wait for one's turn, and have it for as long as the block lasts."""
        place = (self._data, tenant)
        if self._direct:
            with _guard:
                mine = _threads.get(place) or _threads.setdefault(place, _Lock())
            with mine.lock:
                yield
            return
        loop = asyncio.get_running_loop()
        with _guard:
            locks = _loops.setdefault(loop, WeakValueDictionary())
            lock = locks.get(place) or locks.setdefault(place, asyncio.Lock())
        async with lock:
            yield


async def pause(seconds: float, *, direct: bool) -> None:
    """Let some time pass, on the caller's own thread when it is a plain one."""
    if direct:
        time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop to hold up
    else:
        await asyncio.sleep(seconds)
