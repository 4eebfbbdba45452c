"""Checking a log against itself and against the versions it tells of; the same for every backend.

A backend feeds every event in order with the version it tells of, then every version with the events
it claims; the checker only compares. The contents of a version are pinned by the last event that
recorded them: the one that opened it, or the last one that relabelled it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from recollect.domain.address import Address, in_subtree
from recollect.domain.attributes import NONE
from recollect.domain.events import Event, Head, rehash
from recollect.domain.instants import Instant
from recollect.domain.planning import Version
from recollect.domain.reasons import EndReason, EventKind, Finding

MAX_PROBLEMS = 100
"""After so many, looking further tells nothing new."""


class Kept(IntEnum):
    """How much is kept of the version that an event opened. Set by sweeps and erasures, outside of the hash."""

    WHOLE = 0
    EMPTIED = 1
    PURGED = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where in the log."""

    finding: Finding
    sequence: int
    message: str


_ENDS = {EventKind.DELETE: EndReason.DELETED, EventKind.EXPIRED: EndReason.EXPIRED}
_ENDED_BY = {
    EndReason.UPDATED: EventKind.UPDATE,
    EndReason.DELETED: EventKind.DELETE,
    EndReason.EXPIRED: EventKind.EXPIRED,
    EndReason.ERASED: EventKind.ERASED,
}


