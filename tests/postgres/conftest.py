"""A schema of its own on the PostgreSQL for tests, and stores in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.engines.postgres import needs_postgres

from recollect.backends.keyring import Plain
from recollect.backends.postgres import PostgresOptions, PostgresStore
from recollect.ports.keys import Sealer
from recollect.sync import drive
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.postgres import check_nothing_leaked, drop_schema, fresh_schema

Open = Callable[..., PostgresStore]


@pytest.fixture
def options() -> Iterator[PostgresOptions]:
    url, schema = needs_postgres(), fresh_schema()
    yield PostgresOptions(url, schema, connections=4)
    drop_schema(url, schema)


@pytest.fixture
def opened(options: PostgresOptions) -> Iterator[Open]:
    """Opens stores on the same data, for plain threads unless told otherwise; all are closed in the end."""
    clock, ids = ManualClock(), SerialIds()
    stores: list[PostgresStore] = []

    def make(sealer: Sealer | None = None, *, other: PostgresOptions | None = None) -> PostgresStore:
        stores.append(PostgresStore(other or options, clock=clock, ids=ids, sealer=sealer or Plain(), direct=True))
        return stores[-1]

    yield make
    for store in stores:
        drive(store.close())
        check_nothing_leaked(store)
