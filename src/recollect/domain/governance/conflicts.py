"""Conflicts: which of two items about the same thing is kept, by one order that does not depend on who came first.

Authority decides, then correction, recency and importance. A correction by the user, or by anybody of higher
authority, is not outranked: against such a one authority is not asked. So the items about one thing have a total
order, and whatever the order in which they arrive, the same one is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from recollect.domain.governance.events import authority_of
from recollect.domain.governance.items import Item, rank_of
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import Authority, EventType, Kind

MERGED = "conflict_merge"
"""Why an item's importance is that of the one it replaced."""


class Conflict(msgspec.Struct, frozen=True):
    """Two items about the same thing, the one that is kept, and what decided it."""

    winner: Item
    loser: Item
    rule: Reason


class Settlement(msgspec.Struct, frozen=True):
    """What comes of an item that is to be written among those that are there."""

    kept: Item | None
    """The item as it is written; None when it is not."""
    replaced: Item | None = None
    conflict: Conflict | None = None


def authority_in(item: Item) -> Authority:
    """The authority of an item: what is noted, else what its source has."""
    return item.meta.authority or authority_of(item.source)[0]


def standing_of(authority: Authority, order: Sequence[Authority]) -> int:
    """How high an authority stands, 0 for the highest; below all others when the order does not name it."""
    return order.index(authority) if authority in order else len(order)


def allows(authority: Authority, required: Authority, order: Sequence[Authority]) -> bool:
    """True when the authority is the required one or higher; what the order does not name has nothing above it."""
    if required not in order:
        return authority is required
    return standing_of(authority, order) <= standing_of(required, order)


def resolve(one: Item, other: Item, order: Sequence[Authority]) -> Conflict:
    """Which of the two is kept. `resolve(a, b)` and `resolve(b, a)` say the same."""
    for rule, first, second in _asked(one, other, order):
        if first > second:
            return Conflict(one, other, rule)
        if second > first:
            return Conflict(other, one, rule)
    first_wins = rank_of(one.id) > rank_of(other.id)
    return Conflict(*((one, other) if first_wins else (other, one)), Reason.IMPORTANCE)


def _asked(one: Item, other: Item, order: Sequence[Authority]) -> Iterator[tuple[Reason, float, float]]:
    """What is asked of both, in order, the higher answer winning."""
    first, second = (standing_of(authority_in(each), order) for each in (one, other))
    if not (_stands(one, order) if first > second else _stands(other, order)):
        yield Reason.AUTHORITY, -first, -second
    yield Reason.CORRECTION, _is_correction(one), _is_correction(other)
    yield Reason.RECENCY, one.created_at, other.created_at
    yield Reason.IMPORTANCE, one.importance, other.importance


def _stands(item: Item, order: Sequence[Authority]) -> bool:
    """True for a correction that authority alone does not outrank.

    It is given to the user's authority and higher. It is asked of the lower of the two, whichever came
    first: were it asked of the incoming one only, three items could each beat the next.
    """
    authority = authority_in(item)
    # Those that the order does not name stand alike, so that none of them can stand and another not.
    named = authority in order and standing_of(authority, order) <= standing_of(Authority.USER_ASSERTED, order)
    return _is_correction(item) and named


def _is_correction(item: Item) -> bool:
    return item.meta.event_type is EventType.CORRECTION


def settle(incoming: Item, held: Sequence[Item], order: Sequence[Authority], *, dedupe: bool = True) -> Settlement:
    """What comes of writing `incoming` where `held` are.

    Semantic items conflict when they share a dedup key, unless dedupe is off. Profile facts conflict when they share
    a key; saying the same again is no conflict and changes nothing. A winner is at least as important as what it
    replaces.
    """
    rival = _rival(incoming, held, dedupe=dedupe)
    if rival is None:
        return Settlement(incoming)
    if incoming.kind is Kind.PROFILE and dedupe and rival.text == incoming.text:
        return Settlement(None)
    conflict = resolve(rival, incoming, order)
    if conflict.winner.id != incoming.id:
        return Settlement(None, None, conflict)
    return Settlement(_merged(incoming, rival), rival, conflict)


def _rival(incoming: Item, held: Sequence[Item], *, dedupe: bool) -> Item | None:
    """The item of the same kind that is about the same thing."""
    if incoming.kind is Kind.PROFILE:
        same = (each for each in held if each.meta.key == incoming.meta.key)
    elif incoming.kind is Kind.SEMANTIC and dedupe and incoming.meta.dedup_key:
        same = (each for each in held if each.meta.dedup_key == incoming.meta.dedup_key)
    else:
        return None
    return next((each for each in same if each.kind is incoming.kind), None)


def _merged(winner: Item, loser: Item) -> Item:
    if loser.importance <= winner.importance:
        return winner
    raised = msgspec.structs.replace(winner, importance=loser.importance)
    return raised.with_meta(importance_reason=(*winner.meta.importance_reason, MERGED))
