"""Consent records are only ever added, and what is in force follows from them, the moment and the tenant."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.promotion.things import AT, CONSENT, DAY, LEDGER, SUBJECT, TENANT, moment

from recollect.domain.errors import InvalidValue
from recollect.domain.instants import Instant
from recollect.domain.promotion import consent_checks, consents
from recollect.domain.promotion.codes import ConsentCheck, ConsentState, LedgerFlaw
from recollect.domain.promotion.consent_checks import Checked, Need, Rested, checked, still_covered, to_tombstone
from recollect.domain.promotion.consents import Consent, Ledger, added, ledger_of, revocation, state_of
from recollect.domain.promotion.standing import Classification

NEED = Need(TENANT, SUBJECT, "preferred_language", Classification.INTERNAL)
REVOKED = revocation(CONSENT, "cns_2", Instant(AT + DAY), ("channel:app_chat:msg_990",))
NARROWED = replace(
    CONSENT,
    consent_id="cns_2",
    supersedes=CONSENT.consent_id,
    captured_at=Instant(AT + DAY),
    predicates_allowed=("preferred_language",),
)


def other(**changes: Any) -> Consent:
    return replace(CONSENT, **{"consent_id": "cns_2", **changes})


# -- the ledger


@pytest.mark.parametrize(
    ("record", "flaw"),
    [
        (other(), None),
        (other(supersedes=CONSENT.consent_id), None),
        (REVOKED, None),
        (other(consent_id=CONSENT.consent_id), LedgerFlaw.ID_TAKEN),
        (other(consent_id=CONSENT.consent_id, revoked_at=AT), LedgerFlaw.ID_TAKEN),
        (other(tenant_id="tenant_other"), LedgerFlaw.OTHER_TENANT),
        (other(supersedes="cns_9"), LedgerFlaw.NOTHING_TO_SUPERSEDE),
        (other(supersedes=CONSENT.consent_id, subject_ceid="customer:cus_78"), LedgerFlaw.OTHER_SUBJECT),
        (other(supersedes=CONSENT.consent_id, captured_at=Instant(CONSENT.captured_at - 1)), LedgerFlaw.GOES_BACK),
    ],
)
def test_what_can_be_added_to_the_ledger(record: Consent, flaw: LedgerFlaw | None) -> None:
    assert consents.flaw_in(LEDGER, record) == flaw
    if flaw is None:
        assert added(LEDGER, record).records == (CONSENT, record)
    else:
        with pytest.raises(InvalidValue, match=flaw.value):
            added(LEDGER, record)


def test_a_record_is_superseded_once_and_a_revocation_is_final() -> None:
    revoked = added(LEDGER, REVOKED)
    again = other(consent_id="cns_3", supersedes=CONSENT.consent_id)
    assert consents.flaw_in(revoked, again) is LedgerFlaw.ALREADY_SUPERSEDED
    mended = other(consent_id="cns_3", supersedes="cns_2", captured_at=Instant(AT + 2 * DAY))
    assert consents.flaw_in(revoked, mended) is LedgerFlaw.REVOKED_IS_FINAL
    with pytest.raises(InvalidValue):
        revocation(REVOKED, "cns_3", AT, ("x",))
    asked_anew = other(consent_id="cns_3", captured_at=Instant(AT + 2 * DAY))
    assert checked(added(revoked, asked_anew), NEED, Instant(AT + 3 * DAY)).consent_id == "cns_3"


def test_a_record_cannot_be_modified() -> None:
    with pytest.raises(FrozenInstanceError):
        CONSENT.revoked_at = AT  # type: ignore[misc]
    ledger = added(LEDGER, REVOKED)
    assert ledger.get(CONSENT.consent_id) == CONSENT
    assert LEDGER.records == (CONSENT,)


def test_a_record_that_is_superseded_names_its_successor_when_it_is_written() -> None:
    assert consents.as_json(REVOKED)["supersedes"] == CONSENT.consent_id
    assert consents.consent_of(consents.as_json(REVOKED)) == REVOKED
    assert "supersedes" not in consents.as_json(CONSENT)


# -- the life of a consent


@pytest.mark.parametrize(
    ("ledger", "at", "swept", "state"),
    [
        (LEDGER, "2026-05-04T09:29:59Z", False, ConsentState.CAPTURED),
        (LEDGER, "2026-05-04T09:30:00Z", False, ConsentState.ACTIVE),
        (LEDGER, "2027-05-04T09:29:59Z", False, ConsentState.ACTIVE),
        (LEDGER, "2027-05-04T09:30:00Z", False, ConsentState.EXPIRED),
        (LEDGER, "2027-05-04T09:30:00Z", True, ConsentState.TOMBSTONED),
        (added(LEDGER, REVOKED), "2026-05-05T09:30:59Z", False, ConsentState.ACTIVE),
        (added(LEDGER, REVOKED), "2026-05-05T09:31:00Z", False, ConsentState.REVOKED),
        (added(LEDGER, REVOKED), "2026-05-05T09:31:00Z", True, ConsentState.TOMBSTONED),
        (added(LEDGER, REVOKED), "2028-05-05T09:31:00Z", False, ConsentState.REVOKED),
        (added(LEDGER, NARROWED), "2026-05-05T09:30:59Z", False, ConsentState.ACTIVE),
        (added(LEDGER, NARROWED), "2026-05-05T09:31:00Z", False, ConsentState.SUPERSEDED),
        (Ledger(TENANT), "2026-05-05T09:31:00Z", False, None),
    ],
)
def test_where_a_consent_stands(ledger: Ledger, at: str, swept: bool, state: ConsentState | None) -> None:
    assert state_of(ledger, CONSENT.consent_id, moment(at), swept=swept) == state


# -- what a consent covers


@pytest.mark.parametrize(
    ("need", "at", "check"),
    [
        (NEED, AT, ConsentCheck.PASSED),
        (replace(NEED, predicate="prefers_communication_channel"), AT, ConsentCheck.PASSED),
        (replace(NEED, purpose="support_personalization"), AT, ConsentCheck.PASSED),
        (NEED, CONSENT.captured_at, ConsentCheck.PASSED),
        (NEED, Instant(CONSENT.captured_at - 1), ConsentCheck.NOT_YET_IN_FORCE),
        (NEED, Instant((CONSENT.valid_until or 0) - 1), ConsentCheck.PASSED),
        (NEED, CONSENT.valid_until, ConsentCheck.EXPIRED),
        (replace(NEED, predicate="home_address"), AT, ConsentCheck.PREDICATE_NOT_COVERED),
        (replace(NEED, classification=Classification.PUBLIC), AT, ConsentCheck.CLASSIFICATION_NOT_COVERED),
        (replace(NEED, classification=Classification.RESTRICTED), AT, ConsentCheck.CLASSIFICATION_NOT_COVERED),
        (replace(NEED, purpose="marketing"), AT, ConsentCheck.PURPOSE_NOT_COVERED),
        (replace(NEED, subject_ceid="customer:cus_7"), AT, ConsentCheck.MISSING),
        (replace(NEED, tenant_id="tenant_other"), AT, ConsentCheck.MISSING),
    ],
)
def test_what_the_example_covers(need: Need, at: Instant, check: ConsentCheck) -> None:
    found = checked(LEDGER, need, at)
    assert found.check is check
    assert found.consent_id == (CONSENT.consent_id if check is ConsentCheck.PASSED else None)
    assert found.lets_pass is (check is ConsentCheck.PASSED)


def test_a_revoked_consent_covers_nothing_from_that_moment_on() -> None:
    ledger = added(LEDGER, REVOKED)
    assert checked(ledger, NEED, Instant(AT + DAY - 1)).check is ConsentCheck.PASSED
    assert checked(ledger, NEED, Instant(AT + DAY)).check is ConsentCheck.REVOKED


def test_of_several_the_nearest_says_what_is_lacking_and_the_latest_is_named() -> None:
    expired = other(consent_id="old", captured_at=Instant(0), valid_until=Instant(1))
    ledger = ledger_of(TENANT, [expired, CONSENT])
    assert checked(ledger, NEED, AT) == Checked(ConsentCheck.PASSED, CONSENT.consent_id)
    assert checked(ledger, replace(NEED, predicate="email"), AT).check is ConsentCheck.PREDICATE_NOT_COVERED
    newer = other(captured_at=Instant(CONSENT.captured_at + 1))
    assert checked(added(ledger, newer), NEED, AT).consent_id == "cns_2"


def test_what_rests_on_a_consent_is_ended_when_it_is_revoked_narrowed_or_over() -> None:
    language = Rested("rec_1", CONSENT.consent_id, NEED)
    channel = Rested("rec_2", CONSENT.consent_id, replace(NEED, predicate="prefers_communication_channel"))
    both, later = (language, channel), Instant(AT + DAY)
    assert to_tombstone(LEDGER, both, later) == ()
    assert to_tombstone(added(LEDGER, REVOKED), both, later) == ("rec_1", "rec_2")
    assert to_tombstone(added(LEDGER, REVOKED), both, Instant(later - 1)) == ()
    assert to_tombstone(added(LEDGER, NARROWED), both, later) == ("rec_2",)
    assert to_tombstone(LEDGER, both, CONSENT.valid_until or AT) == ("rec_1", "rec_2")
    assert to_tombstone(Ledger(TENANT), both, AT) == ("rec_1", "rec_2")


def test_another_consent_does_not_step_in_for_what_was_revoked() -> None:
    ledger = added(added(LEDGER, REVOKED), other(consent_id="cns_3", captured_at=Instant(AT + DAY)))
    later = Instant(AT + 2 * DAY)
    assert checked(ledger, NEED, later).consent_id == "cns_3"
    assert not still_covered(ledger, Rested("rec_1", CONSENT.consent_id, NEED), later)


# -- invariants, whatever was recorded

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_TENANTS = st.sampled_from([TENANT, "tenant_other"])
_SUBJECTS = st.sampled_from([SUBJECT, "customer:cus_78"])
_PREDICATES = st.sampled_from(["preferred_language", "email", "home_address"])
_TIMES = st.integers(0, 50).map(Instant)


@st.composite
def histories(draw: st.DrawFn) -> Ledger:
    """A ledger of one tenant, grown by whatever can be added of what is drawn."""
    ledger = Ledger(TENANT)
    for number in range(draw(st.integers(0, 8))):
        captured = draw(_TIMES)
        ids = [each.consent_id for each in ledger.records]
        record = Consent(
            f"c{number}",
            draw(_SUBJECTS),
            draw(_TENANTS),
            draw(st.sampled_from(["support", "marketing"])),
            tuple(draw(st.sets(_PREDICATES, min_size=1))),
            tuple(draw(st.sets(st.sampled_from(Classification), min_size=1))),
            CONSENT.basis,
            captured,
            draw(st.none() | st.integers(captured + 1, 60).map(Instant)),
            None,
            ("ref",),
            None,
            draw(st.none() | st.sampled_from(ids)) if ids else None,
        )
        if record.supersedes is not None and draw(st.booleans()):
            before = ledger.get(record.supersedes)
            if before is not None and before.revoked_at is None:
                record = revocation(before, record.consent_id, captured, ("ref",))
        if consents.flaw_in(ledger, record) is None:
            ledger = added(ledger, record)
    return ledger


needs = st.builds(
    Need, _TENANTS, _SUBJECTS, _PREDICATES, st.sampled_from(Classification), st.none() | st.just("support")
)


def live(ledger: Ledger, need: Need, now: Instant, consent_id: str | None) -> list[str]:
    """What is wrong with letting the need pass by this consent, told by the seed's words one after another."""
    record = next((each for each in ledger.records if each.consent_id == consent_id), None)
    if record is None:
        return ["there is no such consent"]
    newer = [each for each in ledger.records if each.supersedes == record.consent_id and each.captured_at <= now]
    wrong = {
        "another tenant's": record.tenant_id != need.tenant_id,
        "another subject's": record.subject_ceid != need.subject_ceid,
        "another predicate": need.predicate not in record.predicates_allowed,
        "another classification": need.classification not in record.data_classifications_allowed,
        "another purpose": need.purpose not in (None, record.purpose),
        "not captured": record.captured_at > now,
        "over": record.valid_until is not None and record.valid_until <= now,
        "revoked": record.revoked_at is not None and record.revoked_at <= now,
        "superseded": bool(newer),
    }
    return [what for what, holds in wrong.items() if holds]


