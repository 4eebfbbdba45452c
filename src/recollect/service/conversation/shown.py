"""Shown: what is kept between turns, as callers see it."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.conversation.personas import Persona, UserSeed
from recollect.domain.conversation.sessions import Message, Session, SessionState
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine
from recollect.domain.conversation.todos import Todo
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes

Kept = Session | SessionState | Message | Todo | Rolling | SessionSummary | Spine | Persona | UserSeed
_MOMENTS = frozenset({"at", "last_interaction", "last_run_at"})


def shown(kept: Kept) -> dict[str, Any]:
    """A thing as plain JSON, its moments as RFC 3339 writes them."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(kept))
    return {name: _shown(name, value) for name, value in plain.items()}


def shown_session(session: Session) -> dict[str, Any]:
    """A session, and whether it goes on."""
    return shown(session) | {"open": session.is_open}


def shown_todo(todo: Todo) -> dict[str, Any]:
    """A todo, and whether it is something that was done."""
    return shown(todo) | {"win": todo.is_win}


def shown_spine(spine: Spine) -> dict[str, Any]:
    """A version of the spine, with its sections as text."""
    return shown(spine) | {"text": spine.text()}


def shown_persona(persona: Persona, version: int, at: Instant | None) -> dict[str, Any]:
    """A persona in one of its versions; 0 is one that nobody described."""
    described = {name: getattr(persona, name) for name in persona.__struct_fields__}
    return described | {"idle_seconds": persona.silence, "version": version, "at": shapes.written(at)}


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {inner: _shown(inner, each) for inner, each in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and (name in _MOMENTS or name.endswith("_at")):
        return shapes.written(Instant(value))
    return value
