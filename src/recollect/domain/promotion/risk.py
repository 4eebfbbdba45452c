"""How much harm a candidate could do, and whether an explicit rule lets it be promoted without a person."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.promotion.codes import ContradictionVerdict, Risk, RiskReason
from recollect.domain.promotion.standing import BEHAVIORAL, Classification, Standing, Trust

_HIGH = frozenset(
    {
        RiskReason.REGULATED,
        RiskReason.DURABLE,
        RiskReason.CONTRADICTS,
        RiskReason.BEHAVIORAL,
        RiskReason.UNTRUSTED,
        RiskReason.CROSS_SPACE,
    }
)
_UNSETTLED = frozenset({ContradictionVerdict.CONTRADICTS, ContradictionVerdict.RESOLVED_FOR_EXISTING})
_REPLACES = frozenset({ContradictionVerdict.CORRECTS, ContradictionVerdict.RESOLVED_FOR_CANDIDATE})
_TIERS = tuple(Tier)
_RISKS = tuple(Risk)


@dataclass(frozen=True, slots=True)
class Assessed:
    """The risk, and all that makes it."""

    risk: Risk
    reasons: tuple[RiskReason, ...]


def assessed(
    write_class: WriteClass,
    tier: Tier,
    standing: Standing,
    verdict: ContradictionVerdict,
    *,
    personal: bool,
    cross_space: bool = False,
) -> Assessed:
    """The risk of a candidate: high for one grave reason, medium for any other, low for none."""
    held = {
        RiskReason.PERSONAL: personal,
        RiskReason.REGULATED: standing.classification >= Classification.CONFIDENTIAL,
        RiskReason.DURABLE: tier is Tier.DURABLE,
        RiskReason.CONTRADICTS: verdict in _UNSETTLED,
        RiskReason.CORRECTS: verdict in _REPLACES,
        RiskReason.BEHAVIORAL: write_class in BEHAVIORAL and standing.trust < Trust.ASSERTED,
        RiskReason.INFERRED: standing.trust is Trust.INFERRED,
        RiskReason.UNTRUSTED: standing.trust is Trust.UNTRUSTED,
        RiskReason.CROSS_SPACE: cross_space,
    }
    reasons = tuple(reason for reason in RiskReason if held[reason])
    if _HIGH.intersection(reasons):
        return Assessed(Risk.HIGH, reasons)
    return Assessed(Risk.MEDIUM if reasons else Risk.LOW, reasons)


@dataclass(frozen=True, slots=True)
class AutoRule:
    """What a tenant lets be promoted without a person: a class, up to a risk and tier, from a trust and confidence."""

    write_class: WriteClass
    most_risk: Risk = Risk.LOW
    deepest_tier: Tier = Tier.SEMANTIC
    least_trust: Trust = Trust.ASSERTED
    least_confidence: float = 0.9


def may_promote_itself(
    rules: tuple[AutoRule, ...],
    found: Assessed,
    write_class: WriteClass,
    tier: Tier,
    trust: Trust,
    confidence: float,
) -> bool:
    """True when a rule permits it. Without rules nothing does; high risk and the durable tier never do."""
    if found.risk is Risk.HIGH or tier is Tier.DURABLE:
        return False
    return any(
        rule.write_class is write_class
        and _RISKS.index(found.risk) <= _RISKS.index(rule.most_risk)
        and _TIERS.index(tier) <= _TIERS.index(rule.deepest_tier)
        and trust >= rule.least_trust
        and confidence >= rule.least_confidence
        for rule in rules
    )
