"""Looking for something: what callers give with a query, read; and how it is answered once a scope is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from recollect.domain.address import Namespace
from recollect.domain.errors import EmbedderTrouble, InvalidQuery
from recollect.domain.queries import Archived, checked_limit, checked_offset
from recollect.domain.ranking import Mode
from recollect.domain.text import flaw_in, shown
from recollect.service.guard import View
from recollect.service.ranked import Wish
from recollect.service.reading import read_archived
from recollect.service.views import Found
from recollect.service.workings import Workings

MAX_QUERIES = 8
MAX_QUERY = 16_384
"""Characters of a query; a model reads far fewer."""
MAX_RANKED = 1_000
"""How deep a ranking goes: an offset and a limit together are at most this."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is looked for, and how, wherever that is."""

    queries: tuple[str, ...]
    mode: Mode
    min_score: float
    explain: bool
    limit: int
    offset: int
    archived: Archived


def read_look(
    query: object, mode: object, min_score: object, explain: object, limit: object, offset: object, archived: object
) -> Look:
    """What a caller looks for."""
    most, start = checked_limit(limit), checked_offset(offset)
    if start + most > MAX_RANKED:
        raise InvalidQuery(f"with a query, offset and limit together are at most {MAX_RANKED:,}")
    if not isinstance(explain, bool):
        raise InvalidQuery("explain is true or false")
    return Look(
        _read_queries(query), _read_mode(mode), _read_score(min_score), explain, most, start, read_archived(archived)
    )


async def look_for(
    workings: Workings, tenant: str, within: Namespace, view: View, look: Look, wait: float | None
) -> Found:
    """What is found in a scope. Without a `wait`, all is indexed first wherever nobody else would do so."""
    if wait or (wait is None and workings.indexing.inline):
        with suppress(EmbedderTrouble):  # what is indexed already can be searched all the same
            await workings.indexing.settle(tenant, math.inf if wait is None else wait)
    answer = await workings.searching.search(
        Wish(
            tenant,
            within,
            view.filter,
            look.queries,
            look.mode,
            look.limit,
            look.offset,
            look.archived,
            look.min_score,
            look.explain,
        )
    )
    return Found(list(answer.hits), None, answer.explanation if look.explain else None)


def _read_queries(query: object) -> tuple[str, ...]:
    given = (query,) if isinstance(query, str) else query
    if not isinstance(given, Sequence) or isinstance(given, bytes) or not 1 <= len(given) <= MAX_QUERIES:
        raise InvalidQuery(f"a query is a text, or a list of 1 to {MAX_QUERIES} texts")
    for each in given:
        if not isinstance(each, str) or len(each) > MAX_QUERY or flaw_in(each):
            raise InvalidQuery(f"a query is a text of at most {MAX_QUERY:,} characters, without NUL or half characters")
        if not each.strip():
            raise InvalidQuery("a query says what to look for; leave it out to search by namespace and filter alone")
    return tuple(given)


def _read_mode(mode: object) -> Mode:
    for each in Mode:
        if each == mode:
            return each
    raise InvalidQuery(f"{mode!r} is not a mode of search; use one of {', '.join(Mode)}")


def _read_score(score: object) -> float:
    if score is None:
        return 0.0
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise InvalidQuery(f"min_score is a number from 0 to 1, not {shown(score)}")
    return float(score)
