"""Requests of a conversation on the wire: turns, todos, seeds, personas, entities, curations and imports."""

from __future__ import annotations

from typing import Any

from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.conversation.todos import LoopKind
from recollect.wire.requests import Strict


class ConverseBody(Strict):
    """A turn: what the user said, what was answered, or both."""

    user: str | None = None
    ai: str | None = None
    persona: str = DEFAULT_PERSONA
    session: str | None = None
    private: bool = False
    project: str | None = None
    at: str | None = None


class TodoBody(Strict):
    """Something to be done, added by hand."""

    content: str
    kind: str = LoopKind.COMMITMENT
    persona: str = DEFAULT_PERSONA
    dedupe_key: str | None = None


class ChangeTodoBody(Strict):
    """What is different about a todo from now on."""

    status: str | None = None
    kind: str | None = None
    content: str | None = None


class SeedBody(Strict):
    """What is told of a user beforehand."""

    text: str


class PersonaBody(Strict):
    """What a persona is from now on."""

    settings: dict[str, Any]
    expected_version: int | None = None


class EntityBody(Strict):
    """How an entity is called, and how else."""

    label: str | None = None
    aliases: list[str] | None = None


class MergeBody(Strict):
    """Which entity another one is."""

    into: str
    forced: bool = False


class SplitBody(Strict):
    """Which names belong to another entity after all."""

    aliases: list[str]


class SuggestionBody(Strict):
    """Whether two entities are one."""

    accept: bool


class CurateBody(Strict):
    """What the curator looks through, and whether it only says what it would do."""

    persona: str | None = None
    dry_run: bool = False


class ImportTurnsBody(Strict):
    """A page of a conversation from elsewhere: its turns in order, from a position in their source."""

    turns: list[Any]
    source: str
    position: int
    persona: str = DEFAULT_PERSONA
