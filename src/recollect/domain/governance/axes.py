"""Axes: what an event type means to each way of looking at a memory, in one table."""

from __future__ import annotations

from typing import NamedTuple

from recollect.domain.governance.terms import EventType, Kind, Tier, WriteClass


class Axes(NamedTuple):
    """Where a memory stands on every axis; None of kind and tier: those of what it corrects."""

    write_class: WriteClass | None
    behavioral: bool
    kind: Kind | None
    kind_if_keyed: Kind | None
    tier: Tier | None


AXES: dict[EventType, Axes] = {
    EventType.PREFERENCE: Axes(WriteClass.PREFERENCE, True, Kind.SEMANTIC, Kind.PROFILE, Tier.SEMANTIC),
    EventType.FACT: Axes(WriteClass.EVIDENCE_LINK, False, Kind.SEMANTIC, Kind.PROFILE, Tier.SEMANTIC),
    EventType.DECISION: Axes(WriteClass.DECISION_OUTCOME, False, Kind.SEMANTIC, Kind.SEMANTIC, Tier.SEMANTIC),
    EventType.CORRECTION: Axes(WriteClass.CORRECTION, True, None, None, None),
    EventType.INSTRUCTION: Axes(WriteClass.PREFERENCE, True, Kind.SEMANTIC, Kind.SEMANTIC, Tier.SEMANTIC),
    EventType.CONTEXT: Axes(WriteClass.EVIDENCE_LINK, False, Kind.SEMANTIC, Kind.SEMANTIC, Tier.EPISODIC),
    EventType.EXECUTION: Axes(WriteClass.EVIDENCE_LINK, False, Kind.SEMANTIC, Kind.SEMANTIC, Tier.EPISODIC),
}
TURN = Axes(None, False, Kind.SHORT_TERM, Kind.SHORT_TERM, Tier.WORKING)
"""A turn of a conversation, whatever was said in it."""


def governed(event_type: EventType) -> EventType:
    """The event type whose rules apply.

    Policies know no instructions; the write class of one is that of a preference, so its rules are those too.
    """
    return EventType.PREFERENCE if event_type is EventType.INSTRUCTION else event_type


def kind_of(event_type: EventType, *, keyed: bool, corrected: Kind | None = None) -> Kind:
    """The kind of a record; a correction has that of what it corrects.

    A correction of nothing known is a profile fact when it has a key, else semantic.
    """
    axes = AXES[event_type]
    kind = axes.kind_if_keyed if keyed else axes.kind
    return kind or corrected or (Kind.PROFILE if keyed else Kind.SEMANTIC)


def tier_of(event_type: EventType, *, corrected: Tier | None = None) -> Tier:
    """The tier a record starts in; a correction has that of what it corrects, semantic when nothing is known of it."""
    return AXES[event_type].tier or corrected or Tier.SEMANTIC
