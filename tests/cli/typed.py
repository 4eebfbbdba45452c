"""The program as people start it: its own process, its own server, nothing taken from the environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60
COMMAND = [sys.executable, "-m", "recollect"]


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment without anything about Recollect but the data directory, and that nothing waits for a model."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("RECOLLECT_", "COVERAGE"))}
    own = {"RECOLLECT_HOME": str(home), "HOME": str(home.parent), "NO_COLOR": "1", "RECOLLECT_EMBEDDER": "hashing"}
    return kept | own | more


def typed(
    home: Path, *words: str, given: bytes = b"", cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[bytes]:
    """One call in a process of its own, waited for."""
    return subprocess.run(
        [*COMMAND, *words],
        input=given,
        capture_output=True,
        env=environment(home, **more),
        cwd=cwd,
        timeout=PATIENCE,
        check=False,
    )


def started(home: Path, *words: str, **streams: Any) -> subprocess.Popen[bytes]:
    """One call in a process of its own, still running."""
    return subprocess.Popen([*COMMAND, *words], env=environment(home), **streams)


@dataclass
class Serving:
    """A server that runs for a data directory."""

    process: subprocess.Popen[bytes]
    home: Path
    url: str
    admin_key: str | None

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


def serve(home: Path, *words: str, port: int = 0) -> Serving:
    """Start a server on a free port, and wait until it is ready."""
    process = started(
        home, "serve", "--json", "--port", str(port), "--log-level", "error", *words, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(f"the server ended with {process.wait(PATIENCE)}")
    told = json.loads(line)
    return Serving(process, home, told["url"], told["admin_key"])


@contextmanager
def serving(home: Path, *words: str, port: int = 0) -> Iterator[Serving]:
    """A server for as long as the block lasts."""
    server = serve(home, *words, port=port)
    try:
        yield server
    finally:
        server.stop()


def lines_of(text: bytes | str) -> list[Any]:
    """JSON Lines, read."""
    return [json.loads(line) for line in text.splitlines()]


def without_traceback(stderr: bytes | str, allowed: Sequence[str] = ()) -> bool:
    """True when people were spared a traceback."""
    text = stderr.decode() if isinstance(stderr, bytes) else stderr
    return "Traceback" not in text and "Exception ignored" not in text and all(word in text for word in allowed)
