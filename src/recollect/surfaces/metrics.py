"""Counters for Prometheus, one registry for each service.

No metric has a tenant, a user, a key or a credential as a label: each value of a label is a series that the process
and Prometheus keep for ever, so labels must come from sets that callers cannot grow. What happens in one tenant is
told by its event log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from recollect.domain.measuring.figures import LABELS, Figure
from recollect.domain.retention import Pass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_SERIES = 2_000
"""How many series of requests are kept apart; a bound in case somebody passes paths instead of routes."""
OTHER = "other"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SWEEP_SECONDS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0)
_MEANINGS = {
    Figure.RECALLS: "Recalls answered, by how they were ranked.",
    Figure.RECALL_HITS: "Recalls that gave at least one memory.",
    Figure.RECALLED_MEMORIES: "Memories that recalls gave.",
    Figure.CONTEXT_PACKS: "Context packs compiled.",
    Figure.GOVERNED_TURNS: "Turns that went by the contract of a profile.",
}

_Count = Callable[[], None]
_Time = Callable[[float], None]


class Metrics:
    """What a service counts. Everything is counted in this process; several processes are added up by Prometheus."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "recollect_requests_total", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "recollect_request_seconds",
            "How long requests took, from the first byte to the last.",
            ("route",),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self._refusals = Counter(
            "recollect_refusals_total", "Requests that ended in an error, by its code.", ("code",), registry=registry
        )
        self._swept = Counter(
            "recollect_swept_total", "What sweeps did away with, by their step.", ("step",), registry=registry
        )
        self._sweep_seconds = Histogram(
            "recollect_sweep_seconds", "How long sweeps took.", buckets=_SWEEP_SECONDS, registry=registry
        )
        self._figures = {
            figure: Counter(f"recollect_{figure}_total", _MEANINGS[figure], tuple(LABELS[figure]), registry=registry)
            for figure in Figure
        }
        self._waiting = Gauge("recollect_proposals_waiting", "Proposals that wait for a person.", registry=registry)
        self._oldest = Gauge(
            "recollect_proposals_oldest_seconds", "How long the oldest of them has waited.", registry=registry
        )
        self._under_way = 0
        under_way = Gauge("recollect_requests_in_flight", "Requests under way.", registry=registry)
        under_way.set_function(lambda: self._under_way)
        ProcessCollector(registry=registry)
        for step in Pass:
            self._swept.labels(step.value)
        for figure, labels in LABELS.items():
            for values in product(*labels.values()) if labels else ():
                self._figures[figure].labels(*values)
        # Looking a series up by its labels costs more than counting does, so each one is looked up once.
        self._series: dict[tuple[str, str, int], tuple[_Count, _Time]] = {}
        self._codes: dict[str, _Count] = {}

    def follow_policy(self, counts: Callable[[], tuple[int, int]]) -> None:
        """Tell how many evaluations of policies there were, and how many were broken off."""
        evaluated = Gauge("recollect_policy_evaluations", "Decisions that were not kept.", registry=self._registry)
        evaluated.set_function(lambda: counts()[0])
        broken = Gauge("recollect_policy_restarts", "Evaluations that were broken off.", registry=self._registry)
        broken.set_function(lambda: counts()[1])

    def begin(self) -> None:
        """A request has come in; `observe` ends it."""
        self._under_way += 1

    def observe(self, route: str, method: str, status: int, seconds: float, code: str | None = None) -> None:
        """A request that began has ended: by the template of its path, and by its error's code if it had one."""
        self._under_way -= 1
        series = self._series.get((route, method, status)) or self._new_series(route, method, status)
        series[0]()
        series[1](seconds)
        if code is not None:
            count = self._codes.get(code)
            if count is None:
                count = self._codes[code] = self._refusals.labels(code).inc
            count()

    def swept(self, counts: Mapping[str, int], seconds: float) -> None:
        """A sweep has ended: how much each of its steps did, and how long all took."""
        for step, count in counts.items():
            self._swept.labels(step).inc(count)
        self._sweep_seconds.observe(seconds)

    def counted(self, figure: Figure, labels: tuple[str, ...], amount: int) -> None:
        """Something was counted by a use-case: so many more."""
        counter = self._figures[figure]
        (counter.labels(*labels) if labels else counter).inc(amount)

    def queued(self, waiting: int, oldest_seconds: float) -> None:
        """How many proposals wait for a person, and for how long the oldest has."""
        self._waiting.set(waiting)
        self._oldest.set(oldest_seconds)

    def render(self) -> bytes:
        """Everything in the text format of Prometheus; `CONTENT_TYPE` is its media type."""
        return generate_latest(self._registry)

    def _new_series(self, route: str, method: str, status: int) -> tuple[_Count, _Time]:
        # A client may invent methods, so an unknown one is not kept as it is.
        key = (route, method if method in _METHODS else OTHER, status)
        if len(self._series) >= MAX_SERIES:
            key = (OTHER, OTHER, status)
        series = self._series.get(key)
        if series is None:
            labels = (key[0], key[1], str(status))
            series = self._series[key] = (self._requests.labels(*labels).inc, self._seconds.labels(key[0]).observe)
        return series
