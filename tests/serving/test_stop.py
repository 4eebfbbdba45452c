"""The server is told to stop under load: it answers what it began, ends what waits, and leaves in time."""

from __future__ import annotations

import random
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from tests.serving.line import HalfAnswered, Line, Unanswered
from tests.serving.planted import planted_server
from tests.serving.writers import Crowd
from tests.sizes import sized

from recollect.testing.servers import Server

SHUTDOWN_SECONDS = 5
KEPT = {"keep_deleted_seconds": "none", "sweep_seconds": 3_600, "shutdown_seconds": SHUTDOWN_SECONDS}
QUIET = "ns=quiet"
"""Where nothing happens, so that whoever waits there waits until the end."""


class Waiting(threading.Thread):
    """Waits for news that never come, by long-polling or on a stream, and notes how that ended."""

    def __init__(self, server: Server, *, streaming: bool, busy: bool) -> None:
        super().__init__(daemon=True)
        self._line = Line(server.url, server.token)
        self._scope = "" if busy else f"{QUIET}&"
        self._streaming = streaming
        self.end = "it did not"

    def run(self) -> None:
        try:
            with self._line as line:
                self.end = self._stream(line) if self._streaming else self._poll(line)
        except HalfAnswered as problem:
            self.end = f"half answered: {problem}"
        except Unanswered as problem:
            self.end = f"unanswered: {problem}"

    def _stream(self, line: Line) -> str:
        for _ in line.follow(f"/v1/memories/events?{self._scope}follow=true"):
            pass
        return "well"

    def _poll(self, line: Line) -> str:
        reply = line.ask("GET", f"/v1/memories/events?{self._scope}wait=60")
        return "well" if reply.status == 200 and reply.json()["events"] == [] else repr(reply)


def stopped_often(folder: Path, count: int, *, bug: str = "") -> list[str]:
    """Stop a server so often under load, and return all that was not as it should be."""
    flaws: list[str] = []
    crowd, chance = Crowd("w"), random.Random(count)
    for _ in range(count):
        server = planted_server(bug, folder, **KEPT) if bug else Server(folder, **KEPT).start()
        flaws += crowd.flaws(server.url, server.token)
        crowd.begin(server.token, server.url)
        waiting = [
            Waiting(server, streaming=streaming, busy=busy)
            for streaming, busy in ((False, False), (True, False), (True, True))
        ]
        for each in waiting:
            each.start()
        time.sleep(chance.uniform(0.3, 0.8))
        began = time.monotonic()
        code = server.stop()
        seconds = time.monotonic() - began
        crowd.end()
        for each in waiting:
            each.join(10)
        flaws += [f"a wait ended: {each.end}" for each in waiting if each.end != "well"]
        if code != 0 or seconds > SHUTDOWN_SECONDS:
            flaws.append(f"it left with {code} after {seconds:.1f} seconds")
    with Server(folder, **KEPT) as server:
        flaws += crowd.flaws(server.url, server.token)
    if crowd.half_answered:
        flaws.append(f"{crowd.half_answered} were half answered")
    assert crowd.acknowledged > 5 * count
    return flaws


@sized(1, 50)
def test_a_server_that_is_told_to_stop_loses_nothing_and_ends_what_waits(count: int, tmp_path: Path) -> None:
    assert stopped_often(tmp_path, count) == []


def test_a_server_that_leaves_at_once_is_found(tmp_path: Path) -> None:
    flaws = stopped_often(tmp_path, 1, bug="leaves at once")
    assert any("a wait ended" in flaw for flaw in flaws), flaws
    assert any("half answered" in flaw for flaw in flaws), flaws


STALLS = {
    "a trickled body": "PUT /v1/memories HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{",
    "an unread stream": "GET /v1/memories/events?follow=true HTTP/1.1\r\n{head}\r\n",
    "an idle connection": "",
    "half of a head": "GET /v1/whoami HTTP/1.1\r\n{head}",
}


def test_clients_that_do_nothing_cannot_hold_up_the_end(tmp_path: Path) -> None:
    with Server(tmp_path, **KEPT | {"shutdown_seconds": 1}) as server, ExitStack() as stack:
        with Line(server.url, server.token) as line:
            for _ in range(20):  # more than fits into the buffers of a stream that nobody reads
                line.ask("PUT", "/v1/memories", {"namespace": ["n"], "key": "k", "value": {"text": "x" * 500_000}})
        sockets: dict[str, socket.socket] = {}
        for what, text in STALLS.items():
            stalled = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            stalled.sendall(text.format(head=f"Host: x\r\nAuthorization: Bearer {server.token}\r\n").encode())
            sockets[what] = stalled
        time.sleep(0.3)
        began = time.monotonic()
        assert server.stop() == 0, server.log()
        assert time.monotonic() - began < 1 + 3
        answer = sockets["a trickled body"].recv(10_000)
        assert not answer or b'"code":"shutting_down"' in answer
