"""Turns what recalls and turns are asked with into the fields of a request; what is left out stays out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from recollect_client import _requests as requests
from recollect_client.errors import InvalidQuery, InvalidRequest

_NAMES = ("spaces", "kinds", "tiers", "event_types")


def scoped(given: Mapping[str, Any]) -> dict[str, object]:
    """What to recall, of which memory, for whom and as of when."""
    lists = {name: requests.names(given[name], name, InvalidQuery) for name in _NAMES}
    length = given["freshness"]
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return {**given, **lists, "freshness": seconds, "as_of": requests.moment(given["as_of"])}


def held(wait: float | None) -> float:
    """How many seconds the server may hold the answer back."""
    return 0.0 if wait is None else requests.seconds_held(wait)


def object_given(given: Mapping[str, Any] | None, what: str) -> msgspec.Raw | None:
    """An object that is a part of a body."""
    return None if given is None else msgspec.Raw(requests.document(given, what, InvalidRequest))


def template_given(given: str | Mapping[str, Any] | None) -> str | msgspec.Raw | None:
    """A template by its name, or in full."""
    return given if isinstance(given, str) else object_given(given, "template")


def format_asked(plain: bool) -> list[tuple[str, object]]:
    """How traces are told."""
    if not isinstance(plain, bool):
        raise InvalidQuery(f"plain is true or false, not {plain!r}")
    return [("format", "plain")] if plain else []
