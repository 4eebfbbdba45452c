"""Reading rows: each function is one question, asked of the state at one commit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from recollect.backends.mongodb.documents import WITHOUT_ENTRIES, at_address, below, name_of, place_of
from recollect.backends.mongodb.driver import Document, Driver
from recollect.backends.mongodb.ledger import Ledger
from recollect.backends.mongodb.schema import VERSIONS
from recollect.backends.mongodb.sealing import Sealing
from recollect.backends.mongodb.views import View, live, live_as_of, shown
from recollect.domain.address import Address, decode_namespace
from recollect.domain.instants import Instant
from recollect.domain.queries import (
    Find,
    NamespaceQuery,
    Order,
    Page,
    find_cursor,
    matches_patterns,
    parse_find_cursor,
)
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.ports.store import Pending

_NO_END = 1 << 62
_SHOWN = ("namespace", "archived", "policy_attributes", "expires_at", "ended_at")
_LIGHT = dict.fromkeys(("began", "since", "was", "gone", *_SHOWN), 1)


async def get(
    driver: Driver, view: View, sealing: Sealing, address: Address, now: Instant, as_of: Instant | None
) -> Row | None:
    """The live version at an address, or the one that was live at a moment."""
    tenant, number = view.state.tenant, view.state.number
    wanted, holds = live(now) if as_of is None else live_as_of(as_of)
    if as_of is None:
        where = {"tenant": tenant, "slot": place_of(tenant, address)}
        found = await driver.find_one(VERSIONS, where, WITHOUT_ENTRIES)
        if found is not None and found["since"] <= number:
            return await _readable(sealing, [found] if holds(found) else [])
        wanted = {"since": {"$gt": number}}
    return await _readable(sealing, await view.all(at_address(tenant, address), wanted, holds))


async def _readable(sealing: Sealing, documents: Sequence[Document]) -> Row | None:
    return next((row for row in await sealing.rows(documents) if row.value is not None), None)


async def rows(view: View, sealing: Sealing, ids: Sequence[bytes]) -> list[Row]:
    """Versions by their ids, in the order of these."""
    found = await view.by_names([name_of(each) for each in ids])
    return await sealing.rows(found[name] for name in map(name_of, ids) if name in found)


async def history(view: View, sealing: Sealing, address: Address, limit: int, before: int | None) -> list[Row]:
    """Every kept version below a revision, newest first."""
    older = {"revision": {"$lt": _NO_END if before is None else before}}
    scope = {**at_address(view.state.tenant, address), **older}
    found = await view.page(scope, {"gone": None}, _any, [("revision", -1)], lambda each: each["revision"], limit)
    return await sealing.rows(found)


def _any(_: Document) -> bool:
    return True


async def find(view: View, sealing: Sealing, query: Find, now: Instant) -> Page:
    """Live rows in a scope."""
    wanted, holds = live(now) if query.as_of is None else live_as_of(query.as_of)
    scope: Document = {"tenant": view.state.tenant, "plane": query.plane.value, "namespace": below(query.within)}
    place = parse_find_cursor(query.cursor, query.order) if query.cursor is not None else None
    if query.order is Order.KEY:
        order = [("namespace", 1), ("key", 1)]
        if place is not None:
            beyond = [{"namespace": {"$gt": place.encoded}}, {"namespace": place.encoded, "key": {"$gt": place.key}}]
            scope = {"$and": [scope, {"$or": beyond}]}
    else:
        newest = query.order is Order.NEWEST
        order = [("sequence", -1 if newest else 1)]
        if place is not None:
            scope["sequence"] = {"$lt" if newest else "$gt": place.sequence}
    count = query.offset + query.limit + 1
    found = await view.page(
        scope, wanted, shown(holds, query.archived, query.filter), order, _SORTING[query.order], count
    )
    rows = await sealing.rows(found[query.offset : query.offset + query.limit])
    cursor = find_cursor(query.order, rows[-1]) if len(found) == count else None
    return Page([row for row in rows if row.value is not None], cursor)


_SORTING = {
    Order.NEWEST: lambda document: document["sequence"],
    Order.OLDEST: lambda document: document["sequence"],
    Order.KEY: lambda document: (document["namespace"], document["key"]),
}


async def namespaces(view: View, query: NamespaceQuery, now: Instant) -> list[tuple[str, ...]]:
    """Namespaces with a live row."""
    wanted, holds = live(now)
    scope = {"tenant": view.state.tenant, "plane": query.plane.value, "namespace": below(query.within)}
    documents = await view.all(scope, wanted, shown(holds, query.archived, query.filter), _LIGHT)
    found = [decode_namespace(encoded) for encoded in sorted({document["namespace"] for document in documents})]
    if query.suffix or query.prefix != query.within.segments:
        found = [each for each in found if matches_patterns(each.segments, query.prefix, query.suffix)]
    if query.max_depth is not None:
        depth = query.max_depth
        found = [first for first, _ in groupby(each.truncated(depth) for each in found)]
    return [each.segments for each in found[query.offset : query.offset + query.limit]]


async def count(driver: Driver, ledger: Ledger, view: View, plane: Plane, now: Instant) -> int:
    """How many live rows a plane has: counted by the server, if nothing is written meanwhile."""
    wanted, holds = live(now)
    scope = {"tenant": view.state.tenant, "plane": plane.value}
    counted = await driver.count(VERSIONS, {**scope, **wanted})
    if await ledger.is_newest(view.state):
        return counted
    return len(await view.all(scope, wanted, holds, _LIGHT))


async def pending(view: View, sealing: Sealing, limit: int, now: Instant, *, ended: bool) -> list[Pending]:
    """Versions the index does not reflect, oldest first."""

    def holds(document: Document) -> bool:
        after = document["index_after"]
        return (
            document["index_state"] == "pending"
            and (after is None or after <= now)
            and (document["ended_at"] is not None or not ended)
        )

    scope = {"tenant": view.state.tenant}
    order = [("sequence", 1)]
    found = await view.page(scope, {"index_state": "pending"}, holds, order, _SORTING[Order.OLDEST], limit)
    return await waiting(sealing, found)


async def waiting(sealing: Sealing, documents: Sequence[Document]) -> list[Pending]:
    """Versions as such that the index is to reflect."""
    rows = await sealing.rows(documents)
    return [
        Pending(row, row.ended_at is None, document["pinned_sequence"], document["index_attempts"])
        for row, document in zip(rows, documents, strict=True)
    ]
