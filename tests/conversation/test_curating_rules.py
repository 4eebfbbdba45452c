"""What the curator decides: a plan that is the same for the same memories, and touches nothing that it must not."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.curating import (
    MOST_FOLDS,
    Action,
    Deed,
    Due,
    Skipped,
    Why,
    content_of,
    due,
    fold_of,
    is_protected,
    made_of,
    plan,
)
from recollect.domain.conversation.sessions import CuratorState
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record

SECOND, DAY = 1_000_000, 86_400_000_000
NOW = Instant(1_800_000_000 * SECOND)


def record(number: int, text: str, entity: str = "person:john", **more: Any) -> Record:
    """A memory that was found in a conversation."""
    told: dict[str, Any] = {
        "id": f"user:alice:semantic:{number}", "space": Space.USER, "owner": "alice", "kind": Kind.SEMANTIC,
        "event_type": EventType.FACT, "write_class": WriteClass.EVIDENCE_LINK, "tier": Tier.SEMANTIC,
        "entity": entity, "predicate": "is", "value": text, "text": text, "dedup_key": text, "source": Source.USER,
        "authority": Authority.USER_ASSERTED, "authority_reason": "source:user", "trust": Trust.ASSERTED,
        "classification": Classification.INTERNAL, "confidence": 0.8, "importance": 1, "importance_reason": (),
        "tick": number, "promoted_at": Instant(NOW - DAY + number), "evidence_refs": (f"e{number}",),
        "proposal_id": f"mwp_{number}", "principal": "alice", "origin": "shadow_extraction",
        "lineage": (f"cap_{number}",),
    }  # fmt: skip
    return Record(**(told | more))


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(f"user:alice:semantic:{each}" for each in numbers)


def carried_out(records: list[Record], actions: tuple[Action, ...], canonical: dict[str, str]) -> list[Record]:
    """The active memories after a plan."""
    by_id = {each.id: each for each in records}
    for action in actions:
        sources = [by_id.pop(each) for each in action.archived]
        if action.text is not None:
            stated = made_of(sources, canonical, action.text)
            fold = record(len(records) + len(by_id) + int(sources[0].tick) * 1_000, stated.text, stated.entity)
            fold = msgspec.structs.replace(fold, value=stated.value, predicate=stated.predicate, promoted_at=NOW)
            by_id[fold.id] = fold_of(fold, sources, canonical)
    return list(by_id.values())


# -- when


@pytest.mark.parametrize(
    ("ago", "new", "wanted"),
    [
        (None, 0, Due.DAY),
        (None, 25, Due.MEMORIES),
        (0, 1_000, Skipped.COOLDOWN),
        (59, 1_000, Skipped.COOLDOWN),
        (60, 25, Due.MEMORIES),
        (60, 24, Skipped.NOT_DUE),
        (86_399, 24, Skipped.NOT_DUE),
        (86_400, 0, Due.DAY),
    ],
)
def test_the_curator_runs_daily_and_after_25_memories_and_never_twice_a_minute(
    ago: int | None, new: int, wanted: Due | Skipped
) -> None:
    state = CuratorState(last_run_at=None if ago is None else Instant(NOW - ago * SECOND))
    assert due(state, new, NOW) is wanted


# -- saying the same


def test_of_what_says_the_same_the_newest_is_kept() -> None:
    told = [
        record(1, "John is my cofounder."),
        record(2, "john is my  cofounder"),
        record(3, "John is my cofounder!;:"),
    ]
    (action,) = plan(told, {}, NOW)
    assert (action.kind, action.reason, action.keep) == (Deed.DEDUPE, Why.SAYS_THE_SAME, told[2].id)
    assert action.archived == ids(1, 2)


def test_what_was_told_beforehand_is_kept_though_it_is_older() -> None:
    told = [record(1, "Is vegan", origin="seeded_profile"), record(2, "is vegan.")]
    (action,) = plan(told, {}, NOW)
    assert (action.keep, action.archived) == (told[0].id, ids(2))


def test_what_is_pinned_is_kept_and_never_put_away() -> None:
    told = [record(1, "Is vegan", pinned=True), record(2, "is vegan", pinned=True), record(3, "is vegan")]
    (action,) = plan(told, {}, NOW)
    assert (action.keep, action.archived) == (told[1].id, ids(3))


def test_the_copy_that_lasts_longest_and_is_trusted_most_is_kept() -> None:
    lasting = record(1, "Is vegan")
    (action,) = plan([lasting, record(2, "is vegan", ends_at=Instant(NOW + DAY))], {}, NOW)
    assert action.keep == lasting.id
    (action,) = plan([lasting, record(2, "is vegan", trust=Trust.INFERRED)], {}, NOW)
    assert action.keep == lasting.id


@pytest.mark.parametrize(
    "other",
    [
        {"entity": "user:alice"},
        {"persona": "coach"},
        {"consent_id": "cns_1", "subject": "person:john"},
    ],
)
def test_what_is_of_another_type_persona_or_consent_does_not_say_the_same(other: dict[str, Any]) -> None:
    assert plan([record(1, "is vegan"), record(2, "is vegan", **other)], {}, NOW) == ()


# -- told together


def test_three_memories_about_somebody_become_one() -> None:
    told = [record(1, "John is my cofounder."), record(2, "Handles backend!"), record(3, "Likes  tea")]
    (action,) = plan(told, {}, NOW)
    assert (action.kind, action.reason) == (Deed.FOLD, Why.TOLD_TOGETHER)
    assert action.text == "John: John is my cofounder / Handles backend / Likes tea"
    assert (action.archived, action.entity) == (ids(1, 2, 3), "person:john")


def test_entities_that_were_merged_are_one() -> None:
    told = [record(1, "a", "person:makesh"), record(2, "b", "person:mukesh"), record(3, "c", "person:makesh")]
    assert plan(told, {}, NOW) == ()
    (action,) = plan(told, {"person:makesh": "person:mukesh"}, NOW)
    assert (action.entity, action.text) == ("person:mukesh", "Mukesh: a / b / c")


def test_at_most_five_are_told_together_and_the_others_stay_or_make_another() -> None:
    told = [record(number, f"fact {number}") for number in range(7)]
    assert [len(each.archived) for each in plan(told, {}, NOW)] == [5]
    assert [len(each.archived) for each in plan([*told, record(7, "fact 7")], {}, NOW)] == [5, 3]


def test_at_most_five_folds_are_made_in_one_run() -> None:
    told = [record(10 * who + n, f"{who} {n}", f"project:p{who}") for who in range(7) for n in range(3)]
    assert len(plan(told, {}, NOW)) == MOST_FOLDS == 5


@pytest.mark.parametrize(
    "other",
    [
        {"pinned": True},
        {"origin": None},
        {"origin": "seeded_profile"},
        {"entity": "user:alice"},
        {"event_type": EventType.CORRECTION},
        {"event_type": EventType.INSTRUCTION},
        {"consent_id": "cns_1", "subject": "person:john"},
        {"persona": "coach"},
        {"predicate": "lives_in"},
        {"tier": Tier.DURABLE},
        {"approved_by": ("maria",)},
        {"text": "x" * 301},
        {"kind": Kind.PROFILE},
    ],
)
def test_what_must_keep_its_own_words_is_not_told_together_with_others(other: dict[str, Any]) -> None:
    told = [record(1, "a"), record(2, "b"), record(3, **{"text": "c"} | other)]
    assert plan(told, {}, NOW) == ()


def test_a_fold_is_as_little_trusted_and_as_secret_as_its_weakest_source_and_lasts_no_longer() -> None:
    ends = Instant(NOW + DAY)
    told = [
        record(1, "a", trust=Trust.INFERRED, ends_at=ends, captures=("cap_1",)),
        record(2, "b", classification=Classification.CONFIDENTIAL, ends_at=Instant(ends + 5), mention_count=4),
        record(3, "c", ends_at=Instant(ends + 7), entity_label="Johnny", persona=None),
    ]
    fold = fold_of(record(9, "John: a / b / c", tick=9), told, {})
    assert (fold.trust, fold.classification, fold.ends_at) == (Trust.INFERRED, Classification.CONFIDENTIAL, ends)
    assert (fold.origin, fold.weight, fold.folded_from) == ("curated_fold", 2, ids(1, 2, 3))
    assert (fold.mention_count, fold.entity_label, fold.derived_from) == (6, "Johnny", ids(1, 2, 3))
    assert fold.lineage == ("cap_1", "cap_2", "cap_3")


def test_what_is_said_again_after_it_was_folded_is_put_away_in_favour_of_the_fold() -> None:
    told = [record(1, "a"), record(2, "b"), record(3, "c")]
    (fold,) = carried_out(told, plan(told, {}, NOW), {})
    (action,) = plan([fold, record(4, "B.")], {}, NOW)
    assert (action.kind, action.reason, action.keep, action.archived) == (
        Deed.DEDUPE, Why.IN_A_FOLD, fold.id, ids(4),
    )  # fmt: skip


# -- put away


def old(**more: Any) -> Record:
    return record(1, "It rained.", **{"weight": 0, "promoted_at": Instant(NOW - 31 * DAY)} | more)


def test_what_weighs_nothing_and_is_a_month_old_is_put_away() -> None:
    (action,) = plan([old()], {}, NOW)
    assert (action.kind, action.reason, action.archived) == (Deed.ARCHIVE, Why.TRIVIAL_AND_OLD, ids(1))


@pytest.mark.parametrize(
    "other",
    [
        {"weight": 1},
        {"promoted_at": Instant(NOW - 29 * DAY)},
        {"mention_count": 2},
        {"mentioned_at": Instant(NOW - DAY)},
        {"pinned": True},
        {"key": "name"},
        {"event_type": EventType.CORRECTION},
        {"approved_by": ("maria",)},
    ],
)
def test_what_somebody_may_need_is_not_put_away(other: dict[str, Any]) -> None:
    assert plan([old(**other)], {}, NOW) == ()


def test_what_was_recalled_is_not_put_away() -> None:
    assert plan([old()], {}, NOW, recalled={"user:alice:semantic:1"}) == ()


# -- whatever the memories

TEXTS = st.sampled_from(["is vegan", "Is vegan.", "likes tea", "plays chess", "has a dog", "sings", "runs", "日本語"])


@st.composite
def memories(draw: st.DrawFn) -> list[Record]:
    found = []
    for number in range(draw(st.integers(0, 25))):
        given_at = Instant(NOW - draw(st.integers(0, 60)) * DAY)
        found.append(
            record(
                number,
                draw(TEXTS),
                draw(st.sampled_from(["person:john", "person:jon", "project:apollo", "user:alice"])),
                promoted_at=given_at,
                pinned=draw(st.sampled_from([False, False, False, True])),
                weight=draw(st.integers(0, 3)),
                persona=draw(st.sampled_from([None, None, "coach"])),
                origin=draw(st.sampled_from(["shadow_extraction", "seeded_profile", None])),
                predicate=draw(st.sampled_from(["is", "likes", "lives_in"])),
                event_type=draw(st.sampled_from([EventType.FACT, EventType.PREFERENCE, EventType.CORRECTION])),
                consent_id=draw(st.sampled_from([None, None, "cns_1"])),
                trust=draw(st.sampled_from(list(Trust))),
                classification=draw(st.sampled_from(list(Classification))),
            )
        )
    return found


CANONICAL = st.sampled_from([{}, {"person:jon": "person:john"}])


@given(memories(), CANONICAL, st.integers())
def test_the_same_memories_give_the_same_plan_in_whatever_order(
    told: list[Record], canonical: dict[str, str], seed: int
) -> None:
    wanted = plan(told, canonical, NOW)
    random.Random(seed).shuffle(told)
    assert plan(told, canonical, NOW) == wanted


@given(memories(), CANONICAL)
def test_what_is_protected_is_never_put_away_and_nothing_twice(told: list[Record], canonical: dict[str, str]) -> None:
    actions = plan(told, canonical, NOW)
    gone = [each for action in actions for each in action.archived]
    by_id = {each.id: each for each in told}
    assert not any(by_id[each].pinned or is_protected(by_id[each]) for each in gone)
    assert len(gone) == len(set(gone))
    assert not {each.keep for each in actions} & set(gone)


@given(memories(), CANONICAL)
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(told: list[Record], canonical: dict[str, str]) -> None:
    for _ in range(20):
        actions = plan(told, canonical, NOW)
        if not actions:
            return
        told = carried_out(told, actions, canonical)
    raise AssertionError("it never comes to rest")


@given(memories(), CANONICAL)
def test_what_is_put_away_for_another_is_said_by_it_to_the_same_personas(
    told: list[Record], canonical: dict[str, str]
) -> None:
    by_id = {each.id: each for each in told}
    for action in plan(told, canonical, NOW):
        gone = [by_id[each] for each in action.archived]
        if action.keep is not None:
            kept = by_id[action.keep]
            assert {content_of(each.text) for each in gone} == {content_of(kept.text)}
            assert {(each.persona, each.consent_id) for each in gone} == {(kept.persona, kept.consent_id)}
        elif action.text is not None:
            fold = fold_of(record(99, action.text), gone, canonical)
            assert len({each.persona for each in gone}) == 1
            assert not any(each.consent_id for each in gone)
            assert fold.persona == gone[0].persona
            assert fold.trust == min(each.trust for each in gone)
            assert fold.classification == max(each.classification for each in gone)
            assert all(content_of(each.text) in content_of(action.text) for each in gone)
