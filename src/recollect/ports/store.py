"""The store: what every backend promises, in numbered clauses that the contract suite cites.

Writing
S1   A commit happens wholly or not at all; after an error nothing of it is there.
S2   A key has at most one live version; the backend refuses a second one even when told to write it.
S3   Revisions count from 1 per key, without gaps, and go on after a deletion.
S4   A commit whose expected revision is not the key's is refused; 0 expects that the key is absent.
S5   Operations of one commit take effect in their order; a later one sees what an earlier one did.
S6   A condition that no longer holds refuses the commit with `Contention`, phantoms included.
S7   A repeated request with the same idempotency key returns the first receipt and changes nothing.
S8   The same idempotency key with another request is refused.
S9   Deleting what is not there changes nothing and appends no event.
S10  Tenants never meet: the same address in two tenants is two things.
S11  Planes never meet: the same namespace and key in two planes is two things.

Reading
S12  A read sees every commit that was acknowledged before it began, from any instance on the same data.
S13  What expires at t is not seen at t or later, by any read, whatever the sweeper has done.
S14  A scope matches by whole segments, in binary: neither `user/al` nor `USER/alice` is `user/alice`.
S15  A filter means what `domain.filters.matches` says, for every operator and type.
S16  Rows are found newest first, oldest first or by key, exactly, and pages put together give the whole.
S17  Paging by key meets what exists throughout exactly once, whatever else is written meanwhile.
S18  A malformed cursor, or one of another order, is refused.
S19  History has every kept version, newest first, with why and when each ended.
S20  A read as of a moment sees exactly the versions that were live then.
S21  A row can be had by its id, live or not, in its own tenant only.
S22  Listed namespaces are those with a live row that the filter matches, sorted by encoding, each once; `*` is
     one segment.
S23  Listed namespaces can be truncated to a depth, limited and offset, in that order.
S24  Values come back exactly as they were given.

The log
S25  Every add, update, delete and expiry appends exactly one event, in the commit it tells of.
S26  Sequences are dense per tenant, from 1, in the order of commits, whatever the clock does.
S27  Pages of events put together are the whole log: none missed, doubled or reordered, filters included. A filter
     by attributes selects events whose version is kept and matches; an event without one passes only the empty filter.
S28  Each event carries the hash of the one before; the head carries that of the last.
S29  `verify` finds every edit, deletion, swap and truncation of events and versions.
S30  Evicting or purging a version leaves its event; the version that comes with it is then empty.
S31  A cursor before the kept part of the log is refused, with the oldest one that works.
S32  Waiting for events returns as soon as there is one, and no later than the time-out.

Sweeping, indexing, leases, erasing
S33  Expiring gives exactly one `expired` event per version, however many sweepers there are.
S34  Superseded values are evicted, and ended ones tombstoned, only when old enough and known to the index.
S35  Purging removes only versions that ended long enough ago, the oldest of a key first, so that no revision is
     given twice; a pass can stop after any batch and go on later.
S36  A version to be indexed is pending from its commit until marked, and again from its end until marked.
S37  A mark applies only if the version is still as it was read; otherwise it stays pending.
S38  At most one holder has a lease at a time; each new holder gets a larger fence.
S39  A lease that ran out or was taken cannot be renewed or released by its former holder.
S40  Erasing a subject ends and empties every version below its namespace, in all planes, once per erasure.
S41  Erasing leaves a receipt in the log, and the log still verifies.
S42  A backup is a consistent copy that can be opened on its own, taken while others write.
S43  A closed store refuses every call with `StoreClosed`.
S44  Listing tenants names those that have ever written, sorted.

Archiving, importing, noticing
S45  An archived version is the live one of its key like any other, but searches and listed namespaces leave it out
     unless told to include such or to return only such; a later write without the mark ends that.
S46  What happened elsewhere keeps its moment: times and expiry are as of then, though never before the version it
     follows, and the event says when it was recorded.
S47  Two equal stamps from one instance mean that nothing was committed in between, by anybody: a commit that was
     acknowledged anywhere is noticed by every later stamp.
S48  Which fields of a value are to be indexed is kept with the version for as long as its value, and pinned like it.

Relabelling
S49  Relabelling gives the live version other policy attributes and leaves it the version it is: same id, revision,
     times, value and history. Filters see the new ones, the index hears of them, and one event pins them. It does
     nothing when the live version is another one than was read, has expired, or has these attributes already.
S50  A version that is not as the log recorded it is not relabelled, so that `verify` still finds what was altered.
S51  Counting a plane gives how many rows of it a search of everything would find, archived ones included.

What the search index keeps
S52  An entry is kept together with the mark that the index reflects its version, as it was read, or not at all; the
     entries of a version are dropped together with the mark of its end, and by erasing it.
S53  Entries come back exactly as they were given, in their own tenant, plane and series only, and they and their
     details when asked for by id; nothing of them can be read in what is stored.
S54  Reading entries in a scope gives one for every version that has one. Reading on from where an earlier reading ended
     gives every one that was kept since, and every version whose entry was dropped since; others may come again.
S55  A version that was put off is not given out as pending before its moment; when it ends or gets other attributes, it
     is given out at once, with nothing counted against it.
S56  Versions that lack an entry in a series are the live ones that the index reflects and that have none, in the order
     of writing, so that a series can be filled from where it was left off.
S57  Dropping a series removes its entries, batch by batch, and no others.
S58  Rows by their ids come in the order of the ids, each as it is now; ids of no row of the tenant are left out.
S59  The index's figures are exact: entries of a series, versions that wait, and those among them that were put off.

Copying
S60  What is stored can be read as it is, of all tenants, shelf by shelf: every record once, sealed, in the order of
     their names, which is the same in every backend; and from any name on.
S61  Records that were read so are taken over as they are, in place of those of the same name, however often, in any
     portions and in any order; others can be taken away by their names. What was taken over whole answers every call
     as it did where it was read: the same heads, a log that verifies, the same history, receipts and index.
S62  Data that is marked as being copied is refused with `StoreIncomplete` by whoever opens it for use, until the mark
     is taken away. A mark lasts, and a new one that comes with records is there once they are.
"""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import Contention, Unsupported
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erased, Erasure
from recollect.domain.queries import EventPage, EventQuery, Find, NamespaceQuery, Page
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention, Swept
from recollect.domain.rows import Row
from recollect.domain.stored import Name, Shelf, Stored
from recollect.domain.verification import Problem
from recollect.ports.units import UnitOfWork

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called now and then with how much is done, and how much there is to do."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do something alone until a moment; `fence` grows with every new holder."""

    name: str
    holder: str
    fence: int
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class Pending:
    """A version that the search index does not reflect: to be added when live, removed when not."""

    row: Row
    live: bool
    pinned_sequence: int | None = None
    """Where in the log its policy attributes were recorded, if they were computed anew."""
    attempts: int = 0
    """How often it was put off so far."""

    @property
    def mark(self) -> Mark:
        """What to say once the index reflects it."""
        return Mark(self.row.id, self.live, self.pinned_sequence)


