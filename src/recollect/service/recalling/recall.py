"""Recall: what an agent is given, why, and from where; only promoted records, and only while they may be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.filters import parse_filter
from recollect.domain.governance.phases import Phase
from recollect.domain.governance.terms import Kind, Space
from recollect.domain.instants import Instant
from recollect.domain.measuring.figures import Figure
from recollect.domain.notes import SUGGESTIONS
from recollect.domain.promotion import shapes
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.recall.asking import Asked, Ranker, read_asked
from recollect.domain.recall.memories import Memory, hash_of, recalled
from recollect.domain.recall.ranking import (
    Candidate,
    Placed,
    below_their_heirs,
    counted,
    newest,
    ranked,
    weights_of,
)
from recollect.domain.recall.window import By, counts, facts, turns
from recollect.domain.remembering.records import Record, read_record
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service.guard import Ruling
from recollect.service.pipeline.person import Person
from recollect.service.pipeline.places import Places
from recollect.service.reading import read_optional_moment, read_wait
from recollect.service.recalling.as_of import Past
from recollect.service.recalling.scope import Behind, Crossing, asked_for_phases, behind, crossings, phases_of
from recollect.service.recalling.sources import Present, Source
from recollect.service.recalling.told import Recalled, keep_trace

CANDIDATES = 50
"""So many of the most similar records are ranked."""
_LOOKED_AT = 500
"""So many of the newest turns are looked at for the last ones and their summary."""
_MOST_FACTS = 1_000
_CONTRADICTIONS = 200
Given = tuple[Placed | By, Row]
"""What is to be given, and the row it was read from."""


@dataclass(frozen=True, slots=True)
class Look:
    """A recall that is about to look: what may be read, and where from."""

    asked: Asked
    places: Places
    ruling: Ruling
    borders: list[Crossing]
    opened: list[Behind]
    phase: Phase | None
    """The one that the session is in."""
    source: Source
    gathering: Gathering


class Recalling(Person):
    """Recall, in the name of one caller."""

    async def recall(
        self,
        query: str | None = None,
        *,
        spaces: Sequence[str] | None = None,
        session: str | None = None,
        project: str | None = None,
        persona: str | None = None,
        phase: str | None = None,
        intent: str | None = None,
        classification: str | None = None,
        freshness: float | timedelta | None = None,
        kinds: Sequence[str] | None = None,
        tiers: Sequence[str] | None = None,
        event_types: Sequence[str] | None = None,
        ranker: str = "relevance",
        limit: int = 10,
        min_score: float | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        explain: bool = False,
        include_usage: bool = False,
        wait: float | None = None,
    ) -> dict[str, Any]:
        """What is remembered that helps with a query: records with their evidence, in the order to read them.

        First come the summary and the last 10 turns of the session, then what answers the query, best first, then
        facts of profiles, oldest first and at most 20. `limit` counts what answers the query, and `min_score` is asked
        of it; the rest comes by rule. Without a query, the newest are given. With `history`, what others stand in
        place of comes last of all, at most `limit` of it. With `as_of`, the answer is the one that was given then,
        without what may not be seen now.
        """
        self._check_own_name()
        now = self._workings.clock()
        given = {
            "query": query,
            "spaces": spaces,
            "session": session,
            "project": project,
            "persona": persona,
            "phase": phase,
            "intent": intent,
            "classification": classification,
            "freshness": freshness,
            "kinds": kinds,
            "tiers": tiers,
            "event_types": event_types,
            "ranker": ranker,
            "limit": limit,
            "min_score": min_score,
            "history": history,
            "explain": explain,
            "include_usage": include_usage,
        }
        asked = read_asked(given, now, read_optional_moment(as_of))
        waiting = None if wait is None else read_wait(wait)
        self._workings.guard.permit(self._caller, Action.READ)
        return await self._recall(asked, now, waiting)

    async def _recall(self, asked: Asked, now: Instant, wait: float | None) -> dict[str, Any]:
        look = await self._look(asked, now, wait)
        found = await look.gathering.gathered() if look.opened else []
        memories, records = tuple(each for each, _ in found), tuple(each for _, each in found)
        memories = await self._used(asked, memories, look.source, now)
        unsettled = await self._unsettled(look.places, look.opened, records, asked)
        trace_id = await self._traced(look, memories, records)
        explanation = look.gathering.explanation() if asked.explain else None
        return {
            "memories": msgspec.json.decode(msgspec.json.encode(memories)),
            "contradictions": unsettled,
            "notice": SUGGESTIONS if any(each.behavioral for each in memories) else None,
            "borders": [each.told() for each in look.borders],
            "counts": counts(memories, [each.space.value for each in look.opened]),
            "ranker": asked.ranker.value,
            "as_of": shapes.written(asked.as_of),
            "hash": hash_of(memories),
            "trace_id": trace_id,
            "explanation": explanation,
        }

    async def _look(self, asked: Asked, now: Instant, wait: float | None) -> Look:
        """Where a recall looks, before it did; what is asked for counts from `now`."""
        places = Places(self._owner, asked.session, asked.project)
        ruling = await self._workings.guard.begin(self._caller)
        borders = await crossings(ruling, places, asked.spaces)
        opened = behind(borders)
        phases = await phases_of(
            self._workings.store, self._tenant, places, asked_for_phases(asked, opened), asked.as_of
        )
        ids = {space: None if each is None else each.id for space, each in phases.items()}
        moment = now if asked.as_of is None else asked.as_of
        sort = Present if asked.as_of is None else Past
        source = sort(self._workings, self._tenant, asked, opened, ids, moment, wait)
        gathering = Gathering(self._tenant, asked, opened, source)
        return Look(asked, places, ruling, borders, opened, _session_phase(phases), source, gathering)

    async def _traced(self, look: Look, memories: tuple[Memory, ...], records: tuple[Record, ...]) -> str:
        """The id of the trace that tells what was given."""
        told = Recalled(look.asked, memories, records, tuple(look.borders), look.phase, look.source.moment)
        return await keep_trace(self._workings, look.places, self._tenant, self._actor, told)

    async def _used(
        self, asked: Asked, memories: tuple[Memory, ...], source: Source, now: Instant
    ) -> tuple[Memory, ...]:
        """Count what is given, which costs the reader nothing; the memories, saying how often that was, if asked."""
        figures, labels = self._workings.figures, {"ranker": asked.ranker.value}
        figures.count(Figure.RECALLS, labels)
        figures.count(Figure.RECALL_HITS, labels, int(bool(memories)))
        figures.count(Figure.RECALLED_MEMORIES, labels, len(memories))
        rows = [source.given[each.id] for each in memories if each.id in source.given]
        for row in rows:
            self._workings.usage.load(row, now)
        if not asked.include_usage or len(rows) != len(memories):
            return memories
        shown = await self._workings.usage.of(rows)
        return tuple(msgspec.structs.replace(each, usage=used) for each, used in zip(memories, shown, strict=True))

    async def _unsettled(
        self, places: Places, opened: Sequence[Behind], records: Sequence[Record], asked: Asked
    ) -> list[dict[str, Any]]:
        """The caller's open contradictions about what was recalled: which record, by which proposal, and no values."""
        if not records or not any(each.space is Space.USER for each in opened):
            return []
        ids, about = {each.id for each in records}, {(each.entity, each.predicate) for each in records}
        wanted = parse_filter({"status": "open"})
        query = Find(
            Plane.CONTRADICTION, places.own("contradictions"), wanted, Order.NEWEST, _CONTRADICTIONS, as_of=asked.as_of
        )
        page = await self._workings.store.find(self._tenant, query)
        told = [stored_value(row.value) for row in page.rows if row.value is not None]
        return [
            {
                "event_id": each["event_id"],
                "proposal_id": each["proposal_id"],
                "existing": each["existing"],
                "entity": each["entity_ceid"],
                "predicate": each["predicate"],
                "verdict": each["verdict"],
                "space": each["space"],
                "at": each["at"],
            }
            for each in told
            if each.get("persona") in (None, asked.persona)
            and (each["existing"] in ids or (each["entity_ceid"], each["predicate"]) in about)
        ]


