"""One check in two sizes: a small one for `make test`, and the full count for `make soak`."""

from __future__ import annotations

import pytest


def sized(small: int, full: int) -> pytest.MarkDecorator:
    """Give the test a `count`: small in `make test`, full in `make soak`."""
    return pytest.mark.parametrize(
        "count", [pytest.param(small, id="small"), pytest.param(full, id="full", marks=pytest.mark.soak)]
    )
