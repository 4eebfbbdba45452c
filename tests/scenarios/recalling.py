"""Scenarios of the way out: what an agent is given, why, and that the same past gives the same answer."""

from __future__ import annotations

from typing import Any

from tests.scenarios.door import Door
from tests.scenarios.play import Cast, refused, scene


def say(door: Door, *texts: str, session: str = "s1") -> list[Any]:
    """What became of what somebody said, text by text."""
    return [door.capture([{"text": each, "session": session}])[0] for each in texts]


def words(told: dict[str, Any]) -> list[str]:
    """The words of what was recalled, in order."""
    return [each["text"] for each in told["memories"]]


@scene("what was said is recalled, by its owner alone, with what it rests on")
def recalled(cast: Cast) -> None:
    (first, _) = say(cast.alice, "I prefer tea.", "My name is Ada.")
    told = cast.alice.recall("What do I prefer to drink?", session="s1", wait=20)
    assert words(told) == ["I prefer tea.", "My name is Ada."]
    drink = told["memories"][0]
    assert drink["provenance"]["captures"] == [first["capture_id"]]
    assert (drink["provenance"]["rule"], drink["behavioral"]) == ("stated_by_user", True)
    assert drink["warning"] == told["notice"]
    assert cast.reader.recall("What do I prefer to drink?", session="s1", wait=20)["hash"] == told["hash"]
    assert words(cast.bob.recall("What do I prefer to drink?", wait=20)) == []
    assert words(cast.admin.recall("What do I prefer to drink?", wait=20)) == []


@scene("a recall is narrowed by kind, tier, type and space, and tells of the borders it met")
def recall_narrowed(cast: Cast) -> None:
    say(cast.alice, "I prefer tea.", "My name is Ada.")
    assert words(cast.alice.recall(kinds=["profile"])) == ["My name is Ada."]
    assert words(cast.alice.recall(event_types=["preference"])) == ["I prefer tea."]
    assert words(cast.alice.recall(tiers=["durable"])) == []
    assert words(cast.alice.recall(classification="PUBLIC")) == []
    assert words(cast.alice.recall("tea", ranker="deterministic", kinds=["semantic"], limit=1)) == ["I prefer tea."]
    told = cast.alice.recall(spaces=["user", "project"], project="apollo")
    assert [(each["space"], each["allowed"]) for each in told["borders"]] == [("user", True), ("project", False)]
    assert cast.member.recall(spaces=["project"], project="apollo")["borders"][0]["allowed"] is True


@scene("what cannot be recalled is refused")
def not_recalled(cast: Cast) -> None:
    codes = ("invalid_query", "invalid_request", "invalid_value")
    for wrong in ({"ranker": "best"}, {"kinds": ["dream"]}, {"spaces": ["cellar"]}, {"limit": 0}, {"min_score": -1.0}):
        with refused(*codes):
            cast.alice.recall("tea", **wrong)
    uncompiled: tuple[dict[str, Any], ...] = (
        {"form": "song"}, {"counter": "sheep"}, {"budget": 0}, {"template": {"name": "x"}},
    )  # fmt: skip
    for given in uncompiled:
        with refused(*codes):
            cast.alice.context("tea", **given)


@scene("a correction takes the place of what it corrects, which is there for those who ask for history")
def recall_corrected(cast: Cast) -> None:
    say(cast.alice, "My name is Ada.")
    before = cast.alice.recall("What is my name?")
    moment = cast.alice.get_trace(before["trace_id"])["at"]
    say(cast.alice, "Actually, my name is Grace.")
    assert words(cast.alice.recall("What is my name?")) == ["Actually, my name is Grace."]
    told = cast.alice.recall("What is my name?", history=True)
    assert words(told) == ["Actually, my name is Grace.", "My name is Ada."]
    assert told["memories"][1]["superseded_by"] == told["memories"][0]["id"]
    then = cast.alice.recall("What is my name?", as_of=moment)
    assert (words(then), then["hash"]) == (["My name is Ada."], before["hash"])


