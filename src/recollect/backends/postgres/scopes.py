"""How wide a scope is, roughly and for a while: what decides how a search in it is planned.

A statement that is planned once for all scopes is good for narrow ones, of which there are many, and very slow for wide
ones; planning every search anew costs more than a search of a narrow scope itself.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound, within_sql
from recollect.domain.address import Namespace
from recollect.domain.reasons import Plane

NARROW = 1_000
"""Scopes with fewer live rows are narrow."""
_SECONDS = 60.0
_MOST = 50_000
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM versions WHERE {scope} AND ended_at IS NULL LIMIT {most}) found"


class Scopes:
    """Remembers for a while which scopes are wide; to be wrong about one costs time and nothing else."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Plane, str], tuple[bool, float]] = OrderedDict()

    def is_wide(self, link: Link, tenant: str, plane: Plane, within: Namespace) -> bool:
        """True when a search in it is better planned for itself."""
        if not within.segments:
            return True
        place, now = (tenant, plane, within.encoded), monotonic()
        wide, until = self._known.get(place, (False, 0.0))
        if now >= until:
            bound = Bound(tenant, plane.value)
            scope = f"tenant = $1 AND plane = $2 AND {within_sql(within, bound)}"
            found = link.row(_COUNT.format(scope=scope, most=bound.add(NARROW)), *bound.values)
            wide = found is not None and found[0] >= NARROW
            self._known[place] = (wide, now + _SECONDS)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return wide
