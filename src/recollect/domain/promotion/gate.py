"""The gate before the review queue: what keeps a candidate out, in a fixed order, and the proposal of all else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import consent_checks, contradictions, review, risk, tiers
from recollect.domain.promotion.claims import RECALLED, Candidate, Sensitivity, texts_in
from recollect.domain.promotion.codes import ConsentCheck
from recollect.domain.promotion.consent_checks import Checked, Need
from recollect.domain.promotion.consents import Ledger
from recollect.domain.promotion.contradictions import ContradictionCheck, ContradictionRules, Known, Said
from recollect.domain.promotion.proposals import Proposal
from recollect.domain.promotion.review import Rejection
from recollect.domain.promotion.risk import Assessed, AutoRule
from recollect.domain.promotion.standing import BEHAVIORAL, Standing, Trust
from recollect.domain.scanning import Class, scan


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """What a tenant lets into the queue, and what of it needs no person: nothing, unless a rule says so."""

    confidence_floor: float = 0.5
    allowed: Mapping[WriteClass, frozenset[str] | None] = field(
        default_factory=lambda: MappingProxyType(dict.fromkeys(WriteClass))
    )
    """The classes that may be written, each with its allow-list of predicates; None allows all of them."""
    auto_rules: tuple[AutoRule, ...] = ()
    sensitivity: Sensitivity = field(default_factory=Sensitivity)
    contradictions: ContradictionRules = contradictions.NO_RULES
    refuse_untrusted: bool = False
    """Whether what would change behaviour and comes from an untrusted source is refused; else it waits for a person."""

    def __post_init__(self) -> None:
        if not 0 <= self.confidence_floor <= 1:
            raise InvalidValue("confidence_floor is a number from 0 to 1", field="confidence_floor")


@dataclass(frozen=True, slots=True)
class Submission:
    """A candidate, and what the service knows of it: nothing here is taken from what was said."""

    tenant_id: str
    candidate: Candidate
    write_class: WriteClass
    standing: Standing
    at: Instant
    subject_ceid: str | None = None
    """Whose consent counts; the entity itself, unless it is said."""
    purpose: str | None = None
    tier_asked: Tier | None = None
    tier_corrected: Tier | None = None
    keyed: bool = True
    cross_space: bool = False
    corrects: str | None = None
    """The record that it is meant to put right."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is on record in the tenant, as far as it concerns the candidate."""

    ledger: Ledger
    known: tuple[Known, ...] = ()
    rejections: Collection[Rejection] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a candidate was kept out, and what the look for a consent said, where it came to that."""

    reason: Reason
    consent: Checked | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """The proposal that enters the queue, and what was found on the way."""

    proposal: Proposal
    consent: Checked
    risk: Assessed


def passed(submission: Submission, around: Surroundings, policy: WritePolicy, proposal_id: str) -> Queued | Refused:
    """The proposal, or the first reason against it: secrets, class, confidence, consent, trust, evidence, rejection."""
    unfit = _unfit(submission, policy)
    if unfit is not None:
        return Refused(unfit)
    consent = consent_for(submission, around.ledger, policy.sensitivity)
    if not consent.lets_pass:
        return Refused(Reason.CONSENT_MISSING, consent)
    unproven = _unproven(submission, around.rejections, refuse_untrusted=policy.refuse_untrusted)
    if unproven is not None:
        return Refused(unproven, consent)
    said = Said(
        submission.candidate, submission.write_class, submission.standing.trust, submission.at, submission.corrects
    )
    check = contradictions.checked(said, around.known, policy.contradictions)
    tier = tiers.routed(
        submission.write_class,
        keyed=submission.keyed,
        asked=submission.tier_asked,
        corrected=submission.tier_corrected,
    )
    found = risk.assessed(
        submission.write_class,
        tier,
        submission.standing,
        check.verdict,
        personal=consent.check is not ConsentCheck.NOT_REQUIRED,
        cross_space=submission.cross_space,
    )
    return Queued(_proposal(submission, policy, proposal_id, consent, check, tier, found), consent, found)


def _proposal(
    submission: Submission,
    policy: WritePolicy,
    proposal_id: str,
    consent: Checked,
    check: ContradictionCheck,
    tier: Tier,
    found: Assessed,
) -> Proposal:
    by_itself = risk.may_promote_itself(
        policy.auto_rules,
        found,
        submission.write_class,
        tier,
        submission.standing.trust,
        submission.candidate.confidence,
    )
    return Proposal(proposal_id, submission.candidate, submission.write_class, tier, consent.check, check, by_itself)


def _unfit(submission: Submission, policy: WritePolicy) -> Reason | None:
    """What speaks against the candidate itself, whoever agreed to it."""
    candidate = submission.candidate
    if holds_secret((candidate.entity_ceid, candidate.predicate, *texts_in(candidate.value), *candidate.evidence_refs)):
        return Reason.PRIVACY_DENY_SENSITIVE
    if submission.write_class not in policy.allowed:
        return Reason.CLASS_NOT_ALLOWED
    listed = policy.allowed[submission.write_class]
    if listed is not None and candidate.predicate not in listed:
        return Reason.PREDICATE_NOT_ALLOWED
    return Reason.CONFIDENCE_BELOW_FLOOR if candidate.confidence < policy.confidence_floor else None


def _unproven(submission: Submission, rejections: Collection[Rejection], *, refuse_untrusted: bool) -> Reason | None:
    """What speaks against where the candidate comes from."""
    candidate, trust = submission.candidate, submission.standing.trust
    if refuse_untrusted and submission.write_class in BEHAVIORAL and trust is Trust.UNTRUSTED:
        return Reason.SOURCE_UNTRUSTED
    if not candidate.evidence_refs:
        return Reason.EVIDENCE_MISSING
    if all(each.startswith(RECALLED) for each in candidate.evidence_refs):
        return Reason.EVIDENCE_RECALLED
    before = review.rejected_before(submission.tenant_id, candidate, submission.write_class, trust, rejections)
    return None if before is None else Reason.REJECTED_BEFORE


def consent_for(submission: Submission, ledger: Ledger, sensitivity: Sensitivity) -> Checked:
    """What the look for a consent says, for what is personal; all else needs none.

    The seed's invariant names three classes and leaves out `evidence_link`; its rule says that no personal data is
    written back without consent, and that every such promotion is checked. The stricter of the two holds: all classes.
    """
    if not sensitivity.covers(submission.candidate, submission.standing.classification):
        return consent_checks.NOT_REQUIRED
    return consent_checks.checked(ledger, needed(submission), submission.at)


def needed(submission: Submission) -> Need:
    """What a consent must cover, for the submission to be kept."""
    return Need(
        submission.tenant_id,
        submission.subject_ceid or submission.candidate.entity_ceid,
        submission.candidate.predicate,
        submission.standing.classification,
        submission.purpose,
    )


def holds_secret(texts: Iterable[str]) -> bool:
    """True when one of the texts holds something that opens a door."""
    return any(scan(each, {Class.SECRET}) for each in texts)
