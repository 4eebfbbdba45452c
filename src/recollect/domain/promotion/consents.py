"""Consent: typed records that are only ever added, and what is in force of them at a moment.

A record is never modified. A correction is a new record that names the one it supersedes, and so is a revocation: it
repeats what was consented to, and says when that ended. Nothing reaches from one tenant to another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from recollect.domain.errors import InvalidValue
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.codes import Basis, ConsentState, LedgerFlaw
from recollect.domain.promotion.standing import Classification, classification_of

_FIELDS = frozenset(
    {
        "consent_id", "subject_ceid", "tenant_id", "purpose", "scope", "basis", "captured_at", "valid_until",
        "revoked_at", "evidence_refs", "auditor_id",
    }
)  # fmt: skip
_SCOPE = frozenset({"predicates_allowed", "data_classifications_allowed"})


@dataclass(frozen=True, slots=True)
class Consent:
    """What one subject agreed to in one tenant, for one purpose, and until when."""

    consent_id: str
    subject_ceid: str
    tenant_id: str
    purpose: str
    predicates_allowed: tuple[str, ...]
    data_classifications_allowed: tuple[Classification, ...]
    basis: Basis
    captured_at: Instant
    valid_until: Instant | None
    revoked_at: Instant | None
    evidence_refs: tuple[str, ...]
    auditor_id: str | None
    supersedes: str | None = None

    def __post_init__(self) -> None:
        if self.valid_until is not None and self.valid_until <= self.captured_at:
            raise InvalidValue("valid_until lies after captured_at", field="valid_until")
        if self.revoked_at is not None and self.revoked_at < self.captured_at:
            raise InvalidValue("revoked_at does not lie before captured_at", field="revoked_at")
        if self.supersedes == self.consent_id:
            raise InvalidValue("a consent does not supersede itself", field="supersedes")


def consent_of(given: object) -> Consent:
    """The consent that this JSON object says."""
    told = shapes.members(given, "a consent", _FIELDS, frozenset({"supersedes"}))
    scope = shapes.members(told["scope"], "scope", _SCOPE)
    named = shapes.texts(scope["data_classifications_allowed"], "data_classifications_allowed", least=1)
    return Consent(
        shapes.text(told["consent_id"], "consent_id"),
        shapes.ceid(told["subject_ceid"], "subject_ceid"),
        shapes.text(told["tenant_id"], "tenant_id"),
        shapes.text(told["purpose"], "purpose"),
        shapes.texts(scope["predicates_allowed"], "predicates_allowed", least=1),
        tuple(classification_of(each) for each in named),
        shapes.one_of(Basis, told["basis"], "basis"),
        shapes.moment(told["captured_at"], "captured_at"),
        shapes.or_none(shapes.moment, told["valid_until"], "valid_until"),
        shapes.or_none(shapes.moment, told["revoked_at"], "revoked_at"),
        shapes.texts(told["evidence_refs"], "evidence_refs", least=1),
        shapes.text_or_none(told["auditor_id"], "auditor_id"),
        shapes.text_or_none(told.get("supersedes"), "supersedes"),
    )


def as_json(consent: Consent) -> dict[str, Any]:
    """The consent as the seed writes it. Its example has no `supersedes`: that is written only where there is one."""
    told = {
        "consent_id": consent.consent_id,
        "subject_ceid": consent.subject_ceid,
        "tenant_id": consent.tenant_id,
        "purpose": consent.purpose,
        "scope": {
            "predicates_allowed": list(consent.predicates_allowed),
            "data_classifications_allowed": [each.name for each in consent.data_classifications_allowed],
        },
        "basis": consent.basis.value,
        "captured_at": shapes.written(consent.captured_at),
        "valid_until": shapes.written(consent.valid_until),
        "revoked_at": shapes.written(consent.revoked_at),
        "evidence_refs": list(consent.evidence_refs),
        "auditor_id": consent.auditor_id,
    }
    return told if consent.supersedes is None else {**told, "supersedes": consent.supersedes}


@dataclass(frozen=True, slots=True)
class Ledger:
    """All consent records of one tenant, in the order in which they were added."""

    tenant_id: str
    records: tuple[Consent, ...] = ()
    _by_id: Mapping[str, Consent] = field(init=False, repr=False, compare=False)
    _successor: Mapping[str, Consent] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id = {each.consent_id: each for each in self.records}
        successors = {each.supersedes: each for each in self.records if each.supersedes is not None}
        object.__setattr__(self, "_by_id", MappingProxyType(by_id))
        object.__setattr__(self, "_successor", MappingProxyType(successors))

    def get(self, consent_id: str) -> Consent | None:
        """The record of that id."""
        return self._by_id.get(consent_id)

    def successor(self, consent_id: str) -> Consent | None:
        """The record that supersedes it."""
        return self._successor.get(consent_id)

    def current(self, consent: Consent, now: Instant) -> Consent:
        """The last record of its chain that had been captured by then; itself, when none came after it."""
        while (newer := self.successor(consent.consent_id)) is not None and newer.captured_at <= now:
            consent = newer
        return consent


def flaw_in(ledger: Ledger, record: Consent) -> LedgerFlaw | None:
    """Why the record cannot be added; None when it can."""
    if record.tenant_id != ledger.tenant_id:
        return LedgerFlaw.OTHER_TENANT
    if ledger.get(record.consent_id) is not None:
        return LedgerFlaw.ID_TAKEN
    if record.supersedes is None:
        return None
    before = ledger.get(record.supersedes)
    if before is None:
        return LedgerFlaw.NOTHING_TO_SUPERSEDE
    if ledger.successor(record.supersedes) is not None:
        return LedgerFlaw.ALREADY_SUPERSEDED
    if before.subject_ceid != record.subject_ceid:
        return LedgerFlaw.OTHER_SUBJECT
    if before.revoked_at is not None:
        return LedgerFlaw.REVOKED_IS_FINAL
    return LedgerFlaw.GOES_BACK if record.captured_at < before.captured_at else None


def added(ledger: Ledger, record: Consent) -> Ledger:
    """The ledger with the record at its end."""
    if flaw := flaw_in(ledger, record):
        raise InvalidValue(f"the consent cannot be added: {flaw.value}", reason=flaw.value)
    return replace(ledger, records=(*ledger.records, record))


def ledger_of(tenant_id: str, records: Iterable[Consent]) -> Ledger:
    """The ledger of these records, each of which could be added when it was."""
    ledger = Ledger(tenant_id)
    for record in records:
        ledger = added(ledger, record)
    return ledger


def revocation(
    consent: Consent, consent_id: str, at: Instant, evidence_refs: tuple[str, ...], auditor_id: str | None = None
) -> Consent:
    """The record by which the consent is taken back. What was captured, and when, stays as it was."""
    if consent.revoked_at is not None:
        raise InvalidValue("the consent has been revoked", field="revoked_at")
    return replace(
        consent,
        consent_id=consent_id,
        revoked_at=max(at, consent.captured_at),
        evidence_refs=evidence_refs,
        auditor_id=auditor_id,
        supersedes=consent.consent_id,
    )


def state_of(ledger: Ledger, consent_id: str, now: Instant, *, swept: bool = False) -> ConsentState | None:
    """Where the record stands; `swept` says that the pass which tombstones what rested on it is over."""
    record = ledger.get(consent_id)
    if record is None:
        return None
    if ledger.current(record, now) is not record and record.revoked_at is None:
        newer = ledger.current(record, now)
        if newer.revoked_at is None:
            return ConsentState.SUPERSEDED
        record = newer
    if record.revoked_at is not None and record.revoked_at <= now:
        return ConsentState.TOMBSTONED if swept else ConsentState.REVOKED
    if record.valid_until is not None and record.valid_until <= now:
        return ConsentState.TOMBSTONED if swept else ConsentState.EXPIRED
    return ConsentState.CAPTURED if now < record.captured_at else ConsentState.ACTIVE
