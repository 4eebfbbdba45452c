"""One random program, run on the in-memory reference and on MongoDB, must get equal answers, errors included."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase
from pymongo import MongoClient
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.property.test_reference import run
from tests.sizes import sized

from recollect.backends.mongodb import MongoOptions, MongoStore
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions
from recollect.ports.clock import Clock
from recollect.ports.keys import KeyStore, Sealer
from recollect.ports.store import Store
from recollect.testing.doubles import SerialIds
from recollect.testing.drivers import fresh_folders


class InMongodb:
    """A database of its own on the server for tests, with its keys in a file."""

    def __init__(self, url: str, folder: Path) -> None:
        self._options = MongoOptions(url, f"trial_{secrets.token_hex(8)}")
        self._folder = folder

    def keys(self) -> KeyStore:
        return SqliteKeyStore(SqliteOptions(self._folder / "keys.db", synchronous="OFF"))

    def store(self, clock: Clock, sealer: Sealer) -> Store:
        return MongoStore(self._options, clock=clock, ids=SerialIds(), sealer=sealer, direct=True)

    def forget(self) -> None:
        with MongoClient[dict[str, Any]](self._options.url) as client:
            client.drop_database(self._options.database)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@sized(3, 100)
def test_mongodb_answers_like_the_reference(count: int, encrypted: bool, mongodb: str, tmp_path: Path) -> None:
    soak, folders = count > 10, fresh_folders(tmp_path)
    run(
        lambda: InMongodb(mongodb, folders()),
        encrypted=encrypted,
        examples=count,
        steps=40 if soak else 25,
        derandomize=not soak,
        phases=[Phase.generate],
    )
