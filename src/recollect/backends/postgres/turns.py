"""Reads by key that come in one turn of an event loop, asked as one question on one thread.

A read takes less time than handing it to another thread and back, so those that come together go together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress

from recollect.domain.address import Address
from recollect.domain.errors import RecollectError, StoreClosed
from recollect.domain.rows import Row

Places = Sequence[tuple[str, Address]]
Rows = list[Row | None]
_Asked = list[tuple[Places, asyncio.Future[Rows]]]
_Answers = list[tuple[asyncio.Future[Rows], Rows | BaseException]]
_MOST = 256
"""Of more than so many askers, others are answered by another thread."""


class Turns:
    """Collects what the tasks of an event loop ask in one turn, and has it answered when the turn is over."""

    def __init__(self, threads: Executor, read: Callable[[Places], Rows]) -> None:
        self._threads = threads
        self._read = read
        self._waiting: dict[asyncio.AbstractEventLoop, _Asked] = {}

    async def ask(self, places: Places) -> Rows:
        """The rows at these places, as of some moment after this call."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Rows] = loop.create_future()
        waiting = self._waiting.get(loop)
        if waiting is None:
            waiting = self._waiting[loop] = []
            loop.call_soon(self._send, loop)
        waiting.append((places, future))
        return await future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = self._waiting.pop(loop)
        for start in range(0, len(asked), _MOST):
            part = asked[start : start + _MOST]
            try:
                self._threads.submit(self._answer, loop, part)
            except RuntimeError:  # the store was closed between the question and the end of the turn
                _settle([(future, StoreClosed("the store was closed")) for _, future in part])

    def _answer(self, loop: asyncio.AbstractEventLoop, asked: _Asked) -> None:
        answers = self._together(asked)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(_settle, answers)

    def _together(self, asked: _Asked) -> _Answers:
        wanted = dict.fromkeys(place for places, _ in asked for place in places)
        try:
            found = dict(zip(wanted, self._read(list(wanted)), strict=True))
        except RecollectError as problem:  # a row that cannot be opened is the matter of who asked for it
            alone = len(asked) == 1
            return [(asked[0][1], problem)] if alone else [self._together([each])[0] for each in asked]
        except BaseException as problem:  # noqa: BLE001 - whoever waits must hear of it
            return [(future, problem) for _, future in asked]
        return [(future, [found[place] for place in places]) for places, future in asked]


def _settle(answers: _Answers) -> None:
    for future, answer in answers:
        if future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
