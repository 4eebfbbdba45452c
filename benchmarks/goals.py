"""What we set out to reach, and whether this run did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A ratio, or another figure in a unit of its own, that is to be reached or not to be exceeded."""

    row: str
    against: str
    bound: float
    at_most: bool = False
    unit: str = "×"

    def met(self, ratio: float) -> bool:
        """True when this ratio satisfies the goal."""
        return ratio <= self.bound if self.at_most else ratio >= self.bound

    def text(self) -> str:
        """The goal in a few characters."""
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}{self.unit}"


PEER = "SqliteStore"
CROWD = "SqliteStore, 16 threads"
GOALS = (
    Goal("put_awaited", PEER, 1.5),
    Goal("put", PEER, 1.5),
    Goal("put_crowd", CROWD, 5.0),
    Goal("update", PEER, 1.5),
    Goal("delete", PEER, 1.5),
    Goal("get", PEER, 1.0),
    Goal("search", PEER, 1.5),
    Goal("search_broad", PEER, 1.5),
    Goal("list_namespaces", PEER, 2.0),
    Goal("mixed", CROWD, 3.0),
    Goal("batch_put", "floor", 0.5),
)
GROWTH_GOALS = tuple(Goal(name, "growth", 1.5, at_most=True) for name in ("get_p50", "get_mean", "put_p50", "put_mean"))

POSTGRES = "PostgresStore"
ENGINE_GOALS = (
    Goal("get", POSTGRES, 1.5),
    Goal("put", POSTGRES, 1.0),
    Goal("put_awaited", POSTGRES, 1.0),
    Goal("search", POSTGRES, 3.0),
    Goal("put_crowd", POSTGRES, 2.0),
    Goal("mixed", POSTGRES, 2.0),
)
PROCESS_GOALS = tuple(Goal(row, "one process", 1.6) for row in ("get_16", "put_16", "mixed_16"))
ENGINE_GROWTH_GOALS = (
    Goal("engine_get_p50", "growth", 1.5, at_most=True),
    Goal("engine_put_p50", "growth", 1.5, at_most=True),
    Goal("engine_search_p50", "growth", 2.0, at_most=True),
)


@dataclass(frozen=True)
class Verdict:
    """A goal, and the figure that meets or misses it."""

    goal: Goal
    ratio: float

    @property
    def met(self) -> bool:
        """True when the goal was reached."""
        return self.goal.met(self.ratio)


def verdicts(
    ratios: Mapping[tuple[str, str], float], growth: Mapping[str, float], goals: Sequence[Goal] = GOALS
) -> list[Verdict]:
    """Each goal for which this run has a figure."""
    compared = [Verdict(goal, ratios[goal.row, goal.against]) for goal in goals if (goal.row, goal.against) in ratios]
    return compared + [Verdict(goal, growth[goal.row]) for goal in GROWTH_GOALS if goal.row in growth]
