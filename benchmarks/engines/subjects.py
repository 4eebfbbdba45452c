"""Our store and LangGraph's on PostgreSQL, each in databases of its own on the same server."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.aio import AsyncPostgresStore

import recollect
from benchmarks.engines.databases import Databases
from benchmarks.subjects.ours import OursAwaited, OursCalled
from benchmarks.subjects.peers import PeerAwaited, PeerCalled
from recollect.config import Secret, Settings


def settings(url: str) -> Settings:
    """The default settings, over a database."""
    return Settings(store=Secret(url))


class OursOnPostgres:
    """`recollect.open` and `recollect.open_sync` with default settings but for the store."""

    name = "recollect"
    durability = "durable: waits for the server's disk; encrypted, with event log and policy"

    def __init__(self, made: Databases) -> None:
        self._databases = made

    def plain(self, folder: Path) -> OursCalled:
        """Open it for plain calls."""
        return OursCalled(recollect.open_sync(folder, settings=settings(self._databases.fresh())))

    async def evented(self, folder: Path) -> OursAwaited:
        """Open it for an event loop."""
        return OursAwaited(await recollect.open(folder, settings=settings(self._databases.fresh())))


class LangGraphPostgres:
    """`PostgresStore` and `AsyncPostgresStore` as their own `from_conn_string` makes them."""

    name = "PostgresStore"
    durability = "durable: waits for the server's disk"

    def __init__(self, made: Databases) -> None:
        self._databases = made

    def plain(self, folder: Path) -> PeerCalled:  # noqa: ARG002 - it keeps nothing in files of its own
        """Open it for plain calls."""
        stack = ExitStack()
        store: BaseStore = stack.enter_context(PostgresStore.from_conn_string(self._databases.fresh()))
        store.setup()  # type: ignore[attr-defined] # a `PostgresStore`
        return PeerCalled(store, _Closing(stack))  # type: ignore[arg-type] # all that is asked of it is to close

    async def evented(self, folder: Path) -> PeerAwaited:  # noqa: ARG002 - it keeps nothing in files of its own
        """Open it for an event loop."""
        stack = AsyncExitStack()
        store: Any = await stack.enter_async_context(AsyncPostgresStore.from_conn_string(self._databases.fresh()))
        await store.setup()
        return PeerAwaited(store, _ClosingLater(stack))


class _Closing:
    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def close(self) -> None:
        self._stack.close()


class _ClosingLater:
    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def close(self) -> None:
        await self._stack.aclose()
