"""Reading rows: each function is one question, asked on whichever connection it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from recollect.backends.postgres.arrays import TextArray
from recollect.backends.postgres.conditions import filter_sql, is_exact
from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import (
    BEGINNING,
    INDEXED,
    SHELF,
    Bound,
    at,
    is_long,
    place_of,
    places_of,
    within_sql,
)
from recollect.backends.postgres.scopes import Scopes
from recollect.domain.address import Address, Namespace, decode_namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import InvalidCursor, KeyErased
from recollect.domain.filters import matches
from recollect.domain.instants import Instant
from recollect.domain.planning import ATTRIBUTES, VALUE
from recollect.domain.queries import (
    Archived,
    Find,
    NamespaceQuery,
    Order,
    Page,
    Place,
    find_cursor,
    matches_patterns,
    parse_find_cursor,
)
from recollect.domain.reasons import EndReason, IndexState, Plane
from recollect.domain.rows import Row
from recollect.domain.text import flaw_in
from recollect.ports.keys import Sealer
from recollect.ports.store import Pending

COLUMNS = (
    "plane, namespace, key, id, revision, sequence, value, attributes, policy_attributes, created_at, written_at, "
    "expires_at, ended_at, end_reason, index_state, archived, index_fields"
)
_NAMESPACE, _KEY, _SEQUENCE, _POLICY = 1, 2, 5, 8
_PLANES = {plane.value: plane for plane in Plane}
_REASONS: dict[str | None, EndReason | None] = {reason.value: reason for reason in EndReason}
_REASONS[None] = None
_STATES = {state.value: state for state in IndexState}
_FRESH = "(expires_at IS NULL OR expires_at > {now})"
_GET = f"SELECT {COLUMNS} FROM versions WHERE {at()} AND ended_at IS NULL AND {_FRESH.format(now='$6')}"
_EACH = f"""
SELECT a.place, v.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[])
    WITH ORDINALITY AS a (tenant, plane, space, name, place)
