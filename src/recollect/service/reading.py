"""Reading arguments: what callers give in plain Python, turned into the domain's values or refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from recollect.domain.errors import InvalidExpiry, InvalidQuery, InvalidRequest, InvalidSetting
from recollect.domain.instants import Instant, checked_expiry, instant_of
from recollect.domain.queries import Archived, Order
from recollect.domain.reasons import TOLD, EventKind
from recollect.domain.text import flaw_in, shown

MAX_WAIT_SECONDS = 60.0
MAX_INDEX_FIELDS = 64
MAX_FIELD_NAME = 256
_HEAD = re.compile(r"([0-9]{1,19}):([0-9a-f]{64})")
_TOLD = frozenset(TOLD)
Choice = TypeVar("Choice", bound=StrEnum)


def read_path(target: object) -> Path:
    """The path of a file."""
    if not isinstance(target, str | Path) or "\x00" in str(target):
        raise InvalidSetting(f"{shown(target)} is not the path of a file")
    return Path(target)


def read_seconds(ttl: object) -> float:
    """A time to live in seconds; its range is checked where it is used."""
    return ttl.total_seconds() if isinstance(ttl, timedelta) else ttl  # type: ignore[return-value] # checked by later


def read_moment(moment: object) -> Instant:
    """The instant of an aware datetime within the calendar."""
    if not isinstance(moment, datetime):
        raise InvalidExpiry(f"a moment is a datetime with a time zone, not {type(moment).__name__}")
    return checked_expiry(instant_of(moment))


def read_optional_moment(moment: object) -> Instant | None:
    """The same, or nothing."""
    return None if moment is None else read_moment(moment)


def read_order(order: object) -> Order:
    """One of the orders in which rows are found."""
    return _choice(Order, order, "an order")


def read_archived(archived: object) -> Archived:
    """Whether archived items are left out, included, or the only ones."""
    return _choice(Archived, archived, "a way to treat archived items")


def read_kinds(kinds: object) -> frozenset[EventKind]:
    """The kinds of events asked for; None stands for all that callers are told of."""
    if kinds is None:
        return _TOLD
    if not isinstance(kinds, Iterable):
        raise InvalidQuery(f"kinds are a list of kinds of events, not {type(kinds).__name__}")
    return frozenset(_choice(TOLD, kind, "a kind of event") for kind in kinds)


def read_wait(wait: object) -> float:
    """How many seconds an answer may be held back."""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= MAX_WAIT_SECONDS:
        raise InvalidQuery(f"wait is a number of seconds from 0 to {MAX_WAIT_SECONDS:.0f}, not {shown(wait)}")
    return wait


INDEXED = "indexed"


def read_waiting(wait: object) -> bool:
    """Whether a write returns only once queries find what was written."""
    if wait not in (None, INDEXED):
        raise InvalidRequest(f"wait is {INDEXED!r}, or is left out, not {shown(wait)}")
    return wait == INDEXED


def read_fields(fields: object) -> str | None:
    """Which fields a search by text will look at, as kept: None for every text, an empty list for none."""
    if fields is None:
        return None
    if isinstance(fields, str | bytes) or not isinstance(fields, Sequence) or len(fields) > MAX_INDEX_FIELDS:
        raise InvalidRequest(f"index_fields are a list of at most {MAX_INDEX_FIELDS} names of fields")
    for name in fields:
        if not isinstance(name, str) or not 0 < len(name) <= MAX_FIELD_NAME or flaw_in(name):
            raise InvalidRequest(f"the name of a field is text of 1 to {MAX_FIELD_NAME} characters")
    return msgspec.json.encode(list(fields)).decode()


def read_head(text: object) -> tuple[int, bytes] | None:
    """A head that was noted elsewhere."""
    if text is None:
        return None
    found = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidQuery("a head is text that `head` gave, like 17:9f86d0…")
    return int(found[1]), bytes.fromhex(found[2])


def _choice(choices: Iterable[Choice], given: object, what: str) -> Choice:
    for choice in choices:
        if choice == given:
            return choice
    raise InvalidQuery(f"{given!r} is not {what}; use one of {', '.join(choices)}")
