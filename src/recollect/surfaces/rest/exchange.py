"""One exchange over HTTP: a request as it is read, and an answer as it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from unicodedata import category
from urllib.parse import quote, unquote
from uuid import UUID

from recollect.domain.callers import Action, Caller
from recollect.domain.errors import (
    InvalidRequest,
    NotFound,
    RequestTimeout,
    RequestTooLarge,
    UnsupportedMediaType,
)
from recollect.service.memories import Memories
from recollect.service.reading import MAX_WAIT_SECONDS
from recollect.surfaces.deadlines import Deadline
from recollect.surfaces.guests import Receive, Send
from recollect.surfaces.service import Service
from recollect.wire.answers import encode
from recollect.wire.requests import Parameters, parse_body

Scope = Mapping[str, Any]
Application = Callable[[Any, Receive, Send], Awaitable[None]]
Shape = TypeVar("Shape")
JSON = b"application/json"
_DIGITS = 18
REPLAYED = ((b"idempotency-replayed", b"true"),)
"""Says that a request was repeated, and nothing was done again."""
ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Pieces(Protocol):
    """A body that comes piece by piece, and is closed when it was sent or never will be."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, in order."""

    async def aclose(self) -> None:
        """Let go of what it was read from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back: a body at once, or piece by piece."""

    status: int = 200
    body: bytes = b""
    media: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    pieces: Pieces | None = None
    sent: bool = False
    """Whether the handler sent it itself, and only its status is to be known."""


def answer(content: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Answer:
    """An answer in JSON."""
    return Answer(status, encode(content), JSON, headers)


def as_segments(scope: Scope) -> Scope:
    """The same request with a slash that was sent as `%2F` left so: it belongs to its segment, and divides none.

    Servers decode paths as a whole, and ids of records have slashes.
    """
    raw: bytes = scope.get("raw_path") or quote(scope.get("path", "")).encode()
    if b"%" not in raw:
        return scope
    parts = [unquote(part).replace("%", "%25").replace("/", "%2F") for part in raw.decode("latin-1").split("/")]
    return {**scope, "path": "/".join(parts)}


@dataclass(slots=True)
class Exchange:
    """A request under way."""

    scope: Scope
    receive: Receive
    request_id: str
    service: Service
    headers: dict[bytes, bytes] = field(default_factory=dict)
    caller: Caller | None = None
    memories: Memories | None = None
    body: bytes = b""
    held: int = 0
    """How much of the body was received so far."""
    again: Callable[[], Awaitable[object]] | None = None
    """Recognises the caller anew, for answers that last longer than a key may."""
    deadline: Deadline | None = None
    """Until when it is to be answered."""
    send: Send | None = None
    """For a handler that sends its answer itself."""

    @property
    def closing(self) -> asyncio.Event:
        """Set once the service is about to stop."""
        return self.service.closing

    @property
    def use(self) -> Memories:
        """The caller's memories."""
        if self.memories is None:
            raise AssertionError("the chain gives every authenticated request its memories")
        return self.memories

    @property
    def query(self) -> Parameters:
        """The parameters of the URL."""
        return Parameters(self.scope["query_string"])

    @property
    def part(self) -> str:
        """The variable part of the path, with any slashes that were sent as `%2F`."""
        return unquote(str(next(iter(self.scope["path_params"].values()))))

    @property
    def part_as_id(self) -> UUID:
        """The variable part of the path as the id of a memory; what is no id names none."""
        try:
            return UUID(self.part)
        except ValueError:
            raise NotFound("memory not found") from None

    def part_as_number(self, otherwise: str) -> int:
        """The variable part of the path as a whole number; what is none names nothing."""
        part = self.part
        if not part.isascii() or not part.isdigit() or len(part) > _DIGITS:
            raise NotFound(otherwise)
        return int(part)

    @property
    def justification(self) -> str:
        """Why an administrator asks for what may not be theirs.

        Text beyond ASCII may come in UTF-8, as most clients send it, or in Latin-1, as some do: hardly anything that
        is meant in the latter can be read as the former.
        """
        given = self.headers.get(b"x-justification")
        if given is None:
            raise InvalidRequest("say why: this needs the header X-Justification")
        try:
            text = given.decode()
        except UnicodeDecodeError:
            text = given.decode("latin-1")
        if any(category(each) == "Cc" for each in text):
            raise InvalidRequest("X-Justification has control characters; say why on one line of plain text")
        return text

    def reading(self, as_user_id: str | None = None) -> Memories:
        """The memories to read from: the caller's own view, or that of an administrator who says why.

        Everybody else is refused as such, however little is wrong with the rest of what they send.
        """
        if as_user_id is None and b"x-justification" not in self.headers:
            return self.use
        if self.caller is not None:
            self.service.guard.permit(self.caller, Action.JUSTIFY)
        return self.use.justified(self.justification, as_user_id=as_user_id)

    @property
    def idempotency_key(self) -> str | None:
        """The caller's name for this request, so that it can be repeated safely."""
        return self.header(b"idempotency-key")

    def header(self, name: bytes) -> str | None:
        """A header's value as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def may_wait(self, seconds: float) -> None:
        """Give so much more time to a request that asks to be held back; at most what any may ask for."""
        if self.deadline is not None:
            self.deadline.at += min(max(seconds, 0.0), MAX_WAIT_SECONDS)

    def parsed(self, shape: type[Shape]) -> Shape:
        """The body as this shape."""
        return parse_body(self.body, shape)

    def no_parameters(self) -> None:
        """Refuse parameters where none are known."""
        if self.scope["query_string"]:
            Parameters(self.scope["query_string"]).done()

    async def read_body(self, most: int, seconds: float, *, expected: bool) -> None:
        """Read the body, refusing what is too large, too slow or not JSON."""
        headers = self.headers
        announced = headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > most:
            raise RequestTooLarge(f"the body has {int(announced):,} bytes; at most {most:,} are read")
        if not expected and (not announced or announced == b"0") and b"transfer-encoding" not in headers:
            return
        try:
            self.body = await self._received(most, seconds)
        except TimeoutError:
            raise RequestTimeout(f"the body did not arrive within {seconds:g} seconds") from None
        if not expected:
            if self.body:
                raise InvalidRequest("this request takes no body")
            return
        codings = headers.get(b"content-encoding", b"identity"), headers.get(b"transfer-encoding", b"chunked").lower()
        if codings != (b"identity", b"chunked"):
            raise UnsupportedMediaType("the body is encoded; send it as it is")
        media = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if self.body and media != JSON:
            raise UnsupportedMediaType("the body must be JSON; send the header `Content-Type: application/json`")

    async def _received(self, most: int, seconds: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        with self.service.deadlines.within(seconds):
            while True:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise InvalidRequest("the client went away before its request was complete")
                piece = message.get("body", b"")
                size += len(piece)
                self.held += len(piece)
                self.service.hold(len(piece))
                if size > most:
                    raise RequestTooLarge(f"the body has more than the {most:,} bytes that are read")
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def gone(self) -> None:
        """Return once the client has hung up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def send_answer(send: Send, reply: Answer, request_id: str) -> None:
    """Send an answer, whole."""
    if reply.sent:
        return
    headers = [(b"content-type", reply.media), (b"x-request-id", request_id.encode()), *ALWAYS, *reply.headers]
    if reply.pieces is not None:
        async with aclosing(reply.pieces) as pieces:
            await send({"type": "http.response.start", "status": reply.status, "headers": headers})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        return
    if reply.status == 204:
        headers = headers[1:]
    else:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
