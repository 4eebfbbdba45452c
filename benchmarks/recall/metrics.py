"""What a ranking is worth: recall, nDCG and MRR, with the interval in which the true figure lies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean

from benchmarks.recall.data import Question

Figures = dict[str, float]
DEPTHS = (5, 10, 20)
_DRAWS = 1_000


def figures_of(question: Question, ranking: Sequence[tuple[str, str]]) -> Figures:
    """The figures of one question; a ranking has turns with their sessions, best first."""
    found: Figures = {}
    turns = [turn for turn, _ in ranking]
    if question.turns:
        for depth in DEPTHS:
            found[f"R@{depth}"] = len(question.turns & set(turns[:depth])) / len(question.turns)
        found["nDCG@10"] = _ndcg(question.turns, turns)
        found["MRR"] = _reciprocal(question.turns, turns)
    sessions = list(dict.fromkeys(session for _, session in ranking))
    for depth in (5, 10):
        hits = question.sessions & set(sessions[:depth])
        found[f"sessions any@{depth}"] = float(bool(hits))
        found[f"sessions all@{depth}"] = float(hits == question.sessions)
    found["sessions MRR"] = _reciprocal(question.sessions, sessions)
    return found


def _ndcg(wanted: frozenset[str], ranking: Sequence[str], depth: int = 10) -> float:
    gain = sum(1 / math.log2(rank + 1) for rank, each in enumerate(ranking[:depth], 1) if each in wanted)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(depth, len(wanted)) + 1))
    return gain / ideal


def _reciprocal(wanted: frozenset[str], ranking: Sequence[str]) -> float:
    return next((1 / rank for rank, each in enumerate(ranking, 1) if each in wanted), 0.0)


def mean(figures: Sequence[Mapping[str, float]], name: str) -> float:
    """The mean of a figure, over the questions that have it."""
    return fmean(each[name] for each in figures if name in each)


def interval(figures: Sequence[Mapping[str, float]], name: str) -> tuple[float, float]:
    """Where the mean lies in 95 of 100 cases, by drawing questions anew."""
    values = [each[name] for each in figures if name in each]
    random = Random(1)
    means = sorted(fmean(random.choices(values, k=len(values))) for _ in range(_DRAWS))
    return means[round(0.025 * _DRAWS)], means[round(0.975 * _DRAWS) - 1]
