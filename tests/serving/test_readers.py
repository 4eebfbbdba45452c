"""Readers of the event log get all of it once and in order, through stops and crashes of the server."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.serving.line import HalfAnswered, Line, Unanswered, whole_log
from tests.serving.readers import Reader, Way, by_command, by_cursor, by_follow, by_stream, by_time
from tests.sizes import sized

from recollect.testing.feed import Discrepancies, compare
from recollect.testing.proxies import Proxy, in_thread
from recollect.testing.servers import Server

WRITERS = 2
LAST = "the last"
EACH_TURN = 25
"""So many writes are acknowledged between two restarts."""


def put(line: Line, place: str, key: str) -> bool:
    """Write once; False when nobody knows whether it was done."""
    try:
        reply = line.ask("PUT", "/v1/memories", {"namespace": ["user", place], "key": key, "value": {"k": key}})
    except (Unanswered, HalfAnswered):
        return False
    assert reply.status in (200, 503), reply
    return reply.status == 200


def write(url: str, token: str, name: str, written: list[str], enough: threading.Event) -> None:
    """Write whatever happens, with a pause after each failure, and keep what was acknowledged."""
    count = 0
    with Line(url, token) as line:
        while not enough.is_set():
            count += 1
            done = put(line, name, f"k{count % 20}")
            if done:
                written.append(name)
            enough.wait(0.002 if done else 0.05)


def let_write(written: list[str]) -> None:
    """Wait until some more was written, on however busy a machine."""
    before, began = len(written), time.monotonic()
    while len(written) < before + EACH_TURN or time.monotonic() - began < 0.4:
        assert time.monotonic() - began < 60
        time.sleep(0.02)


def read_through(folder: Path, restarts: int, ways: list[Way]) -> dict[str, Discrepancies]:
    """Let each way read while the server is stopped and killed in turn, and compare each with the log."""
    server = Server(folder).start()
    token, enough, written = server.token, threading.Event(), list[str]()
    try:
        with in_thread(Proxy(server.url)) as proxy:
            readers = [Reader(way, proxy.url, token, LAST) for way in ways]
            names = [f"w{number}" for number in range(WRITERS)]
            writers = [threading.Thread(target=write, args=(proxy.url, token, name, written, enough)) for name in names]
            for thread in [*writers, *readers]:
                thread.start()
            deadline = time.monotonic() + 60
            while not all(reader.saw for reader in readers):  # a program that finds no server at first gives up
                assert time.monotonic() < deadline
                time.sleep(0.05)
            for turn in range(restarts):
                let_write(written)
                server.kill() if turn % 2 else server.stop()
                proxy.target = server.start().url
            let_write(written)
            enough.set()
            for thread in writers:
                thread.join()
            with Line(server.url, token) as line:
                assert put(line, "w0", LAST)
                log = [event["sequence"] for event in whole_log(line)]
            for reader in readers:
                reader.join(60)
                assert reader.problem is None, reader.problem
                assert not reader.is_alive(), f"{reader.way.__name__} did not come to the end"
    finally:
        enough.set()
        server.stop()
    print(f"readers: {restarts} restarts, {len(log)} events")
    assert len(log) > EACH_TURN * restarts
    return {reader.way.__name__: compare(log, reader.saw) for reader in readers}


@sized(2, 60)
def test_readers_miss_and_double_nothing_through_restarts(count: int, tmp_path: Path) -> None:
    found = read_through(tmp_path, count, [by_cursor, by_stream, by_follow, by_command])
    assert found == dict.fromkeys(found, Discrepancies(0, 0, 0, 0))


def test_a_reader_that_starts_over_from_a_time_is_caught(tmp_path: Path) -> None:
    [found] = read_through(tmp_path, 1, [by_time]).values()
    assert found.missed or found.doubled
