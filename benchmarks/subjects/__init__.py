"""What is measured: each subject opens a store without an event loop, one with, or both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.workload import Memo, Question, Step

Value = dict[str, Any]


class Calls(Protocol):
    """A store for plain calls. Whatever is read is decoded before the call returns."""

    def batch(self, memos: Sequence[Memo]) -> Callable[[], object]:
        """A call that puts all of these at once."""
        ...

    def put(self, memo: Memo) -> object:
        """Put one."""
        ...

    def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        ...

    def delete(self, memo: Memo) -> object:
        """Delete one."""
        ...

    def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        ...

    def namespaces(self, limit: int) -> Sequence[tuple[str, ...]]:
        """Every namespace, up to a limit."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Awaitables(Protocol):
    """A store for an event loop."""

    async def fill(self, memos: Sequence[Memo]) -> None:
        """Put all of these at once."""
        ...

    async def put(self, memo: Memo) -> object:
        """Put one."""
        ...

    async def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        ...

    async def delete(self, memo: Memo) -> object:
        """Delete one."""
        ...

    async def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class Subject(Protocol):
    """One store in one configuration."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    @property
    def durability(self) -> str:
        """What an acknowledged write survives."""
        ...

    def plain(self, folder: Path) -> Calls:
        """Open it for plain calls, in an empty folder."""
        ...

    async def evented(self, folder: Path) -> Awaitables | None:
        """Open it for an event loop, in an empty folder; None when it has no such form."""
        ...


def called(store: Calls) -> Callable[[Step], object]:
    """A step of the mixed workload, carried out by plain calls."""

    def do(step: Step) -> object:
        if step.kind == "get":
            return store.get(step.memo)
        if step.kind == "put":
            return store.put(step.memo)
        return store.search(step.question) if step.kind == "search" else store.delete(step.memo)

    return do


def evented(store: Awaitables) -> Callable[[Step], Awaitable[object]]:
    """A step of the mixed workload, on an event loop."""

    def do(step: Step) -> Awaitable[object]:
        if step.kind == "get":
            return store.get(step.memo)
        if step.kind == "put":
            return store.put(step.memo)
        return store.search(step.question) if step.kind == "search" else store.delete(step.memo)

    return do
