"""Which open loops are found in what somebody says, and which are worth keeping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.loops import MOST_LOOPS, filtered, is_known, kind_of, loops_in, signature
from recollect.domain.conversation.todos import MAX_CONTENT, Loop, LoopKind, Todo, TodoStatus
from recollect.domain.instants import Instant

COMMITMENT, HABIT, THREAD, FRICTION = LoopKind.COMMITMENT, LoopKind.HABIT, LoopKind.THREAD, LoopKind.FRICTION

OPENING = [
    ("I'll call mom tomorrow.", COMMITMENT, "call mom tomorrow"),
    ("I’ll call mom tomorrow!", COMMITMENT, "call mom tomorrow"),
    ("I will send the report by Friday", COMMITMENT, "send the report by Friday"),
    ("I'm going to clean the garage this weekend.", COMMITMENT, "clean the garage this weekend"),
    ("I am going to paint the fence", COMMITMENT, "paint the fence"),
    ("I'm gonna book the dentist", COMMITMENT, "book the dentist"),
    ("I need to buy milk, eggs and bread.", COMMITMENT, "buy milk, eggs and bread"),
    ("I need to submit the tax form by Friday", COMMITMENT, "submit the tax form by Friday"),
    ("I promise to water the plants.", COMMITMENT, "water the plants"),
    ("I promise I'll water the plants.", COMMITMENT, "water the plants"),
    ("Remind me to pay the rent", COMMITMENT, "pay the rent"),
    ("Can you remind me to pay the rent?", COMMITMENT, "pay the rent"),
    ("Please don't let me forget to renew my passport", COMMITMENT, "renew my passport"),
    ("I must finish my thesis before June", COMMITMENT, "finish my thesis before June"),
    ("I have to pick up the kids at 5", COMMITMENT, "pick up the kids at 5"),
    ("I've got to fix the sink", COMMITMENT, "fix the sink"),
    ("Gotta return the library books", COMMITMENT, "return the library books"),
    ("I really need to email my landlord", COMMITMENT, "email my landlord"),
    ("TODO: buy a birthday card", COMMITMENT, "buy a birthday card"),
    ("I plan to visit my grandmother next month", COMMITMENT, "visit my grandmother next month"),
    ("I'm planning to repaint the kitchen", COMMITMENT, "repaint the kitchen"),
    ("I'm supposed to review the contract", COMMITMENT, "review the contract"),
    ("Okay, so I'll order the cake tonight, thanks", COMMITMENT, "order the cake tonight"),
    ("Yesterday was long, but I'll finish the slides tonight", COMMITMENT, "finish the slides tonight"),
    ("I'll send you the report by Friday", COMMITMENT, "send you the report by Friday"),
    ("I go running every morning", HABIT, "go running every morning"),
    ("I want to meditate daily", HABIT, "meditate daily"),
    ("I've been doing yoga every day", HABIT, "doing yoga every day"),
    ("I call my sister every Sunday", HABIT, "call my sister every Sunday"),
    ("I'm going to swim twice a week", HABIT, "swim twice a week"),
    ("I try to read every night", HABIT, "read every night"),
    ("I go to the gym on weekends", HABIT, "go to the gym on weekends"),
    ("I'm thinking about changing jobs.", THREAD, "thinking about changing jobs"),
    ("I've been thinking of getting a dog", THREAD, "thinking of getting a dog"),
    ("Maybe I'll take up pottery", THREAD, "maybe take up pottery"),
    ("I'm not sure whether to move to Berlin", THREAD, "not sure whether to move to Berlin"),
    ("I might go back to school", THREAD, "might go back to school"),
    ("I'm considering a sabbatical", THREAD, "considering a sabbatical"),
    ("I can't decide between Lisbon and Porto", THREAD, "can't decide between Lisbon and Porto"),
    ("I'm torn between two offers", THREAD, "torn between two offers"),
    ("I guess I'll sell the car", THREAD, "maybe sell the car"),
    ("I'll visit Vancouver some day", THREAD, "visit Vancouver some day"),
    ("I'm struggling with my sleep.", FRICTION, "struggling with my sleep"),
    ("My cat keeps interrupting me during calls", FRICTION, "My cat keeps interrupting me during calls"),
    ("I can't focus at work", FRICTION, "can't focus at work"),
    ("I hate that the bus is always late", FRICTION, "hate that the bus is always late"),
    ("The noise is driving me crazy.", FRICTION, "The noise is driving me crazy"),
    ("I'm so tired of the commute", FRICTION, "so tired of the commute"),
    ("I keep forgetting my keys", FRICTION, "keep forgetting my keys"),
    ("I have trouble falling asleep", FRICTION, "have trouble falling asleep"),
    ("My phone gets in the way of everything", FRICTION, "My phone gets in the way of everything"),
]
CLOSED = [
    "I won't call mom.",
    "I will not call mom tomorrow",
    "I'll never call mom again",
    "I'm not going to the party",
    "I'm not going to clean the garage",
    "I don't need to buy milk",
    "I don't have to go running every day",
    'She said "I\'ll call you tomorrow"',
    '"I\'ll call you tomorrow" is what he wrote',
    "He told me, I'll be there tomorrow",
    "My boss said, I'll fire somebody tomorrow",
    "> I'll call mom tomorrow",
    "She'll call mom tomorrow",
    "Should I call mom tomorrow?",
    "Do you think I'll pass the exam?",
    "Will I need to buy milk",
    "If I win the lottery I'll buy a boat.",
    "I'd buy a boat",
    "I wish I could call mom",
    "I'll keep that in mind",
    "I'll be honest with you",
    "I'll let you know how it goes",
    "I'll miss her so much",
    "I'll always remember that day",
    "I'll do it",
    "I'll check it out tomorrow",
    "I'll give it a try",
    "I'll reach out if I need anything",
    "I have to say that was fun",
    "I have to go.",
    "I must admit that was hard",
    "I need to know more about that",
    "I'm going to the store",
    "I'm going to London tomorrow",
    "I'm going to bed",
    "I was going to call mom",
    "I had to call mom",
    "I called mom yesterday",
    "I went running every morning",
    "I used to run every day",
    "I think about you every day",
    "He goes running every morning",
    "I'm thinking about you",
    "I was thinking about that",
    "Maybe I'm wrong about that",
    "I can't wait to see you",
    "I can't believe he did that",
    "It is driving me crazy",
    "Let's go to the beach",
    "Thanks so much for listening",
    "I'm thinking about the weather",
    "I'll take that",
    "I'll be testing the new phone tomorrow",
    "I need to work on being more supportive",
    "I'm frustrated with my commute",
    "I'm thinking about you every day",
    "I'm looking for a daily routine",
    "I need you to know my monthly pass",
    "I made a painting every week",
]


@pytest.mark.parametrize(("text", "kind", "content"), OPENING)
def test_what_is_said_opens_a_loop(text: str, kind: LoopKind, content: str) -> None:
    found = [(each.kind, each.content) for each in loops_in(text)]
    assert found == [(kind, content)]


@pytest.mark.parametrize("text", CLOSED)
def test_what_is_no_loop_opens_none(text: str) -> None:
    assert loops_in(text) == ()


def test_one_text_opens_several_loops_in_their_order() -> None:
    found = loops_in("I'll call mom tomorrow, and I need to buy milk. I'm struggling with my sleep.")
    assert [each.kind for each in found] == [COMMITMENT, COMMITMENT, FRICTION]


def test_the_name_of_whom_it_is_said_to_is_left_out() -> None:
    (loop,) = loops_in("Sophie, I'll book the flights tonight, Sophie!", names=["Sophie"])
    assert loop.content == "book the flights tonight"


def test_what_is_taken_back_at_once_opens_nothing() -> None:
    assert loops_in("I'll call mom tomorrow. Never mind.") == ()
    (loop,) = loops_in("I'll pay the rent today. I'll call mom tomorrow. Scratch that!")
    assert loop.content == "pay the rent today"


def test_a_text_opens_eight_loops_at_most() -> None:
    text = " ".join(f"I need to call number {number}." for number in range(40))
    assert len(loops_in(text)) == MOST_LOOPS == 8


def test_a_promise_is_surer_than_a_thought() -> None:
    (promise,), (thought,) = loops_in("I promise to call mom"), loops_in("I might take up pottery")
    assert promise.confidence > thought.confidence


def test_what_is_vague_of_some_day_is_a_thread() -> None:
    (loop,) = loops_in("I'll visit Vancouver some day")
    assert loop.demoted


# -- what a model may have found


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("COMMITMENT", COMMITMENT),
        (" habit ", HABIT),
        ("friction|work", FRICTION),
        ("THREAD", THREAD),
        ("OPEN_LOOP", THREAD),
        ("REMINDER", THREAD),
        ("", THREAD),
        ("whatever", THREAD),
    ],
)
def test_an_unknown_kind_is_a_thread(written: str, kind: LoopKind) -> None:
    assert kind_of(written) is kind


def commitment(content: str, **told: object) -> Loop:
    return Loop(kind=COMMITMENT, content=content, **told)  # type: ignore[arg-type]  # fields of the test's choice


@pytest.mark.parametrize(
    "content",
    [
        "keep testing the app",
        "be less frustrated",
        "stop frustrating people",
        "feel grateful",
        "stay supportive of Ann",
        "ask the assistant",
        "continue the conversation",
        "is ready to help",
        "   ",
    ],
)
def test_talk_about_the_talk_is_dropped(content: str) -> None:
    assert filtered([commitment(content)]) == ()


def test_words_that_only_contain_a_forbidden_one_are_kept() -> None:
    assert len(filtered([commitment("join the protesting nurses")])) == 1


@pytest.mark.parametrize("hedge", ["maybe", "might", "could", "wish", "hope", "if i", "if we", "If I"])
def test_a_hedged_commitment_is_a_thread(hedge: str) -> None:
    (loop,) = filtered([commitment(f"{hedge} call the bank")])
    assert (loop.kind, loop.demoted) == (THREAD, True)


@pytest.mark.parametrize("when", ["today", "tonight", "tomorrow", "before noon", "by June", "end of day", "at 7:30 am"])
def test_a_hedged_commitment_with_a_time_stays_one(when: str) -> None:
    (loop,) = filtered([commitment(f"maybe call the bank {when}")])
    assert (loop.kind, loop.demoted) == (COMMITMENT, False)


@pytest.mark.parametrize("will", ["I will", "I'm going to", "I'll", "I’ll"])
def test_a_hedged_commitment_with_a_will_stays_one(will: str) -> None:
    (loop,) = filtered([commitment(f"maybe {will} call the bank")])
    assert loop.kind is COMMITMENT


def test_only_commitments_are_demoted() -> None:
    (loop,) = filtered([Loop(kind=HABIT, content="maybe run daily")])
    assert (loop.kind, loop.demoted) == (HABIT, False)


def test_a_batch_has_each_loop_once_and_eight_at_most() -> None:
    batch = [commitment("Call Mom!"), commitment("call mom"), commitment("x", dedupe_key="Call-Mom")]
    assert [each.content for each in filtered(batch)] == ["Call Mom!"]
    assert len(filtered([commitment(f"call number {each}") for each in range(20)])) == MOST_LOOPS


def test_a_long_content_is_cut() -> None:
    (loop,) = filtered([commitment("call " * 500)])
    assert len(loop.content) <= MAX_CONTENT


# -- which mean the same


def test_a_signature_is_the_key_or_else_the_words() -> None:
    assert signature(commitment("whatever", dedupe_key="Call  Mom!")) == "call_mom"
    assert signature(commitment("Call, Mom.")) == "call_mom"
    assert signature(commitment("Call mom", dedupe_key="!!")) == "call_mom"


@pytest.mark.parametrize("content", ["позвонить маме", "電話する", "اتصل بأمي", "माँ को फ़ोन", "να πάρω τη μαμά", "🏃"])
def test_words_of_all_scripts_have_a_signature(content: str) -> None:
    assert signature(commitment(content))
    assert signature(commitment(content)) != signature(commitment(content + " 2"))


def test_vowel_signs_tell_words_apart() -> None:
    assert signature(commitment("कि")) != signature(commitment("की"))


def pending(content: str, kind: LoopKind = COMMITMENT, status: TodoStatus = TodoStatus.PENDING, key: str = "") -> Todo:
    moment = Instant(0)
    return Todo(
        id="tdo_1",
        user="u",
        persona="p",
        kind=kind,
        content=content,
        status=status,
        dedupe_key=key,
        created_at=moment,
        updated_at=moment,
    )


def test_what_is_pending_already_is_known() -> None:
    (loop,) = loops_in("I'll call mom tomorrow")
    (again,) = loops_in("I need to call my mom today")
    kept = pending(loop.content, key=signature(loop))
    assert is_known(again, [kept])


@pytest.mark.parametrize(
    "other",
    [
        pending("call mom", HABIT),
        pending("call mom", status=TodoStatus.COMPLETED),
        pending("call mom", status=TodoStatus.SKIPPED),
        pending("call dad"),
    ],
)
def test_another_kind_or_one_that_is_over_makes_nothing_known(other: Todo) -> None:
    assert not is_known(commitment("call mom"), [other])


loops = st.builds(
    Loop,
    kind=st.sampled_from(LoopKind),
    content=st.one_of(st.text(max_size=60), st.sampled_from(["call mom", "Maybe call mom", "run daily", "call mom."])),
    dedupe_key=st.one_of(st.none(), st.text(max_size=20)),
)


@given(st.lists(loops, max_size=20))
def test_what_was_filtered_is_not_filtered_again(batch: list[Loop]) -> None:
    once = filtered(batch)
    assert filtered(once) == once
    assert filtered([*once, *once]) == once


@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_a_signature_stays_the_same_when_it_is_taken_again(content: str) -> None:
    first = signature(commitment(content))
    assert first
    assert signature(commitment("other", dedupe_key=first)) == first or not any(map(str.isalnum, first))


@given(st.text(max_size=400))
def test_any_text_is_read_the_same_every_time(text: str) -> None:
    found = loops_in(text)
    assert found == loops_in(text)
    assert len(found) <= MOST_LOOPS
    assert all(each.content and len(each.content) <= MAX_CONTENT for each in found)
