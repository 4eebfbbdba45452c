"""Summaries: what stands for the turns that fell out of the window of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.domain.governance.items import Item
from recollect.domain.governance.terms import Kind

MOST_PIECE = 80
"""Characters of each turn, and of the summary before."""
MOST_PIECES = 6
MOST_TEXT = 240
ELLIPSIS = "..."
IMPORTANCE = 1
"""Always: what was urgent in a turn was weighed with the turn."""
IMPORTANCE_REASON = ("event:context", "summary")
AUTHORITY_REASON = "summary"


class Overflow(NamedTuple):
    """The turns that fell out of the window, oldest first, and the summary that stood for earlier ones."""

    evicted: tuple[Item, ...]
    prior: Item | None

    @property
    def summary_of(self) -> tuple[str, ...]:
        """The ids of all that the new summary stands for."""
        earlier = self.prior.meta.summary_of if self.prior else ()
        return (*earlier, *(item.id for item in self.evicted))

    @property
    def text(self) -> str:
        """What the new summary says."""
        return summarised(self.evicted, self.prior.text if self.prior else None)


def turns_of(items: Iterable[Item], phase_id: str) -> tuple[Item, ...]:
    """The turns of a phase, oldest first, without their summary."""
    return tuple(
        each
        for each in items
        if each.kind is Kind.SHORT_TERM and each.meta.phase_id == phase_id and not each.is_summary
    )


def summary_in(items: Iterable[Item], phase_id: str) -> Item | None:
    """The summary of a phase."""
    return next((each for each in items if each.is_summary and each.meta.phase_id == phase_id), None)


def overflowing(items: Sequence[Item], phase_id: str, window: int) -> Overflow | None:
    """What falls out of a window of so many messages; None when nothing does, or there is no window."""
    turns = turns_of(items, phase_id)
    if window <= 0 or len(turns) <= window:
        return None
    return Overflow(turns[:-window], summary_in(items, phase_id))


def summarised(evicted: Sequence[Item], prior: str | None = None) -> str:
    """The text of a summary: what the one before said, then who said what, oldest first, each cut short.

    Of more turns than fit, the oldest are told: the newer ones are the last that were seen in full.
    """
    pieces = [] if prior is None else [f"Earlier: {prior[:MOST_PIECE]}"]
    pieces += [f"{item.source}: {item.text[:MOST_PIECE]}" for item in evicted[:MOST_PIECES]]
    text = " | ".join(pieces)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + ELLIPSIS
