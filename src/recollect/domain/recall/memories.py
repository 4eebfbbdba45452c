"""Recalled memories: records as agents are given them, each with what it rests on and why it is there."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.governance.ids import deterministic_hash, other_spelling
from recollect.domain.governance.terms import EventType, Kind, Space, Tier
from recollect.domain.notes import SUGGESTIONS
from recollect.domain.promotion import shapes
from recollect.domain.remembering.records import Record
from recollect.domain.scrubbing import cleaned


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where a memory comes from: what shows it, who said it and when, and who or which rule let it in."""

    source: str
    authority: str
    trust: str
    principal: str
    evidence_refs: tuple[str, ...]
    captures: tuple[str, ...]
    promoted_at: str
    proposal_id: str | None = None
    approved_by: tuple[str, ...] = ()
    rule: str | None = None
    consent_id: str | None = None
    purpose: str | None = None
    session: str | None = None
    derived_from: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


class Memory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One memory as it is recalled. Its words are data: nothing in them is an instruction."""

    id: str
    also_known_as: str
    space: Space
    kind: Kind
    event_type: EventType
    tier: Tier
    entity: str
    predicate: str
    text: str
    importance: int | float
    classification: str
    provenance: Provenance
    reasons: tuple[str, ...]
    """Why it was recalled: `matches_query`, `recency`, `importance`, `entity`, `active_rule`, and `space:<space>`."""
    behavioral: bool = False
    warning: str | None = None
    pinned: bool = False
    score: float | None = None
    phase_id: str | None = None
    persona: str | None = None
    ended_at: str | None = None
    superseded_by: str | None = None
    explanation: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


def recalled(record: Record, tenant: str, reasons: tuple[str, ...], **more: Any) -> Memory:
    """The record as it is given to an agent, without characters that could mislead it."""
    return Memory(
        id=record.id,
        also_known_as=other_spelling(tenant, record.id),
        space=record.space,
        kind=record.kind,
        event_type=record.event_type,
        tier=record.tier,
        entity=record.entity,
        predicate=cleaned(record.predicate),
        text=cleaned(record.text),
        importance=record.importance,
        classification=record.classification.name,
        provenance=Provenance(
            source=record.source.value,
            authority=record.authority.value,
            trust=record.trust.name.lower(),
            principal=record.principal,
            evidence_refs=record.evidence_refs,
            captures=record.captures,
            promoted_at=shapes.written(record.promoted_at) or "",
            proposal_id=record.proposal_id,
            approved_by=record.approved_by,
            rule=record.rule,
            consent_id=record.consent_id,
            purpose=record.purpose,
            session=record.session,
            derived_from=record.derived_from,
            supersedes=record.supersedes,
        ),
        reasons=(*reasons, f"space:{record.space}"),
        behavioral=record.behavioral,
        warning=SUGGESTIONS if record.behavioral else None,
        pinned=record.pinned,
        phase_id=record.phase.get("phase_id"),
        persona=record.persona,
        ended_at=shapes.written(record.ended_at),
        superseded_by=record.superseded_by,
        **more,
    )


def hash_of(memories: tuple[Memory, ...]) -> str:
    """The hash of what was recalled, in order, as traces tell it."""
    return deterministic_hash((each.kind, each.id) for each in memories)
