"""The real service in a process of its own, on loopback, in a directory of the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = """
import sys
from pathlib import Path
from recollect.server import serve
serve(Path(sys.argv[1]), flags={"port": int(sys.argv[2])})
"""


class Service:
    """A server that can be ended and started again at the same address."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        self.token: str = self._note("credentials.json")["token"]

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
        environment["RECOLLECT_EMBEDDER"] = "hashing"  # so that nothing waits for a model
        command = [sys.executable, "-c", PROGRAM, str(self.home), str(self.port)]
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise AssertionError((self.home / "server.log").read_text())
            note = self._note("server.json")
            if note.get("pid") == self._process.pid:
                self.url: str = note["url"]
                self.port = int(self.url.rpartition(":")[2])
                return
            time.sleep(0.02)
        raise AssertionError("the server did not start")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(30)

    def _note(self, name: str) -> dict[str, Any]:
        try:
            note: dict[str, Any] = json.loads((self.home / name).read_text())
        except (OSError, ValueError):
            return {}
        return note
