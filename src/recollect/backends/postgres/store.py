"""The PostgreSQL store: the port's calls, carried out by threads that share connections.

The same class serves two kinds of caller. On an event loop, calls run on a pool of threads, so that the loop is
never blocked, not by the keys either. Elsewhere (`direct=True`) they run on the caller's own thread, and no call
ever suspends, so that a plain function can drive the coroutines to their end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import psycopg

from recollect.backends.postgres import commits, copying, entries, erasing, log, reads, upkeep
from recollect.backends.postgres.bell import Bell
from recollect.backends.postgres.connections import Link, Pool, is_lost, is_worth_repeating, translated, translating
from recollect.backends.postgres.keystore import epoch_of
from recollect.backends.postgres.options import PostgresOptions
from recollect.backends.postgres.schema import migrate
from recollect.backends.postgres.turns import Turns
from recollect.backends.postgres.writer import Group, Job, Writer
from recollect.domain.address import Address, Namespace, subject_of
from recollect.domain.commits import Commit, Put, Receipt, checked_commit
from recollect.domain.errors import OutcomeUnknown, StoreClosed
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Erasure, addresses_of
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
_POLL_SECONDS = 1.0
"""How often a waiter looks by itself, in case the bell was not rung."""
_DEAF_POLL_SECONDS = 0.05
"""How often it looks while the bell cannot be heard."""


class PostgresStore(Store):
    """Rows and log in a schema of a PostgreSQL database; any number of processes may share it.

    Leases go by the server's clock, unless they are given one (`leases`): the clocks of processes may differ.
    """

    capabilities = frozenset({"copy"})

    def __init__(
        self,
        options: PostgresOptions,
        *,
        clock: Clock,
        ids: Ids,
        sealer: Sealer,
        direct: bool = False,
        leases: Clock | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._leases = leases
        self._ids = ids
        self._sealer = _OneAtATime(sealer)
        self.direct = direct
        self._signal = Signal(blocking=direct)
        self._reader = reads.Reader(sealer)
        self._closed = False
        self._pool = Pool(options)
        try:
            with translating(), self._pool.lend() as link:
                migrate(link, options.schema)
                if not options.partial:
                    copying.check_whole(link, options.schema)
        except BaseException:
            self._pool.close()
            raise
        self._bell = Bell(options, self._signal.notify)
        self._threads = ThreadPoolExecutor(options.connections, thread_name_prefix="recollect-postgres")
        self._turns = Turns(self._threads, self._read_each)
        self._slow = ThreadPoolExecutor(2, thread_name_prefix="recollect-slow")
        self._writer = Writer(
            self._pool,
            self._sealer,
            self._threads,
            most=options.group,
            epoch=None if options.keys_schema is None else epoch_of(options.keys_schema),
            on_commit=self._committed,
            on_destruction=self._empty_destroyed,
        )

    # -- writing

    async def commit(self, commit: Commit) -> Receipt:
        """Decide the commit and carry it out, together with others of the tenant."""
        checked_commit(commit)
        subjects = {(commit.tenant, subject_of(op.address.namespace)) for op in commit.operations if type(op) is Put}

        def work(group: Group) -> Receipt:
            return commits.apply_commit(group, commit, now=self._clock(), ids=self._ids, sealer=self._sealer)

        lookup = None if commit.idempotency is None else commit.idempotency.lookup
        receipt: Receipt = await self._submit(commit.tenant, Job(work, addresses_of(commit), lookup, subjects))
        return receipt

    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject."""
        erased: Erased = await self._write(
            erasure.tenant, lambda group: erasing.apply_erasure(group, erasure, now=self._clock())
        )
        return erased

    def _empty_destroyed(self, group: Group, destruction: Destruction) -> Erased:
        return erasing.apply_erasure(group, erasure_of(destruction), now=self._clock())

    def _committed(self) -> None:
        self._signal.notify()
        self._bell.ring()

    # -- reading

    async def get(self, tenant: str, address: Address, *, as_of: Instant | None = None) -> Row | None:
        """The live version at an address, or the one that was live at a moment."""
        if as_of is None and not self.direct:
            return (await self.get_each(((tenant, address),)))[0]
        return await self._read(self._reader.get, tenant, address, self._clock(), as_of)

    async def get_each(self, places: Sequence[tuple[str, Address]]) -> list[Row | None]:
        """The live versions at addresses of any tenants, asked for as one question."""
        if self._closed:
            raise StoreClosed("the store was closed")
        return self._read_each(places) if self.direct else await self._turns.ask(places)

    def _read_each(self, places: Sequence[tuple[str, Address]]) -> list[Row | None]:
        now = self._clock()
        return self._pool.ask(lambda link: self._reader.get_each(link, places, now))

    async def get_by_id(self, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        return await self._read(self._reader.get_by_id, tenant, row_id)

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
        return await self._read(reads.tenants)

    def stamp(self) -> object:
        """Always a new one: whether somebody else has committed cannot be told without asking the server."""
        if self._closed:
            raise StoreClosed("the store was closed")
        return super().stamp()

    # -- the log

    async def head(self, tenant: str) -> Head:
        """Where the tenant's log ends."""
        return await self._read(log.head, tenant)

    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        """A page of the log."""
        return await self._read(log.events, self._reader, tenant, query)

    async def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait for the log to grow: this process calls at once, others ring the bell."""
        until = time.monotonic() + seconds
        with self._signal.listen() as listener:
            while (await self.head(tenant)).sequence <= after:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                if not self._bell.listening:
                    await self.aside(partial(self._bell.listen, min(left, _DEAF_POLL_SECONDS)))
                    if self._bell.listening:
                        continue  # what was committed before it could be heard
                await listener.wait(min(left, _POLL_SECONDS if self._bell.listening else _DEAF_POLL_SECONDS))
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
            now = self._clock()
            return upkeep.sweep(group, step, retention, limit, now=now, ids=self._ids, sealer=self._sealer)

        swept: Swept = await self._write(tenant, work)
        return swept

    async def pending(self, tenant: str, *, limit: int = 100, ended: bool = False) -> Sequence[Pending]:
        """Versions the index does not reflect."""
        return await self._read(self._reader.pending, tenant, limit, self._clock(), ended)

    async def mark_indexed(self, tenant: str, marks: Sequence[Mark]) -> int:
        """Mark versions that are still as they were read."""
        done: int = await self._write(tenant, lambda group: upkeep.mark_indexed(group, marks))
        return done

    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries with their marks."""
        done: int = await self._write(tenant, lambda group: entries.reflect(group, series, reflected, self._sealer))
        return done

    async def put_off(self, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
        """Let these wait."""
        await self._write(tenant, lambda group: entries.put_off(group, marks, until))

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
        dropped: Swept = await self._write(tenant, lambda group: entries.drop_series(group, series, limit))
        return dropped

    async def rows(self, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        """Versions by their ids."""
        return await self._read(entries.rows, self._reader, tenant, ids)

    async def index_figures(self, tenant: str, series: int) -> IndexFigures:
        """How much there is, and how much waits."""
        return await self._read(entries.figures, tenant, series)

    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or prolong a lease."""
        return await self._run(self._repeated, lambda link: upkeep.acquire(link, name, holder, seconds, self._leases))

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Prolong a lease that is still held."""
        return await self._run(self._repeated, lambda link: upkeep.renew(link, lease, seconds, self._leases))

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        await self._run(self._repeated, lambda link: upkeep.release(link, lease, self._leases))

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Run blocking work on a thread beside the others, or here when the caller is a plain thread."""
        return await self._run(work, threads=self._slow)

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
        await self._run(self._repeated, lambda link: copying.take_over(link, shelf, records, gone, mark))

    async def mark(self) -> bytes | None:
        """The mark that the data is being copied."""
        return await self._read(copying.mark)

    async def set_mark(self, mark: bytes | None) -> None:
        """Mark the data as being copied, or as whole."""
        await self._run(self._repeated, lambda link: copying.set_mark(link, mark))

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
        self._bell.close()
        self._pool.close()

    # -- inner

    async def _write(self, tenant: str, work: Callable[[Group], Any]) -> Any:
        return await self._submit(tenant, Job(lambda group: group.alone(work)))

    async def _submit(self, tenant: str, job: Job) -> Any:
        if self._closed:
            raise StoreClosed("the store was closed")
        return self._writer.carry_out(tenant, job) if self.direct else await self._writer.submit(tenant, job)

    async def _read(
        self, ask: Callable[..., Result], *arguments: Any, threads: ThreadPoolExecutor | None = None
    ) -> Result:
        return await self._run(self._pool.ask, lambda link: ask(link, *arguments), threads=threads)

    async def _run(
        self, work: Callable[..., Result], *arguments: Any, threads: ThreadPoolExecutor | None = None
    ) -> Result:
        if self._closed:
            raise StoreClosed("the store was closed")
        if self.direct:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(threads or self._threads, work, *arguments)

    def _repeated(self, work: Callable[[Link], Result]) -> Result:
        """Work that can be repeated, in a transaction of its own; done again when the connection had broken before."""
        try:
            try:
                return self._in_transaction(work)
            except psycopg.Error as problem:
                if not is_worth_repeating(problem):
                    raise
            self._pool.forget_idle()
            return self._in_transaction(work)
        except psycopg.Error as problem:
            raise translated(problem) from problem

    def _in_transaction(self, work: Callable[[Link], Result]) -> Result:
        with self._pool.lend() as link:
            link.send("BEGIN")
            answer = work(link)
            try:
                link.send("COMMIT")
            except psycopg.Error as problem:
                if is_lost(problem):
                    raise OutcomeUnknown("the connection broke while the transaction was being kept") from problem
                raise
            return answer


class _OneAtATime:
    """A sealer whose sealing part is used by one thread at a time, since writers of several tenants share it."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer
        self._lock = threading.Lock()
        self.open = sealer.open

    def refresh(self, epoch: int | None = None) -> Sequence[Destruction]:
        """Notice which keys were destroyed."""
        with self._lock:
            return self._sealer.refresh(epoch)

    def prepare(self, subjects: Iterable[tuple[str, str]]) -> None:
        """Make sure that these have usable keys."""
        with self._lock:
            self._sealer.prepare(subjects)

    def seal(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        """The field sealed for exactly this place."""
        with self._lock:
            return self._sealer.seal(tenant, address, row_id, revision, field, plain)
