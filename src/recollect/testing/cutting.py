"""A proxy before PostgreSQL that counts messages in both directions, and ends connections at one of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

_LENGTH = 4


class Cutter:
    """Passes messages on whole, one after another; `cut_at` says which one is not passed on any more.

    The connection of that message ends with it, or every connection does. Others can be opened at once.
    """

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target)
        self._server: asyncio.Server | None = None
        self._lock = threading.Lock()
        self._number: int | None = None
        self._all = False
        self._count = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._talks: set[asyncio.Task[None]] = set()
        self.was = ""
        """Which message it was, once one was cut: its direction and its type."""

    @property
    def url(self) -> str:
        """Where to connect to, instead of to the target."""
        assert self._server is not None
        user = f"{self._target.username}@" if self._target.username else ""
        place = f"{user}127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return urlunsplit(self._target._replace(netloc=place, query="sslmode=disable&gssencmode=disable"))

    def cut_at(self, number: int | None, *, everything: bool = False) -> None:
        """Cut at the message of this number from now on, counted from 1; at none."""
        with self._lock:
            self._number, self._all, self._count, self.was = number, everything, 0, ""

    @property
    def count(self) -> int:
        """How many messages there were since."""
        return self._count

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            there, to_there = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:
            writer.close()
            self._talks.discard(task)
            return
        self._open |= {writer, to_there}
        ways = [
            asyncio.create_task(self._pass(reader, to_there, "to the server", begins=True)),
            asyncio.create_task(self._pass(there, writer, "to the client", begins=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (writer, to_there):
                each.transport.abort()
            self._open -= {writer, to_there}
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._talks.discard(task)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whither: str, *, begins: bool
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                kind = b"" if begins else await reader.readexactly(1)  # the first message of a client has no type
                begins = False
                length = await reader.readexactly(_LENGTH)
                message = kind + length + await reader.readexactly(int.from_bytes(length) - _LENGTH)
                if self._is_the_one(f"{whither}: {kind.decode()}"):
                    return
                writer.write(message)
                await writer.drain()

    def _is_the_one(self, what: str) -> bool:
        with self._lock:
            self._count += 1
            if self._count != self._number:
                return False
            self.was = what
        for each in self._open if self._all else ():
            each.transport.abort()
        return True

    @contextmanager
    def running(self) -> Iterator[Cutter]:
        """Listen on a free port of this machine, on a thread of its own."""
        ready, over = threading.Event(), asyncio.Event()
        loop = asyncio.new_event_loop()

        async def run() -> None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            ready.set()
            await over.wait()
            self._server.close()
            for talk in self._talks:
                talk.cancel()
            await asyncio.gather(*self._talks, return_exceptions=True)

        def serve() -> None:
            try:
                loop.run_until_complete(run())
            finally:
                loop.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        if not ready.wait(30):
            raise RuntimeError("the proxy did not start")
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join()
