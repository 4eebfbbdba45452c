"""LangGraph's own stores: in memory, and in SQLite in three journal modes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from benchmarks.subjects import Value
from benchmarks.workload import PAGE, Memo, Question


def _operations(memos: Sequence[Memo]) -> list[PutOp]:
    return [PutOp(memo.namespace, memo.key, memo.value) for memo in memos]


@dataclass(frozen=True)
class LangGraphSqlite:
    """`SqliteStore` and `AsyncSqliteStore`, as their constructors leave the database or with pragmas."""

    name: str
    durability: str
    pragmas: tuple[str, ...] = ()

    def plain(self, folder: Path) -> PeerCalled:
        """Open it for plain calls, with the connection that its own `from_conn_string` makes."""
        connection = sqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        for pragma in self.pragmas:
            connection.execute(f"PRAGMA {pragma}")
        store = SqliteStore(connection)
        store.setup()
        return PeerCalled(store, connection)

    async def evented(self, folder: Path) -> PeerAwaited:
        """Open it for an event loop."""
        connection = await aiosqlite.connect(str(folder / "store.db"), isolation_level=None)
        for pragma in self.pragmas:
            await connection.execute(f"PRAGMA {pragma}")
        store = AsyncSqliteStore(connection)
        await store.setup()
        return PeerAwaited(store, connection)


SQLITE_DEFAULT = LangGraphSqlite("SqliteStore", "durable: rollback journal, FULL (its default)")
SQLITE_WAL_FULL = LangGraphSqlite(
    "SqliteStore WAL+FULL", "durable: WAL, FULL", ("journal_mode = WAL", "synchronous = FULL")
)
SQLITE_WAL_NORMAL = LangGraphSqlite(
    "SqliteStore WAL+NORMAL", "not durable: power loss takes the last writes", ("journal_mode = WAL", "synchronous = 1")
)


class LangGraphMemory:
    """`InMemoryStore`, which keeps everything in dictionaries."""

    name = "InMemoryStore"
    durability = "none: gone with the process"

    def plain(self, folder: Path) -> PeerCalled:  # noqa: ARG002 - it keeps nothing on disk
        """A new one."""
        return PeerCalled(InMemoryStore(), None)

    async def evented(self, folder: Path) -> PeerAwaited:  # noqa: ARG002 - it keeps nothing on disk
        """A new one."""
        return PeerAwaited(InMemoryStore(), None)


class PeerCalled:
    """The synchronous side of a LangGraph store."""

    def __init__(self, store: BaseStore, connection: sqlite3.Connection | None) -> None:
        self._store = store
        self._connection = connection

    def batch(self, memos: Sequence[Memo]) -> Callable[[], object]:
        """A call that puts all of these at once."""
        return lambda: self._store.batch(_operations(memos))

    def put(self, memo: Memo) -> None:
        """Put one."""
        self._store.put(memo.namespace, memo.key, memo.value)

    def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        item = self._store.get(memo.namespace, memo.key)
        return None if item is None else item.value

    def delete(self, memo: Memo) -> None:
        """Delete one."""
        self._store.delete(memo.namespace, memo.key)

    def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        return [
            item.value for item in self._store.search(question.prefix, filter={"topic": question.topic}, limit=PAGE)
        ]

    def namespaces(self, limit: int) -> Sequence[tuple[str, ...]]:
        """Every namespace, up to a limit."""
        return self._store.list_namespaces(limit=limit)

    def close(self) -> None:
        """Let go of everything."""
        if self._connection is not None:
            self._connection.close()


class PeerAwaited:
    """The asynchronous side of a LangGraph store."""

    def __init__(self, store: BaseStore, connection: Any) -> None:
        self._store = store
        self._connection = connection

    async def fill(self, memos: Sequence[Memo]) -> None:
        """Put all of these at once."""
        await self._store.abatch(_operations(memos))

    async def put(self, memo: Memo) -> None:
        """Put one."""
        await self._store.aput(memo.namespace, memo.key, memo.value)

    async def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        item = await self._store.aget(memo.namespace, memo.key)
        return None if item is None else item.value

    async def delete(self, memo: Memo) -> None:
        """Delete one."""
        await self._store.adelete(memo.namespace, memo.key)

    async def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        found = await self._store.asearch(question.prefix, filter={"topic": question.topic}, limit=PAGE)
        return [item.value for item in found]

    async def close(self) -> None:
        """Let go of everything."""
        if self._connection is not None:
            await self._connection.close()
