"""Opening PostgreSQL connections, sharing them, and translating what they raise, in one place."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from recollect.backends.postgres import arrays
from recollect.backends.postgres.options import PostgresOptions
from recollect.domain.errors import (
    EngineTooOld,
    NotAStore,
    RecollectError,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreFull,
    StoreTrouble,
    StoreUnavailable,
)

Result = TypeVar("Result")
Row = tuple[Any, ...]
OLDEST_SERVER = 140_000
_PREPARED = 400
"""How many statements a connection keeps prepared; filters make new ones."""

_TROUBLE: tuple[tuple[str, type[StoreTrouble], str], ...] = (
    ("55P03", StoreBusy, "somebody else held the tenant's lock for too long"),
    ("40", StoreBusy, "the transaction met others again and again"),
    ("57014", StoreBusy, "a statement took too long"),
    ("25006", StoreUnavailable, "the server takes no writes: it is a standby or read-only; wait for the primary"),
    ("53100", StoreFull, "the server's disk is full"),
    ("53300", StoreUnavailable, "the server has no connection left; allow more, or let each process open fewer"),
    ("23", StoreCorrupt, "a row would break a rule that the schema enforces"),
    ("XX001", StoreCorrupt, "the server found damaged data"),
    ("XX002", StoreCorrupt, "the server found a damaged index"),
    ("42P01", NotAStore, "tables are missing from the schema"),
    ("3F000", NotAStore, "the schema is missing"),
    ("42501", StoreUnavailable, "the database user lacks a right on the schema or its tables"),
    ("28", StoreUnavailable, "the server refused the user or the password"),
    ("3D000", StoreUnavailable, "the server has no such database"),
)
_AGAIN = ("40001", "40P01")
_GONE = ("08", "57P")


def translated(problem: psycopg.Error) -> RecollectError:
    """Our error for one of the driver's."""
    state = problem.sqlstate or ""
    for prefix, ours, message in _TROUBLE:
        if state.startswith(prefix):
            return ours(message, said=_said(problem))
    if not state or state.startswith(_GONE):
        return StoreUnavailable("the database server cannot be reached", said=_said(problem))
    return StoreUnavailable("the database could not be used", said=f"{type(problem).__name__}: {_said(problem)}")


def _said(problem: psycopg.Error) -> str:
    return " ".join(str(problem).split()) or type(problem).__name__


def is_lost(problem: psycopg.Error) -> bool:
    """True when the connection broke, so that nobody knows what the server still did."""
    state = problem.sqlstate or ""
    return (not state and isinstance(problem, psycopg.OperationalError)) or state.startswith(_GONE)


def is_worth_repeating(problem: psycopg.Error) -> bool:
    """True when the same transaction may well succeed the next time."""
    return is_lost(problem) or problem.sqlstate in _AGAIN


@contextmanager
def translating() -> Iterator[None]:
    """Let no error of the driver out."""
    try:
        yield
    except psycopg.Error as problem:
        raise translated(problem) from problem