@dataclass(frozen=True, slots=True)
class Mark:
    """That the index now reflects this version, as it was read: live or ended, and with which attributes."""

    id: bytes
    live: bool
    pinned_sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Reflected:
    """What the index is to keep of a version, and the mark to set together with it."""

    mark: Mark
    entry: bytes | None
    """None for an ended version, and for one in which there is nothing to find."""
    detail: bytes | None = None
    """What is needed of an entry only once it is among the best."""


class Entry(msgspec.Struct, frozen=True):
    """What the index keeps of one version, with what of the version decides whether a search may show it."""

    id: bytes
    namespace: str
    """Encoded, as every backend stores it."""
    created_at: Instant
    sequence: int
    expires_at: Instant | None
    archived: bool
    policy_attributes: str
    content: bytes | None
    """What was given to be kept; None when it was dropped."""


Place = tuple[str, int]
"""Where a page of entries ended."""


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries, up to where they tell of all changes, and where the next page begins; None when there is none."""

    entries: list[Entry]
    upto: int
    after: Place | None = None
    more: bool = False
    """Of changes: True when there are more of them already, after `upto`."""


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """How much the index has to do with a tenant."""

    entries: int
    pending: int
    deferred: int
    """How many of those that wait were put off, because they failed."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` looked at, and every problem it found."""

    head: Head
    events: int
    versions: int
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> bool:
        """True when nothing was found."""
        return not self.problems


