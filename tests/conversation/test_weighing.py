"""How much a memory matters, and how that grows when it is said again."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conversation.records import a_record

from recollect.domain.conversation.weighing import (
    MOST_WEIGHT,
    OFTEN,
    VERY_OFTEN,
    WeightReason,
    grown_weight,
    initial_weight,
    mentioned,
    weight_of,
)
from recollect.domain.governance.terms import EventType
from recollect.domain.instants import Instant
from recollect.domain.remembering.records import Record


@pytest.mark.parametrize(
    ("event_type", "predicate", "fact_type", "pinned", "weight", "reason"),
    [
        (EventType.FACT, "name", "fact", False, 3, WeightReason.CORE_IDENTITY),
        (EventType.FACT, "works_as", "fact", False, 3, WeightReason.CORE_IDENTITY),
        (EventType.FACT, "is", "relationship", False, 2, WeightReason.RELATIONSHIP),
        (EventType.FACT, "allergic_to", "fact", False, 2, WeightReason.KEY_FACT),
        (EventType.FACT, "lives_in", "fact", False, 2, WeightReason.KEY_FACT),
        (EventType.PREFERENCE, "likes", "preference", False, 1, WeightReason.STANDARD),
        (EventType.FACT, "event", None, False, 1, WeightReason.STANDARD),
        (EventType.CONTEXT, "said", "fact", False, 0, WeightReason.PASSING),
        (EventType.CONTEXT, "said", "fact", True, 3, WeightReason.PINNED),
    ],
)
def test_a_memory_weighs_by_what_it_says(
    event_type: EventType, predicate: str, fact_type: str | None, pinned: bool, weight: int, reason: WeightReason
) -> None:
    assert initial_weight(event_type, predicate, fact_type, pinned) == (weight, (reason,))


def test_the_name_of_somebody_else_is_a_key_fact_only() -> None:
    assert initial_weight(EventType.FACT, "name", "fact", False, entity="user:ann").weight == 3
    assert initial_weight(EventType.FACT, "works_as", "fact", False, entity="person:john").weight == 2


@pytest.mark.parametrize(
    ("base", "mentions", "weight"),
    [
        (0, 1, 0),
        (0, 2, 0),
        (0, 3, 1),
        (0, 9, 1),
        (0, 10, 2),
        (0, 1000, 2),
        (1, 3, 2),
        (1, 10, 3),
        (2, 3, 3),
        (2, 10, 3),
        (3, 1, 3),
        (3, 10, 3),
    ],
)
def test_a_weight_grows_at_three_and_at_ten_mentions(base: int, mentions: int, weight: int) -> None:
    assert grown_weight(base, mentions, pinned=False).weight == weight


def test_growth_says_why() -> None:
    assert grown_weight(1, OFTEN, pinned=False).reasons == (WeightReason.OFTEN_MENTIONED,)
    assert grown_weight(1, VERY_OFTEN, pinned=False).reasons == (WeightReason.VERY_OFTEN_MENTIONED,)
    assert grown_weight(1, 1, pinned=False).reasons == ()
    assert grown_weight(1, 1, pinned=True) == (3, (WeightReason.PINNED,))


@given(st.integers(-5, 9), st.integers(0, 50), st.booleans())
def test_a_weight_is_bounded_and_never_shrinks(base: int, mentions: int, pinned: bool) -> None:
    weight = grown_weight(base, mentions, pinned).weight
    assert max(0, min(base, MOST_WEIGHT)) <= weight <= MOST_WEIGHT
    assert weight <= grown_weight(base, mentions + 1, pinned).weight
    assert weight <= grown_weight(base + 1, mentions, pinned).weight
    assert not pinned or weight == MOST_WEIGHT


def said(record: Record, times: int) -> Record:
    for each in range(times):
        record = mentioned(record, Instant(1_000 + each))
    return record


def test_a_record_that_is_said_again_counts_it() -> None:
    record = said(a_record(), 1)
    assert (record.mention_count, record.mentioned_at, record.weight) == (2, 1_000, 1)
    assert record.weight_reason == ("standard",)


def test_a_record_weighs_more_when_it_is_said_often() -> None:
    assert said(a_record(), 2).weight == 2
    assert said(a_record(), 2).weight_reason == ("standard", "often_mentioned")
    assert said(a_record(), 9).weight == 3
    assert said(a_record(), 9).weight_reason == ("standard", "very_often_mentioned")


def test_an_earlier_mention_does_not_move_the_last_one_back() -> None:
    record = mentioned(mentioned(a_record(), Instant(50)), Instant(20))
    assert (record.mention_count, record.mentioned_at) == (3, 50)


def test_a_pinned_record_weighs_most() -> None:
    record = mentioned(msgspec.structs.replace(a_record(), pinned=True), Instant(1))
    assert (record.weight, record.weight_reason) == (3, ("pinned",))


def test_a_weight_that_was_taken_over_is_kept() -> None:
    record = mentioned(msgspec.structs.replace(a_record(), weight=3), Instant(1))
    assert (record.weight, record.weight_reason) == (3, ("standard", "inherited"))


def test_a_fold_weighs_two_at_least() -> None:
    record = msgspec.structs.replace(a_record(), origin="curated_fold")
    assert weight_of(record) == (2, (WeightReason.FOLDED,))


@given(st.integers(0, 3), st.booleans(), st.lists(st.integers(0, 100), max_size=20))
def test_mentions_only_ever_add_weight(weight: int, pinned: bool, moments: list[int]) -> None:
    record = msgspec.structs.replace(a_record(), weight=weight, pinned=pinned)
    for moment in moments:
        after = mentioned(record, Instant(moment))
        assert record.weight <= after.weight <= MOST_WEIGHT
        assert after.mention_count == record.mention_count + 1
        record = after
