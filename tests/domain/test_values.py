"""Values: what goes in comes out exactly, and what could not is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.attributes import encode_attributes, stored_attributes
from recollect.domain.errors import InvalidAttributes, InvalidValue
from recollect.domain.values import MAX_BYTES, MAX_LEVELS, decode_value, encode_value, stored_value

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
big = st.one_of(st.integers(), st.integers(-(1 << 1_000), 1 << 1_000))
scalars = st.one_of(st.none(), st.booleans(), big, st.floats(allow_nan=False, allow_infinity=False), texts)
members = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)
objects = st.dictionaries(texts, members, max_size=5)


def exactly(one: Any, two: Any) -> bool:
    """Equal in kind as well as in value: 1 is not 1.0 and not True, 0.0 is not -0.0."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return list(one) == list(two) and all(exactly(one[name], two[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(exactly, one, two))
    if isinstance(one, float):
        return one == two and math.copysign(1, one) == math.copysign(1, two)
    return bool(one == two)


@given(objects)
def test_a_value_comes_back_exactly_as_it_was_given(value: dict[str, Any]) -> None:
    assert exactly(stored_value(encode_value(value)), value)


@given(objects)
def test_the_strict_decoder_reads_what_the_encoder_wrote(value: dict[str, Any]) -> None:
    assert exactly(decode_value(encode_value(value)), value)
    assert exactly(decode_value(json.dumps(value)), value)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"leaf": 1}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


@pytest.mark.parametrize("make", ["objects", "lists"])
def test_32_levels_are_enough_and_33_too_many(make: str) -> None:
    fits: dict[str, Any] = nested(MAX_LEVELS)
    deep: dict[str, Any] = nested(MAX_LEVELS + 1)
    if make == "lists":
        inner: list[Any] = []
        for _ in range(MAX_LEVELS - 2):
            inner = [inner]
        fits, deep = {"in": inner}, {"in": [inner]}
    assert decode_value(encode_value(fits)) == fits
    for refused in (encode_value, lambda value: decode_value(json.dumps(value))):
        with pytest.raises(InvalidValue, match="deeper than 32"):
            refused(deep)


@pytest.mark.parametrize(
    "member",
    [float("nan"), float("inf"), "\x00", "a\ud800", (1,), {1}, b"x", object(), 1j, {1: 1}, {"\x00": 1}, {"\udfff": 1}],
)
def test_what_json_cannot_say_is_refused_wherever_it_hides(member: object) -> None:
    for value in ({"v": member}, {"v": [member]}, {"v": {"w": [1, {"x": member}]}}):
        with pytest.raises(InvalidValue):
            encode_value(value)


@pytest.mark.parametrize("value", [None, [], "text", 5, b"{}"])
def test_a_value_is_an_object(value: object) -> None:
    with pytest.raises(InvalidValue, match="must be a JSON object"):
        encode_value(value)


def test_a_value_may_have_a_mebibyte() -> None:
    room = MAX_BYTES - len('{"v":""}')
    assert len(encode_value({"v": "x" * room})) == MAX_BYTES
    with pytest.raises(InvalidValue, match="1,048,577 bytes"):
        encode_value({"v": "x" * (room + 1)})


def test_a_ring_is_refused() -> None:
    value: dict[str, Any] = {}
    value["again"] = {"and": [value]}
    with pytest.raises(InvalidValue):
        encode_value(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e400}', "inf"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[1]", "JSON object"),
        ("{", "not valid JSON"),
        (b'{"a": "\xff"}', "not valid JSON"),
        ("[" * 90_000, "deeper"),
    ],
)
def test_text_about_which_parsers_disagree_is_refused(text: str | bytes, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        decode_value(text)


flat = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,12}", fullmatch=True),
    st.one_of(
        st.none(),
        st.lists(st.one_of(texts, st.integers(-(1 << 63), (1 << 63) - 1), st.booleans()), max_size=4),
        texts,
        st.booleans(),
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=6,
)


@given(flat)
def test_policy_attributes_come_back_and_have_one_spelling(attributes: dict[str, Any]) -> None:
    text = encode_attributes(attributes)
    assert stored_attributes(text) == attributes
    assert encode_attributes(dict(reversed(attributes.items()))) == text


@pytest.mark.parametrize(
    "bad", [{"a": {}}, {"a": [[1]]}, {"a b": 1}, {"": 1}, {"a": 1 << 63}, {"a": math.inf}, [1], "a", 0]
)
def test_policy_attributes_are_flat(bad: Any) -> None:
    with pytest.raises(InvalidAttributes):
        encode_attributes(bad)
