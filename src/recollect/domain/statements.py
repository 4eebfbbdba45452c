"""Statements: what a text says that may be worth remembering, one thing each."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.governance.events import classified, fact_in
from recollect.domain.governance.terms import EventType, Source


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a text says of an entity, in words that can be read without the rest."""

    text: str
    """The words to be kept."""
    event_type: EventType
    entity: str
    """What it is about, as `<type>:<id>`."""
    predicate: str
    """What it says of the entity."""
    value: Any
    """What the predicate has there."""
    confidence: float
    """How sure it is that the text says so, from 0 to 1."""
    key: str | None = None
    """The key of a profile fact, of which there is one value at a time."""


MANY_VALUED = frozenset({"likes", "prefers"})


def statements_in(text: str, subject: str, source: Source = Source.USER) -> tuple[Statement, ...]:
    """What a text states."""
    event_type, fact = classified(text, source), fact_in(text)
    if event_type is EventType.CONTEXT or source is not Source.USER:
        return ()
    made = Statement(
        text=text.strip(),
        event_type=event_type,
        entity=subject,
        predicate=fact.key if fact else "prefers",
        value=fact.value if fact else text.strip(),
        confidence=0.9,
        key=fact.key if fact else None,
    )
    return (made,)
