"""How a check gets a store, and how it speaks to it in either form of LangGraph's calls."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.store.base import BaseStore, Item, Op, SearchItem, TTLConfig


class OpenStore(Protocol):
    """Opens a fresh, empty store, for as long as a block lasts.

    It is to search by meaning, however it does so, and to have these lifetimes and fields to be found by default.
    """

    def __call__(self, *, ttl: TTLConfig | None, fields: list[str] | None) -> AbstractContextManager[BaseStore]:
        """The store."""


class Calls:
    """LangGraph's calls on one store, all of them in the same one of their two forms."""

    def __init__(self, store: BaseStore, awaited: Callable[[Coroutine[Any, Any, Any]], Any] | None = None) -> None:
        self.store = store
        self._awaited = awaited

    def put(self, *given: Any, **named: Any) -> None:
        """Put an item."""
        answer = self._ask("put", given, named)
        assert answer is None

    def get(self, namespace: Sequence[str], key: Any, **named: Any) -> Item | None:
        """The item, or None."""
        item: Item | None = self._ask("get", (namespace, key), named)
        return item

    def value(self, namespace: Sequence[str], key: Any) -> dict[str, Any] | None:
        """The value of an item, or None; its life is not prolonged."""
        item = self.get(namespace, key, refresh_ttl=False)
        return None if item is None else item.value

    def delete(self, namespace: Sequence[str], key: Any) -> None:
        """Delete an item."""
        answer = self._ask("delete", (namespace, key), {})
        assert answer is None

    def search(self, prefix: Sequence[str], **named: Any) -> list[SearchItem]:
        """What is found."""
        found: list[SearchItem] = self._ask("search", (prefix,), named)
        return found

    def keys(self, prefix: Sequence[str], **named: Any) -> list[str]:
        """The keys of what is found, in its order."""
        return [item.key for item in self.search(prefix, **named)]

    def list_namespaces(self, **named: Any) -> list[tuple[str, ...]]:
        """The namespaces that have items."""
        found: list[tuple[str, ...]] = self._ask("list_namespaces", (), named)
        return found

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """Carry out operations."""
        results: list[Any] = self._ask("batch", (ops,), {})
        return results

    def at_once(self, wishes: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """Make calls at the same time: from several threads, or as several coroutines."""
        if self._awaited is not None:
            return list(self._awaited(self._gathered(wishes)))
        with ThreadPoolExecutor(8) as threads:
            return list(threads.map(lambda wish: getattr(self.store, wish[0])(*wish[1]), wishes))

    async def _gathered(self, wishes: Sequence[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        return await asyncio.gather(*(getattr(self.store, f"a{call}")(*given) for call, given in wishes))

    def _ask(self, call: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self._awaited is None:
            return getattr(self.store, call)(*given, **named)
        return self._awaited(getattr(self.store, f"a{call}")(*given, **named))


@dataclass(frozen=True, slots=True)
class Trial:
    """A store to be put through the checks."""

    open: OpenStore
    awaited: Callable[[Coroutine[Any, Any, Any]], Any] | None = None
    """Brings a coroutine to its end, for the asynchronous calls; None checks the synchronous ones."""
    pass_time: Callable[[float], None] = time.sleep
    """Lets so many seconds pass."""
    lifetime: float = 1.5
    """Seconds that short-lived items live; longer where calls are slow, or where time is made to pass."""

    @property
    def minutes(self) -> float:
        """The same in minutes, which is what LangGraph counts in."""
        return self.lifetime / 60

    @contextmanager
    def fresh(self, *, ttl: TTLConfig | None = None, fields: list[str] | None = None) -> Iterator[Calls]:
        """A store of its own for a check."""
        with self.open(ttl=ttl, fields=fields) as store:
            yield Calls(store, self.awaited)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a store must do, told by its sentence."""

    subject: str
    name: str
    sentence: str
    run: Callable[[Trial], None]

    def __str__(self) -> str:
        return self.name


DEFINED: list[Check] = []
"""All checks, as they are defined."""


def check(function: Callable[[Trial], None]) -> Callable[[Trial], None]:
    """Take a function into the checks; its docstring is the sentence."""
    subject = function.__module__.rpartition(".")[2]
    DEFINED.append(Check(subject, function.__name__, inspect.cleandoc(function.__doc__ or ""), function))
    return function


def refused(kind: type[Exception], call: Callable[[], Any]) -> None:
    """Assert that a call raises this kind of error."""
    try:
        call()
    except kind:
        return
    raise AssertionError(f"it was not refused with {kind.__name__}")
