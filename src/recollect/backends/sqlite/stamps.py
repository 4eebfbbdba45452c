"""Noticing commits: a connection that only ever asks whether the data is still what it was."""

from __future__ import annotations

import threading

import apsw

from recollect.backends.sqlite.connections import open_connection, translating
from recollect.backends.sqlite.options import SqliteOptions
from recollect.domain.errors import StoreClosed


class Stamps:
    """A number that changes with every commit of any other connection, in this process or another one.

    It is comparable only within one connection, so there is just one, opened when first needed and never
    replaced. It writes nothing, and between two questions it holds no snapshot and no lock.
    """

    def __init__(self, options: SqliteOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self._cursor: apsw.Cursor | None = None
        self._closed = False

    def read(self) -> object:
        """The number as it is now."""
        with self._lock, translating():
            cursor = self._cursor or self._open()
            return cursor.execute("PRAGMA data_version").get

    def _open(self) -> apsw.Cursor:
        if self._closed:
            raise StoreClosed("the store was closed")
        self._db = open_connection(self._options, writes=False)
        self._cursor = self._db.cursor()
        return self._cursor

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            self._closed, self._cursor = True, None
            if self._db is not None:
                self._db.close()
