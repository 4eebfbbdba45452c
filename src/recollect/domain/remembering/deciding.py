"""Deciding: what becomes of one statement, by every rule in order, as one value with its reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.domain.governance.axes import AXES, kind_of
from recollect.domain.governance.conflicts import Conflict, authority_in, resolve, standing_of
from recollect.domain.governance.events import Weight, is_low_signal, weighed
from recollect.domain.governance.gate import Candidate as Attempt
from recollect.domain.governance.gate import Verdict, judged
from recollect.domain.governance.items import Item
from recollect.domain.governance.keys import dedup_key, fact_key
from recollect.domain.governance.policy import PROFILE_KEYS, Contract, Privacy, Settings, SpaceRules, contract_of
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import (
    Authority,
    EventType,
    ForgetPolicy,
    Kind,
    Source,
    Space,
    WriteClass,
)
from recollect.domain.promotion import gate
from recollect.domain.promotion.codes import ConsentCheck, ContradictionVerdict, Preference
from recollect.domain.promotion.contradictions import ContradictionRules
from recollect.domain.promotion.gate import Queued, Refused, Submission, Surroundings, WritePolicy
from recollect.domain.promotion.standing import Trust
from recollect.domain.remembering.records import Record
from recollect.domain.statements import Statement

AUTHORITY_OF = {
    Trust.IMPOSED: Authority.SYSTEM_IMPOSED,
    Trust.VERIFIED: Authority.TOOL_VERIFIED,
    Trust.ASSERTED: Authority.USER_ASSERTED,
    Trust.INFERRED: Authority.AI_INFERRED,
    Trust.UNTRUSTED: Authority.AI_INFERRED,
}
ORIGIN_OF = {
    Trust.IMPOSED: "imposed",
    Trust.VERIFIED: "tool_verified",
    Trust.ASSERTED: "user_stated",
    Trust.INFERRED: "inferred",
    Trust.UNTRUSTED: "untrusted",
}
"""Where a proposal comes from, in the words of the policy."""


class Outcome(StrEnum):
    """What became of a statement."""

    PROMOTED = "promoted"
    """It is a record now."""
    WAITING = "waiting"
    """It waits for a person."""
    DENIED = "denied"
    """The gate kept it out."""
    REJECTED = "rejected"
    """The policy, or a person, said no."""
    KNOWN = "known"
    """A record says the same."""
    OUTRANKED = "outranked"
    """A record says something else, and counts more."""


def usual_contract() -> Contract:
    """The contract of what is captured, where a tenant has none of its own.

    What is forgotten is decided by tiers and their times to live, not by ticks; records go to the user's own space as
    well as to the session's; and credentials are found by what they look like, so that no words are forbidden.
    """
    settings = Settings(semantic=True, profile=True, forget_policy=ForgetPolicy.NEVER)
    usual = contract_of(settings)
    return replace_contract(
        usual,
        privacy=Privacy(deny_patterns=(), allow_profile_keys=PROFILE_KEYS),
        spaces=SpaceRules(write_spaces=(Space.SESSION, Space.USER), promotions=usual.spaces.promotions),
    )


def replace_contract(contract: Contract, **changes: object) -> Contract:
    """The contract with some of its terms changed."""
    kept = {name: getattr(contract, name) for name in Contract.__struct_fields__}
    return Contract(**(kept | changes))


@dataclass(frozen=True, slots=True)
class Considered:
    """A statement with all that the rules say of it, before anybody reviews it."""

    statement: Statement
    kind: Kind
    write_class: WriteClass
    dedup_key: str
    weight: Weight
    authority: Authority
    verdict: Verdict
    """What the gate of the contract says."""
    passed: Queued | Refused | None = None
    """What the gate of the queue says; None where the contract refused it."""
    conflict: Conflict | None = None
    contradicts_authority: bool = False

    @property
    def reason(self) -> Reason | None:
        """Why it was kept out; None when it was not."""
        if not self.verdict.allowed:
            return self.verdict.reason
        return self.passed.reason if isinstance(self.passed, Refused) else None


def kind_for(statement: Statement, corrected: Record | None) -> Kind:
    """The kind of a record: profile only for the keys that have one."""
    keyed = statement.key in PROFILE_KEYS
    kind = kind_of(statement.event_type, keyed=keyed, corrected=None if corrected is None else corrected.kind)
    if kind is Kind.PROFILE and statement.event_type not in (EventType.FACT, EventType.CORRECTION):
        return Kind.SEMANTIC
    return kind


def key_for(statement: Statement, kind: Kind) -> str:
    """The key that all statements share which say the same, or are about one value."""
    if kind is Kind.PROFILE and statement.key:
        return fact_key(statement.key)
    return dedup_key(statement.event_type, statement.text)


def attempt_of(statement: Statement, kind: Kind, said: str) -> Attempt:
    """What the gate of the contract looks at; privacy is asked of all that was said."""
    return Attempt(
        kind=kind,
        event_type=statement.event_type,
        text=said,
        key=statement.key,
        low_signal=is_low_signal(statement.text),
    )


def considered(
    statement: Statement,
    submission: Submission,
    around: Surroundings,
    rivals: tuple[Record, ...],
    contract: Contract,
    policy: WritePolicy,
    *,
    source: Source,
    made: Item,
    said: str,
    proposal_id: str,
) -> Considered:
    """What the rules say of a statement, from the contract's gate to the risk, in their order.

    `made` is the item that it would become: ids and ticks are given out before anything is decided.
    """
    kind, authority = made.kind, authority_in(made)
    write_class = submission.write_class
    weight = weighed(statement.event_type, statement.text, source)
    verdict = judged(attempt_of(statement, kind, said), contract)
    first = Considered(statement, kind, write_class, made.meta.dedup_key or "", weight, authority, verdict)
    if not verdict.allowed:
        return first
    conflict = decided_conflict(made, rivals, contract)
    settled = settled_rules(policy.contradictions, submission, conflict, made)
    passed = gate.passed(submission, around, replace(policy, contradictions=settled), proposal_id)
    against = is_against_authority(passed, rivals, authority, contract)
    return replace(first, passed=passed, conflict=conflict, contradicts_authority=against)


def decided_conflict(made: Item, rivals: tuple[Record, ...], contract: Contract) -> Conflict | None:
    """The conflict with the strongest of the records about the same thing; None where there is none."""
    found: Conflict | None = None
    for rival in rivals:
        conflict = resolve(rival.item(), made, contract.authority_order)
        if found is None or conflict.winner.id != made.id:
            found = conflict
    return found


def settled_rules(
    rules: ContradictionRules, submission: Submission, conflict: Conflict | None, made: Item
) -> ContradictionRules:
    """The tenant's rules, and the shipped one: of equal authority, what was said later takes the place.

    It is a rule like others, so what it settles is told as a contradiction that a rule resolved. What has less
    authority than what is known never takes its place by a rule.
    """
    predicate = submission.candidate.predicate
    if conflict is None or predicate in rules.settled or predicate in rules.many_valued:
        return rules
    if conflict.winner.id != made.id or submission.standing.trust < Trust.ASSERTED:
        return rules
    return replace(rules, settled={**rules.settled, predicate: Preference.NEWER})


def is_against_authority(
    passed: Queued | Refused, rivals: tuple[Record, ...], authority: Authority, contract: Contract
) -> bool:
    """True when it says something else than a record of higher authority, and does not outrank it."""
    if isinstance(passed, Refused):
        return False
    check = passed.proposal.contradiction_check
    if check.verdict is not ContradictionVerdict.CONTRADICTS:
        return False
    order = contract.authority_order
    existing = next((each for each in rivals if each.id == check.existing), None)
    return existing is None or standing_of(existing.authority, order) <= standing_of(authority, order)


def asked_of_policy(found: Considered, queued: Queued, submission: Submission, space: Space) -> dict[str, object]:
    """What the policy is told of a proposal: everything it may decide by, and nothing of what it says."""
    proposal = queued.proposal
    trust = submission.standing.trust
    return {
        "class": proposal.write_class.value,
        "event_type": found.statement.event_type.value,
        "predicate": proposal.candidate.predicate,
        "tier_target": proposal.tier_target.value,
        "space": space.value,
        "origin": ORIGIN_OF[trust],
        "behavioral": AXES[found.statement.event_type].behavioral,
        "channel_trusted": trust >= Trust.ASSERTED,
        "personal": queued.consent.check is not ConsentCheck.NOT_REQUIRED,
        "crosses_spaces": submission.cross_space,
        "contradiction": proposal.contradiction_check.verdict.value,
        "contradicts_authority": found.contradicts_authority,
        "consent_check": proposal.consent_check.value,
        "rejected_before": False,
        "confidence": proposal.candidate.confidence,
        "risk": queued.risk.risk.value,
        "risk_reasons": [each.value for each in queued.risk.reasons],
    }
