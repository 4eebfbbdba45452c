"""The steps of indexing, each a call to the store or the embedder: counted, and one of them made the last."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from recollect.service.workings import Workings

CALLS = ("pending", "reflect", "put_off", "lacking", "drop_series", "entries", "entry_changes", "rows", "commit")


class Killed(BaseException):
    """As if the process had ended here: nobody is to catch it."""


class Steps:
    """Counts the calls; the one of that number ends everything, before it is done or right after."""

    def __init__(self, number: int, *, after: bool, die: bool = False) -> None:
        self.taken = 0
        self.name = ""
        self._number = number
        self._after = after
        self._die = die

    def _is_last(self, name: str) -> bool:
        self.taken += 1
        if self.taken != self._number:
            return False
        self.name = name
        return True

    def _end(self) -> None:
        if self._die:
            os.kill(os.getpid(), signal.SIGKILL)
        raise Killed(self.name)

    def of_store(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*given: Any, **more: Any) -> Any:
            last = self._is_last(name)
            if last and not self._after:
                self._end()
            result = await call(*given, **more)
            if last:
                self._end()
            return result

        return step

    def of_embedder(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **more: Any) -> Any:
            last = self._is_last("embed")
            if last and not self._after:
                self._end()
            result = call(*given, **more)
            if last:
                self._end()
            return result

        return step


@contextmanager
def counted(workings: Workings, steps: Steps) -> Iterator[Steps]:
    """Every call that the indexing of these workings makes is a step."""
    store, embedder = workings.store, workings.indexing.embedders.configured
    with ExitStack() as patches:
        for name in CALLS:
            patches.enter_context(patch.object(store, name, steps.of_store(name, getattr(store, name))))
        if embedder is not None:
            patches.enter_context(patch.object(embedder, "embed", steps.of_embedder(embedder.embed)))
        yield steps
