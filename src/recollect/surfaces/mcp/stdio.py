"""MCP over standard input and output, for the one client that started this process.

Standard output carries nothing but the protocol: while it is served, whatever else is printed goes to standard error.
What is not a message is answered as JSON-RPC wants it, and requests under way are answered before the end of the input
ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

END_SECONDS = 5.0
"""For so long after the end of the input, requests that are under way are waited for."""
_PIECE = 1 << 16


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until the input ends, nobody reads the output any more, or SIGINT or SIGTERM comes."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def stop() -> None:
        if task is not None and not told.is_set():
            told.set()
            task.cancel()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    try:
        with _wire() as (source, sink):
            await _Line(server, source, sink).serve()
    except (asyncio.CancelledError, ExceptionGroup):  # a group, where a stream was cut off in the middle of a message
        if not told.is_set() or task is None:
            raise
        task.uncancel()
    finally:
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(name)


@contextlib.contextmanager
def _wire() -> Iterator[tuple[int, int]]:
    """Standard input and output for the protocol alone; everybody else reads nothing and writes to standard error."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        # The descriptors stay open: a thread may still be waiting for input.


@dataclass(slots=True)
class _Line:
    """The line to the client, and what it waits for."""

    server: Server[Any]
    source: int
    sink: int
    waiting: set[str | int] = field(default_factory=set)
    """The requests that have no answer yet."""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    to_write: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = field(default_factory=queue.SimpleQueue)

    async def serve(self) -> None:
        """Read, answer and write until the input ends."""
        # Threads of its own, because those of the loop would keep the process from ending while they wait.
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue(1)
        threading.Thread(target=_feed, args=(self.source, lines, loop), name="stdin", daemon=True).start()
        threading.Thread(target=_drain, args=(self.sink, self.to_write, loop), name="stdout", daemon=True).start()
        heard, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, said = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, lines, heard)
            group.start_soon(self._write, said, group.cancel_scope)
            await self.server.run(inbox, outbox, self.server.create_initialization_options())
            group.cancel_scope.cancel()

    async def _read(
        self, lines: asyncio.Queue[bytes | None], heard: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        with heard:
            while (line := await lines.get()) is not None:
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError as problem:
                    if line.strip():
                        await self._refuse(problem)
                    continue
                self._note(message)
                await heard.send(SessionMessage(message))
            await self._settled()

    async def _refuse(self, problem: ValidationError) -> None:
        broken = any(each["type"] == "json_invalid" for each in problem.errors(include_input=False))
        code, said = (types.PARSE_ERROR, "Parse error") if broken else (types.INVALID_REQUEST, "Invalid request")
        with contextlib.suppress(BrokenPipeError):
            error = types.ErrorData(code=code, message=said)
            await self._send(types.JSONRPCError(jsonrpc="2.0", id=None, error=error))

    def _note(self, message: types.JSONRPCMessage) -> None:
        """Remember what is to be answered; what is cancelled never will be."""
        if isinstance(message, types.JSONRPCRequest):
            self.waiting.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, str | int):
                self.waiting.discard(cancelled)

    async def _settled(self) -> None:
        """Wait until what was asked is answered, for a while."""
        with anyio.move_on_after(END_SECONDS):
            while self.waiting:
                self.answered.clear()
                await self.answered.wait()

    async def _write(self, said: MemoryObjectReceiveStream[SessionMessage], whole: anyio.CancelScope) -> None:
        async with said:
            async for each in said:
                try:
                    await self._send(each.message)
                except BrokenPipeError:
                    whole.cancel()
                    return

    async def _send(self, message: types.JSONRPCMessage) -> None:
        data = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.to_write.put((data, written))
        await written
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            self.waiting.discard(message.id)
            self.answered.set()


def _feed(source: int, lines: asyncio.Queue[bytes | None], loop: asyncio.AbstractEventLoop) -> None:
    """Hand the lines of the input to the loop, one after the other, until it ends or the loop is gone."""

    def hand(line: bytes | None) -> None:
        putting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        finally:
            putting.close()  # the loop may be gone, and never have begun with it

    rest = b""
    with contextlib.suppress(RuntimeError, asyncio.CancelledError):
        while True:
            try:
                piece = os.read(source, _PIECE)
            except OSError:
                piece = b""
            if not piece:
                if rest:
                    hand(rest)
                hand(None)
                return
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                hand(line)


def _drain(
    sink: int, to_write: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]], loop: asyncio.AbstractEventLoop
) -> None:
    """Write what there is to write, one message after the other, however long its reader takes."""
    with contextlib.suppress(RuntimeError):
        while True:
            data, written = to_write.get()
            try:
                while data:
                    data = data[os.write(sink, data) :]
            except OSError:
                loop.call_soon_threadsafe(_end, written, BrokenPipeError())
                return
            loop.call_soon_threadsafe(_end, written, None)


def _end(written: asyncio.Future[None], problem: Exception | None) -> None:
    if written.done():
        return
    if problem is None:
        written.set_result(None)
    else:
        written.set_exception(problem)
