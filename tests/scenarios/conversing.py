"""Scenarios of a conversation: turns with personas, what is to be done, who is spoken of, and what is put in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.scenarios.door import Door
from tests.scenarios.play import Cast, refused, scene

AN_HOUR_AGO = datetime(2025, 6, 1, 9, tzinfo=UTC)
NONE = "ses_" + 32 * "0"


def talk(door: Door, *texts: str, persona: str = "coach") -> list[Any]:
    """What became of what somebody said, text by text."""
    return [door.converse(each, persona=persona) for each in texts]


@scene("a turn tells the session it belongs to, what was remembered, and what is known across sessions")
def conversed(cast: Cast) -> None:
    told = cast.alice.converse("My name is Ada.", ai="Hello Ada.", persona="coach")
    assert (told["number"], told["opened"], told["closed"]) == (1, True, None)
    assert (told["session"]["persona"], told["session"]["turn_count"], told["session"]["open"]) == ("coach", 1, True)
    assert [each["outcome"] for each in told["remembered"]] == ["promoted"]
    second = cast.alice.converse(ai="How are you?", persona="coach")
    assert (second["number"], second["opened"], second["state"]["message_count"]) == (2, False, 1)
    assert second["session"]["id"] == told["session"]["id"]
    with refused("forbidden"):
        cast.reader.converse("x")
    with refused("invalid_request", "invalid_capture"):
        cast.alice.converse()
    with refused("not_found"):
        cast.alice.converse("x", session=NONE)


@scene("a turn that is repeated under one key is taken once")
def conversed_once(cast: Cast) -> None:
    first = cast.alice.converse("I prefer tea.", persona="coach", idempotency_key="k")
    assert cast.alice.converse("I prefer tea.", persona="coach", idempotency_key="k") == first | {"replayed": True}
    with refused("idempotency_mismatch"):
        cast.alice.converse("I prefer coffee.", persona="coach", idempotency_key="k")
    assert cast.alice.get_session_state("coach")["message_count"] == 1


@scene("after half an hour of silence another session begins, and nobody else's is seen")
def sessions(cast: Cast) -> None:
    first = cast.alice.converse("My name is Ada.", persona="coach", at=AN_HOUR_AGO)
    later = cast.alice.converse("I prefer tea.", persona="coach", at=AN_HOUR_AGO + timedelta(minutes=31))
    assert (later["opened"], later["closed"]["id"]) == (True, first["session"]["id"])
    with refused("invalid_request"):
        cast.alice.converse("x", persona="coach", at=AN_HOUR_AGO)
    other = cast.alice.converse("Hello.", persona="friend")
    listed = cast.alice.list_sessions(persona="coach")["sessions"]
    assert [each["id"] for each in listed] == [later["session"]["id"], first["session"]["id"]]
    assert len(cast.alice.list_sessions(limit=2)["sessions"]) == 2
    over = cast.alice.get_session(first["session"]["id"])
    assert (over["closed_by"], over["open"]) == ("idle", False)
    closed = cast.alice.close_session(other["session"]["id"])
    assert (closed["closed_by"], closed["open"]) == ("request", False)
    assert cast.alice.get_session_state("friend")["session"] is None
    with refused("invalid_request"):
        cast.alice.converse("x", session=other["session"]["id"])
    with refused("not_found"):
        cast.bob.get_session(other["session"]["id"])
    with refused("not_found"):
        cast.bob.close_session(later["session"]["id"])
    assert cast.bob.list_sessions()["sessions"] == []


@scene("what was said is told newest first, by persona and by session")
def messages(cast: Cast) -> None:
    (first, _) = talk(cast.alice, "My name is Ada.", "I prefer tea.")
    talk(cast.alice, "Hello.", persona="friend")
    assert [each["user"] for each in cast.alice.list_messages(persona="coach")["messages"]] == [
        "I prefer tea.",
        "My name is Ada.",
    ]
    inside = cast.alice.list_messages(session=first["session"]["id"])["messages"]
    assert [each["number"] for each in inside] == [2, 1]
    assert cast.bob.list_messages()["messages"] == []


@scene("what only one persona is to know no other is told")
def private(cast: Cast) -> None:
    cast.alice.converse("I prefer tea.", persona="coach", private=True)
    assert [each["text"] for each in cast.alice.recall(persona="coach")["memories"]] == ["I prefer tea."]
    assert cast.alice.recall(persona="friend")["memories"] == []
    assert cast.alice.recall()["memories"] == []


@scene("what is to be done is added, listed, changed and done, for one persona")
def todos(cast: Cast) -> None:
    call = cast.alice.add_todo("Call John", persona="coach")
    assert (call["kind"], call["status"], call["opened"]) == ("COMMITMENT", "PENDING", True)
    assert cast.alice.add_todo("Call John", persona="coach")["opened"] is False
    run = cast.alice.add_todo("Run in the morning", kind="HABIT", persona="friend")
    assert [each["id"] for each in cast.alice.list_todos(persona="coach")["todos"]] == [call["id"]]
    assert [each["id"] for each in cast.alice.list_todos(kind="HABIT")["todos"]] == [run["id"]]
    assert cast.alice.change_todo(call["id"], content="Call Jane")["content"] == "Call Jane"
    done = cast.alice.change_todo(call["id"], status="COMPLETED")
    assert (done["status"], done["win"], done["reason"]) == ("COMPLETED", True, "changed")
    assert cast.alice.get_todo(call["id"])["status"] == "COMPLETED"
    assert [each["id"] for each in cast.alice.list_todos(status="PENDING")["todos"]] == [run["id"]]
    with refused("not_found"):
        cast.bob.get_todo(call["id"])
    with refused("not_found"):
        cast.bob.change_todo(call["id"], status="SKIPPED")
    with refused("forbidden"):
        cast.reader.add_todo("x")
    with refused("invalid_request"):
        cast.alice.change_todo(call["id"])
    with refused("invalid_request", "invalid_value"):
        cast.alice.list_todos(kind="DREAM")


@scene("what somebody says they will do is to be done, until they say that it is")
def promised(cast: Cast) -> None:
    told = cast.alice.converse("I'll call John tomorrow.", persona="coach")
    (opened,) = told["loops"]
    assert (opened["outcome"], opened["todo"]["kind"]) == ("opened", "COMMITMENT")
    assert cast.alice.list_todos(persona="friend")["todos"] == []
    done = cast.alice.converse("I called John.", persona="coach")
    assert [(each["outcome"], each["todo"]["id"]) for each in done["loops"]] == [("completed", opened["todo"]["id"])]
    assert cast.alice.get_todo(opened["todo"]["id"])["status"] == "COMPLETED"


@scene("what was told beforehand is told again, and taken back")
def seeds(cast: Cast) -> None:
    with refused("not_found"):
        cast.alice.get_seed()
    cast.alice.put_seed("Lives in Austin.")
    assert cast.alice.get_seed()["text"] == "Lives in Austin."
    with refused("not_found"):
        cast.bob.get_seed()
    assert cast.alice.delete_seed() == {"deleted": True}
    assert cast.alice.delete_seed() == {"deleted": False}
    with refused("forbidden"):
        cast.reader.put_seed("x")


@scene("personas are described by operators and talked to by everybody")
def personas(cast: Cast) -> None:
    described = {"label": "Coach", "idle_seconds": 60}
    first = cast.operator.put_persona("coach", described, expected_version=0)
    assert (first["version"], first["label"], first["spine"]) == (1, "Coach", True)
    with refused("revision_conflict"):
        cast.operator.put_persona("coach", {}, expected_version=0)
    assert cast.bob.get_persona("coach") == cast.alice.get_persona("coach")
    assert cast.alice.get_persona("nobody")["version"] == 0
    assert [each["name"] for each in cast.alice.list_personas()["personas"]] == ["coach", "default"]
    cast.alice.converse("Hello.", persona="coach", at=AN_HOUR_AGO)
    assert cast.alice.converse("Again.", persona="coach", at=AN_HOUR_AGO + timedelta(seconds=61))["opened"] is True
    with refused("forbidden"):
        cast.alice.put_persona("coach", {})
    with refused("invalid_request"):
        cast.operator.put_persona("coach", {"mood": "good"})


@scene("everything about a user is told in sections, anew after more than twenty messages")
def spines(cast: Cast) -> None:
    with refused("not_found"):
        cast.alice.get_spine()
    for number in range(11):
        cast.alice.converse(f"My name is Ada. That was {number}.", ai="Yes.", persona="coach")
    told = cast.alice.get_spine()
    assert (told["version"], told["by"]) == (1, "extractive")
    assert cast.alice.get_spine(1) == told
    assert cast.alice.list_spines(limit=5)["spines"] == [told]
    with refused("not_found"):
        cast.alice.get_spine(2)
    with refused("not_found"):
        cast.bob.get_spine(1)


@scene("a conversation is summarised while it goes on, and when it is over")
def summarised(cast: Cast) -> None:
    told = talk(cast.alice, "My name is Ada.", "I prefer tea.", "I live in Austin.", "I work at Acme.")[-1]
    assert [each["kind"] for each in told["due"]] == ["rolling"]
    session = cast.alice.get_session(told["session"]["id"])
    assert session["rolling"]["by"] == "extractive"
    assert session["summary"] is None
    closed = cast.alice.close_session(told["session"]["id"])
    assert closed["summary"]["summary"]["one_liner"]


@scene("a context of a conversation has what is to be known for the next answer, and nothing of another persona")
def in_conversation(cast: Cast) -> None:
    cast.alice.put_seed("Likes short answers.")
    talk(cast.alice, "My name is Ada.", "I prefer tea.")
    cast.alice.add_todo("Call John", persona="coach")
    cast.alice.add_todo("Buy a hat", persona="friend")
    told = cast.alice.conversation_context("What do I prefer?", persona="coach", form="markdown", wait=20)
    for words in ("I prefer tea.", "Call John", "Likes short answers."):
        assert words in told["text"]
    assert "Buy a hat" not in told["text"]
    assert told["report"]["used"] <= told["report"]["budget"] == 1200
    assert told["persona"] == "coach"
    assert "I prefer tea." not in cast.bob.conversation_context("What do I prefer?", form="markdown")["text"]
    named = cast.alice.conversation_context("tea", persona="coach", template="evidence", wait=20)
    assert named["pack"]["manifest"]["template"]["name"] == "evidence"
    with refused("invalid_request", "invalid_query"):
        cast.alice.conversation_context("tea", template="unheard-of")


@scene("two names of one person are merged, on every card at once, and that is taken back")
def entities(cast: Cast) -> None:
    cast.alice.put_entity("person:john", label="John", aliases=["Jonny"])
    cast.alice.put_entity("person:jon", label="Jon")
    told = cast.alice.get_entity("person:john")
    assert (told["label"], told["aliases"], told["facts"]) == ("John", ["Jonny"], [])
    merged = cast.alice.merge_entities("person:jon", "person:john")
    assert "Jon" in merged["aliases"]
    assert cast.alice.get_entity("person:jon")["ref"] == "person:john"
    assert [each["ref"] for each in cast.alice.list_entities(type="person")["entities"]] == ["person:john"]
    cast.alice.undo_entity_change(merged["change"]["id"])
    assert cast.alice.get_entity("person:jon")["ref"] == "person:jon"
    split = cast.alice.split_entity("person:john", aliases=["Jonny"])
    assert split["ref"] != "person:john"
    assert cast.bob.list_entities()["entities"] == []
    with refused("not_found"):
        cast.bob.get_entity("person:john")
    with refused("not_found"):
        cast.bob.merge_entities("person:jon", "person:john")
    with refused("invalid_value", "invalid_request"):
        cast.alice.get_entity("John")
    with refused("invalid_value", "invalid_request"):
        cast.alice.list_entities(type="animal")
    with refused("forbidden"):
        cast.reader.put_entity("person:john", label="J")


@scene("names that sound alike are suggested to be one, and are not suggested again once rejected")
def suggested(cast: Cast) -> None:
    talk(cast.alice, "My brother Makesh lives in Berlin.", "My friend Mukesh lives in Austin.")
    (found,) = cast.alice.list_entity_suggestions()["suggestions"]
    assert {found["entity"]["ref"], found["into"]["ref"]} == {"person:makesh", "person:mukesh"}
    with refused("not_found"):
        cast.bob.decide_entity_suggestion(found["id"], True)
    assert cast.alice.decide_entity_suggestion(found["id"], False)["status"] == "rejected"
    assert cast.alice.list_entity_suggestions()["suggestions"] == []
    assert len(cast.alice.list_entity_suggestions(status="rejected")["suggestions"]) == 1


@scene("the curator says what it would do, does it, and takes it back")
def curated(cast: Cast) -> None:
    about = ("likes jazz", "likes tea", "likes chess")
    talk(cast.alice, *(f"My friend John {each}." for each in about))
    would = cast.alice.curate(dry_run=True)
    assert ([each["kind"] for each in would["actions"]], would["id"]) == (["fold"], None)
    assert len(cast.alice.get_entity("person:john")["facts"]) == 3
    done = cast.alice.curate()
    assert [each | {"made": None} for each in done["actions"]] == would["actions"]
    (listed,) = cast.alice.list_curations()["curations"]
    assert listed["id"] == done["id"]
    assert [each["text"] for each in cast.alice.get_entity("person:john")["facts"]] == [done["actions"][0]["text"]]
    with refused("not_found"):
        cast.bob.undo_curation(done["id"])
    back = cast.alice.undo_curation(done["id"])
    assert (len(back["restored"]), len(back["removed"]), back["not_restored"]) == (3, 1, [])
    assert cast.alice.curate(persona="coach", dry_run=True)["dry_run"] is True
    assert cast.bob.list_curations()["curations"] == []
    with refused("forbidden"):
        cast.reader.curate()
    with refused("not_found"):
        cast.alice.undo_curation("cur_" + 32 * "0")
