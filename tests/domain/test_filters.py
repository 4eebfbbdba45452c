"""Filters: how they are written, and a table of what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.domain.errors import InvalidFilter
from recollect.domain.filters import EVERYTHING, matches, parse_filter

DAY = "2026-01-02T00:00:00Z"

MEANING: list[tuple[Any, Any, bool]] = [
    # what the attribute is, what is asked of it, whether it matches
    ("a", "a", True),
    ("a", "A", False),
    ("\u00e9", "e\u0301", False),
    (1, 1.0, True),
    (1, True, False),
    (True, 1, False),
    (True, True, True),
    (False, 0, False),
    ("1", 1, False),
    (1, "1", False),
    (2**63 - 1, float(2**63), False),
    (None, "a", False),
    (None, {"$ne": "a"}, False),
    (None, {"$exists": False}, True),
    (None, {"$exists": True}, False),
    ("a", {"$exists": True}, True),
    ([], {"$exists": True}, True),
    ([], "a", False),
    ([], {"$ne": "a"}, True),
    (["a", "b"], "b", True),
    (["a", "b"], {"$ne": "b"}, False),
    (["a", "b"], {"$ne": "c"}, True),
    (["a", "b"], {"$in": ["c", "b"]}, True),
    ("a", ["a", "b"], True),
    ("a", {"in": ["b"]}, False),
    (1, {"$in": [True, "1"]}, False),
    (5, {"$gt": 5}, False),
    (5, {"$gte": 5}, True),
    (5, {"gt": 4.5, "lt": 5.5}, True),
    (5, {"$lte": 4}, False),
    ("5", {"$gt": 4}, False),
    (True, {"$gt": 0}, False),
    ([1, 9], {"$gt": 5}, True),
    ([1, 9], {"$gt": 5, "$lt": 5}, True),
    (DAY, {"$gt": "2026-01-01T23:59:59Z"}, True),
    (DAY, {"$gte": "2026-01-02T01:00:00+01:00"}, True),
    (DAY, {"$gt": "2026-01-02T01:00:00+01:00"}, False),
    ("yesterday", {"$lt": DAY}, False),
    (5, {"$lt": DAY}, False),
    (DAY, "2026-01-02T01:00:00+01:00", False),
]


@pytest.mark.parametrize(("attribute", "asked", "expected"), MEANING)
def test_a_filter_means_what_the_table_says(attribute: Any, asked: Any, expected: bool) -> None:
    assert matches(parse_filter({"x": asked}), {"x": attribute, "y": "other"}) is expected
    if attribute is None:
        assert matches(parse_filter({"x": asked}), {}) is expected


def test_all_conditions_must_hold() -> None:
    asked = parse_filter({"a": 1, "b": {"$gt": 1, "$lt": 3}})
    assert matches(asked, {"a": 1, "b": 2})
    assert not matches(asked, {"a": 1, "b": 3})
    assert not matches(asked, {"b": 2})


def test_no_filter_matches_everything() -> None:
    assert parse_filter(None) is EVERYTHING
    assert matches(parse_filter({}), {"a": 1})
    assert not parse_filter({})


def test_two_filters_together_can_only_narrow() -> None:
    both = parse_filter({"a": 1}).and_(parse_filter({"b": 2}))
    assert matches(both, {"a": 1, "b": 2})
    assert not matches(both, {"a": 1})


@pytest.mark.parametrize(
    "written",
    [
        "x",
        [],
        5,
        {"x": {}},
        {"x": {"$like": "a"}},
        {"x": {"$gt": "abc"}},
        {"x": {"$gt": True}},
        {"x": {"$exists": "yes"}},
        {"x": {"$in": []}},
        {"x": []},
        {"x": None},
        {"x": float("nan")},
        {"x": 1 << 64},
        {"x y": 1},
        {"$or": []},
        {"x": {"$in": [[1]]}},
        {f"a{n}": 1 for n in range(33)},
    ],
)
def test_what_is_no_filter_is_refused(written: Any) -> None:
    with pytest.raises(InvalidFilter):
        parse_filter(written)
