"""Servers that answer as they are told to, and remember what they were asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PLAIN = {"content-type": "application/json"}


class Stub:
    """A server that answers as it is told to, and remembers what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, Mapping[str, str], Any]] = []


Answer = tuple[int, bytes | Iterator[bytes], Mapping[str, str]]


@contextmanager
def stubbed(answer: Callable[[str], Answer]) -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            stub.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status, said, headers = answer(self.path)
            self.send_response(status)
            if isinstance(said, bytes):
                self.send_header("content-length", headers.get("content-length", str(len(said))))
            for name, value in headers.items():
                if name != "content-length":
                    self.send_header(name, value)
            self.end_headers()
            try:
                for piece in [said] if isinstance(said, bytes) else said:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    there = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    there.daemon_threads = True
    stub = Stub(f"http://127.0.0.1:{there.server_address[1]}")
    thread = threading.Thread(target=there.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        there.shutdown()
        there.server_close()
        thread.join()


def always(answer: Answer) -> Callable[[str], Answer]:
    return lambda _: answer
