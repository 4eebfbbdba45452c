"""What a memory is about, what sort of fact it is, and which words are too weak to be a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.subjects import (
    MOST_KEY_CONTENT,
    FactType,
    MemoryType,
    Unfit,
    fact_type_of,
    keeps_memory,
    memory_key,
    memory_type_of,
    primary_ref,
    type_of,
    unfit,
)
from recollect.domain.governance.terms import EventType
from recollect.domain.statements import statements_in

PROFILE, PEOPLE, PROJECT = MemoryType.PROFILE, MemoryType.PEOPLE, MemoryType.PROJECT


@pytest.mark.parametrize(
    ("entity", "refs", "found"),
    [
        ("user:ann", (), PROFILE),
        ("user:ann", ("org:acme",), PROFILE),
        ("person:john", (), PEOPLE),
        ("place:austin_texas", (), PEOPLE),
        ("org:acme", (), PEOPLE),
        ("project:atlas", (), PROJECT),
        ("person:john", ("project:atlas",), PEOPLE),
        ("topic:tea", ("project:atlas", "person:john"), PROJECT),
        ("topic:tea", ("place:rome",), PEOPLE),
        ("topic:tea", (), PROFILE),
        ("", (), PROFILE),
    ],
)
def test_the_type_follows_from_the_primary_entity(entity: str, refs: tuple[str, ...], found: MemoryType) -> None:
    assert type_of(entity, refs) is found


@pytest.mark.parametrize(
    ("entity", "refs", "found"),
    [
        ("person:john", (), "person:john"),
        ("user:ann", (), None),
        ("user:ann", ("person:john", "org:acme"), "person:john"),
        ("topic:tea", (), None),
    ],
)
def test_the_primary_ref_is_the_first_of_its_own(entity: str, refs: tuple[str, ...], found: str | None) -> None:
    assert primary_ref(entity, refs) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [("people", PEOPLE), ("PROFILE|person", PROFILE), (" Project ", PROJECT), ("OPEN_LOOP", None), ("", None)],
)
def test_a_type_that_a_model_wrote_is_read_before_the_bar(written: str, found: MemoryType | None) -> None:
    assert memory_type_of(written) is found


@pytest.mark.parametrize(
    ("event_type", "predicate", "text", "found"),
    [
        (EventType.FACT, "habit", "I run every day", FactType.HABIT),
        (EventType.FACT, "did", "runs every Monday", FactType.HABIT),
        (EventType.PREFERENCE, "likes", "I like tea", FactType.PREFERENCE),
        (EventType.FACT, "likes", "John likes tea", FactType.PREFERENCE),
        (EventType.PREFERENCE, "favourite_color", "My favourite color is red", FactType.PREFERENCE),
        (EventType.INSTRUCTION, "instruction", "always answer in French", FactType.PREFERENCE),
        (EventType.FACT, "is", "John is my cofounder", FactType.RELATIONSHIP),
        (EventType.FACT, "has", "I have a sister named Ann", FactType.RELATIONSHIP),
        (EventType.FACT, "people", "My brother's name is Tom", FactType.RELATIONSHIP),
        (EventType.FACT, "is", "I'm a nurse", FactType.FACT),
        (EventType.FACT, "lives_in", "I live in Rome", FactType.FACT),
        (EventType.FACT, "health", "I'm struggling with insomnia", FactType.FRICTION),
        (EventType.CONTEXT, "event", "the noise is driving me crazy", FactType.FRICTION),
        (EventType.DECISION, "decided", "We decided to use Postgres", FactType.FACT),
    ],
)
def test_the_sort_of_a_fact_follows_from_what_it_says(
    event_type: EventType, predicate: str, text: str, found: FactType
) -> None:
    assert fact_type_of(event_type, predicate, text) is found


def test_every_statement_has_a_type_and_a_sort() -> None:
    said = "My brother Tom lives in Rome. I like tea. I run every day. The project Atlas uses Postgres."
    found = {
        each.entity: (type_of(each.entity), fact_type_of(each.event_type, each.predicate, each.text))
        for each in statements_in(said, "user:ann")
    }
    assert found["person:tom"][0] is PEOPLE
    assert found["user:ann"][0] is PROFILE


# -- the key


@pytest.mark.parametrize(
    ("given_", "key"),
    [
        ((PEOPLE, "person", "person:john_doe", "relationship", None, "x"), "people|person|john_doe|relationship"),
        ((PEOPLE, None, "person:john_doe", "relationship", None, "x"), "people|person|john_doe|relationship"),
        ((PEOPLE, "person", "person:john", "fact", "lives_in", "x"), "people|person|john|fact|lives_in"),
        ((PEOPLE, "person", "person:john", None, None, "x"), "people|person|john|fact"),
        ((PROFILE, None, None, "preference", None, " Likes  TEA! "), "profile|none|content:likes tea|preference"),
        ((PROFILE, None, None, "fact", "name", "A (b) [c] {d}\\/|e"), "profile|none|content:a b c de|fact|name"),
    ],
)
def test_the_key_is_of_four_parts_and_the_predicate(
    given_: tuple[MemoryType, str | None, str | None, str | None, str | None, str], key: str
) -> None:
    assert memory_key(*given_) == key


def test_a_long_content_is_cut_in_the_key() -> None:
    key = memory_key(PROFILE, None, None, "fact", None, "a" * 500)
    assert key == f"profile|none|content:{'a' * MOST_KEY_CONTENT}|fact"


@given(st.text(max_size=300))
def test_the_key_has_as_many_parts_whatever_was_said(content: str) -> None:
    assert memory_key(PROFILE, None, None, "fact", None, content).count("|") == 3


# -- what is kept


@pytest.mark.parametrize(
    "content",
    [
        "is testing the app",
        "feels frustrated",
        "is grateful",
        "is supportive",
        "likes the assistant",
        "enjoys this conversation",
        "is ready to help",
        "Frustrating day",
    ],
)
def test_talk_about_the_talk_is_no_memory(content: str) -> None:
    assert unfit(PROFILE, content, ()) is Unfit.SMALL_TALK
    assert not keeps_memory(PROFILE, content, ())


@pytest.mark.parametrize("content", ["Sophie", "sophie.", " SOPHIE "])
def test_the_name_of_a_persona_is_no_fact_of_the_user(content: str) -> None:
    assert unfit(PROFILE, content, (), ["sophie", "william"]) is Unfit.PERSONA_NAME
    assert keeps_memory(PROFILE, "is called Sophie", (), ["sophie"])


@pytest.mark.parametrize(
    ("content", "window", "found"),
    [
        ("John is a cofounder", ["John is my cofounder"], None),
        ("Mom lives in Seattle", ["my mom lives in Seattle"], None),
        ("Ann is a friend", ["we met our very dear old friend Ann"], None),
        ("John is tall", ["my friend John is tall"], Unfit.NO_RELATIONSHIP),
        ("John is a friend", ["John is nice"], Unfit.NOT_OF_USER),
        ("John is a friend", ["my " + "x" * 45 + " friend"], Unfit.NOT_OF_USER),
        ("John is a friend", ["this is my", "friend"], Unfit.NOT_OF_USER),
        ("John is a friend", [], Unfit.NOT_OF_USER),
        ("John is a friend", ["hello", "my friend"], None),
        ("John is a friend", ["dummy friend"], Unfit.NOT_OF_USER),
    ],
)
def test_people_are_kept_when_the_user_speaks_of_them_as_theirs(
    content: str, window: list[str], found: Unfit | None
) -> None:
    assert unfit(PEOPLE, content, window) is found


def test_projects_need_no_relationship() -> None:
    assert keeps_memory(PROJECT, "launching the beta next month", ())
