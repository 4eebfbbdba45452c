"""A server that speaks MongoDB's protocol, for the tests: one that is named, or FerretDB, built once for all tests.

Run as a program, it builds FerretDB beforehand, and says so when it cannot be built; that is no failure.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

SOURCE = Path(__file__).parent / "ferretdb"
BUILD_SECONDS = 1_800


class Unavailable(Exception):
    """There is no such server here; the text says why."""


class Broken(Unavailable):
    """A server could have been built here, and was not."""


@cache
def place() -> Path:
    """Where the build belongs: beside the tests' interpreter, under a name that tells what it was built from."""
    digest = sha256(b"".join((SOURCE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum")))
    return Path(sys.prefix) / f"ferretdb-{digest.hexdigest()[:12]}"


def binary() -> Path:
    """The program, built by one process if need be."""
    built = place() / "ferretdb"
    if built.exists():
        return built
    go = shutil.which("go")
    if go is None:
        raise Unavailable(
            "Go is not installed, and FerretDB is built with it; or name a server in RECOLLECT_TEST_MONGODB_URL."
        )
    place().mkdir(parents=True, exist_ok=True)
    with (place() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(go, built)
    return built


def _build(go: str, target: Path) -> None:
    """Build it aside, so that a build that was broken off leaves nothing that looks like one."""
    aside = target.with_name("building")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly"}
    command = [go, "build", "-trimpath", "-o", str(aside), "."]
    try:
        told = subprocess.run(
            command, env=environment, cwd=SOURCE, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"building FerretDB took longer than {BUILD_SECONDS} seconds.") from None
    if told.returncode or not aside.exists():
        raise Broken(f"FerretDB could not be built: {told.stderr[-2_000:]}")
    aside.replace(target)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server for as long as the block lasts: one that is named, or a FerretDB of its own."""
    if named := os.environ.get("RECOLLECT_TEST_MONGODB_URL"):
        yield named
        return
    program = binary()
    with (
        tempfile.TemporaryDirectory(prefix="recollect-ferretdb-") as folder,
        (Path(folder) / "errors").open("w+") as told,
    ):
        process = subprocess.Popen(
            [str(program), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                told.seek(0)
                raise Broken(f"FerretDB did not start: {told.read()[-2_000:]}")
            yield url
        finally:
            process.stdin.close()  # it ends when its input does
            process.stdout.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session", name="mongodb")
def found_server() -> Iterator[str]:
    """A server's address; a test that needs it is skipped where there is none, and fails where CI should have one."""
    try:
        with serving() as url:
            yield url
    except Unavailable as problem:
        if isinstance(problem, Broken) and os.environ.get("CI"):
            pytest.fail(str(problem))
        pytest.skip(str(problem))


def fresh_database(server: str) -> str:
    """The URL of a database that nobody else uses."""
    return urlunsplit(urlsplit(server)._replace(path=f"/t{uuid4().hex}"))


if __name__ == "__main__":
    try:
        print(f"FerretDB for the tests is at {binary()}")
    except Unavailable as problem:
        print(f"Tests of the MongoDB backend will be skipped. {problem}")
