"""Three servers over one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.concurrency.conftest import crew  # noqa: F401 - a fixture
from tests.engines.postgres import fresh_database, own_database  # noqa: F401 - a fixture
from tests.serving.fleets import BOUNDLESS, Fleet
from tests.serving.planted import planted

SERVERS = 3
JITTERS = "has a clock that jitters"


@contextmanager
def three(folder: Path) -> Iterator[Fleet]:
    """Servers whose clocks cannot be trusted within a twentieth of a second; others that are started have good ones."""
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database())
        with planted(JITTERS):
            fleet = stack.enter_context(Fleet(folder, SERVERS, store=url, **BOUNDLESS))
        yield fleet


@pytest.fixture
def fresh_fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Three with an empty log; those that are started again are no better."""
    with planted(JITTERS), three(tmp_path) as fleet:
        yield fleet


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three that tests share which break nothing."""
    with three(tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet
