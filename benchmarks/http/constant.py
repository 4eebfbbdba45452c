"""A server that does nothing: the stack of ours, answering each method of each path with bytes known beforehand.

It is run as a program of its own, with a file of answers, and prints its port once it listens.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from starlette.routing import Route, Router

from recollect.surfaces.rest.connections import BoundedConnection

Answers = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By path and method: the status, the headers, and the body in base64."""
_BACKLOG = 2_048


class Constant:
    """What stands behind one path: reads the body if there may be one, and answers the same always."""

    def __init__(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        self._answers = {
            method: (
                {
                    "type": "http.response.start",
                    "status": said["status"],
                    "headers": [(name.encode(), value.encode()) for name, value in said["headers"]],
                },
                {"type": "http.response.body", "body": base64.b64decode(said["body"])},
            )
            for method, said in answers.items()
        }

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        method = scope["method"]
        start, body = self._answers[method]
        if method != "GET":
            while (await receive()).get("more_body"):
                pass
        await send(start)
        await send(body)


def config(answers: Answers) -> uvicorn.Config:
    """Uvicorn as our own server sets it up; a test compares the two."""
    routes = [Route(path, Constant(methods), methods=None) for path, methods in answers.items()]
    return uvicorn.Config(
        Router(routes, redirect_slashes=False),
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=2_000,
        backlog=_BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=20,
    )


def main(file: Path) -> None:
    """Serve the answers in a file until a signal comes."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(_BACKLOG)
        print(listening.getsockname()[1], flush=True)
        server = uvicorn.Server(config(json.loads(file.read_text())))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(server.serve(sockets=[listening]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
