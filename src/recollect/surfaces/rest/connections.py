"""A connection over HTTP that bounds what a client may send, and how long it may take, before anybody knows it."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recollect.domain.errors import InvalidRequest
from recollect.wire.errors import envelope

MAX_HEAD_BYTES = 64 << 10
MAX_FIELDS = 100
HEAD_SECONDS = 15.0
LINGER_SECONDS = 5.0
"""How long the rest of a request is still read after it was answered, so that its sender gets to the answer."""


class HeadTooLarge(Exception):
    """The head of a request has more fields than are read."""


class BoundedConnection(HttpToolsProtocol):
    """Uvicorn's connection, which by itself reads heads of any size for any time."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._in_head = True
        self._head_bytes = 0
        self._fields = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Give the client some time for the head of its first request."""
        super().connection_made(transport)
        self._within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head has grown too large."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response(f"the head of the request has more than {MAX_HEAD_BYTES:,} bytes")
            elif self._timer is None:  # most heads come in one piece, and need no timer
                self._within(HEAD_SECONDS)

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with the request itself in the envelope that all errors have, and hang up."""
        body = envelope(InvalidRequest(msg.rstrip(".")))
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """The head of a request begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes, self._fields = True, 0, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """One more field of the head."""
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise HeadTooLarge
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete; the body has a time of its own."""
        self._in_head = False
        self._in_time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of the request has come."""
        self._in_time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Do not read for ever what nobody will look at any more."""
        if self.cycle.more_body:
            self._within(LINGER_SECONDS)
        super().on_response_complete()

    def _within(self, seconds: float) -> None:
        self._in_time()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _in_time(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
