"""Small reads of one turn of an event loop, carried out together: one hand-over to a thread instead of one each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import apsw

from recollect.backends.sqlite.connections import translated
from recollect.domain.errors import StoreClosed

Ask = Callable[[apsw.Connection], Any]
_MOST = 64
"""More small reads than this go to another thread, so that several can work."""


class Turns:
    """Collects what the tasks of an event loop ask in one turn, and answers it when the turn is over."""

    def __init__(self, executor: Executor, run: Callable[[Callable[[apsw.Connection], None]], None]) -> None:
        self._executor = executor
        self._run = run
        self._waiting: dict[asyncio.AbstractEventLoop, list[tuple[Ask, asyncio.Future[Any]]]] = {}

    async def ask(self, ask: Ask) -> Any:
        """The answer, once this turn of the loop has ended and a thread has read it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        waiting = self._waiting.get(loop)
        if waiting is None:
            waiting = self._waiting[loop] = []
            loop.call_soon(self._send, loop)
        waiting.append((ask, future))
        return await future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = self._waiting.pop(loop)
        for start in range(0, len(asked), _MOST):
            part = asked[start : start + _MOST]
            try:
                self._executor.submit(self._answer, loop, part)
            except RuntimeError:  # the store was closed between the question and the end of the turn
                _settle([(future, None, StoreClosed("the store was closed")) for _, future in part])

    def _answer(self, loop: asyncio.AbstractEventLoop, asked: list[tuple[Ask, asyncio.Future[Any]]]) -> None:
        answers: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []

        def read(db: apsw.Connection) -> None:
            for ask, future in asked:
                answers.append((future, None, None) if future.cancelled() else (future, *_tried(ask, db)))
            if any(problem is not None for _, _, problem in answers):
                raise _Spoiled

        try:
            self._run(read)
        except _Spoiled:
            pass
        except BaseException as problem:  # noqa: BLE001 - whoever waits must hear of it
            answers += [(future, None, problem) for _, future in asked[len(answers) :]]
        loop.call_soon_threadsafe(_settle, answers)


class _Spoiled(Exception):
    """A question failed, so that its connection may be in the middle of something and is not to be used again."""


def _tried(ask: Ask, db: apsw.Connection) -> tuple[Any, BaseException | None]:
    try:
        return ask(db), None
    except apsw.Error as problem:
        return None, translated(problem)
    except Exception as problem:  # noqa: BLE001 - it is the asker's to hear
        return None, problem


def _settle(answers: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, answer, problem in answers:
        if future.done():
            continue
        if problem is None:
            future.set_result(answer)
        else:
            future.set_exception(problem)
