"""What the improvement loop and the log are told: ids, keys and counts, and no values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recollect.domain.governance.terms import WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.codes import ContradictionVerdict, Notice, SignalKind
from recollect.domain.promotion.consents import Consent
from recollect.domain.promotion.proposals import Proposal
from recollect.domain.promotion.review import Rejection

LARGE_IMPACT = 100
"""From so many records on, taking back a consent is worth a note. The seed says "large"."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing to learn from."""

    kind: SignalKind
    tenant_id: str
    about: str
    """The proposal, or the consent."""
    at: Instant
    entity_ceid: str | None = None
    predicate: str | None = None
    existing: str | None = None
    count: int = 1

    def as_json(self) -> dict[str, Any]:
        """The signal as it is written."""
        return {
            "kind": self.kind.value,
            "tenant_id": self.tenant_id,
            "about": self.about,
            "at": shapes.written(self.at),
            "entity_ceid": self.entity_ceid,
            "predicate": self.predicate,
            "existing": self.existing,
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class ConsentRevoked:
    """That a consent was taken back, and how many records rested on it."""

    tenant_id: str
    consent_id: str
    subject_ceid: str
    at: Instant
    impacted: int

    def as_json(self) -> dict[str, Any]:
        """The event as it is written."""
        return {
            "type": Notice.CONSENT_REVOKED.value,
            "tenant_id": self.tenant_id,
            "consent_id": self.consent_id,
            "subject_ceid": self.subject_ceid,
            "at": shapes.written(self.at),
            "impacted": self.impacted,
        }


def on_promotion(tenant_id: str, proposal: Proposal, at: Instant, *, edited: bool = False) -> tuple[Signal, ...]:
    """What a promotion teaches: every explicit correction does, whether or not there was something to correct."""
    kinds = []
    if proposal.write_class is WriteClass.CORRECTION:
        kinds.append(SignalKind.CORRECTION_APPLIED)
    if edited:
        kinds.append(SignalKind.CANDIDATE_EDITED)
    if proposal.contradiction_check.verdict not in (ContradictionVerdict.NO_CONFLICT, ContradictionVerdict.SAME_VALUE):
        kinds.append(SignalKind.CONTRADICTION_RESOLVED)
    entity, predicate = proposal.candidate.key
    existing = proposal.contradiction_check.existing
    return tuple(Signal(kind, tenant_id, proposal.proposal_id, at, entity, predicate, existing) for kind in kinds)


def on_rejection(rejection: Rejection, proposal: Proposal) -> Signal:
    """What a rejection teaches."""
    entity, predicate = proposal.candidate.key
    return Signal(
        SignalKind.CANDIDATE_REJECTED, rejection.tenant_id, rejection.proposal_id, rejection.at, entity, predicate
    )


def on_revocation(
    consent: Consent, tombstoned: Sequence[str], at: Instant, large: int = LARGE_IMPACT
) -> tuple[ConsentRevoked, Signal | None]:
    """The event of a revocation, and a note for the improvement loop when much rested on the consent."""
    revoked = consent.supersedes or consent.consent_id
    event = ConsentRevoked(consent.tenant_id, revoked, consent.subject_ceid, at, len(tombstoned))
    if len(tombstoned) < large:
        return event, None
    return event, Signal(
        SignalKind.CONSENT_IMPACT, consent.tenant_id, revoked, at, consent.subject_ceid, count=len(tombstoned)
    )
