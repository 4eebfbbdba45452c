"""Traces: a span for each request that says little, continues the client's trace, and costs nothing when unwanted."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from types import ModuleType

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from recollect.surfaces import telemetry as module
from recollect.surfaces.telemetry import Telemetry

TRACE, PARENT = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
CARRIED = {b"host": b"x", b"traceparent": b"00-%032x-%016x-01" % (TRACE, PARENT), b"tracestate": b"vendor=1"}


class Recorder:
    """Telemetry whose spans can be looked at."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.telemetry = Telemetry(provider)

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def only(self) -> ReadableSpan:
        (span,) = self.spans()
        return span


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_a_span_says_method_route_status_and_request_id_and_nothing_else(recorder: Recorder) -> None:
    with recorder.telemetry.span("GET", "/v1/memories/{id}", {b"authorization": b"Bearer rk_x"}, "r1") as span:
        span.finish(200)
    found = recorder.only()
    assert (found.name, found.kind, found.status.status_code) == (
        "GET /v1/memories/{id}",
        SpanKind.SERVER,
        StatusCode.UNSET,
    )
    assert dict(found.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": "/v1/memories/{id}",
        "http.response.status_code": 200,
        "recollect.request_id": "r1",
    }
    assert found.parent is None


def test_a_span_is_the_current_one_only_while_its_request_is_under_way(recorder: Recorder) -> None:
    with recorder.telemetry.span("GET", "/v1/memories", {}, "r1"):
        assert trace.get_current_span().is_recording()
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_the_clients_trace_is_continued(recorder: Recorder) -> None:
    with recorder.telemetry.span("GET", "/v1/memories", CARRIED, "r1") as span:
        span.finish(200)
    found = recorder.only()
    assert found.parent is not None
    assert (found.parent.trace_id, found.parent.span_id, found.parent.is_remote) == (TRACE, PARENT, True)
    assert found.context is not None
    assert found.context.trace_id == TRACE
    assert found.context.trace_state.get("vendor") == "1"


def test_a_trace_that_the_client_does_not_want_recorded_is_not(recorder: Recorder) -> None:
    unsampled = CARRIED | {b"traceparent": b"00-%032x-%016x-00" % (TRACE, PARENT)}
    with recorder.telemetry.span("GET", "/v1/memories", unsampled, "r1") as span:
        span.finish(200)
    assert recorder.spans() == ()


@pytest.mark.parametrize("sent", [b"", b"nonsense", b"00-0-0-01", b"\xff\xfe", b"00-" + b"0" * 32 + b"-" + b"0" * 16])
def test_a_traceparent_that_makes_no_sense_begins_a_new_trace(recorder: Recorder, sent: bytes) -> None:
    with recorder.telemetry.span("GET", "/v1/memories", {b"traceparent": sent, b"tracestate": sent}, "r1") as span:
        span.finish(200)
    assert recorder.only().parent is None


@pytest.mark.parametrize(
    ("status", "said"), [(404, StatusCode.UNSET), (429, StatusCode.UNSET), (500, StatusCode.ERROR)]
)
def test_only_what_the_service_got_wrong_is_an_error(recorder: Recorder, status: int, said: StatusCode) -> None:
    with recorder.telemetry.span("GET", "/v1/memories", {}, "r1") as span:
        span.finish(status)
    assert recorder.only().status.status_code is said


def test_of_an_exception_only_the_type_is_told(recorder: Recorder) -> None:
    with pytest.raises(KeyError), recorder.telemetry.span("GET", "/v1/memories", {}, "r1"):
        raise KeyError("what was sent")
    found = recorder.only()
    assert (found.attributes or {})["error.type"] == "KeyError"
    assert found.status.status_code is StatusCode.ERROR
    assert "what was sent" not in str(found.to_json())
    assert found.events == ()


def test_a_method_that_a_client_invents_is_not_told(recorder: Recorder) -> None:
    with recorder.telemetry.span("INVENTED", "unknown", {}, "r1") as span:
        span.finish(405)
    found = recorder.only()
    assert (found.name, (found.attributes or {})["http.request.method"]) == ("HTTP unknown", "_OTHER")


async def test_requests_at_the_same_time_keep_their_own_spans(recorder: Recorder) -> None:
    async def request(number: int) -> bool:
        with recorder.telemetry.span("GET", f"/{number}", {}, str(number)) as span:
            mine = trace.get_current_span()
            await asyncio.sleep(0.001 * (number % 3))
            span.finish(200)
            return trace.get_current_span() is mine

    assert all(await asyncio.gather(*(request(number) for number in range(30))))
    assert not trace.get_current_span().is_recording()
    assert {span.name for span in recorder.spans()} == {f"GET /{number}" for number in range(30)}
    assert all(span.parent is None for span in recorder.spans())


def test_with_the_api_but_nobody_to_export_to_nothing_is_recorded() -> None:
    with Telemetry().span("GET", "/v1/memories", CARRIED, "r1") as span:
        assert not trace.get_current_span().is_recording()
        span.finish(200)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as it is when OpenTelemetry is not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    spec = importlib.util.spec_from_file_location("telemetry_without", str(module.__file__))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_without_opentelemetry_nothing_happens_and_nothing_is_made(without: ModuleType) -> None:
    assert (module.AVAILABLE, without.AVAILABLE) == (True, False)
    telemetry = without.Telemetry()
    one, other = (telemetry.span("GET", "/v1/memories", CARRIED, "r1") for _ in range(2))
    assert one is other
    with one as span:
        span.finish(500)
    with pytest.raises(KeyError), one:
        raise KeyError("goes on")
