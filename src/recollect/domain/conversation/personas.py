"""Personas: who somebody talks to, and what they know of the user beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.conversation.sessions import IDLE_SECONDS
from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import Instant
from recollect.domain.text import flaw_in, shown

DEFAULT_PERSONA = "default"
MAX_PERSONA = 64
MAX_SEED = 20_000
"""Characters of what is told of a user beforehand."""
MAX_LABEL, MAX_DESCRIPTION, MAX_IDLE = 100, 4_000, 7 * 86_400


class Persona(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A persona as a tenant describes it. One that nobody described can be talked to all the same."""

    name: str
    label: str | None = None
    """How it is called in conversations."""
    description: str | None = None
    """What it is like; data for whoever writes the prompt."""
    idle_seconds: int | None = None
    """After so long a silence its sessions are over, where that differs from the usual half hour."""
    spine: bool = True
    """Whether conversations with it go into the spine."""

    @property
    def silence(self) -> int:
        """After so many seconds of silence a session with it is over."""
        return IDLE_SECONDS if self.idle_seconds is None else self.idle_seconds


class UserSeed(msgspec.Struct, frozen=True, kw_only=True):
    """What was told of a user beforehand, for all personas."""

    text: str
    at: Instant


def persona_name(given: object) -> str:
    """The name of a persona, which is a plain label: it is told wherever its sessions and todos are."""
    if not isinstance(given, str) or not 0 < len(given) <= MAX_PERSONA or given.strip() != given:
        raise InvalidRequest(f"a persona is named by 1 to {MAX_PERSONA} characters on one line", field="persona")
    if not given.isprintable() or flaw_in(given):
        raise InvalidRequest(f"a persona is named by 1 to {MAX_PERSONA} characters on one line", field="persona")
    return given


def read_persona(name: str, given: object) -> Persona:
    """The persona that a caller describes, refused with a clear message when it is none."""
    if not isinstance(given, Mapping):
        raise InvalidRequest("settings are an object", field="settings")
    known = [each for each in Persona.__struct_fields__ if each != "name"]
    for each in given:
        if each not in known:
            raise InvalidRequest(f"{shown(each)} is not set for a persona; there are {', '.join(known)}", field=each)
    return Persona(
        name=name,
        label=_text(given.get("label"), "label", MAX_LABEL),
        description=_text(given.get("description"), "description", MAX_DESCRIPTION),
        idle_seconds=_seconds(given.get("idle_seconds")),
        spine=_truth(given.get("spine", True)),
    )


def _text(given: Any, field: str, most: int) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip() or len(given) > most or flaw_in(given):
        raise InvalidRequest(f"{field} is text of 1 to {most:,} characters", field=field)
    return given


def _seconds(given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= MAX_IDLE:
        raise InvalidRequest(f"idle_seconds is a whole number from 1 to {MAX_IDLE:,}", field="idle_seconds")
    return given


def _truth(given: Any) -> bool:
    if not isinstance(given, bool):
        raise InvalidRequest("spine is true or false", field="spine")
    return given
