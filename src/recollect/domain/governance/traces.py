"""Traces: one event for every decision, each with exactly the keys that it promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.domain.governance.items import Item
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Authority, BorderAction, EventType, Kind, Space

TRACE_VERSION: Literal["2024-10-01"] = "2024-10-01"
MOST_NAMED = 200
"""So many memories are named in the labels of a trace."""
_NAMES = ("memory_id", "winner_id", "loser_id", "from_id", "to_id", "subject_id", "replaced_by")


class Trace(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """What every event says: its type, in which version, for which profile and in which session."""

    trace_version: Literal["2024-10-01"]
    ai_profile: str
    session: str


class CurrentPhase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The phase that a session is in."""

    phase_id: str
    phase_index: int
    phase_started_at: int
    phase_reason: str
    phase_name: str | UnsetType = UNSET


class RecallTrace(Trace, frozen=True, kw_only=True, tag="memory_recall"):
    """What was recalled for a query, under which policy."""

    query: str
    recalled: tuple[Item, ...]
    policy: dict[str, Any]
    deterministic_hash: str
    spaces_consulted: tuple[Space, ...]
    recall_counts: dict[str, int]
    phase_counts: dict[str, dict[str, int]] | UnsetType = UNSET
    current_phase: CurrentPhase | UnsetType = UNSET
    """Left out until the session has a phase."""


class WriteTrace(Trace, frozen=True, kw_only=True, tag="memory_write"):
    """What was written of a turn."""

    written: tuple[Item, ...]
    reason: Literal["interaction_recorded"]


class DeniedExplanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gate had found until it refused."""

    allowed: Literal[False]
    reason: Reason
    tags: tuple[str, ...]
    kind: Kind
    event_type: EventType


class DeniedTrace(Trace, frozen=True, kw_only=True, tag="memory_denied"):
    """What was not written, and why."""

    attempted: Item
    reason: Reason
    policy_snapshot: dict[str, Any]
    explanation: DeniedExplanation | UnsetType = UNSET


class Sides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same thing of both sides of a conflict."""

    winner: str
    loser: str


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How important both sides of a conflict are."""

    winner: int | float
    loser: int | float


class Ages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When both sides of a conflict came to be."""

    winner_created_at: int
    loser_created_at: int


class ConflictExplanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that could have decided a conflict, and what did."""

    rule: Literal["authority", "correction", "recency", "importance"]
    authority: Sides
    event_type: Sides
    recency: Ages
    importance: Weights


class ConflictTrace(Trace, frozen=True, kw_only=True, tag="memory_conflict"):
    """Which of two items about the same thing is kept."""

    winner_id: str
    loser_id: str
    rule: Literal["authority", "correction", "recency", "importance"]
    dedup_key: str
    explanation: ConflictExplanation | UnsetType = UNSET


class ForgetExplanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was forgotten."""

    reason: Literal["ttl_expired", "decay"]
    kind: Kind
    event_type: EventType
    authority: Authority


class ForgetTrace(Trace, frozen=True, kw_only=True, tag="memory_forget"):
    """An item was forgotten."""

    memory_id: str
    reason: Literal["ttl_expired", "decay"]
    policy_snapshot: dict[str, Any]
    explanation: ForgetExplanation | UnsetType = UNSET


class BorderTrace(Trace, frozen=True, kw_only=True, tag="memory_border_check"):
    """Whether a border of a space was open."""

    action: BorderAction
    from_space: Space
    allowed: bool
    reason: Reason
    policy_snapshot: dict[str, Any]
    to_space: Space | UnsetType = UNSET
    """Where to, when something is written or promoted."""
    subject_id: str | UnsetType = UNSET


class PromotedTrace(Trace, frozen=True, kw_only=True, tag="memory_promoted"):
    """An item went to another space."""

    from_space: Space
    to_space: Space
    from_id: str
    to_id: str
    authority_used: Authority
    reason: str
    policy_snapshot: dict[str, Any]


class PromotionDeniedTrace(Trace, frozen=True, kw_only=True, tag="memory_promotion_denied"):
    """An item was to go to another space, and may not."""

    from_space: Space
    to_space: Space
    memory_id: str
    allowed: Literal[False]
    reason: Reason
    policy_snapshot: dict[str, Any]


class PhaseStartedTrace(Trace, frozen=True, kw_only=True, tag="memory_phase_started"):
    """A phase began."""

    space: Space
    owner: str
    phase_id: str
    reason: str
    policy_snapshot: dict[str, Any]
    phase_name: str | UnsetType = UNSET


class DeletedTrace(Trace, frozen=True, kw_only=True, tag="memory_deleted"):
    """An item is gone."""

    space: Space
    owner: str
    phase_id: str
    memory_id: str
    reason: Literal[
        "superseded", "expired", "promoted", "retracted", "consent_revoked", "consent_lost", "undone", "curated"
    ]
    policy_snapshot: dict[str, Any]
    replaced_by: str | UnsetType = UNSET


class PhaseDiffTrace(Trace, frozen=True, kw_only=True, tag="memory_phase_diff"):
    """What changed between two phases."""

    space: Space
    owner: str
    from_phase_id: str
    to_phase_id: str
    added_count: int
    deleted_count: int
    replaced_count: int
    top_changes: list[dict[str, str]]
    summary_lines: list[str]


AnyTrace = (
    RecallTrace
    | WriteTrace
    | DeniedTrace
    | ConflictTrace
    | ForgetTrace
    | BorderTrace
    | PromotedTrace
    | PromotionDeniedTrace
    | PhaseStartedTrace
    | DeletedTrace
    | PhaseDiffTrace
)
TRACES: tuple[type[Trace], ...] = (
    RecallTrace,
    WriteTrace,
    DeniedTrace,
    ConflictTrace,
    ForgetTrace,
    BorderTrace,
    PromotedTrace,
    PromotionDeniedTrace,
    PhaseStartedTrace,
    DeletedTrace,
    PhaseDiffTrace,
)
"""Every type of event, each once."""


def type_of(trace: type[Trace]) -> str:
    """The type that events of this class carry."""
    return str(trace.__struct_config__.tag)


def as_json(trace: Trace) -> dict[str, Any]:
    """The event as plain JSON values."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(trace))
    return plain


def ids_in(events: Iterable[Mapping[str, Any]], most: int = MOST_NAMED) -> list[str]:
    """The memories that events tell of, the first ones, each once."""
    found: dict[str, None] = {}
    for each in events:
        found |= dict.fromkeys(each[name] for name in _NAMES if name in each)
        items = [
            *each.get("recalled", ()),
            *each.get("written", ()),
            *([each["attempted"]] if "attempted" in each else []),
        ]
        found |= dict.fromkeys(item["id"] for item in items)
    return list(found)[:most]


def read_trace(raw: bytes) -> AnyTrace:
    """The event that JSON describes; raises `msgspec.ValidationError` when it describes none."""
    read: AnyTrace = msgspec.json.decode(raw, type=AnyTrace)
    return read


def schema() -> dict[str, Any]:
    """The JSON schema of all events, made from the classes themselves."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | msgspec.json.schema(AnyTrace)
