"""What a policy sees is what it was told: every JSON value goes into the engine and comes back as it was.

regopy alone does not do that; what it does to values is written down here, so that a newer one can be judged by it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
import regopy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.policies.conformance import Case, run
from tests.sizes import sized

from recollect.backends.rego import sandboxed
from recollect.backends.rego.sandboxed import SHIFT

ECHO = "package echo\n\nx := input.v\n"
EQUAL = "package echo\n\nx := [input.v[0] == input.v[1], input.v[0] in {input.v[1]}, count(input.v[0])]\n"
ENTRY = "echo/x"
DEEP = 64
MANY = 10_000

ends = st.sampled_from([chr(code) for code in (SHIFT - 1, SHIFT, SHIFT + 0x22, SHIFT + 0x5C, 0x10FFFE, 0x10FFFF)])
texts = st.text(st.characters(codec="utf-8") | ends, max_size=20)
numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | texts | numbers
values = st.recursive(
    scalars, lambda part: st.lists(part, max_size=4) | st.dictionaries(texts, part, max_size=4), max_leaves=12
)


def nested(levels: int) -> Any:
    value: Any = "deep"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


AWKWARD: dict[str, Any] = {
    "quotes": 'a"b',
    "quotes around it": '"admin"',
    "a quote alone": '"',
    "a backslash": "a\\b",
    "what looks like an escape": "\\u0041\\n",
    "a line break": "a\nb",
    "every control character": "".join(map(chr, range(0x20))) + "\x7f",
    "NUL in the middle": "a\0b",
    "what could be an answer": 'x"],"allow":[true',
    "an astral character": "😀",
    "a combining one": "e\u0301",
    "a byte order mark": "\ufeff",
    "a line separator": "\u2028",
    "no character": "\uffff",
    "characters that the engine needs for itself": [chr(SHIFT), chr(SHIFT + 0x22), {chr(0x10FFFE): chr(0x10FFFF)}],
    "an empty name": {"": 1},
    "names with quotes": {'a"b': 1, '"a"': 2, "a": 3},
    "names like numbers": {"1": 1, "true": 2, "null": 3},
    "largest and smallest": [2**63 - 1, -(2**63), 2**53 + 1],
    "beyond 64 bits": [2**63, 2**64, -(2**63) - 1, 10**30],
    "fractions": [0.1, 1 / 3, 0.1 + 0.2, 1e-7, 0.9999999, 123456789.123456789, 1e15 + 0.3],
    "the ends of the scale": [1e308, 5e-324, 2.2250738585072014e-308, -1.7976931348623157e308],
    "zeros": [0, 0.0, -0.0],
    "what is equal in Python": [True, 1, 1.0, False, 0, 0.0, None],
    "nothing": [[], {}, "", None],
    "deep": nested(DEEP),
    "many": list(range(MANY)),
    "many names": {str(number): number for number in range(MANY)},
    "long": "é" * 1_000_000,
}


class Production:
    """The program that evaluates policies, in its own process, as it is started for them."""

    def __init__(self, text: str = ECHO) -> None:
        packages = Path(regopy.__file__).parent.parent
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", sandboxed.__file__, str(packages)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        )
        load = {"op": "load", "id": "1", "modules": {"a.rego": text}, "data": {}, "entries": [ENTRY]}
        assert "loaded" in self._told(load)

    def _told(self, asked: dict[str, Any]) -> dict[str, Any]:
        sandboxed.send(cast("BinaryIO", self._process.stdin), asked)
        answer = sandboxed.receive(cast("BinaryIO", self._process.stdout))
        assert answer is not None, "it came to an end"
        said: dict[str, Any] = json.loads(answer)
        return said

    def ask(self, value: Any) -> dict[str, Any]:
        return self._told({"op": "ask", "id": "1", "input": {"v": value}, "entries": [ENTRY]})

    def echo(self, value: Any) -> Any:
        said = self.ask(value)
        assert "results" in said, said
        return said["results"][0][0]

    def close(self) -> None:
        with self._process:
            self._process.kill()


@pytest.fixture(scope="module")
def production() -> Iterator[Production]:
    started = Production()
    yield started
    started.close()


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; `2.0` is `2`, and neither is `true`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    return type(one) is type(other) and bool(one == other)


def test_values_that_differ_are_not_alike() -> None:
    scalars = [(1, True), (0, False), ("1", 1), ("a\0b", "a"), (None, False), (0.1, 0.2)]
    pairs: list[tuple[Any, Any]] = [*scalars, ([1], [1, 2]), ({"a": 1}, {"b": 1})]
    assert not any(alike(*pair) for pair in pairs)
    assert all(alike(value, value) for value in AWKWARD.values())


# In production


@pytest.mark.parametrize("what", AWKWARD)
def test_awkward_values_come_back_as_they_were(production: Production, what: str) -> None:
    assert alike(production.echo(AWKWARD[what]), AWKWARD[what])


@sized(small=300, full=20_000)
def test_every_value_comes_back_as_it_was(production: Production, count: int) -> None:
    @settings(max_examples=count, deadline=None)
    @example({'"': ["\\", "\0", -0.0, 2**64]})
    @given(values)
    def check(value: Any) -> None:
        assert alike(production.echo(value), value)

    check()


@sized(small=300, full=20_000)
def test_texts_are_equal_exactly_when_they_are(count: int) -> None:
    equal = Production(
        "package echo\n\nx := [input.v[0] == input.v[1], input.v[0] in {input.v[1]}, count(input.v[0])]\n"
    )

    @settings(max_examples=count, deadline=None)
    @example('"admin"', "admin")
    @example("a\0", "a")
    @example("\\n", "\n")
    @example('""', "")
    @example('"', chr(SHIFT + 0x22))
    @given(texts, texts)
    def check(one: str, other: str) -> None:
        told = [equal.echo([one, other]), equal.echo([one, one])]
        assert [said[:2] for said in told] == [[one == other] * 2, [True, True]]
        if max(one, default="") < chr(SHIFT):
            assert [said[2] for said in told] == [len(one)] * 2

    try:
        check()
    finally:
        equal.close()


# regopy alone


def bare(value: Any, module: str = ECHO) -> str:
    """What regopy prints of its answer when it is told a value without further ado."""
    case = Case("bare", "bare", "bare", "data.echo.x = x", (module,), input={"v": value}, want_defined=True)
    return str(run([case])[0].outcome["text"])


def printed(text: str) -> str:
    return f'{{"expressions":[true], "bindings":{{"x":{text}}}}}'


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("a\0b", '"a"'),  # cut off
        (2**63, "-9223372036854775808"),  # wraps around
        (2**64, "0"),
        (-(2**63) - 1, "9223372036854775807"),
        (1e-7, "0"),  # six decimals
        (1 / 3, "0.333333"),
        (0.9999999, "1"),
        (5e-324, "0"),
        (math.inf, "inf"),
    ],
)
def test_regopy_alone_alters_what_it_is_told(value: Any, seen: str) -> None:
    assert bare(value) == printed(seen)


@pytest.mark.parametrize("value", ['a"b', "a\nb", "a\\b", 'x"},"allow":{"y":"z'])
def test_regopy_alone_escapes_nothing_that_it_prints(value: str) -> None:
    assert bare(value) == printed(f'"{value}"')


def test_regopy_alone_takes_quotes_around_a_text_for_nothing() -> None:
    assert bare('"admin"', 'package echo\n\nx := input.v == "admin"\n') == printed("true")


def test_regopy_alone_compares_escapes_as_they_are_written() -> None:
    module = 'package echo\n\nx := ["\\u0041" == "A", count("\\n"), contains("\\n", "n")]\n'
    assert bare(None, module) == printed("[false,2,true]")
