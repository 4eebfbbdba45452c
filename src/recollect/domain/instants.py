"""Moments in time as whole microseconds since 1970 in UTC, so that every backend compares them alike."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NewType

from recollect.domain.errors import InvalidExpiry
from recollect.domain.text import shown

Instant = NewType("Instant", int)

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LAST = Instant((datetime.max.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND)
"""The last moment that can be shown as a date."""


def instant_of(moment: datetime) -> Instant:
    """The instant of an aware datetime."""
    if moment.utcoffset() is None:
        raise InvalidExpiry(f"{moment.isoformat()} has no time zone; use an aware datetime, e.g. datetime.now(UTC)")
    return Instant((moment - EPOCH) // _MICROSECOND)


def datetime_of(instant: Instant) -> datetime:
    """The aware UTC datetime of an instant."""
    return EPOCH + timedelta(microseconds=instant)


def parse_rfc3339(text: str) -> Instant | None:
    """The instant that an RFC 3339 timestamp names, or None when the text is not one."""
    if not _RFC3339.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return None if moment.tzinfo is None else Instant((moment - EPOCH) // _MICROSECOND)


def later(now: Instant, ttl_seconds: float) -> Instant:
    """The instant that lies `ttl_seconds` after `now`."""
    if isinstance(ttl_seconds, bool) or not isinstance(ttl_seconds, int | float):
        raise InvalidExpiry(f"a time to live is a number of seconds, not {type(ttl_seconds).__name__}")
    if not 0 < ttl_seconds <= 1e12:
        raise InvalidExpiry(f"a time to live must be above 0 and at most 1e12 seconds, not {shown(ttl_seconds)}")
    return checked_expiry(Instant(now + max(1, round(ttl_seconds * 1_000_000))))


def after_seconds(now: Instant, seconds: float) -> Instant:
    """The instant so many seconds after `now`, unchecked."""
    return Instant(now + round(seconds * 1_000_000))


def checked_expiry(instant: Instant) -> Instant:
    """The instant itself, refused when no calendar could show it."""
    if not 0 <= instant <= LAST:
        raise InvalidExpiry("the expiry lies outside the years 1970 to 9999")
    return instant
