"""Likeness: which two may be one under two spellings. It is suggested, and never done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.entities.likeness import SCORES, Likeness, likeness, suggested
from recollect.domain.entities.refs import EntityType, ref_of
from recollect.domain.entities.registry import Entity
from recollect.domain.instants import Instant

SOUND, SLIP = Likeness.SAME_SOUND, Likeness.NEARLY_SPELT
LETTERS, WORDS = Likeness.SAME_LETTERS, Likeness.SAME_WORDS


def entity(label: str, kind: EntityType = EntityType.PERSON) -> Entity:
    ref = ref_of(kind, label)
    assert ref is not None
    return Entity(ref=str(ref), label=label, created_at=Instant(1), updated_at=Instant(1))


@pytest.mark.parametrize(
    ("one", "other", "reasons"),
    [
        ("Makesh", "Mukesh", {SOUND, SLIP}),
        ("Jon", "John", {SOUND}),
        ("Catherine", "Kathryn", {SOUND}),
        ("Sara", "Sarah", {SOUND}),
        ("Mary", "Marie", {SOUND}),
        ("Steven", "Stephen", {SOUND}),
        ("John Smith", "Jon Smyth", {SOUND}),
        ("Mukseh", "Mukesh", {SLIP}),
        ("Berlin", "Merlin", {SLIP}),
        ("José", "Jose", {LETTERS}),
        ("Иван", "Ivan", {LETTERS}),
        ("さくら", "Sakura", {LETTERS}),
        ("Jean-Luc", "Jeanluc", {LETTERS}),
        ("Smith, John", "John Smith", {WORDS}),
    ],
)
def test_names_that_may_be_one(one: str, other: str, reasons: set[Likeness]) -> None:
    assert set(likeness(one, other)) == reasons
    assert set(likeness(other, one)) == reasons


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("John", "Joan"), ("Maria", "Mario"), ("Anna", "Hanna"), ("Tim", "Tom"), ("Kim", "Kam"), ("Jenny", "Johnny"),
        ("Robert", "Rupert"), ("Aaron", "Erin"), ("John Smith", "Joan Smith"), ("John Smith", "John Miller"),
        ("Project 7", "Project 8"), ("Terminal 12345", "Terminal 12346"), ("😀", "😀"), ("", "John"),
    ],
)  # fmt: skip
def test_names_that_are_two(one: str, other: str) -> None:
    assert likeness(one, other) == ()


def test_the_likeliest_is_suggested_first_with_its_reasons() -> None:
    known = [entity("Mukesh"), entity("Mukesch"), entity("Makéšh"), entity("Paul")]
    found = suggested(entity("Makesh"), known)
    assert found[0].into == entity("Makéšh").ref
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert all(each.reasons for each in found)


def test_nothing_of_another_type_is_suggested() -> None:
    assert suggested(entity("Mukesh"), [entity("Makesh", EntityType.ORG), entity("Mukesh", EntityType.PLACE)]) == ()


def test_a_pair_that_was_decided_about_is_not_suggested_again() -> None:
    one, other = entity("Makesh"), entity("Mukesh")
    (found,) = suggested(one, [other])
    assert suggested(one, [other], {found.pair}) == ()
    assert suggested(other, [one], {found.pair}) == ()


def test_a_first_name_is_suggested_for_the_only_one_who_has_it() -> None:
    (found,) = suggested(entity("John"), [entity("John Smith"), entity("Paul Smith")])
    assert found.reasons == (Likeness.PART_OF_NAME,)
    assert suggested(entity("Smith"), [entity("John Smith"), entity("Paul Smith")]) == ()
    assert suggested(entity("Acme", EntityType.ORG), [entity("Acme Bank", EntityType.ORG)]) == ()


def test_every_reason_has_a_score() -> None:
    assert SCORES.keys() == set(Likeness)


@given(st.text(max_size=15), st.text(max_size=15))
def test_likeness_knows_no_order_and_fails_on_no_name(one: str, other: str) -> None:
    assert set(likeness(one, other)) == set(likeness(other, one))
    for each in (one, other):
        assert not set(likeness(each, each)) - {LETTERS}
