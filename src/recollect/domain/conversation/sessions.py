"""Sessions: one conversation after another of a user with a persona, and the state that outlives them."""

from __future__ import annotations

import msgspec

from recollect.domain.instants import Instant

IDLE_SECONDS = 1_800
"""After so many seconds of silence a session is over."""
LAST_MESSAGE = 100
"""Characters of the last message that the state keeps."""
_MICROSECONDS = 1_000_000


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation of a user with a persona."""

    id: str
    user: str
    persona: str
    started_at: Instant
    last_activity_at: Instant
    turn_count: int = 0
    """Messages of the user in it."""
    ended_at: Instant | None = None
    """When it was over, which is when something was said last; None while it goes on."""
    closed_by: str | None = None
    """`idle` or `request`."""

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.ended_at is None

    def is_idle(self, now: Instant, idle_seconds: float = IDLE_SECONDS) -> bool:
        """Whether nothing was said for so long that it is over."""
        return now - self.last_activity_at >= idle_seconds * _MICROSECONDS

    def said(self, at: Instant, *, by_user: bool) -> Session:
        """The session after something more was said."""
        return msgspec.structs.replace(
            self, last_activity_at=max(self.last_activity_at, at), turn_count=self.turn_count + by_user
        )

    def closed(self, by: str) -> Session:
        """The session, over since something was said last."""
        return msgspec.structs.replace(self, ended_at=self.last_activity_at, closed_by=by)


class RollingTrouble(msgspec.Struct, frozen=True):
    """Why a rolling summary could not be made."""

    reason: str
    """`timeout_or_exception`, `summary_empty_or_failed` or `exception`."""
    detail: str | None = None


class CuratorState(msgspec.Struct, frozen=True):
    """How far the curator came."""

    last_run_at: Instant | None = None
    last_memory_count_at_run: int = 0
    """Active memories that it left."""


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a user and a persona across their sessions."""

    message_count: int = 0
    """Messages of the user, in all sessions."""
    last_interaction: Instant | None = None
    last_user_message: str = ""
    """Cut after 100 characters."""
    last_rolling_attempt_at: Instant | None = None
    last_rolling_success_at: Instant | None = None
    last_rolling_message_count: int = 0
    last_rolling_error: RollingTrouble | None = None
    curator: CuratorState = CuratorState()

    def heard(self, text: str, at: Instant) -> SessionState:
        """The state after the user said something."""
        return msgspec.structs.replace(
            self,
            message_count=self.message_count + 1,
            last_interaction=at if self.last_interaction is None else max(self.last_interaction, at),
            last_user_message=text[:LAST_MESSAGE],
        )


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn as it is kept: what the user said, what the persona answered, or both; without what may not be kept."""

    number: int
    """Counted from 1 for a user and a persona, in all sessions."""
    session: str
    persona: str
    at: Instant
    user: str | None = None
    ai: str | None = None
    captures: tuple[str, ...] = ()
