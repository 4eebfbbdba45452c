"""The MongoDB store: the port's calls, each a read at one commit or a commit of its own.

The same class serves two kinds of caller. On an event loop it speaks to the server through `AsyncMongoClient`.
Elsewhere (`direct=True`) it uses a `MongoClient`, and no call ever suspends, so that a plain function can drive the
coroutines to their end. How commits happen is told in `ledger`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from recollect.backends.mongodb import copying, index, leases, log, reads
from recollect.backends.mongodb.documents import Moved
from recollect.backends.mongodb.driver import Driver
from recollect.backends.mongodb.ledger import Ledger
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.schema import STORE, prepare
from recollect.backends.mongodb.sealing import Sealing
from recollect.backends.mongodb.turns import Turns
from recollect.backends.mongodb.views import View
from recollect.backends.mongodb.watching import Watcher
from recollect.backends.mongodb.writer import Writer
from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Commit, Receipt, checked_commit
from recollect.domain.errors import StoreBusy, StoreClosed
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Erasure
from recollect.domain.queries import EventPage, EventQuery, Find, NamespaceQuery, Page
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention, Swept
from recollect.domain.rows import Row
from recollect.domain.stored import Name, Shelf, Stored
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Sealer
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
_POLL_SECONDS = 0.1
_HEARING_SECONDS = 2.0
"""How often to look even though the server tells of commits."""
"""How often a waiter looks for commits of other processes, which cannot call it."""
_READS = 100
"""How often a read begins anew because what it wanted to see was emptied meanwhile."""


class MongoStore(Store):
    """Rows and log in one MongoDB database; any number of processes may share it."""

    capabilities = frozenset({"copy"})

    def __init__(self, options: MongoOptions, *, clock: Clock, ids: Ids, sealer: Sealer, direct: bool = False) -> None:
        self.direct = direct
        self._clock = clock
        self._closed = False
        prepare(options, STORE)
        self._driver = Driver(options, direct=direct)
        self._sealing = Sealing(sealer, direct=direct)
        self._signal = Signal(blocking=direct)
        self._watcher = Watcher(options, self._signal.notify)
        turns = Turns(f"{options.url} {options.database} {options.turns}", direct=direct)
        self._ledger = Ledger(self._driver, options, turns, direct=direct)
        self._writer = Writer(self._driver, self._ledger, options, turns, self._sealing, clock, ids, direct=direct)

    # -- writing

    async def commit(self, commit: Commit) -> Receipt:
        """Decide the commit, and append it to the tenant's commits."""
        self._check_open()
        checked_commit(commit)
        return await self._told(self._writer.commit(commit))

    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject."""
        self._check_open()
        return await self._told(self._writer.erase(erasure))

    # -- reading

    async def get(self, tenant: str, address: Address, *, as_of: Instant | None = None) -> Row | None:
        """The live version at an address, or the one that was live at a moment."""
        now = self._clock()
        return await self._seen(tenant, lambda view: reads.get(self._driver, view, self._sealing, address, now, as_of))

    async def get_by_id(self, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        return next(iter(await self.rows(tenant, [row_id])), None)

    async def find(self, tenant: str, query: Find) -> Page:
        """Live rows in a scope."""
        now = self._clock()
        return await self._seen(tenant, lambda view: reads.find(view, self._sealing, query, now))

    async def history(
        self, tenant: str, address: Address, *, limit: int = 100, before: int | None = None
    ) -> Sequence[Row]:
        """Versions of a key, newest first."""
        return await self._seen(tenant, lambda view: reads.history(view, self._sealing, address, limit, before))

    async def namespaces(self, tenant: str, query: NamespaceQuery) -> Sequence[tuple[str, ...]]:
        """Namespaces with a live row."""
        now = self._clock()
        return await self._seen(tenant, lambda view: reads.namespaces(view, query, now))

    async def count(self, tenant: str, plane: Plane) -> int:
        """How many live rows a plane has."""
        now = self._clock()
        return await self._seen(tenant, lambda view: reads.count(self._driver, self._ledger, view, plane, now))

    async def tenants(self) -> Sequence[str]:
        """Who has ever written."""
        self._check_open()
        return await self._ledger.tenants()

    async def rows(self, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        """Versions by their ids."""
        return await self._seen(tenant, lambda view: reads.rows(view, self._sealing, ids))

    # -- the log

    async def head(self, tenant: str) -> Head:
        """Where the tenant's log ends."""
        self._check_open()
        return (await self._ledger.state(tenant)).head

    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        """A page of the log."""
        return await self._seen(tenant, lambda view: log.events(self._driver, self._ledger, view, self._sealing, query))

    async def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait for the log to grow; this process calls at once, and the server for others, or one has to look."""
        until = time.monotonic() + seconds
        self._watcher.start()
        with self._signal.listen() as listener:
            while (await self.head(tenant)).sequence <= after:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                await listener.wait(min(left, _HEARING_SECONDS if self._watcher.hears else _POLL_SECONDS))
        return True

    async def verify(
        self, tenant: str, *, expected: tuple[int, bytes] | None = None, progress: Progress | None = None
    ) -> Verification:
        """Check the whole log."""
        return await self._seen(tenant, lambda view: log.verify(self._driver, self._ledger, view, expected, progress))

    # -- upkeep

    async def sweep(self, tenant: str, step: Pass, retention: Retention, *, limit: int = 100) -> Swept:
        """One batch of one pass."""
        self._check_open()
        return await self._told(self._writer.sweep(tenant, step, retention, limit))

    async def pending(self, tenant: str, *, limit: int = 100, ended: bool = False) -> Sequence[Pending]:
        """Versions the index does not reflect."""
        now = self._clock()
        return await self._seen(tenant, lambda view: reads.pending(view, self._sealing, limit, now, ended=ended))

    async def mark_indexed(self, tenant: str, marks: Sequence[Mark]) -> int:
        """Mark versions that are still as they were read."""
        self._check_open()
        return await self._writer.write(tenant, lambda state: index.plan_marks(self._driver, state, marks))

    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries with their marks."""
        self._check_open()
        return await self._writer.reflect(tenant, series, reflected)

    async def put_off(self, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
        """Let these wait."""
        self._check_open()
        await self._writer.write(tenant, lambda state: index.plan_put_off(self._driver, state, marks, until))

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
        self._check_open()
        state = await self._ledger.state(tenant)
        return await index.entries(self._driver, state, self._sealing, plane, within, series, after, limit)

    async def entry_changes(
        self, tenant: str, plane: Plane, within: Namespace, series: int, since: int, *, limit: int = 1_000
    ) -> EntryPage:
        """What was kept or dropped in a scope since."""
        self._check_open()
        state = await self._ledger.state(tenant)
        return await index.entry_changes(self._driver, state, self._sealing, plane, within, series, since, limit)

    async def entries_of(self, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
        """Entries by the ids of their versions."""
        self._check_open()
        return await index.entries_of(self._driver, await self._ledger.state(tenant), self._sealing, series, ids)

    async def details(self, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The details of entries."""
        self._check_open()
        return await index.details(self._driver, await self._ledger.state(tenant), self._sealing, series, ids)

    async def lacking(
        self, tenant: str, series: int, *, after: int = 0, limit: int = 100
    ) -> tuple[Sequence[Pending], int]:
        """Live versions without an entry in a series."""
        return await self._seen(
            tenant, lambda view: index.lacking(self._driver, view, self._sealing, series, after, limit)
        )

    async def drop_series(self, tenant: str, series: int, *, limit: int = 1_000) -> Swept:
        """Remove entries of a series."""
        self._check_open()
        return await self._writer.write(tenant, lambda state: index.plan_dropping(self._driver, state, series, limit))

    async def index_figures(self, tenant: str, series: int) -> IndexFigures:
        """How much there is, and how much waits."""
        self._check_open()
        return await index.figures(self._driver, await self._ledger.state(tenant), series)

    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take or prolong a lease."""
        self._check_open()
        return await leases.acquire(self._driver, name, holder, seconds, self._clock())

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Prolong a lease that is still held."""
        self._check_open()
        return await leases.renew(self._driver, lease, seconds, self._clock())

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        self._check_open()
        await leases.release(self._driver, lease, self._clock())

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Run blocking work on a thread, or here when the caller is a plain one."""
        self._check_open()
        return await self._sealing.open(work)

    async def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        """The records of a shelf, as they are."""
        self._check_open()
        async with aclosing(copying.stored(self._driver, self._ledger, shelf, after)) as batches:
            async for batch in batches:
                yield batch

    async def amount(self, shelf: Shelf) -> int:
        """About how many records a shelf has."""
        self._check_open()
        return await copying.amount(self._driver, shelf)

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        """Keep records as they are, and then the mark."""
        self._check_open()
        await copying.take_over(self._driver, shelf, records, gone)
        if mark is not None:
            await copying.set_mark(self._driver, mark)

    async def mark(self) -> bytes | None:
        """The mark that the data is being copied."""
        self._check_open()
        return await copying.mark(self._driver)

    async def set_mark(self, mark: bytes | None) -> None:
        """Mark the data as being copied, or as whole."""
        self._check_open()
        await copying.set_mark(self._driver, mark)

    async def close(self) -> None:
        """Close every connection."""
        if not self._closed:
            self._closed = True
            await self._watched()
            await self._driver.close()
            self._sealing.close()

    # -- inner

    async def _watched(self) -> None:
        """End the watching, beside the loop: its thread may wait for an answer."""
        if self.direct:
            self._watcher.close()
        else:
            await asyncio.to_thread(self._watcher.close)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store was closed")

    async def _seen(self, tenant: str, ask: Callable[[View], Awaitable[Result]]) -> Result:
        """The answer at the newest commit; asked again at a later one when that was overtaken."""
        for _ in range(_READS):
            self._check_open()
            try:
                return await ask(View(self._driver, self._ledger, await self._ledger.state(tenant)))
            except Moved:
                continue
        raise StoreBusy("what was read kept being emptied by others: try again")

    async def _told(self, work: Awaitable[Result]) -> Result:
        """The result, with those who wait for it called."""
        try:
            return await work
        finally:
            self._signal.notify()