@scene("a context takes no more than its budget, and names what had no room")
def compiled(cast: Cast) -> None:
    say(cast.alice, "I prefer tea.", "My name is Ada.", "We decided to ship weekly.")
    state = {"turns": [{"id": "t1", "text": "Shall we?", "source": "ai"}]}
    told = cast.alice.context("What did we decide?", state=state, wait=20)
    assert told["report"]["used"] <= told["report"]["budget"] == 1200
    assert told["pack"]["manifest"]["ids"] != []
    assert {each["instruction_treatment"] for each in told["pack"]["blocks"]} == {"data_only"}
    small = cast.alice.context("What did we decide?", state=state, budget=60, form="markdown", wait=20)
    assert small["report"]["used"] <= 60
    assert {each["reason"] for each in small["report"]["dropped"]} <= {"budget", "block_cap"}
    assert small["report"]["dropped"]
    (message,) = cast.alice.context("What did we decide?", form="messages", wait=20)["messages"]
    assert message["role"] == "user"


@scene("a turn is governed by its profile, and taken once under one key")
def governed(cast: Cast) -> None:
    told = cast.alice.take_turn("s1", user="My name is Ada.", ai="Hello Ada.", idempotency_key="k")
    assert (told["turn"], told["profile"]) == (1, {"name": "default", "version": 0})
    assert [each["kind"] for each in told["written"]] == ["short_term", "short_term", "semantic", "profile"]
    again = cast.alice.take_turn("s1", user="My name is Ada.", ai="Hello Ada.", idempotency_key="k")
    assert again == told | {"replayed": True}
    with refused("idempotency_mismatch"):
        cast.alice.take_turn("s1", user="My name is Eve.", idempotency_key="k")
    second = cast.alice.take_turn("s1", user="What is my name?", recall=True)
    assert "My name is Ada." in [each["text"] for each in second["recalled"]["items"]]
    assert cast.alice.take_turn("s1", user="Thanks.", recall=False)["recalled"] is None
    with refused("forbidden"):
        cast.reader.take_turn("s1", user="x")
    with refused("not_found"):
        cast.alice.take_turn("s1", user="x", profile="unheard-of")


@scene("a question to a session is answered by its profile")
def asked_of_a_session(cast: Cast) -> None:
    cast.alice.take_turn("s1", user="My name is Ada.")
    told = cast.alice.recall_turn("s1", "What is my name?")
    assert "My name is Ada." in [each["text"] for each in told["recalled"]["items"]]
    assert told["written"] == []


@scene("profiles are set by operators and read by everybody")
def profiles(cast: Cast) -> None:
    (shipped,) = cast.alice.list_profiles()["profiles"]
    assert (shipped["name"], shipped["version"]) == ("default", 0)
    first = cast.operator.put_profile("careful", {"semantic": True, "write_policy": "minimal"}, expected_version=0)
    assert (first["version"], first["settings"]["write_policy"]) == (1, "minimal")
    with refused("revision_conflict"):
        cast.operator.put_profile("careful", {"semantic": False}, expected_version=0)
    assert cast.operator.put_profile("careful", {"semantic": False})["version"] == 2
    assert cast.alice.get_profile("careful")["settings"]["semantic"] is False
    assert cast.alice.get_profile("careful", version=1)["settings"]["semantic"] is True
    assert [each["name"] for each in cast.bob.list_profiles()["profiles"]] == ["careful", "default"]
    assert cast.alice.take_turn("s1", user="x", profile="careful")["profile"] == {"name": "careful", "version": 2}
    with refused("forbidden"):
        cast.alice.put_profile("careful", {})
    with refused("not_found"):
        cast.alice.get_profile("unheard-of")
    with refused("invalid_request"):
        cast.operator.put_profile("careful", {"surprise": 1})


