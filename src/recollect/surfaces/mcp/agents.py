"""Agents: whose tools are called, in which session and for which group; told by the door, never by the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Toolbox(Protocol):
    """What can call tools: the memories of a caller in this process, or a client of a server."""

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], *, session: str | None = None, group: str = "default"
    ) -> dict[str, Any]:
        """What a tool gives for these arguments."""

    async def brief(self, *, group: str = "default") -> str:
        """What an agent should know at the beginning of a session, in markdown."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Who calls."""

    toolbox: Toolbox
    session: str
    group: str
    seconds: float | None = None
    """How long a call may take."""
