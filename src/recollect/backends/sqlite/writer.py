"""The one thread that writes: commits that arrive together share a transaction and one wait for the disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import apsw

from recollect.backends.sqlite.connections import empty_log, open_connection, translated
from recollect.backends.sqlite.options import SqliteOptions
from recollect.domain.errors import OutcomeUnknown, RecollectError, StoreClosed
from recollect.domain.events import Head
from recollect.ports.keys import Destruction, Sealer

_HEAD = "SELECT sequence, hash, trimmed, trimmed_hash FROM tenants WHERE tenant = ?"
_SET_HEAD = """
INSERT INTO tenants (tenant, sequence, hash, trimmed, trimmed_hash) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant) DO UPDATE SET
    sequence = excluded.sequence, hash = excluded.hash, trimmed = excluded.trimmed, trimmed_hash = excluded.trimmed_hash
"""


class Group:
    """One transaction under way: its connection, and the heads of the logs that it has moved."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._heads: dict[str, Head] = {}
        self._moved: set[str] = set()

    def head(self, tenant: str) -> Head:
        """Where the tenant's log ends, with what this transaction has appended."""
        head = self._heads.get(tenant)
        if head is None:
            row = next(self.db.execute(_HEAD, (tenant,)), None)
            head = self._heads[tenant] = Head() if row is None else Head(*row)
        return head

    def move(self, tenant: str, head: Head) -> None:
        """The tenant's log now ends, or begins, elsewhere."""
        self._heads[tenant] = head
        self._moved.add(tenant)

    def flushed(self) -> apsw.Connection:
        """The connection, for a question that must see what the work before it has done."""
        self.flush()
        return self.db

    def flush(self) -> None:
        """Write the heads that moved."""
        for tenant in self._moved:
            head = self._heads[tenant]
            self.db.execute(_SET_HEAD, (tenant, head.sequence, head.hash, head.trimmed, head.trimmed_hash))
        self._moved.clear()


Work = Callable[[Group], Any]
"""What to do within a transaction. It decides first: when it raises an error of ours, it has written nothing."""


class Job:
    """A piece of work, whose keys it needs, whether the write-ahead log is to be emptied after it, and whom to tell."""

    __slots__ = ("cleans", "error", "future", "loop", "result", "subjects", "work")

    def __init__(
        self,
        work: Work,
        subjects: Iterable[tuple[str, str]],
        cleans: bool,
        future: asyncio.Future[Any] | Future[Any],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.work, self.subjects, self.cleans, self.future, self.loop = work, subjects, cleans, future, loop
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


class Writer:
    """A thread with the only writing connection of this process."""

    def __init__(
        self,
        options: SqliteOptions,
        sealer: Sealer,
        on_commit: Callable[[], None],
        on_destruction: Callable[[Group, Destruction], object],
    ) -> None:
        self._options = options
        self._sealer = sealer
        self._on_commit = on_commit
        self._on_destruction = on_destruction
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self.db = open_connection(options, writes=True)
        self._thread = threading.Thread(target=self._run, name="recollect-writer", daemon=True)

    def start(self) -> None:
        """Begin to carry out what is submitted."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Carry this out and settle its future once it is on disk."""
        with self._closing:
            if self._closed:
                raise StoreClosed("the store was closed")
            self._queue.put(job)

    def close(self) -> None:
        """Carry out what was submitted, then close the connection."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join()
        self.db.close()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            jobs: list[Job] = []
            job = self._queue.get()
            while True:
                if job is None:
                    stopping = True
                    break
                jobs.append(job)
                if len(jobs) >= self._options.group:
                    break
                try:
                    job = self._queue.get_nowait()
                except Empty:
                    break
            if jobs:
                self._carry_out(jobs)
                _settle(jobs)

    def _carry_out(self, jobs: list[Job]) -> None:
        try:
            self._transaction(jobs)
        except BaseException as problem:  # noqa: BLE001 - this thread must live on, and its callers must hear of it
            self._roll_back()
            if isinstance(problem, _NotBegun | _CommitFailed) or len(jobs) == 1:
                error = _spoken(problem)
                for job in jobs:
                    job.error = error
            else:
                for job in jobs:
                    self._carry_out([job])
            return
        for job in jobs:
            if job.cleans and job.error is None:
                job.error = self._empty_log()
        self._on_commit()

    def _transaction(self, jobs: list[Job]) -> None:
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except apsw.Error as problem:
            raise _NotBegun from problem
        # Only now, with the write lock held, is what the key store says certain to hold until the commit.
        group = Group(self.db)
        for destruction in self._sealer.refresh():
            self._on_destruction(group, destruction)
        self._sealer.prepare(subject for job in jobs for subject in job.subjects)
        for job in jobs:
            try:
                job.error = None
                job.result = job.work(group)
            except RecollectError as refusal:
                job.error = refusal
        group.flush()
        try:
            self.db.execute("COMMIT")
        except apsw.Error as problem:
            raise _CommitFailed from problem

    def _empty_log(self) -> RecollectError | None:
        """Move the write-ahead log into the file and cut it off, so that nothing lingers there."""
        try:
            if empty_log(self.db):
                return None
            cause = "it is still being read"
        except apsw.Error as problem:
            cause = str(problem)
        return OutcomeUnknown(f"it is done, but traces may be left in the write-ahead log ({cause}); repeat it")

    def _roll_back(self) -> None:
        with suppress(apsw.Error):
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")


class _NotBegun(Exception):
    """The write lock was not to be had: none of the jobs is to blame, and none would fare better alone."""


class _CommitFailed(Exception):
    """The transaction failed at its very end: whether it lasts is not known, for none of the jobs."""


def _spoken(problem: BaseException) -> BaseException:
    if isinstance(problem, _CommitFailed):
        return OutcomeUnknown(f"the commit failed at its end ({problem.__cause__})")
    if isinstance(problem, _NotBegun) and problem.__cause__ is not None:
        return _spoken(problem.__cause__)
    return translated(problem) if isinstance(problem, apsw.Error) else problem


def _settle(jobs: list[Job]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in jobs:
        if job.loop is None:
            job.settle()
        else:
            loops.setdefault(job.loop, []).append(job)
    for loop, mine in loops.items():
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(_settle_all, mine)


def _settle_all(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
