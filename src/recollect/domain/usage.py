"""Usage: how often something was fetched, and by how much its importance may grow with that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes

MOST_GROWTH = 10
"""By so much importance may grow with use at most, whatever a setting says."""


class Used(msgspec.Struct, frozen=True, array_like=True):
    """How often one thing was fetched."""

    since: Instant
    """When the thing came to be; one that takes its place under the same key is another, and counts anew."""
    count: int
    last: Instant

    def shown(self) -> dict[str, Any]:
        """As callers see it."""
        return {"fetch_count": self.count, "last_fetched_at": shapes.written(self.last)}


def unused() -> dict[str, Any]:
    """What is shown of something that was never fetched."""
    return {"fetch_count": 0, "last_fetched_at": None}


def joined(one: Used | None, other: Used | None) -> Used | None:
    """Both together, where they are of the same thing; of two things, only the later one counts."""
    if one is None or other is None:
        return other if one is None else one
    if one.since != other.since:
        return max(one, other, key=lambda each: each.since)
    return Used(one.since, one.count + other.count, max(one.last, other.last))


def settled(
    held: Mapping[str, Used], loads: Mapping[str, Used], things: Mapping[str, Instant | None]
) -> dict[str, Used]:
    """What is to be kept for one key, by plane: what is held and what was loaded since, of the things there are now.

    `things` says when that in each plane came to be; None where there is nothing any more.
    """
    kept: dict[str, Used] = {}
    for plane in sorted({*held, *loads}):
        both = joined(held.get(plane), loads.get(plane))
        if both is not None and both.since == things.get(plane):
            kept[plane] = both
    return kept


def grown(importance: float, fetch_count: int, most: int) -> tuple[float, tuple[str, ...]]:
    """The importance of a memory that was fetched so often, and why it is not what it was; the one rule for it.

    Every power of ten of loads adds 1, up to `most`: the 10th load, the 100th, and so on. With 0, nothing grows.
    """
    growth = min(most, MOST_GROWTH, len(str(max(1, fetch_count))) - 1)
    return (importance, ()) if growth <= 0 else (importance + growth, (f"usage:{growth}",))
