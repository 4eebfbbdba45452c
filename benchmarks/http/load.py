"""The load: requests made ready beforehand, sent over bare connections that cost the machine as little as they can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from time import perf_counter_ns
from typing import NamedTuple

from benchmarks.workload import Sample

HOST = "127.0.0.1"
_SECONDS = 300.0
_LENGTH = b"\r\ncontent-length: "


class Misbehaved(Exception):
    """A server answered what it should not have, or hung up, so that its speed means nothing."""


class Request(NamedTuple):
    """A request, and the status that its answer must have."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    expected: int
    wire: bytes


def request(method: str, target: str, key: str, body: object = None, *, expected: int = 200) -> Request:
    """A request in the name of a key."""
    headers = [("Host", HOST), ("Authorization", f"Bearer {key}")] if key else [("Host", HOST)]
    content = b"" if body is None else json.dumps(body).encode()
    if content:
        headers += [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return Request(method, target, tuple(headers), content, expected, "\r\n".join(lines).encode() + content)


class Answer(NamedTuple):
    """An answer, read whole."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def answer_to(port: int, asked: Request) -> Answer:
    """What a server answers to one request, outside of any timing."""
    with closing(HTTPConnection(HOST, port, timeout=60)) as connection:
        connection.request(asked.method, asked.target, asked.body or None, dict(asked.headers))
        reply = connection.getresponse()
        return Answer(reply.status, [(name.lower(), value) for name, value in reply.getheaders()], reply.read())


async def load(port: int, requests: Sequence[Request], connections: int) -> Sample:
    """Time these requests over so many connections, each of which waits for an answer before it asks again."""
    loop = asyncio.get_running_loop()
    drivers = [_Driver(requests[place::connections], loop.create_future()) for place in range(connections)]
    for driver in drivers:
        await loop.create_connection(lambda driver=driver: driver, HOST, port)  # type: ignore[misc] # bound at once
    try:
        async with asyncio.timeout(_SECONDS):
            began = perf_counter_ns()
            for driver in drivers:
                driver.begin()
            await asyncio.gather(*(driver.done for driver in drivers))
            took = perf_counter_ns() - began
    finally:
        for driver in drivers:
            driver.hang_up()
    return Sample(len(requests), took, [lap for driver in drivers for lap in driver.laps])


class _Driver(asyncio.Protocol):
    """One connection: sends a request, reads just as much of the answer as tells where it ends, and goes on."""

    def __init__(self, requests: Sequence[Request], done: asyncio.Future[None]) -> None:
        self.done = done
        self.laps: list[int] = []
        self._left: Iterator[Request] = iter(requests)
        self._expected = 0
        self._began = 0
        self._head = b""
        self._missing = -1
        """How much of the body is still to come; -1 while the head is not complete."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment] # a connection can be written to

    def begin(self) -> None:
        asked = next(self._left, None)
        if asked is None:
            self._end(None)
            return
        self._expected = asked.expected
        self._began = perf_counter_ns()
        self._transport.write(asked.wire)

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            data = self._head + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._head = data
                return
            self._head = b""
            problem = self._read_head(data[: end + 2])
            if problem is not None:
                self._end(problem)
                return
            self._missing -= len(data) - end - 4
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self.laps.append(perf_counter_ns() - self._began)
            self._missing = -1
            self.begin()
        elif self._missing < 0:
            self._end(Misbehaved("an answer is longer than it says"))

    def _read_head(self, head: bytes) -> Misbehaved | None:
        if head[9:12] != b"%d" % self._expected:
            return Misbehaved(f"an answer has the status {head[9:12].decode()}, not {self._expected}")
        at = head.find(_LENGTH)
        if at < 0 and self._expected != 204:
            return Misbehaved("an answer does not say how long it is")
        self._missing = 0 if at < 0 else int(head[at + len(_LENGTH) : head.find(b"\r", at + 2)])
        return None

    def connection_lost(self, problem: Exception | None) -> None:
        self._end(Misbehaved(f"the server hung up ({problem})"))

    def hang_up(self) -> None:
        self._end(None)
        self._transport.close()

    def _end(self, problem: Misbehaved | None) -> None:
        if self.done.done():
            return
        if problem is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(problem)
