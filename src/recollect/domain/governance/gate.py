"""Gate: whether an item may be written, decided in a fixed order, each refusal with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from recollect.domain.governance.axes import governed
from recollect.domain.governance.events import MINIMAL
from recollect.domain.governance.policy import Contract, Privacy
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import EventType, Kind, WritePolicy
from recollect.domain.promotion.categories import categories_in
from recollect.domain.scanning import Class, scan
from recollect.domain.scrubbing import credentials_in

BY_PRIVACY = "allowed_by:privacy"
BY_EVENT_TYPES = "allowed_by:policy_event_types"
BY_PROMOTION_RULE = "allowed_by:promotion_rule"
BY_RETENTION = "kept_by:retention_rule"
_SENSITIVE = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)s?|authorization|(?:api|private|secret|access|signing)[ _-]?keys?"
    r"|(?:access|auth|bearer|refresh)[ _-]?tokens?|client[ _-]?secrets?)\b",
    re.IGNORECASE,
)
"""Words that name what opens a door. Whole words, so that no monkey is mistaken for a key."""
_NAMED = re.compile(r"\b(?:secret|token)s?\b", re.IGNORECASE)
"""Words that may name what opens a door, where the policy forbids them anyway."""
_PERSONAL = frozenset({Class.PII})
_CHECKED = (Kind.SEMANTIC, Kind.PROFILE)
"""Turns are kept whatever the write policy is; the rest is not."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written, as far as the gate looks at it."""

    kind: Kind
    event_type: EventType
    text: str
    """What privacy is checked on: for a profile fact the whole of what was said, not the value alone."""
    key: str | None = None
    low_signal: bool = False
    flaw: Reason | None = None
    """What privacy found in the text, where that is withheld already."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a candidate beyond what it says. By default nothing speaks against it."""

    consent_needed: bool = False
    consented: bool = False
    trusted: bool = True
    evidenced: bool = True
    rejected_before: bool = False


class Verdict(msgspec.Struct, frozen=True):
    """What the gate decided, and what had allowed it until then, in the order of the checks."""

    allowed: bool
    reason: Reason
    tags: tuple[str, ...] = ()


def judged(candidate: Candidate, contract: Contract, standing: Standing | None = None) -> Verdict:
    """Whether the candidate may be written; the first check that refuses it gives the reason."""
    tags: list[str] = []
    for refusal, tag in _checks(candidate, contract, standing or Standing()):
        if refusal is not None:
            return Verdict(False, refusal, tuple(tags))
        if tag is not None:
            tags.append(tag)
    return Verdict(True, Reason.ALLOWED, tuple(tags))


def _checks(candidate: Candidate, contract: Contract, standing: Standing) -> Iterator[tuple[Reason | None, str | None]]:
    """Each check in its order: what it refuses with, else what it allows with."""
    privacy = contract.privacy
    stated = bool(privacy.deny_patterns) or privacy.deny_sensitive
    flaw = candidate.flaw or privacy_flaw(candidate.text, privacy)
    yield flaw or _key_flaw(candidate, privacy), BY_PRIVACY if stated else None
    if candidate.kind in _CHECKED:
        refusal = _write_policy_flaw(contract.write_policy, candidate)
        yield refusal, f"allowed_by:write_policy:{contract.write_policy}"
    yield _event_type_flaw(candidate.event_type, contract)
    yield _kind_flaw(candidate, contract)
    if candidate.kind in _CHECKED and candidate.low_signal:
        yield Reason.POLICY_LOW_SIGNAL, None
    yield from _standing_flaws(standing)


def privacy_flaw(text: str, privacy: Privacy) -> Reason | None:
    """Why privacy forbids keeping or showing the text; None when it does not."""
    forbidden = is_forbidden(text, privacy)
    if privacy.deny_sensitive and (is_sensitive(text) or (forbidden and _NAMED.search(text))):
        return Reason.PRIVACY_DENY_SENSITIVE
    return Reason.PRIVACY_DENY_PATTERN if forbidden else None


def is_forbidden(text: str, privacy: Privacy) -> bool:
    """True when a text contains what the policy names."""
    lowered = text.lower()
    return any(pattern and pattern.lower() in lowered for pattern in privacy.deny_patterns)


def is_sensitive(text: str) -> bool:
    """True when a text holds a credential, or names one."""
    return _SENSITIVE.search(text) is not None or bool(credentials_in(text))


def is_personal(text: str) -> bool:
    """True when a text holds personal data, or tells of somebody's health, belief, politics, origin or love."""
    return holds_personal_data(text) or bool(categories_in(text))


def holds_personal_data(text: str) -> bool:
    """True when a text holds what identifies or reaches a person."""
    return bool(scan(text, _PERSONAL))


def _key_flaw(candidate: Candidate, privacy: Privacy) -> Reason | None:
    listed = not privacy.allow_profile_keys or candidate.key in privacy.allow_profile_keys
    return None if candidate.kind is not Kind.PROFILE or listed else Reason.PRIVACY_DENY_PROFILE_KEY


def _write_policy_flaw(policy: WritePolicy, candidate: Candidate) -> Reason | None:
    if policy is WritePolicy.NONE:
        return Reason.WRITE_POLICY_NONE
    if policy is WritePolicy.MINIMAL and governed(candidate.event_type) not in MINIMAL:
        return Reason.WRITE_POLICY_MINIMAL
    into_semantic = candidate.kind is Kind.SEMANTIC and candidate.event_type is EventType.CONTEXT
    return Reason.WRITE_POLICY_CONTEXT if policy is WritePolicy.NORMAL and into_semantic else None


def _event_type_flaw(event_type: EventType, contract: Contract) -> tuple[Reason | None, str | None]:
    """An instruction is covered by what is said of instructions, or else of preferences."""
    allowed, denied = contract.allow_event_types, contract.deny_event_types
    names = {event_type, governed(event_type)}
    if (allowed and names.isdisjoint(allowed)) or not names.isdisjoint(denied):
        return Reason.POLICY_DENY_EVENT_TYPE, None
    return None, BY_EVENT_TYPES if allowed or denied else None


def _kind_flaw(candidate: Candidate, contract: Contract) -> tuple[Reason | None, str | None]:
    rule = contract.promotion.get(candidate.kind)
    if rule is None or not rule.allowed_event_types:
        return None, None
    if governed(candidate.event_type) not in rule.allowed_event_types:
        return Reason.POLICY_DENY_PROMOTION, None
    return None, BY_PROMOTION_RULE


def _standing_flaws(standing: Standing) -> Iterator[tuple[Reason | None, str | None]]:
    """What a proposal is asked beyond the policy: consent, then trust, evidence, and what reviewers refused before."""
    flaws = (
        (standing.consent_needed and not standing.consented, Reason.CONSENT_MISSING),
        (not standing.trusted, Reason.SOURCE_UNTRUSTED),
        (not standing.evidenced, Reason.EVIDENCE_MISSING),
        (standing.rejected_before, Reason.REJECTED_BEFORE),
    )
    for holds, reason in flaws:
        yield (reason if holds else None), None
