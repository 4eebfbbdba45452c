"""Keeping versions and letting go of them, each write within one transaction.

A write takes the rows of its versions in `memory_words` first, in the order of their ids, and whoever holds those may
change their vectors. So writers of the same versions come one after another, and the number decides who is heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.vectors.links import Integers, Reals, signed
from recollect.backends.postgres.vectors.scopes import exact_text, moments_in
from recollect.domain.attributes import NONE
from recollect.domain.instants import Instant
from recollect.domain.reasons import Plane
from recollect.ports.vectors import Followed, Line, Point

AT_ONCE = 1_000
"""So many versions go into one statement, and into one transaction."""
_FORGOTTEN = 10_000
"""So many rows are deleted at once."""

_OF = "tenant = $1 AND plane = $2 AND series = $3 AND model = $4 AND dimension = $5"
_LINE = f"SELECT line FROM lines WHERE {_OF}"
_NEW_LINE = (
    "INSERT INTO lines (tenant, plane, series, model, dimension) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
)
_KEEP = """
INSERT INTO memory_words AS known
    (line, memory_id, number, removed_at, namespace, policy_attributes, exact_attributes, moments, expires_at, archived,
    length, words, counts)
SELECT $1, id, $2, CASE WHEN removed THEN $3::bigint END, place, attributes::jsonb, exact, moments::jsonb, expires,
    hidden, amount,
    ($4::bigint[])[first + 1:beyond], substring($5::bytea FROM (first + 1)::integer FOR (beyond - first)::integer)
