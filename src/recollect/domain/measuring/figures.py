"""Figures: what is counted of the way out while it happens; a closed set, with labels that no caller can grow."""

from __future__ import annotations

from enum import StrEnum

from recollect.domain.recall.asking import Ranker


class Figure(StrEnum):
    """Something that is counted."""

    RECALLS = "recalls"
    """Recalls that were answered."""
    RECALL_HITS = "recall_hits"
    """Recalls that gave at least one memory."""
    RECALLED_MEMORIES = "recalled_memories"
    """Memories that recalls gave."""
    CONTEXT_PACKS = "context_packs"
    """Context packs that were compiled."""
    GOVERNED_TURNS = "governed_turns"
    """Turns of conversations that went by the contract of a profile."""


OTHER = "other"
RANKERS = tuple(each.value for each in Ranker)
LABELS: dict[Figure, dict[str, tuple[str, ...]]] = {
    Figure.RECALLS: {"ranker": RANKERS},
    Figure.RECALL_HITS: {"ranker": RANKERS},
    Figure.RECALLED_MEMORIES: {"ranker": RANKERS},
    Figure.CONTEXT_PACKS: {},
    Figure.GOVERNED_TURNS: {},
}
"""By what each is told apart, and the values that are kept apart; any other counts as `other`."""
