"""One at a time: callers without an event loop come from many threads, and none may see half of what another does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Lockable(Protocol):
    """What has a lock that its holder may take again, and can be closed."""

    @property
    def _lock(self) -> AbstractContextManager[Any]: ...

    def _check_open(self) -> None: ...


Self_ = TypeVar("Self_", bound=Lockable)
Given = ParamSpec("Given")
Result = TypeVar("Result")
Method = Callable[Concatenate[Self_, Given], Coroutine[Any, Any, Result]]


def alone(method: Method[Self_, Given, Result]) -> Method[Self_, Given, Result]:
    """Let a method that never suspends run while no other of its store does, and only while the store is open."""

    @wraps(method)
    async def locked(self: Self_, /, *args: Given.args, **named: Given.kwargs) -> Result:
        with self._lock:
            self._check_open()
            return await method(self, *args, **named)

    return locked
