"""Traces: exactly the keys that are promised, a schema made from the code, and nothing that must not be seen."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.governance.rows import item
from tests.governance.scenes import Scene

from recollect.domain.governance.gate import Candidate, judged
from recollect.domain.governance.keys import digest_of
from recollect.domain.governance.policy import Privacy, Settings, contract_of
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.telling import Teller
from recollect.domain.governance.terms import BorderAction, EventType, Kind
from recollect.domain.governance.traces import TRACES, Trace, as_json, read_trace, schema, type_of

ALWAYS = {"type", "trace_version", "ai_profile", "session"}
REQUIRED = {
    "memory_recall": {
        "query",
        "recalled",
        "policy",
        "deterministic_hash",
        "spaces_consulted",
        "recall_counts",
    },
    "memory_write": {"written", "reason"},
    "memory_denied": {"attempted", "reason", "policy_snapshot"},
    "memory_conflict": {"winner_id", "loser_id", "rule", "dedup_key"},
    "memory_forget": {"memory_id", "reason", "policy_snapshot"},
    "memory_border_check": {"action", "from_space", "allowed", "reason", "policy_snapshot"},
    "memory_promoted": {
        "from_space",
        "to_space",
        "from_id",
        "to_id",
        "authority_used",
        "reason",
        "policy_snapshot",
    },
    "memory_promotion_denied": {"from_space", "to_space", "memory_id", "allowed", "reason", "policy_snapshot"},
    "memory_phase_started": {"space", "owner", "phase_id", "reason", "policy_snapshot"},
    "memory_deleted": {"space", "owner", "phase_id", "memory_id", "reason", "policy_snapshot"},
    "memory_phase_diff": {
        "space",
        "owner",
        "from_phase_id",
        "to_phase_id",
        "added_count",
        "deleted_count",
        "replaced_count",
        "top_changes",
        "summary_lines",
    },
}
MORE = {
    "memory_recall": {"current_phase", "phase_counts"},
    "memory_denied": {"explanation"},
    "memory_conflict": {"explanation"},
    "memory_forget": {"explanation"},
    "memory_border_check": {"to_space", "subject_id"},
    "memory_phase_started": {"phase_name"},
    "memory_deleted": {"replaced_by"},
}
"""Keys that are there when there is something to say."""


def flaws(event: dict[str, Any]) -> list[str]:
    """What is wrong with an event: its keys, or what the schema says."""
    keys, kind = set(event), event.get("type", "")
    missing = (ALWAYS | REQUIRED.get(kind, set())) - keys
    extra = keys - ALWAYS - REQUIRED.get(kind, set()) - MORE.get(kind, set())
    found = [f"{each} is missing" for each in sorted(missing)] + [f"{each} is extra" for each in sorted(extra)]
    if kind == "memory_border_check" and ("to_space" in keys) != (event.get("action") in ("write", "promote")):
        found.append("to_space is for write and promote")
    return found + [error.message for error in VALIDATOR.iter_errors(event)]


VALIDATOR = jsonschema_rs.Draft202012Validator(schema())


@pytest.fixture(scope="module")
def told() -> list[Trace]:
    """The traces of a conversation in which everything happens."""
    scene = Scene(Settings(short_term=2, semantic=True, profile=True))
    scene.say("Remember this for me: my name is Ada.")
    scene.say("I like tea.", tool_events=[{"tool": "kettle"}])
    scene.say("Remember this for the project: I like tea.")
    scene.say("my password is hunter22")
    scene.say("Actually, my name is Ada Lovelace.", phase_token="two", phase_name="Second", phase_reason="asked for")
    scene.say("My name is Ada King.")
    scene.say("I like TEA.", phase_diff_from="phase-1", phase_diff_to="phase-2")
    for _ in range(20):
        scene.say("and so on")
    return scene.traces()


def test_every_type_is_told(told: list[Trace]) -> None:
    assert {type_of(type(each)) for each in told} == set(REQUIRED) == {type_of(each) for each in TRACES}


def test_every_event_has_exactly_its_keys_and_fits_the_schema(told: list[Trace]) -> None:
    for each in told:
        assert flaws(as_json(each)) == []


def test_every_optional_key_is_told_once(told: list[Trace]) -> None:
    for kind, keys in MORE.items():
        seen: set[str] = set().union(*(as_json(each) for each in told if type_of(type(each)) == kind))
        assert keys <= seen


def test_every_event_can_be_read_again(told: list[Trace]) -> None:
    for each in told:
        assert read_trace(msgspec.json.encode(each)) == each


@pytest.mark.parametrize("kind", sorted(REQUIRED))
def test_an_event_with_a_key_too_few_or_too_many_is_caught(kind: str, told: list[Trace]) -> None:
    event = next(as_json(each) for each in told if type_of(type(each)) == kind)
    assert VALIDATOR.is_valid(event)
    for key in ALWAYS | REQUIRED[kind]:
        short = {name: value for name, value in event.items() if name != key}
        assert not VALIDATOR.is_valid(short)
        assert f"{key} is missing" in flaws(short)
    assert not VALIDATOR.is_valid(event | {"surprise": 1})
    assert "surprise is extra" in flaws(event | {"surprise": 1})
    assert not VALIDATOR.is_valid(event | {"trace_version": "1999-01-01"})


def test_a_reason_that_is_not_in_the_set_is_caught(told: list[Trace]) -> None:
    for kind in ("memory_denied", "memory_forget", "memory_deleted", "memory_border_check"):
        event = next(as_json(each) for each in told if type_of(type(each)) == kind)
        assert not VALIDATOR.is_valid(event | {"reason": "because"})
        with pytest.raises(msgspec.ValidationError):
            read_trace(msgspec.json.encode(event | {"reason": "because"}))


ADDED = frozenset(
    {
        "already_known", "class_not_allowed", "confidence_below_floor", "consent_lost", "evidence_recalled",
        "existing_preferred", "not_approved", "predicate_not_allowed", "retracted", "consent_revoked", "undone",
        "curated",
    }
)  # fmt: skip
"""The reasons of proposals and records, which no trace of a governed turn has."""


def test_the_reasons_are_a_closed_set() -> None:
    assert sorted(set(Reason) - ADDED) == [
        "allowed",
        "authority",
        "auto",
        "consent_missing",
        "correction",
        "decay",
        "evidence_missing",
        "expired",
        "hint:project_memory",
        "hint:remember_about_me",
        "hint:remember_for_everyone",
        "hint:remember_for_me",
        "hint:remember_for_project",
        "hint:remember_for_system",
        "hint:save_for_me",
        "hint:system_memory",
        "importance",
        "interaction_recorded",
        "manual",
        "meta:promotion_target",
        "phase_diff_disabled",
        "phase_disabled",
        "policy_deny_event_type",
        "policy_deny_promotion",
        "policy_low_signal",
        "privacy_deny_pattern",
        "privacy_deny_profile_key",
        "privacy_deny_sensitive",
        "promoted",
        "promotion_authority",
        "promotion_disallowed",
        "promotion_event_type",
        "recency",
        "rejected_before",
        "source_untrusted",
        "space_disabled",
        "superseded",
        "ttl_expired",
        "write_policy_context",
        "write_policy_minimal",
        "write_policy_none",
        "write_space_disallowed",
    ]


# -- what is shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the monkey  pressed\na key", "the monkey pressed a key"),
        ("my password is 123", "(redacted)"),
        ("Authorization: Basic x", "(redacted)"),
        ("AKIAABCDEFGHIJKLMNOP", "(redacted)"),
        ("my secret", "(redacted)"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "... (truncated)"),
    ],
)
def test_a_text_is_shown_on_one_line_cut_short_or_not_at_all(text: str, shown: str) -> None:
    assert Redaction().shown(text) == shown


def test_what_is_sensitive_is_not_shown_even_where_it_may_be_kept() -> None:
    lenient = Redaction(Privacy((), (), False))
    assert lenient.shown("my password is 123") == "(redacted)"
    assert lenient.shown("a token of thanks") == "a token of thanks"


def test_the_key_of_a_withheld_text_is_a_digest() -> None:
    kept = item(1, text="my password is 123", dedup_key="context:my password is 123")
    plain, salted = Redaction().shown_item(kept), Redaction(salt="of this tenant").shown_item(kept)
    assert plain.meta.dedup_key == f"context:{digest_of('my password is 123')}"
    assert salted.meta.dedup_key != plain.meta.dedup_key
    assert Redaction().shown_item(item(1, text="tea", dedup_key="context:tea")).meta.dedup_key == "context:tea"


def test_a_denied_fact_is_not_shown_though_its_value_is_harmless() -> None:
    contract = contract_of(Settings())
    teller = Teller("assistant", "s", contract, Redaction())
    said = "my name is Ada and my password is 123"
    candidate = Candidate(kind=Kind.PROFILE, event_type=EventType.FACT, text=said, key="name")
    fact = item(1, kind=Kind.PROFILE, text="Ada and my pass", dedup_key="fact:name", key="name")
    told = teller.denied(fact, candidate, judged(candidate, contract))
    assert told.attempted.text == "(redacted)"


def test_the_names_and_reasons_of_phases_are_shown_like_texts() -> None:
    scene = Scene(Settings(short_term=2))
    scene.say("Hello", phase_token="t", phase_name="my password is 123", phase_reason="my secret")
    scene.say("Hello", phase_diff_from="password: hunter22", phase_diff_to="phase-1")
    assert "123" not in str(scene.told())
    assert "my secret" not in str(scene.told())
    assert "hunter22" not in str(scene.told())


@settings(max_examples=30)
@given(st.text(max_size=30), st.sampled_from(["password: hunter22-{}", "{} AKIAABCDEFGHIJKLMNOP", "ssn {}"]))
def test_no_trace_shows_what_may_not_be_kept(words: str, pattern: str) -> None:
    scene = Scene(Settings(short_term=1, semantic=True, profile=True))
    said = pattern.format(words)
    scene.say(f"my name is {said}")
    scene.say("Hello")
    assert scene.recorded[0].written == ()
    shown = str([each for each in scene.told() if each["type"] != "memory_border_check"])
    assert "hunter22" not in shown
    assert "AKIAABCDEFGHIJKLMNOP" not in shown
    assert flaws(as_json(scene.traces()[0])) == []


def test_borders_of_phases_show_the_policy_of_phases_only(told: list[Trace]) -> None:
    for each in (as_json(one) for one in told):
        about_phases = each.get("action") in (BorderAction.PHASE_START, BorderAction.PHASE_DIFF)
        if about_phases or each["type"] in ("memory_phase_started", "memory_deleted"):
            assert set(each["policy_snapshot"]) == {"phase"}
        elif "policy_snapshot" in each:
            assert "privacy" in each["policy_snapshot"]
