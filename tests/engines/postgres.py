"""What a test does without the server it needs: skip on a laptop, fail where everything must be tested."""

from __future__ import annotations

import os

import pytest

from recollect.testing.engines import EngineMissing, postgres_url


def needs_postgres() -> str:
    """Where the PostgreSQL for tests is. Without one the test is skipped, or fails when `CI` is set."""
    try:
        return postgres_url()
    except EngineMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
