"""Golden scenarios: exactly these ids, ticks, importances, reasons, counts and hashes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.governance.rows import item
from tests.governance.scenes import Scene, only

from recollect.domain.governance.ids import Numbering
from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.keys import digest_of
from recollect.domain.governance.ledger import State, Store
from recollect.domain.governance.policy import Settings, contract_of
from recollect.domain.governance.retention import sift
from recollect.domain.governance.spaces import write_border
from recollect.domain.governance.terms import Authority, EventType, ForgetPolicy, Kind, Space, WritePolicy

SAID = {"trace_version": "2024-10-01", "ai_profile": "assistant", "session": "anonymous"}
PHASE_1 = {"phase_id": "phase-1", "phase_started_at": 1, "phase_reason": "auto"}
OURS = {"space": "session", "owner": "anonymous"}
BY_USER = {"authority": "user_asserted", "authority_reason": "source:user"}
BY_AI = {"authority": "ai_inferred", "authority_reason": "source:ai"}
KEPT = {"policy_tags": ["allowed_by:privacy", "allowed_by:promotion_rule"]}
ST = "session:anonymous:short_term"


def turn(number: int, tick: int, text: str, key: str, *, user: bool, **more: Any) -> dict[str, Any]:
    why = ["event:context", "source:user"] if user else ["event:context"]
    known = {"event_type": "context", "importance_reason": why, "dedup_key": f"context:{key}"}
    return {
        "id": f"{ST}:{number}",
        "kind": "short_term",
        "text": text,
        "source": "user" if user else "ai",
        "created_at": tick,
        "importance": 2 if user else 1,
        "scope": "session",
        "meta": known | OURS | PHASE_1 | (BY_USER if user else BY_AI) | more,
    }


@pytest.mark.parametrize("learning", [False, True])
def test_two_greetings(learning: bool) -> None:
    scene = Scene(Settings(short_term=2, semantic=learning, profile=learning))
    scene.say("Hello")
    scene.say("Hello")
    _, second = scene.told("memory_recall")
    recency = {"recall_reason": ["recency", "space:session"]}
    assert second == SAID | {
        "type": "memory_recall",
        "query": "Hello",
        "recalled": [
            turn(1, 2, "Hello", "hello", user=True, **KEPT, **recency),
            turn(2, 3, "[mock-model] Hello | mem:st=0", "mock model hello mem st 0", user=False, **KEPT, **recency),
        ],
        "deterministic_hash": "59a23a2b3dd701bd3c809295dd00c755c984e5bbe6ecc3c5860a02ae333fc977",
        "spaces_consulted": ["session", "user", "project", "system"],
        "recall_counts": {"session": 2, "user": 0, "project": 0, "system": 0},
        "phase_counts": {"session": {"phase-1": 2}},
        "current_phase": PHASE_1 | {"phase_index": 1},
    }
    _, written = scene.told("memory_write")
    summary = {
        "event_type": "context",
        "summary_of": [f"{ST}:1", f"{ST}:2"],
        "importance_reason": ["event:context", "summary"],
        "dedup_key": "context:user hello ai mock model hello mem st 0",
        "authority": "system_imposed",
        "authority_reason": "summary",
    }
    assert written == SAID | {
        "type": "memory_write",
        "written": [
            turn(3, 4, "Hello", "hello", user=True, **KEPT),
            turn(4, 5, "[mock-model] Hello | mem:st=2", "mock model hello mem st 2", user=False, **KEPT),
            {
                "id": f"{ST}:5",
                "kind": "short_term",
                "text": "user: Hello | ai: [mock-model] Hello | mem:st=0",
                "source": "system",
                "created_at": 6,
                "importance": 1,
                "scope": "session",
                "meta": summary | OURS | PHASE_1,
            },
        ],
        "reason": "interaction_recorded",
    }


def test_nothing_is_known_at_first() -> None:
    scene = Scene(Settings(short_term=2, semantic=True, profile=True))
    scene.say("Hello")
    (first,) = scene.told("memory_recall")
    assert first == SAID | {
        "type": "memory_recall",
        "query": "Hello",
        "recalled": [],
        "deterministic_hash": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "spaces_consulted": ["session", "user", "project", "system"],
        "recall_counts": {"session": 0, "user": 0, "project": 0, "system": 0},
        "phase_counts": {},
    }


def test_a_name_is_told_twice_and_a_password_once() -> None:
    scene = Scene(Settings(short_term=2, semantic=True, profile=True))
    for text in ("My name is Ada.", "My name is Ada Lovelace.", "my password is 123"):
        scene.say(text)
    profile = "session:anonymous:profile"
    forgets = [
        {"memory_id": f"{ST}:1", "explanation": {"event_type": "fact", "authority": "user_asserted"}},
        {"memory_id": f"{ST}:2", "explanation": {"event_type": "context", "authority": "ai_inferred"}},
    ]
    for each in forgets:
        each["explanation"] |= {"reason": "decay", "kind": "short_term"}  # type: ignore[operator]
    conflict = {
        "type": "memory_conflict",
        "winner_id": f"{profile}:2",
        "loser_id": f"{profile}:1",
        "rule": "recency",
        "dedup_key": "fact:name",
        "explanation": {
            "rule": "recency",
            "authority": {"winner": "user_asserted", "loser": "user_asserted"},
            "event_type": {"winner": "fact", "loser": "fact"},
            "recency": {"winner_created_at": 10, "loser_created_at": 5},
            "importance": {"winner": 5, "loser": 5},
        },
    }

    def denied(number: int, tick: int, words: str, *, user: bool) -> dict[str, Any]:
        explained = {"allowed": False, "reason": "privacy_deny_sensitive", "tags": [], "kind": "short_term"}
        return {
            "type": "memory_denied",
            "attempted": turn(number, tick, "(redacted)", digest_of(words), user=user),
            "reason": "privacy_deny_sensitive",
            "explanation": explained | {"event_type": "context"},
        }

    assert scene.told("memory_denied", "memory_forget", "memory_conflict") == [
        SAID | {"type": "memory_forget", "reason": "decay"} | forgets[0],
        SAID | {"type": "memory_forget", "reason": "decay"} | forgets[1],
        SAID | conflict,
        SAID | denied(6, 11, "my password is 123", user=True),
        SAID | denied(7, 12, "mock model my password is 123 mem st 3", user=False),
    ]
    assert scene.recorded[-1].written == ()
    assert "123" not in str(scene.told()).replace("2024-10-01", "")


def test_what_is_to_be_remembered_for_whom() -> None:
    scene = Scene(Settings(short_term=2, semantic=True, profile=True))
    scene.say("Remember this for me: I prefer concise updates.")
    scene.say("Remember this for the project: We decided to ship weekly.")
    third = scene.say("Remember this for everyone: We release weekly.")
    promoted = [
        {
            "type": "memory_promoted",
            "from_space": "session",
            "to_space": "user",
            "from_id": "session:anonymous:semantic:1",
            "to_id": "user:anonymous:semantic:1",
            "authority_used": "user_asserted",
            "reason": "hint:remember_for_me",
        },
        {
            "type": "memory_promoted",
            "from_space": "session",
            "to_space": "project",
            "from_id": "session:anonymous:semantic:2",
            "to_id": "project:unknown:semantic:1",
            "authority_used": "user_asserted",
            "reason": "hint:remember_for_project",
        },
    ]
    assert scene.told("memory_promoted", "memory_promotion_denied") == [SAID | each for each in promoted]
    assert [each["type"] for each in only(third.traces, "memory_promoted", "memory_promotion_denied")] == []
    assert [each.kind for each in third.written] == [Kind.SHORT_TERM] * 3
    first = scene.recorded[0]
    assert [(each.id, each.created_at) for each in first.written] == [
        (f"{ST}:1", 2),
        (f"{ST}:2", 3),
        ("session:anonymous:semantic:1", 4),
        ("user:anonymous:semantic:1", 6),
    ]
    copy = first.written[-1]
    assert copy.meta.promoted_from == "session:anonymous:semantic:1"
    assert copy.meta.phase_started_at == 5
    assert (copy.meta.space, copy.meta.owner) == (Space.USER, "anonymous")
    kinds = [(each["type"], each.get("action", each.get("reason"))) for each in only(first.traces)]
    assert kinds[-5:] == [
        ("memory_border_check", "promote"),
        ("memory_border_check", "phase_start"),
        ("memory_phase_started", "auto"),
        ("memory_promoted", "hint:remember_for_me"),
        ("memory_deleted", "promoted"),
    ]
    (recalled,) = scene.recalled[1].context.semantic
    assert recalled.id == "user:anonymous:semantic:1"
    assert recalled.meta.recall_reason[-1] == "space:user"


def test_a_name_changes_in_a_second_phase() -> None:
    scene = Scene(Settings(short_term=5, profile=True))
    scene.say("My name is Ada.")
    scene.say("Actually, my name is Ada Lovelace.", phase_token="phase-2")
    scene.say("Show me the memory changes between phases.", phase_diff_from="phase-1", phase_diff_to="phase-2")
    profile = "session:anonymous:profile"
    assert scene.told("memory_phase_started", "memory_deleted", "memory_phase_diff") == [
        SAID | OURS | {"type": "memory_phase_started", "phase_id": "phase-1", "reason": "auto"},
        SAID | OURS | {"type": "memory_phase_started", "phase_id": "phase-2", "reason": "manual"},
        SAID
        | OURS
        | {
            "type": "memory_deleted",
            "phase_id": "phase-2",
            "memory_id": f"{profile}:1",
            "reason": "superseded",
            "replaced_by": f"{profile}:2",
        },
        SAID
        | OURS
        | {
            "type": "memory_phase_diff",
            "from_phase_id": "phase-1",
            "to_phase_id": "phase-2",
            "added_count": 4,
            "deleted_count": 0,
            "replaced_count": 1,
            "top_changes": [
                {
                    "change": "replaced",
                    "dedupe_key": "fact:name",
                    "from_id": f"{profile}:1",
                    "to_id": f"{profile}:2",
                    "from_kind": "profile",
                    "to_kind": "profile",
                },
                *({"change": "added", "memory_id": f"{ST}:{n}", "kind": "short_term"} for n in (3, 4, 5, 6)),
            ],
            "summary_lines": ["Added 4 items", "Deleted 0 items", "Replaced 1 items"],
        },
    ]
    (conflict,) = scene.told("memory_conflict")
    assert conflict["rule"] == "correction"


def test_starting_a_phase_hides_what_came_before() -> None:
    scene = Scene(Settings(short_term=5, semantic=True, profile=True))
    scene.say("My name is Ada.")
    scene.say("Hello again", phase_token="next")
    found = scene.recalled[-1]
    assert found.context.items() == ()
    assert found.traces[0].current_phase.phase_id == "phase-2"  # type: ignore[attr-defined]
    scene.say("And again")
    assert [each.id for each in scene.recalled[-1].context.items()] == [f"{ST}:3", f"{ST}:4"]


def test_recall_over_phases_has_the_newest_first() -> None:
    scene = Scene(Settings(short_term=1, semantic=True, profile=True, allow_cross_phase_recall=True))
    scene.say("I like tea.")
    scene.say("I like coffee.", phase_token="two")
    scene.say("I like water.", phase_token="three")
    scene.say("What do I like?")
    found = scene.recalled[-1]
    assert [each.meta.phase_id for each in found.context.semantic] == ["phase-3", "phase-2", "phase-1"]
    turns = [(each.meta.phase_id, each.is_summary) for each in found.context.short_term]
    assert turns == [(f"phase-{n}", summary) for n in (3, 2, 1) for summary in (True, False)]


def test_the_same_token_twice_makes_one_phase() -> None:
    scene = Scene(Settings(short_term=2))
    scene.say("Hello", phase_token="t", phase_name="Kick-off", phase_reason="we begin")
    scene.say("Hello", phase_token="t")
    (started,) = scene.told("memory_phase_started")
    assert (started["phase_id"], started["reason"], started["phase_name"]) == ("phase-1", "we begin", "Kick-off")
    assert scene.state.store("session:anonymous").items[0].meta.phase_name == "Kick-off"
    scene.say("Hello", phase_token="u")
    assert len(scene.told("memory_phase_started")) == 2


def test_where_phases_are_disabled_there_is_one_all_the_same() -> None:
    scene = Scene(Settings(short_term=2, phase_enabled=False))
    scene.say("Hello", phase_token="t")
    scene.say("Hello", phase_token="u")
    assert [each["reason"] for each in scene.told("memory_phase_started")] == ["auto"]
    checks = [each for each in scene.told("memory_border_check") if each["action"] == "phase_start"]
    assert {each["reason"] for each in checks} == {"phase_disabled"}


def test_context_decays_after_twelve_ticks() -> None:
    items = [item(n, event_type=EventType.CONTEXT) for n in range(1, 16)]
    sifted = sift(items, contract_of(Settings()), 15)
    assert [each.item for each in sifted.forgotten] == items[:2]
    assert sifted.kept == tuple(items[2:])


def test_what_is_forgotten_is_told_and_then_deleted() -> None:
    scene = Scene(Settings(semantic=True, forget_policy=ForgetPolicy.TTL))
    scene.say("I like tea.")
    tea = scene.recorded[0].written[-1]
    while tea.id in {each.id for each in scene.state.store("session:anonymous").items}:
        kept = next(each for each in scene.state.store("session:anonymous").items if each.id == tea.id)
        assert kept.meta.expires_at == tea.created_at + 25
        scene.say("so it goes")
    told = scene.told("memory_forget", "memory_deleted")
    assert [(each["type"], each["memory_id"], each["reason"]) for each in told] == [
        ("memory_forget", tea.id, "ttl_expired"),
        ("memory_deleted", tea.id, "expired"),
    ]
    assert scene.recalled[-1].state.numbering.tick < tea.created_at + 25 <= scene.state.numbering.tick


def test_nothing_is_learnt_under_the_policy_none_but_turns_are_kept() -> None:
    scene = Scene(Settings(short_term=4, semantic=True, profile=True, write_policy=WritePolicy.NONE))
    done = scene.say("My name is Ada.")
    assert [each.kind for each in done.written] == [Kind.SHORT_TERM] * 2
    assert [each["reason"] for each in scene.told("memory_denied")] == ["write_policy_none"] * 2
    assert [each["attempted"]["kind"] for each in scene.told("memory_denied")] == ["semantic", "profile"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Remember this for the project: I prefer tea.", "promotion_authority"),
        ("Remember this for everyone: I prefer tea.", "promotion_disallowed"),
    ],
)
def test_a_promotion_is_denied_with_its_reason(text: str, reason: str) -> None:
    scene = Scene(Settings(semantic=True))
    scene.say(text)
    (denied,) = scene.told("memory_promotion_denied")
    assert (denied["reason"], denied["allowed"], denied["memory_id"]) == (reason, False, "session:anonymous:semantic:1")
    (check,) = [each for each in scene.told("memory_border_check") if each["action"] == "promote"]
    assert (check["reason"], check["allowed"]) == (reason, False)
    assert "session:anonymous:semantic:1" in {each.id for each in scene.state.store("session:anonymous").items}


def test_only_the_session_is_written_to() -> None:
    contract = contract_of(Settings())
    assert not write_border(contract, Space.USER).allowed
    spaces = msgspec.structs.replace(contract.spaces, write_spaces=())
    scene = Scene(Settings(short_term=2), contract=msgspec.structs.replace(contract, spaces=spaces))
    assert scene.say("my password is 123").written == ()
    checks = [each for each in scene.told("memory_border_check") if each["action"] == "write"]
    assert [each["reason"] for each in checks] == ["write_space_disallowed"] * 2
    assert scene.told("memory_denied") == []


def test_the_system_s_word_is_kept_when_a_name_is_promoted_against_it() -> None:
    imposed = Item(
        id="user:anonymous:profile:1",
        kind=Kind.PROFILE,
        text="Grace",
        source="system",
        created_at=1,
        importance=5,
        meta=Meta(event_type=EventType.FACT, key="name", authority=Authority.SYSTEM_IMPOSED, dedup_key="fact:name"),
    )
    state = State(Numbering(1, {"user:anonymous:profile": 1}), {"user:anonymous": Store((imposed,))})
    scene = Scene(Settings(profile=True), state)
    scene.say("Remember this for me: my name is Ada.")
    (conflict,) = scene.told("memory_conflict")
    assert (conflict["rule"], conflict["winner_id"]) == ("authority", imposed.id)
    assert conflict["loser_id"] == "user:anonymous:profile:2"
    assert scene.told("memory_promoted", "memory_deleted", "memory_promotion_denied") == []
    assert scene.state.store("user:anonymous").items == (imposed,)
    assert scene.state.store("session:anonymous").items[-1].text == "Ada"


def test_saying_the_same_again_changes_nothing_in_the_profile() -> None:
    scene = Scene(Settings(profile=True))
    scene.say("My name is Ada.")
    done = scene.say("My name is Ada.")
    assert [each.kind for each in done.written] == [Kind.SHORT_TERM] * 2
    assert scene.told("memory_conflict", "memory_deleted") == []
    assert scene.state.numbering.counts["session:anonymous:profile"] == 2


def test_saying_the_same_again_renews_what_is_semantic() -> None:
    scene = Scene(Settings(semantic=True))
    scene.say("I like tea.")
    scene.say("i LIKE tea")
    (conflict,) = scene.told("memory_conflict")
    assert (conflict["rule"], conflict["dedup_key"]) == ("recency", "preference:i like tea")
    (gone,) = scene.told("memory_deleted")
    assert (gone["reason"], gone["replaced_by"]) == ("superseded", "session:anonymous:semantic:2")
    twice = Scene(Settings(semantic=True, dedupe_enabled=False))
    twice.say("I like tea.")
    twice.say("i LIKE tea")
    assert twice.told("memory_conflict") == []
    assert len(twice.recalled[-1].context.semantic) == 1


def test_what_tools_did_is_one_item() -> None:
    scene = Scene(Settings(semantic=True))
    done = scene.say("Hello", tool_events=[{"type": "call", "tool": "add"}, {"type": "result", "value": 3}])
    tool = done.written[-1]
    assert tool.text == "tool_events:[{'type': 'call', 'tool': 'add'}, {'type': 'result', 'value': 3}]"
    assert (tool.source, tool.importance, tool.event_type) == ("tool", 2, EventType.EXECUTION)
    assert (tool.meta.authority, tool.meta.authority_reason) == (Authority.TOOL_VERIFIED, "source:tool")


def test_the_events_of_one_call_come_in_their_order() -> None:
    scene = Scene(Settings(short_term=1, semantic=True, profile=True))
    scene.say("Remember this for me: my name is Ada.")
    scene.say(
        "Remember this for me: actually, my name is Ada Lovelace.",
        tool_events=[1],
        phase_token="two",
        phase_diff_from="phase-1",
        phase_diff_to="phase-2",
    )
    told = [*only(scene.recalled[-1].traces), *only(scene.recorded[-1].traces)]
    shown = []
    for each in told:
        what = each.get("action") or each.get("rule") or each.get("reason") or ""
        shown.append(f"{each['type'].removeprefix('memory_')} {what}".strip())
    assert shown == [
        "recall",
        "border_check phase_start",
        "phase_started manual",
        *["border_check read"] * 4,
        "write interaction_recorded",
        "border_check phase_start",
        "border_check write",  # the user's turn
        "border_check write",  # the AI's turn
        "forget decay",
        "deleted expired",
        "border_check write",  # semantic
        "border_check write",  # profile
        "border_check write",  # tool
        "border_check promote",
        "promoted hint:remember_for_me",
        "deleted promoted",
        "border_check promote",
        "conflict correction",
        "deleted superseded",
        "promoted hint:remember_for_me",
        "deleted promoted",
        "border_check phase_diff",
        "phase_diff",
    ]
