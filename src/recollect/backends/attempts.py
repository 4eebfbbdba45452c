"""One attempt to get an answer, that ends when its time is over, wherever it hangs.

The time-outs of a client count from one byte to the next, and none counts while a name is looked up. So an attempt has
a thread of its own; at the end of its time its connection is shut, and nobody waits for it any longer.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from recollect.backends.asking import NoAnswer

_CONNECTED = ("connect_tcp.complete", "start_tls.complete")


class Attempt:
    """One attempt, made once."""

    def __init__(self) -> None:
        self._outcome: SimpleQueue[bytes | BaseException] = SimpleQueue()
        self._lock = Lock()
        self._connection: socket.socket | None = None
        self._over = False

    def within(self, seconds: float, ask: Callable[[Mapping[str, object]], bytes]) -> bytes:
        """What `ask` returns or raises, given the extensions of its request; `NoAnswer` when the time is over."""

        def run() -> None:
            try:
                self._outcome.put(ask({"trace": self._trace}))
            except BaseException as problem:  # noqa: BLE001 - whoever waits has to be told, whatever it is
                self._outcome.put(problem)

        try:
            Thread(target=run, name="recollect-attempt", daemon=True).start()
            found = self._outcome.get(timeout=seconds)
        except RuntimeError:
            raise NoAnswer("there is no thread to be had") from None
        except Empty:
            self._shut()
            raise NoAnswer("it took too long", slow=True) from None
        if isinstance(found, BaseException):
            raise found
        return found

    def end(self) -> None:
        """End it before its time; whoever waits for it gets no answer."""
        self._outcome.put(NoAnswer("it was ended"))
        self._shut()

    def _trace(self, event: str, told: Mapping[str, Any]) -> None:
        """Hears from the client what it does, and keeps the connection once there is one."""
        if event.endswith(_CONNECTED):
            with self._lock:
                self._connection = told["return_value"].get_extra_info("socket")
                over = self._over
            if over:
                self._shut()

    def _shut(self) -> None:
        with self._lock:
            self._over = True
            connection = self._connection
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
