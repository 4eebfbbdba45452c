"""One connection over HTTP/1.1 that knows how much of an answer had come when it broke."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Unanswered(Exception):
    """The connection ended, or could not be made, or time was up, before a byte of the answer came."""


class HalfAnswered(Exception):
    """The connection ended in the middle of an answer."""


class Refused(Exception):
    """A stream was asked for, and another answer came."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.body[:300]!r}")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Told(NamedTuple):
    """One server-sent event."""

    cursor: str
    kind: str
    data: Any


class Line:
    """A connection that is kept alive; after a break, the next request opens a new one."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        self._place = urlsplit(url)
        self._token = token
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._heard = b""
        self._count = 0
        self._until = 0.0

    def ask(self, method: str, target: str, body: object = None, headers: Mapping[str, str] = {}) -> Reply:
        """Send a request and read the answer, whole."""
        try:
            self._send(method, target, body, headers)
            return self._reply()
        except (OSError, EOFError) as problem:
            raise self._broken(problem) from None

    def follow(self, target: str, headers: Mapping[str, str] = {}) -> Iterator[Told]:
        """The events of a stream as they come, until its proper end."""
        try:
            self._send("GET", target, None, headers)
            status, found = self._head()
            if status != 200:
                raise Refused(self._rest(status, found))
            text = b""
            while chunk := self._chunk():
                text += chunk
                while b"\n\n" in text:
                    block, _, text = text.partition(b"\n\n")
                    if (told := _event(block)) is not None:
                        yield told
        except (OSError, EOFError) as problem:
            raise self._broken(problem) from None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _send(self, method: str, target: str, body: object, headers: Mapping[str, str]) -> None:
        self._count, self._until = 0, time.monotonic() + self._timeout
        if self._socket is None:
            self._heard = b""
            address = self._place.hostname or "", self._place.port or 80
            self._socket = socket.create_connection(address, self._timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._place.netloc}"]
        if self._token:
            lines.append(f"Authorization: Bearer {self._token}")
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode() + data)

    def _broken(self, problem: BaseException) -> Exception:
        self.close()
        return HalfAnswered(repr(problem)) if self._count else Unanswered(repr(problem))

    def _reply(self) -> Reply:
        return self._rest(*self._head())

    def _head(self) -> tuple[int, dict[str, str]]:
        first, *lines = self._line(b"\r\n\r\n").decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    def _rest(self, status: int, headers: dict[str, str]) -> Reply:
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self._exactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return Reply(status, headers, body)

    def _chunk(self) -> bytes:
        """The next chunk; empty at the end."""
        size = int(self._line(b"\r\n"), 16)
        return self._exactly(size + 2)[:-2]

    def _line(self, mark: bytes) -> bytes:
        while mark not in self._heard:
            self._more()
        line, _, self._heard = self._heard.partition(mark)
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._heard) < size:
            self._more()
        found, self._heard = self._heard[:size], self._heard[size:]
        return found

    def _more(self) -> None:
        assert self._socket is not None
        self._socket.settimeout(self._timeout if self._count else max(0.001, self._until - time.monotonic()))
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise EOFError("the connection was closed")
        self._count += len(piece)
        self._heard += piece


def _event(block: bytes) -> Told | None:
    fields = dict(line.partition(": ")[::2] for line in block.decode().split("\n") if not line.startswith(":"))
    return Told(fields.get("id", ""), fields["event"], json.loads(fields["data"])) if fields else None


def whole_log(line: Line, *place: str) -> list[dict[str, Any]]:
    """Every event of a namespace and below, from the beginning to now."""
    scope = "".join(f"&ns={segment}" for segment in place)
    events: list[dict[str, Any]] = []
    cursor = ""
    while True:
        reply = line.ask("GET", f"/v1/memories/events?limit=200{scope}{cursor}")
        assert reply.status == 200, reply.body
        page = reply.json()
        events += page["events"]
        cursor = f"&after_cursor={page['after_cursor']}"
        if page["complete"]:
            return events
