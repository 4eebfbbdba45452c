"""Weighing: how much a memory matters, from 0 to 3, and how that grows when it is said again."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from recollect.domain.conversation.subjects import FactType, is_of_user
from recollect.domain.governance.terms import EventType
from recollect.domain.instants import Instant
from recollect.domain.remembering.records import Record

LEAST_WEIGHT, MOST_WEIGHT = 0, 3
OFTEN = 3
"""From so many mentions a memory weighs one more."""
VERY_OFTEN = 10
"""From so many mentions it weighs two more."""
CURATED_FOLD = "curated_fold"
"""The origin of what the curator made of several records."""

_IDENTITY = frozenset({"name", "pronouns", "role", "works_as"})
_KEY_FACTS = frozenset(
    {"age", "allergic_to", "birthday", "born_in", "deadline", "diet", "from", "health", "lives_in", "status"}
    | {"decided", "works_at", "works_in"}
)


class WeightReason(StrEnum):
    """Why a memory weighs what it weighs."""

    PINNED = "pinned"
    """Somebody pinned it, and what is pinned weighs most."""
    CORE_IDENTITY = "core_identity"
    """It says who the user is: their name, their role."""
    RELATIONSHIP = "relationship"
    """It says how somebody stands to the user."""
    KEY_FACT = "key_fact"
    """It says something that much else depends on: where, when, what must be avoided, what was decided."""
    FOLDED = "folded"
    """It stands for several memories of one subject."""
    STANDARD = "standard"
    """Nothing makes it matter more or less than others."""
    PASSING = "passing"
    """It was said in passing."""
    OFTEN_MENTIONED = "often_mentioned"
    """It was said three times or more."""
    VERY_OFTEN_MENTIONED = "very_often_mentioned"
    """It was said ten times or more."""
    INHERITED = "inherited"
    """It had the weight already, or took it over from what it replaced."""


class Weight(NamedTuple):
    """How much a memory matters, and why."""

    weight: int
    reasons: tuple[WeightReason, ...]


def initial_weight(
    event_type: EventType, predicate: str, fact_type: str | None, pinned: bool, *, entity: str | None = None
) -> Weight:
    """What a memory weighs that was said once. The name and role of others than the user are key facts only."""
    if pinned:
        return Weight(MOST_WEIGHT, (WeightReason.PINNED,))
    if predicate in _IDENTITY:
        if entity is None or is_of_user(entity):
            return Weight(MOST_WEIGHT, (WeightReason.CORE_IDENTITY,))
        return Weight(2, (WeightReason.KEY_FACT,))
    if fact_type == FactType.RELATIONSHIP:
        return Weight(2, (WeightReason.RELATIONSHIP,))
    if predicate in _KEY_FACTS:
        return Weight(2, (WeightReason.KEY_FACT,))
    if event_type is EventType.CONTEXT:
        return Weight(LEAST_WEIGHT, (WeightReason.PASSING,))
    return Weight(1, (WeightReason.STANDARD,))


def grown_weight(base: int, mention_count: int, pinned: bool) -> Weight:
    """What a memory weighs after so many mentions: one more from 3, another from 10, at most 3, never less."""
    base = max(LEAST_WEIGHT, min(MOST_WEIGHT, base))
    if pinned:
        return Weight(MOST_WEIGHT, (WeightReason.PINNED,))
    if mention_count >= VERY_OFTEN:
        return Weight(min(MOST_WEIGHT, base + 2), (WeightReason.VERY_OFTEN_MENTIONED,))
    if mention_count >= OFTEN:
        return Weight(min(MOST_WEIGHT, base + 1), (WeightReason.OFTEN_MENTIONED,))
    return Weight(base, ())


def weight_of(record: Record) -> Weight:
    """What a record weighs by all rules together; never less than what it weighed already."""
    base = _base(record)
    grown = grown_weight(base.weight, record.mention_count, record.pinned)
    reasons = tuple(dict.fromkeys((*base.reasons, *grown.reasons)))
    if record.weight > grown.weight:
        return Weight(min(MOST_WEIGHT, record.weight), (*reasons, WeightReason.INHERITED))
    return Weight(grown.weight, reasons)


def mentioned(record: Record, at: Instant) -> Record:
    """The record after it was said once more, at a moment that may lie before the last mention."""
    last = at if record.mentioned_at is None else max(record.mentioned_at, at)
    counted = msgspec.structs.replace(record, mention_count=record.mention_count + 1, mentioned_at=last)
    weight, reasons = weight_of(counted)
    return msgspec.structs.replace(counted, weight=weight, weight_reason=tuple(each.value for each in reasons))


def _base(record: Record) -> Weight:
    first = initial_weight(record.event_type, record.predicate, record.fact_type, record.pinned, entity=record.entity)
    if record.origin == CURATED_FOLD and first.weight < 2:
        return Weight(2, (WeightReason.FOLDED,))
    return first
