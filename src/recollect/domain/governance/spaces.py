"""Spaces: who may read and write where, and how a memory gets from one space to another."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.domain.address import Namespace
from recollect.domain.governance.axes import governed
from recollect.domain.governance.conflicts import allows, authority_in
from recollect.domain.governance.items import Item
from recollect.domain.governance.policy import Contract, PhaseRules
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Authority, EventType, Kind, Space

_THIS = r"(?: (?:this|that|it|these|those))?"
_HINTS: tuple[tuple[Space, Reason, re.Pattern[str]], ...] = tuple(
    (space, reason, re.compile(rf"\b{pattern}\b"))
    for space, reason, pattern in (
        (Space.USER, Reason.HINT_REMEMBER_FOR_ME, rf"remember{_THIS} for me"),
        (Space.USER, Reason.HINT_REMEMBER_ABOUT_ME, rf"remember{_THIS} about me"),
        (Space.USER, Reason.HINT_SAVE_FOR_ME, rf"save{_THIS} for me"),
        (Space.PROJECT, Reason.HINT_REMEMBER_FOR_PROJECT, rf"remember{_THIS} for (?:the|this|our|my) project"),
        (Space.PROJECT, Reason.HINT_PROJECT_MEMORY, r"project memory"),
        (Space.SYSTEM, Reason.HINT_REMEMBER_FOR_EVERYONE, rf"remember{_THIS} for everyone"),
        (Space.SYSTEM, Reason.HINT_REMEMBER_FOR_SYSTEM, rf"remember{_THIS} for (?:the )?system"),
        (Space.SYSTEM, Reason.HINT_SYSTEM_MEMORY, r"system memory"),
    )
)
"""What asks for a space, in the order in which it is looked for: the narrower space first."""


class Border(NamedTuple):
    """Whether a border may be crossed, and why."""

    allowed: bool
    reason: Reason


class PromotionRequest(NamedTuple):
    """A space that was asked for, and what asked for it."""

    to_space: Space
    reason: str


class Passage(NamedTuple):
    """Whether an item may go to another space, why, and on whose authority."""

    allowed: bool
    reason: Reason
    authority: Authority


OPEN = Border(True, Reason.ALLOWED)
CLOSED = Border(False, Reason.SPACE_DISABLED)


def root_of(space: Space, *, user: str, session: str, project: str) -> Namespace:
    """Where the records of a space are stored.

    Sessions lie below their user, so the user's own records are those at the root itself, not all below it.
    """
    roots = {
        Space.SESSION: ("user", user, "session", session),
        Space.USER: ("user", user),
        Space.PROJECT: ("project", project),
        Space.SYSTEM: ("system",),
    }
    return Namespace.of(*roots[space])


def consulted(contract: Contract) -> tuple[Space, ...]:
    """The spaces that a recall looks at, in order; where none is to be read, the session's own border says so."""
    return contract.spaces.read_order or (Space.SESSION,)


def read_border(contract: Contract, space: Space) -> Border:
    """Whether the space may be read."""
    return OPEN if space in contract.spaces.read_order else CLOSED


def write_border(contract: Contract, space: Space) -> Border:
    """Whether the space may be written to."""
    return OPEN if space in contract.spaces.write_spaces else Border(False, Reason.WRITE_SPACE_DISALLOWED)


def phase_border(rules: PhaseRules) -> Border:
    """Whether a phase may be begun by request."""
    return OPEN if rules.enabled else Border(False, Reason.PHASE_DISABLED)


def diff_border(contract: Contract, space: Space) -> Border:
    """Whether two phases of the space may be compared."""
    if not contract.phase.enabled:
        return Border(False, Reason.PHASE_DISABLED)
    if not contract.phase.diff_enabled:
        return Border(False, Reason.PHASE_DIFF_DISABLED)
    return read_border(contract, space)


def promotion(contract: Contract, item: Item, from_space: Space, to_space: Space) -> Passage:
    """Whether the item may go from the one space to the other."""
    authority = authority_in(item)
    ways = (way for way in contract.spaces.promotions if (way.from_space, way.to_space) == (from_space, to_space))
    way = next(ways, None)
    if way is None:
        return Passage(False, Reason.PROMOTION_DISALLOWED, authority)
    if way.allowed_event_types and governed(item.event_type) not in way.allowed_event_types:
        return Passage(False, Reason.PROMOTION_EVENT_TYPE, authority)
    overridden = way.decision_override and item.event_type is EventType.DECISION
    required = Authority.USER_ASSERTED if overridden else way.min_authority
    if not allows(authority, required, contract.authority_order):
        return Passage(False, Reason.PROMOTION_AUTHORITY, authority)
    return Passage(True, Reason.ALLOWED, authority)


def hinted(text: str) -> PromotionRequest | None:
    """The space that the words of a user ask for; None when they ask for none."""
    flat = " ".join(text.lower().split())
    for space, reason, pattern in _HINTS:
        if pattern.search(flat):
            return PromotionRequest(space, reason)
    return None


def requested(item: Item) -> PromotionRequest | None:
    """The space that an item is to be promoted to; None for turns, and for what was promoted already."""
    target = item.meta.promotion_target
    if item.kind is Kind.SHORT_TERM or item.meta.promoted_from or target is None or target is item.meta.space:
        return None
    return PromotionRequest(target, item.meta.promotion_reason or Reason.META_PROMOTION_TARGET)
