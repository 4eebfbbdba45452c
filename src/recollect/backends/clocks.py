"""The clock of this machine, as the service goes by it: it never goes back by a little.

Virtual machines have processors whose clocks differ by some milliseconds, and clocks are corrected while they run. Then
a later write would seem to be no later than the one before, and nobody could read again what was known in between. So a
moment is always after the last one that this process was told. A clock that is set back by much was wrong, and is
followed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from recollect.domain.instants import Instant

MOST_BACK = 1_000_000
"""By so many microseconds, at most, the machine's clock may be behind without being followed."""


class SteadyClock:
    """Tells moments of which each is after the one before."""

    __slots__ = ("_last", "_lock", "_source")

    def __init__(self, source: Callable[[], int] = time.time_ns) -> None:
        self._source = source
        self._lock = Lock()
        self._last = 0

    def __call__(self) -> Instant:
        """The present moment."""
        with self._lock:
            now = self._source() // 1_000
            if now <= self._last and self._last - now <= MOST_BACK:
                now = self._last + 1
            self._last = now
            return Instant(now)
