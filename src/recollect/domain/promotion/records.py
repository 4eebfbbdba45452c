"""Promoted records: the only thing that recall sees, and only while they may be seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import consent_checks, review
from recollect.domain.promotion.codes import ConsentCheck, ContradictionVerdict
from recollect.domain.promotion.consent_checks import Need, Rested
from recollect.domain.promotion.consents import Ledger
from recollect.domain.promotion.gate import Queued, Submission, needed
from recollect.domain.promotion.review import Approval, Authors
from recollect.domain.promotion.standing import Standing
from recollect.domain.promotion.tiers import LIFETIMES, Lifetimes


@dataclass(frozen=True, slots=True)
class PromotedRecord:
    """A memory with its provenance: what it rests on, who let it in, by which consent, and until when it is kept."""

    record_id: str
    tenant_id: str
    entity_ceid: str
    predicate: str
    value: Any = field(repr=False)
    evidence_refs: tuple[str, ...]
    confidence: float
    write_class: WriteClass
    tier: Tier
    standing: Standing
    proposal_id: str
    approved_by: tuple[str, ...]
    """The reviewers; empty when an explicit rule let it in."""
    consent_id: str | None
    need: Need | None
    supersedes: str | None
    promoted_at: Instant
    ends_at: Instant | None

    def visible(self, ledger: Ledger, now: Instant) -> bool:
        """True while recall may give it. Where it may not, recall gives nothing, not even that there is something."""
        if ledger.tenant_id != self.tenant_id or (self.ends_at is not None and self.ends_at <= now):
            return False
        rested = self.rested
        return rested is None or consent_checks.still_covered(ledger, rested, now)

    @property
    def rested(self) -> Rested | None:
        """What it rests on, for the revocation pass; None when it needed no consent."""
        if self.consent_id is None or self.need is None:
            return None
        return Rested(self.record_id, self.consent_id, self.need)


_NOTHING_NEW = {
    ContradictionVerdict.SAME_VALUE: Reason.ALREADY_KNOWN,
    ContradictionVerdict.RESOLVED_FOR_EXISTING: Reason.EXISTING_PREFERRED,
}


def promoted(
    queued: Queued,
    submission: Submission,
    approvals: Iterable[Approval],
    authors: Authors,
    ledger: Ledger,
    *,
    record_id: str,
    now: Instant,
    lifetimes: Lifetimes = LIFETIMES,
) -> PromotedRecord | Reason:
    """The record of a proposal that was approved or may promote itself, or why there is none.

    Consent is looked for again: it may have been taken back while the proposal waited.
    """
    proposal = queued.proposal
    check = proposal.contradiction_check
    if check.verdict in _NOTHING_NEW:
        return _NOTHING_NEW[check.verdict]
    yes = review.counted(approvals, authors, proposal.tier_target)
    if not proposal.auto_promote_eligible and len(yes) < review.approvals_needed(proposal.tier_target):
        return Reason.NOT_APPROVED
    need = None if queued.consent.check is ConsentCheck.NOT_REQUIRED else needed(submission)
    consent = consent_checks.NOT_REQUIRED if need is None else consent_checks.checked(ledger, need, now)
    if not consent.lets_pass:
        return Reason.CONSENT_LOST
    return PromotedRecord(
        record_id,
        submission.tenant_id,
        proposal.candidate.entity_ceid,
        proposal.candidate.predicate,
        proposal.candidate.value,
        proposal.candidate.evidence_refs,
        proposal.candidate.confidence,
        proposal.write_class,
        proposal.tier_target,
        submission.standing,
        proposal.proposal_id,
        tuple(each.reviewer_id for each in yes),
        consent.consent_id,
        need,
        check.existing,
        now,
        lifetimes.ends(proposal.tier_target, proposal.write_class, now),
    )
