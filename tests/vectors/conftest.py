"""Settings for a fresh vector store of every kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.vectors.places import PLACES

from recollect.config import Settings


@pytest.fixture(params=PLACES.values(), ids=list(PLACES))
def placed(request: pytest.FixtureRequest) -> Iterator[Settings]:
    yield from request.param(request)
