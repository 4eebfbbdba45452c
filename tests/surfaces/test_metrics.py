"""Metrics: what is counted, by labels that nobody can grow, and at which cost."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from recollect.domain.measuring.figures import LABELS, Figure
from recollect.domain.retention import Pass
from recollect.service.figures import Figures
from recollect.surfaces import metrics as module
from recollect.surfaces.metrics import Metrics

MOST_MICROSECONDS = 5.0


def samples(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return samples(metrics).get((name, frozenset(labels.items())))


def asked(metrics: Metrics, *request: object) -> None:
    metrics.begin()
    metrics.observe(*request)  # type: ignore[arg-type] # whatever the test asks for


def test_a_request_is_counted_by_route_method_and_status() -> None:
    metrics = Metrics()
    for status in (200, 200, 404):
        asked(metrics, "/v1/memories", "GET", status, 0.002)
    assert value(metrics, "recollect_requests_total", route="/v1/memories", method="GET", status="200") == 2
    assert value(metrics, "recollect_requests_total", route="/v1/memories", method="GET", status="404") == 1


def test_how_long_requests_took_is_told_by_route() -> None:
    metrics = Metrics()
    for seconds in (0.0004, 0.002, 100.0):
        asked(metrics, "/v1/memories", "GET", 200, seconds)
    found = {
        bound: value(metrics, "recollect_request_seconds_bucket", route="/v1/memories", le=bound)
        for bound in ("0.0005", "0.001", "0.0025", "30.0", "+Inf")
    }
    assert found == {"0.0005": 1, "0.001": 1, "0.0025": 2, "30.0": 2, "+Inf": 3}
    assert value(metrics, "recollect_request_seconds_sum", route="/v1/memories") == pytest.approx(100.0024)


def test_a_refusal_is_counted_by_its_code() -> None:
    metrics = Metrics()
    for _ in range(2):
        asked(metrics, "/v1/memories", "PUT", 409, 0.001, "revision_conflict")
    asked(metrics, "/v1/memories", "PUT", 200, 0.001)
    assert value(metrics, "recollect_refusals_total", code="revision_conflict") == 2


def test_requests_under_way_go_up_and_down() -> None:
    metrics = Metrics()
    metrics.begin()
    metrics.begin()
    assert value(metrics, "recollect_requests_in_flight") == 2
    metrics.observe("/healthz", "GET", 200, 0.001)
    assert value(metrics, "recollect_requests_in_flight") == 1


def test_sweeps_are_counted_by_step_and_every_step_is_there_from_the_start() -> None:
    metrics = Metrics()
    assert all(value(metrics, "recollect_swept_total", step=step.value) == 0 for step in Pass)
    metrics.swept({Pass.EXPIRE: 3, "evict": 0}, 0.02)
    metrics.swept({"expire": 4}, 0.02)
    assert value(metrics, "recollect_swept_total", step="expire") == 7
    assert value(metrics, "recollect_sweep_seconds_count") == 2


def test_the_way_out_is_counted_and_every_figure_is_there_from_the_start() -> None:
    metrics, figures = Metrics(), Figures()
    for figure, labels in LABELS.items():
        known = {name: values[0] for name, values in labels.items()}
        assert value(metrics, f"recollect_{figure}_total", **known) == 0
    figures.follow(metrics)
    for ranker, hits in (("blended", 3), ("blended", 0), ("deterministic", 1)):
        figures.count(Figure.RECALLS, {"ranker": ranker})
        figures.count(Figure.RECALL_HITS, {"ranker": ranker}, int(hits > 0))
        figures.count(Figure.RECALLED_MEMORIES, {"ranker": ranker}, hits)
    figures.count(Figure.CONTEXT_PACKS)
    figures.count(Figure.GOVERNED_TURNS)
    assert value(metrics, "recollect_recalls_total", ranker="blended") == 2
    assert value(metrics, "recollect_recall_hits_total", ranker="blended") == 1
    assert value(metrics, "recollect_recalled_memories_total", ranker="blended") == 3
    assert value(metrics, "recollect_recalled_memories_total", ranker="deterministic") == 1
    assert value(metrics, "recollect_context_packs_total") == value(metrics, "recollect_governed_turns_total") == 1


def test_what_waits_for_people_is_told_as_it_was_last_looked_at() -> None:
    metrics = Metrics()
    assert value(metrics, "recollect_proposals_waiting") == 0
    metrics.queued(7, 90.5)
    assert value(metrics, "recollect_proposals_waiting") == 7
    assert value(metrics, "recollect_proposals_oldest_seconds") == 90.5


def test_every_metric_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs/how-to/watch-the-service.md").read_text()
    names = {name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") for name, _ in samples(Metrics())}
    told = {name.removesuffix("_created") for name in names if name.startswith("recollect_")}
    assert [name for name in sorted(told) if f"`{name}`" not in guide and f"`{name}_total`" not in guide] == []


def test_the_process_tells_its_own_figures() -> None:
    assert (value(Metrics(), "process_resident_memory_bytes") or 0) > 1_000_000


def test_two_services_in_one_process_count_apart_and_leave_the_global_registry_alone() -> None:
    one, other = Metrics(), Metrics()
    asked(one, "/healthz", "GET", 200, 0.001)
    assert value(other, "recollect_requests_total", route="/healthz", method="GET", status="200") is None
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("recollect")]


def test_methods_that_clients_invent_make_no_new_series() -> None:
    metrics = Metrics()
    for number in range(100):
        asked(metrics, "unknown", f"METHOD{number}", 405, 0.001)
    assert value(metrics, "recollect_requests_total", route="unknown", method="other", status="405") == 100
    assert len(metrics._series) == 1


def test_the_number_of_series_is_bounded_whatever_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SERIES", 5)
    metrics = Metrics()
    for number in range(50):
        asked(metrics, f"/path/{number}", "GET", 200, 0.001)
    assert value(metrics, "recollect_requests_total", route="other", method="other", status="200") == 45
    assert len(metrics._series) == 6


def test_a_route_with_awkward_characters_cannot_forge_a_line() -> None:
    metrics = Metrics()
    asked(metrics, 'a"} 1\nforged_total 5\n', "GET", 200, 0.001)
    assert not [name for name, _ in samples(metrics) if name.startswith("forged")]


def test_no_label_names_a_tenant_a_user_or_a_key() -> None:
    metrics = Metrics()
    asked(metrics, "/v1/memories", "GET", 404, 0.001, "not_found")
    labels = {name for _, pairs in samples(metrics) for name, _ in pairs}
    assert labels == {"route", "method", "status", "code", "step", "le", "ranker"}


def cost(act: Callable[[], None]) -> float:
    """Microseconds of this thread's own time a call, in the best of many short runs: others use the machine too."""
    return min(timeit.repeat(act, timer=time.thread_time, number=500, repeat=40)) / 500 * 1e6


def test_counting_costs_less_than_five_microseconds() -> None:
    metrics = Metrics()
    assert cost(lambda: asked(metrics, "/v1/memories", "GET", 200, 0.002)) < MOST_MICROSECONDS


def test_counting_that_looks_its_series_up_each_time_is_caught() -> None:
    metrics = Metrics()

    def slow() -> None:
        metrics._series.clear()
        asked(metrics, "/v1/memories", "GET", 200, 0.002)

    assert cost(slow) > 1.3 * cost(lambda: asked(metrics, "/v1/memories", "GET", 200, 0.002))
