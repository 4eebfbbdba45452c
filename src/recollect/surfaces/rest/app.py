"""The REST door: one chain for every request, in which nothing happens before the caller is known and allowed."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter

from starlette.routing import Route as Path_
from starlette.routing import Router

from recollect.domain.callers import Caller
from recollect.domain.errors import (
    DeadlineExceeded,
    Internal,
    MethodNotAllowed,
    NotFound,
    OutcomeUnknown,
    RecollectError,
    ShuttingDown,
    StoreTrouble,
    StoreUnavailable,
    Unauthenticated,
)
from recollect.surfaces.guests import Guest, Receive, Send
from recollect.surfaces.logs import event, level_of, request_id_of
from recollect.surfaces.rest.exchange import Answer, Application, Exchange, Scope, as_segments, send_answer
from recollect.surfaces.rest.hosting import guest_routes
from recollect.surfaces.rest.routes import ROUTES, Route
from recollect.surfaces.service import Service
from recollect.wire.errors import envelope, status_of

log = logging.getLogger("recollect.http")
_UNKNOWN = "unknown"


def make_app(service: Service, guests: Sequence[Guest] = ()) -> Application:
    """The application, to be served by any ASGI server, with other protocols behind the same chain."""
    paths: dict[str, dict[str, Route]] = defaultdict(dict)
    for route in (*ROUTES, *(route for guest in guests for route in guest_routes(guest))):
        paths[route.path][route.method] = route
    doors = {path: _Door(service, path, methods) for path, methods in paths.items()}
    router = Router(
        [Path_(path, door, methods=None) for path, door in doors.items()],
        redirect_slashes=False,
        default=_Door(service, _UNKNOWN, {}),
    )

    known = {path: door for path, door in doors.items() if "{" not in path}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Most paths are known word for word; the router is for those with a variable part, and for the rest."""
        door = known.get(scope["path"]) if scope["type"] == "http" else None
        if door is None:
            await router(as_segments(scope), receive, send)  # type: ignore[arg-type] # ASGI's own types
        else:
            await door(scope, receive, send)

    return app


class _Door:
    """Everything behind one path."""

    def __init__(self, service: Service, path: str, methods: dict[str, Route]) -> None:
        self._service = service
        self._path = path
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        began = perf_counter()
        service = self._service
        headers = _headers(scope)
        request_id = request_id_of(headers.get(b"x-request-id", b""))
        ask = Exchange(scope, receive, request_id, service, headers)
        service.under_way += 1
        service.metrics.begin()
        ask.send = sent = _Watched(send)
        code: str | None = None
        status = 500
        with service.telemetry.span(scope["method"], self._path, headers, request_id) as span:
            try:
                reply = await self._answer(ask)
                status = reply.status
                await send_answer(sent, reply, request_id)
            except RecollectError as problem:
                code, reply = problem.code, _refusal(problem, self._methods)
                status = reply.status
                if isinstance(problem, StoreUnavailable):  # others may say what was to be written
                    event(log, logging.WARNING, "store.unavailable", request_id=request_id, reason=problem.message)
                await _tell(sent, reply, request_id)
            except asyncio.CancelledError:
                # Only the server cancels: it stops, and its time for answers under way is up.
                code, reply = _broken_off(ask)
                status = reply.status
                await _tell(sent, reply, request_id)
            except Exception:
                log.exception("http.fault", extra={"fields": {"request_id": request_id, "route": self._path}})
                code, reply = Internal.code, _refusal(Internal(f"something went wrong; request {request_id}"), {})
                status = reply.status
                await _tell(sent, reply, request_id)
            finally:
                service.under_way -= 1
                service.held -= ask.held
                seconds = perf_counter() - began
                span.finish(status)
                service.metrics.observe(self._path, scope["method"], status, seconds, code)
                level = level_of(status, seconds)
                if log.isEnabledFor(level):
                    _log(level, ask, self._path, status, seconds, code)

    async def _answer(self, ask: Exchange) -> Answer:
        """Authenticate, permit, read, and only then handle."""
        route = self._methods.get(ask.scope["method"])
        if route is not None and route.anonymous:
            return await route.handler(ask)
        service, settings = self._service, self._service.settings
        ask.caller = caller = await self._caller(ask, basic=route is not None and route.basic)
        if route is None:
            if not self._methods:
                raise NotFound("there is nothing at this path")
            raise MethodNotAllowed(f"{ask.scope['method'][:16]} is not offered here", allow=", ".join(self._methods))
        if route.action is not None:
            service.guard.permit(caller, route.action)
        if route.body or b"content-length" in ask.headers or b"transfer-encoding" in ask.headers:
            await ask.read_body(settings.max_body_bytes, settings.body_seconds, expected=route.body)
        ask.memories = service.memories.for_caller(caller)
        try:
            ask.deadline = service.deadlines.within(route.seconds or settings.request_seconds)
            with ask.deadline:
                return await route.handler(ask)
        except TimeoutError:
            raise DeadlineExceeded("it took longer than the service allows") from None

    async def _caller(self, ask: Exchange, *, basic: bool) -> Caller:
        service, header = self._service, ask.header(b"authorization")
        address = ask.scope.get("client") or ("", 0)
        try:
            caller = await service.admit(header, str(address[0]), basic=basic)
        except Unauthenticated as problem:
            if basic:
                problem.details["challenge"] = 'Basic realm="Recollect: an API key as password", charset="UTF-8"'
            raise
        ask.again = lambda: service.identity.caller_of(header, basic=basic)
        return caller


