"""Finding what shares words, and counting: exactly where there is little, and with bounded work where there is much."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.backends.postgres.connections import Link
from recollect.backends.postgres.places import Bound
from recollect.backends.postgres.vectors.links import Integers, signed
from recollect.backends.postgres.vectors.scopes import shown_sql, unless_large, words_sql
from recollect.domain.filters import Filter
from recollect.domain.queries import Archived
from recollect.domain.ranking import K1, B
from recollect.ports.vectors import COUNTED, Scope, Statistics

PER_WORD = 5_000
"""So many versions that have a word are looked at, of those where it is common."""
IN_ALL = 8_000
"""So many versions are looked at for a query; those that have its rarest words come first."""


def shared(
    link: Link, line: int, scope: Scope, words: Mapping[int, float], average: float, limit: int, most: int
) -> Sequence[tuple[bytes, float]] | None:
    """The versions of a scope that have these words, by what those count. None when it has more than the most."""
    bound = _asked(words, average)
    sql = f"""
WITH {_ASKED}, {shown_sql(line, scope, bound, "memory_id, length, words, counts", most)},
looked_at AS (SELECT * FROM shown WHERE NOT (SELECT large FROM size))
SELECT NULL AS memory_id, CASE WHEN large THEN 1.0 ELSE 0.0 END FROM size
UNION ALL
({_SCORED} LIMIT {bound.add(limit)})
"""
    return unless_large(link.rows(sql, *bound.values))


def shared_by_many(
    link: Link, line: int, scope: Scope, words: Mapping[int, float], average: float, limit: int
) -> Sequence[tuple[bytes, float]]:
    """The same for a large scope, where of those that have a common word not all are looked at."""
    bound = _asked(words, average)
    sql = f"""
WITH {_ASKED},
having_words AS MATERIALIZED (
    SELECT found.ctid AS place FROM asked, LATERAL (
        SELECT ctid FROM memory_words WHERE words @> ARRAY[word] AND {words_sql(line, scope, bound)} LIMIT {PER_WORD}
    ) AS found LIMIT {IN_ALL}
),
looked_at AS (
    SELECT memory_id, length, words, counts FROM memory_words
    WHERE ctid = ANY(ARRAY(SELECT DISTINCT place FROM having_words))
)
{_SCORED} LIMIT {bound.add(limit)}
"""
    return [(bytes(row_id), float(score)) for row_id, score in link.rows(sql, *bound.values)]


_ASKED = "asked AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::float8[]) AS asked (word, weight))"
_TIMES = "nullif(get_byte(counts, array_position(words, word) - 1), 0)"
_SUM = f"sum(weight * ({K1} + 1) / (1 + {K1} * (1 - {B} + {B} * length / $3::float8) / {_TIMES}))"
_SCORED = f"""
SELECT memory_id, {_SUM} FROM looked_at, asked GROUP BY memory_id HAVING {_SUM} IS NOT NULL
ORDER BY 2 DESC, 1
"""
"""A word that does not occur has no place, so it adds nothing; finding that place costs most, so it is asked once."""


def _asked(words: Mapping[int, float], average: float) -> Bound:
    """What statements are given first: the words that count most come first."""
    ordered = sorted(words, key=lambda word: (-words[word], word))
    return Bound(_signed(ordered), [float(words[word]) for word in ordered], float(average))


def _signed(words: Sequence[int]) -> Integers:
    return signed(np.array(words, np.uint64))


# -- how much there is


@dataclass(frozen=True, slots=True)
class Extent:
    """A scope of a line at any moment."""

    line: int
    within: str
    filter: Filter
    archived: Archived

    @classmethod
    def of(cls, line: int, scope: Scope) -> Extent:
        """The extent of a scope."""
        return cls(line, scope.within.encoded, scope.filter, scope.archived)


class Sizes:
    """Remembers for a while what was found to be large: nothing large becomes small in a moment."""

    _SECONDS = 60.0
    _MOST = 4_096

    def __init__(self) -> None:
        self._known: dict[tuple[Extent, int | str], tuple[float, tuple[float, ...]]] = {}

    def known(self, extent: Extent, what: int | str) -> tuple[float, ...] | None:
        """What is remembered of something in an extent."""
        until, values = self._known.get((extent, what), (0.0, ()))
        return values if until > time.monotonic() else None

    def note(self, extent: Extent, what: int | str, *values: float) -> None:
        """Remember it."""
        if len(self._known) >= self._MOST:
            self._known = {}
        self._known[extent, what] = (time.monotonic() + self._SECONDS, values)


def counted(link: Link, sizes: Sizes, line: int, scope: Scope, words: Sequence[int]) -> Statistics:
    """How much there is in a scope: exactly up to `COUNTED`, and estimated above it."""
    extent = Extent.of(line, scope)
    size = sizes.known(extent, "size")
    if size is None:
        count, length, having = _sampled(link, line, scope, words)
        if count <= COUNTED:
            return Statistics(count, max(length / count, 1.0) if count else 1.0, having)
        size = (_estimated(link, line, scope), length / count)
        sizes.note(extent, "size", *size)
    count, average = int(size[0]), max(size[1], 1.0)
    return Statistics(count, average, _having(link, sizes, line, scope, words, count))


def _sampled(link: Link, line: int, scope: Scope, words: Sequence[int]) -> tuple[int, int, dict[int, int]]:
    """The first of a scope, or all of it when it is not large: how many, how long in sum, how many have each word."""
    bound = Bound(_signed(words))
    sql = f"""
