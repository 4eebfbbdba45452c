"""Proposals: a statement with where it comes from, what waits of it, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.governance.items import Item
from recollect.domain.governance.terms import Source, Space, Tier
from recollect.domain.instants import Instant
from recollect.domain.promotion.consent_checks import Need, Rested
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.captures import Capture
from recollect.domain.remembering.deciding import Outcome
from recollect.domain.remembering.records import Record, lineage_of
from recollect.domain.statements import Statement
from recollect.ports.policy import Verdict
from recollect.service.pipeline.places import Places


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a statement comes from, and what is asked for it."""

    source: Source
    trust: Trust
    evidence: tuple[str, ...]
    principal: str
    said: str
    """All that was said; what privacy is asked of."""
    classification: Classification = Classification.INTERNAL
    captures: tuple[str, ...] = ()
    session: str | None = None
    subject: str | None = None
    purpose: str | None = None
    tier: Tier | None = None
    space: Space | None = None
    derived_from: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    moved_from: str | None = None
    """The record that is to be known in another space instead of its own."""
    corrects: str | None = None
    """The record of the same space that is to be put right."""
    persona: str | None = None
    """Whose it is to be among the personas of the user; None when all of them may know it."""


def origin_of(capture: Capture, persona: str | None = None) -> Origin:
    """The origin of what was found in a capture; with a persona, of what nobody but that one may know."""
    return Origin(
        source=capture.source,
        trust=capture.trust,
        evidence=capture.evidence,
        principal=capture.principal,
        said=capture.text,
        captures=(capture.id,),
        session=capture.session,
        lineage=lineage_of(capture.id, capture.session, capture.tool, *capture.refs),
        persona=persona,
    )


def origin_of_move(record: Record, target: Space) -> Origin:
    """The origin of a record that is to be known in another space."""
    return Origin(
        source=record.source,
        trust=record.trust,
        evidence=record.evidence_refs,
        principal=record.principal,
        said=record.text,
        classification=record.classification,
        captures=record.captures,
        session=record.session,
        subject=record.subject,
        purpose=record.purpose,
        tier=record.tier,
        space=target,
        derived_from=(record.id,),
        lineage=record.lineage,
        moved_from=record.id,
        persona=record.persona,
    )


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal as it is stored: in the seed's shape, with what is needed to promote it later."""

    proposal: dict[str, Any]
    statement: Statement
    origin: Origin
    places: Places
    space: Space
    made: Item
    """What it becomes: ids and ticks are given out before anything is decided."""
    at: Instant
    status: str = "waiting"
    """`waiting`, `approved`, `rejected`, or `withdrawn` when what it rests on was undone."""
    verdict: str = Verdict.REVIEW.value
    rule: str = ""
    reason: str = ""
    risk: str = "low"
    risk_reasons: tuple[str, ...] = ()
    subject: str | None = None
    """Whose consent it needs; None when it needs none."""
    consent_id: str | None = None
    """The consent that let it in."""
    approvals: tuple[dict[str, Any], ...] = ()
    editors: tuple[str, ...] = ()
    claimed_by: str | None = None
    claimed_until: Instant | None = None
    decided_by: str | None = None
    decided_at: Instant | None = None
    note: str | None = None
    record_id: str | None = None
    contradiction: str | None = None

    @property
    def id(self) -> str:
        """The id of the proposal."""
        return str(self.proposal["proposal_id"])

    def rested(self, tenant: str) -> Rested | None:
        """What it rests on, for the look whether its consent still covers it; None when it needs none."""
        if self.consent_id is None or self.subject is None:
            return None
        need = Need(tenant, self.subject, self.statement.predicate, self.origin.classification, self.origin.purpose)
        return Rested(self.id, self.consent_id, need)

    def labels(self) -> dict[str, Any]:
        """What is kept plain, to be filtered by."""
        told: dict[str, Any] = {
            "status": self.status,
            "class": self.proposal["class"],
            "tier": self.proposal["tier_target"],
            "risk": self.risk,
            "lineage": [*self.origin.lineage[:200], f"principal:{self.origin.principal}"],
            "parents": list(self.origin.derived_from[:50]),
        }
        return told if self.consent_id is None else told | {"consent": self.consent_id}


@dataclass(slots=True)
class Remembered:
    """What became of one statement."""

    outcome: Outcome
    statement: Statement
    reason: str = ""
    rule: str | None = None
    record: Record | None = None
    proposal_id: str | None = None
    existing: str | None = None

    def told(self) -> dict[str, Any]:
        """As callers see it. What was denied is not repeated."""
        hidden = self.outcome is Outcome.DENIED
        told: dict[str, Any] = {
            "outcome": self.outcome.value,
            "event_type": self.statement.event_type.value,
            "text": None if hidden else self.statement.text,
            "reason": str(self.reason),
        }
        optional = {
            "rule": self.rule,
            "record_id": None if self.record is None else self.record.id,
            "proposal_id": self.proposal_id,
            "existing": self.existing,
        }
        return told | {name: value for name, value in optional.items() if value is not None}
