"""A cache that goes by stamps, while two processes write: is it ever behind what was acknowledged?"""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.concurrency.crew import in_threads, meet

from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.domain.address import Address, namespace
from recollect.domain.commits import Commit, Put
from recollect.domain.instants import Instant
from recollect.domain.reasons import Plane
from recollect.sync import drive

TENANT = "default"
BOARD = "acknowledged"
_DONE = 2
Stamp = Callable[[SqliteStore], object]


class Seen(NamedTuple):
    """What a reader with a cache saw: answers from the cache, answers that were too old, and commits of the other."""

    cached: int
    stale: int
    noticed: int


def by_stamp(store: SqliteStore) -> object:
    """As the store offers it."""
    return store.stamp()


def by_own_commits(store: SqliteStore) -> object:
    """The planted bug: what this process has written says nothing of the others."""
    return store._writer.db.total_changes()


def _identity(at: Instant) -> bytes:
    return os.urandom(16)


def _now() -> Instant:
    return Instant(time.time_ns() // 1_000)


def opened(folder: Path, *, exclusive: bool = False) -> SqliteStore:
    """The store on that folder's file, for plain threads."""
    options = SqliteOptions(folder / "data.db", exclusive=exclusive)
    return SqliteStore(options, clock=_now, ids=_identity, sealer=Plain(), direct=True)


def make_board(folder: Path) -> None:
    """Where each process notes what was acknowledged to it: two revisions, and whether each has finished."""
    (folder / BOARD).write_bytes(bytes(8 * 2 * _DONE))


def part_of_stamping(folder: Path, me: int, commits: int, stamp: Stamp) -> Seen:
    """Write a key of one's own and read the other's through the cache, both at once."""
    with (folder / BOARD).open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        board = memoryview(shared).cast("Q")
        store = opened(folder)
        try:
            meet()
            write, read = partial(_write, store, board, me, commits), partial(_read, store, board, 1 - me, stamp)
            return next(seen for seen in in_threads(write, read) if seen is not None)
        finally:
            drive(store.close())
            board.release()


def _place(number: int) -> Address:
    return Address(Plane.ITEM, namespace(("counter",)), str(number))


def _write(store: SqliteStore, board: memoryview, me: int, commits: int) -> None:
    chance = random.Random(me)
    for revision in range(1, commits + 1):
        drive(store.commit(Commit(TENANT, (Put(_place(me), b"%d" % revision),))))
        board[me] = revision
        if chance.random() < 0.5:
            time.sleep(chance.random() / 500)
    board[_DONE + me] = 1


def _read(store: SqliteStore, board: memoryview, other: int, stamp: Stamp) -> Seen:
    cached = stale = noticed = 0
    known: tuple[object, int] | None = None
    finished = False
    while not finished:
        finished = bool(board[_DONE + other])
        acknowledged = board[other]
        mark = stamp(store)
        if known is not None and known[0] == mark:
            cached += 1
        else:
            row = drive(store.get(TENANT, _place(other)))
            revision = row.revision if row else 0
            noticed += known is not None and known[1] != revision
            known = (mark, revision)
        stale += known[1] < acknowledged
    return Seen(cached, stale, noticed)


def part_of_turns(folder: Path, me: int, turns: int) -> tuple[int, int]:
    """Commit in turns, and count how often a stamp missed a commit, and how often it changed without one."""
    store, missed, restless = opened(folder), 0, 0
    try:
        for turn in range(turns):
            meet()
            before = store.stamp()
            restless += before != store.stamp()
            meet()
            if turn % 2 == me:
                drive(store.commit(Commit(TENANT, (Put(_place(me), b"{}"),))))
            meet()
            missed += before == store.stamp()
    finally:
        drive(store.close())
    return missed, restless
