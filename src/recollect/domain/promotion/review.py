"""Review: who may approve, how many it takes, and what was rejected before."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.claims import Candidate, digest
from recollect.domain.promotion.codes import ReviewFlaw
from recollect.domain.promotion.contradictions import CORRECTS_FROM
from recollect.domain.promotion.standing import Trust


@dataclass(frozen=True, slots=True)
class Approval:
    """One reviewer's yes."""

    tenant_id: str
    reviewer_id: str
    human: bool
    at: Instant


@dataclass(frozen=True, slots=True)
class Authors:
    """Those whom a proposal comes from: who said it, who extracted it, who proposed it, who edited it."""

    tenant_id: str
    principals: frozenset[str]


def approvals_needed(tier: Tier) -> int:
    """Four eyes for what is kept for months or years, two for all else."""
    return 2 if tier is Tier.DURABLE else 1


def flaw_in(approval: Approval, earlier: Iterable[Approval], authors: Authors, tier: Tier) -> ReviewFlaw | None:
    """Why the approval does not count; None when it does.

    For the durable tier nobody approves what comes from themself. Elsewhere they may: a person who corrects a record
    in the review queue is its author.
    """
    if approval.tenant_id != authors.tenant_id:
        return ReviewFlaw.OTHER_TENANT
    if not approval.human:
        return ReviewFlaw.NOT_HUMAN
    if tier is Tier.DURABLE and approval.reviewer_id in authors.principals:
        return ReviewFlaw.OWN_PROPOSAL
    if any(each.reviewer_id == approval.reviewer_id for each in earlier):
        return ReviewFlaw.SAME_REVIEWER
    return None


def counted(approvals: Iterable[Approval], authors: Authors, tier: Tier) -> tuple[Approval, ...]:
    """The approvals that count, in their order."""
    found: list[Approval] = []
    for each in approvals:
        if flaw_in(each, found, authors, tier) is None:
            found.append(each)
    return tuple(found)


def is_approved(approvals: Iterable[Approval], authors: Authors, tier: Tier) -> bool:
    """True when enough approvals count."""
    return len(counted(approvals, authors, tier)) >= approvals_needed(tier)


@dataclass(frozen=True, slots=True)
class Rejection:
    """What a reviewer rejected, by its digest: what was not to be kept is not kept here either."""

    tenant_id: str
    claim: bytes
    proposal_id: str
    reviewer_id: str
    at: Instant


def rejected(tenant_id: str, candidate: Candidate, *, proposal_id: str, reviewer_id: str, at: Instant) -> Rejection:
    """The rejection to remember."""
    return Rejection(tenant_id, digest(tenant_id, candidate), proposal_id, reviewer_id, at)


def rejected_before(
    tenant_id: str,
    candidate: Candidate,
    write_class: WriteClass,
    trust: Trust,
    rejections: Collection[Rejection],
) -> Rejection | None:
    """The latest rejection of the same claim, however sure the candidate is now and whatever its evidence.

    A correction by somebody who may correct is not matched: a person says it anew, and a person looks at it.
    """
    if write_class is WriteClass.CORRECTION and trust >= CORRECTS_FROM:
        return None
    claim = digest(tenant_id, candidate)
    found = [each for each in rejections if each.tenant_id == tenant_id and each.claim == claim]
    return max(found, key=lambda each: each.at, default=None)
