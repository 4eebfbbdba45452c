"""Memory write proposals, in exactly the seed's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.promotion import claims, contradictions, shapes
from recollect.domain.promotion.claims import Candidate
from recollect.domain.promotion.codes import ConsentCheck, ContradictionVerdict
from recollect.domain.promotion.contradictions import ContradictionCheck

_FIELDS = frozenset(
    {
        "proposal_id", "candidate", "class", "tier_target", "consent_check", "contradiction_check",
        "auto_promote_eligible",
    }
)  # fmt: skip
CONSENTED = frozenset({ConsentCheck.PASSED, ConsentCheck.NOT_REQUIRED})


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate that passed the gate, as it waits for review. Without consent there is none."""

    proposal_id: str
    candidate: Candidate
    write_class: WriteClass
    tier_target: Tier
    consent_check: ConsentCheck
    contradiction_check: ContradictionCheck
    auto_promote_eligible: bool

    def __post_init__(self) -> None:
        if self.consent_check not in CONSENTED:
            raise InvalidValue("a candidate without consent never enters the queue", field="consent_check")
        if self.auto_promote_eligible and self.tier_target is Tier.DURABLE:
            raise InvalidValue("nothing is promoted to the durable tier by itself", field="auto_promote_eligible")
        if self.auto_promote_eligible and self.contradiction_check.verdict is ContradictionVerdict.CONTRADICTS:
            raise InvalidValue("nothing that contradicts is promoted by itself", field="auto_promote_eligible")


def proposal_of(given: object) -> Proposal:
    """The proposal that this JSON object says."""
    told = shapes.members(given, "a proposal", _FIELDS)
    return Proposal(
        shapes.text(told["proposal_id"], "proposal_id"),
        claims.candidate_of(told["candidate"]),
        shapes.one_of(WriteClass, told["class"], "class"),
        shapes.one_of(Tier, told["tier_target"], "tier_target"),
        shapes.one_of(ConsentCheck, told["consent_check"], "consent_check"),
        contradictions.check_of(told["contradiction_check"]),
        shapes.truth(told["auto_promote_eligible"], "auto_promote_eligible"),
    )


def as_json(proposal: Proposal) -> dict[str, Any]:
    """The proposal as the seed writes it."""
    return {
        "proposal_id": proposal.proposal_id,
        "candidate": claims.as_json(proposal.candidate),
        "class": proposal.write_class.value,
        "tier_target": proposal.tier_target.value,
        "consent_check": proposal.consent_check.value,
        "contradiction_check": contradictions.as_json(proposal.contradiction_check),
        "auto_promote_eligible": proposal.auto_promote_eligible,
    }
