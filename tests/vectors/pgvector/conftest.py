"""Vectors in a schema of its own on the PostgreSQL for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.engines.postgres import needs_postgres

from recollect.backends.postgres.vectors import PostgresVectors, VectorOptions
from recollect.testing.postgres import drop_schema, fresh_schema

OpenVectors = Callable[..., PostgresVectors]


@pytest.fixture
def options() -> Iterator[VectorOptions]:
    url, schema = needs_postgres(), fresh_schema()
    yield VectorOptions(url, schema, connections=4)
    drop_schema(url, schema)


@pytest.fixture
def opened(options: VectorOptions) -> Iterator[OpenVectors]:
    """Opens vectors on the same data; all are closed in the end."""
    made: list[PostgresVectors] = []

    def make(other: VectorOptions | None = None) -> PostgresVectors:
        made.append(PostgresVectors(other or options))
        return made[-1]

    yield make
    for vectors in made:
        vectors.close()
        assert not vectors._pool._all, "a connection is still open"
