"""Every check of the contract, on every backend that comes with the package."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.engines.postgres import needs_postgres

from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.testing.contract import CHECKS, Check, Trial
from recollect.testing.contract.trial import clause
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.drivers import check_nothing_leaked, memory_trial, sqlite_trial
from recollect.testing.mongodb import mongo_trial
from recollect.testing.postgres import postgres_trial


def _memory(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    return memory_trial(folder)


def _sqlite(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    return sqlite_trial(folder, encrypted=False)


def _sqlite_encrypted(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    return sqlite_trial(folder, encrypted=True)


def _postgres(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    needs_postgres()
    return postgres_trial(folder, encrypted=False)


def _postgres_encrypted(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    needs_postgres()
    return postgres_trial(folder, encrypted=True)


def _mongodb_encrypted(request: pytest.FixtureRequest, folder: Path) -> AbstractAsyncContextManager[Trial]:
    return mongo_trial(request.getfixturevalue("mongodb"), folder)


BACKENDS = {
    "memory": _memory,
    "sqlite": _sqlite,
    "sqlite-encrypted": _sqlite_encrypted,
    "postgres": _postgres,
    "postgres-encrypted": _postgres_encrypted,
    "mongodb-encrypted": _mongodb_encrypted,
}


@pytest.fixture(params=BACKENDS.values(), ids=list(BACKENDS))
async def trial(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trial]:
    """A fresh trial. When it is over, its driver asserts that no thread and no connection is left."""
    async with request.param(request, tmp_path) as trial:
        yield trial


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{'+'.join(check.clauses)}-{check.name}")
async def test_the_backend_keeps_the_promise(check: Check, trial: Trial) -> None:
    await check.run(trial)


async def test_a_store_that_is_left_open_counts_as_a_leak(tmp_path: Path) -> None:
    store = SqliteStore(SqliteOptions(tmp_path / "data.db"), clock=ManualClock(), ids=SerialIds(), sealer=Plain())
    with pytest.raises(AssertionError, match="writer's thread"):
        check_nothing_leaked(store)
    await store.close()
    check_nothing_leaked(store)


def test_two_checks_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="two checks"):
        clause("S1")(CHECKS[0].run)
