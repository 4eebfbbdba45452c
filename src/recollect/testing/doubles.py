"""Time and identity under a test's control, so that a run can be repeated byte for byte."""

from __future__ import annotations

import threading

from recollect.domain.identity import uuid7
from recollect.domain.instants import Instant

START = Instant(1_767_225_600_000_000)
"""2026-01-01T00:00:00Z, where test clocks begin."""


class ManualClock:
    """A clock that stands still until it is moved, forwards or backwards."""

    def __init__(self, now: Instant = START) -> None:
        self.now = now

    def __call__(self) -> Instant:
        """The moment it stands at."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move it, by a negative number of seconds to move it back."""
        self.now = Instant(self.now + round(seconds * 1_000_000))


class SerialIds:
    """Identities counted from 1."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self, at: Instant) -> bytes:
        """The next identity."""
        with self._lock:
            self._count += 1
            return uuid7(at, self._count.to_bytes(10))
