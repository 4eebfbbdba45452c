"""Nonsense that a store may be asked, each with the error that is the answer to it."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from recollect import DeleteOp, PutOp
from recollect.domain import errors
from recollect.domain.errors import RecollectError

HUGE = 10**5_000
"""An integer that Python refuses to print."""
NS = ("user", "ann")
SOON = datetime(2030, 1, 1, tzinfo=UTC)


class Nowhere(tzinfo):
    """A time zone that does not know where it is."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"


class Number(float):
    """A number of somebody's own kind."""


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


def ring() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = [value]
    return value


def forged(text: bytes) -> str:
    """A cursor that checks out, around any text."""
    return urlsafe_b64encode(binascii.crc32(text).to_bytes(4) + text).rstrip(b"=").decode()


def put(**changes: Any) -> Callable[[Any], object]:
    given: dict[str, Any] = {"namespace": NS, "key": "k", "value": {"v": 2}} | changes
    return lambda memories: memories.put(**given)


def search(**given: Any) -> Callable[[Any], object]:
    return lambda memories: memories.search(**given)


def events(**given: Any) -> Callable[[Any], object]:
    return lambda memories: memories.events(**given)


def listing(**given: Any) -> Callable[[Any], object]:
    return lambda memories: memories.list_namespaces(**given)


def batch(*operations: Any, **given: Any) -> Callable[[Any], object]:
    return lambda memories: memories.batch(operations, **given)


def seen_elsewhere(memories: Any) -> object:
    """A cursor of another tenant's longer log."""
    other = memories.for_tenant("other")
    return memories.for_tenant("empty").events(after=other.events().cursor)


Case = tuple[str, Callable[[Any], object], type[RecollectError]]


def each(
    doing: str, call: Callable[[Any], Callable[[Any], object]], error: type[RecollectError], table: dict[str, Any]
) -> list[Case]:
    """One case per line of a table: what it is called, and what is given."""
    return [(f"{doing} {name}", call(bad), error) for name, bad in table.items()]


GOOD = PutOp(NS, "other", {"v": 9})

