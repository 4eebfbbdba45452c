"""The order of what is recalled: the blend of seed 002, relevance, and what stands in place of what."""

from __future__ import annotations

import math
from collections import Counter as Tally
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.recall.asking import Ranker
from recollect.domain.recall.ranking import (
    Candidate,
    Placed,
    below_their_heirs,
    counted,
    frequencies,
    newest,
    ranked,
    recency,
    weights_of,
)
from recollect.domain.recall.window import facts, tokens_of, turns
from recollect.domain.remembering.records import Record

DAY = 86_400_000_000
NOW = Instant(100 * DAY)


def record(number: int, **more: Any) -> Record:
    given: dict[str, Any] = {
        "id": f"user:ada:semantic:{number}",
        "space": Space.USER,
        "owner": "ada",
        "kind": Kind.SEMANTIC,
        "event_type": EventType.FACT,
        "write_class": WriteClass.EVIDENCE_LINK,
        "tier": Tier.SEMANTIC,
        "entity": "user:ada",
        "predicate": "said",
        "value": number,
        "text": f"number {number}",
        "dedup_key": f"fact:{number}",
        "source": Source.USER,
        "authority": Authority.USER_ASSERTED,
        "authority_reason": "source:user",
        "trust": Trust.ASSERTED,
        "classification": Classification.INTERNAL,
        "confidence": 1.0,
        "importance": 3,
        "importance_reason": (),
        "tick": number,
        "promoted_at": NOW,
        "evidence_refs": (),
        "proposal_id": None,
        "principal": "ada",
    }
    return Record(**given | more)


@pytest.mark.parametrize(("days", "share"), [(0, 1.0), (14, 0.5), (28, 0.25), (-3, 1.0)])
def test_recency_halves_every_fortnight(days: int, share: float) -> None:
    assert recency(record(1, promoted_at=Instant(NOW - days * DAY)), NOW) == pytest.approx(share)


def test_an_entity_counts_as_often_as_it_is_spoken_of_beside_the_one_spoken_of_most() -> None:
    found = [record(1, entity="a:1"), record(2, entity="a:1"), record(3, entity="b:1")]
    assert frequencies(found) == {"a:1": 1.0, "b:1": 0.5}
    assert frequencies([]) == {}


def test_the_blend_is_40_30_30() -> None:
    old = record(1, promoted_at=Instant(NOW - 14 * DAY), entity="a:1")
    found = ranked([Candidate(old, 0.5), Candidate(record(2), 0.0), Candidate(record(3), 1.0)], Ranker.BLENDED, NOW)
    assert [(each.record.tick, each.score) for each in found] == [(3, 1.0), (2, 0.6), (1, 0.5)]
    assert found[2].parts["recency"] == {"value": 0.5, "weight": 0.3}


def test_relevance_goes_by_similarity_and_parts_what_is_about_equal() -> None:
    old = record(1, promoted_at=Instant(NOW - 300 * DAY), importance=0)
    found = ranked([Candidate(old, 0.9), Candidate(record(2), 0.8)], Ranker.RELEVANCE, NOW)
    assert [each.record.tick for each in found] == [1, 2]
    found = ranked([Candidate(old, 0.9), Candidate(record(2), 0.895)], Ranker.RELEVANCE, NOW)
    assert [each.record.tick for each in found] == [2, 1]
    assert all(0 <= each.score <= 1 for each in found)


def test_the_weights_add_up() -> None:
    for ranker in (Ranker.BLENDED, Ranker.RELEVANCE):
        weights = weights_of(ranker)
        assert weights is not None
        assert sum(weights.values()) == pytest.approx(1, abs=1e-5)
    assert weights_of(Ranker.DETERMINISTIC) is None


def test_of_equal_ones_the_newer_comes_first() -> None:
    found = ranked([Candidate(record(number), 0.5) for number in (2, 10, 9)], Ranker.RELEVANCE, NOW)
    assert [each.record.tick for each in found] == [10, 9, 2]
    assert [each.record.tick for each in newest([record(2), record(10)], NOW)] == [10, 2]


def test_whole_numbers_are_counted_beside_the_newest_of_each_space() -> None:
    found = counted({Space.USER: [record(1), record(9)], Space.SYSTEM: [record(2)]}, "number 1")
    assert [(each.record.tick, each.score) for each in found] == [(9, 4.0), (2, 4.0), (1, 3.0)]


def test_no_past_record_stands_above_the_one_in_its_place() -> None:
    def past(number: int, heir: int | None) -> Placed:
        named = None if heir is None else f"user:ada:semantic:{heir}"
        return Placed(record(number, superseded_by=named), 0.0, (), {})

    found = below_their_heirs([past(1, 2), past(7, None), past(2, 3), past(3, 4)])
    assert [each.record.tick for each in found] == [3, 2, 1, 7]
    assert [each.record.tick for each in below_their_heirs([past(1, 2), past(2, 1)])] == [2, 1]  # whoever wrote that


