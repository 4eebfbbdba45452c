"""Todos: opened once, changed by hand, and done when that is said."""

from __future__ import annotations

import pytest
from tests.conversation.course import talk
from tests.pipeline.scene import TENANT, Scene

from recollect.domain.errors import InvalidRequest, InvalidValue, NotFound
from recollect.service.conversation.looping import open_loops

HOUR = 3_600


async def loops(here: Scene, text: str, persona: str = "Coach") -> list[tuple[str, str]]:
    (told,) = await talk(here, text, persona=persona)
    return [(each["outcome"], each["todo"]["content"]) for each in told["loops"]]


async def test_a_loop_that_is_pending_is_not_opened_again(here: Scene) -> None:
    assert await loops(here, "I'll call Mom tomorrow.") == [("opened", "call Mom tomorrow")]
    assert await loops(here, "I'll call mom tomorrow!") == [("known", "call Mom tomorrow")]
    assert await loops(here, "I'll call Mom tomorrow.", "Cook") == [("opened", "call Mom tomorrow")]
    assert len((await here.alice.list_todos())["todos"]) == 2
    assert len((await here.alice.list_todos(persona="Coach", status="PENDING"))["todos"]) == 1


async def test_what_was_done_can_be_promised_again(here: Scene) -> None:
    await loops(here, "I'll call Mom tomorrow.")
    assert await loops(here, "I called Mom.") == [("completed", "call Mom tomorrow")]
    (done,) = (await here.alice.list_todos())["todos"]
    assert (done["status"], done["reason"], done["win"]) == ("COMPLETED", "said_done", True)
    assert await loops(here, "I'll call Mom tomorrow.") == [("opened", "call Mom tomorrow")]


async def test_what_is_said_to_be_off_is_skipped(here: Scene) -> None:
    await loops(here, "I'll call Mom tomorrow.")
    assert await loops(here, "Never mind.") == [("skipped", "call Mom tomorrow")]
    (todo,) = (await here.alice.list_todos())["todos"]
    assert (todo["status"], todo["reason"]) == ("SKIPPED", "said_off")


async def test_what_turns_out_to_recur_becomes_a_habit(here: Scene) -> None:
    await loops(here, "I'll go for a run tomorrow.")
    (told,) = await talk(here, "I want to do that every day.")
    (changed,) = [each for each in told["loops"] if each["outcome"] == "became_habit"]
    habit = await here.alice.get_todo(changed["todo"]["became"])
    assert (habit["kind"], habit["status"]) == ("HABIT", "PENDING")
    assert not changed["todo"]["win"]


async def test_todos_are_added_and_changed_by_hand(here: Scene) -> None:
    made = await here.alice.add_todo("Walk the dog", persona="Coach")
    assert made["opened"]
    again = await here.alice.add_todo("walk the dog!", persona="Coach")
    assert (again["opened"], again["id"]) == (False, made["id"])
    changed = await here.alice.change_todo(made["id"], status="COMPLETED")
    assert (changed["reason"], changed["win"]) == ("changed", True)
    other = await here.alice.add_todo("Walk the dog", persona="Coach")
    with pytest.raises(InvalidRequest, match="means the same"):
        await here.alice.change_todo(made["id"], status="PENDING")
    await here.alice.change_todo(other["id"], content="Feed the cat", kind="HABIT")
    back = await here.alice.change_todo(made["id"], status="PENDING")
    assert back["completed_at"] is None
    assert await loops(here, "I walked the dog.") == [("completed", "Walk the dog")]
    assert (await here.alice.get_todo(other["id"]))["kind"] == "HABIT"


async def test_a_key_says_what_means_the_same(here: Scene) -> None:
    first = await here.alice.add_todo("Walk the dog", dedupe_key="walk")
    second = await here.alice.add_todo("Take Rex out", dedupe_key="walk")
    assert second["id"] == first["id"]
    third = await here.alice.add_todo("Take Rex out", dedupe_key="walk", kind="HABIT")
    assert third["opened"]


async def test_names_beyond_ascii_are_told_apart(here: Scene) -> None:
    assert (await here.alice.add_todo("給媽媽打電話"))["opened"]
    assert (await here.alice.add_todo("給爸爸打電話"))["opened"]
    assert not (await here.alice.add_todo("給爸爸打電話。"))["opened"]


async def test_what_cannot_be_a_todo_is_refused(here: Scene) -> None:
    for content in ("", " ", "x" * 501, 7):
        with pytest.raises(InvalidRequest):
            await here.alice.add_todo(content)  # type: ignore[arg-type] # on purpose
    with pytest.raises(InvalidValue):
        await here.alice.add_todo("Walk", kind="REMINDER")
    made = await here.alice.add_todo("My password is hunter2-and-more")
    assert "hunter2" not in made["content"]
    with pytest.raises(InvalidRequest, match="say what is to change"):
        await here.alice.change_todo(made["id"])
    with pytest.raises(NotFound):
        await here.as_user("bob").get_todo(made["id"])
    with pytest.raises(NotFound):
        await here.as_user("bob").change_todo(made["id"], status="SKIPPED")


async def test_what_is_open_is_told_by_kind_and_what_was_done_for_two_days(here: Scene) -> None:
    store = here.root.workings.store
    for kind in ("COMMITMENT", "HABIT", "THREAD", "FRICTION"):
        await here.alice.add_todo(f"a {kind}", kind=kind, persona="Coach")
    done = await here.alice.add_todo("done soon", persona="Coach")
    await here.alice.change_todo(done["id"], status="COMPLETED")
    here.clock.advance(48 * HOUR)
    found = await open_loops(store, TENANT, "alice", "Coach", here.root.workings.clock())
    told = [found.commitments, found.habits, found.threads, found.frictions, found.wins]
    assert [[each.content for each in part] for part in told] == [
        ["a COMMITMENT"],
        ["a HABIT"],
        ["a THREAD"],
        ["a FRICTION"],
        ["done soon"],
    ]
    here.clock.advance(1)
    assert (await open_loops(store, TENANT, "alice", "Coach", here.root.workings.clock())).wins == ()
    assert (await open_loops(store, TENANT, "alice", "Cook", here.root.workings.clock())).commitments == ()
