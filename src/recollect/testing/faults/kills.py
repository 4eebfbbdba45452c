"""Processes that write until they are killed, and tell of every write that was acknowledged to them.

A clean parent process, which never opens a store, forks a child per cycle; that costs milliseconds, where
starting an interpreter costs a tenth of a second. The child opens the store, writes from several threads
and reports each acknowledged write over a pipe; the parent kills it after a random time and passes on
what it had said.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from recollect.backends.sqlite.writer import Group, Job, Writer
from recollect.domain.errors import RecollectError
from recollect.main import open_sync
from recollect.service.views import Written
from recollect.sync import MemoriesSync

THREADS = 4
SUBJECTS = 6
KEYS = 8
LONGEST_MS = 50.0
_OPEN_WITHIN = 60.0
_PLANTED_DELAY = 0.002


class Acknowledged(NamedTuple):
    """A write that the store had confirmed before its process was killed."""

    kind: str
    subject: str
    key: str
    revision: int
    sequence: int
    token: str
    """What was written; empty for a deletion or erasure."""


class Victims:
    """Runs one process after the other to its death. Use it as a context manager."""

    def __init__(self) -> None:
        command = [sys.executable, "-W", "error", "-m", __name__]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603

    def __enter__(self) -> Victims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parent.communicate()

    def killed(self, folder: Path, seed: int, *, from_fork: bool = False, planted: bool = False) -> list[Acknowledged]:
        """Let a process write to a data directory and kill it; return what it had been acknowledged.

        The random time begins with the first write, or with `from_fork` before the directory is opened.
        `planted` makes the store acknowledge before it commits, which must not go unnoticed.
        """
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        order = {"folder": str(folder), "seed": seed, "from_fork": from_fork, "planted": planted}
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        answer = json.loads(self._parent.stdout.readline())
        if "failed" in answer:
            raise AssertionError(f"the writing process failed by itself: {answer['failed']}")
        return [Acknowledged(*each) for each in answer["acknowledged"]]


# -- in the clean parent


def serve() -> None:
    """Answer each order with what a child of it was acknowledged."""
    for line in sys.stdin:
        answer = _one_life(**json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _one_life(folder: str, seed: int, *, from_fork: bool, planted: bool) -> dict[str, Any]:
    chance = random.Random(seed)
    seconds = chance.uniform(0, LONGEST_MS) / 1_000
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live(Path(folder), seed, writing, planted=planted)
    os.close(writing)
    try:
        said = b""
        if not from_fork:
            said = _listen(reading, _OPEN_WITHIN, until=b"\n")
        said += _listen(reading, seconds)
        os.kill(child, signal.SIGKILL)
        said += _listen(reading, _OPEN_WITHIN)
    finally:
        os.close(reading)
        os.waitpid(child, 0)
    lines = [json.loads(line) for line in said.splitlines()]
    failures = [line["failed"] for line in lines if "failed" in line]
    if failures:
        return {"failed": failures[0]}
    return {"acknowledged": [each for line in lines for each in line["acknowledged"]]}


def _listen(reading: int, seconds: float, until: bytes | None = None) -> bytes:
    """What comes in so many seconds, or until a mark or the end."""
    deadline = time.monotonic() + seconds
    heard = b""
    while (left := deadline - time.monotonic()) > 0 and (until is None or until not in heard):
        if select.select([reading], [], [], left)[0]:
            more = os.read(reading, 1 << 16)
            if not more:
                break
            heard += more
    return heard


# -- in the child


def _live(folder: Path, seed: int, writing: int, *, planted: bool) -> None:
    """Write until killed. Reports are shorter than a pipe's buffer, so each arrives wholly or not at all."""

    def say(line: dict[str, Any]) -> None:
        os.write(writing, json.dumps(line).encode() + b"\n")

    try:
        if planted:
            _acknowledge_early()
        memories = open_sync(folder)
        memories.get(("user", "nobody"), "nothing")  # the first question also starts the policy's process
        say({"acknowledged": []})
        threads = [threading.Thread(target=_write, args=(memories, f"{seed}-{n}", say)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as problem:  # noqa: BLE001 - the child must not run on as a copy of its parent
        say({"failed": repr(problem)})
    finally:
        os._exit(1)


def _write(memories: MemoriesSync, name: str, say: Callable[[dict[str, Any]], None]) -> None:
    chance = random.Random(name)
    try:
        for count in range(1_000_000):
            place = f"s{chance.randrange(SUBJECTS)}", f"k{chance.randrange(KEYS)}"
            if chance.random() < 0.01:
                receipt = memories.erase(f"user:{place[0]}")
                say({"acknowledged": [("erased", place[0], "", 0, receipt.sequence, "")]})
                continue
            written, told = _one_write(memories, chance, place, f"{name}-{count}")
            if written.sequence is not None:
                say({"acknowledged": [(written.kind, *place, written.revision, written.sequence, told)]})
    except RecollectError as problem:
        say({"failed": repr(problem)})


def _one_write(
    memories: MemoriesSync, chance: random.Random, place: tuple[str, str], token: str
) -> tuple[Written, str]:
    subject, key = place
    if chance.random() < 0.2:
        return memories.delete(("user", subject), key), ""
    value = {"token": token, "text": "x" * chance.choice((10, 200, 5_000))}
    return memories.put(("user", subject), key, value), token


def _acknowledge_early() -> None:
    """The planted bug: whoever waits for a commit is told of its success shortly before it happens."""
    honest = Writer._transaction

    def early(writer: Writer, jobs: list[Job]) -> None:
        for job in jobs:
            job.work = _telling(job)
        honest(writer, jobs)

    def _telling(job: Job) -> Callable[[Group], Any]:
        work = job.work

        def tell(group: Group) -> Any:
            job.result = work(group)
            job.settle()
            time.sleep(_PLANTED_DELAY)
            return job.result

        return tell

    Writer._transaction = early  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    serve()