FROM unnest($6::bytea[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[],
    $13::boolean[], $14::bigint[], $15::bigint[], $16::bigint[])
    AS given (id, removed, place, attributes, exact, moments, expires, hidden, amount, first, beyond)
ORDER BY id
ON CONFLICT (line, memory_id) DO UPDATE SET
    number = excluded.number, removed_at = excluded.removed_at, namespace = excluded.namespace,
    policy_attributes = excluded.policy_attributes, exact_attributes = excluded.exact_attributes,
    moments = excluded.moments, expires_at = excluded.expires_at, archived = excluded.archived,
    length = excluded.length, words = excluded.words, counts = excluded.counts
WHERE known.number < excluded.number OR (known.number = excluded.number AND known.removed_at IS NULL)
RETURNING memory_id
"""
_DROP_VECTORS = "DELETE FROM memory_vectors WHERE line = $1 AND memory_id = ANY($2::bytea[])"
_KEEP_VECTORS = """
INSERT INTO memory_vectors
    (line, memory_id, piece, field_name, dimension, namespace, policy_attributes, exact_attributes, moments, expires_at,
    archived, embedding)
SELECT $1, memory_id, piece, path, $2::integer, namespace, policy_attributes, exact_attributes, moments, expires_at,
    archived, (($3::real[])[first + 1:first + $2])::vector
FROM unnest($4::bytea[], $5::bigint[], $6::text[], $7::bigint[]) AS given (id, piece, path, first)
JOIN memory_words ON line = $1 AND memory_id = id
"""


def line_of(link: Link, line: Line) -> int | None:
    """The number of a line, if there is something of it."""
    found = link.row(_LINE, *_place(line))
    return None if found is None else int(found[0])


def _held_line(link: Link, line: Line) -> int:
    """The number of a line that is there, and stays there until this transaction ends."""
    while True:
        found = link.row(f"{_LINE} FOR KEY SHARE", *_place(line))
        if found is not None:
            return int(found[0])
        link.send(_NEW_LINE, *_place(line))


def _place(line: Line) -> tuple[str, str, int, str, int]:
    return line.tenant, line.plane.value, line.series, line.model, line.dimension


def write(link: Link, line: Line, number: int, changes: Mapping[bytes, Point | None], now: Instant) -> None:
    """Keep these versions, and remove those of which nothing is given, unless newer is known of them."""
    link.send("BEGIN")
    held = _held_line(link, line)
    taken = [row_id for (row_id,) in link.rows(_KEEP, held, number, now, *_columns(changes))]
    if taken:
        link.send(_DROP_VECTORS, held, taken)
    points = [point for row_id in taken if (point := changes[row_id]) is not None and len(point.vectors)]
    if points:
        _keep_vectors(link, held, line.dimension, points)
    link.send("COMMIT")


def _columns(changes: Mapping[bytes, Point | None]) -> tuple[object, ...]:
    """What the statement is given: all words and counts, then a value of each column for every version."""
    points = list(changes.values())
    kept = [point for point in points if point is not None]
    words = np.concatenate([point.words for point in kept]) if kept else np.zeros(0, np.uint64)
    ends = list(accumulate((0 if point is None else len(point.words) for point in points), initial=0))
    return (
        signed(words),
        b"".join(point.counts.astype(np.uint8).tobytes() for point in kept),
        list(changes),
        [point is None for point in points],
        ["" if point is None else point.namespace for point in points],
        [NONE if point is None else point.policy_attributes for point in points],
        [None if point is None else exact_text(point.policy_attributes) for point in points],
        [None if point is None else moments_in(point.policy_attributes) for point in points],
        [None if point is None else point.expires_at for point in points],
        [point is not None and point.archived for point in points],
        _integers(0 if point is None else point.length for point in points),
        _integers(first for first, _ in pairwise(ends)),
        _integers(beyond for _, beyond in pairwise(ends)),
    )


def _keep_vectors(link: Link, held: int, dimension: int, points: Sequence[Point]) -> None:
    pieces = [(point.id, piece, path) for point in points for piece, path in enumerate(point.paths)]
    floats = np.concatenate([np.ascontiguousarray(point.vectors, np.float32).ravel() for point in points])
    link.send(
        _KEEP_VECTORS,
        held,
        dimension,
        Reals(floats),
        [row_id for row_id, _, _ in pieces],
        _integers(piece for _, piece, _ in pieces),
        [path for _, _, path in pieces],
        Integers(np.arange(len(pieces), dtype=np.int64) * dimension),
    )


def _integers(values: Iterable[int]) -> Integers:
    return Integers(np.fromiter(values, np.int64))


# -- how far it was followed


_FOLLOWED = f"SELECT upto, followed_at FROM lines WHERE {_OF} AND upto IS NOT NULL"
_FOLLOW = "UPDATE lines SET upto = $2, followed_at = $3 WHERE line = $1 AND (upto IS NULL OR upto <= $2)"
_LINES = """
SELECT plane, series, model, dimension FROM lines AS held WHERE tenant = $1
AND (upto IS NOT NULL OR EXISTS (SELECT 1 FROM memory_words WHERE line = held.line)) ORDER BY line
"""


def followed(link: Link, line: Line) -> Followed | None:
    """How far a line was followed."""
    found = link.row(_FOLLOWED, *_place(line))
    return None if found is None else Followed(int(found[0]), Instant(found[1]))


def highest(link: Link, line: Line) -> int:
    """The highest number that anything of a line came with."""
    found = link.row("SELECT max(number) FROM memory_words WHERE line = $1", line_of(link, line))
    return 0 if found is None or found[0] is None else int(found[0])


def follow(link: Link, line: Line, noted: Followed) -> None:
    """Note how far it was followed; what was written before reaches the disk with it."""
    link.send("BEGIN")
    link.send("SET LOCAL synchronous_commit = on")
    link.send(_FOLLOW, _held_line(link, line), noted.upto, noted.at)
    link.send("COMMIT")


def lines(link: Link, tenant: str) -> list[Line]:
    """The lines of a tenant of which there is something."""
    return [Line(tenant, Plane(plane), *rest) for plane, *rest in link.rows(_LINES, tenant)]


# -- letting go


_SOME_OF = """
DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE line = $1 LIMIT $2)) RETURNING 1
"""
_ALL_OF = "DELETE FROM {table} WHERE line = $1"
_TABLES = ("memory_vectors", "memory_words")
_OLD = """
DELETE FROM memory_words WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM memory_words WHERE removed_at IS NOT NULL AND removed_at < $1 LIMIT $2
)) AND removed_at IS NOT NULL AND removed_at < $1 RETURNING 1
"""


def forget(link: Link, line: Line) -> None:
    """Remove all of a line, some at a time. Who stops in the middle leaves one that nobody takes for whole."""
    held = line_of(link, line)
    if held is None:
        return
    link.send("UPDATE lines SET upto = NULL, followed_at = NULL WHERE line = $1", held)
    for table in _TABLES:
        while len(link.rows(_SOME_OF.format(table=table), held, _FORGOTTEN)) == _FORGOTTEN:
            pass
    link.send("BEGIN")
    link.send("SET LOCAL synchronous_commit = on")
    link.send("SELECT 1 FROM lines WHERE line = $1 FOR UPDATE", held)  # from here on nobody writes to it
    for table in _TABLES:
        link.send(_ALL_OF.format(table=table), held)
    link.send("DELETE FROM lines WHERE line = $1", held)
    link.send("COMMIT")


def tidy(link: Link, before: Instant) -> None:
    """Let go of removals from before a moment."""
    while len(link.rows(_OLD, before, _FORGOTTEN)) == _FORGOTTEN:
        pass
