"""Whether a consent in force covers a candidate, and whether it still covers what was promoted under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recollect.domain.instants import Instant
from recollect.domain.promotion.codes import ConsentCheck
from recollect.domain.promotion.consents import Consent, Ledger
from recollect.domain.promotion.standing import Classification

# From nearest to a consent to farthest from one: of several records, the nearest says what is lacking.
_NEARNESS = (
    ConsentCheck.PASSED,
    ConsentCheck.REVOKED,
    ConsentCheck.EXPIRED,
    ConsentCheck.NOT_YET_IN_FORCE,
    ConsentCheck.CLASSIFICATION_NOT_COVERED,
    ConsentCheck.PREDICATE_NOT_COVERED,
    ConsentCheck.PURPOSE_NOT_COVERED,
    ConsentCheck.MISSING,
)


@dataclass(frozen=True, slots=True)
class Need:
    """What consent is needed for. Without a purpose, consent for any purpose will do: the seed matches none."""

    tenant_id: str
    subject_ceid: str
    predicate: str
    classification: Classification
    purpose: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and the consent that covers it."""

    check: ConsentCheck
    consent_id: str | None = None

    @property
    def lets_pass(self) -> bool:
        """True when the candidate may enter the queue."""
        return self.check in (ConsentCheck.PASSED, ConsentCheck.NOT_REQUIRED)


NOT_REQUIRED = Checked(ConsentCheck.NOT_REQUIRED)


def checked(ledger: Ledger, need: Need, now: Instant) -> Checked:
    """The live consent that covers the need: of several, the one captured last, and then the one added last."""
    if ledger.tenant_id != need.tenant_id:
        return Checked(ConsentCheck.MISSING)
    heads = dict.fromkeys(
        ledger.current(each, now).consent_id for each in ledger.records if each.subject_ceid == need.subject_ceid
    )
    best, found = Checked(ConsentCheck.MISSING), None
    for consent_id in heads:
        record = ledger.get(consent_id)
        if record is None or record.tenant_id != need.tenant_id:
            continue
        check = _against(record, need, now)
        nearer = _NEARNESS.index(check) < _NEARNESS.index(best.check)
        later = check is ConsentCheck.PASSED and found is not None and record.captured_at >= found.captured_at
        if nearer or later:
            best = Checked(check, consent_id if check is ConsentCheck.PASSED else None)
            found = record if check is ConsentCheck.PASSED else None
    return best


def _against(record: Consent, need: Need, now: Instant) -> ConsentCheck:
    if need.purpose is not None and record.purpose != need.purpose:
        return ConsentCheck.PURPOSE_NOT_COVERED
    if need.predicate not in record.predicates_allowed:
        return ConsentCheck.PREDICATE_NOT_COVERED
    if need.classification not in record.data_classifications_allowed:
        return ConsentCheck.CLASSIFICATION_NOT_COVERED
    if now < record.captured_at:
        return ConsentCheck.NOT_YET_IN_FORCE
    if record.revoked_at is not None and record.revoked_at <= now:
        return ConsentCheck.REVOKED
    if record.valid_until is not None and record.valid_until <= now:
        return ConsentCheck.EXPIRED
    return ConsentCheck.PASSED


@dataclass(frozen=True, slots=True)
class Rested:
    """A promoted record that was let in by a consent."""

    record_id: str
    consent_id: str
    need: Need


def still_covered(ledger: Ledger, rested: Rested, now: Instant) -> bool:
    """True while the chain of the record's own consent covers it. Where it does not, recall gives nothing, not a stub.

    Another consent of the same subject does not step in: the record says by which one it was let in.
    """
    record = ledger.get(rested.consent_id)
    if record is None or (record.tenant_id, record.subject_ceid) != (rested.need.tenant_id, rested.need.subject_ceid):
        return False
    return _against(ledger.current(record, now), rested.need, now) is ConsentCheck.PASSED


def to_tombstone(ledger: Ledger, rested: Iterable[Rested], now: Instant) -> tuple[str, ...]:
    """What the revocation pass ends: the records whose consent was revoked, expired, or narrowed past them."""
    return tuple(each.record_id for each in rested if not still_covered(ledger, each, now))
