"""Who writes: commits of one tenant that arrive together share a transaction and one wait for the disk.

The tenant's row is locked first, so writers of one tenant come one after another, whichever process they are in,
and tenants do not wait for each other. Within a process, the first who has something to write for a tenant writes
for all who come meanwhile.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import psycopg

from recollect.backends.postgres.connections import Link, Pool, is_lost, is_worth_repeating, translated
from recollect.backends.postgres.writing import write_plans
from recollect.domain.address import Address
from recollect.domain.errors import OutcomeUnknown, RecollectError, StoreClosed
from recollect.domain.events import Head
from recollect.domain.planning import Plan
from recollect.ports.keys import Destruction, Sealer

_LOCK = "SELECT sequence, hash, trimmed, trimmed_hash, change FROM tenants WHERE tenant = $1 FOR UPDATE"
_MAKE = "INSERT INTO tenants (tenant) VALUES ($1) ON CONFLICT (tenant) DO NOTHING"
_MOVE = "UPDATE tenants SET sequence = $2, hash = $3, trimmed = $4, trimmed_hash = $5, change = $6 WHERE tenant = $1"
_ATTEMPTS = 4


class Group:
    """One transaction under way that holds the lock of its tenant: its connection, and where the log ends.

    What jobs decide is written later, together; what they ask is asked before, together. So a job whose keys
    another has changed meanwhile must have that written first, and ask again.
    """

    def __init__(self, link: Link, tenant: str) -> None:
        self.link = link
        self.tenant = tenant
        self.head = Head()
        self._change = 0
        self._moved = False
        self._plans: list[Plan] = []
        self._outdated: set[object] = set()
        self._all_outdated = False

    def begin(self, jobs: Sequence[Job]) -> list[Any]:
        """Lock the tenant, and send what the jobs ask along with it."""
        self.link.send("BEGIN")
        locked = self.link.send(_LOCK, self.tenant)
        sent = [job.send(self.link) for job in jobs]
        found = locked.fetchone()
        if found is None:  # nobody has written for this tenant before
            self.link.send(_MAKE, self.tenant)
            found = self.link.row(_LOCK, self.tenant)
            sent = [job.send(self.link) for job in jobs]
        if found is None:
            raise AssertionError("unreachable: the row was made, and rows of tenants are never deleted")
        *head, self._change = found
        self.head = Head(*head)
        return sent

    def defer(self, plan: Plan) -> None:
        """Write this in the end, or when somebody has to see it."""
        self._plans.append(plan)
        self.move(plan.head)

    def flush(self) -> None:
        """Write what was deferred."""
        plans, self._plans = self._plans, []
        if plans:
            write_plans(self.link, self.tenant, plans)

    def flushed(self) -> Link:
        """The connection, for a question that must see what the work before it has done."""
        self.flush()
        return self.link

    def alone(self) -> Group:
        """This group, for work that may change anything: nothing is deferred, and nothing asked before holds after."""
        self.flush()
        self._all_outdated = True
        return self

    def outdate(self, addresses: Iterable[Address], lookup: bytes | None) -> None:
        """What was asked about these keys, and this request, no longer holds."""
        self._outdated.update(addresses)
        self._outdated.add(lookup)

    def has_outdated(self, addresses: Iterable[Address], lookup: bytes | None) -> bool:
        """True when what was asked about some of these keys, or this request, no longer holds."""
        known = self._outdated
        return self._all_outdated or (lookup is not None and lookup in known) or not known.isdisjoint(addresses)

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
    """A piece of work within a transaction: what it asks first, what it does, and whose keys it needs.

    It decides first: when it raises an error of ours, it has written nothing.
    """

    __slots__ = ("done", "error", "result", "send", "subjects", "work")

    def __init__(
        self,
        work: Callable[[Group, Any], Any],
        send: Callable[[Link], Any] = lambda _: None,
        subjects: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.work, self.send, self.subjects = work, send, subjects
        self.done: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Tell the outcome, unless whoever asked has stopped waiting."""
        if not self.done.set_running_or_notify_cancel():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.result)


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
        on_commit: Callable[[], None],
        on_destruction: Callable[[Group, Destruction], object],
    ) -> None:
        self._pool = pool
        self._sealer = sealer
        self._threads = threads
        self._most = most
        self._on_commit = on_commit
        self._on_destruction = on_destruction
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[Job]] = {}
        self._idle = threading.Condition(self._lock)
        self._closed = False

    def submit(self, tenant: str, job: Job, *, here: bool) -> None:
        """Carry this out: on this very thread if `here`, or else on another one."""
        with self._lock:
            if self._closed:
                raise StoreClosed("the store was closed")
            waiting = self._waiting.get(tenant)
            if waiting is not None:
                waiting.append(job)
                return
            self._waiting[tenant] = deque([job])
        if not here or not self._lead_once(tenant):
            self._threads.submit(self._lead, tenant)

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
        for job in jobs:
            job.settle()
        with self._idle:
            if self._waiting[tenant]:
                return False
            del self._waiting[tenant]
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
                asked = group.begin(jobs)
                # Only now, with the lock held, is what the key store says certain to hold until the commit.
                for destruction in self._sealer.refresh():
                    if destruction.tenant == tenant:
                        self._on_destruction(group.alone(), destruction)
                self._sealer.prepare(subject for job in jobs for subject in job.subjects)
                for job, answers in zip(jobs, asked, strict=True):
                    try:
                        job.error = None
                        job.result = job.work(group, answers)
                    except RecollectError as refusal:
                        job.error = refusal
                ending = True
                group.finish()
        except psycopg.Error as problem:
            if ending and is_lost(problem):
                raise _CommitLost from problem
            raise


def _spoken(problem: BaseException) -> BaseException:
    if isinstance(problem, _CommitLost):
        return OutcomeUnknown("the connection broke while the commit was under way", said=str(problem.__cause__))
    return translated(problem) if isinstance(problem, psycopg.Error) else problem
