"""A fresh scene for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.pipeline.scene import Scene, scene


@pytest.fixture
async def here() -> AsyncIterator[Scene]:
    async with scene() as made:
        yield made
