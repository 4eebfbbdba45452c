"""Rows: what a rule is given and has to say, and what checks a rule against them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.terms import Authority, EventType, Kind

ORDER = tuple(Authority)
CONTEXT, CORRECTION, DECISION = EventType.CONTEXT, EventType.CORRECTION, EventType.DECISION
EXECUTION, FACT, PREFERENCE = EventType.EXECUTION, EventType.FACT, EventType.PREFERENCE
INSTRUCTION = EventType.INSTRUCTION
SYSTEM, TOOL, USER, AI = Authority


class Row(NamedTuple):
    """What a rule is given, and what it has to say."""

    given: tuple[Any, ...]
    expected: Any


class Table(NamedTuple):
    """A rule and its rows."""

    rule: Callable[..., Any]
    rows: tuple[Row, ...]


def breaches(rule: Callable[..., Any], rows: tuple[Row, ...]) -> list[Row]:
    """The rows that a rule does not keep to."""
    return [row for row in rows if rule(*row.given) != row.expected]


def item(
    number: int = 1,
    *,
    kind: Kind = Kind.SEMANTIC,
    text: str = "text",
    created_at: int | None = None,
    importance: float = 1,
    source: str = "user",
    **meta: Any,
) -> Item:
    """An item with what matters for a test."""
    return Item(
        id=f"session:a:{kind}:{number}",
        kind=kind,
        text=text,
        source=source,
        created_at=number if created_at is None else created_at,
        importance=importance,
        meta=Meta(**meta),
    )
