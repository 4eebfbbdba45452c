"""Processes that index a data directory and are killed at a step of it.

A clean parent, which never opens a store, forks a child per order; that is quicker than starting an interpreter.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.search.plain import SETTINGS
from tests.search.steps import Steps, counted

from recollect.config import Settings
from recollect.main import compose
from recollect.sync import drive

TENANT = "default"


class Victims:
    """Runs one process after the other to its death. Use it as a context manager."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Victims:
        return self

    def __exit__(self, *problem: object) -> None:
        self._parent.communicate()

    def index(self, folder: Path, step: int, *, after: bool, dimension: int = 256, batch: int = 100) -> bool:
        """Let a process index and die at a step; False when it came to an end before that."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        order = {"folder": str(folder), "step": step, "after": after, "dimension": dimension, "batch": batch}
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        ended = int(self._parent.stdout.readline())
        assert ended in (0, -signal.SIGKILL), f"the indexing process failed by itself: {ended}"
        return ended != 0


def with_dimension(dimension: int, batch: int = 100) -> Settings:
    given: dict[str, Any] = {"embedder": "hashing", "policy_engine": SETTINGS.policy_engine}
    return Settings(**given, embedder_dimension=dimension, index_batch=batch)


def serve() -> None:
    """Carry out each order in a child, and say how that ended."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _index(**json.loads(line))
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{ended}\n")
        sys.stdout.flush()


def _index(folder: str, step: int, *, after: bool, dimension: int, batch: int) -> None:
    try:
        workings = compose(folder, with_dimension(dimension, batch), direct=True)
        with counted(workings, Steps(step, after=after, die=True)):
            drive(workings.indexing.round(TENANT))
        drive(workings.close())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a forked child never returns into the parent's code
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    serve()
