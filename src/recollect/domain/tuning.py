"""Tuning: what an operator may change while the service runs, and within which bounds."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.address import DEPTH_CEILING
from recollect.domain.errors import InvalidSetting
from recollect.domain.text import shown


@dataclass(frozen=True, slots=True)
class Bounds:
    """From where to where a number may lie."""

    low: float
    high: float
    whole: bool = False


TUNABLE = {
    "max_depth": Bounds(1, DEPTH_CEILING, whole=True),
    "sweep_seconds": Bounds(0.05, 86_400),
    "index_seconds": Bounds(0.05, 86_400),
    "index_batch": Bounds(1, 1_000, whole=True),
}
"""The settings that can be changed at run time, by their names."""


def checked_tuning(name: object, value: object) -> float:
    """The value itself, refused when there is no such setting or it lies out of bounds."""
    bounds = TUNABLE.get(name) if isinstance(name, str) else None
    if bounds is None:
        raise InvalidSetting(f"{shown(name)} cannot be changed while the service runs; {', '.join(TUNABLE)} can")
    kinds = int if bounds.whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not bounds.low <= value <= bounds.high:
        kind = "whole number" if bounds.whole else "number"
        raise InvalidSetting(f"{name} must be a {kind} from {bounds.low:g} to {bounds.high:g}, not {shown(value)}")
    return value
