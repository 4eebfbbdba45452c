"""A real server on loopback that speaks the OpenAI protocol for chat completions, and fails as it is told to."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Asked"], None]
"""What is done with one request."""
Answer = Callable[[str], object]
"""What a model answers to a passage: statements as a list of objects, or anything else as it is to be sent."""
TOKENS = 120
"""What a request costs."""


@dataclass
class ChatServer:
    """What the server was asked, and how it behaves: `replies` are used up one by one, then `answer` is asked."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    replies: deque[Reply] = field(default_factory=deque)
    answer: Answer = lambda _: []
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def passages(self) -> list[str]:
        """The passage of each request, as it was quoted."""
        return [passage_in(each) for each in self.asked]


class Asked(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    scripted: ChatServer
    request_said: dict[str, Any]

    def do_POST(self) -> None:
        """Note the request and reply to it."""
        self.request_said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.scripted.asked.append(self.request_said)
        self.scripted.paths.append(self.path)
        self.scripted.headers.append({name.lower(): value for name, value in self.headers.items()})
        try:
            reply = self.scripted.replies.popleft()
        except IndexError:
            reply = answers(self.scripted.answer)
        reply(self)

    @property
    def passage(self) -> str:
        """The passage that was quoted."""
        return passage_in(self.request_said)

    def send(self, status: int, text: str, headers: Mapping[str, str] = {}) -> None:
        """Answer with a body."""
        body = text.encode()
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the server runs."""
        self.scripted.stopping.wait(seconds)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the word of the library
        """Say nothing."""


class _Listener(ThreadingHTTPServer):
    """The server itself; a client that goes away is no news."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@contextmanager
def chatting(*replies: Reply, answer: Answer = lambda _: []) -> Iterator[ChatServer]:
    """A server on a free port, with replies that are used up before others are made with `answer`."""
    scripted = ChatServer(replies=deque(replies), answer=answer)
    listener = _Listener(("127.0.0.1", 0), type("Bound", (Asked,), {"scripted": scripted}))
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scripted.url = f"http://127.0.0.1:{listener.server_address[1]}/v1"
    try:
        yield scripted
    finally:
        scripted.stopping.set()
        listener.shutdown()
        thread.join()
        listener.server_close()


def passage_in(asked: Mapping[str, Any]) -> str:
    """What a request quotes: its passage, or all of it where it quotes something else."""
    content = asked["messages"][1]["content"]
    return str(json.loads(content).get("passage", content))


def statement(text: str, **members: object) -> dict[str, Any]:
    """A statement as models answer it, about whoever speaks; members can be others, or more."""
    usual = {"event_type": "fact", "entity": "speaker", "predicate": "said", "value": text, "confidence": 0.9}
    return {"text": text, **usual, "key": None, **members}


def completion(content: str | None, *, finish: str = "stop", refusal: str | None = None, tokens: int = TOKENS) -> str:
    """A whole answer of the protocol around what a model says."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {"prompt_tokens": tokens // 2, "completion_tokens": tokens - tokens // 2, "total_tokens": tokens},
        }
    )


# -- what a server may do


def answers(answer: Answer) -> Reply:
    """Answer as a model would that says this of the passage."""

    def reply(asked: Asked) -> None:
        found = answer(asked.passage)
        said = {"statements": found} if isinstance(found, list) else found
        asked.send(200, completion(said if isinstance(said, str) else json.dumps(said)))

    return reply


def says(content: str | None, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    """Answer with these words, whatever they are."""
    return lambda asked: asked.send(200, completion(content, finish=finish, refusal=refusal))


def sends(text: str) -> Reply:
    """Answer with a body that may be no completion at all."""
    return lambda asked: asked.send(200, text)


def status(code: int, **headers: str) -> Reply:
    """Answer with a status, and with a message that repeats what it was told, as careless servers do."""

    def reply(asked: Asked) -> None:
        told = {"error": {"message": f"{asked.headers.get('authorization')}: {asked.passage}"}}
        asked.send(code, json.dumps(told), {name.replace("_", "-"): value for name, value in headers.items()})

    return reply


def hangs_up(asked: Asked) -> None:
    """Close the connection without a word."""
    asked.connection.shutdown(socket.SHUT_RDWR)
    asked.close_connection = True


def cut_off(asked: Asked) -> None:
    """Close the connection in the middle of the answer."""
    body = completion(json.dumps({"statements": [statement(asked.passage)]})).encode()
    asked.send_response(200)
    asked.send_header("content-length", str(len(body)))
    asked.end_headers()
    asked.wfile.write(body[: len(body) // 2])
    asked.close_connection = True


def slow(seconds: float) -> Reply:
    """Answer late."""

    def reply(asked: Asked) -> None:
        asked.pause(seconds)
        asked.send(200, completion('{"statements": []}'))

    return reply


def drips(seconds: float, *, headers: bool) -> Reply:
    """Send something all the time, in the headers or in the body, but no end to it."""

    def reply(asked: Asked) -> None:
        asked.wfile.write(
            b"HTTP/1.1 200 OK\r\nx-slow: " if headers else b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"
        )
        for _ in range(int(seconds / 0.02)):
            asked.wfile.write(b" ")
            asked.wfile.flush()
            asked.pause(0.02)
        asked.close_connection = True

    return reply


def endless(asked: Asked) -> None:
    """Send without an end."""
    asked.send_response(200)
    asked.send_header("connection", "close")
    asked.end_headers()
    for _ in range(10_000):
        asked.wfile.write(b" " * 65_536)
    asked.close_connection = True


def elsewhere(url: str) -> Reply:
    """Point to another address."""
    return lambda asked: asked.send(307, "", {"location": url})
