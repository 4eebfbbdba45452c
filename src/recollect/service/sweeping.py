"""Sweeping: expire, evict, tombstone, purge and trim what is due, batch by batch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Store
from recollect.service.indexing import Indexing
from recollect.service.views import Sweep


async def sweep(
    store: Store,
    indexing: Indexing,
    tenant: str,
    retention: Retention,
    batch: int = 100,
    after_batch: Callable[[Pass, int], Awaitable[bool]] | None = None,
) -> Sweep:
    """Do all that is due in a tenant and say how much; `after_batch` may end it early by answering False.

    The index lets go of what has ended, what expires here included, before that goes: nothing is left for a next sweep.
    """
    done: Sweep = {}
    for step in Pass:
        done[step] = 0
        more = True
        while more:
            swept = await store.sweep(tenant, step, retention, limit=batch)
            done[step] += swept.done
            more = swept.more
            if after_batch is not None and not await after_batch(step, swept.done):
                return done
        if step is Pass.EXPIRE:
            await indexing.forget_ended(tenant, batch)
    return done
