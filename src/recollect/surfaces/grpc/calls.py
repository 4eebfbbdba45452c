"""The chain of the gRPC door: one for every call, in which nothing is read before the caller is known and allowed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any, NoReturn
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from recollect.domain.callers import Action, Caller
from recollect.domain.errors import (
    DeadlineExceeded,
    Internal,
    InvalidRequest,
    RecollectError,
    RequestTimeout,
    RequestTooLarge,
)
from recollect.service.memories import Memories
from recollect.surfaces.deadlines import Deadline
from recollect.surfaces.logs import event, level_of, request_id_of
from recollect.surfaces.service import Service
from recollect.wire.errors import envelope, status_of
from recollect.wire.grpc_status import grpc_status_of

log = logging.getLogger("recollect.grpc")
MAX_ENVELOPE = 4_096
"""How many bytes of an error fit into the metadata; of a longer one, the details are left out."""
CANCELLED = 499
"""The status under which a call is counted whose client did not wait for the end."""
_LONG_MESSAGE = 1_000


@dataclass(slots=True)
class Call:
    """A call under way."""

    service: Service
    headers: dict[bytes, bytes]
    request_id: str
    caller: Caller | None = None
    memories: Memories | None = None
    deadline: Deadline | None = None
    held: int = 0
    trailing: list[tuple[str, str | bytes]] = field(default_factory=list)

    @property
    def use(self) -> Memories:
        """The caller's memories."""
        if self.memories is None:
            raise AssertionError("the chain gives every authenticated call its memories")
        return self.memories

    @property
    def idempotency_key(self) -> str | None:
        """The caller's name for this call, so that it can be repeated safely."""
        return self.header("idempotency-key")

    def header(self, name: str) -> str | None:
        """A value of the metadata as text."""
        value = self.headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    def may_wait(self, seconds: float) -> None:
        """Give so much more time to a call that asks to be held back."""
        if self.deadline is not None:
            self.deadline.at += seconds

    def reading(self, request: Any) -> Memories:
        """The memories to read from: the caller's own view, or that of an administrator who says why."""
        as_user_id = request.as_user_id if request.HasField("as_user_id") else None
        if as_user_id is None and not request.HasField("justification"):
            return self.use
        if self.caller is not None:
            self.service.guard.permit(self.caller, Action.JUSTIFY)
        if not request.HasField("justification"):
            raise InvalidRequest("say why: this needs a justification")
        return self.use.justified(request.justification, as_user_id=as_user_id)

    async def again(self) -> None:
        """Recognise the caller anew, for answers that last longer than a key may."""
        await self.service.identity.caller_of(self.header("authorization"))


@dataclass(frozen=True, slots=True)
class Rpc:
    """A call by its name, who may make it, and how it is answered."""

    name: str
    request: Callable[[], Any]
    handler: Callable[[Call, Any], Awaitable[Message]]
    action: Action
    seconds: float | None = None
    """A deadline of its own, in place of the setting."""


