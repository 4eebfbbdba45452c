"""Reading JSON objects strictly: each field once, of its type, and no others; messages name fields and never values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from recollect.domain.errors import InvalidValue
from recollect.domain.instants import Instant, datetime_of, parse_rfc3339
from recollect.domain.text import flaw_in

_E = TypeVar("_E", bound=StrEnum)
_T = TypeVar("_T")
MAX_TEXT = 1_024
MAX_REFS = 1_000


def members(
    given: object, what: str, required: frozenset[str], optional: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The members of the object, refused when one is missing or unknown."""
    if not isinstance(given, Mapping):
        raise InvalidValue(f"{what} is a JSON object, not {type(given).__name__}")
    missing = sorted(required - given.keys())
    if missing:
        raise InvalidValue(f"{what} has no {missing[0]}", field=missing[0])
    if given.keys() - required - optional:
        raise InvalidValue(
            f"{what} has a field that it does not take; it takes {', '.join(sorted(required | optional))}"
        )
    return dict(given)


def text(given: object, field: str) -> str:
    """A short text that says something."""
    if not isinstance(given, str) or not given.strip() or len(given) > MAX_TEXT or flaw_in(given):
        raise InvalidValue(f"{field} is text of 1 to {MAX_TEXT:,} characters", field=field)
    return given


def text_or_none(given: object, field: str) -> str | None:
    """A short text, or null."""
    return None if given is None else text(given, field)


def ceid(given: object, field: str) -> str:
    """The handle of an entity: `<type>:<id>`."""
    kind, colon, name = text(given, field).partition(":")
    if not colon or not kind.strip() or not name.strip():
        raise InvalidValue(f"{field} is the handle of an entity, <type>:<id>", field=field)
    return f"{kind}:{name}"


def texts(given: object, field: str, least: int = 0) -> tuple[str, ...]:
    """A list of short texts, each once."""
    if not isinstance(given, list | tuple) or not least <= len(given) <= MAX_REFS:
        raise InvalidValue(f"{field} is a list of {least} to {MAX_REFS:,} texts", field=field)
    found = tuple(text(each, field) for each in given)
    if len(set(found)) != len(found):
        raise InvalidValue(f"{field} names something twice", field=field)
    return found


def one_of(closed: type[_E], given: object, field: str) -> _E:
    """A member of the closed set."""
    if not isinstance(given, str) or given not in tuple(closed):
        raise InvalidValue(f"{field} is one of {', '.join(closed)}", field=field)
    return closed(given)


def share(given: object, field: str) -> float:
    """A number from 0 to 1."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InvalidValue(f"{field} is a number from 0 to 1", field=field)
    return given


def truth(given: object, field: str) -> bool:
    """True or false."""
    if not isinstance(given, bool):
        raise InvalidValue(f"{field} is true or false", field=field)
    return given


def moment(given: object, field: str) -> Instant:
    """A moment in time, as RFC 3339 writes it."""
    found = parse_rfc3339(given) if isinstance(given, str) else None
    if found is None:
        raise InvalidValue(f"{field} is a moment in time, e.g. 2026-05-04T09:30:00Z", field=field)
    try:
        datetime_of(found)
    except OverflowError:
        raise InvalidValue(f"{field} lies outside the years 1970 to 9999", field=field) from None
    return found


def or_none(read: Callable[[object, str], _T], given: object, field: str) -> _T | None:
    """What `read` makes of it, or None for null."""
    return None if given is None else read(given, field)


def written(instant: Instant | None) -> str | None:
    """The moment as the seed writes it: in UTC with a Z, and no more digits than it needs."""
    return None if instant is None else datetime_of(instant).isoformat().replace("+00:00", "Z")
