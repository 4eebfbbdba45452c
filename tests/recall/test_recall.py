"""Recall: what is given, in which order, why, and what is kept back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.pipeline.scene import TENANT, Scene
from tests.recall.planted import consented, ids, planted, texts

from recollect.domain.callers import new_caller
from recollect.domain.errors import InvalidInput
from recollect.domain.governance.terms import EventType, Tier
from recollect.domain.instants import datetime_of
from recollect.domain.notes import SUGGESTIONS
from recollect.domain.promotion.standing import Classification
from recollect.service.pipeline.lapsing import Lapsing
from recollect.service.pipeline.places import Places


async def test_an_agent_is_given_turns_then_what_answers_then_facts(here: Scene) -> None:
    name = (await here.say("My name is Ada."))[0]["record_id"]
    tea = (await here.say("I prefer green tea."))[0]["record_id"]
    ship = (await here.say("We decided to ship weekly."))[0]["record_id"]
    for number in range(12):
        await planted(here, f"turn {number}", session="s1", space="session", kind="short_term")
    await planted(here, "what was said before", session="s1", space="session", kind="short_term", summary_of=("t1",))
    told = await here.alice.recall("which tea does she prefer", session="s1")
    assert texts(told)[:11] == ["what was said before", *(f"turn {number}" for number in range(2, 12))]
    assert ids(told)[11:] == [tea, ship, name]
    assert [each["reasons"][0] for each in told["memories"]] == [
        "active_rule",
        *["recency"] * 10,
        *["matches_query"] * 2,
        "active_rule",
    ]
    assert told["counts"] == {"session": 11, "user": 3, "system": 0}
    assert told["borders"] == [
        {"space": space, "allowed": True, "reason": "allowed"} for space in ("session", "user", "system")
    ]


async def test_a_memory_comes_with_what_it_rests_on_and_who_let_it_in(here: Scene) -> None:
    told = await here.alice.capture([{"text": "I prefer green tea.", "session": "s1", "refs": ["mail:1"]}])
    (memory,) = (await here.alice.recall("tea"))["memories"]
    assert memory["provenance"]["captures"] == [told[0]["capture_id"]]
    assert memory["provenance"]["evidence_refs"] == [f"capture:{told[0]['capture_id']}", "mail:1"]
    assert (memory["provenance"]["rule"], memory["provenance"]["session"]) == ("stated_by_user", "s1")
    assert memory["reasons"] == ["matches_query", "recency", "importance", "space:user"]
    assert memory["also_known_as"].startswith("mem-")


async def test_what_steers_behaviour_comes_with_a_warning(here: Scene) -> None:
    await here.say("My name is Ada.")
    assert (await here.alice.recall("who"))["notice"] is None
    await here.say("I prefer green tea.")
    told = await here.alice.recall("tea")
    assert told["notice"] == SUGGESTIONS
    assert [each.get("warning") for each in told["memories"]] == [SUGGESTIONS, None]


async def test_characters_that_mislead_are_stripped(here: Scene) -> None:
    hostile = "I like\u202e green\u200b tea\x00\U000e0041 a lot\x1b[31m"
    await planted(here, hostile, predicate="li\u2066kes")
    (memory,) = (await here.alice.recall("green tea"))["memories"]
    assert memory["text"] == "I like green tea a lot[31m"
    assert memory["predicate"] == "likes"


async def test_only_spaces_that_the_call_has_and_may_read_are_looked_into(here: Scene) -> None:
    await planted(here, "the session's tea", session="s1", space="session")
    await planted(here, "the project's tea", project="apollo", space="project")
    await planted(here, "everybody's tea", space="system")
    await planted(here, "alice's tea")
    closed = {"allowed": False, "reason": "space_disabled"}
    told = await here.alice.recall("tea", spaces=["session", "project", "user"], project="apollo")
    assert told["borders"] == [
        {"space": "session"} | closed,
        {"space": "user", "allowed": True, "reason": "allowed"},
        {"space": "project"} | closed,
    ]
    assert texts(told) == ["alice's tea"]
    member = here.as_user("alice", "project:apollo")
    told = await member.recall("tea", project="apollo", session="s1")
    assert sorted(texts(told)) == ["alice's tea", "everybody's tea", "the project's tea", "the session's tea"]
    assert texts(await here.alice.recall("tea", spaces=["session"], session="s2")) == []
    assert texts(await here.as_user("bob").recall("tea", session="s1")) == ["everybody's tea"]


async def test_spaces_are_scored_together(here: Scene) -> None:
    """One that is alone in its space is not the best answer for that reason."""
    for text in ("green tea from Japan", "black tea from India", "the train to Berlin"):
        await planted(here, text)
    await planted(here, "parking is behind the building", space="system")
    told = await here.alice.recall("green tea from Japan", ranker="relevance")
    assert texts(told)[0] == "green tea from Japan"
    assert told["memories"][-1]["score"] < told["memories"][0]["score"]


async def test_nothing_above_the_ceiling_is_given(here: Scene) -> None:
    for each in Classification:
        await planted(here, f"tea {each.name}", classification=each)
    for each in Classification:
        told = await here.alice.recall("tea", classification=each.name)
        assert len(texts(told)) == each + 1
        assert {memory["classification"] for memory in told["memories"]} == {
            c.name for c in Classification if c <= each
        }
    assert len(texts(await here.alice.recall("tea"))) == 4


async def test_only_what_is_fresh_is_given(here: Scene) -> None:
    await planted(here, "old tea")
    here.clock.advance(3_600)
    await planted(here, "new tea")
    here.clock.advance(60)
    assert texts(await here.alice.recall("tea", freshness=120)) == ["new tea"]
    assert texts(await here.alice.recall("tea", freshness=timedelta(seconds=60))) == ["new tea"]
    assert texts(await here.alice.recall("tea", freshness=59.9)) == []
    assert len(texts(await here.alice.recall("tea", freshness=timedelta(days=1)))) == 2


async def test_what_is_kept_for_one_purpose_is_not_given_for_another(here: Scene) -> None:
    await planted(here, "tea for support", purpose="support")
    await planted(here, "tea for all")
    assert texts(await here.alice.recall("tea", intent="marketing")) == ["tea for all"]
    assert len(texts(await here.alice.recall("tea", intent="support"))) == 2
    assert len(texts(await here.alice.recall("tea"))) == 2


async def test_a_persona_is_given_its_own_and_what_all_know(here: Scene) -> None:
    await planted(here, "tea of the coach", persona="coach")
    await planted(here, "tea of all")
    assert texts(await here.alice.recall("tea")) == ["tea of all"]
    assert len(texts(await here.alice.recall("tea", persona="coach"))) == 2
    assert texts(await here.alice.recall("tea", persona="cook")) == ["tea of all"]


async def test_a_phase_can_be_asked_for(here: Scene) -> None:
    await here.say("I prefer green tea.")
    await here.alice.start_phase("t2")
    await here.say("I prefer black tea.")
    assert texts(await here.alice.recall("tea", phase="current")) == ["I prefer black tea."]
    assert texts(await here.alice.recall("tea", phase="phase-1")) == ["I prefer green tea."]
    assert texts(await here.alice.recall("tea", phase="phase-9")) == []
    assert len(texts(await here.alice.recall("tea"))) == 2


async def test_kinds_tiers_and_event_types_are_closed_sets(here: Scene) -> None:
    await planted(here, "tea of today", tier=Tier.WORKING)
    await planted(here, "tea decided", event_type=EventType.DECISION)
    await here.say("My name is Ada.")
    assert texts(await here.alice.recall("tea", tiers=["working"])) == ["tea of today"]
    assert texts(await here.alice.recall("tea", event_types=["decision"])) == ["tea decided"]
    assert texts(await here.alice.recall("tea", kinds=["profile"])) == ["My name is Ada."]
    assert len(texts(await here.alice.recall("tea", kinds=["semantic"]))) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", " "), ("query", "x" * 20_000), ("query", 7), ("query", "a\x00"), ("spaces", "user"),
        ("spaces", ["moon"]), ("spaces", ["user", "user"]), ("spaces", []), ("session", ""), ("project", 3),
        ("persona", " "), ("phase", 1), ("intent", "x" * 300), ("classification", "SECRET"),
        ("classification", "internal"), ("freshness", 0), ("freshness", True), ("freshness", float("nan")),
        ("kinds", ["turn"]), ("tiers", "working"), ("event_types", ["fact", "fact"]), ("ranker", "best"),
        ("limit", 0), ("limit", 201), ("limit", True), ("min_score", -1), ("min_score", float("inf")),
        ("min_score", "high"), ("as_of", "yesterday"), ("history", 1), ("explain", None), ("include_usage", "yes"),
        ("wait", -1), ("wait", 1_000),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(here: Scene, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        await here.alice.recall(**{field: value})
    assert str(value)[:50] not in caught.value.message or len(str(value)) < 8


async def test_a_moment_to_come_is_refused(here: Scene) -> None:
    with pytest.raises(InvalidInput, match="future"):
        await here.alice.recall(as_of=datetime_of(here.clock()) + timedelta(seconds=1))


async def test_without_a_query_the_newest_are_given(here: Scene) -> None:
    for text in ("first tea", "second tea", "third tea"):
        here.clock.advance(86_400)
        await planted(here, text)
    told = await here.alice.recall(limit=2)
    assert texts(told) == ["third tea", "second tea"]
    assert told["memories"][0]["reasons"] == ["recency", "space:user"]
    assert [each["score"] for each in told["memories"]] == [1.0, round(0.5 ** (1 / 14), 4)]


async def test_the_limit_and_the_least_score_are_for_what_answers_the_query(here: Scene) -> None:
    await here.say("My name is Ada.")
    for number in range(5):
        await planted(here, f"tea number {number}")
    assert len(texts(await here.alice.recall("tea", limit=2))) == 3
    told = await here.alice.recall("tea", ranker="relevance", min_score=0.99)
    assert texts(told)[-1] == "My name is Ada."
    assert all(each["score"] >= 0.99 for each in told["memories"][:-1])


async def test_the_reasons_for_every_place_can_be_had(here: Scene) -> None:
    await planted(here, "green tea")
    here.clock.advance(14 * 86_400)
    await planted(here, "black coffee")
    told = await here.alice.recall("green tea", ranker="blended", explain=True)
    assert told["explanation"]["weights"] == {"similarity": 0.4, "recency": 0.3, "entity": 0.3}
    assert told["explanation"]["candidates"] == 2
    for memory in told["memories"]:
        parts = memory["explanation"]
        summed = sum(parts[name]["value"] * parts[name]["weight"] for name in ("similarity", "recency", "entity"))
        assert memory["score"] == pytest.approx(summed, abs=2e-4)
    old = next(each for each in told["memories"] if each["text"] == "green tea")
    assert old["explanation"]["recency"]["value"] == 0.5
    assert "explanation" not in (await here.alice.recall("green tea"))["memories"][0]


async def test_whole_numbers_decide_where_that_is_asked_for(here: Scene) -> None:
    await planted(here, "We ship weekly from Delft", importance=1)
    await planted(here, "the train was late", importance=5)
    told = await here.alice.recall("ship weekly", ranker="deterministic", explain=True)
    assert [(each["text"], each["score"]) for each in told["memories"]] == [
        ("We ship weekly from Delft", 4.0),
        ("the train was late", 4.0),
    ][::-1]
    assert told["memories"][1]["explanation"] == {"similarity": 2, "recency": 2, "importance": 0}


async def test_a_record_is_looked_at_once_more_before_it_is_given(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends between the search and the answer is not in the answer, and the next one is in its place."""
    kept = await planted(here, "green tea of old")
    gone = await planted(here, "green tea")
    searching = here.root.workings.searching
    search = searching.search

    async def slow(wish: Any) -> Any:
        found = await search(wish)
        await here.alice.retract_record(gone)
        return found

    monkeypatch.setattr(type(searching), "search", lambda _, wish: slow(wish))
    told = await here.alice.recall("green tea", limit=1)
    assert ids(told) == [kept]


