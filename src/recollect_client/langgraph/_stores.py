"""The two stores: one for code without an event loop, one for code with one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from langgraph.store.base import BaseStore, Op, Result, TTLConfig

from recollect_client._async import AsyncClient
from recollect_client._conversations import awaited, held, operations_of
from recollect_client._sync import Client
from recollect_client.langgraph._conversation import Manner
from recollect_client.langgraph._namespaces import checked_root


class _Settings(BaseStore):
    """What both stores are told, and how they are closed."""

    supports_ttl = True

    def _use(
        self, memories: Any, root: Sequence[str], fields: Sequence[str] | None, ttl: TTLConfig | None, wait: float
    ) -> None:
        self._memories = memories
        self._manner = Manner(operations_of(memories), checked_root(root), fields, wait)
        self.ttl_config = ttl


class RecollectStore(_Settings):
    """A LangGraph store for code without an event loop, on a Recollect server.

    Without `url` and `token`, the environment says them: RECOLLECT_URL and RECOLLECT_TOKEN. `root` is the namespace
    below which all lies, like `("user", "alice")`. `fields` are the paths that queries find where `put` names none.
    `ttl` has `default_ttl` (minutes) and `refresh_on_read`, as in other stores. A search with a query gives what was
    written before it up to `wait` seconds to be found.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        root: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        wait: float = 10.0,
    ) -> None:
        super().__init__()
        root = checked_root(root)
        self._client: Client | None = Client(url, token)
        self._use(self._client, root, fields, ttl, wait)

    @classmethod
    def over(
        cls,
        memories: Any,
        *,
        root: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        wait: float = 10.0,
    ) -> RecollectStore:
        """A store over memories that are open already: a `Client`, or what `recollect.open_sync` gives.

        They remain yours to close.
        """
        store = cls.__new__(cls)
        store._client = None
        store._use(memories, root, fields, ttl, wait)
        return store

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then all writes at once."""
        return held(self._manner.batch(list(ops)), self._memories)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same on a thread, so that an event loop is not held up."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the connections to the server that this store opened."""
        if self._client is not None:
            self._client.close()

    def __enter__(self) -> RecollectStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncRecollectStore(_Settings):
    """A LangGraph store for code with an event loop, on a Recollect server; the settings are those of `RecollectStore`.

    The synchronous calls work from other threads, while the event loop that first used the store is running.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        root: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        wait: float = 10.0,
    ) -> None:
        super().__init__()
        root = checked_root(root)
        self._client: AsyncClient | None = AsyncClient(url, token)
        self._loop: asyncio.AbstractEventLoop | None = _running_loop()
        self._use(self._client, root, fields, ttl, wait)

    @classmethod
    def over(
        cls,
        memories: Any,
        *,
        root: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        wait: float = 10.0,
    ) -> AsyncRecollectStore:
        """A store over memories that are open already: an `AsyncClient`, or what `recollect.open` gives.

        They remain yours to close.
        """
        store = cls.__new__(cls)
        store._client = None
        store._loop = _running_loop()
        store._use(memories, root, fields, ttl, wait)
        return store

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations: reads first, then all writes at once."""
        self._loop = self._loop or asyncio.get_running_loop()
        return await awaited(self._manner.batch(list(ops)), self._memories)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The same from a thread beside the event loop; on the loop itself it would wait for itself, and is refused."""
        loop = self._loop
        if loop is None or loop is _running_loop() or not loop.is_running():
            raise asyncio.InvalidStateError(
                "a synchronous call of AsyncRecollectStore needs its event loop to run in another thread: "
                "await the call that begins with `a`, like `aget`, or use RecollectStore"
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(list(ops)), loop).result()

    async def close(self) -> None:
        """Close the connections to the server that this store opened."""
        if self._client is not None:
            await self._client.close()

    async def __aenter__(self) -> AsyncRecollectStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