@scene("every decision is told, as JSON and in plain lines, to whom it is about")
def traced(cast: Cast) -> None:
    say(cast.alice, "I prefer tea.")
    told = cast.alice.recall("tea", session="s9", wait=20)
    (found,) = cast.alice.list_traces(type="memory_recall")["traces"]
    assert (found["id"], found["cause"]) == (told["trace_id"], "recall")
    assert [each["type"] for each in found["events"]][:2] == ["memory_recall", "memory_border_check"]
    assert [each["id"] for each in cast.alice.list_traces(session="s9")["traces"]] == [found["id"]]
    record = told["memories"][0]["id"]
    assert len(cast.alice.list_traces(record=record, limit=10)["traces"]) >= 2
    assert cast.alice.list_traces(cause="nothing of that sort")["traces"] == []
    assert cast.alice.get_trace(found["id"]) == found
    plain = cast.alice.get_trace(found["id"], plain=True)
    assert "type: memory_recall" in plain["plain"][0].splitlines()
    assert cast.alice.list_traces(type="memory_recall", plain=True)["traces"] == [plain]
    with refused("not_found"):
        cast.bob.get_trace(found["id"])
    assert cast.bob.list_traces()["traces"] == []


@scene("why a record is there, and why other words are not")
def explained_why(cast: Cast) -> None:
    (told,) = say(cast.alice, "I prefer tea.")
    cast.alice.recall("tea", wait=20)
    why = cast.alice.why(told["remembered"][0]["record_id"])
    assert [each["id"] for each in why["captures"]] == [told["capture_id"]]
    assert why["lines"]
    with refused("not_found"):
        cast.bob.why(told["remembered"][0]["record_id"])
    say(cast.alice, "My name is Ada.", "Actually, my name is Grace.")
    (past,) = cast.alice.why_not("My name is Ada.")["past"]
    assert past["reason"] == "superseded"
    (would,) = cast.alice.why_not("my password is hunter2")["would"]["would"]
    assert would["reason"] == "privacy_deny_sensitive"
    assert cast.alice.why_not("The weather is fine.")["would"]["would"] == []


@scene("a session comes out the same when its turns are taken again")
def replayed(cast: Cast) -> None:
    for text in ("My name is Ada.", "I prefer tea.", "Thanks.", "Actually, my name is Grace."):
        cast.alice.take_turn("s1", user=text, ai="Noted.")
    told = cast.alice.replay("s1")
    assert (told["equal"], told["turns"], told["differences"]) == (True, 4, [])
    with refused("not_found"):
        cast.bob.replay("s1")


@scene("what a phase changed is told item by item")
def compared(cast: Cast) -> None:
    cast.alice.start_phase("first")
    say(cast.alice, "I prefer tea.")
    cast.alice.start_phase("second")
    say(cast.alice, "I prefer coffee.")
    told = cast.alice.diff_phases("phase-1", "phase-2", space="user")
    assert (told["added_count"], told["top_changes"][0]["change"]) == (1, "added")
    assert cast.alice.diff_phases("phase-1", "phase-9", space="user")["top_changes"] == []
    with refused("invalid_query", "invalid_request"):
        cast.alice.diff_phases("phase-1", "phase-2", space="project")


@scene("loads are counted for administrators and auditors")
def used(cast: Cast) -> None:
    cast.alice.put(("user", "alice", "notes"), "tea", {"text": "green"})
    for _ in range(3):
        cast.alice.get(("user", "alice", "notes"), "tea")
    (first,) = cast.admin.top_usage(namespace_prefix=("user", "alice"))["usage"]
    assert (first["key"], first["usage"]["fetch_count"]) == ("tea", 3)
    assert cast.auditor.top_usage(sort="last_fetched_at", limit=1)["usage"] == [first]
    with refused("forbidden"):
        cast.alice.top_usage()


@scene("the usage of one memory is told to administrators and auditors")
def used_once(cast: Cast) -> None:
    cast.alice.put(("user", "alice", "notes"), "tea", {"text": "green"})
    assert cast.admin.get_usage(("user", "alice", "notes"), "tea")["usage"]["fetch_count"] == 0
    cast.alice.get(("user", "alice", "notes"), "tea")
    assert cast.auditor.get_usage(("user", "alice", "notes"), "tea")["usage"]["fetch_count"] == 1
    with refused("not_found"):
        cast.admin.get_usage(("user", "alice", "notes"), "coffee")
    with refused("forbidden"):
        cast.alice.get_usage(("user", "alice", "notes"), "tea")
