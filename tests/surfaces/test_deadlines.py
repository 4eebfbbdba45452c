"""Deadlines end what takes too long, and nothing else."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from recollect.surfaces.deadlines import TICK_SECONDS, Deadlines


async def test_what_takes_too_long_ends_at_most_a_tick_late() -> None:
    deadlines, began = Deadlines(), monotonic()
    with pytest.raises(TimeoutError), deadlines.within(0.1):
        await asyncio.sleep(10)
    assert 0.1 <= monotonic() - began < 0.1 + 10 * TICK_SECONDS


async def test_what_is_done_in_time_is_left_alone() -> None:
    deadlines = Deadlines()
    with deadlines.within(0.1):
        await asyncio.sleep(0)
    await asyncio.sleep(0.1 + 2 * TICK_SECONDS)


async def test_each_has_a_deadline_of_its_own() -> None:
    deadlines = Deadlines()

    async def work(seconds: float, lasts: float) -> str:
        try:
            with deadlines.within(seconds):
                await asyncio.sleep(lasts)
        except TimeoutError:
            return "ended"
        return "done"

    ended = await asyncio.gather(work(0.05, 5), work(5, 0.2), work(0.05, 5))
    assert list(ended) == ["ended", "done", "ended"]


async def test_one_within_another_ends_only_what_is_in_it() -> None:
    deadlines = Deadlines()
    with deadlines.within(5):
        with pytest.raises(TimeoutError), deadlines.within(0.05):
            await asyncio.sleep(5)
        await asyncio.sleep(0)


async def test_a_cancellation_from_elsewhere_stays_one() -> None:
    deadlines = Deadlines()

    async def work() -> None:
        with deadlines.within(5):
            await asyncio.sleep(5)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_timer_rests_when_nothing_is_under_way() -> None:
    deadlines = Deadlines()
    with deadlines.within(5):
        await asyncio.sleep(0)
    await asyncio.sleep(2 * TICK_SECONDS)
    assert not deadlines._ticking
