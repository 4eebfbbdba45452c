"""A real server on loopback that speaks the OpenAI protocol for embeddings, and fails in the ways it is told to."""

from __future__ import annotations

import json
import socket
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from recollect.backends.embedding import HashingEmbedder
from recollect.ports.embedder import Purpose

DIMENSION = 256
Rows = list[dict[str, Any]]
Fault = Callable[["Handler", list[str]], None]
"""What is done instead of answering; a fault is used up by one request."""


@dataclass
class EmbeddingServer:
    """What the server was asked, and how it behaves."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    refuses: Callable[[str], bool] = lambda text: not text
    status: int = 400
    vectors: Callable[[list[str]], Rows] = lambda texts: rows(texts)
    stop: Callable[[], None] = lambda: None

    @property
    def counts(self) -> list[int]:
        """How many texts each request had."""
        return [len(each["input"]) for each in self.asked]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    scripted: EmbeddingServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.scripted.asked.append(asked | {"path": self.path})
        self.scripted.headers.append({name.lower(): value for name, value in self.headers.items()})
        texts = asked["input"]
        if self.scripted.faults:
            self.scripted.faults.popleft()(self, texts)
        elif any(map(self.scripted.refuses, texts)):
            self.answer(self.scripted.status, {"error": {"message": f"no: {texts}"}})
        else:
            self.answer(200, {"object": "list", "data": self.scripted.vectors(texts)})

    def answer(self, status: int, said: object, **headers: str) -> None:
        self.answer_text(status, json.dumps(said), **headers)

    def answer_text(self, status: int, text: str, **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the word of the library
        pass


class Listener(ThreadingHTTPServer):
    """The server itself; a client that goes away is no news."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def rows(texts: list[str]) -> Rows:
    """The rows of a right answer."""
    vectors = HashingEmbedder(DIMENSION).embed(texts, Purpose.PASSAGE)
    return [
        {"object": "embedding", "index": index, "embedding": [float(number) * 3 for number in row]}
        for index, row in enumerate(vectors)
    ]


@contextmanager
def serving() -> Iterator[EmbeddingServer]:
    """A server on a free port."""
    scripted = EmbeddingServer()
    listener = Listener(("127.0.0.1", 0), type("Bound", (Handler,), {"scripted": scripted}))
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def stop() -> None:
        listener.shutdown()
        thread.join()
        listener.server_close()

    scripted.url = f"http://127.0.0.1:{listener.server_address[1]}/v1"
    scripted.stop = stop
    try:
        yield scripted
    finally:
        stop()


# -- faults


def status(code: int, **headers: str) -> Fault:
    return lambda handler, texts: handler.answer(code, {"error": {"message": f"trouble with {texts}"}}, **headers)


def said(text: str) -> Fault:
    return lambda handler, _: handler.answer_text(200, text)


def with_rows(change: Callable[[Rows], Rows]) -> Fault:
    return lambda handler, texts: handler.answer(200, {"data": change(rows(texts))})


def hangs_up(handler: Handler, texts: list[str]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def cut_off(handler: Handler, texts: list[str]) -> None:
    body = json.dumps({"data": rows(texts)}).encode()
    handler.send_response(200)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def slow(seconds: float) -> Fault:
    def wait(handler: Handler, texts: list[str]) -> None:
        time.sleep(seconds)
        handler.answer(200, {"data": rows(texts)})

    return wait


def drips(seconds: float) -> Fault:
    """Sends something all the time, but no end to it."""

    def drip(handler: Handler, texts: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000000")
        handler.end_headers()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            handler.wfile.write(b" ")
            time.sleep(0.02)

    return drip


def endless(handler: Handler, texts: list[str]) -> None:
    handler.send_response(200)
    handler.send_header("connection", "close")
    handler.end_headers()
    for _ in range(10_000):
        handler.wfile.write(b" " * 65_536)


def in_base64(found: Rows) -> Rows:
    return [row | {"embedding": b64encode(np.array(row["embedding"], "<f4").tobytes()).decode()} for row in found]