CROSS JOIN LATERAL (
    SELECT {COLUMNS} FROM versions WHERE tenant = a.tenant AND plane = a.plane
        AND {BEGINNING} = left(a.space, {INDEXED}) AND key = a.name AND namespace = a.space
        AND ended_at IS NULL AND {_FRESH.format(now="$1")} LIMIT 1
) v
"""
_COUNT = f"""
SELECT count(*) FROM versions WHERE tenant = $1 AND plane = $2 AND ended_at IS NULL AND {_FRESH.format(now="$3")}
"""
_AS_OF = (
    "written_at <= {at} AND (ended_at IS NULL OR ended_at > {at}) AND (expires_at IS NULL OR expires_at > {at}) "
    "AND value IS NOT NULL"
)
_WAS = f"""
SELECT {COLUMNS} FROM versions WHERE {at()} AND ended_at IS NULL AND {_AS_OF.format(at="$6")}
UNION ALL
SELECT {COLUMNS} FROM versions WHERE {at()} AND ended_at IS NOT NULL AND {_AS_OF.format(at="$6")}
"""
_BY_ID = f"SELECT {COLUMNS} FROM versions WHERE tenant = $1 AND id = $2"
_HISTORY = f"""
(SELECT {COLUMNS} FROM versions WHERE {at()} AND ended_at IS NULL AND revision < $6)
UNION ALL
(SELECT {COLUMNS} FROM versions WHERE {at()} AND ended_at IS NOT NULL AND revision < $6 ORDER BY revision DESC LIMIT $7)
ORDER BY revision DESC LIMIT $7
"""
_PENDING = f"""
SELECT {COLUMNS}, pinned_sequence, index_attempts FROM versions
WHERE tenant = $1 AND index_state = 'pending' AND (index_after IS NULL OR index_after <= $2){{ended}}
ORDER BY sequence LIMIT $3
"""
_NO_END = 1 << 62
_AT_ONCE = 500
"""How many rows are read at a time when they have to be looked at again."""


class Reader:
    """Turns stored versions into rows, opened by the sealer."""

    def __init__(self, sealer: Sealer) -> None:
        self._open = sealer.open
        self._scopes = Scopes()

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

    def get(self, link: Link, tenant: str, address: Address, now: Instant, as_of: Instant | None) -> Row | None:
        """The live version at an address, or the one that was live at a moment."""
        place = place_of(tenant, address)
        found = link.rows(_GET, *place, now) if as_of is None else link.rows(_WAS, *place, as_of)
        return next(self.readable(tenant, found), None)

    def get_each(self, link: Link, places: Sequence[tuple[str, Address]], now: Instant) -> list[Row | None]:
        """The live versions at these addresses, from one and the same state."""
        found: list[Row | None] = [None] * len(places)
        asked = (TextArray([tenant for tenant, _ in places]), *places_of([address for _, address in places]))
        for place, *stored in link.rows(_EACH, now, *asked):
            row = self.row(places[place - 1][0], stored)
            found[place - 1] = None if row.value is None else row
        return found

    def get_by_id(self, link: Link, tenant: str, row_id: bytes) -> Row | None:
        """A version by its id."""
        stored = link.row(_BY_ID, tenant, row_id)
        return None if stored is None else self.row(tenant, stored)

    def history(self, link: Link, tenant: str, address: Address, limit: int, before: int | None) -> Sequence[Row]:
        """Every kept version below a revision, newest first."""
        below = _NO_END if before is None else min(before, _NO_END)
        return [self.row(tenant, each) for each in link.rows(_HISTORY, *place_of(tenant, address), below, limit)]

    def pending(self, link: Link, tenant: str, limit: int, now: Instant, ended: bool) -> Sequence[Pending]:
        """Versions the index does not reflect, oldest first."""
        stored = link.rows(_PENDING.format(ended=" AND ended_at IS NOT NULL" if ended else ""), tenant, now, limit)
        found = ((self.row(tenant, row), pinned, attempts) for *row, pinned, attempts in stored)
        return [Pending(row, row.ended_at is None, pinned, attempts) for row, pinned, attempts in found]

    def find(self, link: Link, tenant: str, query: Find, now: Instant) -> Page:
        """Live rows in a scope."""
        place = _place(query)
        wide = self._scopes.is_wide(link, tenant, query.plane, query.within)
        if is_exact(query.filter):
            found = _found(link, tenant, query, place, now, query.limit + 1, wide=wide)
        else:
            matching = _matching(link, tenant, replace(query, offset=0), place, now, wide=wide)
            found = list(islice(matching, query.offset, query.offset + query.limit + 1))
        rows = [self.row(tenant, stored) for stored in found[: query.limit]]
        cursor = find_cursor(query.order, rows[-1]) if len(found) > query.limit else None
        return Page([row for row in rows if row.value is not None], cursor)


def _place(query: Find) -> Place | None:
    place = None if query.cursor is None else parse_find_cursor(query.cursor, query.order)
    if place is not None and (flaw_in(place.encoded) or flaw_in(place.key)):
        raise InvalidCursor("the cursor was altered; start again without one")
    return place


def _matching(
    link: Link, tenant: str, query: Find, place: Place | None, now: Instant, *, wide: bool
) -> Iterator[Sequence[Any]]:
    """Every row that the filter matches, in order, where the engine only finds those that it may match."""
    while True:
        found = _found(link, tenant, query, place, now, _AT_ONCE, wide=wide)
        yield from (each for each in found if matches(query.filter, stored_attributes(each[_POLICY])))
        if len(found) < _AT_ONCE:
            return
        last = found[-1]
        place = Place(last[_SEQUENCE], last[_NAMESPACE], last[_KEY])


def _found(
    link: Link, tenant: str, query: Find, place: Place | None, now: Instant, limit: int, *, wide: bool
) -> Sequence[Sequence[Any]]:
    """So many rows after a place. By key, the index gives the order, unless a namespace is too long for it."""
    rows = link.planned_rows if wide else link.rows
    whole = place is not None and is_long(place.encoded)
    sql, bound = _find_sql(tenant, query, place, now, limit, whole=whole, wide=wide)
    found = rows(sql, *bound.values)
    if query.order is Order.KEY and not whole and any(is_long(each[_NAMESPACE]) for each in found):
        sql, bound = _find_sql(tenant, query, place, now, limit, whole=True, wide=wide)
        found = rows(sql, *bound.values)
    return found


_SHOWN = {Archived.EXCLUDE: " AND archived = 0", Archived.INCLUDE: "", Archived.ONLY: " AND archived = 1"}


def _find_sql(
    tenant: str, query: Find, place: Place | None, now: Instant, limit: int, *, whole: bool, wide: bool
) -> tuple[str, Bound]:
    bound = Bound(tenant, query.plane.value)
    by_key = f"{'namespace' if whole else BEGINNING}, key"
    order = {Order.NEWEST: "sequence DESC", Order.OLDEST: "sequence", Order.KEY: by_key}[query.order]
    scope = f"tenant = $1 AND plane = $2 AND {within_sql(query.within, bound)}{_SHOWN[query.archived]}"
    scope += filter_sql(query.filter, bound)
    if wide and query.as_of is None:
        scope += f" AND {SHELF} = {bound.add(f'{tenant} {query.plane.value}')}"
    if place is not None and query.order is Order.KEY:
        begins = bound.add(place.encoded if whole else place.encoded[:INDEXED])
        scope += f" AND ({by_key}) > ({begins}, {bound.add(place.key)})"
    elif place is not None:
        scope += f" AND sequence {'<' if query.order is Order.NEWEST else '>'} {bound.add(place.sequence)}"
    rest = f" ORDER BY {order} LIMIT {bound.add(limit)} OFFSET {bound.add(query.offset)}"
    if query.as_of is None:
        fresh = _FRESH.format(now=bound.add(now))
        return f"SELECT {COLUMNS} FROM versions WHERE {scope} AND ended_at IS NULL AND {fresh}{rest}", bound
    was = _AS_OF.format(at=bound.add(query.as_of))
    halves = [
        f"SELECT {COLUMNS} FROM versions WHERE {scope} AND {state} AND {was}"
        for state in ("ended_at IS NULL", "ended_at IS NOT NULL")
    ]
    return f"SELECT * FROM ({' UNION ALL '.join(halves)}) found{rest}", bound


def count(link: Link, tenant: str, plane: Plane, now: Instant) -> int:
    """How many live rows a plane has."""
    found = link.row(_COUNT, tenant, plane.value, now)
    return int(found[0]) if found else 0


def tenants(link: Link) -> Sequence[str]:
    """Who has ever written."""
    return [tenant for (tenant,) in link.rows("SELECT tenant FROM tenants WHERE sequence > 0 ORDER BY tenant")]


_WALK = f"""
WITH RECURSIVE walk (found) AS (
    (SELECT {BEGINNING} FROM versions WHERE {{live}} ORDER BY {BEGINNING} LIMIT 1)
    UNION ALL
    SELECT (
        SELECT {BEGINNING} FROM versions WHERE {{live}} AND {BEGINNING} > walk.found ORDER BY {BEGINNING} LIMIT 1
    ) FROM walk WHERE walk.found IS NOT NULL
)
SELECT found FROM walk WHERE found IS NOT NULL
"""


def namespaces(link: Link, tenant: str, query: NamespaceQuery, now: Instant) -> Sequence[tuple[str, ...]]:
    """Namespaces with a live row, by jumping from each to the next in the index."""
    found: Iterable[Namespace] = map(decode_namespace, _encoded_namespaces(link, tenant, query, now))
    if query.suffix or query.prefix != query.within.segments:
        found = (each for each in found if matches_patterns(each.segments, query.prefix, query.suffix))
    if query.max_depth is not None:
        depth = query.max_depth
        found = (first for first, _ in groupby(each.truncated(depth) for each in found))
    return [each.segments for each in islice(found, query.offset, query.offset + query.limit)]


def _encoded_namespaces(link: Link, tenant: str, query: NamespaceQuery, now: Instant) -> Iterator[str]:
    bound = Bound(tenant, query.plane.value)
    live = f"tenant = $1 AND plane = $2 AND ended_at IS NULL AND {within_sql(query.within, bound)}"
    live += f"{_SHOWN[query.archived]} AND {_FRESH.format(now=bound.add(now))}{filter_sql(query.filter, bound)}"
    if not is_exact(query.filter):
        sql = f"SELECT DISTINCT namespace, policy_attributes FROM versions WHERE {live} ORDER BY namespace"
        matching = (
            encoded
            for encoded, policy in link.rows(sql, *bound.values)
            if matches(query.filter, stored_attributes(policy))
        )
        yield from (encoded for encoded, _ in groupby(matching))
        return
    for (encoded,) in link.rows(_WALK.format(live=live), *bound.values):
        if not is_long(encoded):
            yield encoded
            continue
        begins = f"{BEGINNING} = ${len(bound.values) + 1}"
        sql = f"SELECT DISTINCT namespace FROM versions WHERE {live} AND {begins} ORDER BY namespace"
        yield from (whole for (whole,) in link.rows(sql, *bound.values, encoded))
