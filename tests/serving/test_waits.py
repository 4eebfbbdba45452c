"""Whoever waits for news can be told to stop waiting at any moment, also at the one at which news come."""

from __future__ import annotations

import asyncio

import pytest

from recollect.ports.signals import Signal


@pytest.mark.parametrize("turns", range(6))
async def test_a_wait_that_is_called_and_given_up_at_once_is_given_up(turns: int) -> None:
    signal = Signal()
    with signal.listen() as listener:
        waiting = asyncio.create_task(listener.wait(5.0))
        await asyncio.sleep(0.01)
        signal.notify()
        for _ in range(turns):
            await asyncio.sleep(0)
        given_up = waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled() == given_up
