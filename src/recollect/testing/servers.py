"""Real servers for tests: processes of their own, on free loopback ports, over a data directory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_PROGRAM = """
import sys
from pathlib import Path
from recollect.server import serve
serve(Path(sys.argv[1]), announce=lambda started: print(started.url, flush=True))
"""
START_SECONDS = 60.0
STOP_SECONDS = 60.0


class Server:
    """A server process over a data directory; settings are those of the environment (`RECOLLECT_…`).

    Its searches understand nothing (`embedder="hashing"`), so that no test waits for a model; say `embedder="local"`
    for one that is about it.
    """

    def __init__(self, home: Path, **settings: object) -> None:
        self.home = home
        self.settings: dict[str, object] = {"port": 0, "log_level": "warning", "embedder": "hashing", **settings}
        self.url = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Server:
        """Start it and wait until it is ready; what it logs goes to `server.log` beside the data."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
        given = {f"RECOLLECT_{name.upper()}": _text(value) for name, value in self.settings.items()}
        with (self.home / "server.log").open("a") as log:
            self.process = subprocess.Popen(  # noqa: S603 - this very program, no shell
                [sys.executable, "-c", _PROGRAM, str(self.home)],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**kept, **given},
                text=True,
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.process.wait(STOP_SECONDS)
            self.process.stdout.close()
            raise RuntimeError(f"the server did not start: {self.log()[-2000:]}")
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                urllib.request.urlopen(f"{self.url}/readyz", timeout=5).close()  # noqa: S310 - our own loopback
                return
            time.sleep(0.02)
        raise RuntimeError("the server did not become ready")

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.url.rpartition(":")[2])

    @property
    def grpc(self) -> str:
        """Where its gRPC door is, for a server with `grpc_port`."""
        return str(json.loads((self.home / "server.json").read_text())["grpc"])

    @property
    def token(self) -> str:
        """The administrator's key that its first start made."""
        return str(json.loads((self.home / "credentials.json").read_text())["token"])

    def log(self) -> str:
        """What it has logged so far."""
        return (self.home / "server.log").read_text()

    def stop(self) -> int:
        """Stop it as an operator would, and return its exit code."""
        return self.end(signal.SIGTERM)

    def kill(self) -> int:
        """Kill it without warning."""
        return self.end(signal.SIGKILL)

    def end(self, how: signal.Signals) -> int:
        """Send a signal and wait for the end."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            return process.wait(STOP_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def request(
        self, method: str, path: str, body: object = None, *, token: str | None = None, headers: Mapping[str, str] = {}
    ) -> tuple[int, Any, Mapping[str, str]]:
        """One request without any client library: status, decoded body, headers. An empty token means none."""
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **headers}
        if token == "":
            del sent["Authorization"]
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        asked = urllib.request.Request(f"{self.url}{path}", data, sent, method=method)  # noqa: S310 - our own loopback
        try:
            with urllib.request.urlopen(asked, timeout=60) as reply:  # noqa: S310 - our own loopback
                return reply.status, _decoded(reply.read()), {k.lower(): v for k, v in reply.headers.items()}
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, _decoded(refused.read()), {k.lower(): v for k, v in refused.headers.items()}

    def key_for(self, user: str, **wishes: object) -> str:
        """A fresh API key for a user."""
        status, made, _ = self.request("POST", "/admin/v1/tokens", {"user_id": user, **wishes})
        assert status == 201, made
        return str(made["secret"])

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *problem: object) -> None:
        self.end(signal.SIGTERM)


@contextlib.contextmanager
def running(home: Path, **settings: object) -> Iterator[Server]:
    """A server for as long as the block lasts."""
    with Server(home, **settings) as server:
        yield server


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body