WITH shown AS MATERIALIZED (
    SELECT length, words FROM memory_words WHERE {words_sql(line, scope, bound)} LIMIT {COUNTED + 1}
)
SELECT 0, count(*), coalesce(sum(length), 0)::bigint FROM shown
UNION ALL
SELECT place, count(*), 0 FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (word, place)
JOIN shown ON words @> ARRAY[word] GROUP BY place
"""
    having = dict.fromkeys(words, 0)
    count = length = 0
    for place, found, sum_of_lengths in link.rows(sql, *bound.values):
        if place:
            having[words[place - 1]] = found
        else:
            count, length = found, sum_of_lengths
    return count, length, having


def _estimated(link: Link, line: int, scope: Scope) -> int:
    """How many versions a large scope has, as the engine guesses from its statistics."""
    bound = Bound()
    sql = f"EXPLAIN (FORMAT JSON) SELECT 1 FROM memory_words WHERE {words_sql(line, scope, bound)}"
    found = link.row(sql, *bound.values)
    return max(COUNTED + 1, int(found[0][0]["Plan"]["Plan Rows"]) if found else 0)


def _having(link: Link, sizes: Sizes, line: int, scope: Scope, words: Sequence[int], count: int) -> dict[int, int]:
    """How many versions of a large scope have each word; what many have is not counted to the end."""
    extent = Extent.of(line, scope)
    having = {word: int(known[0]) for word in words if (known := sizes.known(extent, word)) is not None}
    unknown = [word for word in words if word not in having]
    if unknown:
        bound = Bound(_signed(unknown))
        sql = f"""
SELECT place, found.having FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (word, place), LATERAL (
    SELECT count(*) AS having FROM (
        SELECT 1 FROM memory_words WHERE words @> ARRAY[word] AND {words_sql(line, scope, bound)} LIMIT {COUNTED + 1}
    ) AS few
) AS found
"""
        having |= {unknown[place - 1]: found for place, found in link.rows(sql, *bound.values)}
    many = [word for word in unknown if having[word] > COUNTED]
    if many:
        sampled, _, among = _sampled(link, line, scope, many)
        for word in many:
            having[word] = min(count, max(having[word], round(count * among[word] / max(sampled, 1))))
            sizes.note(extent, word, having[word])
    return having
