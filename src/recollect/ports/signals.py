"""A wake-up call from the thread that commits to whoever waits, on an event loop or on a plain thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Signal:
    """Wakes all who listen. Listen first, then look, then wait: so that no call falls in between."""

    def __init__(self, *, blocking: bool = False) -> None:
        self._blocking = blocking
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()

    def notify(self) -> None:
        """Wake everybody who is listening; cheap when nobody is."""
        if self._listeners:
            with self._lock:
                for wake in self._listeners:
                    wake()

    @contextmanager
    def listen(self) -> Iterator[Listener]:
        """Hear every call from here on."""
        listener = Listener(blocking=self._blocking)
        with self._lock:
            self._listeners.add(listener.wake)
        try:
            yield listener
        finally:
            with self._lock:
                self._listeners.discard(listener.wake)


class Listener:
    """One who waits: by awaiting on an event loop, or by blocking its thread."""

    def __init__(self, *, blocking: bool) -> None:
        self._loop = None if blocking else asyncio.get_running_loop()
        self._event: asyncio.Event | threading.Event = threading.Event() if blocking else asyncio.Event()

    def wake(self) -> None:
        """Called from any thread."""
        if self._loop is None:
            self._event.set()
        else:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> None:
        """Return when called, or after so many seconds."""
        if isinstance(self._event, threading.Event):
            self._event.wait(seconds)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):  # `wait_for` loses a cancellation that meets a call
                    await self._event.wait()
        self._event.clear()
