"""One crew per test process, since starting interpreters is slow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.concurrency.crew import Crew


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    crew = Crew()
    try:
        yield crew
    finally:
        crew.dismiss()
