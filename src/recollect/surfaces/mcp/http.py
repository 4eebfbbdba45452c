"""MCP over HTTP, at `/mcp`: a guest of the service, which has let the caller in before anything of MCP happens.

Every request stands alone: it is served by a transport of its own, which ends with it. So any process behind a proxy
can answer it, a restart breaks no session, and strangers cannot fill the memory with sessions. What a session is needed
for, its budgets, is kept in the store under its name: the `Recollect-Session` of the request, else its
`Mcp-Session-Id`, which tells by itself to which credential it belongs, else the credential's day. Answers are JSON;
they are a stream only where progress was asked for, or the protocol makes closing it the way to cancel. There is
nothing to wait for with GET, and nothing to end with DELETE.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.domain.errors import NotFound
from recollect.domain.instants import datetime_of
from recollect.domain.notes import GROUP
from recollect.ports.clock import Clock
from recollect.surfaces.guests import Visit
from recollect.surfaces.mcp import sessions
from recollect.surfaces.mcp.agents import Agent
from recollect.surfaces.mcp.origins import check_origin

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

AGENT = "recollect.agent"
"""Where the scope of a request tells whose it is."""
_SESSION, _NAMED_SESSION, _GROUP, _VERSION = (
    b"mcp-session-id",
    b"recollect-session",
    b"recollect-group",
    b"mcp-protocol-version",
)
_INVALID, _CANCELLED = -32600, -32000
_SDK = "mcp"


@dataclass(frozen=True, slots=True)
class _Message:
    """What is to be known of a message before the SDK reads it."""

    method: str = ""
    id: str | int | None = None
    flawed: bool = False
    """Whether it has an id that is none: it would be taken for a message that wants no answer."""
    cancels: str | int | None = None
    wants_progress: bool = False


class McpDoor:
    """The guest at `/mcp`."""

    path = "/mcp"
    methods = ("POST",)

    def __init__(self, clock: Clock, chance: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._clock = clock
        self._chance = chance
        self._server: Server[Any] | None = None
        self._under_way: dict[tuple[str, str | int], asyncio.Task[None]] = {}

    async def visit(self, visit: Visit) -> None:
        """Answer one message."""
        check_origin(visit.header(b"host"), visit.header(b"origin"), visit.settings)
        session = visit.header(_SESSION)
        if session is not None and not sessions.belongs(session, visit.caller):
            raise NotFound("there is no such session: initialize a new one")
        message = _looked_into(visit.body)
        opens = message.method == "initialize"
        answering = _Answering(visit, sessions.opened(visit.caller, self._chance(16)) if opens else None)
        if message.flawed:
            await answering.refuse(400, None, _INVALID, "Invalid request: the id is neither text nor a number")
            return
        work = self._answered(visit, self._agent(visit, session), message, answering)
        if session is None:
            await work
            return
        if message.cancels is not None:
            self._cancel((session, message.cancels))
        if message.id is None:
            await work
        else:
            await self._cancellable((session, message.id), work, answering)

    def _agent(self, visit: Visit, session: str | None) -> Agent:
        return Agent(
            visit.memories,
            visit.header(_NAMED_SESSION) or session or sessions.of_day(visit.caller, self._day()),
            GROUP if (group := visit.header(_GROUP)) is None else group,
            visit.settings.request_seconds,
        )

    async def _answered(self, visit: Visit, agent: Agent, message: _Message, answering: _Answering) -> None:
        if self._server is None:
            self._server = await asyncio.to_thread(_loaded)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # loaded with the server, just now
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

        version = visit.header(_VERSION)
        modern = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        streams = (modern or message.wants_progress) and "text/event-stream" in (visit.header(b"accept") or "")
        manager = StreamableHTTPSessionManager(
            self._server, json_response=not streams, stateless=True, max_request_body_size=len(visit.body) + 1
        )
        kept = [(name, value) for name, value in visit.scope["headers"] if name != b"authorization"]
        scope = {**visit.scope, "headers": kept, AGENT: agent}
        async with manager.run():
            await manager.handle_request(scope, visit.receive, answering.send)

    async def _cancellable(self, name: tuple[str, str | int], work: Any, answering: _Answering) -> None:
        """Answer so that a later message of the session can cancel it."""
        task = asyncio.ensure_future(work)
        self._under_way[name] = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            if self._under_way.get(name) is task:
                del self._under_way[name]
        if task.cancelled():
            await answering.refuse(200, name[1], _CANCELLED, "Request cancelled")
        else:
            task.result()

    def _cancel(self, name: tuple[str, str | int]) -> None:
        task = self._under_way.get(name)
        if task is not None:
            task.cancel()

    def _day(self) -> str:
        return datetime_of(self._clock()).date().isoformat()


class _Answering:
    """Sends the answer, with the session that it opens."""

    def __init__(self, visit: Visit, opened: str | None) -> None:
        self._visit = visit
        self._opened = opened
        self._begun = False
        self._streams = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            headers = list(message["headers"])
            self._streams = any(value.startswith(b"text/event-stream") for name, value in headers)
            if self._opened is not None and message["status"] == 200:
                headers.append((_SESSION, self._opened.encode()))
            message = {**message, "headers": headers}
        await self._visit.send(message)

    async def refuse(self, status: int, request: str | int | None, code: int, said: str) -> None:
        """Answer with an error of the protocol, as the end of a stream where one had begun."""
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": said}})
        if not self._begun:
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await self._visit.send({"type": "http.response.start", "status": status, "headers": headers})
        elif self._streams:
            body = b"event: message\r\ndata: " + body + b"\r\n\r\n"
        await self._visit.send({"type": "http.response.body", "body": body})


def _loaded() -> Server[Any]:
    """The server; the SDK is loaded with the first request, because that takes longer than all the rest."""
    from recollect.surfaces.mcp.server import make_server

    # It tells the beginning and the end of every transport, and those are as many as requests.
    logging.getLogger(_SDK).setLevel(logging.WARNING)
    return make_server(_agent_of)


def _agent_of(request: Any) -> Agent:
    agent: Agent = request.scope[AGENT]
    return agent


def _looked_into(body: bytes) -> _Message:
    """What can be known; of what is no message, nothing."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return _Message()
    if not isinstance(found, Mapping):
        return _Message()
    method, name = found.get("method"), found.get("id")
    params = found.get("params")
    told: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
    meta = told.get("_meta")
    cancels = told.get("requestId") if method == "notifications/cancelled" else None
    return _Message(
        method if isinstance(method, str) else "",
        name if isinstance(name, str | int) else None,
        "id" in found and (not isinstance(name, str | int) or isinstance(name, bool)),
        cancels if isinstance(cancels, str | int) else None,
        isinstance(meta, Mapping) and "progressToken" in meta,
    )
