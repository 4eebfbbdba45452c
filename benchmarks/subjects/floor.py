"""The bare database: the very rows that we write, sealed beforehand, with nothing but inserts and a commit around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

import recollect
from benchmarks.subjects import Value
from benchmarks.subjects.ours import OursCalled
from benchmarks.workload import BATCH, Memo, Question
from recollect.backends.sqlite.connections import open_connection
from recollect.backends.sqlite.options import SqliteOptions
from recollect.backends.sqlite.schema import migrate

Written = tuple[Any, ...]


class Floor:
    """Replays what a real store wrote; so it must be told beforehand everything that will be put."""

    name = "floor"
    durability = "durable: WAL, FULL; the same rows and events, sealed beforehand"

    def __init__(self, memos: Sequence[Memo], folder: Path) -> None:
        store = OursCalled(recollect.open_sync(folder))
        try:
            for start in range(0, len(memos), BATCH):
                store.batch(memos[start : start + BATCH])()
        finally:
            store.close()
        recorded = apsw.Connection(str(folder / "recollect.db"))
        try:
            versions = {row[0]: row[1:] for row in _rows(recorded, "versions")}
            events = {row[0]: row[1:] for row in _rows(recorded, "events")}
            self._tables = {
                "versions": _insert(recorded, "versions"),
                "events": _insert(recorded, "events"),
                "tenants": _insert(recorded, "tenants", "INSERT OR REPLACE"),
            }
            self._head = next(recorded.execute("SELECT * FROM tenants"))
        finally:
            recorded.close()
        self._rows = {key: (versions[number], events[number]) for number, key in enumerate(map(_place, memos), start=1)}

    def plain(self, folder: Path) -> FloorCalled:
        """Open an empty database with the same settings and tables."""
        database = open_connection(SqliteOptions(folder / "floor.db"), writes=True)
        migrate(database)
        return FloorCalled(database, self._tables, self._rows, self._head)

    async def evented(self, folder: Path) -> None:  # noqa: ARG002 - there is nothing to await
        """It has no such form."""
        return


def _place(memo: Memo) -> tuple[tuple[str, ...], str]:
    return memo.namespace, memo.key


def _rows(database: apsw.Connection, table: str) -> list[Written]:
    return list(database.execute(f"SELECT sequence, * FROM {table} ORDER BY sequence"))


def _insert(database: apsw.Connection, table: str, verb: str = "INSERT") -> str:
    columns = len(list(database.execute(f"PRAGMA table_info({table})")))
    return f"{verb} INTO {table} VALUES ({', '.join('?' * columns)})"


class FloorCalled:
    """Inserts and a commit."""

    def __init__(
        self,
        database: apsw.Connection,
        tables: dict[str, str],
        rows: dict[tuple[tuple[str, ...], str], tuple[Written, Written]],
        head: Written,
    ) -> None:
        self._database = database
        self._tables = tables
        self._known = rows
        self._head = head

    def batch(self, memos: Sequence[Memo]) -> Callable[[], object]:
        """A call that inserts the rows of all of these."""
        pairs = [self._known[_place(memo)] for memo in memos]
        versions, events = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return lambda: self._write(versions, events)

    def put(self, memo: Memo) -> None:
        """Insert the rows of one."""
        version, event = self._known[_place(memo)]
        self._write((version,), (event,))

    def _write(self, versions: Sequence[Written], events: Sequence[Written]) -> None:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        database.executemany(self._tables["versions"], versions)
        database.executemany(self._tables["events"], events)
        database.execute(self._tables["tenants"], self._head)
        database.execute("COMMIT")

    def get(self, memo: Memo) -> Value | None:
        """It only writes."""
        raise NotImplementedError

    def delete(self, memo: Memo) -> object:
        """It only inserts."""
        raise NotImplementedError

    def search(self, question: Question) -> list[Value]:
        """It only writes."""
        raise NotImplementedError

    def namespaces(self, limit: int) -> Sequence[tuple[str, ...]]:
        """It only writes."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of everything."""
        self._database.close()
