"""Short ways to write what the checks need: places, commits, whole logs, refusals."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from recollect.domain.address import Address, namespace
from recollect.domain.attributes import NONE
from recollect.domain.commits import Commit, Condition, Delete, Idempotency, Operation, Outcome, Put, Receipt, Relabel
from recollect.domain.errors import RecollectError
from recollect.domain.events import Entry, Event
from recollect.domain.instants import Instant
from recollect.domain.queries import EventQuery, Find
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.ports.store import Store

TENANT = "acme"
OTHER = "umbrella"
SECOND = 1_000_000
"""One second, in microseconds."""
MOST_PAGES = 10_000
"""More pages than any check has; a paging that does not end is a failure, not a hang."""
Refusal = TypeVar("Refusal", bound=RecollectError)


def at(*segments: str, key: str = "k", plane: Plane = Plane.ITEM) -> Address:
    """The address of a key in a namespace."""
    return Address(plane, namespace(segments or ("place",)), key)


def put(
    address: Address,
    value: bytes = b"{}",
    *,
    policy: str = NONE,
    ttl: float | None = None,
    expected: int | None = None,
    index: bool = False,
    archived: bool = False,
    when: Instant | None = None,
) -> Put:
    """An operation that gives a key a value; `ttl` is in seconds, `when` is the moment it happened elsewhere."""
    return Put(
        address,
        value,
        policy_attributes=policy,
        ttl=None if ttl is None else round(ttl * SECOND),
        expected_revision=expected,
        index=index,
        archived=archived,
        at=when,
    )


async def write(
    store: Store,
    *operations: Operation,
    tenant: str = TENANT,
    conditions: tuple[Condition, ...] = (),
    actor: str = "",
    request: Idempotency | None = None,
) -> Receipt:
    """Commit these operations together."""
    return await store.commit(Commit(tenant, operations, conditions, actor, request))


async def write_one(store: Store, operation: Operation, tenant: str = TENANT) -> Outcome:
    """Commit one operation and return what it did."""
    return (await write(store, operation, tenant=tenant)).outcomes[0]


async def delete(store: Store, address: Address, tenant: str = TENANT) -> Outcome:
    """Delete a key and return what that did."""
    return await write_one(store, Delete(address), tenant)


async def relabel(store: Store, address: Address, revision: int, policy: str, tenant: str = TENANT) -> Outcome:
    """Give a live version other policy attributes and return what that did."""
    return await write_one(store, Relabel(address, revision, policy), tenant)


async def entries_of(store: Store, tenant: str = TENANT, query: EventQuery | None = None) -> list[Entry]:
    """Every entry that the query selects, page by page."""
    query = query or EventQuery(limit=1_000)
    found: list[Entry] = []
    for _ in range(MOST_PAGES):
        page = await store.events(tenant, query)
        assert len(page.entries) <= query.limit, "a page has more events than were asked for"
        found += page.entries
        if page.complete:
            return found
        assert page.after > query.after, "a page of events did not get any further"
        query = replace(query, after=page.after)
    raise AssertionError("paging through the log did not end")


async def log_of(store: Store, tenant: str = TENANT) -> list[Event]:
    """The whole log of a tenant."""
    return [entry.event for entry in await entries_of(store, tenant)]


async def rows_of(store: Store, query: Find, tenant: str = TENANT) -> list[Row]:
    """Every row that the query finds, page by page."""
    found: list[Row] = []
    for _ in range(MOST_PAGES):
        page = await store.find(tenant, query)
        assert len(page.rows) <= query.limit, "a page has more rows than were asked for"
        found += page.rows
        if page.cursor is None:
            return found
        query = replace(query, cursor=page.cursor)
    raise AssertionError("paging through what was found did not end")


async def keys_of(store: Store, query: Find, tenant: str = TENANT) -> list[str]:
    """The keys of every row that the query finds."""
    return [row.address.key for row in await rows_of(store, query, tenant)]


async def everything(store: Store, address: Address, tenant: str = TENANT) -> tuple[object, ...]:
    """What can be seen of a tenant and one of its keys; equal before and after what must change nothing."""
    return (
        await store.get(tenant, address),
        await store.history(tenant, address),
        await log_of(store, tenant),
        await store.head(tenant),
        await store.find(tenant, Find(address.plane)),
    )


async def refused(kind: type[Refusal], call: Awaitable[object]) -> Refusal:
    """The error with which the call was refused; it is a failure when it was not."""
    try:
        answer = await call
    except kind as refusal:
        return refusal
    raise AssertionError(f"{kind.__name__} was expected, but the answer was {answer!r}")


def seconds(count: float) -> int:
    """So many seconds, in microseconds."""
    return round(count * SECOND)


def later(moment: Instant, count: float) -> Instant:
    """The moment so many seconds after another; before it when negative."""
    return Instant(moment + seconds(count))
