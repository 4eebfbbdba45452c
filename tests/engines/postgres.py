"""What a test does without the server it needs: skip on a laptop, fail where everything must be tested."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.testing.engines import EngineMissing, PostgresCluster, postgres_url

Engine = TypeVar("Engine")


def needs_postgres() -> str:
    """Where the PostgreSQL for tests is. Without one the test is skipped, or fails when `CI` is set."""
    return _needed(postgres_url)


def needs_cluster() -> PostgresCluster:
    """A PostgreSQL that the test may kill, not started yet. Without one, as above."""
    return _needed(PostgresCluster)


def _needed(engine: Callable[[], Engine]) -> Engine:
    try:
        return engine()
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@contextmanager
def fresh_database(server: str | None = None) -> Iterator[str]:
    """The URL of a database of its own, on this server or the one for tests, for as long as the block lasts."""
    url, name = server or needs_postgres(), f"t{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(name="database")
def own_database() -> Iterator[str]:
    """The URL of a database of its own."""
    with fresh_database() as url:
        yield url
