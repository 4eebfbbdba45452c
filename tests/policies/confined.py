"""A program that tries what an evaluation must not be able to do, and tells what it could; started by its path.

Its arguments: where regopy is, where the program that evaluates is, `confined` or `free`, and a file to read.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


def fork() -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def spawn() -> None:
    os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "0"], {}), 0)


def thread() -> None:
    started = threading.Thread(target=int)
    started.start()
    started.join()


def execute() -> None:
    if sys.argv[3] == "confined":  # else there would be nobody left to tell of it
        os.execv(sys.executable, [sys.executable, "-c", "print('executed')"])


PROBES: dict[str, Callable[[], Any]] = {
    "reads a file": lambda: Path(sys.argv[4]).read_text(),
    "writes a file": lambda: Path(f"{sys.argv[4]}.written").write_text("x"),
    "lists a folder": lambda: os.listdir("/"),  # noqa: PTH208 - as plainly as can be
    "opens a socket": lambda: socket.socket().close(),
    "makes a pair of sockets": lambda: socket.socketpair(),
    "forks": fork,
    "spawns": spawn,
    "starts a thread": thread,
    "signals its parent": lambda: os.kill(os.getppid(), 0),
    "takes more files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1_000, 1_000)),
    "dumps its memory": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
    "executes": execute,
}


def main() -> None:
    """Start as the program that evaluates does, and try everything."""
    sys.path.append(sys.argv[1])
    importlib.import_module("regopy")
    spec = importlib.util.spec_from_file_location("sandboxed", sys.argv[2])
    if spec is None or spec.loader is None:
        raise AssertionError(sys.argv[2])
    sandboxed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sandboxed)
    answers = os.fdopen(os.dup(1), "w")
    if sys.argv[3] == "confined":
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        sandboxed.confine()
    done = []
    for name, probe in PROBES.items():
        try:
            probe()
        except (OSError, ValueError, RuntimeError):
            continue
        done.append(name)
    environment = sorted(set(os.environ) - {"LC_CTYPE"})  # which Python itself sets
    answers.write(json.dumps({"done": done, "environment": environment}))
    answers.close()


if __name__ == "__main__":
    main()