class _Watched:
    """Sends, and remembers whether an answer has begun."""

    __slots__ = ("begun", "send")

    def __init__(self, send: Send) -> None:
        self.send = send
        self.begun = False

    async def __call__(self, message: object) -> None:
        self.begun = True
        await self.send(message)


async def _tell(sent: _Watched, reply: Answer, request_id: str) -> None:
    """Send a refusal, unless an answer had begun: then only breaking it off is honest."""
    if sent.begun:
        raise RuntimeError("an answer broke off")
    await send_answer(sent, reply, request_id)


def _broken_off(ask: Exchange) -> tuple[str, Answer]:
    """The answer to a request that the end of the service overtook; a write may or may not have been done."""
    problem: RecollectError = ShuttingDown("the service stopped before this was done")
    if ask.memories is not None and ask.scope["method"] != "GET":
        problem = OutcomeUnknown("the service stopped while this was under way; it may have been done")
    return problem.code, _refusal(problem, {})


def _refusal(problem: RecollectError, methods: dict[str, Route]) -> Answer:
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(problem, Unauthenticated):
        challenge = str(problem.details.pop("challenge", "Bearer"))
        headers.append((b"www-authenticate", challenge.encode()))
    if isinstance(problem, MethodNotAllowed):
        headers.append((b"allow", ", ".join(methods).encode()))
    wait = problem.details.get("retry_after", 1 if isinstance(problem, StoreTrouble) and problem.retriable else None)
    if isinstance(wait, int | float):
        headers.append((b"retry-after", str(max(1, -int(-wait // 1))).encode()))
    return Answer(status_of(type(problem)), envelope(problem), headers=tuple(headers))


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers by name; of one that is repeated, the first counts, so that no second one can be smuggled in."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        found.setdefault(name, value)
    return found


def _log(level: int, ask: Exchange, path: str, status: int, seconds: float, code: str | None) -> None:
    caller = ask.caller
    fields: dict[str, object] = {
        "method": ask.scope["method"][:16],
        "route": path,
        "status": status,
        "ms": round(seconds * 1000, 2),
        "request_id": ask.request_id,
    }
    if caller is not None:
        fields |= {"tenant": caller.tenant, "credential": caller.credential}
    if code is not None:
        fields["code"] = code
    event(log, level, "http.request", **fields)
