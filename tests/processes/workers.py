"""Processes that index one database as servers do, each by a clock that is minutes off, and are killed at any moment.

A clean parent, which never opens a store, forks each of them; that is quicker than starting an interpreter.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.search.soundness import TENANT

from recollect.config import Secret, Settings
from recollect.domain.instants import Instant
from recollect.main import compose, system_clock
from recollect.ports.store import Reflected, Store
from recollect.surfaces.logs import configure
from recollect.workers.indexer import Indexer

MINUTES = (-5, 0, 5)
"""How far the clocks of the processes are off."""
LONGEST_SECONDS = 1.5
LEASE_SECONDS = 1.0
"""As long as a killed process keeps the others from going on; a server's is longer."""


def settings_of(store: str, batch: int = 20) -> Settings:
    return Settings(store=Secret(store), embedder="hashing", policy_engine="builtin", index_batch=batch)


class Workers:
    """One process per clock; killed ones are replaced. A context manager."""

    def __init__(self, home: Path, store: str, *, rivals: bool = False, bug: str = "") -> None:
        self._order = {"home": str(home), "store": store, "rivals": rivals, "bug": bug}
        command = [sys.executable, "-m", __name__]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._pids: list[int] = []
        self._over = threading.Event()
        self._killing: threading.Thread | None = None
        self.kills = 0

    def __enter__(self) -> Workers:
        self._pids = [self._start(minutes) for minutes in MINUTES]
        return self

    def __exit__(self, *problem: object) -> None:
        self.rest()
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
        self._parent.communicate()

    def kill_at_random(self, seed: int, most: int) -> None:
        """From now on, kill one of them again and again, so often at most, and start another in its place."""
        chance = random.Random(seed)

        def kill() -> None:
            while self.kills < most and not self._over.wait(chance.uniform(0.05, LONGEST_SECONDS)):
                place = chance.randrange(len(self._pids))
                os.kill(self._pids[place], signal.SIGKILL)
                self._pids[place] = self._start(MINUTES[place])
                self.kills += 1

        self._killing = threading.Thread(target=kill)
        self._killing.start()

    def rest(self) -> None:
        """Kill no more."""
        self._over.set()
        if self._killing is not None:
            self._killing.join()
            self._killing = None

    def _start(self, minutes: int) -> int:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps({**self._order, "minutes": minutes}) + "\n")
        self._parent.stdin.flush()
        return int(self._parent.stdout.readline())


def main() -> None:
    """Fork a process for each order, and say its number."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _work(json.loads(line))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


def _work(order: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        asyncio.run(_index(**order))
    except BaseException:  # noqa: BLE001 - a forked child never returns into the parent's code
        traceback.print_exc()
    os._exit(1)


async def _index(home: str, store: str, minutes: int, *, rivals: bool, bug: str) -> None:
    def clock() -> Instant:
        return Instant(system_clock() + minutes * 60_000_000)

    configure("warning", "text")
    workings = await asyncio.to_thread(compose, home, settings_of(store), clock)
    if bug:
        BUGS[bug](workings.store)
    indexing = workings.indexing
    worker = Indexer(
        workings.store,
        workings.extractor,
        indexing,
        workings.searching,
        workings.decisions,
        holder=str(os.getpid()),
        seconds=lambda: 0.05,
    )
    worker.lease_seconds = LEASE_SECONDS
    while rivals:
        await indexing.round(TENANT)
        await asyncio.sleep(0.02)
    await worker.run()


def _loses_entries(store: Store) -> None:
    """Marks the first of each batch as indexed, and keeps no entry of it."""
    honest = store.reflect

    async def reflect(tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        return await honest(
            tenant, series, [Reflected(each.mark, None) if not at else each for at, each in enumerate(reflected)]
        )

    store.reflect = reflect  # type: ignore[method-assign] # the planted bug


def _keeps_what_ended(store: Store) -> None:
    """Marks what ended, and leaves its entry where it is."""
    honest = store.reflect

    async def reflect(tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        ended = [each.mark for each in reflected if not each.mark.live]
        done = await store.mark_indexed(tenant, ended) if ended else 0
        return done + await honest(tenant, series, [each for each in reflected if each.mark.live])

    store.reflect = reflect  # type: ignore[method-assign] # the planted bug


BUGS = {"loses entries": _loses_entries, "keeps what ended": _keeps_what_ended}


if __name__ == "__main__":
    main()
