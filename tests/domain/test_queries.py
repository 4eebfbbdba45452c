"""Cursors, limits and patterns."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.address import Address, namespace
from recollect.domain.errors import CursorExpired, InvalidCursor, InvalidQuery
from recollect.domain.events import Head
from recollect.domain.instants import Instant
from recollect.domain.queries import (
    Order,
    Place,
    check_reach,
    checked_depth,
    checked_limit,
    checked_offset,
    checked_pattern,
    event_cursor,
    find_cursor,
    fixed_prefix,
    matches_patterns,
    parse_event_cursor,
    parse_find_cursor,
)
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row


def row(sequence: int = 7, path: tuple[str, ...] = ("a", "\x1e"), key: str = "k") -> Row:
    now = Instant(0)
    return Row("t", Address(Plane.ITEM, namespace(path), key), b"", 1, sequence, b"{}", None, "{}", now, now, None)


@given(st.integers(0, (1 << 63) - 1))
def test_an_event_cursor_comes_back(after: int) -> None:
    assert parse_event_cursor(event_cursor(after)) == after


@given(st.integers(1, (1 << 63) - 1), st.sampled_from([Order.NEWEST, Order.OLDEST]))
def test_a_search_cursor_comes_back(sequence: int, order: Order) -> None:
    assert parse_find_cursor(find_cursor(order, row(sequence)), order) == Place(sequence)


@given(
    st.lists(st.sampled_from(["a", "é", "\x1e", "%"]), min_size=1, max_size=3).map(tuple),
    st.text('kK\x1eé"\\', min_size=1),
)
def test_a_cursor_by_key_comes_back(path: tuple[str, ...], key: str) -> None:
    cursor = find_cursor(Order.KEY, row(path=path, key=key))
    assert parse_find_cursor(cursor, Order.KEY) == Place(0, namespace(path).encoded, key)


@given(st.randoms(use_true_random=False), st.sampled_from(list(Order)))
def test_an_altered_cursor_is_refused(chance: random.Random, order: Order) -> None:
    cursor = find_cursor(order, row())
    place = chance.randrange(len(cursor))
    other = chance.choice([letter for letter in "ABCabc019-_" if letter != cursor[place]])
    for altered in (cursor[:place] + other + cursor[place + 1 :], cursor[:place], cursor + other):
        with pytest.raises(InvalidCursor):
            parse_find_cursor(altered, order)


@pytest.mark.parametrize("made", list(Order))
@pytest.mark.parametrize("asked", list(Order))
def test_a_cursor_belongs_to_its_order(made: Order, asked: Order) -> None:
    cursor = find_cursor(made, row())
    if made is asked:
        parse_find_cursor(cursor, asked)
    else:
        with pytest.raises(InvalidCursor):
            parse_find_cursor(cursor, asked)
    with pytest.raises(InvalidCursor):
        parse_event_cursor(cursor)
    with pytest.raises(InvalidCursor):
        parse_find_cursor(event_cursor(3), asked)


def test_a_point_before_the_kept_log_is_told_with_the_oldest_that_works() -> None:
    head = Head(20, bytes(32), 10, bytes(32))
    check_reach(10, head)
    check_reach(20, head)
    with pytest.raises(CursorExpired) as caught:
        check_reach(9, head)
    assert parse_event_cursor(str(caught.value.details["oldest"])) == 10
    with pytest.raises(InvalidCursor):
        check_reach(21, head)


@pytest.mark.parametrize("bad", [0, -1, 1_001, True, 1.0, "5", None])
def test_limits_are_whole_numbers_within_range(bad: Any) -> None:
    assert checked_limit(1) == 1
    assert checked_limit(1_000) == 1_000
    with pytest.raises(InvalidQuery):
        checked_limit(bad)


@pytest.mark.parametrize("bad", [-1, 1_000_001, True, "5", None])
def test_offsets_are_whole_numbers_within_range(bad: Any) -> None:
    assert checked_offset(0) == 0
    with pytest.raises(InvalidQuery):
        checked_offset(bad)


def test_a_depth_of_none_or_zero_truncates_nothing() -> None:
    assert checked_depth(None) is None
    assert checked_depth(0) is None
    assert checked_depth(3) == 3
    for bad in (-1, 65, True, "1"):
        with pytest.raises(InvalidQuery):
            checked_depth(bad)


@pytest.mark.parametrize(
    ("segments", "prefix", "suffix", "expected"),
    [
        ("abc", "", "", True),
        ("abc", "ab", "", True),
        ("abc", "b", "", False),
        ("abc", "a*c", "", True),
        ("abc", "*", "*", True),
        ("abc", "***", "", True),
        ("abc", "****", "", False),
        ("abc", "", "bc", True),
        ("abc", "", "*c", True),
        ("abc", "", "b", False),
        ("abc", "ab", "bc", True),
        ("a", "a", "a", True),
        ("a", "aa", "", False),
    ],
)
def test_a_star_is_exactly_one_segment(segments: str, prefix: str, suffix: str, expected: bool) -> None:
    assert matches_patterns(tuple(segments), tuple(prefix), tuple(suffix)) is expected


def test_the_part_before_the_first_star_is_fixed() -> None:
    assert fixed_prefix(("a", "b", "*", "c")) == ("a", "b")
    assert fixed_prefix(("a",)) == ("a",)
    assert fixed_prefix(("*",)) == ()
    with pytest.raises(InvalidQuery):
        checked_pattern("ab", "prefix")


def test_a_pattern_has_no_segment_that_no_namespace_can_have() -> None:
    assert checked_pattern(("x" * 1_024, "*"), "suffix") == ("x" * 1_024, "*")
    with pytest.raises(InvalidQuery, match="suffix segment 1 is longer than 1024 bytes"):
        checked_pattern(("a", "é" * 513), "suffix")
