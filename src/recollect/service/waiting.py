"""Waiting: a page of events, held back until something of concern happens or the time is up."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from recollect.domain.queries import EventPage, EventQuery
from recollect.ports.store import Store


async def events_within(store: Store, tenant: str, query: EventQuery, seconds: float) -> EventPage:
    """The page, once there is something on it or the time is up; news of no concern do not end the wait."""
    deadline = monotonic() + seconds
    page = await store.events(tenant, query)
    while not page.entries and page.complete and (left := deadline - monotonic()) > 0:
        if not await store.wait(tenant, page.after, left):
            break
        page = await store.events(tenant, replace(query, after=page.after))
    return page
