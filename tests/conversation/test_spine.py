"""What goes into the spine, in which order, and what has to stay out of it."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.domain.conversation.memory_types import MemoryType, primary_ref, type_of
from recollect.domain.conversation.spine import MOST_FACTS, MOST_OF_A_LINE, spine_of
from recollect.domain.conversation.summaries import MAX_SPINE, Spine
from recollect.domain.conversation.todos import LoopKind, Todo, TodoStatus
from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record

NOW = Instant(1_000_000)


def record(text: str, *refs: str, number: int = 0, **more: Any) -> Record:
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
        "value": text,
        "text": text,
        "dedup_key": f"fact:{text}",
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
        "entity_refs": refs,
    }
    return Record(**given | more)


def todo(content: str, kind: LoopKind = LoopKind.COMMITMENT, **more: Any) -> Todo:
    given: dict[str, Any] = {
        "id": f"tdo_{content}",
        "user": "ada",
        "persona": "sophie",
        "kind": kind,
        "content": content,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Todo(**given | more)


def spine(*records: Record, todos: tuple[Todo, ...] = (), labels: dict[str, str] | None = None, **more: Any) -> Spine:
    return spine_of(records, todos, labels or {}, version=2, message_count=21, at=NOW, by="extractive", **more)


def test_memories_go_into_the_section_of_their_type_and_pending_todos_into_their_own() -> None:
    made = spine(
        record("I am vegetarian."),
        record("Jon is my brother.", "person:jon", "place:rome"),
        record("They have a garden.", "place:rome"),
        record("The boat needs paint.", "project:boat"),
        todos=(todo("call Jon"), todo("the flat", LoopKind.THREAD), todo("done", status=TodoStatus.COMPLETED)),
        labels={"person:jon": "Jon Smith"},
    )
    assert made.profile == ("I am vegetarian.",)
    assert made.people == ("Jon Smith: Jon is my brother", "Rome: They have a garden")
    assert made.projects == ("Boat: The boat needs paint",)
    assert made.open_loops == ("commitment: call Jon", "thread: the flat")
    assert (made.version, made.message_count, made.at, made.by) == (2, 21, NOW, "extractive")
    assert made.text().splitlines()[0] == "PROFILE: I am vegetarian."


@pytest.mark.parametrize(
    ("refs", "entity", "ref", "kind"),
    [
        ((), "user:ada", None, MemoryType.PROFILE),
        ((), "thing:boat", None, MemoryType.PROFILE),
        ((), "person:jon", "person:jon", MemoryType.PEOPLE),
        (("org:acme", "project:boat"), "user:ada", "org:acme", MemoryType.PEOPLE),
        (("project:boat", "person:jon"), "person:jon", "project:boat", MemoryType.PROJECT),
        (("place:rome",), "user:ada", "place:rome", MemoryType.PEOPLE),
    ],
)
def test_the_type_follows_from_what_a_memory_tells_of_first(
    refs: tuple[str, ...], entity: str, ref: str | None, kind: MemoryType
) -> None:
    made = record("x", *refs, entity=entity)
    assert (primary_ref(made), type_of(made)) == (ref, kind)


def test_what_weighs_more_comes_first_then_what_is_newer() -> None:
    made = spine(
        record("old", number=1, promoted_at=Instant(1)),
        record("new", number=2, promoted_at=Instant(5)),
        record("mentioned again", number=3, promoted_at=Instant(2), mentioned_at=Instant(9)),
        record("heavy", number=4, weight=2, promoted_at=Instant(0)),
        record("pinned", number=5, weight=0, pinned=True, promoted_at=Instant(0)),
    )
    assert made.profile == ("pinned", "heavy", "mentioned again", "new", "old")


@pytest.mark.parametrize(
    "other",
    [
        {"ended_at": NOW},
        {"persona": "sophie"},
        {"kind": Kind.SHORT_TERM},
        {"summary_of": ("turn",)},
        {"text": " \n"},
        {"text": "\u200b"},
    ],
)
def test_what_is_archived_private_or_a_turn_stays_out(other: dict[str, Any]) -> None:
    left_out = [msgspec.structs.replace(each, **other) for each in (record("secret"), record("secret", "person:jon"))]
    assert spine(*left_out).text() == ""


def test_a_merged_entity_has_one_line_under_the_name_that_it_has_now() -> None:
    merged = {"person:makesh": "person:mukesh"}
    made = spine(
        record("He likes tea.", "person:makesh", number=1),
        record("He lives in Pune.", "person:mukesh", number=2),
        labels={"person:mukesh": "Mukesh"},
        canonical=lambda ref: merged.get(ref, ref),
    )
    assert made.people == ("Mukesh: He likes tea; He lives in Pune",)


def test_an_entity_is_called_as_its_memories_call_it_where_nobody_else_does() -> None:
    assert spine(record("It rains.", "place:koln", entity_label="Köln")).people == ("Köln: It rains",)
    assert spine(record("It rains.", "place:new_york")).people == ("New York: It rains",)


def test_of_one_entity_only_the_weightiest_facts_are_told_each_once() -> None:
    facts = [record(f"fact {number}.", "person:jon", number=number, weight=number % 4) for number in range(12)]
    [line] = spine(*facts, record("fact 3.", "person:jon", number=99, weight=3)).people
    assert line == "Jon: fact 11; fact 3; fact 7; fact 10"
    assert line.count(";") == MOST_FACTS - 1


def test_the_same_line_stands_in_a_section_once_however_it_weighs() -> None:
    assert spine(record("tea", number=1), record("tea", number=2, weight=3)).profile == ("tea",)


def test_a_credential_never_gets_into_the_spine() -> None:
    token = f"ghp_{'a1B2c3D4e5' * 4}"[:40]
    made = spine(record(f"My token is {token}"), todos=(todo(f"use {token}"),))
    assert token not in made.text()


def test_the_heaviest_take_the_room_whatever_section_they_are_in() -> None:
    many = [record(f"{'word ' * 40}{number}", number=number, weight=0) for number in range(60)]
    made = spine(*many, record("Jon is ill.", "person:jon", weight=3), todos=(todo("call Jon"),))
    assert len(made.text()) <= MAX_SPINE
    assert made.people == ("Jon: Jon is ill",)
    assert made.open_loops == ("commitment: call Jon",)
    assert 0 < len(made.profile) < 60


TEXTS = st.one_of(st.text(max_size=400), st.sampled_from(["日本語", "😀" * 90, "مرحبا", "e\u0301" * 200, "\ud800"]))
RECORDS = st.lists(
    st.builds(
        lambda text, refs, weight, at, pinned: (text, refs, weight, at, pinned),
        TEXTS,
        st.sampled_from([(), ("person:jon",), ("project:boat",), ("org:acme", "person:jon")]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.lists(TEXTS, max_size=20), st.randoms(use_true_random=False))
def test_the_spine_is_short_enough_and_the_same_in_whatever_order_it_is_told(
    told: list[tuple[str, tuple[str, ...], int, int, bool]], loops: list[str], chance: random.Random
) -> None:
    records = [
        record(text, *refs, number=number, weight=weight, promoted_at=Instant(at), pinned=pinned)
        for number, (text, refs, weight, at, pinned) in enumerate(told)
    ]
    todos = [todo(each) for each in loops]
    made = spine(*records, todos=tuple(todos))
    assert len(made.text()) <= MAX_SPINE
    lines = [*made.profile, *made.projects, *made.people, *made.open_loops]
    assert all(0 < len(line) <= MOST_OF_A_LINE for line in lines)
    assert len(set(lines)) == len(lines)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Spine) == made
    chance.shuffle(records)
    chance.shuffle(todos)
    assert spine(*records, todos=tuple(todos)) == made
