"""Recalls: how often memory had something to give, at what cost, and whether it gave what it should."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.errors import InvalidRequest
from recollect.domain.instants import Instant
from recollect.domain.measuring.spread import ratio
from recollect.domain.promotion import shapes

NO_INTENT = "(none)"
OTHER = "(other)"
MOST_LABELS = 1_000
MOST_WORKFLOWS = 50
"""So many workflows are told apart, those with the most recalls; the rest are told together."""


class Recall(msgspec.Struct, frozen=True):
    """One recall, as its trace tells of it."""

    at: Instant
    workflow: str
    hits: int
    tokens: int | None
    retrieval_tokens: int | None
    records: tuple[str, ...]


def recall_in(trace: Mapping[str, Any]) -> Recall | None:
    """The recall that a trace tells of; None when it tells of something else."""
    told = trace.get("recall")
    if not isinstance(told, Mapping):
        return None
    records: list[str] = []
    for event in trace.get("events") or ():
        if isinstance(event, Mapping) and event.get("type") == "memory_recall":
            records += [str(each["id"]) for each in event.get("recalled") or () if isinstance(each, Mapping)]
    return Recall(
        Instant(int(trace.get("at") or 0)),
        str(told.get("intent") or NO_INTENT),
        _whole(told.get("hits")) or 0,
        _whole(told.get("tokens")),
        _whole(told.get("retrieval_tokens")),
        tuple(records),
    )


def _whole(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else None


def hit_rate(recalls: Iterable[Recall]) -> dict[str, Any]:
    """How many recalls gave at least one memory, altogether and by workflow."""
    counts: dict[str, list[int]] = {}
    for each in recalls:
        mine = counts.setdefault(each.workflow, [0, 0])
        mine[0] += 1
        mine[1] += each.hits > 0
    ordered = sorted(counts.items(), key=lambda each: (-each[1][0], each[0]))
    told = ordered[:MOST_WORKFLOWS]
    if rest := ordered[MOST_WORKFLOWS:]:
        told.append((OTHER, [sum(each[1][0] for each in rest), sum(each[1][1] for each in rest)]))
    return _rate([sum(each[0] for each in counts.values()), sum(each[1] for each in counts.values())]) | {
        "by_workflow": [{"workflow": workflow} | _rate(mine) for workflow, mine in told]
    }


def _rate(counted: Sequence[int]) -> dict[str, Any]:
    return {"recalls": counted[0], "hits": counted[1], "hit_rate": ratio(counted[1], counted[0])}


def token_cost(recalls: Iterable[Recall]) -> dict[str, Any]:
    """How many tokens memory gave, for each that retrieval alone would have given, where both are known."""
    known = [each for each in recalls if each.tokens is not None and each.retrieval_tokens]
    tokens = sum(each.tokens or 0 for each in known)
    retrieval = sum(each.retrieval_tokens or 0 for each in known)
    told = {"recalls": len(known), "tokens": tokens, "retrieval_tokens": retrieval}
    return told | {"ratio": ratio(tokens, retrieval)}


class Correction(msgspec.Struct, frozen=True):
    """A record that puts others right."""

    record: str
    at: Instant
    corrected: tuple[str, ...]


def adoption(corrections: Iterable[Correction], recalls: Sequence[Recall], signals: int) -> dict[str, Any]:
    """Of the corrections, how many agents go by: they were given the new record, and since then never the old one.

    A correction that nobody was given anything of yet counts as open, and one whose old record was still given as
    missed.
    """
    given: dict[str, list[Instant]] = {}
    for recall in recalls:
        for record in recall.records:
            given.setdefault(record, []).append(recall.at)
    made = adopted = missed = 0
    for each in corrections:
        made += 1
        stale = any(at > each.at for old in each.corrected for at in given.get(old, ()))
        fresh = any(at >= each.at for at in given.get(each.record, ()))
        missed += stale
        adopted += fresh and not stale
    return {
        "corrections": made,
        "adopted": adopted,
        "missed": missed,
        "open": made - adopted - missed,
        "adoption_rate": ratio(adopted, made),
        "signals": signals,
    }


def read_labels(labels: object) -> list[tuple[str, frozenset[str]]]:
    """Questions with their answers, refused where they are not."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence) or not 0 < len(labels) <= MOST_LABELS:
        raise InvalidRequest(f"labels are a list of 1 to {MOST_LABELS:,} questions", field="labels")
    found = []
    for number, each in enumerate(labels):
        if not isinstance(each, Mapping) or set(each) != {"query", "relevant"}:
            raise InvalidRequest("a label has a query and what is relevant", field=f"labels[{number}]")
        relevant = shapes.texts(each["relevant"], f"labels[{number}].relevant")
        found.append((shapes.text(each["query"], f"labels[{number}].query"), frozenset(relevant)))
    return found


def named_in(memories: Iterable[Mapping[str, Any]], relevant: frozenset[str]) -> list[str]:
    """The ids of memories, each in the spelling that a label uses of the two that it has."""
    given = ({str(each["id"]), str(each.get("also_known_as", each["id"]))} for each in memories)
    return [min(names & relevant, default=min(names)) for names in given]


def precision(answers: Iterable[tuple[Sequence[str], frozenset[str]]], limit: int) -> dict[str, Any]:
    """How much of what was given is relevant, and how much of what is relevant was given, of the first so many.

    Each answer is the ids that were given, best first, and those that are relevant. Precision is of what was given,
    which may be less than was asked for; a question to which nothing was given has none.
    """
    precisions: list[float] = []
    recalls: list[float] = []
    queries = 0
    for given, relevant in answers:
        queries += 1
        best = list(dict.fromkeys(given))[:limit]
        found = sum(each in relevant for each in best)
        if best:
            precisions.append(found / len(best))
        if relevant:
            recalls.append(found / len(relevant))
    return {
        "queries": queries,
        "k": limit,
        "answered": len(precisions),
        "precision": ratio(sum(precisions), len(precisions)),
        "recall": ratio(sum(recalls), len(recalls)),
    }
