"""A real HTTP server on loopback that answers from a script, faults included, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from recollect_client import AsyncClient, Client

Step = Callable[[socket.socket], None]
TOKEN = "rk_secret_of_this_test"
ITEM = {
    "id": "0190d7e8-0000-7000-8000-000000000001",
    "namespace": ["a"],
    "key": "k",
    "value": {"n": 1},
    "attributes": None,
    "revision": 1,
    "archived": False,
    "created_at": "2026-01-01T00:00:00.123456Z",
    "updated_at": "2026-01-01T00:00:00.123456Z",
    "expires_at": None,
}
WRITTEN = {**{name: value for name, value in ITEM.items() if name != "value"}, "kind": "add", "sequence": 1}


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True, strict_parsing=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Scripted:
    """Each request gets the next step of the script; the last step is repeated."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[Request] = []
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    self._answer(connection)
                except OSError:
                    continue

    def _answer(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            if not (chunk := connection.recv(65536)):
                return
            received += chunk
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        method, target, _ = first.split(" ")
        self.requests.append(Request(method, target, headers, body))
        self._steps[min(len(self.requests), len(self._steps)) - 1](connection)

    def close(self) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(15)


@contextmanager
def scripted(*steps: Step) -> Iterator[Scripted]:
    server = Scripted(steps)
    try:
        yield server
    finally:
        server.close()


def raw(text: bytes) -> Step:
    """Send exactly this, then close."""
    return lambda connection: connection.sendall(text)


def says(status: int, body: object, *headers: str, kind: str = "application/json") -> Step:
    """A whole answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", f"Content-Type: {kind}", *headers]
    return raw("\r\n".join([*lines, "Connection: close", "", ""]).encode() + content)


def fails(status: int, code: str, *headers: str, **details: object) -> Step:
    """An error of the service."""
    return says(status, {"error": f"it is {code}", "code": code, "details": details}, *headers)


def drops(connection: socket.socket) -> None:
    """Close the connection without a word."""


def cut_short(connection: socket.socket) -> None:
    """Promise more than is sent."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + b'{"id": ')


def unframed(body: bytes) -> Step:
    """An answer whose length is not told, so that nobody can see whether it is whole."""
    return raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + body)


def hangs(connection: socket.socket) -> None:
    """Take the request and say nothing, until the client goes away."""
    while connection.recv(1):
        pass


def drips(seconds: float) -> Step:
    """Send an endless answer, a byte at a time."""

    def step(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection.sendall(b" ")
            time.sleep(0.02)

    return step


HTML = b"<html><body>Sign in to the network</body></html>"
PORTAL = says(200, HTML, kind="text/html")
BAD_GATEWAY = says(502, HTML, kind="text/html")


def call(flavour: str, url: str, method: str, *given: Any, **named: Any) -> Any:
    """One call of either client; settings of the client are given as `client`."""
    settings: dict[str, Any] = {"token": TOKEN, **named.pop("client", {})}
    if flavour == "sync":
        with Client(url, **settings) as client:
            return getattr(client, method)(*given, **named)

    async def run() -> Any:
        async with AsyncClient(url, **settings) as client:
            return await getattr(client, method)(*given, **named)

    return asyncio.run(run())


def followed(flavour: str, url: str, count: int, **named: Any) -> list[Any]:
    """So many events of a follower of either kind."""
    settings: dict[str, Any] = {"token": TOKEN, **named.pop("client", {})}
    found: list[Any] = []
    if flavour == "sync":
        with Client(url, **settings) as client:
            for event in client.follow(**named):
                found.append(event)
                if len(found) == count:
                    break
        return found

    async def run() -> None:
        async with AsyncClient(url, **settings) as client:
            events = client.follow(**named)
            async for event in events:
                found.append(event)
                if len(found) == count:
                    break

    asyncio.run(run())
    return found
