"""The gRPC door: its calls, health and reflection behind one more port of the service, for as long as that runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from recollect.config import Settings
from recollect.domain.errors import RecollectError, ShuttingDown, Unauthenticated
from recollect.surfaces.grpc.calls import Door, address_of, headers_of, refuse
from recollect.surfaces.grpc.memories import RPCS
from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.surfaces.service import Service

NAME = pb.DESCRIPTOR.services_by_name["MemoriesService"].full_name
_CHECK = f"/{health.SERVICE_NAME}/Check"
_MAX_METADATA = 64 << 10
_PROBE_SECONDS = 60
"""How often a silent connection is asked whether it is still there."""


class GrpcDoor:
    """A running gRPC server, which ends with its service."""

    def __init__(self, service: Service) -> None:
        self.port = 0
        self._service = service
        self._health = _Health(service)
        self._server = _server(service, self._health)
        self._following: asyncio.Task[None] | None = None

    @staticmethod
    async def opened(service: Service, ports: Iterable[int]) -> GrpcDoor | None:
        """The door on the first of these ports that is free; None when there is none."""
        door = GrpcDoor(service)
        credentials = await asyncio.to_thread(_credentials, service.settings)
        for port in ports:
            if door._listen(port, credentials):
                await door._server.start()
                door._following = asyncio.create_task(door._end_with_service())
                return door
        return None

    def _listen(self, port: int, credentials: grpc.ServerCredentials | None) -> bool:
        host = self._service.settings.host
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(place)
            else:
                self.port = self._server.add_secure_port(place, credentials)
        except RuntimeError:
            return False
        return True

    async def stop(self, seconds: float) -> None:
        """Take no more calls, let those under way finish for so long, then return."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(seconds)
        if self._following is not None:
            self._following.cancel()

    async def _end_with_service(self) -> None:
        """Stop together with the rest of the service, and not after it."""
        await self._service.closing.wait()
        await self.stop(self._service.settings.shutdown_seconds)


def _server(service: Service, state: _Health) -> grpc.aio.Server:
    settings = service.settings
    server = grpc.aio.server(
        interceptors=(_Others(service),),
        maximum_concurrent_rpcs=settings.max_connections * 2,
        options=(
            ("grpc.max_receive_message_length", settings.max_body_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", _MAX_METADATA),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_time_ms", _PROBE_SECONDS * 1_000),
        ),
    )
    handlers = {
        rpc.name: grpc.stream_unary_rpc_method_handler(Door(service, f"/{NAME}/{rpc.name}", rpc).serve) for rpc in RPCS
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(NAME, handlers),))
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    reflection.enable_server_reflection((NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    return server


def _credentials(settings: Settings) -> grpc.ServerCredentials | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    pair = Path(settings.tls_key).read_bytes(), Path(settings.tls_certificate).read_bytes()
    return grpc.ssl_server_credentials((pair,))


class _Health(health.aio.HealthServicer):  # type: ignore[misc] # it has no types
    """What `grpc.health.v1` is told: serving while the service is ready, which `/readyz` says too."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service
        self._server_status[NAME] = health_pb2.HealthCheckResponse.SERVING

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name in the protocol
        """Whether calls are answered now."""
        told = await super().Check(request, context)
        if told is not None and not await self._service.ready():
            return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.NOT_SERVING)
        return told


class _Others(grpc.aio.ServerInterceptor):  # type: ignore[misc] # it has no types
    """Keeps reflection and watching the health for known callers, and ends these streams with the service.

    Our own calls see to that themselves, and a plain check is open to everybody, like `/readyz`.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        """The handler of a call, or one that refuses it."""
        handler = await continuation(details)
        if handler is None or details.method == _CHECK or details.method.startswith(f"/{NAME}/"):
            return handler
        try:
            await self._service.identity.caller_of(_authorization(details.invocation_metadata))
        except RecollectError:
            return grpc.stream_unary_rpc_method_handler(self._refuse)
        kind = "stream_stream" if handler.request_streaming else "unary_stream"
        return handler._replace(**{kind: self._ending(getattr(handler, kind))})

    def _ending(self, behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Awaitable[None]]:
        async def run(requests: Any, context: grpc.aio.ServicerContext) -> None:
            telling = asyncio.ensure_future(_told(behaviour(requests, context), context))
            closing = asyncio.ensure_future(self._service.closing.wait())
            try:
                await asyncio.wait((telling, closing), return_when=asyncio.FIRST_COMPLETED)
                ended = telling.done()
                if ended:
                    telling.result()
            finally:
                for each in (telling, closing):
                    each.cancel()
                await asyncio.gather(telling, closing, return_exceptions=True)
            if not ended:
                await refuse(context, ShuttingDown("the service is stopping"))

        return run

    async def _refuse(self, _requests: object, context: grpc.aio.ServicerContext) -> None:
        try:
            await self._service.admit(_authorization(context.invocation_metadata()), address_of(context.peer()))
        except RecollectError as problem:
            await refuse(context, problem)
        await refuse(context, Unauthenticated("the credential was not valid; send it again"))


async def _told(answer: Any, context: grpc.aio.ServicerContext) -> None:
    """Send what a handler tells, in either of the forms that handlers have."""
    if isinstance(answer, AsyncIterable):
        async for each in answer:
            await context.write(each)
    else:
        await answer


def _authorization(metadata: Iterable[tuple[str, str | bytes]]) -> str | None:
    given = headers_of(metadata).get(b"authorization")
    return None if given is None else given.decode("latin-1")