async def test_what_expired_is_not_given(here: Scene) -> None:
    await planted(here, "tea for a minute", ends_at=here.clock() + 60_000_000)
    assert len(texts(await here.alice.recall("tea"))) == 1
    here.clock.advance(60)
    assert texts(await here.alice.recall("tea")) == []


async def test_a_consent_that_is_over_covers_nothing_though_nobody_swept(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    consent, record = await consented(here)
    assert record in ids(await here.alice.recall("language"))

    async def nothing(*_: Any, **__: Any) -> int:
        return 0

    monkeypatch.setattr(Lapsing, "_end", nothing)
    await here.alice.revoke_consent(consent)
    assert await here.root.workings.store.get(TENANT, Places("alice").record("user", "semantic:1")) is not None  # type: ignore[arg-type] # a space by its name
    assert ids(await here.alice.recall("language")) == []


async def test_what_is_not_settled_is_told_beside_the_memories(here: Scene) -> None:
    await here.say("I prefer coffee.")
    first = {
        "entity_ceid": "project:x",
        "predicate": "status",
        "value": "green",
        "evidence_refs": ["a:1"],
        "confidence": 0.9,
    }
    told = await here.alice.propose({"candidate": first, "class": "evidence_link"})
    if told["outcome"] == "waiting":
        told = await here.maria.approve_proposal(told["proposal_id"])
    second = first | {"value": "crimson"}
    waiting = await here.alice.propose({"candidate": second, "class": "evidence_link"})
    assert waiting["outcome"] == "waiting"
    found = await here.alice.recall("project status")
    (unsettled,) = found["contradictions"]
    assert (unsettled["existing"], unsettled["proposal_id"]) == (told["record_id"], waiting["proposal_id"])
    assert (unsettled["entity"], unsettled["predicate"]) == ("project:x", "status")
    assert "crimson" not in str(found)
    await here.maria.resolve_contradiction(unsettled["event_id"], "existing")
    assert (await here.alice.recall("project status"))["contradictions"] == []
    assert (await here.alice.recall("coffee", event_types=["preference"]))["contradictions"] == []


async def test_every_recall_leaves_a_trace(here: Scene) -> None:
    await here.say("I prefer green tea.", session="s1")
    _, record = await consented(here)
    told = await here.alice.recall("tea", session="s1", intent="support", spaces=["session", "user", "project"])
    row = await here.root.workings.store.get(TENANT, Places("alice").trace(told["trace_id"]))
    assert row is not None
    assert row.value is not None
    trace = msgspec.json.decode(row.value)
    recall, *borders = trace["events"]
    assert (trace["cause"], recall["type"], recall["ai_profile"], recall["session"]) == (
        "recall", "memory_recall", "recall", "s1",
    )  # fmt: skip
    assert recall["deterministic_hash"] == told["hash"]
    assert [each["id"] for each in recall["recalled"]] == ids(told)
    assert recall["spaces_consulted"] == ["session", "user", "project"]
    assert [(each["from_space"], each["allowed"]) for each in borders] == [
        ("session", True), ("user", True), ("project", False),
    ]  # fmt: skip
    hidden = next(each for each in recall["recalled"] if each["id"] == record)
    assert hidden["text"] == "(redacted)"
    assert "Dutch" not in str(recall["recalled"])
    labels = msgspec.json.decode(row.policy_attributes)
    assert labels == {
        "types": ["memory_border_check", "memory_recall"], "records": ids(told), "session": "s1", "intent": "support",
        "cause": "recall",
    }  # fmt: skip
    measured = trace["recall"]
    assert (measured["intent"], measured["hits"], measured["ranker"]) == ("support", 2, "relevance")
    assert measured["tokens"] == sum(-(-len(text) // 4) for text in texts(told))


async def test_what_retrieval_alone_would_have_put_in_is_measured_from_the_captures(here: Scene) -> None:
    said = "I prefer green tea. The weather was fine all week and nobody had anything else to tell."
    await here.say(said)
    told = await here.alice.recall("tea")
    row = await here.root.workings.store.get(TENANT, Places("alice").trace(told["trace_id"]))
    assert row is not None
    assert row.value is not None
    assert msgspec.json.decode(row.value)["recall"]["retrieval_tokens"] == -(-len(said) // 4)
    await planted(here, "tea without a capture")
    told = await here.alice.recall("tea")
    row = await here.root.workings.store.get(TENANT, Places("alice").trace(told["trace_id"]))
    assert row is not None
    assert row.value is not None
    assert "retrieval_tokens" not in msgspec.json.decode(row.value)["recall"]


async def test_equal_recalls_have_equal_hashes(here: Scene) -> None:
    await here.say("I prefer green tea.")
    first, second = [await here.alice.recall("tea") for _ in range(2)]
    assert first["hash"] == second["hash"]
    assert first["memories"] == second["memories"]
    await here.say("I prefer black tea.")
    assert (await here.alice.recall("tea"))["hash"] != first["hash"]


async def test_others_words_are_not_given(here: Scene) -> None:
    await here.say("I prefer green tea.", "bob")
    await here.alice.capture([{"text": "The tea is cold."}])
    await here.alice.propose(
        {
            "candidate": {
                "entity_ceid": "user:alice", "predicate": "favourite_tea", "value": "Sencha",
                "evidence_refs": ["tool:crm:1"], "confidence": 0.9,
            },
            "class": "preference",
        }
    )  # fmt: skip
    assert texts(await here.alice.recall("tea")) == []
    assert texts(await here.root.for_caller(new_caller("tenant_other", "bob")).recall("tea")) == []
