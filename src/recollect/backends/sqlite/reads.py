"""Reading rows: each function is one question, asked on whichever connection it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import apsw

from recollect.backends.sqlite.commits import subtree_range
from recollect.backends.sqlite.conditions import filter_sql
from recollect.domain.address import Address, decode_namespace
from recollect.domain.errors import KeyErased
from recollect.domain.instants import Instant
from recollect.domain.planning import ATTRIBUTES, VALUE
from recollect.domain.queries import (
    Archived,
    Find,
    NamespaceQuery,
    Order,
    Page,
    find_cursor,
    matches_patterns,
    parse_find_cursor,
)
from recollect.domain.reasons import EndReason, IndexState, Plane
from recollect.domain.rows import Row
from recollect.ports.keys import Sealer
from recollect.ports.store import Pending

COLUMNS = (
    "plane, namespace, key, id, revision, sequence, value, attributes, policy_attributes, created_at, written_at, "
    "expires_at, ended_at, end_reason, index_state, archived, index_fields"
)
_PLANES = {plane.value: plane for plane in Plane}
_REASONS: dict[str | None, EndReason | None] = {reason.value: reason for reason in EndReason}
_REASONS[None] = None
_STATES = {state.value: state for state in IndexState}
_AT = "tenant = ? AND plane = ? AND namespace = ? AND key = ?"
_GET = f"SELECT {COLUMNS} FROM versions WHERE {_AT} AND ended_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
_COUNT = """
    SELECT count(*) FROM versions
    WHERE tenant = ? AND plane = ? AND ended_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
