"""What is told of a person's health, belief, politics, origin or love needs their consent, however it is put."""

from __future__ import annotations

import pytest

from recollect.domain.promotion.categories import Category, categories_in
from recollect.domain.promotion.claims import Candidate, Sensitivity
from recollect.domain.promotion.standing import Classification

TOLD = [
    ("pregnant", Category.HEALTH),
    ("allergic to peanuts", Category.HEALTH),
    ("diagnosed with depression", Category.HEALTH),
    ("Type 2 diabetic", Category.HEALTH),
    ("a Catholic", Category.BELIEF),
    ("a practising Christian", Category.BELIEF),
    ("Jewish", Category.BELIEF),
    ("voting for the Greens", Category.POLITICS),
    ("of African descent", Category.ORIGIN),
    ("gay", Category.ORIENTATION),
    ("a union member", Category.UNION),
]
HARMLESS = [
    "tea", "a brother called Christian", "colour-blind safe palettes", "blind tests", "a trip to Roma", "visual aids",
    "the credit union", "conservative estimates", "Gaylord Hotel", "disaster recovery", "the Orthodox API",
]  # fmt: skip


def claim(value: str, entity: str = "user:alice", predicate: str = "is") -> Candidate:
    return Candidate(entity, predicate, value, ("capture:1",), 0.9)


def personal(candidate: Candidate) -> bool:
    return Sensitivity().covers(candidate, Classification.INTERNAL)


@pytest.mark.parametrize(("text", "category"), TOLD)
def test_words_that_tell_of_a_category_are_known(text: str, category: Category) -> None:
    assert categories_in(text) == {category}
    assert categories_in(text.upper()) == {category}
    assert personal(claim(text))
    assert personal(claim(text, "person:mia"))


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_only_look_alike_are_not(text: str) -> None:
    assert categories_in(text) == frozenset()
    assert not personal(claim(text))


def test_what_is_said_of_a_thing_or_wanted_done_is_nobody_s_health() -> None:
    assert not personal(claim("pregnant", "product:test-kit"))
    assert not personal(claim("ask whether the patient is pregnant", predicate="instruction"))
