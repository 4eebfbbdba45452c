"""What becomes of pending todos by what their user says."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.conversation.completions import DIRECTLY_SECONDS, MOST_SMALL_TALK, NEW_SECONDS
from recollect.domain.conversation.loops import Change, heard, is_known, loops_in, signature
from recollect.domain.conversation.todos import LoopKind, Todo, TodoReason, TodoStatus
from recollect.domain.instants import Instant, after_seconds

NOW = Instant(10**15)
SECOND = 1_000_000


def todo(
    number: int,
    content: str,
    kind: LoopKind = LoopKind.COMMITMENT,
    age: float = 60,
    status: TodoStatus = TodoStatus.PENDING,
) -> Todo:
    made = after_seconds(NOW, -age)
    return Todo(
        id=f"tdo_{number}",
        user="u",
        persona="p",
        kind=kind,
        content=content,
        status=status,
        created_at=made,
        updated_at=made,
    )


MOM = todo(1, "call mom tomorrow", age=300)
REPORT = todo(2, "send the report by Friday", age=200)
MILK = todo(3, "buy milk and eggs", age=100)
SEVERAL = (MOM, REPORT, MILK)


def done(text: str, pending: tuple[Todo, ...] = SEVERAL) -> list[str]:
    changes = heard(text, pending, NOW)
    assert all(each.status is TodoStatus.COMPLETED and each.reason is TodoReason.SAID_DONE for each in changes)
    return [each.todo_id for each in changes]


def off(text: str, pending: tuple[Todo, ...] = SEVERAL) -> list[str]:
    changes = heard(text, pending, NOW)
    assert all(each.status is TodoStatus.SKIPPED and each.reason is TodoReason.SAID_OFF for each in changes)
    return [each.todo_id for each in changes]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("I called mom this morning.", ["tdo_1"]),
        ("I've already called mom", ["tdo_1"]),
        ("Called mom!", ["tdo_1"]),
        ("I finished the report", ["tdo_2"]),
        ("Done with the report", ["tdo_2"]),
        ("The report is done.", ["tdo_2"]),
        ("Completed the report, finally", ["tdo_2"]),
        ("I just sent the report", ["tdo_2"]),
        ("I finally sent it, the report", ["tdo_2"]),
        ("Took care of the report", ["tdo_2"]),
        ("I bought the milk and the eggs", ["tdo_3"]),
        ("I already bought milk", ["tdo_3"]),
        ("I called my mom and sent the report.", ["tdo_1", "tdo_2"]),
        ("I called mom. Then I bought milk.", ["tdo_1", "tdo_3"]),
    ],
)
def test_what_was_done_completes_what_shares_most_words(text: str, ids: list[str]) -> None:
    assert sorted(done(text)) == ids


@pytest.mark.parametrize(
    "text",
    [
        "I didn't call mom",
        "I did not call mom",
        "I haven't sent the report yet",
        "The report is not done",
        "The report isn't done",
        "I forgot to buy milk",
        "I almost finished the report",
        "Not yet done with the report",
        "I never bought milk",
        "I couldn't get the report done",
        "I still need to buy milk",
        "I'll have the report done tomorrow",
        "I want to get the report done",
        "I should have called mom",
        "Just remembered I need to call mom",
        "If I finished the report I would be happy",
        "When I'm done with the report, I rest",
        "Did I call mom?",
        "Have I sent the report?",
        "Maybe I called mom",
        "I wish I had called mom",
        "My brother called mom",
        "She already sent the report",
        'He said "I finished the report"',
        "I just want milk",
        "I was told to buy milk",
        "I already know how to buy milk",
        "I like milk",
    ],
)
def test_what_was_not_done_completes_nothing(text: str) -> None:
    assert heard(text, SEVERAL, NOW) == ()
    assert all(heard(text, (each,), NOW) == () for each in SEVERAL)


@pytest.mark.parametrize(
    "text", ["Done!", "I did it", "It's done", "Finished.", "All done", "I already did that", "✅"]
)
def test_the_only_one_pending_needs_no_naming(text: str) -> None:
    assert done(text, (MOM,)) == ["tdo_1"]
    assert done(text, SEVERAL) == []


def test_the_only_one_pending_is_left_when_something_else_was_done() -> None:
    assert done("I finished my lunch", (MOM,)) == []
    assert done("I took the bus", (MOM,)) == []


def test_the_only_one_pending_may_be_done_in_other_words() -> None:
    assert done("Went for a jog", (todo(1, "go for a run"),)) == ["tdo_1"]


@pytest.mark.parametrize("kind", [LoopKind.HABIT, LoopKind.THREAD, LoopKind.FRICTION])
def test_only_commitments_are_completed(kind: LoopKind) -> None:
    assert heard("I called mom", (todo(1, "call mom", kind),), NOW) == ()


@pytest.mark.parametrize("status", [TodoStatus.COMPLETED, TodoStatus.SKIPPED])
def test_what_is_over_stays_as_it_is(status: TodoStatus) -> None:
    assert heard("I called mom", (todo(1, "call mom", status=status),), NOW) == ()


def test_of_two_that_share_as_much_the_newer_is_done() -> None:
    pending = (todo(1, "call mom about rent", age=500), todo(2, "call mom about dinner", age=50))
    assert done("I called mom", pending) == ["tdo_2"]


def test_what_is_completed_is_a_win() -> None:
    (change,) = heard("I called mom", (MOM,), NOW)
    assert msgspec.structs.replace(MOM, status=change.status).is_win


# -- off


@pytest.mark.parametrize(
    "text", ["Never mind.", "nevermind", "Forget it", "Scratch that!", "Actually, never mind", "I changed my mind."]
)
def test_a_retraction_that_names_nothing_is_of_the_newest(text: str) -> None:
    assert off(text) == ["tdo_3"]


def test_a_retraction_that_names_nothing_must_follow_directly() -> None:
    assert off("Never mind.", (todo(1, "call mom", age=DIRECTLY_SECONDS),)) == ["tdo_1"]
    assert off("Never mind.", (todo(1, "call mom", age=DIRECTLY_SECONDS + 1),)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never mind the report", "tdo_2"),
        ("Forget about the milk", "tdo_3"),
        ("I'm not going to call mom", "tdo_1"),
        ("I'm not going to send the report anymore", "tdo_2"),
        ("Cancel the report", "tdo_2"),
        ("I decided not to buy milk", "tdo_3"),
        ("I've decided against calling mom", "tdo_1"),
        ("I didn't call mom after all", "tdo_1"),
        ("I won't send the report", "tdo_2"),
        ("I no longer need to buy milk", "tdo_3"),
        ("I don't need to buy milk anymore", "tdo_3"),
        ("I changed my mind about the report", "tdo_2"),
        ("The report was called off", "tdo_2"),
    ],
)
def test_a_retraction_is_of_what_it_names(text: str, found: str) -> None:
    assert off(text) == [found]
    assert off(text, (todo(9, "paint the fence"),)) == []


@pytest.mark.parametrize(
    "text",
    ["I'm not going to lie, that was fun", "Never mind the gap", "I don't need milk", "Should I cancel the report?"],
)
def test_what_takes_nothing_back_skips_nothing(text: str) -> None:
    assert heard(text, SEVERAL, NOW) == ()


def test_a_thread_can_be_dropped_and_a_friction_cannot() -> None:
    thread, friction = todo(1, "maybe take up pottery", LoopKind.THREAD), todo(2, "can't sleep", LoopKind.FRICTION)
    assert off("I decided not to take up pottery", (thread, friction)) == ["tdo_1"]
    assert off("Never mind", (friction,)) == []


# -- habits


def recurring(text: str, pending: tuple[Todo, ...]) -> Change:
    (change,) = heard(text, pending, NOW)
    assert (change.status, change.reason) == (TodoStatus.COMPLETED, TodoReason.RECURS)
    return change


@pytest.mark.parametrize(
    "often",
    [
        "every day",
        "daily",
        "each morning",
        "regularly",
        "weekly",
        "monthly",
        "every Monday",
        "every other week",
        "twice a week",
    ],
)
def test_a_commitment_that_recurs_turns_into_a_habit(often: str) -> None:
    habit = recurring("Okay", (todo(1, f"stretch {often}"),)).became
    assert habit is not None
    assert (habit.kind, habit.content, habit.dedupe_key) == (LoopKind.HABIT, f"stretch {often}", "habit:stretch")
    habit = recurring(f"I stretch {often}", (todo(1, "stretch tomorrow"), REPORT)).became
    assert habit is not None
    assert (habit.content, habit.dedupe_key) == (f"stretch {often}", "habit:stretch")


def test_a_recurrence_that_names_nothing_is_of_the_newest() -> None:
    assert recurring("Actually, every day.", SEVERAL).todo_id == "tdo_3"


def test_after_a_day_a_commitment_stays_one() -> None:
    assert recurring("I stretch daily", (todo(1, "stretch", age=NEW_SECONDS - 1),)).todo_id == "tdo_1"
    assert heard("I stretch daily", (todo(1, "stretch", age=NEW_SECONDS),), NOW) == ()


def test_what_does_not_recur_stays_a_commitment() -> None:
    assert heard("I don't call mom every day", SEVERAL, NOW) == ()


def test_a_habit_that_is_said_again_is_the_one_a_commitment_turned_into() -> None:
    text = "I call mom every Sunday"
    habit = recurring(text, SEVERAL).became
    assert habit is not None
    (again,) = loops_in(text)
    kept = msgspec.structs.replace(todo(7, habit.content, LoopKind.HABIT), dedupe_key=signature(habit))
    assert is_known(again, [kept])
    assert not is_known(again, SEVERAL)


def test_what_turned_into_a_habit_is_no_win() -> None:
    change = recurring("I call mom every Sunday", SEVERAL)
    assert not msgspec.structs.replace(MOM, status=change.status, became="tdo_8").is_win


# -- small talk


@pytest.mark.parametrize(
    "content", ["talking about the weather", "just thinking out loud", "by the way, the cat sleeps"]
)
def test_small_talk_is_skipped(content: str) -> None:
    (change,) = heard("Hello there", (todo(1, content, LoopKind.THREAD),), NOW)
    assert (change.status, change.reason) == (TodoStatus.SKIPPED, TodoReason.SMALL_TALK)
    assert heard("Hello there", (todo(1, content),), NOW) == ()


def test_twenty_threads_of_small_talk_are_skipped_at_once() -> None:
    threads = tuple(todo(each, "the weather", LoopKind.THREAD) for each in range(30))
    assert len(heard("Hello there", threads, NOW)) == MOST_SMALL_TALK == 20


# -- whatever is said

SAYINGS = [
    "I called mom and bought milk. Never mind. Every day. Done!",
    "I finished the report, then I called mom.",
    "Forget it. Never mind. Scratch that.",
    "daily",
]


@given(st.lists(st.sampled_from(SAYINGS), max_size=4).map(" ".join) | st.text(max_size=200))
def test_each_todo_changes_once_at_most_and_only_when_pending(text: str) -> None:
    pending = (*SEVERAL, todo(4, "the weather", LoopKind.THREAD), todo(5, "run", status=TodoStatus.SKIPPED))
    changes = heard(text, pending, NOW)
    ids = [each.todo_id for each in changes]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {each.id for each in pending if each.status is TodoStatus.PENDING}
    assert all((each.became is not None) == (each.reason is TodoReason.RECURS) for each in changes)
    assert changes == heard(text, pending, NOW)


@pytest.mark.parametrize(
    "piece", ["a, ", "just ", "so ", "my as is a ", "I'll ", "never mind ", "it is ", "and did ", "every day "]
)
def test_a_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    text = ". ".join([(piece * 400)[:390]] * 50)
    began = time.perf_counter()
    heard(text, SEVERAL, NOW)
    loops_in(text)
    assert time.perf_counter() - began < 20