"""
_AS_OF = (
    "written_at <= ? AND (ended_at IS NULL OR ended_at > ?) AND (expires_at IS NULL OR expires_at > ?) "
    "AND value IS NOT NULL"
)
_BY_ID = f"SELECT {COLUMNS} FROM versions WHERE tenant = ? AND id = ?"
_HISTORY = f"""
SELECT {COLUMNS} FROM versions WHERE {_AT} AND ended_at IS NULL AND revision < ?
UNION ALL
SELECT * FROM (
    SELECT {COLUMNS} FROM versions WHERE {_AT} AND ended_at IS NOT NULL AND revision < ? ORDER BY revision DESC LIMIT ?
)
"""
_PENDING = f"""
SELECT {COLUMNS}, pinned_sequence, index_attempts FROM versions INDEXED BY versions_unindexed
WHERE tenant = ? AND index_state = 'pending' AND (index_after IS NULL OR index_after <= ?){{ended}} ORDER BY n LIMIT ?
"""
_NO_END = 1 << 62


class Reader:
    """Turns stored versions into rows, opened by the sealer."""

    def __init__(self, sealer: Sealer) -> None:
        self._open = sealer.open

    def row(self, tenant: str, stored: Sequence[Any]) -> Row:
        """The row of a stored version. One whose key was destroyed a moment ago is empty already."""
        (
            plane,
            encoded,
            key,
            row_id,
            revision,
            sequence,
            value,
            attributes,
            policy,
            created_at,
            written_at,
            expires_at,
            ended_at,
            reason,
            state,
            archived,
            index_fields,
        ) = stored
        address = Address(_PLANES[plane], decode_namespace(encoded), key)
        try:
            if value is not None:
                value = self._open(tenant, address, row_id, revision, VALUE, value)
            if attributes is not None:
                attributes = self._open(tenant, address, row_id, revision, ATTRIBUTES, attributes)
        except KeyErased:
            value = attributes = None
        return Row(
            tenant,
            address,
            row_id,
            revision,
            sequence,
            value,
            attributes,
            policy,
            created_at,
            written_at,
            expires_at,
            ended_at,
            _REASONS[reason],
            _STATES[state],
            archived == 1,
            index_fields,
        )

    def readable(self, tenant: str, stored: Iterable[Sequence[Any]]) -> Iterator[Row]:
        """The rows that still have a value."""
        return (row for row in (self.row(tenant, each) for each in stored) if row.value is not None)

    def get(
        self, db: apsw.Connection, tenant: str, address: Address, now: Instant, as_of: Instant | None
    ) -> Row | None:
        """The live version at an address, or the one that was live at a moment."""
        place = (tenant, address.plane, address.namespace.encoded, address.key)
        if as_of is None:
            found = db.execute(_GET, (*place, now))
        else:
            live = f"SELECT {COLUMNS} FROM versions WHERE {_AT} AND ended_at IS NULL AND {_AS_OF}"
            past = f"SELECT {COLUMNS} FROM versions WHERE {_AT} AND ended_at IS NOT NULL AND {_AS_OF}"
            found = db.execute(f"{live} UNION ALL {past}", (*place, as_of, as_of, as_of) * 2)
        return next(self.readable(tenant, found), None)

    def get_by_id(self, db: apsw.Connection, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        stored = next(db.execute(_BY_ID, (tenant, row_id)), None)
        return None if stored is None else self.row(tenant, stored)

    def history(
        self, db: apsw.Connection, tenant: str, address: Address, limit: int, before: int | None
    ) -> Sequence[Row]:
        """Every kept version below a revision, newest first."""
        place = (tenant, address.plane, address.namespace.encoded, address.key)
        below = _NO_END if before is None else before
        stored = db.execute(_HISTORY, (*place, below, *place, below, limit))
        return [self.row(tenant, each) for each in stored][:limit]

    def pending(self, db: apsw.Connection, tenant: str, limit: int, now: Instant, ended: bool) -> Sequence[Pending]:
        """Versions the index does not reflect, oldest first."""
        stored = db.execute(_PENDING.format(ended=" AND ended_at IS NOT NULL" if ended else ""), (tenant, now, limit))
        found = ((self.row(tenant, row), pinned, attempts) for *row, pinned, attempts in stored)
        return [Pending(row, row.ended_at is None, pinned, attempts) for row, pinned, attempts in found]

    def find(self, db: apsw.Connection, tenant: str, query: Find, now: Instant) -> Page:
        """Live rows in a scope: the engine picks row numbers, and only those on the page are read whole."""
        sql, bindings = _find_sql(tenant, query, now)
        found = sorted(db.execute(sql, bindings), key=_PLACES[query.order], reverse=query.order is Order.NEWEST)
        rows = [self.row(tenant, stored) for stored in found[: query.limit]]
        cursor = find_cursor(query.order, rows[-1]) if len(found) > query.limit else None
        return Page([row for row in rows if row.value is not None], cursor)


_PLACES: dict[Order, Callable[[Sequence[Any]], Any]] = {
    Order.NEWEST: itemgetter(5),
    Order.OLDEST: itemgetter(5),
    Order.KEY: itemgetter(1, 2),
}
_ORDERS = {Order.NEWEST: "n DESC", Order.OLDEST: "n", Order.KEY: "namespace, key"}
_SHOWN = {Archived.EXCLUDE: " AND archived = 0", Archived.INCLUDE: "", Archived.ONLY: " AND archived = 1"}


def _find_sql(tenant: str, query: Find, now: Instant) -> tuple[str, list[object]]:
    low, high = subtree_range(query.within)
    scope = "tenant = ? AND plane = ? AND namespace >= ? AND namespace < ?"
    scope_bound: list[object] = [tenant, query.plane, low, high]
    asked, asked_bound = filter_sql(query.filter)
    asked = _SHOWN[query.archived] + asked
    place = parse_find_cursor(query.cursor, query.order) if query.cursor is not None else None
    if place is not None and query.order is Order.KEY:
        asked = f" AND (namespace, key) > (?, ?){asked}"
        asked_bound = [place.encoded, place.key, *asked_bound]
    elif place is not None:
        asked = f" AND sequence {'<' if query.order is Order.NEWEST else '>'} ?{asked}"
        asked_bound = [place.sequence, *asked_bound]
    if query.as_of is None:
        picked = (
            f"SELECT n, namespace, key FROM versions INDEXED BY versions_live WHERE {scope} "
            f"AND ended_at IS NULL AND (expires_at IS NULL OR expires_at > ?){asked}"
        )
        bindings = [*scope_bound, now, *asked_bound]
    else:
        moment: list[object] = [query.as_of] * 3
        halves = [
            f"SELECT n, namespace, key FROM versions INDEXED BY {index} WHERE {scope} AND {state} AND {_AS_OF}{asked}"
            for index, state in (("versions_live", "ended_at IS NULL"), ("versions_past", "ended_at IS NOT NULL"))
        ]
        picked = f"SELECT n, namespace, key FROM ({' UNION ALL '.join(halves)})"
        bindings = [*scope_bound, *moment, *asked_bound] * 2
    order = _ORDERS[query.order]
    sql = (
        f"SELECT {COLUMNS} FROM (SELECT n AS chosen FROM ({picked} ORDER BY {order} LIMIT ? OFFSET ?)) "
        "CROSS JOIN versions ON n = chosen"
    )
    return sql, [*bindings, query.limit + 1, query.offset]


_WALK = """
WITH RECURSIVE walk (found) AS (
    SELECT (
        SELECT namespace FROM versions INDEXED BY versions_live
        WHERE tenant = ?1 AND plane = ?2 AND ended_at IS NULL AND namespace >= ?3 AND namespace < ?4
            AND (expires_at IS NULL OR expires_at > ?5){asked}
        ORDER BY namespace LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT namespace FROM versions INDEXED BY versions_live
        WHERE tenant = ?1 AND plane = ?2 AND ended_at IS NULL AND namespace > walk.found AND namespace < ?4
            AND (expires_at IS NULL OR expires_at > ?5){asked}
        ORDER BY namespace LIMIT 1
    ) FROM walk WHERE walk.found IS NOT NULL
)
SELECT found FROM walk WHERE found IS NOT NULL
"""


def count(db: apsw.Connection, tenant: str, plane: Plane, now: Instant) -> int:
    """How many live rows a plane has."""
    found = db.execute(_COUNT, (tenant, plane, now)).get
    return int(found)


def namespaces(db: apsw.Connection, tenant: str, query: NamespaceQuery, now: Instant) -> Sequence[tuple[str, ...]]:
    """Namespaces with a live row, by jumping from each to the next in the index."""
    low, high = subtree_range(query.within)
    asked, bound = filter_sql(query.filter)
    sql = _WALK.format(asked=_SHOWN[query.archived] + asked)
    bindings = (tenant, query.plane, low, high, now, *bound, *bound)
    found = (decode_namespace(encoded) for (encoded,) in db.execute(sql, bindings))
    if query.suffix or query.prefix != query.within.segments:
        found = (each for each in found if matches_patterns(each.segments, query.prefix, query.suffix))
    if query.max_depth is not None:
        depth = query.max_depth
        found = (first for first, _ in groupby(each.truncated(depth) for each in found))
    return [each.segments for each in islice(found, query.offset, query.offset + query.limit)]
