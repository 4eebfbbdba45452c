"""Three processes over one PostgreSQL behind a plain reverse proxy; one is killed, and nobody loses anything.

It needs the address of an empty database that it may use:

    python examples/three_processes.py postgresql://user:password@host/database
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from recollect_client import Client

HERE = "127.0.0.1"
NOTES = ("user", "admin", "notes")
WRITES = 60
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "proxy-authorization"}


class Balancer:
    """Gives each request to the next process that is ready, and passes the answer on as it comes."""

    def __init__(self, urls: list[str]) -> None:
        self._urls = urls
        self._ready = set(urls)
        self._turn = 0
        # Longer than the longest wait that a reader of the log may ask for, which is 60 seconds.
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(90, connect=2), trust_env=False)

    @contextlib.asynccontextmanager
    async def working(self, _: object) -> AsyncIterator[None]:
        """Look after the processes meanwhile."""
        async with self._client:
            checking = asyncio.create_task(self._check())
            yield
            checking.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        response = await self._forward(request, await request.body())
        await response(scope, receive, send)

    async def _forward(self, request: Request, body: bytes) -> Response:
        target = request.scope["raw_path"].decode() + (f"?{request.url.query}" if request.url.query else "")
        headers = [(name, value) for name, value in request.headers.items() if name not in HOP_BY_HOP]
        for url in self._in_turn():
            asked = self._client.build_request(request.method, url + target, headers=headers, content=body)
            try:
                answer = await self._client.send(asked, stream=True)
            except httpx.ConnectError:
                self._ready.discard(url)
                continue  # it has not seen the request, so another one may have it
            except httpx.TransportError:
                return PlainTextResponse("the process went away", 502)  # it may have done it: the client must ask again
            kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
            return StreamingResponse(_pieces(answer), answer.status_code, kept)
        return PlainTextResponse("no process is ready", 502)

    def _in_turn(self) -> Iterator[str]:
        """Those that are ready, each time beginning with the next one."""
        self._turn += 1
        places = (self._urls[(self._turn + step) % len(self._urls)] for step in range(len(self._urls)))
        return (url for url in places if url in self._ready)

    async def _check(self) -> None:
        """Ask all of them twice a second whether they are ready."""
        while True:
            for url in self._urls:
                try:
                    ready = (await self._client.get(f"{url}/readyz", timeout=2)).status_code == 200
                except httpx.HTTPError:
                    ready = False
                (self._ready.add if ready else self._ready.discard)(url)
            await asyncio.sleep(0.5)


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    """The answer piece by piece and unbuffered, as server-sent events need it."""
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


@contextlib.contextmanager
def balanced(urls: list[str]) -> Iterator[str]:
    """The address of a balancer before these, on a thread of its own."""
    balancer = Balancer(urls)
    app = Starlette(routes=[Mount("/", balancer)], lifespan=balancer.working)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    server, listening = uvicorn.Server(config), socket.create_server((HERE, 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://{HERE}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Process:
    """One `recollect serve` on a port of its own.

    All of them share a data directory here, since it has the master key. On several machines, each has a copy of it.
    """

    def __init__(self, home: Path, store: str) -> None:
        with socket.socket() as free:
            free.bind((HERE, 0))
            self._port = free.getsockname()[1]
        self.url = f"http://{HERE}:{self._port}"
        self._command = [sys.executable, "-m", "recollect", "serve", "--home", str(home), "--port", str(self._port)]
        self._environment = {**os.environ, "RECOLLECT_STORE": store, "RECOLLECT_EMBEDDER": "hashing"}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        command = [*self._command, "--json", "--log-level", "error"]
        self._process = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this very program
        told = self._process.stdout.readline() if self._process.stdout else ""
        if json.loads(told)["url"] != self.url:
            raise RuntimeError(f"somebody else has port {self._port}")

    def end(self, how: signal.Signals) -> None:
        """End it: SIGTERM lets it finish what is under way, SIGKILL does not."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.communicate()
            self._process = None


def follow(url: str, key: str, heard: list[str]) -> None:
    """Follow the log through the proxy, whichever process answers, until everything was told."""
    with Client(url, key) as client:
        for event in client.follow(NOTES, wait=5):
            heard.append(event.key)
            if len(heard) == WRITES:
                return


def write(url: str, key: str, second: Process) -> int:
    """Write through the proxy while the second process is killed and started again; return how often it was told so."""
    acknowledged = 0
    with Client(url, key) as client:
        for number in range(WRITES):
            if number == WRITES // 3:
                second.end(signal.SIGKILL)
                print("the second process was killed")
            if number == 2 * WRITES // 3:
                second.start()
                print("the second process was started again")
            client.put(NOTES, f"note {number}", {"text": f"the {number}. note"})
            acknowledged += 1
    return acknowledged


def kept(url: str, key: str) -> set[str]:
    """The keys that a process has."""
    with Client(url, key) as client:
        return {item.key for item in client.search(NOTES, limit=100)}


def main(store: str) -> None:
    """Run all of it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        processes = [Process(home, store) for _ in range(3)]
        try:
            for process in processes:
                process.start()
            key = json.loads((home / "credentials.json").read_text())["token"]
            with balanced([process.url for process in processes]) as url:
                heard: list[str] = []
                following = threading.Thread(target=follow, args=(url, key, heard), daemon=True)
                following.start()
                began = time.monotonic()
                acknowledged = write(url, key, processes[1])
                following.join(60)
                print(f"{acknowledged} writes were acknowledged, {len(set(heard))} were told to a follower")
                found = [kept(process.url, key) for process in processes]
                agreed = all(each == found[0] for each in found)
                print(f"each process has {len(found[0])} of them" if agreed else f"they disagree: {found}")
                print(f"it took {time.monotonic() - began:.1f} seconds", file=sys.stderr)
        finally:
            for process in processes:
                process.end(signal.SIGTERM)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("say which database to use: python examples/three_processes.py postgresql://…")
    main(sys.argv[1])
