"""Commits of others are heard of by a change stream where the server has such, and looked for where not.

No server with change streams can be had wherever these tests run, so the stream itself is played by a stand-in that
answers as `pymongo` documents it; set RECOLLECT_TEST_MONGODB_URL to a replica set for the real one.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure
from tests.engines.mongodb import (
    found_server,  # noqa: F401 - a fixture
    fresh_database,
)

from recollect.backends.mongodb import MongoOptions
from recollect.backends.mongodb.watching import Watcher

OPTIONS = MongoOptions("mongodb://nowhere")


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()


class Stream:
    """A change stream as the driver gives it, of what the test puts in."""

    def __init__(self) -> None:
        self.changes: queue.Queue[Any] = queue.Queue()
        self.alive = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.alive = False

    def try_next(self) -> Any:
        try:
            change = self.changes.get(timeout=0.05)
        except queue.Empty:
            return None
        if isinstance(change, Exception):
            raise change
        return change


class Server:
    """A client whose collections can be watched."""

    def __init__(self, *refusals: Exception) -> None:
        self.refusals = list(refusals)
        self.streams: list[Stream] = []
        self.closed = threading.Event()

    def __call__(self, options: MongoOptions, *, direct: bool) -> Server:
        assert direct
        assert options is OPTIONS
        return self

    def __getitem__(self, name: str) -> Server:
        return self

    def watch(self, pipeline: list[Any], *, max_await_time_ms: int) -> Stream:
        assert pipeline[0] == {"$match": {"operationType": "insert"}}
        assert max_await_time_ms
        if self.refusals:
            raise self.refusals.pop(0)
        self.streams.append(Stream())
        return self.streams[-1]

    def close(self) -> None:
        self.closed.set()


class Calls:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_every_commit_of_others_is_told() -> None:
    server, calls = Server(), Calls()
    watcher = Watcher(OPTIONS, calls, open_client=server)
    watcher.start()
    watcher.start()
    assert eventually(lambda: watcher.hears)
    assert eventually(lambda: calls.count == 1), "what came before the stream began is looked for once"
    server.streams[0].changes.put({"_id": 1})
    assert eventually(lambda: calls.count == 2)
    watcher.close()
    assert server.closed.is_set()
    assert not watcher.hears
    assert len(server.streams) == 1


def test_a_stream_that_breaks_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.backends.mongodb.watching._AGAIN_SECONDS", 0.01)
    server, calls = Server(AutoReconnect("away"), OperationFailure("stale", code=136)), Calls()
    watcher = Watcher(OPTIONS, calls, open_client=server)
    watcher.start()
    assert eventually(lambda: len(server.streams) == 1 and calls.count == 1)
    server.streams[0].changes.put(AutoReconnect("gone"))
    assert eventually(lambda: len(server.streams) == 2 and calls.count == 2)
    watcher.close()


def test_a_server_without_streams_is_left_alone() -> None:
    server, calls = Server(OperationFailure("only on replica sets", code=40_573)), Calls()
    watcher = Watcher(OPTIONS, calls, open_client=server)
    watcher.start()
    assert server.closed.wait(10)
    assert (watcher.hears, calls.count, server.streams) == (False, 0, [])
    watcher.close()
    watcher.start()


def test_the_server_of_these_tests_is_asked_once_or_hears(mongodb: str) -> None:
    """FerretDB knows no streams; a replica set does: either way nothing fails, and nobody is asked again and again."""
    url = fresh_database(mongodb)
    calls = Calls()
    watcher = Watcher(MongoOptions(url, database=url.rpartition("/")[2]), calls)
    watcher.start()
    thread = watcher._thread
    assert thread is not None
    assert eventually(lambda: watcher.hears or not thread.is_alive())
    watcher.close()