def lets_pass_what_is_live(ledger: Ledger, need: Need, now: Instant) -> None:
    found = checked(ledger, need, now)
    if found.check is ConsentCheck.PASSED:
        assert live(ledger, need, now, found.consent_id) == []
    else:
        assert found.consent_id is None
        assert not found.lets_pass
        assert all(live(ledger, need, now, each.consent_id) for each in ledger.records)


@CALM
@given(histories(), needs, _TIMES)
def test_what_passes_has_a_live_consent_and_what_has_one_passes(ledger: Ledger, need: Need, now: Instant) -> None:
    lets_pass_what_is_live(ledger, need, now)


@CALM
@given(histories(), needs, _TIMES, _TIMES)
def test_what_was_let_in_stays_only_while_its_consent_does(
    ledger: Ledger, need: Need, now: Instant, wait: Instant
) -> None:
    found = checked(ledger, need, now)
    if found.consent_id is None:
        return
    later = Instant(now + wait)
    rested = Rested("rec", found.consent_id, need)
    record = ledger.get(found.consent_id)
    assert record is not None
    head = ledger.current(record, later)
    assert still_covered(ledger, rested, now)
    assert still_covered(ledger, rested, later) is (live(ledger, need, later, head.consent_id) == [])
    assert to_tombstone(ledger, [rested], later) == (() if still_covered(ledger, rested, later) else ("rec",))


