"""Who may approve, what becomes a record, when recall may give it, and what is learned from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.promotion.things import AROUND, AT, CANDIDATE, CONSENT, DAY, LEDGER, PLAIN, POLICY, SUBMISSION, TENANT, known

from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion import review, signals
from recollect.domain.promotion.codes import ContradictionVerdict, Preference, ReviewFlaw, SignalKind
from recollect.domain.promotion.consent_checks import to_tombstone
from recollect.domain.promotion.consents import Ledger, added, ledger_of, revocation
from recollect.domain.promotion.contradictions import ContradictionCheck, ContradictionRules
from recollect.domain.promotion.gate import Queued, Submission, Surroundings, WritePolicy, passed
from recollect.domain.promotion.records import PromotedRecord, promoted
from recollect.domain.promotion.review import (
    Approval,
    Authors,
    counted,
    flaw_in,
    is_approved,
    rejected,
    rejected_before,
)
from recollect.domain.promotion.standing import Trust

MARIA = Approval(TENANT, "maria", True, AT)
TOMASZ = replace(MARIA, reviewer_id="tomasz")
BOT = replace(MARIA, reviewer_id="bot", human=False)
BOB = replace(MARIA, reviewer_id="bob")
STRANGER = replace(MARIA, reviewer_id="eve", tenant_id="tenant_other")
AUTHORS = Authors(TENANT, frozenset({"bob", "agent:planner"}))
REVOCATION = revocation(CONSENT, "cns_2", Instant(AT + DAY), ("ref",))


# -- approvals


@pytest.mark.parametrize(
    ("approval", "earlier", "tier", "flaw"),
    [
        (MARIA, [], Tier.SEMANTIC, None),
        (MARIA, [], Tier.DURABLE, None),
        (TOMASZ, [MARIA], Tier.DURABLE, None),
        (MARIA, [MARIA], Tier.DURABLE, ReviewFlaw.SAME_REVIEWER),
        (MARIA, [replace(MARIA, at=Instant(0))], Tier.DURABLE, ReviewFlaw.SAME_REVIEWER),
        (BOB, [], Tier.DURABLE, ReviewFlaw.OWN_PROPOSAL),
        (BOB, [], Tier.SEMANTIC, None),
        (BOT, [], Tier.DURABLE, ReviewFlaw.NOT_HUMAN),
        (BOT, [], Tier.WORKING, ReviewFlaw.NOT_HUMAN),
        (STRANGER, [], Tier.SEMANTIC, ReviewFlaw.OTHER_TENANT),
    ],
)
def test_which_approvals_count(
    approval: Approval, earlier: list[Approval], tier: Tier, flaw: ReviewFlaw | None
) -> None:
    assert flaw_in(approval, earlier, AUTHORS, tier) == flaw


@pytest.mark.parametrize(
    ("given_", "tier", "enough"),
    [
        ([], Tier.WORKING, False),
        ([MARIA], Tier.WORKING, True),
        ([MARIA], Tier.SEMANTIC, True),
        ([BOT], Tier.SEMANTIC, False),
        ([MARIA], Tier.DURABLE, False),
        ([MARIA, MARIA], Tier.DURABLE, False),
        ([MARIA, BOB], Tier.DURABLE, False),
        ([MARIA, BOT], Tier.DURABLE, False),
        ([MARIA, STRANGER], Tier.DURABLE, False),
        ([MARIA, TOMASZ], Tier.DURABLE, True),
        ([BOT, MARIA, BOB, MARIA, TOMASZ], Tier.DURABLE, True),
    ],
)
def test_how_many_approvals_it_takes(given_: list[Approval], tier: Tier, enough: bool) -> None:
    assert is_approved(given_, AUTHORS, tier) is enough


def has_four_eyes(approvals: list[Approval]) -> None:
    if is_approved(approvals, AUTHORS, Tier.DURABLE):
        people = {each.reviewer_id for each in approvals if each.human and each.tenant_id == TENANT}
        assert len(people - AUTHORS.principals) >= 2


@given(st.lists(st.sampled_from([MARIA, TOMASZ, BOT, BOB, STRANGER])))
def test_durable_takes_two_people_who_did_not_write_it(approvals: list[Approval]) -> None:
    has_four_eyes(approvals)
    assert len({each.reviewer_id for each in counted(approvals, AUTHORS, Tier.DURABLE)}) == len(
        counted(approvals, AUTHORS, Tier.DURABLE)
    )


@pytest.mark.parametrize(
    ("forgotten", "second"),
    [(ReviewFlaw.SAME_REVIEWER, MARIA), (ReviewFlaw.OWN_PROPOSAL, BOB), (ReviewFlaw.NOT_HUMAN, BOT)],
)
def test_a_review_that_counts_too_much_is_noticed(
    forgotten: ReviewFlaw, second: Approval, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = review.flaw_in

    def careless(*asked: Any) -> ReviewFlaw | None:
        flaw = sound(*asked)
        return None if flaw is forgotten else flaw

    monkeypatch.setattr(review, "flaw_in", careless)
    with pytest.raises(AssertionError):
        has_four_eyes([MARIA, second])


# -- rejections


@pytest.mark.parametrize(
    ("changes", "write_class", "trust", "matched"),
    [
        ({}, WriteClass.PREFERENCE, Trust.ASSERTED, True),
        ({}, WriteClass.EVIDENCE_LINK, Trust.ASSERTED, True),
        ({"value": " OOLONG"}, WriteClass.PREFERENCE, Trust.ASSERTED, True),
        ({"confidence": 1.0, "evidence_refs": ("new",)}, WriteClass.PREFERENCE, Trust.IMPOSED, True),
        ({"value": "sencha"}, WriteClass.PREFERENCE, Trust.ASSERTED, False),
        ({"predicate": "favourite_drink"}, WriteClass.PREFERENCE, Trust.ASSERTED, False),
        ({"entity_ceid": "customer:cus_7"}, WriteClass.PREFERENCE, Trust.ASSERTED, False),
        ({}, WriteClass.CORRECTION, Trust.ASSERTED, False),
        ({}, WriteClass.CORRECTION, Trust.IMPOSED, False),
        ({}, WriteClass.CORRECTION, Trust.INFERRED, True),
    ],
)
def test_what_was_rejected_is_recognised(
    changes: dict[str, Any], write_class: WriteClass, trust: Trust, matched: bool
) -> None:
    old = rejected(TENANT, PLAIN, proposal_id="p1", reviewer_id="maria", at=Instant(1))
    new = replace(old, proposal_id="p2", at=Instant(2))
    found = rejected_before(TENANT, replace(PLAIN, **changes), write_class, trust, [new, old])
    assert found == (new if matched else None)
    assert rejected_before("tenant_other", replace(PLAIN, **changes), write_class, trust, [new, old]) is None


def test_a_rejection_keeps_nothing_of_what_was_rejected() -> None:
    kept = rejected(TENANT, replace(PLAIN, value="q7x9"), proposal_id="p1", reviewer_id="maria", at=AT)
    assert "q7x9" not in repr(kept)
    other = rejected("tenant_other", replace(PLAIN, value="q7x9"), proposal_id="p1", reviewer_id="maria", at=AT)
    assert kept.claim != other.claim


# -- records


def queued(submission: Submission = SUBMISSION, around: Surroundings = AROUND, policy: WritePolicy = POLICY) -> Queued:
    found = passed(submission, around, policy, "mwp_1")
    assert isinstance(found, Queued)
    return found


def record_of(
    submission: Submission = SUBMISSION,
    approvals: tuple[Approval, ...] = (),
    ledger: Ledger = LEDGER,
    now: Instant = AT,
    **more: Any,
) -> PromotedRecord | Reason:
    found = queued(submission, **more)
    return promoted(found, submission, approvals, AUTHORS, ledger, record_id="rec_9", now=now)


def test_a_record_names_its_consent_its_proposal_and_its_evidence() -> None:
    record = record_of()
    assert isinstance(record, PromotedRecord)
    assert (record.consent_id, record.proposal_id) == (CONSENT.consent_id, "mwp_1")
    assert (record.evidence_refs, record.approved_by) == (CANDIDATE.evidence_refs, ())
    assert (record.tier, record.ends_at, record.supersedes) == (Tier.SEMANTIC, None, None)
    assert "email" not in repr(record).replace("prefers_communication_channel", "")


SETTLED = ContradictionRules(settled={CANDIDATE.predicate: Preference.NEWER})


@pytest.mark.parametrize(
    ("asked", "flaw"),
    [
        ({}, None),
        ({"policy": WritePolicy()}, Reason.NOT_APPROVED),
        ({"policy": WritePolicy(), "approvals": (MARIA,)}, None),
        ({"policy": WritePolicy(), "approvals": (BOT,)}, Reason.NOT_APPROVED),
        ({"submission": replace(SUBMISSION, tier_asked=Tier.DURABLE)}, Reason.NOT_APPROVED),
        ({"submission": replace(SUBMISSION, tier_asked=Tier.DURABLE), "approvals": (MARIA, TOMASZ)}, None),
        ({"around": replace(AROUND, known=(known(),))}, Reason.NOT_APPROVED),
        ({"around": replace(AROUND, known=(known(),)), "approvals": (MARIA,)}, None),
        ({"around": replace(AROUND, known=(known("email"),)), "approvals": (MARIA,)}, Reason.ALREADY_KNOWN),
        (
            {
                "around": replace(AROUND, known=(known(asserted_at=Instant(AT + 1)),)),
                "policy": WritePolicy(contradictions=SETTLED),
                "approvals": (MARIA,),
            },
            Reason.EXISTING_PREFERRED,
        ),
        ({"ledger": added(LEDGER, REVOCATION), "now": Instant(AT + DAY)}, Reason.CONSENT_LOST),
        ({"now": CONSENT.valid_until, "approvals": (MARIA,)}, Reason.CONSENT_LOST),
        ({"ledger": ledger_of(TENANT, [])}, Reason.CONSENT_LOST),
        ({"submission": replace(SUBMISSION, candidate=PLAIN), "ledger": ledger_of(TENANT, [])}, None),
    ],
)
def test_what_becomes_a_record(asked: dict[str, Any], flaw: Reason | None) -> None:
    found = record_of(**asked)
    assert (None if isinstance(found, PromotedRecord) else found) == flaw


def test_what_a_person_approves_takes_the_place_of_what_it_contradicts() -> None:
    record = record_of(around=replace(AROUND, known=(known(),)), approvals=(MARIA,))
    assert isinstance(record, PromotedRecord)
    assert (record.supersedes, record.approved_by) == ("rec_1", ("maria",))


def test_recall_gives_a_record_while_it_may() -> None:
    record = record_of()
    assert isinstance(record, PromotedRecord)
    revoked = added(LEDGER, REVOCATION)
    assert record.visible(LEDGER, AT)
    assert record.visible(revoked, Instant(AT + DAY - 1))
    assert not record.visible(revoked, Instant(AT + DAY))
    assert not record.visible(LEDGER, CONSENT.valid_until or AT)
    assert not record.visible(ledger_of("tenant_other", []), AT)
    assert record.rested is not None
    assert to_tombstone(revoked, [record.rested], Instant(AT + DAY)) == ("rec_9",)


def test_recall_gives_a_record_until_its_time_is_over() -> None:
    record = record_of(replace(SUBMISSION, candidate=PLAIN, tier_asked=Tier.WORKING))
    assert isinstance(record, PromotedRecord)
    assert record.ends_at is not None
    assert record.rested is None
    assert record.visible(LEDGER, Instant(record.ends_at - 1))
    assert not record.visible(LEDGER, record.ends_at)


# -- what is learned


@pytest.mark.parametrize(
    ("write_class", "verdict", "edited", "kinds"),
    [
        (WriteClass.PREFERENCE, ContradictionVerdict.NO_CONFLICT, False, []),
        (WriteClass.PREFERENCE, ContradictionVerdict.NO_CONFLICT, True, [SignalKind.CANDIDATE_EDITED]),
        (WriteClass.CORRECTION, ContradictionVerdict.NO_CONFLICT, False, [SignalKind.CORRECTION_APPLIED]),
        (
            WriteClass.CORRECTION,
            ContradictionVerdict.CORRECTS,
            False,
            [SignalKind.CORRECTION_APPLIED, SignalKind.CONTRADICTION_RESOLVED],
        ),
        (WriteClass.PREFERENCE, ContradictionVerdict.CONTRADICTS, False, [SignalKind.CONTRADICTION_RESOLVED]),
        (WriteClass.PREFERENCE, ContradictionVerdict.SAME_VALUE, False, []),
    ],
)
def test_what_a_promotion_teaches(
    write_class: WriteClass, verdict: ContradictionVerdict, edited: bool, kinds: list[SignalKind]
) -> None:
    check = ContradictionCheck(None if verdict is ContradictionVerdict.NO_CONFLICT else "rec_1", verdict)
    proposal = replace(
        queued().proposal, write_class=write_class, contradiction_check=check, auto_promote_eligible=False
    )
    told = signals.on_promotion(TENANT, proposal, AT, edited=edited)
    assert [each.kind for each in told] == kinds
    assert all(each.as_json()["about"] == "mwp_1" for each in told)
    assert all("email" not in str(each.as_json()) for each in told)


def test_a_rejection_teaches() -> None:
    proposal = queued().proposal
    made = rejected(TENANT, proposal.candidate, proposal_id="mwp_1", reviewer_id="maria", at=AT)
    told = signals.on_rejection(made, proposal)
    assert (told.kind, told.about, told.predicate) == (
        SignalKind.CANDIDATE_REJECTED,
        "mwp_1",
        "prefers_communication_channel",
    )


@pytest.mark.parametrize(("impacted", "noted"), [(0, False), (99, False), (100, True), (5_000, True)])
def test_a_revocation_is_told_and_noted_when_much_rested_on_it(impacted: int, noted: bool) -> None:
    event, note = signals.on_revocation(REVOCATION, ["rec"] * impacted, AT)
    assert event.as_json() == {
        "type": "memory.consent_revoked",
        "tenant_id": TENANT,
        "consent_id": CONSENT.consent_id,
        "subject_ceid": "customer:cus_77",
        "at": "2026-05-04T09:31:00Z",
        "impacted": impacted,
    }
    assert (note is not None) is noted
    if note is not None:
        assert (note.kind, note.count) == (SignalKind.CONSENT_IMPACT, impacted)
