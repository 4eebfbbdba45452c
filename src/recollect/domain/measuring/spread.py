"""Spread: how long things took, told by the one in the middle, the slow ones and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MICROSECONDS = 1_000_000


def nearest(ordered: Sequence[float], share: float) -> float | None:
    """The smallest of them that so large a share does not exceed; None when there are none."""
    if not ordered:
        return None
    place = -(-share * len(ordered) // 1)  # upwards: of four, half are two
    return ordered[max(0, int(place) - 1)]


def spread(durations: Sequence[int]) -> dict[str, Any]:
    """Of durations in microseconds: how many, and the median and the 90th percentile of them in seconds."""
    ordered = sorted(durations)
    half, slow = nearest(ordered, 0.5), nearest(ordered, 0.9)
    return {
        "count": len(ordered),
        "median_seconds": None if half is None else half / MICROSECONDS,
        "p90_seconds": None if slow is None else slow / MICROSECONDS,
    }


def ratio(part: float, whole: float) -> float | None:
    """The share that a part is of a whole; None of nothing."""
    return None if not whole else round(part / whole, 6)