def test_the_summary_comes_before_the_last_turns() -> None:
    said = [record(number, kind=Kind.SHORT_TERM) for number in range(30, 10, -1)]
    summary = record(5, kind=Kind.SHORT_TERM, summary_of=("t1",))
    assert [each.tick for each, _ in turns([*said, summary])] == [5, *range(21, 31)]
    assert turns([]) == []


def test_facts_come_space_by_space_oldest_first_and_at_most_twenty() -> None:
    found = facts([[record(number) for number in range(30, 20, -1)], [record(number) for number in range(1, 20)]])
    assert [each.tick for each, _ in found] == [*range(21, 31), *range(1, 11)]


def test_tokens_are_a_quarter_of_the_characters_rounded_up_for_each_text() -> None:
    assert tokens_of(["", "a", "abcd", "abcde"]) == 4


def test_of_several_refs_the_mean_counts_and_each_once() -> None:
    """Seed 002: the mean over a memory's refs of how often each is there, beside the one that is there most."""
    found = [
        record(1, entity_refs=("person:john", "org:acme")),
        record(2, entity_refs=("person:john",)),
        record(3, entity_refs=("person:john", "person:john", "place:austin")),
        record(4),
    ]
    often = frequencies(found)
    assert often == {"person:john": 1.0, "org:acme": 1 / 3, "place:austin": 1 / 3, "user:ada": 1 / 3}
    placed = {each.record.tick: each for each in ranked([Candidate(each, 0.0) for each in found], Ranker.BLENDED, NOW)}
    assert placed[1].parts["entity"] == {"value": 0.6667, "weight": 0.3}
    assert [placed[tick].score for tick in (1, 2, 3, 4)] == [0.5, 0.6, 0.5, 0.4]


@pytest.mark.parametrize(
    ("similarity", "days", "others", "score"),
    [(1.0, 0, 0, 1.0), (0.5, 14, 0, 0.65), (0.8, 28, 1, 0.545), (0.0, 1_400, 3, 0.075), (0.25, 7, 2, 0.4121)],
)
def test_the_numbers_of_the_blend(similarity: float, days: int, others: int, score: float) -> None:
    """0.4 of similarity, 0.3 of exp(-ln 2 / 14 of the days), 0.3 of one mention beside the most."""
    mine = Candidate(record(1, entity_refs=("person:jane",), promoted_at=Instant(NOW - days * DAY)), similarity)
    more = [Candidate(record(number + 2, entity_refs=("person:john",)), 0.0) for number in range(others + 1)]
    found = ranked([mine, *(more if others else ())], Ranker.BLENDED, NOW)
    assert next(each.score for each in found if each.record.tick == 1) == pytest.approx(score, abs=1e-4)


CANDIDATES = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 1_000),
        st.lists(st.sampled_from(["person:a", "person:b", "org:c", "place:d"]), max_size=5),
    ),
    min_size=1,
    max_size=50,
)


@given(CANDIDATES)
def test_the_blend_is_the_formula_and_lies_between_0_and_1(given_: list[tuple[float, int, list[str]]]) -> None:
    found = [
        Candidate(record(number, promoted_at=Instant(NOW - days * DAY), entity_refs=tuple(refs)), similarity)
        for number, (similarity, days, refs) in enumerate(given_)
    ]
    counts = Tally(ref for each in found for ref in (set(each.record.entity_refs) or {each.record.entity}))
    placed = ranked(found, Ranker.BLENDED, NOW)
    by_tick = {each.record.tick: each.score for each in placed}
    for number, (similarity, days, refs) in enumerate(given_):
        mine = set(refs) or {"user:ada"}
        spoken = sum(counts[ref] / max(counts.values()) for ref in mine) / len(mine)
        wanted = 0.4 * similarity + 0.3 * math.exp(-math.log(2) / 14 * days) + 0.3 * spoken
        assert by_tick[number] == pytest.approx(wanted, abs=1e-4)
        assert 0 <= by_tick[number] <= 1
    assert [each.score for each in placed] == sorted((each.score for each in placed), reverse=True)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_does_not_matter(
    given_: list[tuple[float, int, list[str]]], chance: Random
) -> None:
    found = [
        Candidate(record(number, promoted_at=Instant(NOW - days * DAY), entity_refs=tuple(refs)), similarity)
        for number, (similarity, days, refs) in enumerate(given_)
    ]
    mixed = chance.sample(found, len(found))
    assert ranked(found, Ranker.BLENDED, NOW) == ranked(mixed, Ranker.BLENDED, NOW)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 500), st.integers(0, 500))
def test_what_is_closer_or_newer_never_stands_lower(one: float, other: float, days: int, more: int) -> None:
    def scores(similarity: float, age: int) -> float:
        mine = Candidate(record(1, promoted_at=Instant(NOW - age * DAY)), similarity)
        return next(each.score for each in ranked([mine], Ranker.BLENDED, NOW))

    low, high = sorted((one, other))
    assert scores(low, days) <= scores(high, days)
    assert scores(low, days + more) <= scores(low, days)
