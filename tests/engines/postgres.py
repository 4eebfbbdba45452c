"""What a test does without the server it needs: skip on a laptop, fail where everything must be tested."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.testing.engines import EngineMissing, postgres_url


def needs_postgres() -> str:
    """Where the PostgreSQL for tests is. Without one the test is skipped, or fails when `CI` is set."""
    try:
        return postgres_url()
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))


@contextmanager
def fresh_database() -> Iterator[str]:
    """The URL of a database of its own, for as long as the block lasts."""
    url, name = needs_postgres(), f"t{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
