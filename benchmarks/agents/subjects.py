"""LangGraph stores side by side: this one, and LangGraph's own on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from benchmarks.engines.databases import Databases
from benchmarks.searching.subjects import HASHING, Same, sqlite_store
from recollect.langgraph import open_store

OURS, SQLITE, SQLITE_WAL, POSTGRES = "recollect", "SqliteStore", "SqliteStore WAL+FULL", "PostgresStore"
_WAL = ("journal_mode = WAL", "synchronous = FULL")


@dataclass(frozen=True)
class Subject:
    """A LangGraph store that can be opened in an empty folder."""

    name: str
    durability: str
    opened: Callable[[Path], AbstractContextManager[BaseStore]]


def plain_subjects(made: Databases | None) -> list[Subject]:
    """Stores that are not told of any embedder, each with its own defaults."""
    found = [
        Subject(OURS, "durable: WAL, FULL; encrypted, with event log and policy", open_store),
        Subject(SQLITE, "durable: rollback journal, FULL (its default)", _sqlite),
        Subject(SQLITE_WAL, "durable: WAL, FULL", lambda folder: _sqlite(folder, *_WAL)),
    ]
    if made is not None:
        found.append(Subject(POSTGRES, "durable: waits for the server's disk", lambda _: _postgres(made)))
    return found


def semantic_subjects(made: Databases | None, same: Same) -> list[Subject]:
    """Stores that search by meaning, all with the same embedder; ours makes the very same vectors by itself."""
    found = [
        Subject(
            OURS,
            "durable: WAL, FULL; encrypted, with event log and policy",
            lambda folder: open_store(folder, fields=["text"], settings=HASHING),
        ),
        Subject(SQLITE, "durable: WAL; sqlite-vec", lambda folder: _sqlite_vec(folder, same)),
    ]
    if made is not None:
        found.append(
            Subject(POSTGRES, "durable: waits for the server's disk; pgvector", lambda _: _postgres(made, same))
        )
    return found


@contextmanager
def _sqlite(folder: Path, *pragmas: str) -> Iterator[BaseStore]:
    """As its own `from_conn_string` makes it."""
    connection = sqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
    try:
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        store = SqliteStore(connection)
        store.setup()
        yield store
    finally:
        connection.close()


@contextmanager
def _sqlite_vec(folder: Path, same: Same) -> Iterator[BaseStore]:
    with sqlite_store(folder, same) as peer:
        yield peer.store


@contextmanager
def _postgres(made: Databases, same: Same | None = None) -> Iterator[BaseStore]:
    config: Any = None if same is None else same.config()
    with PostgresStore.from_conn_string(made.fresh(), index=config) as store:
        store.setup()
        yield store
