"""Turns: what is said goes in once, as one thing, and says what became of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.course import rows, talk
from tests.pipeline.scene import Scene

from recollect.domain.errors import Forbidden, IdempotencyMismatch, InvalidCapture, InvalidRequest
from recollect.domain.reasons import Plane
from recollect.service.conversation.taking import Taking


async def test_a_turn_says_what_became_of_everything(here: Scene) -> None:
    told = await here.alice.converse("My name is Ada. I'll call Mom tomorrow.", ai="Lovely, Ada.", persona="Coach")
    assert told["number"] == 1
    assert [each["outcome"] for each in told["remembered"]] == ["promoted"]
    assert [(each["outcome"], each["todo"]["content"]) for each in told["loops"]] == [("opened", "call Mom tomorrow")]
    (message,) = (await here.alice.list_messages())["messages"]
    assert (message["user"], message["ai"]) == ("My name is Ada. I'll call Mom tomorrow.", "Lovely, Ada.")
    assert message["captures"] == told["captures"]
    for capture, speaker in zip(told["captures"], ("user", "assistant"), strict=True):
        kept = await here.alice.get_capture(capture)
        assert (kept["speaker"], kept["session"], kept["state"]) == (speaker, told["session"]["id"], "done")
    record = await here.alice.get_record(told["remembered"][0]["record_id"])
    assert record["captures"] == told["captures"][:1]
    assert record["session"] == told["session"]["id"]
    assert record["origin"] == "shadow_extraction"
    (todo,) = (await here.alice.list_todos())["todos"]
    assert (todo["session"], todo["captures"]) == (told["session"]["id"], told["captures"][:1])


async def test_somebody_says_something(here: Scene) -> None:
    for user, ai in ((None, None), ("", None), (" ", "\n")):
        with pytest.raises(InvalidRequest, match="say what the user said"):
            await here.alice.converse(user, ai=ai)
    with pytest.raises(InvalidCapture):
        await here.alice.converse("x" * 65_537)
    only = await here.alice.converse(ai="Good morning!")
    assert only["state"]["message_count"] == 0
    assert only["session"]["turn_count"] == 0
    assert only["by"] is None


async def test_what_the_assistant_says_is_no_memory(here: Scene) -> None:
    told = await here.alice.converse(ai="My name is Sophie. I'll remind you tomorrow.")
    assert told["remembered"] == told["loops"] == []


async def test_what_may_not_be_kept_is_kept_nowhere(here: Scene) -> None:
    told = await here.alice.converse("I prefer tea. My password is hunter2-and-more.", ai="ok")
    assert "denied" in [each["outcome"] for each in told["remembered"]]
    for plane in Plane:
        assert "hunter2" not in str(await rows(here.root, plane))


async def test_a_repeated_turn_happens_once_and_is_answered_the_same(here: Scene) -> None:
    first = await here.alice.converse("I'll call Mom tomorrow.", idempotency_key="t1")
    here.clock.advance(3_600)
    again = await here.alice.converse("I'll call Mom tomorrow.", idempotency_key="t1")
    assert again == first | {"replayed": True}
    assert len((await here.alice.list_messages())["messages"]) == 1
    with pytest.raises(IdempotencyMismatch):
        await here.alice.converse("I'll call Dad tomorrow.", idempotency_key="t1")
    other = await here.as_user("bob").converse("I'll call Mom tomorrow.", idempotency_key="t1")
    assert "replayed" not in other


async def test_a_memory_that_is_said_again_weighs_more(here: Scene) -> None:
    (first, *_) = await talk(here, *["I prefer tea."] * 3)
    record = await here.alice.get_record(first["remembered"][0]["record_id"])
    assert (record["mention_count"], record["weight"]) == (3, 2)
    assert "often_mentioned" in record["weight_reason"]
    await talk(here, *["I prefer tea."] * 47)
    record = await here.alice.get_record(record["id"])
    assert (record["mention_count"], record["weight"]) == (50, 3)
    assert len((await here.alice.list_records())["records"]) == 1


async def test_what_others_repeat_weighs_nothing_more(here: Scene) -> None:
    (first,) = await talk(here, "I prefer tea.")
    for _ in range(5):
        await here.alice.capture([{"text": "I prefer tea.", "via": "web"}])
        await here.alice.converse(ai="I prefer tea.")
    assert (await here.alice.get_record(first["remembered"][0]["record_id"]))["mention_count"] == 1


async def test_what_takes_the_place_of_a_memory_weighs_no_less(here: Scene) -> None:
    await talk(here, *["My name is Ada."] * 3)
    (told,) = await talk(here, "My name is Grace.")
    record = await here.alice.get_record(told["remembered"][0]["record_id"])
    assert (record["mention_count"], record["weight"]) == (1, 3)
    past = (await here.alice.recall("name", history=True))["memories"]
    assert "My name is Ada." in [each["text"] for each in past]


async def test_what_is_pinned_weighs_most_as_long_as_it_is(here: Scene) -> None:
    (told,) = await talk(here, "I prefer tea.")
    named = told["remembered"][0]["record_id"]
    assert (await here.alice.pin_record(named))["weight"] == 3
    assert (await here.alice.pin_record(named, pinned=False))["weight"] == 1


async def test_whom_a_turn_speaks_of_is_noted(here: Scene) -> None:
    (told,) = await talk(here, "My sister Sarah lives in Seattle.")
    record = await here.alice.get_record(told["remembered"][0]["record_id"])
    assert (record["entity_refs"], record["entity_label"]) == (["person:sarah"], "Sarah")
    assert record["memory_key"] == "people|person|sarah|fact|lives_in"
    (entity,) = (await here.alice.list_entities())["entities"]
    assert (entity["ref"], entity["mentions"]["count"]) == ("person:sarah", 1)


async def test_messages_are_listed_by_session_and_persona(here: Scene) -> None:
    (first,) = await talk(here, "one")
    await talk(here, "two", persona="Cook")
    here.clock.advance(3_600)
    await talk(here, "three")
    assert [each["user"] for each in (await here.alice.list_messages())["messages"]] == ["three", "two", "one"]
    assert [each["number"] for each in (await here.alice.list_messages(persona="Coach"))["messages"]] == [2, 1]
    page = await here.alice.list_messages(session=first["session"]["id"])
    assert [each["user"] for each in page["messages"]] == ["one"]
    page = await here.alice.list_messages(limit=2)
    rest = await here.alice.list_messages(limit=2, cursor=page["cursor"])
    assert [each["user"] for each in rest["messages"]] == ["one"]
    assert (await here.as_user("bob").list_messages())["messages"] == []


async def test_nothing_of_a_turn_is_kept_when_its_end_fails(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {plane: await rows(here.root, plane) for plane in Plane}

    async def fails(*_: Any) -> None:
        raise Forbidden("access denied")

    monkeypatch.setattr(Taking, "_note_spine", fails)
    with pytest.raises(Forbidden):
        await here.alice.converse("My name is Ada. I'll call Mom tomorrow.")
    after = {plane: await rows(here.root, plane) for plane in Plane}
    assert {plane for plane in Plane if before[plane] != after[plane]} <= {Plane.POLICY, Plane.SETTING}


@pytest.mark.parametrize("persona", ["", " Coach", "a\nb", "x" * 65, 7, None])
async def test_a_persona_has_a_plain_name(here: Scene, persona: Any) -> None:
    with pytest.raises(InvalidRequest, match="persona is named"):
        await here.alice.converse("Hello.", persona=persona)


async def test_no_name_of_a_person_is_plain_anywhere(here: Scene) -> None:
    await talk(here, "My sister Zebedea lives in Seattle. I'll call Zebedea tomorrow.")
    for plane in Plane:
        assert "zebedea" not in str([each["where"] for each in await rows(here.root, plane)]).lower()
