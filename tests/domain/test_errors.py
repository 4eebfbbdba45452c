"""The tree of errors: drawn as it is, each with advice and a code of its own."""

from __future__ import annotations

import re

import pytest

from recollect.domain import errors
from recollect.domain.errors import RecollectError, all_errors


def drawn() -> list[tuple[int, str]]:
    """Depth and name of every line of the drawing at the top of the module."""
    found = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)", line)
        if match:
            found.append((len(match[1]) // 4, match[2]))
    return found


def real(cls: type[RecollectError] = RecollectError, depth: int = 0) -> list[tuple[int, str]]:
    found = [(depth, cls.__name__)]
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            found += real(child, depth + 1)
    return found


def test_the_drawing_is_the_tree() -> None:
    assert drawn() == real()
    assert len(drawn()) > 30


def test_every_error_is_listed_once() -> None:
    names = [cls.__name__ for cls in all_errors()]
    assert len(names) == len(set(names))
    assert names == [name for _, name in real()]


@pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)
def test_every_error_gives_advice_and_has_a_code(cls: type[RecollectError]) -> None:
    assert "code" in vars(cls), "a code is its own, not inherited"
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", cls.code)
    assert cls.__doc__ is not None
    advice = cls.advice()
    assert 10 < len(advice) < 200
    assert advice[0].isupper()
    assert advice.endswith(".")
    assert "  " not in advice


def test_every_code_is_unique() -> None:
    codes = [cls.code for cls in all_errors()]
    assert len(codes) == len(set(codes))


def test_an_error_carries_its_message_and_details() -> None:
    error = errors.RevisionConflict("not now", expected=1, actual=2)
    assert (str(error), error.message, error.details) == ("not now", "not now", {"expected": 1, "actual": 2})
    assert not error.retriable
    assert errors.Contention("again").retriable
