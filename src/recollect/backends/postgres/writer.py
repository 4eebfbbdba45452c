"""Who writes: commits of one tenant that arrive together share a transaction and one wait for the disk.

The tenant's row is locked first, so writers of one tenant come one after another, whichever process they are in,
and tenants do not wait for each other. Within a process, the first who has something to write for a tenant writes
for all who come meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, TypeVar

import psycopg

from recollect.backends.postgres.connections import Link, Pool, is_lost, is_worth_repeating, translated
from recollect.backends.postgres.known import Known
from recollect.backends.postgres.writing import Deferred
from recollect.domain.address import Address
from recollect.domain.commits import Idempotency
from recollect.domain.errors import OutcomeUnknown, RecollectError, StoreClosed
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Plan
from recollect.ports.keys import Destruction, Sealer

Result = TypeVar("Result")
_LOCK = "SELECT sequence, hash, trimmed, trimmed_hash, change FROM tenants WHERE tenant = $1 FOR UPDATE"
_MAKE = "INSERT INTO tenants (tenant) VALUES ($1) ON CONFLICT (tenant) DO NOTHING"
_MOVE = "UPDATE tenants SET sequence = $2, hash = $3, trimmed = $4, trimmed_hash = $5, change = $6 WHERE tenant = $1"
_ATTEMPTS = 4


class Group:
    """One transaction under way that holds the lock of its tenant: its connection, and where the log ends.

    What its jobs need to know is asked before they are carried out, together; what they decide is written later,
    together. What must see the work of others before it has that written first.
    """

    def __init__(self, link: Link, tenant: str) -> None:
        self.link = link
        self.tenant = tenant
        self.head = Head()
        self.known = Known(link, tenant)
        self._change = 0
        self._moved = False
        self._deferred: Deferred | None = None

    def begin(self, jobs: Sequence[Job], epoch: str | None) -> int | None:
        """Lock the tenant, and send what the jobs ask along with it; return what is asked of the keys, if it is."""
        self.link.send("BEGIN")
        locked = self.link.send(_LOCK, self.tenant)
        self._ask(jobs)
        asked = None if epoch is None else self.link.send(epoch)
        found = locked.fetchone()
        if found is None:  # nobody has written for this tenant before
            self.link.send(_MAKE, self.tenant)
            found = self.link.row(_LOCK, self.tenant)
            self.known.forget()
            self._ask(jobs)
            asked = None if epoch is None else self.link.send(epoch)
        if found is None:
            raise AssertionError("unreachable: the row was made, and rows of tenants are never deleted")
        *head, self._change = found
        self.head = Head(*head)
        answer = None if asked is None else asked.fetchone()
        return None if answer is None else int(answer[0])

    def _ask(self, jobs: Sequence[Job]) -> None:
        self.known.ask((address for job in jobs for address in job.addresses), (job.lookup for job in jobs))

    def defer(self, plan: Plan) -> None:
        """Write this in the end, or when somebody has to see it."""
        self._deferring().add(plan)
        self.known.learn(plan)
        self.move(plan.head)

    def keep(self, request: Idempotency, receipt: bytes, now: Instant) -> None:
        """Have it remembered that a request was carried out."""
        self._deferring().keep((request.lookup, request.fingerprint, receipt, now))
        self.known.learn_request(request.lookup, (request.fingerprint, receipt))

    def _deferring(self) -> Deferred:
        if self._deferred is None:
            self._deferred = Deferred(self.tenant)
        return self._deferred

    def flush(self) -> None:
        """Write what was deferred."""
        deferred, self._deferred = self._deferred, None
        if deferred is not None:
            deferred.write(self.link)

    def flushed(self) -> Link:
        """The connection, for a question that must see what the work before it has done."""
        self.flush()
        return self.link

    def alone(self, work: Callable[[Group], Result]) -> Result:
        """Do work that may change anything: nothing is deferred before it, and nothing that is known holds after it."""
        self.flush()
        self.known.forget()
        try:
            return work(self)
        finally:
            self.known.forget()

    def move(self, head: Head) -> None:
        """The tenant's log now ends, or begins, elsewhere."""
        self.head, self._moved = head, True

    def changes(self, count: int = 1) -> int:
        """So many numbers for changes of entries: return the one before the first."""
        before = self._change
        self._change += count
        self._moved = True
        return before

    def finish(self) -> None:
        """Write what was deferred and where the log ends, and commit."""
        self.flush()
        if self._moved:
            head = self.head
            self.link.send(_MOVE, self.tenant, head.sequence, head.hash, head.trimmed, head.trimmed_hash, self._change)
        self.link.send("COMMIT")


