"""One random program, run on the in-memory reference and on MongoDB, must get equal answers, errors included."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase
from pymongo import MongoClient
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.property.test_reference import Twins, run
from tests.sizes import sized

from recollect.backends.mongodb import MongoOptions, MongoStore
from recollect.ports.keys import Sealer
from recollect.ports.store import Store
from recollect.testing.doubles import SerialIds


def twins_on(url: str) -> type[Twins]:
    """The reference, and a store in a database of its own."""

    class MongoTwins(Twins):
        def make_subject(self, _folder: Path, sealer: Sealer, /) -> Store:
            self.options = MongoOptions(url, f"trial_{secrets.token_hex(8)}")
            return MongoStore(self.options, clock=self.clocks[1], ids=SerialIds(), sealer=sealer, direct=True)

        def teardown(self) -> None:
            try:
                super().teardown()
            finally:
                with MongoClient[dict[str, Any]](url) as client:
                    client.drop_database(self.options.database)

    return MongoTwins


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@sized(3, 100)
def test_mongodb_answers_like_the_reference(count: int, encrypted: bool, mongodb: str, tmp_path: Path) -> None:
    soak = count > 10
    run(
        tmp_path,
        encrypted=encrypted,
        examples=count,
        steps=40 if soak else 25,
        twins=twins_on(mongodb),
        derandomize=not soak,
        phases=[Phase.generate],
    )
