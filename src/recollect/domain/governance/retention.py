"""Retention: which items are forgotten at a tick, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recollect.domain.governance.axes import governed
from recollect.domain.governance.items import Item
from recollect.domain.governance.policy import Contract, RetentionRule
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import EventType, ForgetPolicy, Kind

_NEVER = RetentionRule()


class Forgotten(NamedTuple):
    """An item that is forgotten, and why."""

    item: Item
    reason: Reason


class Sifted(NamedTuple):
    """The items that stay, in their order, and those that are forgotten."""

    kept: tuple[Item, ...]
    forgotten: tuple[Forgotten, ...]


def rule_for(contract: Contract, kind: Kind, event_type: EventType) -> RetentionRule:
    """The rule for an item: that of its event type, else that of context, else it is never forgotten."""
    rules = contract.retention.get(kind, {})
    return rules.get(event_type) or rules.get(governed(event_type)) or rules.get(EventType.CONTEXT) or _NEVER


def sift(items: Iterable[Item], contract: Contract, now: int) -> Sifted:
    """What is kept and what is forgotten at the tick `now`; an item with a time to live has its last tick noted.

    What was reviewed is kept as long as its tier says, not as long as a profile does.
    """
    kept: list[Item] = []
    forgotten: list[Forgotten] = []
    for item in items:
        if item.meta.tier is not None:
            kept.append(item)
            continue
        rule = rule_for(contract, item.kind, item.event_type)
        seen = _dated(item, rule)
        reason = _due(seen, rule, now)
        if reason is None:
            kept.append(seen)
        else:
            forgotten.append(Forgotten(seen, reason))
    return Sifted(tuple(kept), tuple(forgotten))


def _dated(item: Item, rule: RetentionRule) -> Item:
    if rule.mode is not ForgetPolicy.TTL or rule.ttl_ticks is None or item.meta.expires_at is not None:
        return item
    return item.with_meta(expires_at=item.created_at + rule.ttl_ticks)


def _due(item: Item, rule: RetentionRule, now: int) -> Reason | None:
    """Why the item is forgotten now. A time to live ends at its tick, decay after it."""
    if rule.mode is ForgetPolicy.TTL:
        expires_at = item.meta.expires_at
        return Reason.TTL_EXPIRED if expires_at is not None and now >= expires_at else None
    if rule.mode is ForgetPolicy.DECAY and rule.ttl_ticks is not None:
        return Reason.DECAY if now - item.created_at > rule.ttl_ticks else None
    return None
