"""A gRPC server that does nothing: the stack of ours, answering each call with a message known beforehand.

It is run as a program of its own, with a file of answers, and prints its port once it listens.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import uvloop

from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb

_CALLS: dict[str, tuple[Any, Any]] = {
    "GetMemory": (pb.GetMemoryRequest, pb.MemoryItem),
    "PutMemory": (pb.PutMemoryRequest, pb.MemoryWriteResult),
}
SERVICE = pb.DESCRIPTOR.services_by_name["MemoriesService"].full_name


def _constant(answer: Any) -> Callable[[Any, grpc.aio.ServicerContext], Awaitable[Any]]:
    async def serve(_request: Any, _context: grpc.aio.ServicerContext) -> Any:
        return answer

    return serve


def handlers(answers: dict[str, str]) -> dict[str, Any]:
    """How each call is served: its message is parsed, and the answer is made into bytes, as the generated code does."""
    return {
        name: grpc.unary_unary_rpc_method_handler(
            _constant(answer.FromString(base64.b64decode(answers[name]))),
            request_deserializer=request.FromString,
            response_serializer=answer.SerializeToString,
        )
        for name, (request, answer) in _CALLS.items()
        if name in answers
    }


async def _serve(answers: dict[str, str]) -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers(answers)),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(json.loads(Path(sys.argv[1]).read_text())))
