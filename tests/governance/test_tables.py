"""Every row of every table of governance holds, and a rule that breaks one is caught."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.governance import tables
from tests.governance.rows import Row, breaches
from tests.governance.tables import TABLES

from recollect.domain.errors import InvalidSetting
from recollect.domain.governance import conflicts, events, gate, keys, policy, retention, spaces
from recollect.domain.governance.policy import RetentionRule
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Authority, EventType, ForgetPolicy, Kind, WritePolicy

ROWS = [
    pytest.param(table.rule, row, id=f"{name} {number}")
    for name, table in TABLES.items()
    for number, row in enumerate(table.rows, 1)
]


@pytest.mark.parametrize(("rule", "row"), ROWS)
def test_a_row_holds(rule: Callable[..., Any], row: Row) -> None:
    assert rule(*row.given) == row.expected


@pytest.mark.parametrize("name", list(TABLES))
def test_a_rule_that_breaks_one_row_is_caught_with_that_row(name: str) -> None:
    table = TABLES[name]
    for planted in table.rows:

        def faulty(*given: Any, planted: Row = planted) -> Any:
            return object() if given == planted.given else table.rule(*given)

        assert planted in breaches(faulty, table.rows)
    assert breaches(table.rule, table.rows) == []


def _age_only(one: Any, other: Any, order: Any) -> conflicts.Conflict:
    older, newer = sorted((one, other), key=lambda each: each.created_at)
    return conflicts.Conflict(newer, older, Reason.RECENCY)


def _decays_at_once(item: Any, rule: RetentionRule, now: int) -> Reason | None:
    due = rule.ttl_ticks is not None and now - item.created_at >= rule.ttl_ticks
    return Reason.DECAY if due and rule.mode is ForgetPolicy.DECAY else None


def _ascii_only(text: str) -> str:
    return " ".join("".join(each if each.isascii() and each.isalnum() else " " for each in text.lower()).split())


def _backwards(candidate: Any, contract: Any, standing: Any) -> Iterator[tuple[Reason | None, str | None]]:
    yield from reversed(list(_CHECKS(candidate, contract, standing)))


_CHECKS = gate._checks
FAULTS: dict[str, tuple[str, Any, str, Any]] = {
    "anybody's corrections stand": ("conflicts", conflicts, "_stands", lambda item, _: conflicts._is_correction(item)),
    "corrections do not stand": ("conflicts", conflicts, "_stands", lambda *_: False),
    "only the incoming correction stands": (
        "conflicts",
        conflicts,
        "_stands",
        lambda item, _: item.created_at == 2 and item.meta.event_type is EventType.CORRECTION,
    ),
    "only the user's corrections stand": (
        "conflicts",
        conflicts,
        "_stands",
        lambda item, _: item.meta.event_type is EventType.CORRECTION and item.meta.authority is Authority.USER_ASSERTED,
    ),
    "the gate asks backwards": ("gate", gate, "_checks", _backwards),
    "the write policy is for turns, too": ("gate", gate, "_CHECKED", tuple(Kind)),
    "keys are found inside words": ("gate", gate, "is_sensitive", lambda text: "key" in text or "password" in text),
    "no pattern is looked for": ("gate", gate, "privacy_flaw", lambda *_: None),
    "decay is one tick early": ("retention", retention, "_due", _decays_at_once),
    "instructions have rules of their own": ("retention", retention, "governed", lambda each: each),
    "scripts other than Latin vanish": ("dedup keys", keys, "normalised", _ascii_only),
    "tests come in another order": ("classification", events, "_SAID", tuple(reversed(events._SAID))),
    "a contrast is no correction": ("classification", events, "_contrasts", lambda _: False),
    "mustard insists": ("importance", events, "_EMPHASIS", re.compile("always|never|must|avoid")),
    "context is minimal": ("semantic attempts", events, "MINIMAL", frozenset(EventType)),
    "everybody may promote": ("promotions", spaces, "allows", lambda *_: True),
    "the wider space is asked first": ("hints", spaces, "_HINTS", tuple(reversed(spaces._HINTS))),
}


@contextmanager
def planted(owner: Any, name: str, fault: Any) -> Iterator[None]:
    right = getattr(owner, name)
    setattr(owner, name, fault)
    try:
        yield
    finally:
        setattr(owner, name, right)


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_planted_fault_is_caught(fault: str) -> None:
    table, owner, name, wrong = FAULTS[fault]
    with planted(owner, name, wrong):
        assert breaches(TABLES[table].rule, TABLES[table].rows)
    assert breaches(TABLES[table].rule, TABLES[table].rows) == []


def test_recency_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "resolve", _age_only)
    assert breaches(tables.settled, tables.CONFLICTS)


def test_the_default_contract_is_the_one_that_is_documented() -> None:
    contract = policy.contract_of(policy.Settings())
    snapshot = contract.snapshot()
    assert list(snapshot) == [
        "write_policy",
        "allow_event_types",
        "deny_event_types",
        "retention",
        "promotion",
        "privacy",
        "authority_order",
        "spaces",
        "phase",
    ]
    never = {each: {"mode": "never", "ttl_ticks": None} for each in sorted(map(str, tables.DECAY))}
    decay = {str(each): {"mode": "decay", "ttl_ticks": ticks} for each, ticks in tables.DECAY.items()}
    assert snapshot["retention"] == {"short_term": never, "semantic": decay, "profile": never}
    everything = ["context", "correction", "decision", "execution", "fact", "preference"]
    assert snapshot["promotion"] == {
        "short_term": {"allowed_event_types": everything},
        "semantic": {"allowed_event_types": everything},
        "profile": {"allowed_event_types": ["fact", "correction"]},
    }
    patterns = ["password", "secret", "token", "api key", "apikey", "credit card", "ssn", "social security"]
    assert snapshot["privacy"] == {
        "deny_patterns": [*patterns, "private key"],
        "allow_profile_keys": ["name", "timezone", "language", "project", "editor", "units"],
        "deny_sensitive": True,
    }
    assert snapshot["authority_order"] == ["system_imposed", "tool_verified", "user_asserted", "ai_inferred"]
    carried = {"allowed_event_types": ["preference", "decision", "fact", "correction"]}
    by_user = {"min_authority": "user_asserted", "decision_override": False}
    by_tool = {"min_authority": "tool_verified", "decision_override": True}
    assert snapshot["spaces"] == {
        "read_order": ["session", "user", "project", "system"],
        "write_spaces": ["session"],
        "promotions": [
            {"from_space": "session", "to_space": "user"} | carried | by_user,
            {"from_space": "session", "to_space": "project"} | carried | by_tool,
            {"from_space": "user", "to_space": "project"} | carried | by_user,
        ],
    }
    phase = {"enabled": True, "mode": "current_only", "allow_cross_phase_recall": False}
    assert snapshot["phase"] == phase | {"max_phases": None, "diff_enabled": True}
    assert contract.phase_snapshot() == {"phase": snapshot["phase"]}


def test_the_policy_of_a_recall_says_the_settings_one_by_one() -> None:
    settings = policy.Settings(short_term=2, semantic=True)
    contract = policy.contract_of(settings)
    shown = policy.recall_policy(settings, contract)
    flat = {
        "short_term": 2,
        "semantic": True,
        "profile": False,
        "short_term_max_turns": 2,
        "short_term_token_budget": None,
        "semantic_top_k": 3,
        "write_policy": "normal",
        "forget_policy": "decay",
        "dedupe_enabled": True,
        "phase_mode": "current_only",
        "allow_cross_phase_recall": False,
        "phase_enabled": True,
        "phase_max_phases": None,
        "phase_diff_enabled": True,
    }
    assert shown == contract.snapshot() | flat
    assert policy.Settings(allow_cross_phase_recall=True).phase_mode == "current_plus_history"


def test_a_window_is_a_whole_number_from_zero() -> None:
    for wrong in (-1, True, 1.5):
        with pytest.raises(InvalidSetting):
            policy.Settings(short_term=wrong)  # type: ignore[arg-type]
    assert policy.Settings() == policy.Settings(write_policy=WritePolicy.NORMAL, forget_policy=ForgetPolicy.DECAY)
