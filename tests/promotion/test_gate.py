"""What keeps a candidate out of the queue, in order; what makes it a risk; what needs no person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.promotion.things import (
    AROUND,
    AT,
    CANDIDATE,
    CONSENT,
    DAY,
    LEDGER,
    PLAIN,
    POLICY,
    STANDING,
    SUBMISSION,
    TENANT,
    known,
)

from recollect.domain.errors import InvalidValue
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import gate, risk
from recollect.domain.promotion.claims import Sensitivity
from recollect.domain.promotion.codes import ConsentCheck, ContradictionVerdict, Risk, RiskReason
from recollect.domain.promotion.consent_checks import NOT_REQUIRED
from recollect.domain.promotion.consents import added, ledger_of, revocation
from recollect.domain.promotion.gate import Queued, Refused, Submission, Surroundings, WritePolicy, passed
from recollect.domain.promotion.review import rejected
from recollect.domain.promotion.risk import AutoRule, assessed, may_promote_itself
from recollect.domain.promotion.standing import Classification, Standing, Trust

R = Reason
NO_LEDGER = ledger_of(TENANT, [])
REVOKED = added(LEDGER, revocation(CONSENT, "cns_2", AT, ("ref",)))
REJECTED = (rejected(TENANT, PLAIN, proposal_id="p", reviewer_id="r", at=AT),)
TOKEN = "gh" + "p_" + "a1B2c3D4e5" * 4
UNTRUSTED = Standing(Trust.UNTRUSTED, Classification.INTERNAL)


def of(candidate: Any = PLAIN, **changes: Any) -> Submission:
    return replace(SUBMISSION, candidate=candidate, **changes)


@pytest.mark.parametrize(
    ("submission", "around", "policy", "reason"),
    [
        (SUBMISSION, AROUND, POLICY, None),
        (of(), AROUND, POLICY, None),
        # secrets, wherever they stand
        (of(replace(PLAIN, value=TOKEN)), AROUND, POLICY, R.PRIVACY_DENY_SENSITIVE),
        (of(replace(PLAIN, value={"note": ["x", f"use {TOKEN}"]})), AROUND, POLICY, R.PRIVACY_DENY_SENSITIVE),
        (of(replace(PLAIN, value={TOKEN: 1})), AROUND, POLICY, R.PRIVACY_DENY_SENSITIVE),
        (of(replace(PLAIN, evidence_refs=(TOKEN,))), AROUND, POLICY, R.PRIVACY_DENY_SENSITIVE),
        # the class and its allow-list
        (of(), AROUND, WritePolicy(allowed={}), R.CLASS_NOT_ALLOWED),
        (of(), AROUND, WritePolicy(allowed={WriteClass.CORRECTION: None}), R.CLASS_NOT_ALLOWED),
        (of(), AROUND, WritePolicy(allowed={WriteClass.PREFERENCE: frozenset()}), R.PREDICATE_NOT_ALLOWED),
        (of(), AROUND, WritePolicy(allowed={WriteClass.PREFERENCE: frozenset({"favourite_tea"})}), None),
        # the floor
        (of(replace(PLAIN, confidence=0.49)), AROUND, POLICY, R.CONFIDENCE_BELOW_FLOOR),
        (of(replace(PLAIN, confidence=0.5)), AROUND, POLICY, None),
        # consent, for every class, by predicate, by classification, by what is in the value
        (SUBMISSION, Surroundings(NO_LEDGER), POLICY, R.CONSENT_MISSING),
        (SUBMISSION, Surroundings(REVOKED), POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, write_class=WriteClass.EVIDENCE_LINK), Surroundings(NO_LEDGER), POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, write_class=WriteClass.DECISION_OUTCOME), Surroundings(NO_LEDGER), POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, write_class=WriteClass.CORRECTION), Surroundings(NO_LEDGER), POLICY, R.CONSENT_MISSING),
        (of(replace(PLAIN, value="write to bob@example.org")), AROUND, POLICY, R.CONSENT_MISSING),
        (of(replace(PLAIN, value=4111111111111111)), AROUND, POLICY, R.CONSENT_MISSING),
        (of(standing=Standing(Trust.ASSERTED, Classification.RESTRICTED)), AROUND, POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, subject_ceid="customer:cus_1"), AROUND, POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, tenant_id="tenant_other"), AROUND, POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE, purpose="marketing"), AROUND, POLICY, R.CONSENT_MISSING),
        (of(CANDIDATE), AROUND, WritePolicy(sensitivity=Sensitivity(frozenset(), frozenset())), None),
        # the source
        (of(standing=UNTRUSTED), AROUND, POLICY, R.SOURCE_UNTRUSTED),
        (of(standing=UNTRUSTED), AROUND, replace(POLICY, refuse_untrusted=False), None),
        (of(standing=UNTRUSTED, write_class=WriteClass.CORRECTION), AROUND, POLICY, R.SOURCE_UNTRUSTED),
        (of(standing=UNTRUSTED, write_class=WriteClass.EVIDENCE_LINK), AROUND, POLICY, None),
        # evidence
        (of(replace(PLAIN, evidence_refs=())), AROUND, POLICY, R.EVIDENCE_MISSING),
        (of(replace(PLAIN, evidence_refs=("memory:1", "mem-2", "record:3"))), AROUND, POLICY, R.EVIDENCE_RECALLED),
        (of(replace(PLAIN, evidence_refs=("memory:1", "session:2"))), AROUND, POLICY, None),
        # what was rejected before
        (of(), Surroundings(LEDGER, rejections=REJECTED), POLICY, R.REJECTED_BEFORE),
        (of(replace(PLAIN, value="OOLONG ")), Surroundings(LEDGER, rejections=REJECTED), POLICY, R.REJECTED_BEFORE),
        (
            of(replace(PLAIN, confidence=1.0, evidence_refs=("new:1",))),
            Surroundings(LEDGER, rejections=REJECTED),
            POLICY,
            R.REJECTED_BEFORE,
        ),
        (of(replace(PLAIN, value="sencha")), Surroundings(LEDGER, rejections=REJECTED), POLICY, None),
        (of(tenant_id="tenant_other"), Surroundings(LEDGER, rejections=REJECTED), POLICY, None),
        (of(write_class=WriteClass.CORRECTION), Surroundings(LEDGER, rejections=REJECTED), POLICY, None),
        # in order: the first reason is told
        (
            of(replace(CANDIDATE, value=TOKEN, confidence=0.1)),
            Surroundings(NO_LEDGER),
            POLICY,
            R.PRIVACY_DENY_SENSITIVE,
        ),
        (of(replace(CANDIDATE, confidence=0.1)), Surroundings(NO_LEDGER), POLICY, R.CONFIDENCE_BELOW_FLOOR),
        (of(CANDIDATE, standing=UNTRUSTED), Surroundings(NO_LEDGER), POLICY, R.CONSENT_MISSING),
        (of(replace(PLAIN, evidence_refs=()), standing=UNTRUSTED), AROUND, POLICY, R.SOURCE_UNTRUSTED),
    ],
)
def test_the_gate(submission: Submission, around: Surroundings, policy: WritePolicy, reason: R | None) -> None:
    found = passed(submission, around, policy, "mwp_1")
    assert (found.reason if isinstance(found, Refused) else None) == reason


def test_what_was_found_of_the_consent_is_told_with_the_refusal() -> None:
    refused = passed(SUBMISSION, Surroundings(REVOKED), POLICY, "mwp_1")
    assert isinstance(refused, Refused)
    assert refused.consent is not None
    assert refused.consent.check is ConsentCheck.REVOKED
    early = passed(of(replace(PLAIN, confidence=0.1)), AROUND, POLICY, "mwp_1")
    assert early == Refused(R.CONFIDENCE_BELOW_FLOOR)


def test_a_refusal_shows_no_value() -> None:
    refused = passed(of(replace(PLAIN, value=TOKEN)), AROUND, POLICY, "mwp_1")
    assert TOKEN[4:14] not in repr(refused)
    assert TOKEN[4:14] not in repr(of(replace(PLAIN, value=TOKEN)))


def test_a_policy_has_a_floor_between_0_and_1() -> None:
    with pytest.raises(InvalidValue):
        WritePolicy(confidence_floor=1.1)


# -- risk


NONE = ContradictionVerdict.NO_CONFLICT


@pytest.mark.parametrize(
    ("changes", "risk", "reasons"),
    [
        ({}, Risk.LOW, ()),
        ({"personal": True}, Risk.MEDIUM, (RiskReason.PERSONAL,)),
        ({"verdict": ContradictionVerdict.SAME_VALUE}, Risk.LOW, ()),
        ({"verdict": ContradictionVerdict.CORRECTS}, Risk.MEDIUM, (RiskReason.CORRECTS,)),
        ({"verdict": ContradictionVerdict.RESOLVED_FOR_CANDIDATE}, Risk.MEDIUM, (RiskReason.CORRECTS,)),
        ({"verdict": ContradictionVerdict.RESOLVED_FOR_EXISTING}, Risk.HIGH, (RiskReason.CONTRADICTS,)),
        ({"verdict": ContradictionVerdict.CONTRADICTS}, Risk.HIGH, (RiskReason.CONTRADICTS,)),
        ({"tier": Tier.DURABLE}, Risk.HIGH, (RiskReason.DURABLE,)),
        ({"cross_space": True}, Risk.HIGH, (RiskReason.CROSS_SPACE,)),
        ({"classification": Classification.PUBLIC}, Risk.LOW, ()),
        ({"classification": Classification.CONFIDENTIAL}, Risk.HIGH, (RiskReason.REGULATED,)),
        ({"classification": Classification.RESTRICTED}, Risk.HIGH, (RiskReason.REGULATED,)),
        ({"trust": Trust.INFERRED}, Risk.HIGH, (RiskReason.BEHAVIORAL, RiskReason.INFERRED)),
        (
            {"trust": Trust.INFERRED, "write_class": WriteClass.EVIDENCE_LINK},
            Risk.MEDIUM,
            (RiskReason.INFERRED,),
        ),
        (
            {"trust": Trust.UNTRUSTED, "write_class": WriteClass.DECISION_OUTCOME},
            Risk.HIGH,
            (RiskReason.UNTRUSTED,),
        ),
        ({"trust": Trust.IMPOSED, "write_class": WriteClass.CORRECTION}, Risk.LOW, ()),
    ],
)
def test_the_risk(changes: dict[str, Any], risk: Risk, reasons: tuple[RiskReason, ...]) -> None:
    found = assessed(
        changes.get("write_class", WriteClass.PREFERENCE),
        changes.get("tier", Tier.SEMANTIC),
        Standing(changes.get("trust", Trust.ASSERTED), changes.get("classification", Classification.INTERNAL)),
        changes.get("verdict", NONE),
        personal=changes.get("personal", False),
        cross_space=changes.get("cross_space", False),
    )
    assert (found.risk, found.reasons) == (risk, reasons)


# -- what needs no person


@pytest.mark.parametrize(
    ("rules", "changes", "by_itself"),
    [
        ((), {}, False),
        ((AutoRule(WriteClass.PREFERENCE),), {}, True),
        ((AutoRule(WriteClass.CORRECTION),), {}, False),
        ((AutoRule(WriteClass.CORRECTION), AutoRule(WriteClass.PREFERENCE)), {}, True),
        ((AutoRule(WriteClass.PREFERENCE),), {"candidate": replace(PLAIN, confidence=0.89)}, False),
        ((AutoRule(WriteClass.PREFERENCE),), {"candidate": CANDIDATE}, False),
        ((AutoRule(WriteClass.PREFERENCE, most_risk=Risk.MEDIUM),), {"candidate": CANDIDATE}, True),
        ((AutoRule(WriteClass.PREFERENCE, least_trust=Trust.VERIFIED),), {}, False),
        ((AutoRule(WriteClass.PREFERENCE, deepest_tier=Tier.EPISODIC),), {}, False),
        ((AutoRule(WriteClass.PREFERENCE, Risk.HIGH, Tier.DURABLE),), {"tier_asked": Tier.DURABLE}, False),
        ((AutoRule(WriteClass.PREFERENCE, Risk.HIGH),), {"cross_space": True}, False),
    ],
)
def test_promotion_without_a_person_is_an_explicit_choice(
    rules: tuple[AutoRule, ...], changes: dict[str, Any], by_itself: bool
) -> None:
    queued = passed(of(**changes), AROUND, WritePolicy(auto_rules=rules), "mwp_1")
    assert isinstance(queued, Queued)
    assert queued.proposal.auto_promote_eligible is by_itself


def test_what_contradicts_waits_for_a_person_whatever_the_rules() -> None:
    around = replace(AROUND, known=(known(),))
    queued = passed(SUBMISSION, around, POLICY, "mwp_1")
    assert isinstance(queued, Queued)
    assert queued.proposal.contradiction_check.existing == "rec_1"
    assert queued.risk.risk is Risk.HIGH
    assert not queued.proposal.auto_promote_eligible


def test_a_correction_goes_to_the_tier_of_what_it_corrects() -> None:
    asked = of(write_class=WriteClass.CORRECTION, tier_corrected=Tier.EPISODIC)
    queued = passed(asked, AROUND, POLICY, "mwp_1")
    assert isinstance(queued, Queued)
    assert queued.proposal.tier_target is Tier.EPISODIC


# -- invariants, whatever is submitted

submissions = st.builds(
    Submission,
    st.sampled_from([TENANT, "tenant_other"]),
    st.builds(
        lambda entity, predicate, value, confidence, refs: replace(
            CANDIDATE,
            entity_ceid=entity,
            predicate=predicate,
            value=value,
            confidence=confidence,
            evidence_refs=refs,
        ),
        st.sampled_from(["customer:cus_77", "customer:cus_78"]),
        st.sampled_from(["preferred_language", "home_address", "favourite_tea"]),
        st.sampled_from(["de", "bob@example.org", TOKEN, 7, None]),
        st.floats(0, 1),
        st.sampled_from([("session:1",), (), ("memory:1",)]),
    ),
    st.sampled_from(WriteClass),
    st.builds(Standing, st.sampled_from(Trust), st.sampled_from(Classification)),
    st.sampled_from([AT, Instant(AT - DAY), Instant(AT + 400 * DAY)]),
    tier_asked=st.none() | st.sampled_from(Tier),
    cross_space=st.booleans(),
)
eager = WritePolicy(
    confidence_floor=0,
    auto_rules=tuple(AutoRule(each, Risk.HIGH, Tier.DURABLE, Trust.UNTRUSTED, 0) for each in WriteClass),
)


def is_sound(submission: Submission, around: Surroundings) -> None:
    """The invariants of the seed, on one submission under the most eager policy that can be written."""
    found = passed(submission, around, eager, "mwp_1")
    if isinstance(found, Refused):
        return
    personal = Sensitivity().covers(submission.candidate, submission.standing.classification)
    assert personal is (found.consent != NOT_REQUIRED)
    if personal:
        record = around.ledger.get(found.consent.consent_id or "")
        assert record is not None
        assert (record.tenant_id, record.subject_ceid) == (submission.tenant_id, submission.candidate.entity_ceid)
        assert submission.candidate.predicate in record.predicates_allowed
        assert record.captured_at <= submission.at < (record.valid_until or submission.at + 1)
        assert record.revoked_at is None
    assert submission.candidate.value != TOKEN
    assert submission.candidate.evidence_refs == ("session:1",)
    if found.proposal.auto_promote_eligible:
        assert found.risk.risk is not Risk.HIGH
        assert found.proposal.tier_target is not Tier.DURABLE
        assert submission.standing.trust > Trust.UNTRUSTED


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(submissions, st.sampled_from([LEDGER, REVOKED, NO_LEDGER]), st.sampled_from([(), (known(),)]))
def test_nothing_enters_the_queue_against_the_rules(submission: Submission, ledger: Any, there: Any) -> None:
    is_sound(submission, Surroundings(ledger, there))


@pytest.mark.parametrize(
    ("name", "fault", "submission"),
    [
        ("consent_for", lambda *_: NOT_REQUIRED, of(CANDIDATE, subject_ceid="customer:cus_1")),
        ("holds_secret", lambda *_: False, of(replace(PLAIN, value=TOKEN))),
        ("_unproven", lambda *_, **__: None, of(replace(PLAIN, evidence_refs=("memory:1",)))),
    ],
)
def test_a_gate_with_a_hole_is_noticed(
    name: str, fault: Any, submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_sound(submission, AROUND)
    monkeypatch.setattr(gate, name, fault)
    with pytest.raises(AssertionError):
        is_sound(submission, AROUND)


def test_a_policy_that_lets_high_risk_through_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(risk, "may_promote_itself", lambda *_: True)
    with pytest.raises(AssertionError):
        is_sound(of(cross_space=True), AROUND)


def test_high_risk_is_never_promoted_without_a_person() -> None:
    grave = assessed(WriteClass.PREFERENCE, Tier.SEMANTIC, STANDING, ContradictionVerdict.CONTRADICTS, personal=False)
    most = (AutoRule(WriteClass.PREFERENCE, Risk.HIGH, Tier.DURABLE, Trust.UNTRUSTED, 0),)
    assert not may_promote_itself(most, grave, WriteClass.PREFERENCE, Tier.SEMANTIC, Trust.IMPOSED, 1.0)
