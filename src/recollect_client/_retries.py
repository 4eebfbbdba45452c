"""When to try again, and when to give up; time and chance are arguments."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from recollect_client._requests import Call
from recollect_client.errors import ConnectionFailed, InvalidSetting, RecollectError

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0
SLOW_SECONDS = 600.0
"""What work over the whole store is given, unless the client was given more."""
_NOTHING_DONE = frozenset({"rate_limited", "shutting_down", "store_busy", "store_full", "store_unavailable"})


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one attempt may take, how many more may follow, and how long all of them together."""

    timeout: float
    retries: int
    deadline: float

    def __post_init__(self) -> None:
        for name, seconds in (("timeout", self.timeout), ("deadline", self.deadline)):
            if not isinstance(seconds, int | float) or not isfinite(seconds) or seconds <= 0:
                raise InvalidSetting(f"{name} is a number of seconds above 0, not {seconds!r}")
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise InvalidSetting(f"retries is a whole number from 0, not {self.retries!r}")

    def attempt_seconds(self, call: Call) -> float:
        """How long one attempt at this call may take."""
        return (max(self.timeout, SLOW_SECONDS) if call.slow else self.timeout) + call.held

    def call_seconds(self, call: Call) -> float:
        """How long all attempts at this call may take together."""
        return (max(self.deadline, SLOW_SECONDS) if call.slow else self.deadline) + call.held


class Tries:
    """The attempts at one call."""

    def __init__(self, limits: Limits, call: Call, now: float) -> None:
        self._call = call
        self._left = limits.retries
        self._until = now + limits.call_seconds(call)
        self._seconds = limits.attempt_seconds(call)
        self._failures = 0

    def seconds(self, now: float) -> float:
        """How long the attempt that starts now may take."""
        return max(0.001, min(self._seconds, self._until - now))

    def pause(self, error: RecollectError, now: float, chance: float) -> float | None:
        """How long to wait before the next attempt; None when there is to be none."""
        if self._failures >= self._left or not worth_repeating(self._call, error):
            return None
        pause = pause_after(self._failures, error, chance)
        self._failures += 1
        return pause if now + pause < self._until else None


class Silence:
    """How long a follower has been without an answer, counted from the first failure."""

    def __init__(self, patience: float) -> None:
        if not isinstance(patience, int | float) or not patience >= 0:
            raise InvalidSetting(f"patience is a number of seconds from 0, not {patience!r}")
        self._patience = patience
        self._since: float | None = None
        self._failures = 0

    def broken(self) -> None:
        """An answer came."""
        self._since = None
        self._failures = 0

    def seconds(self, limits: Limits, call: Call, now: float) -> float:
        """How long the question that is sent now may go unanswered."""
        most = limits.attempt_seconds(call)
        return most if self._since is None else min(most, call.held + max(1.0, self._since + self._patience - now))

    def pause(self, call: Call, error: RecollectError, now: float, chance: float) -> float | None:
        """How long to wait before asking again; None once patience is at its end."""
        if not worth_repeating(call, error):
            return None
        self._since = now if self._since is None else self._since
        pause = pause_after(self._failures, error, chance)
        self._failures += 1
        left = self._since + self._patience - now
        return None if left <= 0 or left < (error.retry_after or 0.0) else min(pause, left)


def worth_repeating(call: Call, error: RecollectError) -> bool:
    """True when the same request may succeed later, and sending it again does no harm."""
    if isinstance(error, ConnectionFailed):
        return call.repeatable or not error.sent
    if error.status is None or not error.retriable:
        return False
    return call.repeatable or error.code in _NOTHING_DONE


def pause_after(failures: int, error: RecollectError, chance: float) -> float:
    """Twice as long after each failure, spread by chance, and never shorter than the server asked for."""
    pause: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures, 16)) * (0.5 + chance / 2)
    return max(pause, error.retry_after or 0.0)
