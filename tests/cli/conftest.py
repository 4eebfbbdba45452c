"""A data directory of its own, the program within this process, and a server where one is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Protocol

import pytest
from tests.cli.typed import Serving, serving
from typer.testing import CliRunner, Result

from recollect.cli.program import app


class Run(Protocol):
    def __call__(self, *words: str, given: str | bytes | None = None) -> Result: ...


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [each for each in os.environ if each.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    place = tmp_path / "home"
    monkeypatch.setenv("RECOLLECT_HOME", str(place))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    return place


@pytest.fixture
def run() -> Run:
    runner = CliRunner()

    def call(*words: str, given: str | bytes | None = None) -> Result:
        return runner.invoke(app, list(words), input=given, prog_name="recollect")

    return call


@pytest.fixture
def server(home: Path) -> Iterator[Serving]:
    with serving(home) as started:
        yield started


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for many tests, each of which gets a tenant of its own: starting one takes a while."""
    with serving(tmp_path_factory.mktemp("shared") / "home") as started:
        yield started


@pytest.fixture(params=["directory", "server"])
def behind(request: pytest.FixtureRequest, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory behind the commands: opened by them, or by a server that they ask."""
    if request.param == "directory":
        return home
    server: Serving = request.getfixturevalue("shared_server")
    tenant = f"t-{token_hex(6)}"
    monkeypatch.setenv("RECOLLECT_HOME", str(server.home))
    roles = "admin,operator,auditor"
    made = run("tokens", "create", "admin", "--tenant", tenant, "--role", roles, "--json")
    monkeypatch.setenv("RECOLLECT_TOKEN", json.loads(made.stdout)["secret"])
    monkeypatch.setenv("RECOLLECT_TENANT", tenant)
    return server.home
