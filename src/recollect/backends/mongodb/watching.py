"""Watching the commits of others: a change stream where the server has them, and otherwise nothing.

A replica set or a sharded cluster tells of every new commit as soon as a majority has it. A single server and FerretDB
know no such streams; there, whoever waits keeps looking. So nothing rests on it but how soon others are heard of.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pymongo.errors import OperationFailure, PyMongoError

from recollect.backends.mongodb.driver import connect
from recollect.backends.mongodb.options import MongoOptions
from recollect.backends.mongodb.schema import COMMITS

_INSERTED = [{"$match": {"operationType": "insert"}}, {"$project": {"_id": 1}}]
_AWAIT_MS = 500
_AGAIN_SECONDS = 1.0
_NO_STREAMS = frozenset({59, 115, 238, 40_324, 40_415, 40_573})
"""What servers without change streams answer: unknown command or stage, not implemented, not a replica set."""


class Watcher:
    """Calls back whenever anybody committed, from a thread of its own, for as long as the server tells of it."""

    def __init__(
        self, options: MongoOptions, call: Callable[[], None], *, open_client: Callable[..., Any] = connect
    ) -> None:
        self._options = options
        self._call = call
        self._open = open_client
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.hears = False
        """True while the server tells of commits, so that there is no need to look often."""

    def start(self) -> None:
        """Begin to watch, if that was not begun before."""
        with self._lock:
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._watch, name="recollect-mongodb-watch", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        client = self._open(self._options, direct=True)
        try:
            while not self._ended.is_set():
                try:
                    self._listen(client[self._options.database][COMMITS])
                except OperationFailure as problem:
                    if problem.code in _NO_STREAMS:
                        return
                    self._ended.wait(_AGAIN_SECONDS)
                except PyMongoError:
                    self._ended.wait(_AGAIN_SECONDS)
                finally:
                    self.hears = False
        finally:
            client.close()

    def _listen(self, commits: Any) -> None:
        with commits.watch(_INSERTED, max_await_time_ms=_AWAIT_MS) as stream:
            self.hears = True
            self._call()  # whoever looked just before the stream began looks again
            while not self._ended.is_set() and stream.alive:
                if stream.try_next() is not None:
                    self._call()
