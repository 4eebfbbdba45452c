"""Opening SQLite connections, and translating what they raise, in one place."""

from __future__ import annotations

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

import apsw

from recollect.backends.sqlite.options import SqliteOptions
from recollect.domain.errors import (
    NotAStore,
    RecollectError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreTrouble,
    StoreUnavailable,
)
from recollect.domain.instants import parse_rfc3339

_TROUBLE: tuple[tuple[type[apsw.Error], type[StoreTrouble], str], ...] = (
    (apsw.BusyError, StoreBusy, "another process held the write lock for too long"),
    (apsw.FullError, StoreFull, "the disk is full"),
    (apsw.CorruptError, StoreCorrupt, "the database file is damaged"),
    (apsw.NotADBError, NotAStore, "the file is not a database"),
    (apsw.ConstraintError, StoreCorrupt, "a row would break a rule that the schema enforces"),
)


def translated(problem: apsw.Error) -> RecollectError:
    """Our error for one of the driver's."""
    for theirs, ours, message in _TROUBLE:
        if isinstance(problem, theirs):
            return ours(f"{message} ({problem})")
    return StoreUnavailable(f"the database could not be used ({type(problem).__name__}: {problem})")


@contextmanager
def translating() -> Iterator[None]:
    """Let no error of the driver out."""
    try:
        yield
    except apsw.Error as problem:
        raise translated(problem) from problem


def open_connection(options: SqliteOptions, *, writes: bool) -> apsw.Connection:
    """A connection with our settings. The file is created readable for its owner only."""
    if writes and options.vfs is None and not options.path.exists():
        os.close(os.open(options.path, os.O_CREAT | os.O_WRONLY, 0o600))
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOMUTEX
    connection = apsw.Connection(str(options.path), flags=flags, vfs=options.vfs, statementcachesize=256)
    try:
        _configure(connection, options, writes=writes)
    except BaseException:
        with suppress(apsw.Error):
            connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, options: SqliteOptions, *, writes: bool) -> None:
    connection.set_busy_handler(_patience(options.busy_seconds))
    # Without this, a statement with an order and bound values is planned anew each time it is run.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    if options.exclusive:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    # SQLite answers with the mode that it kept when it could not change it, and raises nothing.
    if connection.execute("PRAGMA journal_mode = WAL").get != "wal":
        raise apsw.CantOpenError("the file could not be given a write-ahead log")
    connection.execute(f"PRAGMA synchronous = {options.synchronous}")
    connection.execute("PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")
    if writes:
        # Rows move when pages split, long before anybody is erased: what they leave behind is overwritten at once.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{options.cache_kib}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {options.checkpoint_pages}")
    else:
        connection.execute("PRAGMA query_only = ON; PRAGMA cache_size = -16384")
    connection.create_scalar_function("rfc3339", _instant, 1, deterministic=True)


def empty_log(connection: apsw.Connection) -> bool:
    """Move the write-ahead log into the file and cut it off; False when somebody is still reading it."""
    busy, _, _ = next(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    return not busy


@lru_cache(maxsize=2_048)
def _instant(text: object) -> int | None:
    return parse_rfc3339(text) if isinstance(text, str) else None


def _patience(seconds: float) -> Callable[[int], bool]:
    """A busy handler that looks again often: SQLite's own sleeps up to a tenth of a second."""
    since = 0.0

    def wait(tries: int) -> bool:
        nonlocal since
        if tries == 0:
            since = time.monotonic()
        if time.monotonic() - since > seconds:
            return False
        time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - chance only keeps two processes out of step
        return True

    return wait


class ReaderPool:
    """Connections for reading, handed from thread to thread; as many as there are readers at a time."""

    def __init__(self, options: SqliteOptions) -> None:
        self._options = options
        self._idle: deque[apsw.Connection] = deque()
        self._all: list[apsw.Connection] = []

    def take(self) -> apsw.Connection:
        """A connection that nobody else uses now."""
        try:
            return self._idle.pop()
        except IndexError:
            connection = open_connection(self._options, writes=False)
            self._all.append(connection)
            return connection

    def give_back(self, connection: apsw.Connection) -> None:
        """Let others use it."""
        self._idle.append(connection)

    def discard(self, connection: apsw.Connection) -> None:
        """Close one that may be in the middle of something, rather than hand it on."""
        self._all.remove(connection)
        connection.close()

    def close(self) -> None:
        """Close every connection; nobody may be reading any more."""
        while self._all:
            self._all.pop().close()
        self._idle.clear()
