"""The bell between processes: whoever commits rings it, and whoever waits hears it.

It is rung after the commit, on a connection of its own: a notification within the transaction would make all
commits of the database wait for each other. One that is lost costs a moment, since those who wait also look.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

from recollect.backends.postgres.connections import Link, open_link
from recollect.backends.postgres.options import PostgresOptions
from recollect.domain.errors import RecollectError

_PAUSE_SECONDS = 0.02
"""Commits that follow each other faster share one ringing."""
_RETRY_SECONDS = 0.5
_LOOK_SECONDS = 60.0


class Bell:
    """A thread with a connection that rings and listens; started when first needed, and connected again when lost."""

    def __init__(self, options: PostgresOptions, on_ring: Callable[[], None]) -> None:
        self._options = options
        self._on_ring = on_ring
        self._channel = f"recollect_{options.schema}"
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._here, self._there = socket.socketpair()
        self._there.setblocking(False)
        self._here.setblocking(False)
        self._connected = threading.Event()
        self._due = False
        self._closed = False

    @property
    def listening(self) -> bool:
        """True while the commits of others are heard."""
        return self._connected.is_set()

    def ring(self) -> None:
        """Tell other processes that something was committed; returns at once."""
        if not self._due:
            self._due = True
            self._wake()

    def listen(self, seconds: float) -> None:
        """Begin to hear others; give up waiting for that after so many seconds."""
        if not self.listening:
            self._wake()
            self._connected.wait(seconds)

    def close(self) -> None:
        """Stop ringing and listening."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self._wake()
        if thread is not None:
            thread.join()
        self._here.close()
        self._there.close()

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="recollect-bell", daemon=True)
                self._thread.start()
        with suppress(OSError):  # it has been told often enough already
            self._here.send(b"!")

    def _run(self) -> None:
        while not self._closed:
            try:
                link = open_link(self._options)
            except (psycopg.Error, RecollectError):
                self._sleep(_RETRY_SECONDS)
                continue
            try:
                self._serve(link)
            except (psycopg.Error, OSError):
                self._sleep(_RETRY_SECONDS)
            finally:
                self._connected.clear()
                link.close()

    def _serve(self, link: Link) -> None:
        link.send("SET synchronous_commit = off")
        link.send(f'LISTEN "{self._channel}"')
        self._connected.set()
        self._on_ring()  # whatever was committed before could not be heard
        own, rung = link.connection.info.backend_pid, 0.0
        while not self._closed:
            wait = _LOOK_SECONDS
            if self._due:
                wait = rung + _PAUSE_SECONDS - time.monotonic()
                if wait <= 0:
                    self._due, rung, wait = False, time.monotonic(), _LOOK_SECONDS
                    link.send("SELECT pg_notify($1, '')", self._channel)
            self._sleep(wait, link)
            link.connection.pgconn.consume_input()
            heard = False
            while told := link.connection.pgconn.notifies():
                heard = heard or told.be_pid != own
            if heard:
                self._on_ring()

    def _sleep(self, seconds: float, link: Link | None = None) -> None:
        sources = [self._there.fileno(), *([] if link is None else [link.connection.fileno()])]
        select.select(sources, [], [], max(0.0, seconds))
        with suppress(OSError):
            self._there.recv(4_096)
