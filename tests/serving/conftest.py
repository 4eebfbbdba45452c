"""Two servers over one data directory, which tests that break nothing share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.concurrency.crew import in_threads

from recollect.testing.servers import Server

BOUNDLESS = {"rate_per_second": 0, "failures_per_second": 0}


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    home = tmp_path_factory.mktemp("pair")
    one, two = Server(home, **BOUNDLESS), Server(home, **BOUNDLESS)
    try:
        in_threads(one.start, two.start)
        yield one, two
    finally:
        in_threads(one.stop, two.stop)


@pytest.fixture
def server(pair: tuple[Server, Server]) -> Server:
    return pair[0]
