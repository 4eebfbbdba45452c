"""Summaries: a conversation in a few words, while it goes on, when it is over, and over all conversations."""

from __future__ import annotations

import msgspec

from recollect.domain.instants import Instant

ROLLING_EVERY = 4
"""A rolling summary is due after so many messages of the user."""
SPINE_EVERY = 20
"""A new version of the spine is due when more than so many messages were said since the last."""
MAX_ROLLING, MAX_ONE_LINER, MAX_TONE, MAX_ENTRY, MAX_ENTRIES, MAX_SPINE = 600, 200, 40, 120, 5, 4_000


class Line(msgspec.Struct, frozen=True):
    """One message, as whoever summarises reads it."""

    speaker: str
    """`user` or `assistant`."""
    text: str


class Rolling(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation so far, bound to its session."""

    session: str
    text: str
    message_count: int
    """Of the user, in all sessions, when it was made."""
    at: Instant
    by: str
    """`extractive`, or `llm:` and the name of the model."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a session was about. It is never evidence for a memory."""

    one_liner: str
    what_mattered: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    commitments: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    tone: str = "unknown"
    parse_error: bool = False


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary as it is kept, made once, after the session was over."""

    session: str
    persona: str
    summary: Summary
    at: Instant
    by: str
    trouble: str | None = None


class Spine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a user in sections, anew every 20 messages and more."""

    version: int
    profile: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    message_count: int = 0
    """Messages since the version before."""
    at: Instant
    by: str

    def text(self) -> str:
        """The sections as text."""
        named = (
            ("PROFILE", self.profile),
            ("PROJECTS", self.projects),
            ("PEOPLE", self.people),
            ("OPEN_LOOPS", self.open_loops),
        )
        return "\n".join(f"{name}: {'; '.join(lines)}" for name, lines in named if lines)