class Store(ABC):
    """A place for rows and their log. The module's docstring has the promises."""

    capabilities: frozenset[str] = frozenset()
    """What this backend offers beyond the clauses that all keep; e.g. `backup`."""
    direct: bool = False
    """True when it was opened for plain threads: its coroutines then never suspend."""

    # -- writing

    @abstractmethod
    async def commit(self, commit: Commit) -> Receipt:
        """Carry out a commit (S1 to S11, S45, S46, S49, S50)."""

    def begin(self, tenant: str, actor: str = "") -> UnitOfWork:
        """A unit of work: reads that are remembered, writes that happen at its end, together."""
        return UnitOfWork(self, tenant, actor)

    async def transact(
        self, tenant: str, work: Callable[[UnitOfWork], Awaitable[Result]], *, actor: str = "", attempts: int = 100
    ) -> Result:
        """Run `work` in a unit of work, again from the start whenever something it had read changed."""
        for attempt in range(1, attempts + 1):
            try:
                async with self.begin(tenant, actor) as unit:
                    return await work(unit)
            except Contention:
                if attempt == attempts:
                    raise
                # Rivals that wait for different times get out of each other's way.
                await self.pause(random.uniform(0, min(0.05, 0.0005 * 2**attempt)))  # noqa: S311 - no secret
        raise AssertionError("unreachable: the last attempt returns or raises")

    # -- reading

    @abstractmethod
    async def get(self, tenant: str, address: Address, *, as_of: Instant | None = None) -> Row | None:
        """The live version at an address, or the one that was live at a moment (S12, S13, S20)."""

    async def get_each(self, places: Sequence[tuple[str, Address]]) -> Sequence[Row | None]:
        """The live versions at addresses of any tenants, in their order (S12, S13).

        A backend that has to ask a server asks it once for all.
        """
        return [await self.get(tenant, address) for tenant, address in places]

    @abstractmethod
    async def get_by_id(self, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id (S21)."""

    @abstractmethod
    async def find(self, tenant: str, query: Find) -> Page:
        """Live rows in a scope (S13 to S18, S20, S45)."""

    @abstractmethod
    async def history(
        self, tenant: str, address: Address, *, limit: int = 100, before: int | None = None
    ) -> Sequence[Row]:
        """Versions of a key below revision `before`, newest first (S19)."""

    @abstractmethod
    async def namespaces(self, tenant: str, query: NamespaceQuery) -> Sequence[tuple[str, ...]]:
        """The namespaces that have live rows (S22, S23, S45)."""

    @abstractmethod
    async def count(self, tenant: str, plane: Plane) -> int:
        """How many live rows a plane has (S51)."""

    @abstractmethod
    async def tenants(self) -> Sequence[str]:
        """Who has ever written here (S44)."""

    def stamp(self) -> object:
        """Something to compare with an earlier one: equal only if nothing was committed in between (S47).

        It is cheap enough for every request and waits for no writer. One that is always new is always right.
        """
        return object()

    # -- the log

    @abstractmethod
    async def head(self, tenant: str) -> Head:
        """Where the tenant's log ends (S28)."""

    @abstractmethod
    async def events(self, tenant: str, query: EventQuery) -> EventPage:
        """A page of the log (S25 to S27, S30, S31)."""

    @abstractmethod
    async def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait for the log to grow beyond `after`; False when it did not in so many seconds (S32)."""

    @abstractmethod
    async def verify(
        self, tenant: str, *, expected: tuple[int, bytes] | None = None, progress: Progress | None = None
    ) -> Verification:
        """Check the whole log against itself, the versions, and a head that was kept elsewhere (S29)."""

    # -- upkeep

    @abstractmethod
    async def sweep(self, tenant: str, step: Pass, retention: Retention, *, limit: int = 100) -> Swept:
        """Do one batch of one pass (S33 to S35)."""

    @abstractmethod
    async def pending(self, tenant: str, *, limit: int = 100, ended: bool = False) -> Sequence[Pending]:
        """Versions that the index does not reflect, oldest first; with `ended`, only such (S36, S55)."""

    @abstractmethod
    async def mark_indexed(self, tenant: str, marks: Sequence[Mark]) -> int:
        """Mark versions as reflected, where nothing changed since; return how many were (S37)."""

    @abstractmethod
    async def reflect(self, tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        """Keep entries and set their marks, where nothing changed since; return how many were set (S37, S52)."""

    @abstractmethod
    async def put_off(self, tenant: str, marks: Sequence[Mark], until: Instant) -> None:
        """Give these out as pending again only from that moment on (S55)."""

    @abstractmethod
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
        """A page of the entries in a scope; the `upto` of the first page is where to read on later (S53, S54)."""

    @abstractmethod
    async def entry_changes(
        self, tenant: str, plane: Plane, within: Namespace, series: int, since: int, *, limit: int = 1_000
    ) -> EntryPage:
        """What was kept or dropped in a scope since an earlier reading (S54)."""

    @abstractmethod
    async def entries_of(self, tenant: str, series: int, ids: Sequence[bytes]) -> Sequence[Entry]:
        """Entries by the ids of their versions, in any order, of those that have some (S53)."""

    @abstractmethod
    async def details(self, tenant: str, series: int, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The details of entries by the ids of their versions, of those that have some (S53)."""

    @abstractmethod
    async def lacking(
        self, tenant: str, series: int, *, after: int = 0, limit: int = 100
    ) -> tuple[Sequence[Pending], int]:
        """Reflected live versions without an entry in a series, and where to go on after them (S56)."""

    @abstractmethod
    async def drop_series(self, tenant: str, series: int, *, limit: int = 1_000) -> Swept:
        """Remove entries of a series, so many at a time (S57)."""

    @abstractmethod
    async def rows(self, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        """Rows by their ids (S58)."""

    @abstractmethod
    async def index_figures(self, tenant: str, series: int) -> IndexFigures:
        """How much there is, and how much waits (S59)."""

    @abstractmethod
    async def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Take a lease, or prolong one's own; None while another holder has it (S38)."""

    @abstractmethod
    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Prolong a lease; `LeaseLost` when it is no longer held (S39)."""

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a lease back; `LeaseLost` when it is no longer held (S39)."""

    @abstractmethod
    async def erase(self, erasure: Erasure) -> Erased:
        """Empty everything of a subject and return the receipt; again the same one if done before (S40, S41)."""

    async def pause(self, seconds: float) -> None:
        """Let some time pass, on the caller's own thread when it is a plain one."""
        if self.direct:
            time.sleep(seconds)  # noqa: ASYNC251 - there is no event loop to hold up
        else:
            await asyncio.sleep(seconds)

    async def aside(self, work: Callable[[], Result]) -> Result:
        """Run a piece of blocking work so that no event loop is held up by it."""
        return work()

    async def backup(self, target: Path, progress: Progress | None = None) -> None:
        """Write a consistent copy of everything to a new file (S42)."""
        raise Unsupported(f"{type(self).__name__} cannot be backed up to {target}", progress=progress is not None)

    # -- copying, where `copy` is declared

    def stored(self, shelf: Shelf, after: Name = ()) -> AsyncGenerator[list[Stored], None]:
        """Every record of a shelf after that name, batch by batch (S60)."""
        raise self._uncopied(shelf, after)

    async def amount(self, shelf: Shelf) -> int:
        """About how many records a shelf has, to show how far one is."""
        raise self._uncopied(shelf)

    async def take_over(
        self, shelf: Shelf, records: Sequence[Stored], gone: Sequence[Name] = (), *, mark: bytes | None = None
    ) -> None:
        """Keep these records as they are, take those names away, and set the mark, if one is given (S61, S62)."""
        raise self._uncopied(shelf, records, gone, mark)

    async def mark(self) -> bytes | None:
        """The mark that the data is being copied; None when it is whole (S62)."""
        raise self._uncopied()

    async def set_mark(self, mark: bytes | None) -> None:
        """Mark the data as being copied, or as whole (S62)."""
        raise self._uncopied(mark)

    def _uncopied(self, *_: object) -> Unsupported:
        return Unsupported(f"{type(self).__name__} cannot be copied")

    @abstractmethod
    async def close(self) -> None:
        """Finish what was acknowledged and let go of everything (S43)."""
