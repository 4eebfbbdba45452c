"""A server for the tests of the MCP door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.testing.servers import Server, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("mcp") / "home"
    with running(home, failures_per_second=0, policy_engine="builtin") as server:
        yield server
