"""Fitting: which of what a model found in a user's words are memories, seen with what they said of late."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.domain.conversation.sessions import Message
from recollect.domain.conversation.subjects import type_of, unfit
from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.deciding import Outcome
from recollect.ports.extractor import Extracted
from recollect.ports.store import Store
from recollect.service.conversation.places import PERSONAS, Talks
from recollect.service.pipeline.proposals import Remembered

WINDOW_SECONDS, LOOKED_AT, MOST = 3_600, 6, 4
"""The last 6 messages of the user within an hour, and of those the newest 4."""
_PAGE = 12
_MOST_PERSONAS = 1_000


async def window(store: Store, tenant: str, user: str, said: str, at: Instant) -> tuple[str, ...]:
    """What the user said last, to whichever persona, oldest first, and what they say now."""
    page = await store.find(tenant, Find(Plane.TURN, Talks(user).own("personas"), order=Order.NEWEST, limit=_PAGE))
    read = [msgspec.json.decode(row.value or b"{}", type=Message) for row in page.rows]
    since = at - WINDOW_SECONDS * 1_000_000
    late = [each.user for each in read if each.user is not None and since <= each.at <= at][:LOOKED_AT]
    return tuple(reversed(tuple(dict.fromkeys([said, *late]))[:MOST]))


async def personas(store: Store, tenant: str) -> tuple[str, ...]:
    """How the personas of a tenant are named."""
    page = await store.find(tenant, Find(Plane.SETTING, PERSONAS, order=Order.KEY, limit=_MOST_PERSONAS))
    return tuple(row.address.key for row in page.rows)


def fitted(found: Extracted, late: Sequence[str], names: Sequence[str]) -> tuple[Extracted, tuple[Remembered, ...]]:
    """What of it are memories, and why the rest are none."""
    kept, refused = [], []
    for statement in found.statements:
        reason = unfit(type_of(statement.entity), statement.text, late, names)
        if reason is None:
            kept.append(statement)
        else:
            refused.append(Remembered(Outcome.DENIED, statement, reason.value))
    return msgspec.structs.replace(found, statements=tuple(kept)), tuple(refused)
