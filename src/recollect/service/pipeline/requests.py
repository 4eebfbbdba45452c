"""Requests: how one that its caller named is known again, so that it happens once."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.domain.errors import InvalidRequest
from recollect.domain.text import flaw_in
from recollect.service.pipeline.engine import Remembering

MAX_KEY = 200
REMEMBERED_SECONDS = 86_400.0
"""For so long an answer is given again."""


async def marker_of(
    remembering: Remembering, tenant: str, actor: str, key: object, given: Mapping[str, Any]
) -> tuple[str, str] | None:
    """What stands for a request that its caller named, and for what it asks; None when it was not named."""
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or flaw_in(key):
        raise InvalidRequest(f"an idempotency key is text of 1 to {MAX_KEY} characters", field="idempotency_key")
    secret = await remembering.key(tenant)
    said = msgspec.json.encode(given, order="sorted")
    named = msgspec.msgpack.encode((actor, key))
    return hmac.digest(secret, named, "sha256").hex()[:40], hmac.digest(secret, said, "sha256").hex()[:40]