class GatheringCursor(psycopg.RawCursor[Row]):
    """A cursor that, in a pipeline, sends nothing until an answer is waited for, and then all at once.

    The driver's own sends every statement by itself, which wakes the server for each.
    """

    def _execute_gen(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Any:
        if not self._conn._pipeline:
            yield from super()._execute_gen(query, params, prepare=prepare, binary=binary)
            return
        yield from self._start_query(query)
        yield from self._maybe_prepare_gen(self._convert_query(query, params), prepare=prepare, binary=binary)
        self._last_query = query

    def _fetch_pipeline(self) -> None:
        under_way = self._conn._pipeline
        if under_way is not None and under_way.command_queue:
            with self._conn.lock:
                self._conn.wait(under_way._communicate_gen())
        super()._fetch_pipeline()


class Link:
    """A connection as the rest of the backend uses it: statements with `$1`, and rows as tuples.

    Within `pipeline`, statements are sent without waiting for the answers to those before.
    """

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection = connection

    def send(self, sql: str, *bindings: object) -> psycopg.Cursor[Row]:
        """Run a statement; in a pipeline, the answer is waited for when the cursor is read."""
        cursor = self.connection.cursor(binary=True)
        cursor.execute(sql, bindings)
        return cursor

    def rows(self, sql: str, *bindings: object) -> list[Row]:
        """What a statement returns."""
        return self.send(sql, *bindings).fetchall()

    def planned_rows(self, sql: str, *bindings: object) -> list[Row]:
        """The same, planned for these very bindings."""
        cursor = self.connection.cursor(binary=True)
        cursor.execute(sql, bindings, prepare=False)
        return cursor.fetchall()

    def row(self, sql: str, *bindings: object) -> Row | None:
        """The first row of what a statement returns."""
        return self.send(sql, *bindings).fetchone()

    def many(self, sql: str, rows: Sequence[Iterable[object]]) -> None:
        """Run a statement that returns nothing for each of these rows."""
        if len(rows) == 1:
            self.send(sql, *rows[0])
        elif rows:
            self.connection.cursor().executemany(sql, [tuple(row) for row in rows])

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send without waiting. When it ends, everything was answered, or the first error is raised."""
        with self.connection.pipeline():
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several questions to one and the same state."""
        self.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield
        self.send("COMMIT")

    def stream(self, sql: str, *bindings: object) -> Iterator[Row]:
        """What a statement returns, some at a time; only within a snapshot."""
        with self.connection.cursor(name="recollect", binary=True) as cursor:
            cursor.itersize = 1_000
            cursor.execute(sql, bindings)
            yield from cursor

    @property
    def is_idle(self) -> bool:
        """True when it is in the middle of nothing."""
        return self.connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self.connection.close()


def open_link(options: PostgresOptions) -> Link:
    """A connection with our settings, to a server that is good enough."""
    connection = psycopg.connect(
        options.url,
        autocommit=True,
        connect_timeout=max(1, round(options.connect_seconds)),
        application_name="recollect",
        client_encoding="UTF8",
        prepare_threshold=0,
        cursor_factory=GatheringCursor,
    )
    try:
        connection.server_cursor_factory = psycopg.RawServerCursor
        connection.prepared_max = _PREPARED
        for dumper in (Int8Dumper, Int8BinaryDumper):  # one type for all, so that statements are prepared once
            connection.adapters.register_dumper(int, dumper)
        arrays.teach(connection)
        _check_server(connection)
        settings = {
            "search_path": options.schema,
            "lock_timeout": _milliseconds(options.lock_seconds),
            "statement_timeout": _milliseconds(options.statement_seconds),
            "idle_in_transaction_session_timeout": _milliseconds(options.idle_seconds),
        }
        calls = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
        connection.execute(f"SELECT {calls}", prepare=False)
    except BaseException:
        connection.close()
        raise
    return Link(connection)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1_000))


def _check_server(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise EngineTooOld(f"PostgreSQL {connection.info.server_version // 10_000} is too old; 14 or newer is needed")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise NotAStore(f"the database has the encoding {encoding}; create one with the encoding UTF8")


class Pool:
    """Connections handed from thread to thread, up to a limit; broken ones are replaced."""

    def __init__(self, options: PostgresOptions, opening: Callable[[PostgresOptions], Link] = open_link) -> None:
        self._options = options
        self._opening = opening
        self._idle: deque[Link] = deque()
        self._all: set[Link] = set()
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(options.connections)
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Link]:
        """A connection that nobody else uses meanwhile; one that failed in the middle of something is closed."""
        if not self._free.acquire(timeout=self._options.lock_seconds):
            raise StoreBusy("all connections of this process were in use for too long")
        try:
            link = self._take()
            try:
                yield link
            except RecollectError:
                if link.is_idle:
                    self._give_back(link)
                else:
                    self._discard(link)
                raise
            except BaseException:
                self._discard(link)
                raise
            self._give_back(link)
        finally:
            self._free.release()

    def ask(self, question: Callable[[Link], Result]) -> Result:
        """The answer to a question that changes nothing; asked again when the connection had broken."""
        with translating():
            try:
                with self.lend() as link:
                    return question(link)
            except psycopg.Error as problem:
                if not is_lost(problem):
                    raise
            self.forget_idle()
            with self.lend() as link:
                return question(link)

    def forget_idle(self) -> None:
        """Close what nobody uses: after one connection broke, the others have often broken too."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
            self._all.difference_update(idle)
        for link in idle:
            link.close()

    def close(self) -> None:
        """Close every connection; nobody may be using one any more."""
        with self._lock:
            self._closed = True
        self.forget_idle()

    def _take(self) -> Link:
        with self._lock:
            if self._closed:
                raise StoreClosed("the store was closed")
            if self._idle:
                return self._idle.pop()
        link = self._opening(self._options)
        with self._lock:
            self._all.add(link)
        return link

    def _give_back(self, link: Link) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(link)
                return
        self._discard(link)

    def _discard(self, link: Link) -> None:
        with self._lock:
            self._all.discard(link)
        link.close()
