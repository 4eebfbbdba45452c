"""Personas: who somebody talks to, and what they know of the user beforehand."""

from __future__ import annotations

import msgspec

from recollect.domain.instants import Instant

DEFAULT_PERSONA = "default"
MAX_PERSONA = 64
MAX_SEED = 20_000
"""Characters of what is told of a user beforehand."""


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


class UserSeed(msgspec.Struct, frozen=True, kw_only=True):
    """What was told of a user beforehand, for all personas."""

    text: str
    at: Instant
