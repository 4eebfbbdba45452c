"""A real OPA to compare with: found, or built once for all tests, and run as a server on a free port.

Run as a program, it builds OPA beforehand, and says so when it cannot be built; that is no failure.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

VERSION = "v1.22.0"
MODULE = f"github.com/open-policy-agent/opa@{VERSION}"
PLACE = Path(sys.prefix) / f"opa-{VERSION}"
POLICIES = Path(__file__).parents[2] / "policies"
BUILD_SECONDS = 1_800
START_SECONDS = 30.0


class Unavailable(Exception):
    """There is no OPA here; the text says why."""


class Broken(Unavailable):
    """OPA could have been built here, and was not."""


def binary() -> Path:
    """Where OPA is: `RECOLLECT_TEST_OPA`, or a build of its own beside the tests' interpreter, made by one process."""
    if named := os.environ.get("RECOLLECT_TEST_OPA"):
        return Path(named)
    built = PLACE / "opa"
    if built.exists():
        return built
    go = shutil.which("go")
    if go is None:
        raise Unavailable("Go is not installed, and OPA is built with it; or name a binary in RECOLLECT_TEST_OPA.")
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(go, built)
    return built


def _build(go: str, target: Path) -> None:
    """Build it aside, so that a build that was broken off leaves nothing that looks like one."""
    aside = target.with_name("building")
    environment = {**os.environ, "GOBIN": str(aside), "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    try:
        told = subprocess.run(
            [go, "install", "-trimpath", MODULE],
            env=environment,
            cwd=target.parent,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"`go install {MODULE}` took longer than {BUILD_SECONDS} seconds.") from None
    if told.returncode or not (aside / "opa").exists():
        raise Broken(f"`go install {MODULE}` failed: {told.stderr[-2_000:]}")
    (aside / "opa").replace(target)
    shutil.rmtree(aside, ignore_errors=True)


@pytest.fixture(scope="session", name="opa")
def found_opa() -> Path:
    """The binary; a test that needs it is skipped where there is none, and fails where CI should have made one."""
    try:
        return binary()
    except Unavailable as problem:
        if isinstance(problem, Broken) and os.environ.get("CI"):
            pytest.fail(str(problem))
        pytest.skip(str(problem))


class OpaServer:
    """An OPA server of one's own, with what lies in some folders loaded."""

    def __init__(self, program: Path, *loaded: Path, arguments: tuple[str, ...] = (), token: str = "") -> None:
        self._program = program
        self._loaded = loaded
        self._arguments = arguments
        self._token = token
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> OpaServer:
        """Start it and wait until it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{address}"
        self._process = subprocess.Popen(
            [
                *(str(self._program), "run", "--server", "--addr", address, "--log-level", "error"),
                *("--disable-telemetry", *self._arguments, *map(str, self._loaded)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
                return self
            time.sleep(0.02)
        told = self.stop()
        raise RuntimeError(f"OPA did not start: {told[-2_000:]}")

    def stop(self) -> str:
        """End it, and return what it complained of."""
        if self._process is None:
            return ""
        process, self._process = self._process, None
        process.kill()
        return process.communicate()[1].decode(errors="replace")

    def put(self, path: str, body: bytes | Mapping[str, Any] | list[Any]) -> None:
        """Put a policy (text) or data (anything else) at a path of its API."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "text/plain" if isinstance(body, bytes) else "application/json"
        self._ask("PUT", path, data, kind)

    def delete(self, path: str) -> None:
        """Take a policy away."""
        self._ask("DELETE", path, None, "application/json")

    def _ask(self, method: str, path: str, body: bytes | None, kind: str) -> None:
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {self._token}"} if self._token else {})
        asked = urllib.request.Request(f"{self.url}{path}", body, headers, method=method)
        try:
            urllib.request.urlopen(asked, timeout=30).close()
        except urllib.error.HTTPError as refused:
            with refused:
                raise AssertionError(f"OPA refused {method} {path}: {refused.read().decode()}") from None

    def __enter__(self) -> OpaServer:
        return self.start()

    def __exit__(self, *problem: object) -> None:
        self.stop()


@contextmanager
def serving(program: Path, *loaded: Path, arguments: tuple[str, ...] = (), token: str = "") -> Iterator[OpaServer]:
    """A server for as long as the block lasts; without folders it has the policies that ship with Recollect."""
    with OpaServer(program, *(loaded or (POLICIES,)), arguments=arguments, token=token) as server:
        yield server


if __name__ == "__main__":
    try:
        print(f"OPA for the tests is at {binary()}")
    except Unavailable as problem:
        print(f"Tests that compare with OPA will be skipped. {problem}")
