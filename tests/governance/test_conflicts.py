"""Conflicts: a total order that does not depend on who came first."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.governance.rows import ORDER, item

from recollect.domain.governance import conflicts
from recollect.domain.governance.conflicts import allows, resolve, settle
from recollect.domain.governance.items import Item
from recollect.domain.governance.reasons import RULES
from recollect.domain.governance.terms import Authority, EventType, Kind

authorities = st.sampled_from(list(Authority))


@st.composite
def rivals(draw: st.DrawFn, least: int, most: int) -> list[Item]:
    """Profile facts about one key, each with a number of its own."""
    numbers = draw(st.lists(st.integers(1, 12), min_size=least, max_size=most, unique=True))
    return [
        item(
            number,
            kind=Kind.PROFILE,
            text=f"value {number}",
            created_at=draw(st.integers(1, 3)),
            importance=draw(st.integers(1, 3)),
            event_type=draw(st.sampled_from([EventType.FACT, EventType.CORRECTION])),
            authority=draw(authorities),
            key="name",
        )
        for number in numbers
    ]


orders = st.one_of(
    st.just(ORDER), st.permutations(ORDER).map(tuple), st.lists(authorities, unique=True, max_size=3).map(tuple)
)


@given(rivals(2, 2), orders)
def test_it_is_the_same_whoever_came_first(pair: list[Item], order: tuple[Authority, ...]) -> None:
    one, other = pair
    conflict = resolve(one, other, order)
    assert conflict == resolve(other, one, order)
    assert {conflict.winner.id, conflict.loser.id} == {one.id, other.id}
    assert conflict.rule in RULES


def _last(items: tuple[Item, ...], order: tuple[Authority, ...]) -> Item:
    return reduce(lambda held, new: resolve(held, new, order).winner, items)


@given(rivals(3, 4), orders)
def test_the_same_one_is_left_whatever_the_order_of_arrival(items: list[Item], order: tuple[Authority, ...]) -> None:
    assert len({_last(each, order).id for each in permutations(items)}) == 1


def test_a_rule_that_looks_at_the_incoming_correction_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = conflicts._stands

    def wrong(each: Item, order: Any) -> bool:
        return right(each, order) and each.created_at == 2

    monkeypatch.setattr(conflicts, "_stands", wrong)
    system = item(1, authority=Authority.SYSTEM_IMPOSED, event_type=EventType.FACT)
    user = item(2, authority=Authority.USER_ASSERTED, event_type=EventType.CORRECTION)
    tool = item(3, authority=Authority.TOOL_VERIFIED, event_type=EventType.CORRECTION)
    late = item(4, authority=Authority.USER_ASSERTED, event_type=EventType.CORRECTION, created_at=4)
    left = {_last(each, ORDER).id for each in permutations((system, user, tool, late))}
    assert len(left) > 1


@given(rivals(2, 2))
def test_what_decided_is_the_first_thing_that_differs(pair: list[Item]) -> None:
    one, other = pair
    conflict = resolve(one, other, ORDER)
    winner, loser = conflict.winner, conflict.loser
    ranks = [ORDER.index(each.meta.authority) for each in (winner, loser) if each.meta.authority]
    correct = [each.meta.event_type is EventType.CORRECTION for each in (winner, loser)]
    if conflict.rule == "authority":
        assert ranks[0] < ranks[1]
    else:
        lower = winner if ranks[0] > ranks[1] else loser
        stands = lower.meta.event_type is EventType.CORRECTION and lower.meta.authority is not Authority.AI_INFERRED
        assert ranks[0] == ranks[1] or stands
        if conflict.rule == "correction":
            assert correct == [True, False]
        else:
            assert correct[0] == correct[1]
            if conflict.rule == "recency":
                assert winner.created_at > loser.created_at
            else:
                assert winner.created_at == loser.created_at
                assert winner.importance >= loser.importance


def test_among_equals_the_larger_number_wins() -> None:
    ninth, tenth = item(9, created_at=1), item(10, created_at=1)
    conflict = resolve(ninth, tenth, ORDER)
    assert (conflict.winner, conflict.rule) == (tenth, "importance")


def test_what_is_not_in_the_order_is_below_it() -> None:
    order = (Authority.USER_ASSERTED,)
    known = item(1, authority=Authority.USER_ASSERTED)
    unknown = item(2, authority=Authority.SYSTEM_IMPOSED)
    assert resolve(known, unknown, order).winner is known
    assert not allows(Authority.SYSTEM_IMPOSED, Authority.USER_ASSERTED, order)
    assert not allows(Authority.USER_ASSERTED, Authority.TOOL_VERIFIED, order)
    assert allows(Authority.TOOL_VERIFIED, Authority.TOOL_VERIFIED, order)


def test_authority_follows_from_the_source_where_it_is_not_noted() -> None:
    assert resolve(item(1, source="system"), item(2, source="user"), ORDER).rule == "authority"


def test_a_winner_is_as_important_as_what_it_replaces() -> None:
    old = item(1, importance=6, dedup_key="fact:x")
    new = item(2, importance=2, dedup_key="fact:x", importance_reason=("event:fact",))
    settled = settle(new, [old], ORDER)
    assert settled.kept is not None
    assert settled.kept.importance == 6
    assert settled.kept.meta.importance_reason == ("event:fact", "conflict_merge")
    assert settled.replaced is old
    lower = settle(item(2, importance=9, dedup_key="fact:x"), [old], ORDER)
    assert lower.kept is not None
    assert lower.kept.importance == 9


def test_a_loser_is_not_written() -> None:
    old = item(1, dedup_key="fact:x", authority=Authority.SYSTEM_IMPOSED)
    settled = settle(item(2, dedup_key="fact:x", authority=Authority.USER_ASSERTED), [old], ORDER)
    assert (settled.kept, settled.replaced) == (None, None)
    assert settled.conflict is not None


def test_kinds_do_not_conflict_with_each_other() -> None:
    held = [item(1, dedup_key="fact:name"), item(2, kind=Kind.SHORT_TERM, dedup_key="fact:name")]
    new = item(3, kind=Kind.PROFILE, dedup_key="fact:name", key="name")
    assert settle(new, held, ORDER).conflict is None
    turn = item(4, kind=Kind.SHORT_TERM, dedup_key="fact:name")
    assert settle(turn, held, ORDER).conflict is None


def test_without_dedupe_facts_of_one_key_conflict_all_the_same() -> None:
    old = item(1, kind=Kind.PROFILE, key="name", text="Ada")
    again = item(2, kind=Kind.PROFILE, key="name", text="Ada")
    assert settle(again, [old], ORDER).kept is None
    assert settle(again, [old], ORDER, dedupe=False).kept is again
