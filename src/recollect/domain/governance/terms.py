"""Terms: the closed vocabularies that governance is written in."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What sort of memory an item is."""

    SHORT_TERM = "short_term"
    """A recent turn of a conversation, or the summary of earlier ones."""
    SEMANTIC = "semantic"
    """A snippet of an earlier interaction, found again by what it says."""
    PROFILE = "profile"
    """A stable fact with a key, of which there is one value at a time."""


class EventType(StrEnum):
    """What was said, or done, when a memory came to be."""

    CONTEXT = "context"
    """Whatever else was said."""
    CORRECTION = "correction"
    """That something is otherwise than was thought."""
    DECISION = "decision"
    """What was decided."""
    EXECUTION = "execution"
    """What a tool did."""
    FACT = "fact"
    """How something is."""
    PREFERENCE = "preference"
    """How somebody wants something to be."""
    INSTRUCTION = "instruction"
    """Known to agents' own tools only; no text is classified so. Policies treat it as a preference."""


GOVERNED = tuple(each for each in EventType if each is not EventType.INSTRUCTION)
"""The event types that policies speak of, in the order in which their tables list them."""


class Source(StrEnum):
    """Who said it."""

    USER = "user"
    AI = "ai"
    TOOL = "tool"
    SYSTEM = "system"


class Authority(StrEnum):
    """How much a word counts, the highest first."""

    SYSTEM_IMPOSED = "system_imposed"
    TOOL_VERIFIED = "tool_verified"
    USER_ASSERTED = "user_asserted"
    AI_INFERRED = "ai_inferred"


class Space(StrEnum):
    """Who a memory is for, in the order in which spaces are read."""

    SESSION = "session"
    USER = "user"
    PROJECT = "project"
    SYSTEM = "system"


class WritePolicy(StrEnum):
    """How much is written beyond the turns themselves."""

    NONE = "none"
    """Nothing."""
    MINIMAL = "minimal"
    """Facts, preferences, decisions and corrections."""
    NORMAL = "normal"
    """All but context."""
    AGGRESSIVE = "aggressive"
    """All."""


class ForgetPolicy(StrEnum):
    """When semantic memory is forgotten."""

    NEVER = "never"
    """It is kept."""
    DECAY = "decay"
    """After an age that depends on the event type."""
    TTL = "ttl"
    """At a tick that is set when the item is first looked at."""


class PhaseMode(StrEnum):
    """Which phases a recall sees."""

    CURRENT_ONLY = "current_only"
    CURRENT_PLUS_HISTORY = "current_plus_history"


class BorderAction(StrEnum):
    """What is checked at the border of a space."""

    READ = "read"
    WRITE = "write"
    PROMOTE = "promote"
    PHASE_START = "phase_start"
    PHASE_DIFF = "phase_diff"


class RecallReason(StrEnum):
    """Why an item was recalled; `space:<space>` is always added."""

    MATCHES_QUERY = "matches_query"
    """It has words of the query."""
    RECENCY = "recency"
    """It is new."""
    IMPORTANCE = "importance"
    """It matters."""
    ACTIVE_RULE = "active_rule"
    """It is recalled whatever the query says."""


class WriteClass(StrEnum):
    """What kind of write a candidate is."""

    EVIDENCE_LINK = "evidence_link"
    """Something that a source says."""
    PREFERENCE = "preference"
    """How somebody wants things to be."""
    DECISION_OUTCOME = "decision_outcome"
    """What was decided, or came of it."""
    CORRECTION = "correction"
    """What is right in place of what was remembered."""


class Tier(StrEnum):
    """Where a promoted record is kept, from the shortest to the longest; only an approved proposal gets to durable."""

    WORKING = "working"
    """For a turn or a session: minutes to hours."""
    EPISODIC = "episodic"
    """For an episode of a user or a workflow: hours to days."""
    SEMANTIC = "semantic"
    """Stable traits of an entity: until they are deprecated."""
    DURABLE = "durable"
    """Facts that are safe for business, under strict policy: months to years."""
