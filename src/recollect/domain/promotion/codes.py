"""Every "which" and "why" of promotion, as closed sets: codes are public, added and never renamed."""

from __future__ import annotations

from enum import StrEnum


class Basis(StrEnum):
    """What makes keeping personal data lawful. The seed names the first; the others are those of the GDPR."""

    USER_OPT_IN = "user_opt_in"
    CONTRACT = "contract"
    LEGAL_OBLIGATION = "legal_obligation"
    VITAL_INTEREST = "vital_interest"
    PUBLIC_TASK = "public_task"
    LEGITIMATE_INTEREST = "legitimate_interest"


class ConsentState(StrEnum):
    """Where a consent stands in its life."""

    CAPTURED = "captured"
    """It is on record and not yet in force: the moment it was captured at lies ahead."""
    ACTIVE = "active"
    """It is in force."""
    SUPERSEDED = "superseded"
    """A newer record stands in its place."""
    REVOKED = "revoked"
    """It was taken back."""
    EXPIRED = "expired"
    """Its time is over."""
    TOMBSTONED = "tombstoned"
    """It was revoked or expired, and what rested on it is gone."""


class ConsentCheck(StrEnum):
    """What looking for a consent found. Whatever is neither of the first two keeps a candidate out of the queue."""

    PASSED = "passed"
    """A live consent covers it."""
    NOT_REQUIRED = "not_required"
    """It is about nobody, or about nothing personal."""
    MISSING = "missing"
    """There is no consent of this subject in this tenant."""
    PURPOSE_NOT_COVERED = "purpose_not_covered"
    """There is a consent, for another purpose."""
    PREDICATE_NOT_COVERED = "predicate_not_covered"
    """There is a consent, which does not name the predicate."""
    CLASSIFICATION_NOT_COVERED = "classification_not_covered"
    """There is a consent, which does not name the classification."""
    NOT_YET_IN_FORCE = "not_yet_in_force"
    """There is a consent that would cover it, from a later moment on."""
    EXPIRED = "expired"
    """There was a consent, whose time is over."""
    REVOKED = "revoked"
    """There was a consent, which was taken back."""


class LedgerFlaw(StrEnum):
    """Why a consent record cannot be added to the ledger."""

    ID_TAKEN = "id_taken"
    """Records are never modified: one with this id is there."""
    OTHER_TENANT = "other_tenant"
    """Consent never reaches from one tenant to another."""
    NOTHING_TO_SUPERSEDE = "nothing_to_supersede"
    """It supersedes a record that is not there."""
    ALREADY_SUPERSEDED = "already_superseded"
    """What it supersedes has been superseded by another."""
    OTHER_SUBJECT = "other_subject"
    """It supersedes a record of somebody else."""
    REVOKED_IS_FINAL = "revoked_is_final"
    """What it supersedes was revoked: consent is asked for anew, and not mended."""
    GOES_BACK = "goes_back"
    """It was captured before what it supersedes."""


class ContradictionVerdict(StrEnum):
    """What a candidate is beside the record on the same entity and predicate."""

    NO_CONFLICT = "no_conflict"
    """Nothing is known there, or many values may be."""
    SAME_VALUE = "same_value"
    """It says what is known."""
    CORRECTS = "corrects"
    """It is a correction of sufficient authority, and outranks what is known."""
    CONTRADICTS = "contradicts"
    """It says something else: a person decides."""
    RESOLVED_FOR_CANDIDATE = "resolved_for_candidate"
    """It says something else, and an explicit rule prefers it."""
    RESOLVED_FOR_EXISTING = "resolved_for_existing"
    """It says something else, and an explicit rule prefers what is known."""


class Preference(StrEnum):
    """How an explicit rule settles contradictions on a predicate."""

    NEWER = "newer"
    """What was said later."""
    MORE_TRUSTED = "more_trusted"
    """What comes from the more trusted source; of equals, neither."""


class Risk(StrEnum):
    """How much harm a wrong memory could do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class RiskReason(StrEnum):
    """What makes a candidate a risk."""

    PERSONAL = "personal"
    """It is about a person's data."""
    REGULATED = "regulated"
    """Its classification is confidential or stricter."""
    DURABLE = "durable"
    """It is to be kept for months or years."""
    CONTRADICTS = "contradicts"
    """It says something else than what is known."""
    CORRECTS = "corrects"
    """It puts something else in place of what is known."""
    BEHAVIORAL = "behavioral"
    """It changes how an agent acts, and comes from a source that is not fully trusted."""
    INFERRED = "inferred"
    """Nobody said it: it was concluded."""
    UNTRUSTED = "untrusted"
    """It comes from a source that anybody can write to."""
    CROSS_SPACE = "cross_space"
    """It is to be seen beyond where it was said."""


class ReviewFlaw(StrEnum):
    """Why an approval does not count."""

    NOT_HUMAN = "not_human"
    """It was given by a program."""
    OWN_PROPOSAL = "own_proposal"
    """Whoever it comes from approved it."""
    SAME_REVIEWER = "same_reviewer"
    """The same person has approved it already."""
    OTHER_TENANT = "other_tenant"
    """It was given in another tenant."""


class SignalKind(StrEnum):
    """What the improvement loop is told."""

    CORRECTION_APPLIED = "correction_applied"
    """A person corrected what was remembered."""
    CANDIDATE_REJECTED = "candidate_rejected"
    """A person rejected what was extracted."""
    CANDIDATE_EDITED = "candidate_edited"
    """A person approved it in other words."""
    CONTRADICTION_RESOLVED = "contradiction_resolved"
    """A contradiction was settled."""
    CONSENT_IMPACT = "consent_impact"
    """A consent was taken back on which a large number of records rested."""


class Notice(StrEnum):
    """The names of the events of promotion."""

    CONTRADICTION = "memory.contradiction"
    CONSENT_REVOKED = "memory.consent_revoked"
