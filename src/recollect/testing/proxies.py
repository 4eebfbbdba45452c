"""A proxy between clients and a server that loses answers, cuts them off or holds them back, as networks do."""

from __future__ import annotations

import asyncio
import enum
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_PIECE = 1 << 16


class Fault(enum.Enum):
    """What becomes of an answer; the request went through in any case."""

    NONE = "none"
    DROP = "drop"
    """Nothing of the answer arrives, and the connection ends."""
    CUT = "cut"
    """The answer breaks off in the middle, and the connection ends."""
    DELAY = "delay"
    """The answer comes late."""


Choose = Callable[[], Fault]
"""Decides over the next answer."""


def by_chance(seed: int, *, drop: float = 0.0, cut: float = 0.0, delay: float = 0.0) -> Choose:
    """Each fault with its probability, and the same ones in each run that asks in the same order."""
    chance = random.Random(seed)
    faults, weights = list(Fault), [1.0 - drop - cut - delay, drop, cut, delay]
    if min(weights) < 0:
        raise ValueError("the probabilities of faults are at least 0 and add up to at most 1")
    return lambda: chance.choices(faults, weights)[0]


class Proxy:
    """Passes on bytes in both directions, and asks before each answer what is to become of it.

    An answer begins with the first bytes from the server after bytes from the client, so any protocol in which
    both take turns will do. `target` may be changed at any time, for a server that comes back elsewhere.
    """

    def __init__(self, target: str, choose: Choose = lambda: Fault.NONE, *, delay_seconds: float = 1.0) -> None:
        self.target = target
        self.url = ""
        self.faults: Counter[Fault] = Counter()
        """How many answers met which fate."""
        self._choose = choose
        self._delay = delay_seconds
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self) -> Proxy:
        """Listen on a free port of this machine."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def stop(self) -> None:
        """Stop listening, and end every connection."""
        if self._server is not None:
            self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def __aenter__(self) -> Proxy:
        return await self.start()

    async def __aexit__(self, *problem: object) -> None:
        await self.stop()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)
        talk.add_done_callback(lambda _: writer.close())  # also when it is cancelled before it has begun

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = urlsplit(self.target)
        try:
            there_reader, there_writer = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            return
        asked = asyncio.Event()
        ways = [
            asyncio.create_task(self._requests(reader, there_writer, asked)),
            asyncio.create_task(self._answers(there_reader, writer, asked)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (writer, there_writer):  # before anything is awaited: that may be cancelled too
                each.close()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for each in (writer, there_writer):
                with suppress(OSError):
                    await each.wait_closed()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while piece := await reader.read(_PIECE):
            asked.set()
            writer.write(piece)
            await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: asyncio.Event) -> None:
        while piece := await reader.read(_PIECE):
            if asked.is_set():
                asked.clear()
                fault = self._choose()
                self.faults[fault] += 1
                if fault is Fault.DROP:
                    return
                if fault is Fault.CUT:
                    writer.write(piece[: max(1, len(piece) // 2)])
                    await writer.drain()
                    return
                if fault is Fault.DELAY:
                    await asyncio.sleep(self._delay)
            writer.write(piece)
            await writer.drain()


@contextmanager
def in_thread(proxy: Proxy) -> Iterator[Proxy]:
    """Run a proxy on a thread of its own, for code without an event loop."""
    ready, loops = threading.Event(), list[asyncio.AbstractEventLoop]()
    done = list[asyncio.Event]()

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        done.append(asyncio.Event())
        async with proxy:
            ready.set()
            await done[0].wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    if not ready.wait(30):
        raise RuntimeError("the proxy did not start")
    try:
        yield proxy
    finally:
        loops[0].call_soon_threadsafe(done[0].set)
        thread.join()
