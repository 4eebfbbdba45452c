"""Every "why" of governance, as one closed set: codes are public, added and never renamed."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something was allowed, refused, kept, forgotten, replaced or moved."""

    ALLOWED = "allowed"
    """Nothing speaks against it."""

    # Why an item was not written.
    PRIVACY_DENY_SENSITIVE = "privacy_deny_sensitive"
    """It holds or names something that opens a door."""
    PRIVACY_DENY_PATTERN = "privacy_deny_pattern"
    """It contains something that the policy forbids."""
    PRIVACY_DENY_PROFILE_KEY = "privacy_deny_profile_key"
    """Facts of this key are not on the list of those that may be kept."""
    WRITE_POLICY_NONE = "write_policy_none"
    """Nothing is written beyond the turns."""
    WRITE_POLICY_MINIMAL = "write_policy_minimal"
    """Only facts, preferences, decisions and corrections are written."""
    WRITE_POLICY_CONTEXT = "write_policy_context"
    """Context is not written to semantic memory."""
    POLICY_DENY_EVENT_TYPE = "policy_deny_event_type"
    """The event type is not allowed, or it is denied."""
    POLICY_DENY_PROMOTION = "policy_deny_promotion"
    """This kind of memory does not accept the event type."""
    POLICY_LOW_SIGNAL = "policy_low_signal"
    """It says nothing worth keeping."""
    CONSENT_MISSING = "consent_missing"
    """It is personal, and nobody agreed to its being kept."""
    SOURCE_UNTRUSTED = "source_untrusted"
    """Who said it is not trusted with this."""
    EVIDENCE_MISSING = "evidence_missing"
    """Nothing was given that it follows from."""
    REJECTED_BEFORE = "rejected_before"
    """A reviewer refused the same thing earlier."""

    # Why a candidate was kept from the review queue, besides the above.
    CLASS_NOT_ALLOWED = "class_not_allowed"
    """Writes of its class are not allowed."""
    PREDICATE_NOT_ALLOWED = "predicate_not_allowed"
    """Its predicate is not on the allow-list of its class."""
    CONFIDENCE_BELOW_FLOOR = "confidence_below_floor"
    """It is less sure than what enters the queue."""
    EVIDENCE_RECALLED = "evidence_recalled"
    """All that shows where it comes from is memory itself."""

    # Why a proposal did not become a record.
    ALREADY_KNOWN = "already_known"
    """A record says the same."""
    EXISTING_PREFERRED = "existing_preferred"
    """An explicit rule prefers the record that is there."""
    NOT_APPROVED = "not_approved"
    """Too few approvals count, and no rule lets it be promoted without them."""
    CONSENT_LOST = "consent_lost"
    """The consent that it had no longer covers it."""

    # Why the border of a space was closed.
    SPACE_DISABLED = "space_disabled"
    """The space is not among those that are read."""
    WRITE_SPACE_DISALLOWED = "write_space_disallowed"
    """The space is not among those that are written to."""

    # Why an item was not promoted to another space.
    PROMOTION_DISALLOWED = "promotion_disallowed"
    """No rule leads from the one space to the other."""
    PROMOTION_EVENT_TYPE = "promotion_event_type"
    """The rule does not carry the event type."""
    PROMOTION_AUTHORITY = "promotion_authority"
    """The rule asks for a higher authority."""

    # Why a phase was not started, or two were not compared.
    PHASE_DISABLED = "phase_disabled"
    """Phases are not begun by request."""
    PHASE_DIFF_DISABLED = "phase_diff_disabled"
    """Phases are not compared."""

    # Why a phase began; callers may give words of their own instead.
    AUTO = "auto"
    """Something was written where there was no phase yet."""
    MANUAL = "manual"
    """A new token asked for it."""

    # Why an item was forgotten.
    TTL_EXPIRED = "ttl_expired"
    """Its tick had come."""
    DECAY = "decay"
    """It grew too old, or fell out of the window."""

    # Why an item is gone.
    SUPERSEDED = "superseded"
    """Another took its place."""
    EXPIRED = "expired"
    """It was forgotten."""
    PROMOTED = "promoted"
    """It lives on in another space."""
    RETRACTED = "retracted"
    """Somebody took it back."""
    CONSENT_REVOKED = "consent_revoked"
    """The consent that it rested on was taken back."""
    UNDONE = "undone"
    """What it came from was undone."""
    CURATED = "curated"
    """It was archived by the curator."""

    # What decided a conflict.
    AUTHORITY = "authority"
    """The word of one side counts more."""
    CORRECTION = "correction"
    """One side corrects."""
    RECENCY = "recency"
    """One side was said later."""
    IMPORTANCE = "importance"
    """One side matters more; of equals, the one with the higher number."""

    INTERACTION_RECORDED = "interaction_recorded"
    """Why a turn was written."""

    # What asked for a promotion.
    HINT_REMEMBER_FOR_ME = "hint:remember_for_me"
    """The user asked for it to be kept for themself."""
    HINT_REMEMBER_ABOUT_ME = "hint:remember_about_me"
    """The user asked for it to be kept for themself."""
    HINT_SAVE_FOR_ME = "hint:save_for_me"
    """The user asked for it to be kept for themself."""
    HINT_REMEMBER_FOR_PROJECT = "hint:remember_for_project"
    """The user asked for it to be kept for the project."""
    HINT_PROJECT_MEMORY = "hint:project_memory"
    """The user asked for it to be kept for the project."""
    HINT_REMEMBER_FOR_EVERYONE = "hint:remember_for_everyone"
    """The user asked for it to be kept for everybody."""
    HINT_REMEMBER_FOR_SYSTEM = "hint:remember_for_system"
    """The user asked for it to be kept for everybody."""
    HINT_SYSTEM_MEMORY = "hint:system_memory"
    """The user asked for it to be kept for everybody."""
    META_PROMOTION_TARGET = "meta:promotion_target"
    """The item itself names the space."""


RULES = (Reason.AUTHORITY, Reason.CORRECTION, Reason.RECENCY, Reason.IMPORTANCE)
"""What decides a conflict, in the order in which it is asked."""
PRIVACY = frozenset(
    {
        Reason.PRIVACY_DENY_SENSITIVE,
        Reason.PRIVACY_DENY_PATTERN,
        Reason.PRIVACY_DENY_PROFILE_KEY,
        Reason.CONSENT_MISSING,
    },
)
