"""Questions to the store, valid once made; and the cursors that continue them."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import msgspec

from recollect.domain.address import DEPTH_CEILING, MAX_SEGMENT_BYTES, ROOT, Namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import CursorExpired, InvalidCursor, InvalidQuery
from recollect.domain.events import Entry, Event, Head
from recollect.domain.filters import EVERYTHING, Filter, matches
from recollect.domain.instants import Instant
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.rows import Row
from recollect.domain.text import flaw_in, shown

MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000
ANY = "*"
"""In a pattern of segments: exactly one segment, whichever."""


class Order(StrEnum):
    """In which order rows are found."""

    NEWEST = "newest"
    """The last written first."""
    OLDEST = "oldest"
    """The first written first."""
    KEY = "key"
    """By namespace and key, in byte order: what exists throughout a paging is met exactly once."""


class Archived(StrEnum):
    """What a search does about archived rows."""

    EXCLUDE = "exclude"
    """Leave them out."""
    INCLUDE = "include"
    """Treat them like any other."""
    ONLY = "only"
    """Return no others."""


@dataclass(frozen=True, slots=True)
class Find:
    """Which live rows to return, in which order, from where on."""

    plane: Plane
    within: Namespace = ROOT
    filter: Filter = EVERYTHING
    order: Order = Order.NEWEST
    limit: int = 100
    offset: int = 0
    cursor: str | None = None
    as_of: Instant | None = None
    archived: Archived = Archived.EXCLUDE


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, and the cursor for those after them; None when there are no more."""

    rows: list[Row]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class NamespaceQuery:
    """Which namespaces to list. `*` in `prefix` and `suffix` stands for exactly one segment."""

    plane: Plane = Plane.ITEM
    within: Namespace = ROOT
    prefix: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0
    filter: Filter = EVERYTHING
    """Only namespaces with a row whose policy attributes match."""
    archived: Archived = Archived.EXCLUDE


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events to return, after which point of the log."""

    after: int = 0
    within: Namespace = ROOT
    planes: frozenset[Plane] | None = None
    kinds: frozenset[EventKind] | None = None
    since: Instant | None = None
    """Only events after this moment (exclusive)."""
    until: Instant | None = None
    """Only events before this moment (exclusive)."""
    limit: int = 50
    values: bool = True
    """Whether to bring the versions that the events tell of."""
    filter: Filter = EVERYTHING
    """Only events that tell of a version which is kept and whose policy attributes match."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in the order of their sequence, and the point of the log up to which all was looked at."""

    entries: list[Entry]
    after: int
    head: int

    @property
    def complete(self) -> bool:
        """True when the page reaches the end of the log."""
        return self.after >= self.head


