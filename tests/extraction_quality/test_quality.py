"""How good the extraction is: how much of what it finds is junk, and how much of it is said twice."""

from __future__ import annotations

import pytest
from benchmarks.recall.data import LOCOMO, LONGMEMEVAL
from tests.extraction_quality.judging import (
    GOOD,
    JUNK,
    Extracted,
    between_people,
    extracted,
    junk_among,
    kept,
    labels,
    near_duplicates,
    with_assistants,
)

from recollect.domain.statements import statements_in

LEAST_LABELLED = 200
"""Below this the labels are of another extractor, and what is found has to be read anew."""
MOST_JUNK = 0.10
MOST_JUNK_WITH_ASSISTANTS = 0.20
MOST_SAID_TWICE = 0.02


def test_at_most_a_tenth_of_what_is_found_between_people_is_junk() -> None:
    found = [each for conversation in between_people() for each in extracted(conversation)]
    labelled, junk = junk_among(found, labels(LOCOMO))
    assert labelled >= LEAST_LABELLED, "read what is found, and label it anew"
    assert junk / labelled <= MOST_JUNK


def test_a_conversation_that_is_heard_twice_leaves_hardly_anything_twice() -> None:
    for conversation in between_people():
        once = [each.statement for each in extracted(conversation)]
        remembered = kept([*once, *once])
        assert len(remembered) <= len(once)
        assert near_duplicates(remembered) / len(remembered) <= MOST_SAID_TWICE, conversation.name


@pytest.mark.soak
def test_at_most_a_fifth_of_what_is_found_in_talk_with_assistants_is_junk() -> None:
    labelled, junk = junk_among(with_assistants(), labels(LONGMEMEVAL))
    assert labelled >= 80, "read what is found, and label it anew"
    assert junk / labelled <= MOST_JUNK_WITH_ASSISTANTS


def test_the_labels_are_digests_and_one_of_two_words() -> None:
    for benchmark in (LOCOMO, LONGMEMEVAL):
        assert all(len(digest) == 64 and int(digest, 16) >= 0 for digest in labels(benchmark))
        assert set(labels(benchmark).values()) == {GOOD, JUNK}
    assert len(labels(LOCOMO)) >= 220


def test_the_measures_tell_junk_and_near_duplicates() -> None:
    said = (
        "I live in Riga.",
        "I live in Riga!",
        "I live in old Riga now.",
        "I love walks in old Riga.",
        "I live in Riga now.",
    )
    found = [
        Extracted("c", str(turn), each) for turn, text in enumerate(said) for each in statements_in(text, "user:u")
    ]
    labelled = {found[0].digest: GOOD, found[2].digest: JUNK, "0" * 64: JUNK}
    assert junk_among(found, labelled) == (2, 1)
    remembered = kept([each.statement for each in found])
    assert [each.text for each in remembered] == [said[0], *said[2:]]
    assert near_duplicates(remembered) == 1
