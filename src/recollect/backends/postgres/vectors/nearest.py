"""Finding what is near: by an index in large scopes, and by comparing with everything in small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound
from recollect.backends.postgres.vectors.links import Reals
from recollect.backends.postgres.vectors.schema import indexed, is_indexable
from recollect.backends.postgres.vectors.scopes import shown_sql, unless_large, vectors_sql
from recollect.ports.vectors import Scope

_WIDTH = 200
"""How many the walk through an index keeps in view, at least; the engine takes up to a thousand."""
_MOST_WIDTH = 1_000
_WALKED = 20_000
"""After so many vectors that are not in scope, the walk ends."""
_ROUNDS = 3
"""How often more vectors are asked for, when many of them belong to the same versions."""
_SETTINGS = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": _WALKED,
    "hnsw.scan_mem_multiplier": 4,
    "enable_sort": "off",  # whatever is guessed of the scope: it was decided that the index is walked
    "enable_seqscan": "off",
}


def compared(
    link: Link, line: int, scope: Scope, vector: NDArray[np.float32], limit: int, most: int | None = None
) -> Sequence[tuple[bytes, float]] | None:
    """The nearest of all in a scope; no index is asked what is near. None when the scope has more than the most."""
    bound = Bound(Reals(vector))
    sql = f"""
WITH {shown_sql(line, scope, bound, "memory_id", most)},
scored AS MATERIALIZED (
    SELECT memory_id, -(embedding <#> $1::real[]::vector) AS score
    FROM shown JOIN memory_vectors USING (memory_id) WHERE line = {bound.add(line)} AND NOT (SELECT large FROM size)
)
SELECT NULL AS memory_id, CASE WHEN large THEN 1.0 ELSE 0.0 END FROM size
UNION ALL
(SELECT memory_id, max(score) FROM scored GROUP BY memory_id ORDER BY 2 DESC, 1 LIMIT {bound.add(limit)})
"""
    return unless_large(link.rows(sql, *bound.values))


def walked(
    link: Link, line: int, scope: Scope, vector: NDArray[np.float32], limit: int, *, half: bool
) -> Sequence[tuple[bytes, float]] | None:
    """The nearest that the index finds; None when it does not find as many as were asked for."""
    dimension = len(vector)
    if not is_indexable(dimension, half=half):
        return None
    wanted = 2 * limit + 20
    for _ in range(_ROUNDS):
        found = _walk(link, line, scope, vector, wanted, half=half)
        best = each_once(found)
        if len(best) >= limit:
            return best[:limit]
        if len(found) < wanted:
            return None
        wanted = min(4 * wanted, _WALKED)
    return None


def each_once(found: Sequence[tuple[bytes, float]]) -> list[tuple[bytes, float]]:
    """Versions by the closest of their vectors, best first."""
    best: dict[bytes, float] = {}
    for row_id, score in found:
        best[row_id] = max(score, best.get(row_id, -math.inf))
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))


def _walk(
    link: Link, line: int, scope: Scope, vector: NDArray[np.float32], wanted: int, *, half: bool
) -> list[tuple[bytes, float]]:
    bound, dimension = Bound(Reals(vector)), len(vector)
    asked = f"$1::real[]::vector::{'halfvec' if half else 'vector'}({dimension})"
    sql = f"""
SELECT memory_id, -(embedding <#> $1::real[]::vector) FROM memory_vectors
WHERE dimension = {dimension} AND {vectors_sql(line, scope, bound)}
ORDER BY {indexed(dimension, half=half)} <#> {asked} LIMIT {bound.add(wanted)}
"""
    settings = _SETTINGS | {"hnsw.ef_search": min(max(2 * wanted, _WIDTH), _MOST_WIDTH)}
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    with link.pipeline():
        link.send("BEGIN")
        link.send(f"SELECT {calls}")
        found = link.send(sql, *bound.values)
        link.send("COMMIT")
    return [(bytes(row_id), float(score)) for row_id, score in found.fetchall()]