NAMESPACES: list[Case] = each(
    "put into",
    lambda bad: put(namespace=bad),
    errors.InvalidNamespace,
    {
        "no namespace": (),
        "an empty list": [],
        "text": "user",
        "bytes": b"user",
        "None": None,
        "a number": 5,
        "an empty segment": ("user", ""),
        "a number as segment": ("user", 5),
        "None as segment": ("user", None),
        "bytes as segment": ("user", b"ann"),
        "a list as segment": ("user", ["ann"]),
        "a NUL": ("user", "a\x00nn"),
        "a lone surrogate": ("user", "\ud800"),
        "a huge segment": ("user", "x" * 1_025),
        "eleven segments": ("a",) * 11,
        "a thousand segments": ("a",) * 1_000,
        "a set, which has no order": {"user", "ann"},
        "a mapping": {"user": "ann"},
    },
)
KEYS: list[Case] = each(
    "put under",
    lambda bad: put(key=bad),
    errors.InvalidKey,
    {
        "an empty key": "",
        "no key": None,
        "a number": 1,
        "bytes": b"k",
        "a list": ["k"],
        "a NUL": "k\x00",
        "a lone surrogate": "\udfff",
        "a huge key": "x" * 1_025,
        "a key of wide characters": "é" * 513,
    },
)
VALUES: list[Case] = each(
    "put",
    lambda bad: put(value=bad),
    errors.InvalidValue,
    {
        "None": None,
        "a list": [],
        "text": "{}",
        "bytes": b"{}",
        "NaN": {"v": float("nan")},
        "infinity": {"v": [float("-inf")]},
        "33 levels": nested(33),
        "100,000 levels": nested(100_000),
        "a ring": ring(),
        "a set": {"v": {1}},
        "a tuple": {"v": (1, 2)},
        "bytes inside": {"v": b"x"},
        "a datetime": {"v": SOON},
        "an object": {"v": object()},
        "a number as name": {1: 1},
        "None as name": {None: 1},
        "a NUL": {"v": "a\x00"},
        "a NUL in a name": {"a\x00": 1},
        "a lone surrogate": {"v": "\ud800"},
        "a lone surrogate in a name": {"\ud800": 1},
        "an endless integer": {"v": HUGE},
        "more than a mebibyte": {"v": "x" * (1 << 20)},
    },
)
ATTRIBUTES: list[Case] = each(
    "put with policy attributes",
    lambda bad: put(policy_attributes=bad),
    errors.InvalidAttributes,
    {
        "as a list": ["a"],
        "as text": "a",
        "as false": False,
        "nested": {"a": {"b": 1}},
        "with lists in lists": {"a": [[1]]},
        "with null in a list": {"a": [None]},
        "with NaN": {"a": float("nan")},
        "beyond 64 bits": {"a": 1 << 64},
        "endless": {"a": HUGE},
        "of their own kind": {"a": Number(1)},
        "with quotes in a name": {"x') OR '1'='1": 1},
        "with a dollar": {"$eq": 1},
        "with an empty name": {"": 1},
        "with a number as name": {1: 1},
        "with bytes": {"a": b"1"},
        "with a surrogate": {"a": "\ud800"},
        "too many": {f"a{number}": 1 for number in range(65)},
        "too long": {"a": "x" * 17_000},
    },
) + each(
    "put with attributes",
    lambda bad: put(attributes=bad),
    errors.InvalidAttributes,
    {"as a list": [1], "with NaN": {"a": float("nan")}, "too deep": nested(40)},
)
EXPIRIES: list[Case] = each(
    "put with a ttl of",
    lambda bad: put(ttl=bad),
    errors.InvalidExpiry,
    {
        "zero": 0,
        "minus one": -1,
        "NaN": float("nan"),
        "infinity": float("inf"),
        "true": True,
        "text": "5",
        "a list": [5],
        "a thousand years and more": 1e12,
        "endless": HUGE,
        "a negative timedelta": timedelta(seconds=-1),
        "the longest timedelta": timedelta.max,
    },
) + each(
    "put with an expiry",
    lambda bad: put(expires_at=bad),
    errors.InvalidExpiry,
    {
        "without a zone": datetime(2030, 1, 1),  # noqa: DTZ001 - that is the point
        "in a zone that is nowhere": datetime(2030, 1, 1, tzinfo=Nowhere()),
        "as a number": 5,
        "as text": "2030-01-01T00:00:00Z",
        "before 1970": datetime(1900, 1, 1, tzinfo=UTC),
    },
)
COMMITS: list[Case] = [
    ("put with both expiries", put(ttl=5, expires_at=SOON), errors.InvalidExpiry),
    ("put expecting a negative revision", put(expected_revision=-1), errors.InvalidCommit),
    ("put expecting true", put(expected_revision=True), errors.InvalidCommit),
    ("put expecting text", put(expected_revision="1"), errors.InvalidCommit),
    ("put expecting 2^63", put(expected_revision=1 << 63), errors.InvalidCommit),
    ("put expecting an endless revision", put(expected_revision=HUGE), errors.InvalidCommit),
    ("put expecting the wrong revision", put(expected_revision=7), errors.RevisionConflict),
    ("put expecting absence", put(expected_revision=0), errors.RevisionConflict),
    ("put with an empty idempotency key", put(idempotency_key=""), errors.InvalidCommit),
    ("put with a huge idempotency key", put(idempotency_key="x" * 256), errors.InvalidCommit),
    ("put with a number as idempotency key", put(idempotency_key=5), errors.InvalidCommit),
    ("put with a surrogate as idempotency key", put(idempotency_key="\ud800"), errors.InvalidCommit),
    ("delete expecting the wrong revision", lambda m: m.delete(NS, "k", expected_revision=9), errors.RevisionConflict),
    ("delete under no key", lambda m: m.delete(NS, None), errors.InvalidKey),
    ("an empty batch", batch(), errors.InvalidCommit),
    ("a batch of None", lambda m: m.batch(None), errors.InvalidCommit),
    ("a batch of a number", lambda m: m.batch(5), errors.InvalidCommit),
    ("a batch of text", lambda m: m.batch("put"), errors.InvalidCommit),
    ("a batch with garbage", batch(GOOD, object()), errors.InvalidCommit),
    ("a batch with None", batch(GOOD, None), errors.InvalidCommit),
    ("a batch with a bad key", batch(GOOD, PutOp(NS, "", {})), errors.InvalidKey),
    ("a batch with a bad value", batch(GOOD, PutOp(NS, "x", {"v": float("nan")})), errors.InvalidValue),
    ("a batch with a bad deletion", batch(GOOD, DeleteOp((), "x")), errors.InvalidNamespace),
    ("a batch with a conflict", batch(GOOD, DeleteOp(NS, "k", 77)), errors.RevisionConflict),
    ("a batch with a late expiry", batch(GOOD, PutOp(NS, "x", {}, ttl=253e9)), errors.InvalidExpiry),
    ("a batch of 1,001", batch(*[GOOD] * 1_001), errors.InvalidCommit),
    ("a batch of 65 MiB", batch(*[PutOp(NS, "x", {"v": "x" * ((1 << 20) - 20)})] * 65), errors.InvalidCommit),
    (
        "a write by a surrogate",
        lambda m: m.for_tenant("default", actor="\ud800").put(NS, "k", {}),
        errors.InvalidCommit,
    ),
    ("a write by a number", lambda m: m.for_tenant("default", actor=5).put(NS, "k", {}), errors.InvalidCommit),
    ("a write by a NUL", lambda m: m.for_tenant("default", actor="a\x00").put(NS, "k", {}), errors.InvalidCommit),
]
FILTERS: list[Case] = each(
    "search with the filter",
    lambda bad: search(filter=bad),
    errors.InvalidFilter,
    {
        "as text": "topic",
        "as a list": [("topic", "a")],
        "of an unknown operator": {"topic": {"$regex": ".*"}},
        "of a nested operator": {"topic": {"$not": {"$eq": 1}}},
        "of a number as operator": {"topic": {1: 1}},
        "of a logical operator": {"$or": [{"topic": "a"}]},
        "of an injected name": {"x') OR '1'='1": 1},
        "of an injected path": {'a" OR 1=1 --': 1},
        "of a JSON path": {"$.topic": 1},
        "of an empty name": {"": 1},
        "of a number as name": {5: 1},
        "of no condition": {"topic": {}},
        "of null": {"topic": None},
        "of no choices": {"topic": {"$in": []}},
        "of too many choices": {"topic": list(range(257))},
        "of text as choices": {"topic": {"$in": "abc"}},
        "of a tuple": {"topic": ("a",)},
        "of NaN": {"n": {"$gt": float("nan")}},
        "of a range over text": {"n": {"$gt": "abc"}},
        "of a range over true": {"n": {"$gt": True}},
        "of a doubtful existence": {"n": {"$exists": 1}},
        "of an endless number": {"n": HUGE},
        "of a surrogate": {"topic": "\ud800"},
        "of bytes": {"topic": b"a"},
        "of too many conditions": {f"a{number}": 1 for number in range(33)},
    },
)
QUERIES: list[Case] = [
    *[(f"search with the limit {bad!r}", search(limit=bad), errors.InvalidQuery) for bad in (0, -1, 1_001, True, 1.5)],
    *[(f"search with the limit {bad!r}", search(limit=bad), errors.InvalidQuery) for bad in ("5", None)],
    ("search with an endless limit", search(limit=HUGE), errors.InvalidQuery),
    *[(f"search from {bad!r}", search(offset=bad), errors.InvalidQuery) for bad in (-1, 1_000_001, "0", None, True)],
    ("search from an endless offset", search(offset=HUGE), errors.InvalidQuery),
    *each(
        "search in the order",
        lambda bad: search(order=bad),
        errors.InvalidQuery,
        {repr(bad): bad for bad in ("random", "", None, 5, ["newest"])},
    ),
    ("search in text", search(namespace_prefix="user"), errors.InvalidNamespace),
    ("search in None", search(namespace_prefix=None), errors.InvalidNamespace),
    ("search too deep", search(namespace_prefix=("a",) * 11), errors.InvalidNamespace),
    ("search in an empty segment", search(namespace_prefix=("",)), errors.InvalidNamespace),
    ("search at a moment without a zone", search(as_of=datetime(2030, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001
    ("search at a number", search(as_of=5), errors.InvalidExpiry),
    (
        "get at a moment before time",
        lambda m: m.get(NS, "k", as_of=datetime.min.replace(tzinfo=UTC)),
        errors.InvalidExpiry,
    ),
    ("get by text", lambda m: m.get_by_id("0190"), errors.InvalidQuery),
    ("get under a list", lambda m: m.get(NS, ["k"]), errors.InvalidKey),
    ("history before -1", lambda m: m.history(NS, "k", before_revision=-1), errors.InvalidCommit),
    ("history of none", lambda m: m.history(NS, "k", limit=0), errors.InvalidQuery),
    ("list under text", listing(prefix="user"), errors.InvalidQuery),
    ("list under None", listing(prefix=None), errors.InvalidQuery),
    ("list under an empty segment", listing(prefix=("",)), errors.InvalidQuery),
    ("list under a surrogate", listing(suffix=("\ud800",)), errors.InvalidQuery),
    ("list under a set", listing(prefix={"user"}), errors.InvalidQuery),
    ("list under 65 segments", listing(prefix=("*",) * 65), errors.InvalidQuery),
    ("list to the depth -1", listing(max_depth=-1), errors.InvalidQuery),
    ("list to the depth true", listing(max_depth=True), errors.InvalidQuery),
    ("list to an endless depth", listing(max_depth=HUGE), errors.InvalidQuery),
    ("list with the limit 0", listing(limit=0), errors.InvalidQuery),
    ("list from -1", listing(offset=-1), errors.InvalidQuery),
    ("events of an unknown kind", events(kinds=["read"]), errors.InvalidQuery),
    ("events of a kind that is a list", events(kinds=[["add"]]), errors.InvalidQuery),
    ("events of kinds as text", events(kinds="add"), errors.InvalidQuery),
    ("events of kinds as a number", events(kinds=5), errors.InvalidQuery),
    ("events since a number", events(since=5), errors.InvalidExpiry),
    ("events until no zone", events(until=datetime(2030, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001
    *[(f"events waiting {bad!r}", events(wait=bad), errors.InvalidQuery) for bad in (-1, 61, "1", True, None)],
    ("events waiting for NaN", events(wait=float("nan")), errors.InvalidQuery),
    ("events waiting endlessly", events(wait=HUGE), errors.InvalidQuery),
    ("sweep in batches of none", lambda m: m.sweep(batch=0), errors.InvalidQuery),
]
SECOND = forged(b'["f1","newest",3]')
CURSORS: list[Case] = [
    *each(
        "search after",
        lambda bad: search(cursor=bad),
        errors.InvalidCursor,
        {
            "an empty cursor": "",
            "a number": 5,
            "bytes": b"AAAAAAAAAAAA",
            "garbage": "not a cursor at all",
            "wide characters": "日本日本日本日本",
            "a truncated cursor": SECOND[:-1],
            "a lengthened cursor": SECOND + "A",
            "a padded cursor": SECOND + "=",
            "an altered cursor": "B" + SECOND[1:],
            "a cursor of events": forged(b'["e1",1]'),
            "a cursor of another order": forged(b'["f1","oldest",3]'),
            "a negative place": forged(b'["f1","newest",-3]'),
            "a place beyond": forged(b'["f1","newest",9223372036854775808]'),
            "a broken place": forged(b'["f1","newest",1.5]'),
            "a cursor around no JSON": forged(b"no json"),
            "a cursor around nothing": forged(b""),
            "a cursor around an object": forged(b'{"f1":"newest"}'),
            "a cursor around a deep list": forged(b"[" * 40_000),
            "a cursor around bad text": forged(b'["f1","newest","\\ud800"]'),
            "a cursor around bad bytes": forged(b'["f1","\xff\xfe",1]'),
            "a huge cursor": "A" * 70_000,
        },
    ),
    ("events after garbage", events(after="not a cursor at all"), errors.InvalidCursor),
    ("events after a number", events(after=0), errors.InvalidCursor),
    ("events after a cursor of a search", events(after=SECOND), errors.InvalidCursor),
    ("events after a point before all", events(after=forged(b'["e1",-1]')), errors.InvalidCursor),
    ("events after a point beyond all", events(after=forged(b'["e1",99999]')), errors.InvalidCursor),
    ("events after an endless point", events(after=forged(b'["e1",' + b"9" * 30 + b"]")), errors.InvalidCursor),
    ("events after a cursor of another log", seen_elsewhere, errors.InvalidCursor),
    ("events after no JSON", events(after=forged(b"]")), errors.InvalidCursor),
]
NO_TENANTS = ("", " ", "a b", "a/b", "é", "x" * 129, "a\n", "a\x00", "\ud800", None, 5, b"a", ["a"], {"a": 1})
NO_HEADS = (
    *("", "7", "7:", ":", "x:00", "7:zz", "7:00", "0:ff", 7, b"7:00", ["7"]),
    *("-5:" + "00" * 32, "1_0:" + "00" * 32),
)
TENANTS: list[Case] = each(
    "the tenant",
    lambda bad: lambda memories: memories.for_tenant(bad),
    errors.InvalidTenant,
    {repr(bad): bad for bad in NO_TENANTS},
)
HEADS: list[Case] = each(
    "verify against",
    lambda bad: lambda memories: memories.verify(head=bad),
    errors.InvalidQuery,
    {repr(bad): bad for bad in NO_HEADS},
)
SUBJECTS: list[Case] = each(
    "erase",
    lambda bad: lambda memories: memories.erase(bad),
    errors.InvalidNamespace,
    {
        "nobody": "",
        "a user without a name": "user:",
        "the tenant": "tenant",
        "a group": "group:a",
        "None": None,
        "bytes": b"user:ann",
        "a list": ["user:ann"],
        "a NUL": "user:a\x00",
        "a surrogate": "user:\ud800",
        "a huge name": "user:" + "x" * 2_000,
    },
)
ALL = [
    *(NAMESPACES + KEYS + VALUES + ATTRIBUTES + EXPIRIES + COMMITS),
    *(FILTERS + QUERIES + CURSORS + TENANTS + HEADS + SUBJECTS),
]
