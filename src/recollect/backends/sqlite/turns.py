"""Small reads of one turn of an event loop, carried out together when the turn is over.

A read that finds its pages in memory takes less time than handing it to another thread, so a turn's reads are
carried out on the loop's own thread. Once that held the loop up, or met a lock, threads do it for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from time import monotonic
from typing import Any

import apsw

from recollect.backends.sqlite.connections import translated
from recollect.domain.errors import StoreBusy, StoreClosed

Ask = Callable[[apsw.Connection], Any]
Asked = list[tuple[Ask, asyncio.Future[Any]]]
Answers = list[tuple[asyncio.Future[Any], Any, BaseException | None]]
Run = Callable[[Callable[[apsw.Connection], None]], None]
_MOST = 64
"""More small reads than this go to other threads, so that several can work."""
_SLOW_SECONDS = 0.05
_TURNS_ASIDE = 32
"""For how many turns threads read, after reads on the loop's own thread were slow or met a lock."""


class Turns:
    """Collects what the tasks of an event loop ask in one turn, and answers it when the turn is over."""

    def __init__(self, executor: Executor, run: Run, run_at_once: Run) -> None:
        self._executor = executor
        self._run = run
        self._run_at_once = run_at_once
        """Runs what never waits for a lock, because an event loop waits meanwhile."""
        self._aside = 0
        self._waiting: dict[asyncio.AbstractEventLoop, Asked] = {}

    async def ask(self, ask: Ask) -> Any:
        """The answer, once this turn of the loop has ended and it was read."""
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
        if self._aside:
            self._aside -= 1
        elif len(asked) <= _MOST:
            asked = self._at_once(asked)
        for start in range(0, len(asked), _MOST):
            part = asked[start : start + _MOST]
            try:
                self._executor.submit(self._answer, loop, part)
            except RuntimeError:  # the store was closed between the question and the end of the turn
                _settle([(future, None, StoreClosed("the store was closed")) for _, future in part])

    def _at_once(self, asked: Asked) -> Asked:
        """Answer here and now; return what met a lock."""
        began = monotonic()
        answers = _answered(self._run_at_once, asked)
        locked = [each for each, answer in zip(asked, answers, strict=True) if isinstance(answer[2], StoreBusy)]
        _settle([answer for answer in answers if not isinstance(answer[2], StoreBusy)])
        if locked or monotonic() - began > _SLOW_SECONDS:
            self._aside = _TURNS_ASIDE
        return locked

    def _answer(self, loop: asyncio.AbstractEventLoop, asked: Asked) -> None:
        loop.call_soon_threadsafe(_settle, _answered(self._run, asked))


def _answered(run: Run, asked: Asked) -> Answers:
    answers: Answers = []

    def read(db: apsw.Connection) -> None:
        for ask, future in asked:
            answers.append((future, None, None) if future.cancelled() else (future, *_tried(ask, db)))
        if any(problem is not None for _, _, problem in answers):
            raise _Spoiled

    try:
        run(read)
    except _Spoiled:
        pass
    except BaseException as problem:  # noqa: BLE001 - whoever waits must hear of it
        answers += [(future, None, problem) for _, future in asked[len(answers) :]]
    return answers


class _Spoiled(Exception):
    """A question failed, so that its connection may be in the middle of something and is not to be used again."""


def _tried(ask: Ask, db: apsw.Connection) -> tuple[Any, BaseException | None]:
    try:
        return ask(db), None
    except apsw.Error as problem:
        return None, translated(problem)
    except Exception as problem:  # noqa: BLE001 - it is the asker's to hear
        return None, problem


def _settle(answers: Answers) -> None:
    for future, answer, problem in answers:
        if future.done():
            continue
        if problem is None:
            future.set_result(answer)
        else:
            future.set_exception(problem)
