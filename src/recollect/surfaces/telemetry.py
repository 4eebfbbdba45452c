"""Traces for OpenTelemetry: a span for each request when its API is installed, and nothing at all when it is not.

A span says the method, the template of the path, the status and the request's id. It names no tenant, user, key or
credential, and the messages of exceptions are not recorded: both could carry what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

try:
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    AVAILABLE = False
else:
    AVAILABLE = True

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_CARRIED = ("traceparent", "tracestate")


class Span(Protocol):
    """A request under way."""

    def finish(self, status: int) -> None:
        """The request was answered with that status."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...


class Telemetry:
    """Makes the spans: for the given provider, or for the one that the process has set up."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        used = AVAILABLE and (provider is not None or not _is_unset(trace.get_tracer_provider()))
        self._tracer = trace.get_tracer("recollect", tracer_provider=provider) if used else None
        self._propagator = TraceContextTextMapPropagator() if AVAILABLE else None

    def span(self, method: str, route: str, headers: Mapping[bytes, bytes], request_id: str) -> Span:
        """A span to be entered with `with`; it continues the trace that the client's `traceparent` names."""
        if self._tracer is None or self._propagator is None:
            return _NOTHING
        parent = None
        if b"traceparent" in headers:
            carrier = {name: headers.get(name.encode(), b"").decode("latin-1") for name in _CARRIED}
            parent = self._propagator.extract(carrier, context=context.Context())
        known = method if method in _METHODS else "_OTHER"
        begun = self._tracer.start_span(
            f"{known if known == method else 'HTTP'} {route}",
            context=parent if parent is not None else context.Context(),
            kind=trace.SpanKind.SERVER,
            attributes={"http.request.method": known, "http.route": route, "recollect.request_id": request_id},
        )
        return _Recorded(begun)


def _is_unset(provider: TracerProvider) -> bool:
    """True when nobody has set up where spans go; then none are made, for they cost more than much of a request."""
    return isinstance(provider, trace.ProxyTracerProvider)


class _Nothing:
    """What there is to do without OpenTelemetry."""

    __slots__ = ()

    def finish(self, status: int) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        pass


_NOTHING = _Nothing()


class _Recorded:
    """A span of OpenTelemetry, the current one while it is entered."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def finish(self, status: int) -> None:
        """Set the status; only what the service itself got wrong is an error."""
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(trace.StatusCode.ERROR)

    def __enter__(self) -> Self:
        self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        context.detach(self._token)
        if kind is not None:
            self._span.set_attribute("error.type", kind.__qualname__)
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end()
