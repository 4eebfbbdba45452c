"""Phases: the stretches that the memory of a space is divided into, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from recollect.domain.errors import InvalidInput
from recollect.domain.governance.items import Item, rank_of
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Kind, Space
from recollect.domain.text import flaw_in, shown

MOST_CHANGES = 8
MOST_WORDS = 1_024
"""Characters that a token, a name or a reason may have."""
_TOKEN = "_memory_phase_token"  # noqa: S105 - the name of a field of the caller's state
_NAME = "_memory_phase_name"
_REASON = "_memory_phase_reason"
_FROM = "_memory_phase_diff_from"
_TO = "_memory_phase_diff_to"
_SPACE = "_memory_phase_diff_space"


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of a space's memory."""

    index: int
    started_at: int
    reason: str
    name: str | None = None
    token: str | None = None
    """What asked for it; the same token asks for nothing new."""

    @property
    def id(self) -> str:
        """What the phase is called."""
        return f"phase-{self.index}"

    def noted(self) -> dict[str, Any]:
        """What an item made in this phase notes of it."""
        return {
            "phase_id": self.id,
            "phase_name": self.name,
            "phase_started_at": self.started_at,
            "phase_reason": self.reason,
        }


class PhaseRequest(NamedTuple):
    """A phase that somebody asks for."""

    token: str
    name: str | None = None
    reason: str | None = None


class DiffRequest(NamedTuple):
    """Two phases that somebody wants compared."""

    from_phase_id: str
    to_phase_id: str
    space: Space = Space.SESSION


class Member(msgspec.Struct, frozen=True):
    """An item as the snapshot of a phase remembers it; the key as it may be shown."""

    id: str
    kind: Kind
    dedup_key: str | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """What a space held at the end of a phase, or holds now in the last one."""

    phase_id: str
    members: tuple[Member, ...] = ()


class Replacement(NamedTuple):
    """An item that took the place of another."""

    before: Member
    after: Member


class Diff(NamedTuple):
    """What changed from one phase to another; what was replaced is neither added nor deleted."""

    added: tuple[Member, ...] = ()
    deleted: tuple[Member, ...] = ()
    replaced: tuple[Replacement, ...] = ()

    def top_changes(self) -> list[dict[str, str]]:
        """The first changes: replaced by key, then added and deleted by id."""
        changes = [_replaced(each) for each in self.replaced]
        changes += [_changed("added", each) for each in self.added]
        changes += [_changed("deleted", each) for each in self.deleted]
        return changes[:MOST_CHANGES]

    def summary_lines(self) -> list[str]:
        """The diff in words."""
        return [
            f"Added {len(self.added)} items",
            f"Deleted {len(self.deleted)} items",
            f"Replaced {len(self.replaced)} items",
        ]


def request_in(state: Mapping[str, object]) -> PhaseRequest | None:
    """The phase that a caller's state asks for; refused when its words cannot be stored."""
    token = _word(state, _TOKEN)
    return None if token is None else PhaseRequest(token, _word(state, _NAME), _word(state, _REASON))


def diff_request_in(state: Mapping[str, object]) -> DiffRequest | None:
    """The comparison that a caller's state asks for; refused when there is no such space."""
    before, after, space = _word(state, _FROM), _word(state, _TO), _word(state, _SPACE) or Space.SESSION
    if before is None or after is None:
        return None
    if space not in set(Space):
        raise InvalidInput(f"{shown(space)} is not a space; use one of {', '.join(Space)}")
    return DiffRequest(before, after, Space(space))


def _word(state: Mapping[str, object], name: str) -> str | None:
    value = state.get(name)
    word = "" if value is None else str(value).strip()
    if len(word) > MOST_WORDS or flaw_in(word):
        raise InvalidInput(f"{name} is text of at most {MOST_WORDS:,} characters")
    return word or None


def is_new(phases: Sequence[Phase], request: PhaseRequest | None) -> bool:
    """True when a phase is to begin: there is none yet, or a token asks that did not ask last."""
    return not phases or (request is not None and request.token != phases[-1].token)


def begun(phases: Sequence[Phase], request: PhaseRequest | None, tick: int) -> Phase:
    """The phase that begins at a tick."""
    index = phases[-1].index + 1 if phases else 1
    if request is None:
        return Phase(index=index, started_at=tick, reason=Reason.AUTO)
    reason = request.reason or Reason.MANUAL
    return Phase(index=index, started_at=tick, reason=reason, name=request.name, token=request.token)


def closed(snapshots: Sequence[Snapshot], last: Snapshot, most: int | None) -> tuple[Snapshot, ...]:
    """The snapshots of the phases that are over, now that the last one is, too: a new one begins with all it held.

    Only so many are kept as the policy says, the newest, and the phase that begins is one of them; items stay.
    """
    kept = (*snapshots, last)
    return kept if most is None else kept[len(kept) - min(len(kept), max(most, 1) - 1) :]


def seen_phases(phases: Sequence[Phase], *, history: bool) -> tuple[str, ...]:
    """The phases that a recall sees, the newest first; none where nothing was written yet."""
    newest_first = tuple(phase.id for phase in reversed(phases))
    return newest_first if history else newest_first[:1]


def member_of(item: Item, dedup_key: str | None) -> Member:
    """An item as a snapshot remembers it, with the key as it may be shown."""
    return Member(item.id, item.kind, dedup_key)


def compared(snapshots: Iterable[Snapshot], from_phase_id: str, to_phase_id: str) -> Diff:
    """What changed from the one phase to the other; nothing when one of them is not known.

    An item is replaced by one of the same key when it is gone and the other is new. What is still there was not
    replaced, though another says the same.
    """
    known = {each.phase_id: {member.id: member for member in each.members} for each in snapshots}
    before, after = known.get(from_phase_id), known.get(to_phase_id)
    if before is None or after is None:
        return Diff()
    gone = _by_id(member for item_id, member in before.items() if item_id not in after)
    new = _by_id(member for item_id, member in after.items() if item_id not in before)
    replaced: list[Replacement] = []
    for member in gone:
        heir = next(
            (each for each in new if _same(member, each) and each not in [pair.after for pair in replaced]), None
        )
        if heir is not None:
            replaced.append(Replacement(member, heir))
    taken = {member.id for pair in replaced for member in pair}
    replaced.sort(key=lambda pair: (pair.before.dedup_key or "", rank_of(pair.before.id)))
    return Diff(
        tuple(each for each in new if each.id not in taken),
        tuple(each for each in gone if each.id not in taken),
        tuple(replaced),
    )


def _same(before: Member, after: Member) -> bool:
    return before.dedup_key is not None and before.dedup_key == after.dedup_key


def _by_id(members: Iterable[Member]) -> list[Member]:
    return sorted(members, key=lambda member: rank_of(member.id))


def _changed(change: str, member: Member) -> dict[str, str]:
    return {"change": change, "memory_id": member.id, "kind": member.kind.value}


def _replaced(pair: Replacement) -> dict[str, str]:
    return {
        "change": "replaced",
        "dedupe_key": pair.before.dedup_key or "",
        "from_id": pair.before.id,
        "to_id": pair.after.id,
        "from_kind": pair.before.kind.value,
        "to_kind": pair.after.kind.value,
    }
