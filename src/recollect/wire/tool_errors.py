"""Errors as an agent's tools tell them: a code from a short, closed list, a message, and whether to try again.

The codes are those of the protocol that the tools come from; the code that all other doors use is told beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol


class ToolCode(StrEnum):
    """What kind of trouble a tool met."""

    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    """There is no such tool."""
    VALIDATION_FAILED = "VALIDATION_FAILED"
    """The arguments are not what the tool takes."""
    UNAUTHORIZED = "UNAUTHORIZED"
    """The caller may not do that."""
    RATE_LIMITED = "RATE_LIMITED"
    """The budget of the session is spent, or the service has too much to do."""
    PLUGIN_TIMEOUT = "PLUGIN_TIMEOUT"
    """It took too long."""
    PLUGIN_UNAVAILABLE = "PLUGIN_UNAVAILABLE"
    """The service, or what it keeps memories in, is away."""
    PLUGIN_ERROR = "PLUGIN_ERROR"
    """Something is broken."""
    HANDLER_ERROR = "HANDLER_ERROR"
    """The tool could not do it: there is no such entry, or it was replaced already."""


class Problem(Protocol):
    """An error of the service or of the client: both have the same codes."""

    @property
    def code(self) -> str:
        """The code that all doors use."""

    @property
    def message(self) -> str:
        """What went wrong."""

    @property
    def retriable(self) -> bool:
        """Whether the same call may succeed later."""

    @property
    def details(self) -> Mapping[str, Any]:
        """What else is known."""


_CODES = {
    "unknown_tool": ToolCode.UNKNOWN_TOOL,
    "budget_spent": ToolCode.RATE_LIMITED,
    "rate_limited": ToolCode.RATE_LIMITED,
    "unauthenticated": ToolCode.UNAUTHORIZED,
    "forbidden": ToolCode.UNAUTHORIZED,
    "not_found": ToolCode.HANDLER_ERROR,
    "chain_refused": ToolCode.HANDLER_ERROR,
    "contention": ToolCode.HANDLER_ERROR,
    "deadline_exceeded": ToolCode.PLUGIN_TIMEOUT,
    "request_timeout": ToolCode.PLUGIN_TIMEOUT,
    "store_busy": ToolCode.PLUGIN_UNAVAILABLE,
    "store_full": ToolCode.PLUGIN_UNAVAILABLE,
    "store_unavailable": ToolCode.PLUGIN_UNAVAILABLE,
    "store_closed": ToolCode.PLUGIN_UNAVAILABLE,
    "shutting_down": ToolCode.PLUGIN_UNAVAILABLE,
    "connection_failed": ToolCode.PLUGIN_UNAVAILABLE,
    "embedder_trouble": ToolCode.PLUGIN_UNAVAILABLE,
    "vectors_unavailable": ToolCode.PLUGIN_UNAVAILABLE,
}
_STAGES = {
    ToolCode.UNKNOWN_TOOL: 2,
    ToolCode.VALIDATION_FAILED: 3,
    ToolCode.UNAUTHORIZED: 4,
    ToolCode.RATE_LIMITED: 4,
}
"""At which step of a call it is refused, where that is before the tool itself."""


def code_of(problem: Problem) -> ToolCode:
    """The code of a tool for an error."""
    known = _CODES.get(problem.code)
    if known is not None:
        return known
    invalid = problem.code.startswith("invalid_") or problem.code in {"request_too_large", "unsupported_media_type"}
    return ToolCode.VALIDATION_FAILED if invalid else ToolCode.PLUGIN_ERROR


def tool_error(problem: Problem) -> dict[str, Any]:
    """An error as a tool tells it."""
    code = code_of(problem)
    reason = problem.details.get("reason")
    said = (
        f"{problem.message}: {reason}" if isinstance(reason, str) and reason not in problem.message else problem.message
    )
    retriable = problem.retriable and problem.code != "outcome_unknown"  # a call has no key by which it is done once
    told: dict[str, Any] = {"code": code.value, "message": said, "retriable": retriable}
    if code in _STAGES:
        told["stage"] = _STAGES[code]
    field, wait = problem.details.get("field"), problem.details.get("retry_after")
    if isinstance(field, str):
        told["field"] = field
    if isinstance(wait, int | float):
        told["retry_after"] = wait
    return told
