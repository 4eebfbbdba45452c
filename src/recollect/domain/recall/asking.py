"""Asking: what a caller wants to be reminded of, read once, and which records that admits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from recollect.domain.errors import InvalidQuery
from recollect.domain.governance.terms import EventType, Kind, Space, Tier
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.standing import Classification
from recollect.domain.queries import checked_limit
from recollect.domain.remembering.records import Record
from recollect.domain.text import flaw_in

MAX_QUERY = 16_384
"""Characters of a query; a model reads far fewer."""
MOST = 200
"""So many memories are found by rank at most."""
MAX_NAME = 200
"""Characters of an intent, a persona, a phase, a session or a project."""
CURRENT = "current"
"""The phase that a space is in."""
_LONGEST = 1e12
_Closed = TypeVar("_Closed", bound=StrEnum)


class Ranker(StrEnum):
    """What decides which of the memories that were found come first."""

    BLENDED = "blended"
    """Similarity, recency and how often an entity is spoken of, 40 to 30 to 30."""
    RELEVANCE = "relevance"
    """Similarity; of what is about equally similar, the newer and the more important."""
    DETERMINISTIC = "deterministic"
    """Whole numbers that anybody can add up, without a model or an index."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted, valid once made."""

    query: str | None
    spaces: tuple[Space, ...]
    session: str | None
    project: str | None
    persona: str | None
    phase: str | None
    intent: str | None
    classification: Classification | None
    freshness: int | None
    """Microseconds."""
    kinds: tuple[Kind, ...]
    tiers: tuple[Tier, ...]
    event_types: tuple[EventType, ...]
    ranker: Ranker
    limit: int
    min_score: float
    as_of: Instant | None
    history: bool
    explain: bool
    include_usage: bool

    def admits(self, record: Record, moment: Instant, phases: Mapping[Space, str | None]) -> bool:
        """Whether a record is among what is asked for; `phases` are those that the spaces are in."""
        return (
            (not self.kinds or record.kind in self.kinds)
            and (not self.tiers or record.tier in self.tiers)
            and (not self.event_types or record.event_type in self.event_types)
            and (self.classification is None or record.classification <= self.classification)
            and (self.freshness is None or record.promoted_at >= moment - self.freshness)
            and (record.purpose is None or self.intent is None or record.purpose == self.intent)
            and record.persona in (None, self.persona)
            and self._in_phase(record, phases)
        )

    def _in_phase(self, record: Record, phases: Mapping[Space, str | None]) -> bool:
        if self.phase is None:
            return True
        wanted = phases.get(record.space) if self.phase == CURRENT else self.phase
        return record.phase.get("phase_id") == wanted

    def wants(self, kind: Kind) -> bool:
        """Whether memories of a kind are asked for."""
        return not self.kinds or kind in self.kinds

    def labels(self, kind: Kind) -> dict[str, Any]:
        """What the plain labels of the records of a kind must say."""
        asked: dict[str, Any] = {"kind": kind.value}
        if self.tiers:
            asked["tier"] = {"in": [each.value for each in self.tiers]}
        if self.event_types:
            asked["event_type"] = {"in": [each.value for each in self.event_types]}
        return asked


def read_asked(given: Mapping[str, Any], now: Instant, as_of: Instant | None) -> Asked:
    """What a caller asks for; refused with the name of the field that is wrong."""
    if as_of is not None and as_of > now:
        raise InvalidQuery("as_of lies in the future; nothing was recalled then yet", field="as_of")
    session, project = (_name(given[name], name) for name in ("session", "project"))
    return Asked(
        query=_query(given["query"]),
        spaces=_spaces(given["spaces"], session, project),
        session=session,
        project=project,
        persona=_name(given["persona"], "persona"),
        phase=_name(given["phase"], "phase"),
        intent=_name(given["intent"], "intent"),
        classification=_ceiling(given["classification"]),
        freshness=_window(given["freshness"]),
        kinds=_several(Kind, given["kinds"], "kinds"),
        tiers=_several(Tier, given["tiers"], "tiers"),
        event_types=_several(EventType, given["event_types"], "event_types"),
        ranker=shapes.one_of(Ranker, given["ranker"], "ranker"),
        limit=checked_limit(given["limit"], MOST),
        min_score=_score(given["min_score"]),
        as_of=as_of,
        history=shapes.truth(given["history"], "history"),
        explain=shapes.truth(given["explain"], "explain"),
        include_usage=shapes.truth(given["include_usage"], "include_usage"),
    )


def _query(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > MAX_QUERY or flaw_in(given):
        raise InvalidQuery(
            f"a query is a text of at most {MAX_QUERY:,} characters, without NUL or half characters", field="query"
        )
    if not given.strip():
        raise InvalidQuery("a query says what to look for; leave it out to be given what is newest", field="query")
    return given


def _name(given: object, field: str) -> str | None:
    if given is None:
        return None
    found = shapes.text(given, field)
    if len(found) > MAX_NAME:
        raise InvalidQuery(f"{field} is text of 1 to {MAX_NAME} characters", field=field)
    return found


def _spaces(given: object, session: str | None, project: str | None) -> tuple[Space, ...]:
    """The spaces in the order in which they are read: those asked for, or all that the call has."""
    asked = _several(Space, given, "spaces")
    had = {Space.SESSION: session is not None, Space.PROJECT: project is not None}
    return tuple(each for each in Space if (each in asked if asked else had.get(each, True)))


def _several(closed: type[_Closed], given: object, field: str) -> tuple[_Closed, ...]:
    if given is None:
        return ()
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or not 1 <= len(given) <= len(closed):
        raise InvalidQuery(f"{field} is a list of some of {', '.join(closed)}; leave it out for all", field=field)
    found = [shapes.one_of(closed, each, field) for each in given]
    if len(set(found)) != len(found):
        raise InvalidQuery(f"{field} names something twice", field=field)
    return tuple(found)


def _ceiling(given: object) -> Classification | None:
    if given is None:
        return None
    if not isinstance(given, str) or given not in Classification.__members__:
        named = ", ".join(Classification.__members__)
        raise InvalidQuery(f"classification is one of {named}", field="classification")
    return Classification[given]


def _window(given: object) -> int | None:
    """A stretch of time in microseconds."""
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _LONGEST:
        raise InvalidQuery("freshness is a number of seconds above 0 and at most 1e12", field="freshness")
    return max(1, round(seconds * 1_000_000))


def _score(given: object) -> float:
    if given is None:
        return 0.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given) or given < 0:
        raise InvalidQuery("min_score is a number from 0", field="min_score")
    return float(given)
