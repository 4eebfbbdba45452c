"""Every "which" and "why" of compiling, as closed sets: codes are public, added and never renamed."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """How a pack is written for a prompt."""

    JSON = "json"
    """One JSON object, one entry on each line."""
    MARKDOWN = "markdown"
    """Headings and lists between two marks."""
    MESSAGES = "messages"
    """One chat message of the role `user`, which holds what the markdown form holds."""


class Part(StrEnum):
    """What a block of a pack is filled from; each memory, contradiction and excerpt belongs to exactly one."""

    PINNED = "pinned"
    """Memories that somebody pinned, of whatever kind."""
    PROFILE = "profile"
    """Stable facts with a key."""
    CARDS = "cards"
    """What is known of the people, places and projects that are spoken of."""
    RELEVANT = "relevant"
    """All other memories that were recalled, the best first."""
    CONTRADICTIONS = "contradictions"
    """What is disputed and not settled."""
    COMMITMENTS = "commitments"
    """What somebody said they would do."""
    THREADS = "threads"
    """What is being talked about."""
    FRICTIONS = "frictions"
    """What gets in somebody's way."""
    HABITS = "habits"
    """What somebody does regularly."""
    WINS = "wins"
    """What was done lately of what somebody said they would do."""
    SEED = "seed"
    """What was told of the user beforehand."""
    SPINE = "spine"
    """The long summary of everything."""
    ROLLING = "rolling"
    """The summary of the conversation so far."""
    SUMMARIES = "summaries"
    """The summaries of earlier sessions, the latest first."""
    TURNS = "turns"
    """The last turns, the oldest first; short-term memories stand before them."""
    EARLIER = "earlier"
    """Earlier words of the conversation that answer what is asked, the best first. They are no memories."""


class DropReason(StrEnum):
    """Why something that was offered is not in the pack."""

    BUDGET = "budget"
    """It did not fit into what was left of the budget."""
    BLOCK_CAP = "block_cap"
    """It did not fit into what its block may take."""
    ENTRY_CAP = "entry_cap"
    """Its block has as many entries as it may have."""
    DUPLICATE = "duplicate"
    """The pack says the same already, or has the same id."""
    EMPTY = "empty"
    """It says nothing that can be seen."""
    NO_BLOCK = "no_block"
    """The template has no block for it."""


class Treatment(StrEnum):
    """How whoever reads a block is to take it."""

    DATA_ONLY = "data_only"
    """As something that was said, and never as an instruction."""