class Door:
    """Everything behind one call.

    It is served as a stream of requests, which is the same on the wire, so that a message is read only once its sender
    is known.
    """

    def __init__(self, service: Service, path: str, rpc: Rpc) -> None:
        self._service = service
        self._path = path
        self._rpc = rpc

    async def serve(self, _requests: object, context: grpc.aio.ServicerContext) -> bytes:
        """Answer one call, or end it with an error; count it, and leave a line in the log."""
        began = perf_counter()
        service, headers = self._service, headers_of(context.invocation_metadata())
        call = Call(service, headers, request_id_of(headers.get(b"x-request-id", b"")))
        call.trailing.append(("x-request-id", call.request_id))
        service.under_way += 1
        service.metrics.begin()
        status, code, problem = CANCELLED, None, None
        with service.telemetry.span("POST", self._path, headers, call.request_id) as span:
            try:
                answer, problem = await self._outcome(call, context)
                status = 200 if problem is None else status_of(type(problem))
                code = None if problem is None else problem.code
            finally:
                service.under_way -= 1
                service.held -= call.held
                seconds = perf_counter() - began
                span.finish(status)
                service.metrics.observe(self._path, "POST", status, seconds, code)
                self._log(call, status, code, seconds)
        if problem is not None:
            await refuse(context, problem, call.trailing)
        context.set_trailing_metadata(tuple(call.trailing))
        return answer

    async def _outcome(self, call: Call, context: grpc.aio.ServicerContext) -> tuple[bytes, RecollectError | None]:
        """The answer, or why there is none."""
        try:
            return (await self._answer(call, context)).SerializeToString(), None
        except RecollectError as problem:
            return b"", problem
        except Exception:
            log.exception("grpc.fault", extra={"fields": {"request_id": call.request_id, "rpc": self._rpc.name}})
            return b"", Internal(f"something went wrong; request {call.request_id}")

    async def _answer(self, call: Call, context: grpc.aio.ServicerContext) -> Message:
        """Authenticate, permit, read, and only then handle."""
        service, rpc = self._service, self._rpc
        call.caller = caller = await service.admit(call.header("authorization"), address_of(context.peer()))
        service.guard.permit(caller, rpc.action)
        request = parsed(rpc.request(), await self._read(call, context))
        call.memories = service.memories.for_caller(caller)
        try:
            call.deadline = service.deadlines.within(rpc.seconds or service.settings.request_seconds)
            with call.deadline:
                return await rpc.handler(call, request)
        except TimeoutError:
            raise DeadlineExceeded("it took longer than the service allows") from None

    async def _read(self, call: Call, context: grpc.aio.ServicerContext) -> bytes:
        settings = self._service.settings
        try:
            with self._service.deadlines.within(settings.body_seconds):
                sent = await context.read()
        except TimeoutError:
            raise RequestTimeout(f"the message did not arrive within {settings.body_seconds:g} seconds") from None
        if not isinstance(sent, bytes):
            raise InvalidRequest("the call has no message, or one that is larger than is read")
        if len(sent) > settings.max_body_bytes:
            raise RequestTooLarge(f"the message has {len(sent):,} bytes; at most {settings.max_body_bytes:,} are read")
        call.held = len(sent)
        self._service.hold(len(sent))
        return sent

    def _log(self, call: Call, status: int, code: str | None, seconds: float) -> None:
        level = level_of(status, seconds)
        if not log.isEnabledFor(level):
            return
        fields: dict[str, object] = {
            "rpc": self._rpc.name,
            "status": status,
            "ms": round(seconds * 1000, 2),
            "request_id": call.request_id,
        }
        if call.caller is not None:
            fields |= {"tenant": call.caller.tenant, "credential": call.caller.credential}
        if code is not None:
            fields["code"] = code
        event(log, level, "grpc.request", **fields)


async def refuse(
    context: grpc.aio.ServicerContext, problem: RecollectError, trailing: Sequence[tuple[str, str | bytes]] = ()
) -> NoReturn:
    """End a call with an error: its status, its message, and all that there is to say about it."""
    told = envelope(problem)
    if len(told) > MAX_ENVELOPE:
        told = envelope(type(problem)(problem.message[:_LONG_MESSAGE]))
    metadata = [*trailing, ("recollect-code", problem.code), ("recollect-error-bin", told)]
    wait = problem.details.get("retry_after")
    if isinstance(wait, int | float):
        metadata.append(("retry-after", str(max(1, -int(-wait // 1)))))
    status = grpc.StatusCode[grpc_status_of(type(problem))]
    await context.abort(status, problem.message[:_LONG_MESSAGE], tuple(metadata))
    raise AssertionError("an aborted call has ended")


def parsed(message: Any, sent: bytes) -> Any:
    """The message as its contract has it; what that does not list is refused."""
    try:
        message.ParseFromString(sent)
    except DecodeError:
        raise InvalidRequest(f"what was sent is not a {message.DESCRIPTOR.name}") from None
    unknown = [found.field_number for each in (message, *_parts(message)) for found in UnknownFieldSet(each)]
    if unknown:
        raise InvalidRequest(
            f"{message.DESCRIPTOR.name} has no field {unknown[0]} of that type; see contracts/memory/v1"
        )
    return message


def _parts(message: Any) -> list[Any]:
    """The messages of our own within a message."""
    return [part for name in _names_of_parts(message.DESCRIPTOR) for part in getattr(message, name)]


@cache
def _names_of_parts(descriptor: Any) -> tuple[str, ...]:
    return tuple(each.name for each in descriptor.fields if each.message_type is not None and each.is_repeated)


def headers_of(metadata: Iterable[tuple[str, str | bytes]]) -> dict[bytes, bytes]:
    """The metadata by name; of what is repeated, the first counts, so that no second one can be smuggled in."""
    found: dict[bytes, bytes] = {}
    for name, value in metadata or ():
        found.setdefault(name.encode(), value if isinstance(value, bytes) else value.encode("latin-1", "replace"))
    return found


def address_of(peer: str) -> str:
    """The address of who calls, without its port."""
    kind, _, place = unquote(peer).partition(":")
    return place.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else peer
