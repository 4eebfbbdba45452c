"""Guests: other protocols behind a path of the HTTP service, let in by the same chain as every route of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from recollect.config import Settings
from recollect.domain.callers import Caller
from recollect.service.memories import Memories

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a guest: its caller is known, its body was read within the limits, and its answer is awaited."""

    scope: Mapping[str, Any]
    headers: Mapping[bytes, bytes]
    """By name; of one that is repeated, the first."""
    body: bytes
    receive: Receive
    """Gives the body once more, and then whether the client hung up."""
    send: Send
    caller: Caller
    memories: Memories
    settings: Settings

    def header(self, name: bytes) -> str | None:
        """A header's value as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


class Guest(Protocol):
    """A protocol of its own at one path."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def methods(self) -> tuple[str, ...]:
        """What may be asked there; all of it is asked with a body."""

    async def visit(self, visit: Visit) -> None:
        """Answer one request; an error of ours that is raised before the answer began is answered as everywhere."""
