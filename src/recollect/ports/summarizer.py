"""The summarizer: what makes a few words of a conversation, as promises that each keeps.

Z1   A summary rests on the lines it was given alone, and on what it is told is known; nothing else is asked for.
Z2   It is never longer than the caps in `domain/conversation/summaries.py`, whatever was answered.
Z3   It ends within its time, however slow whatever it asks may be.
Z4   It never fails: where what it asks cannot be relied on, the extractive one stands in, and it says why.
Z5   Nothing it says of itself (trouble, names) holds anything of the lines or of a credential.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from recollect.domain.conversation.summaries import Line, Summary


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What to make a summary of."""

    lines: tuple[Line, ...]
    """Oldest first."""
    before: str = ""
    """The rolling summary before, so that nothing of it is lost."""
    persona: str = ""
    """How the persona is called; the user is never called so."""
    commitments: tuple[str, ...] = ()
    """What is known to be promised; for a session's summary."""
    open_loops: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    """Labels of the people who were spoken of."""


class Rolled(msgspec.Struct, frozen=True, kw_only=True):
    """A rolling summary, or why there is none of the model's own."""

    text: str
    by: str
    trouble: str | None = None
    """`timeout_or_exception`, `summary_empty_or_failed` or `exception`; then the extractive one stood in."""


class Summed(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a session, and who made it."""

    summary: Summary
    by: str
    trouble: str | None = None


class Summarizer(ABC):
    """Makes summaries. The module's docstring has the promises."""

    name: str
    asks: bool = False
    """Whether it asks somebody else, so that it may take seconds."""

    @abstractmethod
    def rolling(self, told: Told) -> Rolled:
        """The conversation so far in at most 600 characters (Z1 to Z5). It may block."""

    @abstractmethod
    def session(self, told: Told) -> Summed:
        """What a session was about (Z1 to Z5). It may block."""

    def condensed(self, lines: Sequence[str], most: int) -> tuple[str, ...]:
        """The most telling of many short lines, in their order, for a section of the spine; never asks."""
        return tuple(dict.fromkeys(line for line in lines if line.strip()))[:most]

    def close(self) -> None:  # noqa: B027 - not every summarizer holds something
        """Let go of everything."""
