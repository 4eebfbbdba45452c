"""Errors at the gRPC door: one table from every error to its status, by name, so that nobody needs gRPC to read it."""

from __future__ import annotations

from recollect.domain import errors as e

STATUS: dict[type[e.RecollectError], str] = {
    e.RecollectError: "INTERNAL",
    e.InvalidInput: "INVALID_ARGUMENT",
    e.RequestTooLarge: "RESOURCE_EXHAUSTED",
    e.RequestTimeout: "DEADLINE_EXCEEDED",
    e.MethodNotAllowed: "UNIMPLEMENTED",
    e.UnknownTool: "NOT_FOUND",
    e.AccessRefused: "PERMISSION_DENIED",
    e.Unauthenticated: "UNAUTHENTICATED",
    e.NotFound: "NOT_FOUND",
    e.Conflict: "ABORTED",
    e.IdempotencyMismatch: "FAILED_PRECONDITION",
    e.BudgetSpent: "RESOURCE_EXHAUSTED",
    e.CursorExpired: "OUT_OF_RANGE",
    e.KeyTrouble: "INTERNAL",
    e.SealBroken: "DATA_LOSS",
    e.StoreTrouble: "INTERNAL",
    e.StoreBusy: "UNAVAILABLE",
    e.StoreFull: "UNAVAILABLE",
    e.StoreUnavailable: "UNAVAILABLE",
    e.StoreClosed: "UNAVAILABLE",
    e.OutcomeUnknown: "UNKNOWN",  # not UNAVAILABLE, which clients repeat by themselves, with or without a key
    e.StoreCorrupt: "DATA_LOSS",
    e.ServiceTrouble: "UNAVAILABLE",
    e.RateLimited: "RESOURCE_EXHAUSTED",
    e.DeadlineExceeded: "DEADLINE_EXCEEDED",
    e.PolicyTrouble: "INTERNAL",
    e.EmbedderTrouble: "UNAVAILABLE",
    e.TextRefused: "INVALID_ARGUMENT",
    e.Internal: "INTERNAL",
    e.Unsupported: "UNIMPLEMENTED",
}
"""The status of each error; what is not listed has that of the nearest class above it."""


def grpc_status_of(error: type[e.RecollectError]) -> str:
    """The gRPC status of an error."""
    return next(STATUS[cls] for cls in error.__mro__ if cls in STATUS)
