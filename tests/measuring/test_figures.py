"""Figures: from what was written down to numbers, as one can count them by hand."""

from __future__ import annotations

import pytest

from recollect.domain.errors import InvalidInput
from recollect.domain.instants import Instant
from recollect.domain.measuring.figures import Figure
from recollect.domain.measuring.recalls import (
    MOST_WORKFLOWS,
    Correction,
    Recall,
    adoption,
    hit_rate,
    named_in,
    precision,
    read_labels,
    recall_in,
    token_cost,
)
from recollect.domain.measuring.settling import DAY, Asked, Opened, Window, contradictions, throughput
from recollect.domain.measuring.spread import nearest, spread
from recollect.service.figures import Figures

SECOND = 1_000_000
WINDOW = Window(Instant(10 * DAY), Instant(20 * DAY))


def recall(
    workflow: str = "chat", hits: int = 1, at: int = 0, records: tuple[str, ...] = (), **tokens: int | None
) -> Recall:
    return Recall(Instant(at), workflow, hits, tokens.get("tokens"), tokens.get("retrieval"), records)


@pytest.mark.parametrize(
    ("durations", "median", "slow"),
    [([], None, None), ([4], 4, 4), ([1, 9], 1, 9), ([5, 1, 3], 3, 5), (list(range(1, 11)), 5, 9)],
)
def test_the_middle_and_the_slow_ones_are_among_those_there_are(
    durations: list[int], median: float | None, slow: float | None
) -> None:
    told = spread([each * SECOND for each in durations])
    assert told == {"count": len(durations), "median_seconds": median, "p90_seconds": slow}
    assert nearest([1, 2, 3, 4], 0.5) == 2


def test_hits_are_told_by_workflow_and_altogether() -> None:
    told = hit_rate([recall("chat"), recall("chat", 0), recall("plan", 3), recall("chat", 2)])
    assert (told["recalls"], told["hits"], told["hit_rate"]) == (4, 3, 0.75)
    assert told["by_workflow"] == [
        {"workflow": "chat", "recalls": 3, "hits": 2, "hit_rate": 0.666667},
        {"workflow": "plan", "recalls": 1, "hits": 1, "hit_rate": 1.0},
    ]
    assert hit_rate([]) == {"recalls": 0, "hits": 0, "hit_rate": None, "by_workflow": []}


def test_workflows_that_callers_invent_are_told_together_beyond_a_bound() -> None:
    told = hit_rate([recall(f"w{number:03d}", number % 2) for number in range(MOST_WORKFLOWS + 10)])
    assert len(told["by_workflow"]) == MOST_WORKFLOWS + 1
    assert told["by_workflow"][-1] == {"workflow": "(other)", "recalls": 10, "hits": 5, "hit_rate": 0.5}


def test_tokens_are_compared_only_where_both_are_known() -> None:
    told = token_cost(
        [recall(tokens=100, retrieval=400), recall(tokens=50, retrieval=100), recall(tokens=9), recall(retrieval=7)]
    )
    assert told == {"recalls": 2, "tokens": 150, "retrieval_tokens": 500, "ratio": 0.3}
    assert token_cost([])["ratio"] is None


def test_a_trace_tells_of_a_recall_or_of_something_else() -> None:
    event = {"type": "memory_recall", "recalled": [{"id": "user:alice:semantic:1"}, {"id": "user:alice:semantic:2"}]}
    told = {"at": 5, "events": [event], "recall": {"intent": None, "hits": 2, "ranker": "blended", "tokens": 7}}
    assert recall_in(told) == Recall(
        Instant(5), "(none)", 2, 7, None, ("user:alice:semantic:1", "user:alice:semantic:2")
    )
    assert recall_in({"at": 5, "events": [{"type": "memory_write"}]}) is None
    odd = recall_in({"recall": {"intent": "x", "hits": True, "tokens": -1, "retrieval_tokens": "9"}})
    assert odd == Recall(Instant(0), "x", 0, None, None, ())


def test_a_correction_is_adopted_once_the_new_record_is_given_and_the_old_one_never_again() -> None:
    made = [Correction(f"new{number}", Instant(100), (f"old{number}",)) for number in range(4)]
    recalls = [
        recall(at=90, records=("old0", "old1")),
        recall(at=110, records=("new0",)),
        recall(at=110, records=("new1", "old1")),
        recall(at=120, records=("old2",)),
    ]
    told = adoption(made, recalls, 4)
    assert (told["adopted"], told["missed"], told["open"], told["adoption_rate"]) == (1, 2, 1, 0.25)
    assert adoption([], recalls, 0)["adoption_rate"] is None


