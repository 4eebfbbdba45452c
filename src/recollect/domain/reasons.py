"""Every "why" of the store, as closed sets: codes are public, added and never renamed."""

from __future__ import annotations

from enum import StrEnum


class Plane(StrEnum):
    """Which kind of durable thing a row is; everything durable is a row in some plane."""

    ITEM = "item"
    RECORD = "record"
    CAPTURE = "capture"
    PROPOSAL = "proposal"
    CONSENT = "consent"
    CONTRADICTION = "contradiction"
    SESSION = "session"
    TURN = "turn"
    SUMMARY = "summary"
    TODO = "todo"
    ENTITY = "entity"
    TRACE = "trace"
    BUDGET = "budget"
    TOKEN = "token"  # noqa: S105 - a plane, not a secret
    TRANSFER = "transfer"
    POLICY = "policy"
    AUDIT = "audit"
    DECISION = "decision"
    SETTING = "setting"
    INDEX = "index"
    LINK = "link"
    USAGE = "usage"


class EventKind(StrEnum):
    """What an event of the log says happened."""

    ADD = "add"
    """A key got a value where there was none."""
    UPDATE = "update"
    """A key got a new value in place of the one before."""
    DELETE = "delete"
    """A key lost its value because somebody asked."""
    EXPIRED = "expired"
    """A key lost its value because its time was up."""
    ERASED = "erased"
    """Everything of one subject became unreadable for good; this event is the receipt."""
    RELABELLED = "relabelled"
    """The plain attributes of a version were computed anew; the version itself is unchanged."""


TOLD = tuple(kind for kind in EventKind if kind is not EventKind.RELABELLED)
"""The kinds of events that callers are told of. Policy attributes are no concern of theirs, nor is how they change."""


class EndReason(StrEnum):
    """Why a version is no longer the live one."""

    UPDATED = "updated"
    """A newer version of the key took its place."""
    DELETED = "deleted"
    """The key was deleted."""
    EXPIRED = "expired"
    """Its time to live was over."""
    ERASED = "erased"
    """The subject it belongs to was erased."""


class IndexState(StrEnum):
    """Where a version stands with the search index."""

    UNWANTED = "unwanted"
    """It is not to be indexed."""
    PENDING = "pending"
    """The index does not reflect it yet."""
    DONE = "done"
    """The index reflects it."""


class Finding(StrEnum):
    """What `verify` can find wrong."""

    SEQUENCE_GAP = "sequence_gap"
    """An event is missing between two others."""
    CHAIN_BROKEN = "chain_broken"
    """An event does not carry the hash of the one before it."""
    EVENT_ALTERED = "event_altered"
    """An event no longer hashes to what it says."""
    HEAD_MISMATCH = "head_mismatch"
    """The log does not end where the head says it ends: it was cut off or added to."""
    HEAD_UNREACHABLE = "head_unreachable"
    """The head that was noted elsewhere lies before the kept part of the log, so it proves nothing any more."""
    VERSION_MISSING = "version_missing"
    """An event tells of a version that is gone without having been purged."""
    VERSION_ALTERED = "version_altered"
    """A stored version is not the one that its event recorded."""
    VERSION_UNRECORDED = "version_unrecorded"
    """A stored version has no event."""
    ENDING_MISMATCH = "ending_mismatch"
    """A version is live although the log ended it, or ended although the log did not."""
