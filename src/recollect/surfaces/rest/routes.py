"""Every route of the REST door, with what a caller needs to be let in; a test compares it with the contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recollect.domain.callers import Action
from recollect.surfaces.rest import admin, memories, operation
from recollect.surfaces.rest.exchange import Answer, Exchange

Handler = Callable[[Exchange], Awaitable[Answer]]
LONG_SECONDS = 3_600.0
"""How long what goes through all the data may take."""


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path, who may call it, and how it is answered."""

    method: str
    path: str
    handler: Handler
    action: Action | None
    """What scopes and roles must cover; the policy decides about single memories after that. None: any caller."""
    anonymous: bool = False
    body: bool = False
    seconds: float | None = None
    """A deadline of its own, in place of the setting."""
    basic: bool = False
    """Whether a browser may send an API key as a password."""


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/memories", memories.get_memory, Action.READ),
    Route("PUT", "/v1/memories", memories.put_memory, Action.WRITE, body=True),
    Route("PATCH", "/v1/memories", memories.patch_memory, Action.WRITE, body=True),
    Route("DELETE", "/v1/memories", memories.delete_memory, Action.DELETE),
    Route("POST", "/v1/memories/search", memories.search_memories, Action.READ, body=True),
    Route("POST", "/v1/memories/batch", memories.batch_memories, None, body=True),
    Route("GET", "/v1/memories/history", memories.get_history, Action.READ),
    Route("GET", "/v1/memories/namespaces", memories.list_namespaces, Action.READ),
    Route("GET", "/v1/memories/events", memories.list_events, Action.READ, seconds=LONG_SECONDS),
    Route("GET", "/v1/memories/{id}", memories.get_version, Action.READ),
    Route("GET", "/v1/whoami", memories.whoami, None),
    Route("GET", "/admin/v1/head", admin.get_head, Action.VERIFY),
    Route("POST", "/admin/v1/verify", admin.verify, Action.VERIFY, body=True, seconds=LONG_SECONDS),
    Route("POST", "/admin/v1/erase", admin.erase, Action.ERASE, body=True, seconds=LONG_SECONDS),
    Route("POST", "/admin/v1/sweep", admin.sweep, Action.SWEEP, body=True, seconds=LONG_SECONDS),
    Route("POST", "/admin/v1/keys/rotate", admin.rotate_keys, Action.ROTATE, body=True, seconds=LONG_SECONDS),
    Route("GET", "/admin/v1/backup", admin.backup, Action.BACKUP, seconds=LONG_SECONDS),
    Route("GET", "/admin/v1/export", admin.export_page, Action.TRANSFER),
    Route("GET", "/admin/v1/import", admin.import_progress, Action.TRANSFER),
    Route("POST", "/admin/v1/import", admin.import_page, Action.TRANSFER, body=True),
    Route("GET", "/admin/v1/tokens", admin.list_tokens, Action.TOKENS),
    Route("POST", "/admin/v1/tokens", admin.create_token, Action.TOKENS, body=True),
    Route("DELETE", "/admin/v1/tokens/{id}", admin.revoke_token, Action.TOKENS),
    Route("GET", "/healthz", operation.healthz, None, anonymous=True),
    Route("GET", "/readyz", operation.readyz, None, anonymous=True),
    Route("GET", "/metrics", operation.metrics, Action.METRICS),
    Route("GET", "/docs", operation.docs, None, basic=True),
    Route("GET", "/openapi.yaml", operation.openapi, None, basic=True),
)
