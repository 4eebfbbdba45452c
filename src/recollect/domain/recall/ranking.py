"""Ranking: in which order memories are given, by numbers that can be shown one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from recollect.domain.governance.items import rank_of
from recollect.domain.governance.recalling import scored
from recollect.domain.governance.terms import RecallReason, Space
from recollect.domain.instants import Instant
from recollect.domain.recall.asking import Ranker
from recollect.domain.remembering.records import Record

SIMILARITY, RECENCY, ENTITY = 0.4, 0.3, 0.3
"""What each part of the blend counts."""
HALF_LIFE_DAYS = 14.0
NEWER, WEIGHTIER = 0.02, 0.01
"""What recency and importance count where relevance decides: enough to part what is about equally similar."""
_DAY = 86_400_000_000
_MOST_IMPORTANT = 5
_DIGITS = 4
"""So many digits of a score count: what the same words give in two deployments, whose keys turn vectors differently."""
BY_ENTITY = "entity"
"""Why a memory was recalled: what it is about is spoken of in many of those that were found."""


def weights_of(ranker: Ranker) -> dict[str, float] | None:
    """What each part counts; None where whole numbers are added up."""
    if ranker is Ranker.DETERMINISTIC:
        return None
    if ranker is Ranker.BLENDED:
        return {"similarity": SIMILARITY, "recency": RECENCY, "entity": ENTITY}
    parts = {"similarity": 1.0, "recency": NEWER, "importance": WEIGHTIER}
    return {name: round(part / sum(parts.values()), 6) for name, part in parts.items()}


class Candidate(NamedTuple):
    """A record that was found, and how well it answers the query, from 0 to 1."""

    record: Record
    similarity: float
    why: dict[str, Any] | None = None


class Placed(NamedTuple):
    """A record with its score, what that was made from, and the reasons in words."""

    record: Record
    score: float
    reasons: tuple[str, ...]
    parts: dict[str, Any]


def recency(record: Record, now: Instant) -> float:
    """1 for what was promoted now, half of it for every 14 days since."""
    return float(0.5 ** (max(now - record.promoted_at, 0) / _DAY / HALF_LIFE_DAYS))


def refs_of(record: Record) -> tuple[str, ...]:
    """What a record tells of: its refs, each once; of one without any, its entity."""
    return tuple(dict.fromkeys(record.entity_refs)) or (record.entity,)


def frequencies(records: Sequence[Record]) -> dict[str, float]:
    """How often each ref is spoken of among these, beside the one that is spoken of most."""
    counts = Counter(ref for each in records for ref in refs_of(each))
    most = max(counts.values(), default=1)
    return {ref: count / most for ref, count in counts.items()}


def _spoken(record: Record, often: Mapping[str, float]) -> float:
    """How often what a record tells of is spoken of: the mean over its refs."""
    refs = refs_of(record)
    return sum(often[ref] for ref in refs) / len(refs)


def ranked(candidates: Sequence[Candidate], ranker: Ranker, now: Instant) -> list[Placed]:
    """The candidates, best first; of equal ones the newer."""
    often = frequencies([each.record for each in candidates])
    score = _relevant if ranker is Ranker.RELEVANCE else _blended
    return in_order([score(each, now, _spoken(each.record, often)) for each in candidates])


def _blended(found: Candidate, now: Instant, entity: float) -> Placed:
    new = recency(found.record, now)
    parts = {
        "similarity": _part(found.similarity, SIMILARITY),
        "recency": _part(new, RECENCY),
        "entity": _part(entity, ENTITY),
    }
    total = SIMILARITY * found.similarity + RECENCY * new + ENTITY * entity
    return _placed(found, total, parts, _reasons(new, entity=entity))


def _relevant(found: Candidate, now: Instant, _: float) -> Placed:
    new, weight = recency(found.record, now), min(float(found.record.importance) / _MOST_IMPORTANT, 1.0)
    whole = 1 + NEWER + WEIGHTIER
    parts = {
        "similarity": _part(found.similarity, 1 / whole),
        "recency": _part(new, NEWER / whole),
        "importance": _part(weight, WEIGHTIER / whole),
    }
    total = (found.similarity + NEWER * new + WEIGHTIER * weight) / whole
    return _placed(found, total, parts, _reasons(new, weight=weight))


def _reasons(new: float, *, entity: float = 0.0, weight: float = 0.0) -> tuple[str, ...]:
    said = ((RecallReason.RECENCY.value, new), (RecallReason.IMPORTANCE.value, weight), (BY_ENTITY, entity))
    return (RecallReason.MATCHES_QUERY.value, *(name for name, part in said if part >= 0.5))


def _placed(found: Candidate, total: float, parts: dict[str, Any], reasons: tuple[str, ...]) -> Placed:
    told = parts if found.why is None else parts | {"search": found.why}
    return Placed(found.record, round(total, _DIGITS), reasons, told)


def _part(value: float, weight: float) -> dict[str, float]:
    return {"value": round(value, _DIGITS) + 0.0, "weight": round(weight, 6)}


def newest(records: Sequence[Record], now: Instant) -> list[Placed]:
    """What there is to say without a query: the newest first."""
    found = []
    for each in records:
        new = recency(each, now)
        parts = {"recency": _part(new, 1.0)}
        found.append(Placed(each, round(new, _DIGITS), (RecallReason.RECENCY.value,), parts))
    return sorted(found, key=lambda each: (-each.record.tick, rank_of(each.record.id)))


def counted(stores: Mapping[Space, Sequence[Record]], query: str) -> list[Placed]:
    """The records of some spaces, each scored in whole numbers beside the newest of its own store."""
    found: list[Placed] = []
    for records in stores.values():
        latest = max((each.tick for each in records), default=0)
        for each in records:
            score = scored(each.item(), query, latest)
            parts = {"similarity": score.similarity, "recency": score.recency, "importance": score.importance}
            found.append(Placed(each, float(score.total), score.reasons, parts))
    return in_order(found)


def in_order(found: Sequence[Placed]) -> list[Placed]:
    """Best first; of equal ones the newer, then by id."""
    return sorted(found, key=lambda each: (-each.score, -each.record.tick, rank_of(each.record.id)))


def below_their_heirs(found: Sequence[Placed]) -> list[Placed]:
    """Past records in their order, but none above the one that stands in its place."""
    by_id = {each.record.id: each for each in found}
    placed: dict[str, Placed] = {}

    for each in found:
        line = [each]
        while (heir := by_id.get(line[-1].record.superseded_by or "")) is not None and heir not in line:
            line.append(heir)
        placed |= {one.record.id: one for one in reversed(line) if one.record.id not in placed}
    return list(placed.values())
