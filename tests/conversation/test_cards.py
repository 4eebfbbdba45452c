"""Cards: who is spoken of, in a line each, with the three facts that matter most."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.cards import LOOKED_AT, Card, card, cards, keys
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record


def record(number: int, text: str | None = None, *refs: str, **more: Any) -> Record:
    told: dict[str, Any] = {
        "id": f"user:alice:semantic:{number}",
        "space": Space.USER,
        "owner": "alice",
        "kind": Kind.SEMANTIC,
        "event_type": next(iter(EventType)),
        "write_class": next(iter(WriteClass)),
        "tier": next(iter(Tier)),
        "entity": "user:alice",
        "predicate": "said",
        "value": text or f"fact {number}",
        "text": text or f"fact {number}",
        "dedup_key": str(number),
        "source": Source.USER,
        "authority": next(iter(Authority)),
        "authority_reason": "source:user",
        "trust": next(iter(Trust)),
        "classification": next(iter(Classification)),
        "confidence": 1.0,
        "importance": 1,
        "importance_reason": (),
        "tick": number,
        "promoted_at": Instant(number),
        "evidence_refs": (),
        "proposal_id": None,
        "principal": "alice",
        "entity_refs": refs,
        "weight": 2,
    }
    return Record(**(told | more))


def test_a_card_says_who_it_is_and_what_is_known() -> None:
    relevant = [record(9, "John called", "person:john")]
    known = [record(1, "a", "person:john"), record(2, "b", "person:john"), record(3, "c", "person:john")]
    (made,) = cards(relevant, known, {})
    assert made.text == "[person:john]: c; b; a"
    assert made.records == ("user:alice:semantic:3", "user:alice:semantic:2", "user:alice:semantic:1")


def test_only_what_weighs_two_or_is_pinned_is_on_a_card() -> None:
    known = [
        record(1, "light", "person:john", weight=1),
        record(2, "pinned", "person:john", weight=0, pinned=True),
        record(3, "heavy", "person:john", weight=2),
    ]
    assert cards([record(9, None, "person:john")], known, {})[0].facts == ("pinned", "heavy")


def test_pinned_facts_come_first_then_the_weightiest_then_the_newest() -> None:
    known = [
        record(1, "old and heavy", "person:j", weight=3),
        record(2, "new and heavy", "person:j", weight=3),
        record(3, "newest", "person:j", weight=2),
        record(4, "pinned", "person:j", weight=2, pinned=True),
    ]
    for order in permutations(known):
        (made,) = cards([record(9, None, "person:j")], list(order), {}, facts=4)
        assert made.facts == ("pinned", "new and heavy", "old and heavy", "newest")


def test_whoever_any_relevant_memory_tells_of_has_a_card_in_the_order_of_the_memories() -> None:
    relevant = [record(1, None, "person:b", "org:x"), record(2, None, "person:a", "person:b")]
    assert keys(relevant, {}) == ("person:b", "org:x", "person:a")
    known = [record(3, "of a", "person:a"), record(4, "of b", "person:b"), record(5, "of x", "org:x")]
    assert [each.ref for each in cards(relevant, known, {})] == ["person:b", "org:x", "person:a"]


def test_a_memory_that_is_shown_already_makes_a_card_and_is_not_on_it() -> None:
    shown = record(1, "shown", "person:john")
    made = cards([shown], [shown, record(2, "more", "person:john")], {}, exclude_ids={shown.id})
    assert made == (Card(ref="person:john", facts=("more",), records=("user:alice:semantic:2",)),)


def test_a_memory_about_two_is_on_the_first_card_only() -> None:
    relevant = [record(8, None, "person:a"), record(9, None, "person:b")]
    known = [record(1, "both", "person:b", "person:a"), record(2, "b alone", "person:b")]
    assert [each.text for each in cards(relevant, known, {})] == ["[person:a]: both", "[person:b]: b alone"]


def test_what_another_memory_stands_in_place_of_is_on_no_card() -> None:
    past = record(1, "past", "person:a", ended_at=Instant(5), ended_reason=Reason.SUPERSEDED, pinned=True)
    assert cards([record(9, None, "person:a")], [past], {}) == ()
    assert card("person:a", [past], {}) is None


def test_no_fact_is_said_twice() -> None:
    relevant = [record(8, None, "person:a"), record(9, None, "person:b")]
    known = [
        record(1, "Likes tea.", "person:a"),
        record(2, "likes  tea", "person:a"),
        record(3, "Likes tea", "person:b"),
    ]
    said = [fact for each in cards(relevant, known, {}) for fact in each.facts]
    assert len(said) == 1


def test_there_are_five_cards_of_three_facts_at_most() -> None:
    refs = [f"person:p{number}" for number in range(7)]
    known = [record(number, None, refs[number % 7]) for number in range(1, 29)]
    made = cards([record(99, None, *refs[:5]), record(98, None, *refs[5:])], known, {}, looked_at=100)
    assert [each.ref for each in made] == refs[:5]
    assert all(len(each.facts) == 3 for each in made)


def test_thirty_facts_are_dealt_out() -> None:
    known = [record(100 + number, None, "person:a") for number in range(LOOKED_AT)]
    known += [record(1, "the thirty-first", "person:b")]
    relevant = [record(9, None, "person:a", "person:b")]
    assert [each.ref for each in cards(relevant, known, {})] == ["person:a"]


def test_a_merge_brings_the_facts_of_both_to_one_card() -> None:
    known = [record(1, "as jonny", "person:jonny"), record(2, "as john", "person:john")]
    relevant = [record(9, None, "person:jonny")]
    assert cards(relevant, known, {})[0].text == "[person:jonny]: as jonny"
    assert cards(relevant, known, {"person:jonny": "person:john"})[0].text == "[person:john]: as john; as jonny"
    made = card("person:john", known, {"person:jonny": "person:john"})
    assert made is not None
    assert made.facts == ("as john", "as jonny")


def test_people_found_by_rules_have_cards_too_and_the_user_has_none() -> None:
    known = [record(1, "lives in Oslo", entity="person:zoë"), record(2, "likes tea", entity="user:alice")]
    made = cards(known, known, {})
    assert [each.text for each in made] == ["[person:zoe_x2752b886]: lives in Oslo"]


_REFS = st.lists(st.sampled_from([f"person:p{number}" for number in range(8)]), max_size=5, unique=True)
_LINKS = st.dictionaries(st.sampled_from([f"person:p{number}" for number in range(4)]), st.just("person:p7"))
_RECORDS = st.lists(
    st.tuples(_REFS, st.integers(0, 3), st.booleans(), st.booleans(), st.sampled_from(["tea", "Tea.", "x", "y", "z"])),
    max_size=40,
)


@given(
    _RECORDS,
    st.lists(st.integers(0, 39)),
    st.dictionaries(st.sampled_from([f"person:p{n}" for n in range(4)]), st.just("person:p7")),
)
def test_cards_always_keep_their_rules(
    told: list[tuple[list[str], int, bool, bool, str]], shown: list[int], canonical: dict[str, str]
) -> None:
    known = [
        record(
            number, text, *refs, weight=weight, pinned=pinned,
            ended_at=Instant(1) if past else None, ended_reason=Reason.SUPERSEDED if past else None,
        )
        for number, (refs, weight, pinned, past, text) in enumerate(told)
    ]  # fmt: skip
    by_id, hidden = {each.id: each for each in known}, {f"user:alice:semantic:{number}" for number in shown}
    made = cards(known, known, canonical, hidden)
    on = [each for one in made for each in one.records]
    facts = [fact.casefold().rstrip(".") for one in made for fact in one.facts]
    assert len(made) <= 5
    assert len(on) == len(set(on))
    assert len(facts) == len(set(facts))
    assert not hidden & set(on)
    for one in made:
        assert 1 <= len(one.facts) <= 3
        assert one.ref not in canonical
        for each in one.records:
            assert by_id[each].ended_at is None
            assert by_id[each].pinned or by_id[each].weight >= 2
            assert one.ref in {canonical.get(ref, ref) for ref in by_id[each].entity_refs}