def checked_limit(limit: object, most: int = MAX_LIMIT) -> int:
    """The limit itself, refused outside of 1 to `most`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidQuery(f"a limit is a whole number from 1 to {most:,}, not {shown(limit)}")
    return limit


def checked_offset(offset: object) -> int:
    """The offset itself, refused below 0 or beyond the most that is served."""
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= MAX_OFFSET:
        raise InvalidQuery(f"an offset is a whole number from 0 to {MAX_OFFSET:,}, not {shown(offset)}")
    return offset


def checked_depth(depth: object) -> int | None:
    """The depth itself; None and 0 both mean that nothing is truncated."""
    if depth is None:
        return None
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= DEPTH_CEILING:
        raise InvalidQuery(f"max_depth is a whole number from 0 to {DEPTH_CEILING}, not {shown(depth)}")
    return depth or None


def checked_pattern(segments: Sequence[str], what: str) -> tuple[str, ...]:
    """A pattern of segments, in which `*` stands for any one."""
    if isinstance(segments, str | bytes) or not isinstance(segments, Sequence):
        raise InvalidQuery(f"a {what} is a list of segments, not {type(segments).__name__}")
    for place, segment in enumerate(segments):
        if not isinstance(segment, str) or not segment or flaw_in(segment):
            raise InvalidQuery(f"{what} segment {place} is not usable text")
        if len(segment.encode()) > MAX_SEGMENT_BYTES:
            raise InvalidQuery(f"{what} segment {place} is longer than {MAX_SEGMENT_BYTES} bytes")
    if len(segments) > DEPTH_CEILING:
        raise InvalidQuery(f"a {what} has at most {DEPTH_CEILING} segments")
    return tuple(segments)


def matches_patterns(segments: tuple[str, ...], prefix: tuple[str, ...], suffix: tuple[str, ...]) -> bool:
    """True when the segments begin like the prefix and end like the suffix, `*` being any one segment."""
    if len(segments) < len(prefix) or len(segments) < len(suffix):
        return False
    head = segments[: len(prefix)]
    tail = segments[len(segments) - len(suffix) :]
    return all(asked in (ANY, found) for asked, found in zip(prefix, head, strict=True)) and all(
        asked in (ANY, found) for asked, found in zip(suffix, tail, strict=True)
    )


def fixed_prefix(prefix: tuple[str, ...]) -> tuple[str, ...]:
    """The part of a pattern before its first `*`, by which an index can narrow the search."""
    return prefix[: prefix.index(ANY)] if ANY in prefix else prefix


def find_cursor(order: Order, row: Row) -> str:
    """Where a search continues after this row."""
    place = (row.address.namespace.encoded, row.address.key) if order is Order.KEY else (row.sequence,)
    return _sealed_cursor(("f1", order.value, *place))


class Place(NamedTuple):
    """The place after which a search continues: a sequence, or a namespace and key."""

    sequence: int = 0
    encoded: str = ""
    key: str = ""


def parse_find_cursor(cursor: str, order: Order) -> Place:
    """Where a search in this order is to continue."""
    match _opened_cursor(cursor):
        case ["f1", kind, int(sequence)] if kind == order.value and order is not Order.KEY and 0 < sequence < 1 << 63:
            return Place(sequence)
        case ["f1", kind, str(encoded), str(key)] if kind == order.value and order is Order.KEY:
            return Place(0, encoded, key)
    raise InvalidCursor("the cursor does not belong to this search; start again without one")


def event_cursor(after: int) -> str:
    """A point of the log as callers pass it around."""
    return _sealed_cursor(("e1", after))


def parse_event_cursor(cursor: str) -> int:
    """The point of the log behind an event cursor."""
    match _opened_cursor(cursor):
        case ["e1", int(after)] if 0 <= after < 1 << 63:
            return after
    raise InvalidCursor("the cursor does not belong to the event log; start again without one")


def transfer_cursor(end: int, after: int) -> str:
    """Where an export that ends at a point of the log continues."""
    return _sealed_cursor(("x1", end, after))


def parse_transfer_cursor(cursor: str) -> tuple[int, int]:
    """Where an export ends, and after which point of the log it continues."""
    match _opened_cursor(cursor):
        case ["x1", int(end), int(after)] if 0 <= after <= end < 1 << 63:
            return end, after
    raise InvalidCursor("the cursor does not belong to an export; start again without one")


def _sealed_cursor(parts: tuple[object, ...]) -> str:
    text = msgspec.json.encode(parts)
    check = binascii.crc32(text).to_bytes(4)
    return urlsafe_b64encode(check + text).rstrip(b"=").decode()


def _opened_cursor(cursor: object) -> list[object]:
    if not isinstance(cursor, str) or not 8 <= len(cursor) <= 65_536:
        raise InvalidCursor("a cursor is text that an earlier answer gave")
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except ValueError:
        raise InvalidCursor("the cursor was altered; start again without one") from None
    check, text = raw[:4], raw[4:]
    if binascii.crc32(text).to_bytes(4) != check or urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
        raise InvalidCursor("the cursor was altered; start again without one")
    try:
        parts = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InvalidCursor("the cursor was altered; start again without one") from None
    return parts if isinstance(parts, list) else []


def check_reach(after: int, head: Head) -> None:
    """Refuse a point of the log that lies before what is kept, or beyond its end."""
    if after < head.trimmed:
        oldest = event_cursor(head.trimmed)
        raise CursorExpired(
            f"the log is kept from event {head.trimmed + 1} on; continue from the oldest cursor", oldest=oldest
        )
    if after > head.sequence:
        raise InvalidCursor(f"the log has {head.sequence} events; this cursor is from another log")


def selects(query: EventQuery, event: Event, policy_attributes: str | None = None) -> bool:
    """True when the query asks for this event, whose version has these attributes; None when it is not kept.

    An erasure concerns every plane. An event without a kept version passes no filter but the empty one.
    """
    return (
        query.within.contains(event.address.namespace)
        and (query.planes is None or event.address.plane in query.planes or event.kind is EventKind.ERASED)
        and (query.kinds is None or event.kind in query.kinds)
        and (query.since is None or event.at > query.since)
        and (query.until is None or event.at < query.until)
        and (
            not query.filter
            or (policy_attributes is not None and matches(query.filter, stored_attributes(policy_attributes)))
        )
    )


def shows(asked: Archived, *, archived: bool) -> bool:
    """True when a search that asks so returns a row that is, or is not, archived."""
    return asked is Archived.INCLUDE or archived is (asked is Archived.ONLY)


def concerns(event: Event, plane: Plane, within: Namespace) -> bool:
    """True when the event may have changed what a search of this plane and scope returns."""
    if event.kind is EventKind.ERASED:
        erased = event.address.namespace
        return within.contains(erased) or erased.contains(within)
    return event.address.plane is plane and within.contains(event.address.namespace)
