"""The SQLite store: the port's calls, sent to the writer's thread or to a reader.

The same class serves two kinds of caller. On an event loop, reads run on a small pool of threads, so
that the loop is never blocked. Elsewhere (`direct=True`) they run on the caller's own thread, and no
call ever suspends, so that a plain function can drive the coroutines to their end.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import apsw

from recollect.backends.sqlite import commits, copying, entries, log, reads, upkeep
from recollect.backends.sqlite.connections import ReaderPool, translated, translating
from recollect.backends.sqlite.options import SqliteOptions
from recollect.backends.sqlite.schema import check_engine, migrate
from recollect.backends.sqlite.stamps import Stamps
from recollect.backends.sqlite.turns import Turns
from recollect.backends.sqlite.writer import Group, Job, Writer
from recollect.domain.address import Address, Namespace, subject_of
from recollect.domain.commits import Commit, Put, Receipt, checked_commit
from recollect.domain.errors import InvalidSetting, StoreClosed, StoreUnavailable
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Erasure
from recollect.domain.queries import EventPage, EventQuery, Find, NamespaceQuery, Page
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention, Swept
from recollect.domain.rows import Row
from recollect.domain.stored import Name, Shelf, Stored
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Destruction, Sealer, erasure_of
from recollect.ports.signals import Signal
from recollect.ports.store import (
    Entry,
    EntryPage,
    IndexFigures,
    Lease,
    Mark,
    Pending,
    Place,
    Progress,
    Reflected,
    Store,
    Verification,
)

Result = TypeVar("Result")
_POLL_SECONDS = 0.05
"""How often a waiter looks for commits of other processes, which cannot call it."""
_BACKUP_PAGES = 2_000


class SqliteStore(Store):
    """Rows and log in one SQLite file; any number of processes may share it."""

    capabilities = frozenset({"backup", "copy"})

    def __init__(self, options: SqliteOptions, *, clock: Clock, ids: Ids, sealer: Sealer, direct: bool = False) -> None:
        check_engine()
        self._options = options
        self._clock = clock
        self._ids = ids
        self._sealer = sealer
        self.direct = direct
        self._signal = Signal(blocking=direct)
        self._reader = reads.Reader(sealer)
        self._closed = False
        self._taking = copying.Taking()
        with translating():
            self._writer = Writer(options, sealer, self._signal.notify, self._empty_destroyed)
            try:
                migrate(self._writer.db)
                if not options.partial:
                    copying.check_whole(self._writer.db)
            except BaseException:
                self._writer.db.close()
                raise
        self._pool = ReaderPool(options)
        self._impatient = ReaderPool(replace(options, busy_seconds=0.0))
        self._stamps = Stamps(options)
        self._threads = ThreadPoolExecutor(options.readers, thread_name_prefix="recollect-reader")
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="recollect-slow")
        self._turns = Turns(self._threads, self._asked, lambda ask: self._asked(ask, pool=self._impatient))
        self._writer.start()

    # -- writing

    async def commit(self, commit: Commit) -> Receipt:
        """Let the writer decide the commit and carry it out."""
        checked_commit(commit)
        subjects = {(commit.tenant, subject_of(op.address.namespace)) for op in commit.operations if type(op) is Put}

        def work(group: Group) -> Receipt:
            return self._apply(group, commit, self._clock())

        receipt: Receipt = await self._write(work, subjects)
        return receipt

    def _apply(self, group: Group, commit: Commit, now: Instant) -> Receipt:
        return commits.apply_commit(group, commit, now=now, ids=self._ids, sealer=self._sealer)

    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject, then empty the write-ahead log that still has it."""
        work: Callable[[Group], Erased] = lambda group: commits.apply_erasure(group, erasure, now=self._clock())  # noqa: E731
        erased: Erased = await self._write(work, cleans=True)
        return erased

    def _empty_destroyed(self, group: Group, destruction: Destruction) -> Erased:
        return commits.apply_erasure(group, erasure_of(destruction), now=self._clock())

    # -- reading

    async def get(self, tenant: str, address: Address, *, as_of: Instant | None = None) -> Row | None:
        """The live version at an address, or the one that was live at a moment."""
        return await self._glance(self._reader.get, tenant, address, self._clock(), as_of)

    async def get_by_id(self, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        return await self._glance(self._reader.get_by_id, tenant, row_id)

    async def find(self, tenant: str, query: Find) -> Page:
        """Live rows in a scope."""
        return await self._read(self._reader.find, tenant, query, self._clock())

    async def history(
        self, tenant: str, address: Address, *, limit: int = 100, before: int | None = None
    ) -> Sequence[Row]:
        """Versions of a key, newest first."""
        return await self._read(self._reader.history, tenant, address, limit, before)

    async def namespaces(self, tenant: str, query: NamespaceQuery) -> Sequence[tuple[str, ...]]:
        """Namespaces with a live row."""
        return await self._read(reads.namespaces, tenant, query, self._clock())

    async def count(self, tenant: str, plane: Plane) -> int:
        """How many live rows a plane has."""
        return await self._read(reads.count, tenant, plane, self._clock())

    async def tenants(self) -> Sequence[str]:
        """Who has ever written."""
        return await self._read(_tenants)

    def stamp(self) -> object:
        """What another connection would notice a commit by; always new where there can be no other one."""
        if self._closed:
            raise StoreClosed("the store was closed")
        return super().stamp() if self._options.exclusive else self._stamps.read()

    # -- the log

    async def head(self, tenant: str) -> Head:
        """Where the tenant's log ends."""
        return await self._glance(log.head, tenant)

    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        """A page of the log."""
        return await self._read(log.events, self._reader, tenant, query)

    async def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait for the log to grow; this process calls at once, others are noticed by looking."""
        until = time.monotonic() + seconds
        with self._signal.listen() as listener:
            while (await self.head(tenant)).sequence <= after:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                await listener.wait(min(left, _POLL_SECONDS))
        return True

    async def verify(
        self, tenant: str, *, expected: tuple[int, bytes] | None = None, progress: Progress | None = None
    ) -> Verification:
        """Check the whole log."""
        return await self._read(log.verify, tenant, expected, progress, threads=self._slow)

    # -- upkeep

    async def sweep(self, tenant: str, step: Pass, retention: Retention, *, limit: int = 100) -> Swept:
        """One batch of one pass."""

        def work(group: Group) -> Swept:
            return upkeep.sweep(
                group, tenant, step, retention, limit, now=self._clock(), ids=self._ids, sealer=self._sealer
            )

        swept: Swept = await self._write(work)
        return swept

    async def pending(self, tenant: str, *, limit: int = 100, ended: bool = False) -> Sequence[Pending]:
        """Versions the index does not reflect."""
        return await self._read(self._reader.pending, tenant, limit, self._clock(), ended)

    async def mark_indexed(self, tenant: str, marks: Sequence[Mark]) -> int:
        """Mark versions that are still as they were read."""
        done: int = await self._write(lambda group: upkeep.mark_indexed(group, tenant, marks))
        return done

    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries with their marks."""
        done: int = await self._write(lambda group: entries.reflect(group, tenant, series, reflected, self._sealer))
        return done

    async def put_off(self, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
        """Let these wait."""
        await self._write(lambda group: entries.put_off(group, tenant, marks, until))

    async def entries(
        self,
        tenant: str,
        plane: Plane,
        within: Namespace,
        series: int,
        *,
        after: Place | None = None,
        limit: int = 1_000,
    ) -> EntryPage:
        """A page of the entries in a scope."""
        return await self._read(entries.entries, self._sealer, tenant, plane, within, series, after, limit)

    async def entry_changes(
        self, tenant: str, plane: Plane, within: Namespace, series: int, since: int, *, limit: int = 1_000
    ) -> EntryPage:
        """What was kept or dropped in a scope since."""
        return await self._read(entries.entry_changes, self._sealer, tenant, plane, within, series, since, limit)

    async def entries_of(self, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
        """Entries by the ids of their versions."""
        return await self._read(entries.entries_of, self._sealer, tenant, series, ids)

    async def details(self, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The details of entries."""
        return await self._read(entries.details, self._sealer, tenant, series, ids)

    async def lacking(
        self, tenant: str, series: int, *, after: int = 0, limit: int = 100
    ) -> tuple[Sequence[Pending], int]:
        """Live versions without an entry in a series."""
        return await self._read(entries.lacking, self._reader, tenant, series, after, limit)

    async def drop_series(self, tenant: str, series: int, *, limit: int = 1_000) -> Swept:
        """Remove entries of a series."""
        dropped: Swept = await self._write(lambda group: entries.drop_series(group, tenant, series, limit))
        return dropped

    async def rows(self, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        """Versions by their ids."""
        return await self._glance(entries.rows, self._reader, tenant, ids)

    async def index_figures(self, tenant: str, series: int) -> IndexFigures:
        """How much there is, and how much waits."""
        return await self._read(entries.figures, tenant, series)

    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or prolong a lease."""
        lease: Lease | None = await self._write(
            lambda group: upkeep.acquire(group, name, holder, seconds, self._clock())
        )
        return lease

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Prolong a lease that is still held."""
        renewed: Lease = await self._write(lambda group: upkeep.renew(group, lease, seconds, self._clock()))
        return renewed

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        await self._write(lambda group: upkeep.release(group, lease, self._clock()))

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Run blocking work on a thread beside the readers', or here when the caller is a plain thread."""
        if self._closed:
            raise StoreClosed("the store was closed")
        if self.direct:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._slow, work)

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        """Write a consistent copy beside the target, then move it there."""
        await self._read(_backup, target, progress, threads=self._slow)

    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        """The records of a shelf, as they are."""
        while found := await self._read(copying.page, shelf, after):
            yield found
            after = found[-1].name

    async def amount(self, shelf: Shelf) -> int:
        """How many records a shelf has."""
        return await self._read(copying.amount, shelf)

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        """Keep records as they are, in one transaction with the mark."""
        await self._write(lambda group: self._taking.take_over(group, shelf, records, gone, mark))

    async def mark(self) -> bytes | None:
        """The mark that the data is being copied."""
        return await self._read(copying.mark)

    async def set_mark(self, mark: bytes | None) -> None:
        """Mark the data as being copied, or as whole."""
        await self._write(lambda group: copying.set_mark(group.db, mark))

    async def close(self) -> None:
        """Carry out what was submitted, then close every connection."""
        if self._closed:
            return
        self._closed = True
        if self.direct:
            self._shut()
        else:
            await asyncio.get_running_loop().run_in_executor(None, self._shut)

    def _shut(self) -> None:
        self._writer.close()
        self._threads.shutdown(wait=True)
        self._slow.shutdown(wait=True)
        self._stamps.close()
        self._pool.close()
        self._impatient.close()

    # -- inner

    async def _write(
        self,
        work: Callable[[Group], Any],
        subjects: set[tuple[str, str]] | frozenset[tuple[str, str]] = frozenset(),
        *,
        cleans: bool = False,
    ) -> Any:
        if self._closed:
            raise StoreClosed("the store was closed")
        if self.direct:
            blocking: Future[Any] = Future()
            self._writer.submit(Job(work, subjects, cleans, blocking))
            return blocking.result()
        loop = asyncio.get_running_loop()
        awaited = loop.create_future()
        self._writer.submit(Job(work, subjects, cleans, awaited, loop))
        return await awaited

    async def _read(
        self, ask: Callable[..., Result], *arguments: Any, threads: ThreadPoolExecutor | None = None
    ) -> Result:
        if self._closed:
            raise StoreClosed("the store was closed")
        if self._options.exclusive:
            result: Result = await self._write(lambda group: ask(group.flushed(), *arguments))
            return result
        if self.direct:
            return self._asked(ask, arguments)
        return await asyncio.get_running_loop().run_in_executor(threads or self._threads, self._asked, ask, arguments)

    async def _glance(self, ask: Callable[..., Result], *arguments: Any) -> Result:
        """A read of a few microseconds: on an event loop, those of one turn are read together at its end."""
        if self.direct or self._closed or self._options.exclusive:
            return await self._read(ask, *arguments)
        result: Result = await self._turns.ask(lambda db: ask(db, *arguments))
        return result

    def _asked(
        self, ask: Callable[..., Result], arguments: tuple[Any, ...] = (), pool: ReaderPool | None = None
    ) -> Result:
        pool = pool or self._pool
        try:
            db = pool.take()
            try:
                answer = ask(db, *arguments)
            except BaseException:
                # A statement may be half read, and whoever keeps the error keeps it open, with its snapshot.
                pool.discard(db)
                raise
            pool.give_back(db)
            return answer
        except apsw.Error as problem:
            raise translated(problem) from problem


def _tenants(db: apsw.Connection) -> Sequence[str]:
    return [tenant for (tenant,) in db.execute("SELECT tenant FROM tenants ORDER BY tenant")]


def _backup(db: apsw.Connection, target: Path, progress: Progress | None) -> None:
    if target.exists():
        raise InvalidSetting(f"{target} exists already; a backup is always a new file")
    beside = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as problem:
        raise StoreUnavailable(f"{target} cannot be written: {problem.strerror}") from None
    copy = apsw.Connection(str(beside))
    try:
        db.execute("BEGIN")  # one snapshot for the whole copy: writers go on, and do not restart it
        try:
            next(db.execute("SELECT count(*) FROM sqlite_schema"))
            with copy.backup("main", db, "main") as steps:
                while not steps.done:
                    steps.step(_BACKUP_PAGES)
                    if progress is not None:
                        progress(steps.page_count - steps.remaining, steps.page_count)
        finally:
            db.execute("COMMIT")
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.close()
        beside.rename(target)
    except BaseException:
        copy.close()
        beside.unlink(missing_ok=True)
        raise
