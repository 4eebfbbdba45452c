"""Answers that wait: long-polling and server-sent events, which end when the client or the service goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from recollect.domain.errors import RecollectError
from recollect.service.views import Events
from recollect.surfaces.rest.exchange import Answer, Exchange
from recollect.wire import answers
from recollect.wire.errors import envelope

HEART_BEAT_SECONDS = 15.0
Page = Callable[[str | None, float], Awaitable[Events]]


async def patiently(ask: Exchange, page: Page, cursor: str | None, wait: float) -> Events:
    """A page of the log, held back until there is something on it, the time is up, or the service stops."""
    if not wait:
        return await page(cursor, wait)
    found = await _unless_ended(ask, page(cursor, wait))
    if ask.again is not None:
        await ask.again()
    return found if found is not None else await page(cursor, 0.0)


async def follow(ask: Exchange, page: Page, cursor: str | None) -> Answer:
    """The log as server-sent events, from a cursor on; the first page is read now, so that errors are plain answers."""
    first = await page(cursor, 0.0)
    return Answer(200, media=b"text/event-stream; charset=utf-8", pieces=_stream(ask, page, first))


async def _stream(ask: Exchange, page: Page, found: Events) -> AsyncGenerator[bytes, None]:
    while True:
        for each in found:
            yield b"id: %s\nevent: %s\ndata: %s\n\n" % (
                each.cursor.encode(),
                each.kind.encode(),
                answers.encode(answers.event(each)),
            )
        if not found.events:
            yield b": still here\n\n"
        try:
            news = await _unless_ended(ask, page(found.cursor, HEART_BEAT_SECONDS))
            if news is None:
                return
            if ask.again is not None:
                await ask.again()
        except RecollectError as problem:
            yield b"event: error\ndata: %s\n\n" % envelope(problem)
            return
        found = news


async def _unless_ended(ask: Exchange, work: Awaitable[Events]) -> Events | None:
    """What the work gives; None when the client hung up or the service stops first."""
    ends = [asyncio.ensure_future(ask.gone()), asyncio.ensure_future(ask.closing.wait())]
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for each in (task, *ends):
            each.cancel()
        await asyncio.gather(task, *ends, return_exceptions=True)
