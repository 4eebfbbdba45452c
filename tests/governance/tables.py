"""The tables of governance, row by row."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.governance.rows import (
    AI,
    CONTEXT,
    CORRECTION,
    DECISION,
    EXECUTION,
    FACT,
    INSTRUCTION,
    ORDER,
    PREFERENCE,
    SYSTEM,
    TOOL,
    USER,
    Row,
    Table,
    item,
)
from tests.governance.sayings import SAYINGS

from recollect.domain.governance.axes import AXES, Axes, kind_of, tier_of
from recollect.domain.governance.conflicts import resolve
from recollect.domain.governance.gate import Candidate, Standing, judged
from recollect.domain.governance.ids import deterministic_hash, project_id, spelt
from recollect.domain.governance.plain import plain
from recollect.domain.governance.policy import Contract, Privacy, Settings, contract_of
from recollect.domain.governance.retention import sift
from recollect.domain.governance.spaces import diff_border, hinted, phase_border, promotion, read_border, write_border
from recollect.domain.governance.summaries import summarised
from recollect.domain.governance.terms import (
    Authority,
    EventType,
    ForgetPolicy,
    Kind,
    Space,
    Tier,
    WriteClass,
    WritePolicy,
)


def settled(
    existing: tuple[Authority, EventType], incoming: tuple[Authority, EventType], swapped: bool = False
) -> tuple[str, str]:
    """Which of two conflicting facts is kept, and by which rule."""
    held = item(1, kind=Kind.PROFILE, authority=existing[0], event_type=existing[1])
    new = item(2, kind=Kind.PROFILE, authority=incoming[0], event_type=incoming[1])
    conflict = resolve(new, held, ORDER) if swapped else resolve(held, new, ORDER)
    return "incoming" if conflict.winner is new else "existing", str(conflict.rule)


CONFLICTS = tuple(
    Row((existing, incoming), expected)
    for existing, incoming, expected in (
        ((SYSTEM, FACT), (USER, CORRECTION), ("incoming", "correction")),
        ((TOOL, FACT), (USER, CORRECTION), ("incoming", "correction")),
        ((SYSTEM, FACT), (TOOL, CORRECTION), ("incoming", "correction")),
        ((SYSTEM, FACT), (AI, CORRECTION), ("existing", "authority")),
        ((AI, FACT), (USER, CORRECTION), ("incoming", "authority")),
        ((USER, CORRECTION), (USER, FACT), ("existing", "correction")),
        ((SYSTEM, CORRECTION), (USER, CORRECTION), ("incoming", "recency")),
        ((SYSTEM, FACT), (USER, FACT), ("existing", "authority")),
        ((USER, FACT), (TOOL, FACT), ("incoming", "authority")),
        ((USER, FACT), (USER, FACT), ("incoming", "recency")),
        ((AI, FACT), (AI, CORRECTION), ("incoming", "correction")),
        # A later fact of higher authority does not undo the user's correction; only a correction does.
        ((USER, CORRECTION), (SYSTEM, FACT), ("existing", "correction")),
    )
)


def verdict(
    kind: Kind, event_type: EventType, text: str = "text", key: str | None = None, **changes: Any
) -> tuple[str, tuple[str, ...]]:
    """What the gate says of a candidate, and what had allowed it."""
    low_signal, standing = changes.pop("low_signal", False), changes.pop("standing", None)
    candidate = Candidate(kind=kind, event_type=event_type, text=text, key=key, low_signal=low_signal)
    found = judged(candidate, contract(**changes), standing)
    assert found.allowed == (found.reason == "allowed")
    return str(found.reason), found.tags


def contract(**changes: Any) -> Contract:
    """The default contract, with something else in it."""
    return msgspec.structs.replace(contract_of(Settings()), **changes)


def _gate(given: tuple[Any, ...], **changes: Any) -> tuple[str, tuple[str, ...]]:
    return verdict(*given, **changes)


def _gated(given: tuple[Any, ...], changes: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    return _gate(given, **changes)


SHORT, SEMANTIC, PROFILE = Kind
P, R, T = "allowed_by:privacy", "allowed_by:promotion_rule", "allowed_by:policy_event_types"
NORMAL = "allowed_by:write_policy:normal"


def _w(policy: WritePolicy) -> dict[str, Any]:
    return {"write_policy": policy}


GATE = tuple(
    Row((given, changes), expected)
    for given, changes, expected in (
        ((SHORT, CONTEXT), {}, ("allowed", (P, R))),
        ((SEMANTIC, FACT), {}, ("allowed", (P, NORMAL, R))),
        ((PROFILE, FACT, "my name is Ada", "name"), {}, ("allowed", (P, NORMAL, R))),
        ((SHORT, CONTEXT, "my password is 123"), {}, ("privacy_deny_sensitive", ())),
        ((SEMANTIC, FACT, "the API key"), {}, ("privacy_deny_sensitive", ())),
        ((SEMANTIC, FACT, "AKIAABCDEFGHIJKLMNOP"), {}, ("privacy_deny_sensitive", ())),
        ((SEMANTIC, FACT, "my secret"), {}, ("privacy_deny_sensitive", ())),
        ((SEMANTIC, FACT, "two Tokens"), {}, ("privacy_deny_sensitive", ())),
        ((SEMANTIC, FACT, "my secretary"), {}, ("privacy_deny_pattern", ())),
        ((SEMANTIC, FACT, "a token"), {"privacy": Privacy(deny_patterns=())}, ("allowed", (P, NORMAL, R))),
        ((SEMANTIC, FACT, "a token"), {"privacy": Privacy(deny_sensitive=False)}, ("privacy_deny_pattern", ())),
        ((SEMANTIC, FACT, "Credit Card"), {}, ("privacy_deny_pattern", ())),
        ((SEMANTIC, FACT, "the monkey pressed a key"), {}, ("allowed", (P, NORMAL, R))),
        ((SEMANTIC, FACT, "my password"), {"privacy": Privacy(deny_sensitive=False)}, ("privacy_deny_pattern", ())),
        ((SEMANTIC, FACT, "my password"), {"privacy": Privacy((), (), False)}, ("allowed", (NORMAL, R))),
        ((SEMANTIC, FACT, "the plan"), {"privacy": Privacy(("", "PLAN"))}, ("privacy_deny_pattern", ())),
        ((PROFILE, FACT, "x", "shoe size"), {}, ("privacy_deny_profile_key", ())),
        ((PROFILE, FACT, "x", "shoe size"), {"privacy": Privacy((), ())}, ("allowed", (P, NORMAL, R))),
        ((SEMANTIC, FACT), _w(WritePolicy.NONE), ("write_policy_none", (P,))),
        ((PROFILE, FACT, "x", "name"), _w(WritePolicy.NONE), ("write_policy_none", (P,))),
        ((SHORT, CONTEXT), _w(WritePolicy.NONE), ("allowed", (P, R))),
        ((SEMANTIC, EXECUTION), _w(WritePolicy.MINIMAL), ("write_policy_minimal", (P,))),
        ((SEMANTIC, CONTEXT), _w(WritePolicy.MINIMAL), ("write_policy_minimal", (P,))),
        *(
            ((SEMANTIC, each), _w(WritePolicy.MINIMAL), ("allowed", (P, "allowed_by:write_policy:minimal", R)))
            for each in (FACT, PREFERENCE, DECISION, CORRECTION, INSTRUCTION)
        ),
        ((SEMANTIC, CONTEXT), {}, ("write_policy_context", (P,))),
        ((SEMANTIC, EXECUTION), {}, ("allowed", (P, NORMAL, R))),
        (
            (SEMANTIC, CONTEXT),
            _w(WritePolicy.AGGRESSIVE),
            ("allowed", (P, "allowed_by:write_policy:aggressive", R)),
        ),
        ((SEMANTIC, FACT), {"allow_event_types": (DECISION,)}, ("policy_deny_event_type", (P, NORMAL))),
        ((SEMANTIC, FACT), {"deny_event_types": (FACT,)}, ("policy_deny_event_type", (P, NORMAL))),
        ((SEMANTIC, INSTRUCTION), {"deny_event_types": (PREFERENCE,)}, ("policy_deny_event_type", (P, NORMAL))),
        (
            (SEMANTIC, FACT),
            {"allow_event_types": (FACT,), "deny_event_types": (FACT,)},
            ("policy_deny_event_type", (P, NORMAL)),
        ),
        ((SEMANTIC, FACT), {"allow_event_types": (FACT,)}, ("allowed", (P, NORMAL, T, R))),
        ((PROFILE, PREFERENCE, "x", "name"), {}, ("policy_deny_promotion", (P, NORMAL))),
        ((PROFILE, CORRECTION, "x", "name"), {}, ("allowed", (P, NORMAL, R))),
        ((PROFILE, PREFERENCE, "x", "name"), {"promotion": {}}, ("allowed", (P, NORMAL))),
        ((SEMANTIC, FACT), {"low_signal": True}, ("policy_low_signal", (P, NORMAL, R))),
        ((SHORT, FACT), {"low_signal": True}, ("allowed", (P, R))),
        (
            (SEMANTIC, FACT),
            {"standing": Standing(consent_needed=True, trusted=False)},
            ("consent_missing", (P, NORMAL, R)),
        ),
        (
            (SEMANTIC, FACT),
            {"standing": Standing(consent_needed=True, consented=True)},
            ("allowed", (P, NORMAL, R)),
        ),
        (
            (SEMANTIC, FACT),
            {"standing": Standing(trusted=False, evidenced=False)},
            ("source_untrusted", (P, NORMAL, R)),
        ),
        (
            (SEMANTIC, FACT),
            {"standing": Standing(evidenced=False, rejected_before=True)},
            ("evidence_missing", (P, NORMAL, R)),
        ),
        ((SEMANTIC, FACT), {"standing": Standing(rejected_before=True)}, ("rejected_before", (P, NORMAL, R))),
        # What is refused for several reasons is refused for the first.
        (
            (PROFILE, CONTEXT, "password", "shoe size"),
            {"write_policy": WritePolicy.NONE, "deny_event_types": (CONTEXT,), "low_signal": True},
            ("privacy_deny_sensitive", ()),
        ),
        (
            (PROFILE, CONTEXT, "text", "name"),
            {"write_policy": WritePolicy.NONE, "deny_event_types": (CONTEXT,), "low_signal": True},
            ("write_policy_none", (P,)),
        ),
        (
            (PROFILE, CONTEXT, "text", "name"),
            {"deny_event_types": (CONTEXT,), "low_signal": True},
            ("policy_deny_event_type", (P, NORMAL)),
        ),
        ((PROFILE, CONTEXT, "text", "name"), {"low_signal": True}, ("policy_deny_promotion", (P, NORMAL))),
        (
            (SEMANTIC, FACT, "text"),
            {"low_signal": True, "standing": Standing(trusted=False)},
            ("policy_low_signal", (P, NORMAL, R)),
        ),
    )
)


def forgotten_at(policy: ForgetPolicy, kind: Kind, event_type: EventType | None, age: int) -> str | None:
    """Why an item of that age is forgotten."""
    old = item(1, kind=kind, created_at=100, event_type=event_type)
    sifted = sift([old], contract_of(Settings(forget_policy=policy)), 100 + age)
    return str(sifted.forgotten[0].reason) if sifted.forgotten else None


DECAY = {CONTEXT: 12, EXECUTION: 18, DECISION: 40, PREFERENCE: 40, CORRECTION: 45, FACT: 60}
RETENTION = tuple(
    Row(given, expected)
    for given, expected in (
        *(((ForgetPolicy.DECAY, SEMANTIC, each, age), None) for each, age in DECAY.items()),
        *(((ForgetPolicy.DECAY, SEMANTIC, each, age + 1), "decay") for each, age in DECAY.items()),
        *(((ForgetPolicy.TTL, SEMANTIC, each, 24), None) for each in DECAY),
        *(((ForgetPolicy.TTL, SEMANTIC, each, 25), "ttl_expired") for each in DECAY),
        *(((ForgetPolicy.NEVER, SEMANTIC, each, 10_000), None) for each in DECAY),
        *(((policy, kind, CONTEXT, 10_000), None) for policy in ForgetPolicy for kind in (SHORT, PROFILE)),
        ((ForgetPolicy.DECAY, SEMANTIC, INSTRUCTION, 40), None),
        ((ForgetPolicy.DECAY, SEMANTIC, INSTRUCTION, 41), "decay"),
        ((ForgetPolicy.DECAY, SEMANTIC, None, 13), "decay"),
        ((ForgetPolicy.DECAY, SEMANTIC, CONTEXT, -5), None),
    )
)


def moved(event_type: EventType, authority: Authority, from_space: Space, to_space: Space) -> str:
    """What the border says to a promotion."""
    thing = item(1, event_type=event_type, authority=authority)
    return str(promotion(contract(), thing, from_space, to_space).reason)


SESSION, THEIRS, PROJECT, ALL = Space
PROMOTIONS = tuple(
    Row(given, expected)
    for given, expected in (
        *(((each, USER, SESSION, THEIRS), "allowed") for each in (PREFERENCE, DECISION, FACT, CORRECTION)),
        ((CONTEXT, SYSTEM, SESSION, THEIRS), "promotion_event_type"),
        ((EXECUTION, TOOL, SESSION, THEIRS), "promotion_event_type"),
        ((FACT, AI, SESSION, THEIRS), "promotion_authority"),
        ((DECISION, AI, SESSION, THEIRS), "promotion_authority"),
        ((PREFERENCE, USER, SESSION, PROJECT), "promotion_authority"),
        ((PREFERENCE, TOOL, SESSION, PROJECT), "allowed"),
        ((DECISION, USER, SESSION, PROJECT), "allowed"),
        ((DECISION, AI, SESSION, PROJECT), "promotion_authority"),
        ((FACT, USER, THEIRS, PROJECT), "allowed"),
        ((FACT, SYSTEM, SESSION, ALL), "promotion_disallowed"),
        ((FACT, SYSTEM, PROJECT, ALL), "promotion_disallowed"),
        ((FACT, SYSTEM, PROJECT, THEIRS), "promotion_disallowed"),
    )
)

HINTS = tuple(
    Row((text,), expected)
    for text, expected in (
        ("Remember this for me: I prefer concise updates.", (THEIRS, "hint:remember_for_me")),
        ("remember for me", (THEIRS, "hint:remember_for_me")),
        ("Remember that about me", (THEIRS, "hint:remember_about_me")),
        ("Save  this\nfor me", (THEIRS, "hint:save_for_me")),
        ("Remember this for the project: We decided.", (PROJECT, "hint:remember_for_project")),
        ("put it in project memory", (PROJECT, "hint:project_memory")),
        ("Remember this for everyone: We release weekly.", (ALL, "hint:remember_for_everyone")),
        ("remember this for the system", (ALL, "hint:remember_for_system")),
        ("in system memory", (ALL, "hint:system_memory")),
        ("system memory, project memory, and save it for me", (THEIRS, "hint:save_for_me")),
        ("system memory and project memory", (PROJECT, "hint:project_memory")),
        ("remember to buy milk", None),
        ("dismember for me", None),
    )
)


def bordered(border: str, space: Space, **changes: Any) -> str:
    """What the borders of a space say."""
    rules = contract(**changes)
    found = {
        "read": lambda: read_border(rules, space),
        "write": lambda: write_border(rules, space),
        "phase_start": lambda: phase_border(rules.phase),
        "phase_diff": lambda: diff_border(rules, space),
    }[border]()
    return str(found.reason) if found.allowed == (found.reason == "allowed") else "contradiction"


def _bordered(border: str, space: Space, changes: dict[str, Any]) -> str:
    return bordered(border, space, **changes)


_OFF = {"phase": msgspec.structs.replace(contract().phase, enabled=False)}
_NO_DIFF = {"phase": msgspec.structs.replace(contract().phase, diff_enabled=False)}
_ONLY_USER = {"spaces": msgspec.structs.replace(contract().spaces, read_order=(THEIRS,))}
BORDERS = tuple(
    Row(given, expected)
    for given, expected in (
        *((("read", space, {}), "allowed") for space in Space),
        (("read", SESSION, _ONLY_USER), "space_disabled"),
        (("write", SESSION, {}), "allowed"),
        *((("write", space, {}), "write_space_disallowed") for space in (THEIRS, PROJECT, ALL)),
        (("phase_start", SESSION, {}), "allowed"),
        (("phase_start", SESSION, _OFF), "phase_disabled"),
        (("phase_diff", SESSION, {}), "allowed"),
        (("phase_diff", SESSION, _OFF), "phase_disabled"),
        (("phase_diff", SESSION, _NO_DIFF), "phase_diff_disabled"),
        (("phase_diff", SESSION, _ONLY_USER), "space_disabled"),
    )
)

OWNERS = tuple(
    Row(given, expected)
    for given, expected in (
        (("ada",), "ada"),
        (("  Ada \t Love  lace ",), "Ada_Love_lace"),
        (("a:b",), "a_b"),
        (("   ",), "anonymous"),
        ((None,), "anonymous"),
        (("", "unknown"), "unknown"),
        ((7,), "7"),
    )
)
HASHES = (
    Row(
        ([("short_term", "session:anonymous:short_term:1"), ("short_term", "session:anonymous:short_term:2")],),
        "59a23a2b3dd701bd3c809295dd00c755c984e5bbe6ecc3c5860a02ae333fc977",
    ),
    Row(([],), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
)
PROJECTS = (
    Row((None, None), "unknown"),
    Row(("/srv/app", None), "dae668e4084f"),
    Row((None, "/srv/app"), "dae668e4084f"),
    Row(("/srv/app", "/other"), "dae668e4084f"),
)


def _summary(texts: list[str], prior: str | None) -> str:
    turns = [item(n, kind=SHORT, text=text, source="user" if n % 2 else "ai") for n, text in enumerate(texts, 1)]
    return summarised(turns, prior)


SUMMARIES = (
    Row((["Hello", "Hi"], None), "user: Hello | ai: Hi"),
    Row((["Hello"], "user: earlier"), "Earlier: user: earlier | user: Hello"),
    Row((["x" * 100], "y" * 100), f"Earlier: {'y' * 80} | user: {'x' * 80}"),
    Row((list("abcdefgh"), None), "user: a | ai: b | user: c | ai: d | user: e | ai: f"),
    Row((["x" * 80] * 3, None), (f"user: {'x' * 80} | ai: {'x' * 80} | user: {'x' * 80}")[:240] + "..."),
)

PLAIN = tuple(
    Row((value,), "\n".join(expected))
    for value, expected in (
        (
            {
                "type": "memory_recall",
                "policy": {"short_term": 2, "profile": False},
                "recalled": [{"id": "mem-1", "kind": "short_term"}],
            },
            [
                "policy.profile: false",
                "policy.short_term: 2",
                "recalled.count: 1",
                "recalled.1.id: mem-1",
                "recalled.1.kind: short_term",
                "type: memory_recall",
            ],
        ),
        ({"query": "a\nb\tc\rd"}, ["query: a\\nb\\tc\\rd"]),
        ({"a": None, "b": True, "c": [], "d": {}, "e": 1.5}, ["a: null", "b: true", "c.count: 0", "e: 1.5"]),
        ({"a": [[1, 2], ["x"]]}, ["a.count: 2", "a.1.count: 2", "a.1.1: 1", "a.1.2: 2", "a.2.count: 1", "a.2.1: x"]),
        ({}, []),
    )
)

AXES_ROWS = tuple(
    Row((event_type,), expected)
    for event_type, expected in (
        (PREFERENCE, Axes(WriteClass.PREFERENCE, True, SEMANTIC, PROFILE, Tier.SEMANTIC)),
        (FACT, Axes(WriteClass.EVIDENCE_LINK, False, SEMANTIC, PROFILE, Tier.SEMANTIC)),
        (DECISION, Axes(WriteClass.DECISION_OUTCOME, False, SEMANTIC, SEMANTIC, Tier.SEMANTIC)),
        (CORRECTION, Axes(WriteClass.CORRECTION, True, None, None, None)),
        (INSTRUCTION, Axes(WriteClass.PREFERENCE, True, SEMANTIC, SEMANTIC, Tier.SEMANTIC)),
        (CONTEXT, Axes(WriteClass.EVIDENCE_LINK, False, SEMANTIC, SEMANTIC, Tier.EPISODIC)),
        (EXECUTION, Axes(WriteClass.EVIDENCE_LINK, False, SEMANTIC, SEMANTIC, Tier.EPISODIC)),
    )
)


def _standing(event_type: EventType, keyed: bool, corrected: tuple[Kind, Tier] | None) -> tuple[Kind, Tier]:
    kind, tier = corrected or (None, None)
    return kind_of(event_type, keyed=keyed, corrected=kind), tier_of(event_type, corrected=tier)


KINDS = tuple(
    Row(given, expected)
    for given, expected in (
        ((FACT, True, None), (PROFILE, Tier.SEMANTIC)),
        ((FACT, False, None), (SEMANTIC, Tier.SEMANTIC)),
        ((CORRECTION, False, (PROFILE, Tier.DURABLE)), (PROFILE, Tier.DURABLE)),
        ((CORRECTION, True, None), (PROFILE, Tier.SEMANTIC)),
        ((CONTEXT, True, (PROFILE, Tier.DURABLE)), (SEMANTIC, Tier.EPISODIC)),
    )
)

TABLES: dict[str, Table] = {
    **SAYINGS,
    "conflicts": Table(settled, CONFLICTS),
    "conflicts, the other way round": Table(lambda one, other: settled(one, other, swapped=True), CONFLICTS),
    "gate": Table(_gated, GATE),
    "retention": Table(forgotten_at, RETENTION),
    "promotions": Table(moved, PROMOTIONS),
    "hints": Table(hinted, HINTS),
    "borders": Table(_bordered, BORDERS),
    "owners": Table(spelt, OWNERS),
    "hashes": Table(deterministic_hash, HASHES),
    "projects": Table(project_id, PROJECTS),
    "summaries": Table(_summary, SUMMARIES),
    "plain view": Table(plain, PLAIN),
    "axes": Table(AXES.__getitem__, AXES_ROWS),
    "kinds and tiers": Table(_standing, KINDS),
}
