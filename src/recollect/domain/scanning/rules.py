"""What a rule of the scanner is: a kind, its class, how sure it is, a pattern, and what else must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Class(StrEnum):
    """What finding something means."""

    SECRET = "secret"  # noqa: S105 - a class, not a secret
    """It opens a door: it is neither kept nor shown."""
    PII = "pii"
    """It tells of a person: keeping it needs consent."""


class Confidence(IntEnum):
    """How much a finding can be relied on."""

    POSSIBLE = 1
    """Its shape is right, and other things have that shape too."""
    LIKELY = 2
    """Its shape is right, and so is what stands around it."""
    CERTAIN = 3
    """Its shape belongs to nothing else, or its check digits are right."""


class Span(NamedTuple):
    """A part of a text, by characters."""

    begin: int
    end: int


class Finding(NamedTuple):
    """Where something was found, and what. Never the thing itself, so that a finding can be logged."""

    kind: str
    sort: Class
    confidence: Confidence
    begin: int
    end: int


Check = Callable[[str, int, int], Span | None]
"""What a pattern cannot say: given the text and a span, the part of it that holds, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to find one kind. The first group of the pattern, where it has one, is what is found."""

    kind: str
    sort: Class
    confidence: Confidence
    pattern: str
    check: Check | None = None


def when(holds: Callable[[str], bool]) -> Check:
    """The check that the found text itself must pass."""

    def check(text: str, begin: int, end: int) -> Span | None:
        return Span(begin, end) if holds(text[begin:end]) else None

    return check