def test_contradictions_settled_in_the_window_are_timed_and_open_ones_counted_at_its_end() -> None:
    def day(number: float) -> Instant:
        return Instant(int(number * DAY))

    told = contradictions(
        [
            Opened(day(9), day(11)),
            Opened(day(12), day(13)),
            Opened(day(1), day(9)),  # before
            Opened(day(12), day(12), by_rule=True),
            Opened(day(14), None),
            Opened(day(15), day(25)),  # open when the window ends
            Opened(day(21), None),  # after
        ],
        WINDOW,
    )
    assert told == {
        "resolved": 2, "median_seconds": 86_400.0, "p90_seconds": 172_800.0, "resolved_by_rule": 1, "open": 2,
        "oldest_open_at": "1970-01-15T00:00:00Z", "oldest_open_seconds": 6 * 86_400.0,
    }  # fmt: skip


def test_reviews_are_told_by_day_verdict_and_waiting_time() -> None:
    hour = DAY // 24
    told = throughput(
        [
            Asked(Instant(11 * DAY), "approved", Instant(11 * DAY + hour)),
            Asked(Instant(11 * DAY), "rejected", Instant(11 * DAY + 3 * hour)),
            Asked(Instant(11 * DAY), "approved", Instant(12 * DAY)),
            Asked(Instant(1), "approved", Instant(9 * DAY)),
            Asked(Instant(19 * DAY), "waiting", None),
            Asked(Instant(20 * DAY), "waiting", None),
        ],
        WINDOW,
    )
    assert told == {
        "decided": 3, "per_day": 0.3, "by_verdict": {"approved": 2, "rejected": 1},
        "by_day": [{"day": "1970-01-12", "decided": 2}, {"day": "1970-01-13", "decided": 1}],
        "median_waiting_seconds": 10_800.0, "p90_waiting_seconds": 86_400.0,
        "waiting": 1, "oldest_waiting_seconds": 86_400.0,
    }  # fmt: skip


def test_precision_and_recall_are_of_the_first_so_many() -> None:
    answers = [
        (["a", "b", "c"], frozenset({"a", "z"})),  # 1 of 2 given, 1 of 2 relevant
        (["a", "a", "b"], frozenset({"b"})),  # twice the same is once
        ([], frozenset({"q"})),
    ]
    told = precision(answers, 2)
    assert told == {"queries": 3, "k": 2, "answered": 2, "precision": 0.5, "recall": 0.5}
    assert precision([], 5)["precision"] is None


def test_a_label_may_use_either_spelling_of_an_id() -> None:
    memories = [
        {"id": "user:a:semantic:1", "also_known_as": "mem-1"},
        {"id": "user:a:semantic:2", "also_known_as": "mem-2"},
    ]
    assert named_in(memories, frozenset({"mem-1", "user:a:semantic:2"})) == ["mem-1", "user:a:semantic:2"]


@pytest.mark.parametrize(
    "wrong", [[], "text", [1], [{"query": "x"}], [{"query": 1, "relevant": []}], [{"query": "x", "relevant": "y"}]]
)
def test_labels_that_are_none_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        read_labels(wrong)


def test_figures_are_told_to_who_follows_and_labels_cannot_grow() -> None:
    class Told:
        def __init__(self) -> None:
            self.seen: list[tuple[Figure, tuple[str, ...], int]] = []

        def counted(self, figure: Figure, labels: tuple[str, ...], amount: int) -> None:
            self.seen.append((figure, labels, amount))

    figures, told = Figures(), Told()
    figures.count(Figure.RECALLS)
    figures.follow(told)
    figures.count("recalls", {"ranker": "blended", "tenant": "acme"})
    figures.count(Figure.RECALLED_MEMORIES, {"ranker": "made up"}, 3)
    figures.count(Figure.CONTEXT_PACKS)
    figures.count(Figure.CONTEXT_PACKS, amount=0)
    assert told.seen == [
        (Figure.RECALLS, ("blended",), 1),
        (Figure.RECALLED_MEMORIES, ("other",), 3),
        (Figure.CONTEXT_PACKS, (), 1),
    ]
