"""Patience with a server: how long to wait between attempts, and when to give up."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from math import isfinite

ATTEMPTS = 4
_FIRST = 0.25
_LEAST = 0.05


class Patience:
    """The time for one request with all its repetitions: so many attempts, further and further apart."""

    def __init__(self, seconds: float, chance: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._end = time.monotonic() + seconds
        self._chance = chance
        self._sleep = sleep
        self._attempt = 1

    def left(self) -> float:
        """How long the next attempt may take."""
        return max(self._end - time.monotonic(), _LEAST)

    def wait(self, asked: float | None) -> bool:
        """Wait before another attempt, at least as long as was asked for; False when it is time to give up."""
        if self._attempt >= ATTEMPTS:
            return False
        pause = float(_FIRST * 2 ** (self._attempt - 1) * (0.5 + self._chance() / 2))
        if asked is not None:
            # A little after the others that were told the same.
            pause = asked + pause * self._chance()
        if time.monotonic() + pause >= self._end:
            return False
        self._attempt += 1
        self._sleep(pause)
        return True


def asked_to_wait(header: str | None, now: float) -> float | None:
    """The seconds of a `Retry-After`, which has a number or a date; None when it says nothing useful."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if isfinite(seconds) else None
