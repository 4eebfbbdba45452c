"""Todos: what somebody said they would do, does regularly, talks about, or is at odds with."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from recollect.domain.instants import Instant

MAX_CONTENT = 500
"""Characters of what is to be done."""


class LoopKind(StrEnum):
    """What sort of loop is open."""

    COMMITMENT = "COMMITMENT"
    """Something the user said they would do."""
    HABIT = "HABIT"
    """Something they do, or mean to do, regularly."""
    THREAD = "THREAD"
    """Something that is being talked about."""
    FRICTION = "FRICTION"
    """Something that gets in their way."""


class TodoStatus(StrEnum):
    """How far it is."""

    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    SKIPPED = "SKIPPED"


class TodoReason(StrEnum):
    """Why a todo has its status, or why one that was heard of is not kept again."""

    SAID_DONE = "said_done"
    """The user said that it is done."""
    SAID_OFF = "said_off"
    """The user said that it is off."""
    RECURS = "recurs"
    """It is done again and again, so that a habit stands in its place."""
    SMALL_TALK = "small_talk"
    """It was said in passing and leads nowhere."""
    CHANGED = "changed"
    """Somebody changed it by hand."""
    REPEATED = "repeated"
    """One that means the same is pending already."""


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """An open loop that was found in what somebody said; not kept yet."""

    kind: LoopKind
    content: str
    dedupe_key: str | None = None
    confidence: float = 0.8
    entity_refs: tuple[str, ...] = ()
    demoted: bool = False
    """Whether it sounded like a commitment and was too vague for one."""


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """An open loop as it is kept, for one persona of a user."""

    id: str
    user: str
    persona: str
    kind: LoopKind
    content: str
    status: TodoStatus = TodoStatus.PENDING
    dedupe_key: str = ""
    """What another has that means the same."""
    created_at: Instant
    updated_at: Instant
    completed_at: Instant | None = None
    session: str | None = None
    captures: tuple[str, ...] = ()
    """What it rests on."""
    entity_refs: tuple[str, ...] = ()
    confidence: float = 0.8
    reason: TodoReason | None = None
    """Why it has its status."""
    became: str | None = None
    """The habit that a commitment turned into."""

    @property
    def is_win(self) -> bool:
        """Whether it is something that was done."""
        return self.status is TodoStatus.COMPLETED and self.became is None
