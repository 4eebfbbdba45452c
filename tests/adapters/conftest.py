"""Where histories are kept: in memory, in a directory without an event loop, and on a server with a user's own key."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Settings
from recollect.testing.servers import Server
from recollect_client import AsyncClient

SETTINGS = Settings(embedder="hashing")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("RECOLLECT_", "MEMORY_SERVICE_")) and name != "RECOLLECT_SOAK":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def alices_key(server: Server) -> str:
    return server.key_for("alice")


@pytest.fixture(params=["memory", "directory", "http"])
async def memories(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """Memories that belong to Alice, or that she may use."""
    if request.param == "memory":
        async with recollect.open(":memory:", settings=SETTINGS) as opened:
            yield opened
    elif request.param == "directory":
        with recollect.open_sync(tmp_path / "kept", settings=SETTINGS) as kept:
            yield kept
    else:
        server: Server = request.getfixturevalue("server")
        async with AsyncClient(server.url, request.getfixturevalue("alices_key")) as client:
            yield client
