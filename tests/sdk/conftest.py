"""Both clients, with short pauses and an environment that says nothing."""

from __future__ import annotations

import os

import pytest

from recollect_client import _retries


@pytest.fixture(params=["async", "sync"])
def flavour(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "FIRST_PAUSE", 0.01)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("RECOLLECT_", "MEMORY_SERVICE_")) and name != "RECOLLECT_SOAK":
            monkeypatch.delenv(name)
