"""Who writes: commits of one tenant that arrive together share a transaction and one wait for the disk.

The tenant's row is locked first, so writers of one tenant come one after another, whichever process they are in,
and tenants do not wait for each other. Within a process, the first who has something to write for a tenant writes
for all who come meanwhile.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from typing import Any

import psycopg

from recollect.backends.postgres.connections import Link, Pool, is_lost, is_worth_repeating, translated
from recollect.domain.errors import OutcomeUnknown, RecollectError, StoreClosed
from recollect.domain.events import Head
from recollect.ports.keys import Destruction, Sealer

_LOCK = "SELECT sequence, hash, trimmed, trimmed_hash, change FROM tenants WHERE tenant = $1 FOR UPDATE"
_MAKE = "INSERT INTO tenants (tenant) VALUES ($1) ON CONFLICT (tenant) DO NOTHING"
_MOVE = "UPDATE tenants SET sequence = $2, hash = $3, trimmed = $4, trimmed_hash = $5, change = $6 WHERE tenant = $1"
_ATTEMPTS = 4


class Group:
    """One transaction under way that holds the lock of its tenant: its connection, and where the log ends."""

    def __init__(self, link: Link, tenant: str) -> None:
        self.link = link
        self.tenant = tenant
        self.head = Head()
        self._change = 0
        self._moved = False

    def begin(self, send: Callable[[Link], Any] | None) -> Any:
        """Lock the tenant, and send what the first job asks along with it."""
        self.link.send("BEGIN")
        locked = self.link.send(_LOCK, self.tenant)
        sent = None if send is None else send(self.link)
        found = locked.fetchone()
        if found is None:  # nobody has written for this tenant before
            self.link.send(_MAKE, self.tenant)
            found = self.link.row(_LOCK, self.tenant)
            sent = None if send is None else send(self.link)
        if found is None:
            raise AssertionError("unreachable: the row was made, and rows of tenants are never deleted")
        *head, self._change = found
        self.head = Head(*head)
        return sent

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
        """Write where the log ends, and commit."""
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
        send: Callable[[Link], Any] | None = None,
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
                sent = group.begin(jobs[0].send)
                # Only now, with the lock held, is what the key store says certain to hold until the commit.
                for destruction in self._sealer.refresh():
                    if destruction.tenant == tenant:
                        self._on_destruction(group, destruction)
                        sent = None
                self._sealer.prepare(subject for job in jobs for subject in job.subjects)
                for job in jobs:
                    if sent is None and job.send is not None:
                        sent = job.send(link)
                    try:
                        job.error = None
                        job.result = job.work(group, sent)
                    except RecollectError as refusal:
                        job.error = refusal
                    sent = None
                ending = True
                group.finish()
        except psycopg.Error as problem:
            if ending and is_lost(problem):
                raise _CommitLost from problem
            raise


def _spoken(problem: BaseException) -> BaseException:
    if isinstance(problem, _CommitLost):
        return OutcomeUnknown(f"the connection broke while the commit was under way ({problem.__cause__})")
    return translated(problem) if isinstance(problem, psycopg.Error) else problem
