"""A promise without a proof fails the build, and so does a proof of something nobody promised."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest
from tests.contract import test_keys
from tests.conversation import test_summarizers
from tests.extraction import test_contract as test_extractors

import recollect.ports.extractor
import recollect.ports.keys
import recollect.ports.store
import recollect.ports.summarizer
from recollect.testing.contract import CHECKS, SUBJECTS, clauses_of

CITED = Counter(number for check in CHECKS for number in check.clauses)


def _cited_by(module: object, prefix: str) -> Counter[str]:
    names = [name for name, _ in inspect.getmembers(module, inspect.isfunction) if name.startswith(prefix)]
    return Counter(name.split("_")[1].upper() for name in names)


CITED_BY_KEYS = _cited_by(test_keys, "test_k")
CITED_BY_EXTRACTORS = _cited_by(test_extractors, "test_x")
CITED_BY_SUMMARIZERS = _cited_by(test_summarizers, "test_z")


def test_the_port_numbers_its_promises_without_a_gap() -> None:
    assert clauses_of(recollect.ports.store.__doc__, "S") == [f"S{number}" for number in range(1, 63)]
    assert clauses_of(recollect.ports.keys.__doc__, "K") == [f"K{number}" for number in range(1, 9)]
    assert clauses_of(recollect.ports.extractor.__doc__, "X") == [f"X{number}" for number in range(1, 6)]
    assert clauses_of(recollect.ports.summarizer.__doc__, "Z") == [f"Z{number}" for number in range(1, 6)]


def test_every_promise_of_the_store_has_a_check_and_every_check_a_promise() -> None:
    assert set(CITED) == set(clauses_of(recollect.ports.store.__doc__, "S"))


def test_every_promise_of_the_keys_has_a_test_and_every_test_a_promise() -> None:
    assert set(CITED_BY_KEYS) == set(clauses_of(recollect.ports.keys.__doc__, "K"))


def test_every_promise_of_the_extractor_has_a_test_and_every_test_a_promise() -> None:
    assert set(CITED_BY_EXTRACTORS) == set(clauses_of(recollect.ports.extractor.__doc__, "X"))


def test_every_promise_of_the_summarizer_has_a_test_and_every_test_a_promise() -> None:
    assert set(CITED_BY_SUMMARIZERS) == set(clauses_of(recollect.ports.summarizer.__doc__, "Z"))


def test_every_function_that_looks_like_a_check_is_one() -> None:
    registered = {check.run for check in CHECKS}
    for module in SUBJECTS:
        for name, function in inspect.getmembers(module, inspect.iscoroutinefunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                assert function in registered, f"{module.__name__}.{name} is never run"


@pytest.mark.parametrize("text", ["", None, "S1 within a line\nsays S2 too", "S3\n"])
def test_only_lines_that_begin_with_a_number_are_clauses(text: str | None) -> None:
    assert clauses_of(text, "S") == (["S1"] if text and text.startswith("S1") else [])