def _session_phase(phases: dict[Space, Phase | None]) -> Phase | None:
    return phases.get(Space.SESSION)


class Gathering:
    """One recall under way: what was found so far, and what there is to say about that."""

    def __init__(self, tenant: str, asked: Asked, opened: Sequence[Behind], source: Source) -> None:
        self._tenant, self._asked, self._opened, self._source = tenant, asked, opened, source
        self._said: dict[str, Any] = {}

    async def gathered(self) -> list[tuple[Memory, Record]]:
        """What is given, in order, each read once more before it is."""
        asked = self._asked
        window = await self._window() if asked.wants(Kind.SHORT_TERM) else []
        semantic = await self._semantic(past=False) if asked.wants(Kind.SEMANTIC) else []
        profile = await self._profile(past=False) if asked.wants(Kind.PROFILE) else []
        past: list[Given] = []
        if asked.history:
            found = await self._semantic(past=True) if asked.wants(Kind.SEMANTIC) else []
            facts_before = await self._profile(past=True) if asked.wants(Kind.PROFILE) else []
            past = [*found, *facts_before]
        given = await self._still(window, None)
        given += await self._still(semantic, asked.limit)
        given += await self._still(profile, None)
        return given + await self._still(_ordered(past), asked.limit, past=True)

    async def _window(self) -> list[Given]:
        """The last turns of the session."""
        session = [each for each in self._opened if each.space is Space.SESSION]
        found = [row for each in session for row in await self._source.at(each, Kind.SHORT_TERM, _LOOKED_AT)]
        records = [_record(row) for row in found]
        rows = {record.id: row for record, row in zip(records, found, strict=True)}
        return [(each, rows[each[0].id]) for each in turns(records)]

    async def _profile(self, *, past: bool) -> list[Given]:
        """The facts of profiles, space by space."""
        stores = await self._stores(Kind.PROFILE, _MOST_FACTS, past=past)
        rows = {record.id: row for store in stores.values() for record, row in store}
        return [(each, rows[each[0].id]) for each in facts([[each for each, _ in store] for store in stores.values()])]

    async def _semantic(self, *, past: bool) -> list[Given]:
        """What answers the query, best first; without one, the newest."""
        asked = self._asked
        most = max(CANDIDATES, asked.limit)
        if asked.ranker is Ranker.DETERMINISTIC:
            stores = await self._stores(Kind.SEMANTIC, None, past=past)
            rows = {record.id: row for store in stores.values() for record, row in store}
            only = {space: [record for record, _ in store] for space, store in stores.items()}
            placed = counted(only, asked.query or "")
        elif asked.query is None:
            stores = await self._stores(Kind.SEMANTIC, most, past=past)
            rows = {record.id: row for store in stores.values() for record, row in store}
            placed = newest([record for store in stores.values() for record, _ in store], self._source.moment)
        else:
            answer = await self._source.search(asked.query, most, past=past)
            found = [(_record(hit.row), hit) for hit in answer.hits]
            rows = {record.id: hit.row for record, hit in found}
            records = await self._source.grown([record for record, _ in found], [hit.row for _, hit in found])
            hits = [hit for _, hit in found]
            candidates = [
                Candidate(record, hit.score, hit.explanation) for record, hit in zip(records, hits, strict=True)
            ]
            placed = ranked(candidates, asked.ranker, self._source.moment)
            if not past:
                self._said["search"] = answer.explanation
        if not past:
            self._said["candidates"] = len(placed)
        return [(each, rows[each.record.id]) for each in placed if each.score >= asked.min_score]

    async def _stores(self, kind: Kind, most: int | None, *, past: bool) -> dict[Space, list[tuple[Record, Row]]]:
        """The records of a kind in each space, those written last first."""
        return {
            place.space: [(_record(row), row) for row in await self._source.at(place, kind, most, past=past)]
            for place in self._opened
        }

    async def _still(
        self, given: Sequence[Given], most: int | None, *, past: bool = False
    ) -> list[tuple[Memory, Record]]:
        """The first so many that may still be seen, looked at at the last moment."""
        found: list[tuple[Memory, Record]] = []
        at, wanted = 0, len(given) if most is None else most
        while at < len(given) and len(found) < wanted:
            part = given[at : at + wanted - len(found)]
            at += len(part)
            records = await self._source.still([row for _, row in part], past=past)
            for (each, _), record in zip(part, records, strict=True):
                if record is not None:
                    found.append((self._memory(each, record), record))
        return found

    def _memory(self, given: Placed | By, record: Record) -> Memory:
        if not isinstance(given, Placed):
            return recalled(record, self._tenant, given[1])
        parts = given.parts if self._asked.explain else None
        return recalled(record, self._tenant, given.reasons, score=given.score, explanation=parts)

    def explanation(self) -> dict[str, Any]:
        """What there is to say about the whole answer."""
        ranker, moment = self._asked.ranker, self._source.moment
        said: dict[str, Any] = {"ranker": ranker.value, "moment": shapes.written(moment)}
        weights = weights_of(ranker)
        if weights is not None and self._asked.query is not None:
            said["weights"] = weights
        return said | self._said


def _record(row: Row) -> Record:
    return read_record(row.value or b"")


def _ordered(past: Sequence[Given]) -> list[Given]:
    """Past records, none above the one that stands in its place."""
    rows = {_of(each).id: (each, row) for each, row in past}
    placed = [each if isinstance(each, Placed) else Placed(each[0], 0.0, each[1], {}) for each, _ in past]
    return [rows[each.record.id] for each in below_their_heirs(placed)]


def _of(given: Placed | By) -> Record:
    return given.record if isinstance(given, Placed) else given[0]
