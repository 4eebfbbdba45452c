"""What an extractive summary says, what it carries on, and that no text makes it longer or makes it fall over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation.summary_promises import within_caps

from recollect.domain.conversation.extractive import (
    MOST_OF_A_LINE,
    MOST_OF_A_POINT,
    MOST_OF_EACH,
    UNAVAILABLE,
    Point,
    as_user,
    clipped,
    condensed,
    entries_of,
    latest,
    people_of,
    rolling_of,
    score_of,
    summary_of,
)
from recollect.domain.conversation.summaries import MAX_ROLLING, Line
from recollect.domain.conversation.tones import Tone, tone_of

TALK = [
    Line("user", "Hi Sophie! How are you?"),
    Line("assistant", "Great, thanks! How can I help?"),
    Line("user", "Sophie, I will call Jon tomorrow at 9:30 about the flat in Berlin."),
    Line("assistant", "Sounds good."),
    Line("user", "I feel exhausted and my sister Ana moved to Lisbon in March 2024."),
]
AWKWARD = st.sampled_from(
    [
        "😀",
        "👩\u200d👩\u200d👧",
        "日本語の本が好きです。",
        "مرحبا، أنا في القاهرة",
        "\u200b\u200b",
        "e\u0301" * 40,
        "\ud800",
        "User: ",
        "Assistant: ",
        "…",
        "never mind",
        "I will call Ana on Monday. ",
    ]
)
TEXTS = st.lists(st.one_of(st.text(max_size=300), AWKWARD), max_size=8).map("".join)
LINES = st.lists(st.builds(Line, st.sampled_from(["user", "assistant", "other"]), TEXTS), max_size=30)


def user(*texts: str) -> list[Line]:
    return [Line("user", text) for text in texts]


# -- rolling


def test_a_rolling_summary_has_who_said_what_in_the_order_of_the_talk() -> None:
    assert rolling_of(TALK, persona="Sophie").splitlines() == [
        "User: I will call Jon tomorrow at 9:30 about the flat in Berlin.",
        "User: I feel exhausted and my sister Ana moved to Lisbon in March 2024.",
    ]


def test_what_the_summary_before_says_is_carried_on_where_nothing_more_telling_was_said() -> None:
    before = rolling_of(user("My daughter Mia has an operation on Friday 12 June."))
    chat = user(
        "It rained a bit.", "The soup was fine.", "The bus was late.", "It is quiet here.", "The film was long."
    )
    after = rolling_of(chat, before)
    assert "Mia has an operation on Friday 12 June" in after
    assert after.splitlines()[-1] == "User: The film was long."


def test_what_matters_survives_many_summaries_of_small_talk() -> None:
    summary = rolling_of(user("I promised Tom to pay 450 euros by Friday."))
    for number in range(50):
        summary = rolling_of(user("The weather is odd.", f"The {chr(97 + number % 26)} bus was late."), summary)
    assert "I promised Tom to pay 450 euros by Friday." in summary


def test_what_matters_gives_way_to_what_matters_more() -> None:
    before = rolling_of(user("The soup was fine."))
    new = [
        f"I will meet {name} on Monday at {hour}:00."
        for hour, name in enumerate(["Ana", "Bob", "Cid", "Dan", "Eve"], 8)
    ]
    assert "soup" not in rolling_of(user(*new), before)


def test_a_summary_without_anything_new_stays_as_it_is() -> None:
    before = rolling_of(TALK, persona="Sophie")
    assert rolling_of([], before) == before


def test_the_same_thing_said_again_stands_there_once_where_it_was_said_last() -> None:
    before = rolling_of(user("I will call Jon tomorrow.", "My flat is in Berlin."))
    after = rolling_of(user("I will call Jon tomorrow!"), before)
    assert after.splitlines() == ["User: My flat is in Berlin.", "User: I will call Jon tomorrow!"]


@pytest.mark.parametrize(
    "said", ["Never mind the dentist.", "Forget about the dentist, please.", "The dentist is called off, actually."]
)
def test_what_the_user_takes_back_is_not_carried_on(said: str) -> None:
    before = rolling_of(user("I have to call the dentist tomorrow.", "I live in Berlin."))
    after = rolling_of(user(said), before)
    assert "I have to call the dentist" not in after
    assert "I live in Berlin." in after


@pytest.mark.parametrize("said", ["Never mind.", "I no longer need to see Dr Smith about the car."])
def test_taking_something_back_takes_nothing_else_with_it(said: str) -> None:
    before = rolling_of(user("I need to buy milk today."))
    assert "buy milk" in rolling_of(user(said), before)


def test_an_assistant_takes_nothing_back_for_the_user() -> None:
    before = rolling_of(user("I have to call the dentist tomorrow."))
    assert "dentist tomorrow" in rolling_of([Line("assistant", "Never mind the dentist.")], before)


def test_small_talk_stands_there_only_where_there_is_nothing_else() -> None:
    assert rolling_of(user("ok")) == "User: ok"
    assert rolling_of(user("ok", "I moved to Rome.")) == "User: I moved to Rome."


@pytest.mark.parametrize("text", ["", " \n", "😀😀", "\u200b", "...", "\ud800"])
def test_without_words_there_is_no_summary(text: str) -> None:
    assert rolling_of(user(text)) == ""
    assert summary_of(user(text)).one_liner == UNAVAILABLE


def test_only_the_newest_messages_and_their_beginnings_are_looked_at() -> None:
    many = [Line(speaker, f"{speaker} {number}") for number in range(20) for speaker in ("user", "assistant")]
    kept = latest(many, MOST_OF_EACH)
    assert len(kept) == 2 * MOST_OF_EACH
    assert (kept[0].text, kept[-1].text) == ("user 14", "assistant 19")
    hidden = "so " * MOST_OF_A_LINE + ". I will call Jon tomorrow."
    assert "Jon" not in rolling_of(user(hidden))


def test_credentials_and_what_cannot_be_seen_are_left_out() -> None:
    token = f"ghp_{'a1B2c3D4e5' * 4}"[:40]
    said = rolling_of(user(f"I will use my tok\u200ben {token}\u202e tomorrow."))
    assert token not in said
    assert said.isprintable()
    assert token not in str(summary_of(user("I am here"), f"My token is {token}", commitments=[f"use {token}"]))


def test_quotes_and_code_are_not_what_somebody_said() -> None:
    said = rolling_of(user("> I will pay you 500 on Monday.\nWhat a letter that is, Tom."))
    assert "500" not in said


def test_a_line_is_cut_between_words_and_says_so() -> None:
    said = rolling_of(user("I will " + "walk on and " * 30))
    assert len(said) <= MOST_OF_A_POINT
    assert said.endswith(" walk on…")


@settings(max_examples=100, deadline=None)
@given(LINES, TEXTS, st.text(max_size=20))
def test_whatever_is_said_a_summary_is_short_enough_and_always_the_same(
    lines: list[Line], before: str, persona: str
) -> None:
    text = rolling_of(lines, before, persona)
    summary = summary_of(
        lines, before, persona, commitments=[before], open_loops=[before] * 9, people=[persona, before]
    )
    within_caps(text, summary)
    assert text == rolling_of(list(lines), before, persona)
    assert rolling_of([], text) == text


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, max_size=20), st.integers(0, 10))
def test_condensing_keeps_lines_as_they_are_and_in_their_order(lines: list[str], most: int) -> None:
    kept = condensed(lines, most)
    assert len(kept) <= most
    once = list(dict.fromkeys(lines))
    assert [line for line in once if line in kept] == list(kept)


# -- scores


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I will call the dentist", "The dentist is fine, really"),
        ("The meeting is on Monday", "The meeting is a thing"),
        ("It costs 450 for all", "It costs something for all"),
        ("We met Ana in Lisbon there", "We met somebody in town there"),
        ("My flat is too small", "The flat is too small"),
        ("The flat is too small for them", "The flat is small"),
        ("The flat is too small", "Is the flat too small?"),
        ("The flat is too small", "Thanks, the flat is small"),
        ("I’ll call the dentist", "I call the dentist"),
    ],
)
def test_a_sentence_scores_by_what_it_has(more: str, less: str) -> None:
    assert score_of(Point("user", more, 0)) > score_of(Point("user", less, 0))
    assert score_of(Point("user", more, 0)) > score_of(Point("assistant", more, 0))


# -- sessions


def test_a_session_is_told_by_its_most_telling_sentence_and_the_next_ones() -> None:
    made = summary_of(
        TALK,
        persona="Sophie",
        commitments=["call Jon"],
        open_loops=["the flat"],
        people=["Sophie", "Jon", "user", "Jon"],
    )
    assert made.one_liner == "User: I will call Jon tomorrow at 9:30 about the flat in Berlin."
    assert made.what_mattered == ("I feel exhausted and my sister Ana moved to Lisbon in March 2024.",)
    assert (made.commitments, made.open_loops, made.people) == (("call Jon",), ("the flat",), ("Jon",))
    assert made.tone == "tired"
    assert not made.parse_error


def test_what_was_said_at_the_beginning_of_a_long_session_comes_by_way_of_its_rolling_summary() -> None:
    before = rolling_of(user("I will marry Ana on 12 June 2027 in Lisbon."))
    made = summary_of(user(*["The bus was late again."] * 12), before)
    assert "marry Ana" in made.one_liner


@pytest.mark.parametrize(
    ("text", "persona", "said"),
    [
        ("Sophie talked about work", "Sophie", "User talked about work"),
        ("sophie's day was long", "Sophie", "User's day was long"),
        ("Sophies are many", "Sophie", "Sophies are many"),
        ("Ana met Sophie", "Sophie", "Ana met Sophie"),
        ("C++ is fun", "C++", "User is fun"),
        ("Sophie talked", "", "Sophie talked"),
    ],
)
def test_the_user_is_never_called_like_the_persona(text: str, persona: str, said: str) -> None:
    assert as_user(text, persona) == said


def test_people_are_others_and_each_is_named_once() -> None:
    assert people_of(["Ana", "SOPHIE", " User", "Ana", "", "Jon"], "Sophie") == ("Ana", "Jon")
    assert entries_of([f"entry {number}" for number in range(9)]) == tuple(f"entry {number}" for number in range(5))


def test_a_text_is_never_cut_within_a_letter() -> None:
    cut = clipped("e\u0301" * 100, 20)
    assert len(cut) <= 20
    assert cut == "e\u0301" * 9 + "…"
    assert clipped("abc", 3) == "abc"
    assert len(clipped("x" * MAX_ROLLING * 2, MAX_ROLLING)) == MAX_ROLLING


@pytest.mark.parametrize(
    ("said", "tone"),
    [
        ("I am so stressed and overwhelmed, but happy", Tone.STRESSED),
        ("I am not happy", Tone.NEUTRAL),
        ("I wasn't worried, I was excited", Tone.UPBEAT),
        ("I’m not at all angry", Tone.NEUTRAL),
        ("the table is brown", Tone.NEUTRAL),
        ("日本語", Tone.UNKNOWN),
        ("", Tone.UNKNOWN),
    ],
)
def test_a_tone_is_one_of_a_few_words(said: str, tone: Tone) -> None:
    assert tone_of([said]) is tone
