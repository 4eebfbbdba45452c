"""Places for deployments: a database of its own on each server."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from pymongo import MongoClient
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import needs_postgres


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL database of its own."""
    url, name = needs_postgres(), f"t{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def documents(mongodb: str) -> Iterator[str]:
    """The URL of a MongoDB database of its own."""
    name = f"t{uuid4().hex}"
    yield urlunsplit(urlsplit(mongodb)._replace(path=f"/{name}"))
    with MongoClient[dict[str, object]](mongodb) as client:
        client.drop_database(name)