@CALM
@given(histories())
def test_adding_never_changes_what_is_there(ledger: Ledger) -> None:
    for count in range(len(ledger.records)):
        assert ledger_of(TENANT, ledger.records[:count]).records == ledger.records[:count]
    assert all(each.tenant_id == TENANT for each in ledger.records)


# -- the invariants can be broken, and then the tests see it


@pytest.mark.parametrize(
    ("forgotten", "ledger", "need", "now"),
    [
        ({"revoked_at": None}, added(LEDGER, REVOKED), NEED, Instant(AT + DAY)),
        ({"valid_until": None}, LEDGER, NEED, CONSENT.valid_until),
        ({"captured_at": Instant(0)}, LEDGER, NEED, Instant(CONSENT.captured_at - 1)),
        ({"predicates_allowed": ("email",)}, LEDGER, replace(NEED, predicate="email"), AT),
        (
            {"data_classifications_allowed": tuple(Classification)},
            LEDGER,
            replace(NEED, classification=Classification.RESTRICTED),
            AT,
        ),
        ({"purpose": "marketing"}, LEDGER, replace(NEED, purpose="marketing"), AT),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_check_that_forgets_something_is_noticed(
    forgotten: dict[str, Any], ledger: Ledger, need: Need, now: Instant, monkeypatch: pytest.MonkeyPatch
) -> None:
    lets_pass_what_is_live(ledger, need, now)
    sound = consent_checks._against

    def forgetful(record: Consent, need: Need, now: Instant) -> ConsentCheck:
        return sound(replace(record, **forgotten), need, now)

    monkeypatch.setattr(consent_checks, "_against", forgetful)
    with pytest.raises(AssertionError):
        lets_pass_what_is_live(ledger, need, now)


def test_a_ledger_that_forgets_successors_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def itself(_ledger: Ledger, consent: Consent, _now: Instant) -> Consent:
        return consent

    asked = (added(LEDGER, NARROWED), replace(NEED, predicate="prefers_communication_channel"), Instant(AT + DAY))
    lets_pass_what_is_live(*asked)
    monkeypatch.setattr(Ledger, "current", itself)
    with pytest.raises(AssertionError):
        lets_pass_what_is_live(*asked)
