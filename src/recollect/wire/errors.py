"""Errors on the wire: one envelope, and one table from every error to its HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain import errors as e

STATUS: dict[type[e.RecollectError], int] = {
    e.RecollectError: 500,
    e.InvalidInput: 400,
    e.RequestTooLarge: 413,
    e.RequestTimeout: 408,
    e.UnsupportedMediaType: 415,
    e.MethodNotAllowed: 405,
    e.AccessRefused: 403,
    e.Unauthenticated: 401,
    e.NotFound: 404,
    e.Conflict: 409,
    e.BudgetSpent: 429,
    e.UnknownTool: 404,
    e.CursorExpired: 410,
    e.KeyTrouble: 500,
    e.StoreTrouble: 500,
    e.StoreBusy: 503,
    e.StoreFull: 503,
    e.StoreUnavailable: 503,
    e.StoreClosed: 503,
    e.OutcomeUnknown: 503,
    e.ServiceTrouble: 503,
    e.RateLimited: 429,
    e.DeadlineExceeded: 504,
    e.PolicyTrouble: 500,
    e.EmbedderTrouble: 503,
    e.TextRefused: 400,
    e.Internal: 500,
    e.Unsupported: 501,
}
"""The status of each error; what is not listed has that of the nearest class above it."""


def status_of(error: type[e.RecollectError]) -> int:
    """The HTTP status of an error."""
    return next(STATUS[cls] for cls in error.__mro__ if cls in STATUS)


def envelope(error: e.RecollectError) -> bytes:
    """The body of an answer that tells of an error."""
    details: dict[str, Any] = {name: _plain(value) for name, value in error.details.items()}
    details["advice"] = error.advice()
    return msgspec.json.encode({"error": error.told, "code": error.code, "details": details})


def _plain(value: object) -> object:
    """A detail as JSON has it: lists and objects as they are, and what JSON does not know as text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
