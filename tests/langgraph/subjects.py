"""The stores that are put through the checks: ours, behind every door, and those that come with LangGraph."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pysqlite3
from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

import recollect
from recollect import Settings
from recollect.domain.instants import Instant
from recollect.testing.doubles import START
from recollect.testing.langgraph_store import Trial
from recollect.testing.servers import Server
from recollect_client.langgraph import AsyncRecollectStore, RecollectStore

SETTINGS = Settings(embedder="hashing")
DIMENSIONS = 256


@dataclass(slots=True)
class MovingClock:
    """A clock that moves a little whenever it is read, and as far as it is told."""

    now: int = field(default=int(START))

    def __call__(self) -> Instant:
        self.now += 1
        return Instant(self.now)

    def pass_time(self, seconds: float) -> None:
        """Let time pass without waiting for it."""
        self.now += round(seconds * 1_000_000)


@contextmanager
def in_process(
    folder: Path | None,
    *,
    asynchronous: bool,
    root: tuple[str, ...] = (),
    kind: type[RecollectStore] = RecollectStore,
) -> Iterator[Trial]:
    """Our store over fresh directories below a folder, or in memory."""
    clock = MovingClock()

    def place() -> str:
        return ":memory:" if folder is None else str(folder / uuid4().hex)

    @contextmanager
    def opened(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
        with recollect.open_sync(place(), settings=SETTINGS, clock=clock) as memories:
            yield kind.over(memories, root=root, ttl=ttl, fields=fields)

    if not asynchronous:
        yield Trial(opened, None, clock.pass_time, lifetime=60.0)
        return
    with asyncio.Runner() as runner:

        @contextmanager
        def opened_on_loop(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
            memories = runner.run(_awaited(recollect.open(place(), settings=SETTINGS, clock=clock)))
            try:
                yield AsyncRecollectStore.over(memories, root=root, ttl=ttl, fields=fields)
            finally:
                runner.run(memories.close())

        yield Trial(opened_on_loop, runner.run, clock.pass_time, lifetime=60.0)


async def _awaited(opening: Any) -> Any:
    return await opening


@contextmanager
def over_http(server: Server, *, asynchronous: bool) -> Iterator[Trial]:
    """Our store on a server; every check works below a user of its own, with that user's key."""

    def settled() -> tuple[str, str, tuple[str, ...]]:
        user = uuid4().hex
        return server.url, server.key_for(user), ("user", user)

    @contextmanager
    def opened(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
        url, token, root = settled()
        with RecollectStore(url, token, root=root, ttl=ttl, fields=fields) as store:
            yield store

    if not asynchronous:
        yield Trial(opened, lifetime=3.0)
        return
    with asyncio.Runner() as runner:

        @contextmanager
        def opened_on_loop(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
            url, token, root = settled()
            store = AsyncRecollectStore(url, token, root=root, ttl=ttl, fields=fields)
            try:
                yield store
            finally:
                runner.run(store.close())

        yield Trial(opened_on_loop, runner.run, lifetime=3.0)


# -- those of LangGraph


def embed(texts: list[str]) -> list[list[float]]:
    """Texts as counts of their words, so that texts are near which share words."""
    return [_counted(text) for text in texts]


def _counted(text: str) -> list[float]:
    counts = [0.0] * DIMENSIONS
    for word in "".join(each if each.isalnum() else " " for each in text.lower()).split():
        counts[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    counts[0] += 0.01  # no text is without any direction
    return counts


def _index(fields: list[str] | None) -> Any:
    config: dict[str, Any] = {"dims": DIMENSIONS, "embed": embed}
    return config if fields is None else config | {"fields": fields}


@contextmanager
def memory() -> Iterator[Trial]:
    """LangGraph's store in memory."""

    @contextmanager
    def opened(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
        yield InMemoryStore(index=_index(fields))

    yield Trial(opened)


@contextmanager
def sqlite() -> Iterator[Trial]:
    """LangGraph's store on SQLite."""

    @contextmanager
    def opened(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
        connection = pysqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        try:
            store = SqliteStore(connection, index=_index(fields), ttl=ttl)
            store.setup()
            yield store
        finally:
            connection.close()

    yield Trial(opened)


@contextmanager
def postgres(url: str) -> Iterator[Trial]:
    """LangGraph's store in a PostgreSQL database, which is emptied for every check."""

    @contextmanager
    def opened(*, ttl: TTLConfig | None, fields: list[str] | None) -> Iterator[BaseStore]:
        with PostgresStore.from_conn_string(url, index=_index(fields), ttl=ttl) as store:
            store.setup()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("TRUNCATE store CASCADE")
            yield store

    yield Trial(opened)