class LogChecker:
    """Compares events and versions one by one and collects what is wrong."""

    def __init__(self, head: Head, expected: tuple[int, bytes] | None = None) -> None:
        self._head = head
        self._expected = expected
        self._sequence = head.trimmed
        self._hash = head.trimmed_hash
        self._met_expected = expected is None
        self._purged: dict[Address, int] = {}
        """Keys whose newest version so far was purged: an end must follow, since live versions never are."""
        self._created: dict[Address, Instant] = {}
        """When each live key was created: an emptied version no longer has contents that its digest could vouch for."""
        self.events = 0
        self.versions = 0
        self.problems: list[Problem] = []
        if expected is not None and expected[0] <= head.trimmed:
            self._check_trimmed(expected, head)

    def _check_trimmed(self, expected: tuple[int, bytes], head: Head) -> None:
        self._met_expected = True
        if expected[0] < head.trimmed:
            self._found(Finding.HEAD_UNREACHABLE, expected[0], "was noted elsewhere, but is no longer kept")
        elif expected[1] != head.trimmed_hash:
            self._found(Finding.HEAD_MISMATCH, head.trimmed, "was trimmed, and is not the event noted elsewhere")

    def event(self, event: Event, kept: Kept, version: Version | None) -> None:
        """Check the next event, with the version that it opened, ended or relabelled."""
        self.events += 1
        self._follow_purges(event, kept)
        if event.sequence != self._sequence + 1:
            self._found(Finding.SEQUENCE_GAP, event.sequence, f"follows {self._sequence}")
        if event.previous != self._hash:
            self._found(Finding.CHAIN_BROKEN, event.sequence, "does not carry the hash of the event before it")
        if rehash(event) != event.hash:
            self._found(Finding.EVENT_ALTERED, event.sequence, "does not hash to what it says")
        if self._expected is not None and event.sequence == self._expected[0]:
            self._met_expected = True
            if event.hash != self._expected[1]:
                self._found(Finding.HEAD_MISMATCH, event.sequence, "is not the event that was noted elsewhere")
        self._sequence, self._hash = event.sequence, event.hash
        self._follow_creations(event)
        if event.kind in (EventKind.ADD, EventKind.UPDATE):
            self._opened(event, kept, version)
            return
        if kept is not Kept.WHOLE:
            self._found(Finding.EVENT_ALTERED, event.sequence, "opened no version that could be gone")
        if event.kind is EventKind.RELABELLED and version is not None:
            self._relabelled(event, version)
        if event.kind in _ENDS and version is not None:
            told = (version.ended_sequence, version.ended_at, version.end_reason, version.revision, version.address)
            if told != (event.sequence, event.at, _ENDS[event.kind], event.revision, event.address):
                self._found(Finding.ENDING_MISMATCH, event.sequence, "ended a version that does not say so")

    def _follow_creations(self, event: Event) -> None:
        if event.kind is EventKind.ADD:
            self._created[event.address] = event.at
        elif event.kind is EventKind.ERASED:
            below = event.address.namespace.encoded
            for address in [each for each in self._created if in_subtree(below, each.namespace.encoded)]:
                del self._created[address]
        elif event.kind in _ENDS:
            self._created.pop(event.address, None)

    def _follow_purges(self, event: Event, kept: Kept) -> None:
        if event.kind is EventKind.ERASED:
            below = event.address.namespace.encoded
            self._purged = {
                address: sequence
                for address, sequence in self._purged.items()
                if not in_subtree(below, address.namespace.encoded)
            }
        elif event.kind is not EventKind.RELABELLED:  # that ends nothing
            self._purged.pop(event.address, None)
            if kept is Kept.PURGED and event.kind in (EventKind.ADD, EventKind.UPDATE):
                self._purged[event.address] = event.sequence

    def _opened(self, event: Event, kept: Kept, version: Version | None) -> None:
        if version is None:
            if kept is not Kept.PURGED:
                self._found(Finding.VERSION_MISSING, event.sequence, "tells of a version that is gone")
            return
        place = (version.sequence, version.revision, version.address, version.written_at, version.expires_at)
        if kept is Kept.PURGED or place != (event.sequence, event.revision, event.address, event.at, event.expires_at):
            self._found(Finding.VERSION_ALTERED, event.sequence, "recorded another version than the one stored")
            return
        if version.value is None:
            rest = (version.attributes, version.policy_attributes, version.archived, version.index_fields)
            emptied = rest == (None, NONE, False, None) and version.ended_at is not None
            created_at = self._created.get(event.address, version.created_at)
            if kept is not Kept.EMPTIED or not emptied or version.created_at != created_at:
                self._found(Finding.VERSION_ALTERED, event.sequence, "recorded a value that is gone")
        elif kept is not Kept.WHOLE or (version.pinned_sequence is None and event.digest != version.digest()):
            self._found(Finding.VERSION_ALTERED, event.sequence, "recorded other contents than those stored")

    def _relabelled(self, event: Event, version: Version) -> None:
        """Whole, the version has the contents that this event recorded, unless a later one recorded others."""
        place = (version.revision, version.address, version.expires_at)
        if place != (event.revision, event.address, event.expires_at) or event.at < version.written_at:
            self._found(Finding.VERSION_ALTERED, event.sequence, "relabelled another version than the one stored")
        pinned_at = version.pinned_sequence or version.sequence
        if version.value is None or pinned_at > event.sequence:
            return
        if pinned_at < event.sequence:
            self._found(Finding.VERSION_ALTERED, event.sequence, "recorded attributes that were set back")
        elif event.digest != version.digest():
            self._found(Finding.VERSION_ALTERED, event.sequence, "recorded other contents than those stored")

    def version(
        self,
        version: Version,
        opened: Event | None,
        ended: Event | None,
        newest_revision: int,
        pinned: Event | None = None,
    ) -> None:
        """Check a stored version against the events at the sequences that it claims."""
        self.versions += 1
        where = version.sequence
        if version.sequence > self._head.trimmed and not _really_opened(version, opened):
            self._found(Finding.VERSION_UNRECORDED, where, f"opened no version {version.revision}")
        if version.pinned_sequence is not None and not self._really_pinned(version, version.pinned_sequence, pinned):
            self._found(Finding.VERSION_ALTERED, where, "opened a version whose attributes no event recorded")
        if version.ended_at is None:
            if (version.end_reason, version.ended_sequence) != (None, None) or version.revision != newest_revision:
                self._found(Finding.ENDING_MISMATCH, where, "opened a version that is live although it was replaced")
        elif (version.ended_sequence or self._head.sequence) > self._head.trimmed and not _really_ended(version, ended):
            self._found(Finding.ENDING_MISMATCH, where, "opened a version that ended without an event")

    def _really_pinned(self, version: Version, claimed: int, pinned: Event | None) -> bool:
        if version.value is None or claimed <= version.sequence:
            return False
        if claimed <= self._head.trimmed:  # the event that opened it came before, so it is not kept either
            return True
        return pinned is not None and pinned.kind is EventKind.RELABELLED and pinned.row_id == version.id

    def finish(self) -> tuple[Problem, ...]:
        """Check that the log ends where it should, and return everything found."""
        for sequence in self._purged.values():
            self._found(Finding.VERSION_MISSING, sequence, "tells of a live version that is gone")
        if (self._sequence, self._hash) != (self._head.sequence, self._head.hash):
            self._found(
                Finding.HEAD_MISMATCH, self._sequence, f"is the last one kept; the head is {self._head.sequence}"
            )
        if not self._met_expected and self._expected is not None:
            self._found(
                Finding.HEAD_MISMATCH, self._sequence, f"is the last; event {self._expected[0]} was noted elsewhere"
            )
        return tuple(self.problems)

    @property
    def full(self) -> bool:
        """True when enough is wrong to stop looking."""
        return len(self.problems) >= MAX_PROBLEMS

    def _found(self, finding: Finding, sequence: int, what: str) -> None:
        if not self.full:
            self.problems.append(Problem(finding, sequence, f"event {sequence} {what}"))


def _really_opened(version: Version, opened: Event | None) -> bool:
    return opened is not None and opened.row_id == version.id and opened.kind in (EventKind.ADD, EventKind.UPDATE)


def _really_ended(version: Version, ended: Event | None) -> bool:
    if ended is None or version.end_reason is None or ended.kind is not _ENDED_BY[version.end_reason]:
        return False
    if ended.kind is EventKind.ERASED:
        erased = ended.address.namespace.encoded
        return in_subtree(erased, version.address.namespace.encoded) and version.ended_at == max(
            ended.at, version.written_at
        )
    if version.ended_at != ended.at or ended.address != version.address:
        return False
    if ended.kind is EventKind.UPDATE:
        return ended.revision == version.revision + 1
    return ended.row_id == version.id