class Job:
    """A piece of work within a transaction: what it does, which keys it asks about, and whose keys it seals with.

    It decides first: when it raises an error of ours, it has written nothing.
    """

    __slots__ = ("addresses", "error", "future", "lookup", "loop", "result", "subjects", "work")

    def __init__(
        self,
        work: Callable[[Group], Any],
        addresses: Sequence[Address] = (),
        lookup: bytes | None = None,
        subjects: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.work, self.addresses, self.lookup, self.subjects = work, addresses, lookup, subjects
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | Future[Any]
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Tell the outcome, unless whoever asked has stopped waiting."""
        if self.future.cancelled() or self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class _CommitLost(Exception):
    """The connection broke when the transaction was to end: whether it lasts is not known."""


class Writer:
    """Carries jobs out, tenant by tenant."""

    def __init__(
        self,
        pool: Pool,
        sealer: Sealer,
        threads: Executor,
        *,
        most: int,
        epoch: str | None,
        on_commit: Callable[[], None],
        on_destruction: Callable[[Group, Destruction], object],
    ) -> None:
        self._pool = pool
        self._sealer = sealer
        self._threads = threads
        self._most = most
        self._epoch = epoch
        self._on_commit = on_commit
        self._on_destruction = on_destruction
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Job]] = {}
        self._led: set[str] = set()
        self._idle = threading.Condition(self._lock)
        self._closed = False

    def carry_out(self, tenant: str, job: Job) -> Any:
        """Carry this out, on this very thread or on that of whoever writes for the tenant already."""
        job.future = Future()
        if self._is_first(tenant, job) and not self._lead_once(tenant):
            self._threads.submit(self._lead, tenant)
        return job.future.result()

    async def submit(self, tenant: str, job: Job) -> Any:
        """Have this carried out on another thread, together with whatever else comes in this turn of the loop."""
        loop = job.loop = asyncio.get_running_loop()
        job.future = loop.create_future()
        if self._is_first(tenant, job):
            loop.call_soon(self._threads.submit, self._lead, tenant)
        return await job.future

    def _is_first(self, tenant: str, job: Job) -> bool:
        with self._lock:
            if self._closed:
                raise StoreClosed("the store was closed")
            waiting = self._waiting.setdefault(tenant, deque())
            waiting.append(job)
            if tenant in self._led:
                return False
            self._led.add(tenant)
            return True

    def close(self) -> None:
        """Take nothing on any more, and wait for what was submitted."""
        with self._idle:
            self._closed = True
            while self._waiting:
                self._idle.wait()

    def _lead(self, tenant: str) -> None:
        while not self._lead_once(tenant):
            pass

    def _lead_once(self, tenant: str) -> bool:
        """Carry out what waits for a tenant; True when nothing waits any more."""
        with self._lock:
            waiting = self._waiting[tenant]
            jobs = [waiting.popleft() for _ in range(min(len(waiting), self._most))]
        self._carry_out(tenant, jobs)
        _settle(jobs)
        with self._idle:
            if self._waiting[tenant]:
                return False
            del self._waiting[tenant]
            self._led.discard(tenant)
            self._idle.notify_all()
            return True

    def _carry_out(self, tenant: str, jobs: list[Job]) -> None:
        try:
            self._insist(tenant, jobs)
        except BaseException as problem:  # noqa: BLE001 - others wait for this thread, and must hear of it
            alone = len(jobs) == 1 or isinstance(problem, _CommitLost)
            if alone or (isinstance(problem, psycopg.Error) and is_lost(problem)):
                error = _spoken(problem)
                for job in jobs:
                    job.error = error
            else:
                for job in jobs:
                    self._carry_out(tenant, [job])
            return
        self._on_commit()

    def _insist(self, tenant: str, jobs: list[Job]) -> None:
        """Try again what the server had to give up, or what a broken connection kept from it."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._pool.lend() as link:
                    self._transaction(link, tenant, jobs)
                return
            except psycopg.Error as problem:
                if attempt == _ATTEMPTS or not is_worth_repeating(problem):
                    raise
                if is_lost(problem):
                    self._pool.forget_idle()

    def _transaction(self, link: Link, tenant: str, jobs: list[Job]) -> None:
        group = Group(link, tenant)
        ending = False
        try:
            with link.pipeline():
                # Only with the lock held is what the key store says certain to hold until the commit.
                epoch = group.begin(jobs, self._epoch)
                for destruction in self._sealer.refresh(epoch):
                    if destruction.tenant == tenant:
                        self._empty(group, destruction)
                self._sealer.prepare(subject for job in jobs for subject in job.subjects)
                for job in jobs:
                    try:
                        job.error = None
                        job.result = job.work(group)
                    except RecollectError as refusal:
                        job.error = refusal
                ending = True
                group.finish()
        except psycopg.Error as problem:
            if ending and is_lost(problem):
                raise _CommitLost from problem
            raise

    def _empty(self, group: Group, destruction: Destruction) -> None:
        group.alone(lambda alone: self._on_destruction(alone, destruction))


def _settle(jobs: Sequence[Job]) -> None:
    """Tell all of them, and wake every event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        if job.loop is None:
            job.settle()
        else:
            loops.setdefault(job.loop, []).append(job)
    for loop, mine in loops.items():
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(_settle_all, mine)


def _settle_all(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.settle()


def _spoken(problem: BaseException) -> BaseException:
    if isinstance(problem, _CommitLost):
        return OutcomeUnknown("the connection broke while the commit was under way", said=str(problem.__cause__))
    return translated(problem) if isinstance(problem, psycopg.Error) else problem
