"""Small reads of one turn of the event loop share a thread, and each still gets its own answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.domain.errors import SealBroken, StoreClosed, StoreUnavailable

PLACE = ("user", "alice")
MANY = 200
"""More than one thread is asked in a turn."""


async def filled(memories: recollect.Memories) -> None:
    await memories.batch([recollect.PutOp(PLACE, f"k{n}", {"n": n}) for n in range(MANY)])


async def test_each_of_many_reads_in_one_turn_gets_its_own_answer(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        await filled(memories)
        items = await asyncio.gather(*(memories.get(PLACE, f"k{n}") for n in range(MANY)))
    assert [item and item.value for item in items] == [{"n": n} for n in range(MANY)]


async def test_a_read_that_fails_does_not_disturb_the_others_of_its_turn(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        await filled(memories)
        with apsw.Connection(str(tmp_path / "recollect.db")) as file:
            file.execute("UPDATE versions SET value = zeroblob(length(value)) WHERE key = 'k7'")
        answers = await asyncio.gather(*(memories.get(PLACE, f"k{n}") for n in range(MANY)), return_exceptions=True)
        failed = [n for n, answer in enumerate(answers) if isinstance(answer, BaseException)]
        assert failed == [7]
        assert isinstance(answers[7], SealBroken)
        file.close()


async def test_an_error_of_the_engine_reaches_whoever_asked_as_one_of_ours(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        await filled(memories)
        with apsw.Connection(str(tmp_path / "recollect.db")) as file:
            file.execute("ALTER TABLE versions RENAME COLUMN policy_attributes TO gone")
        file.close()
        with pytest.raises(StoreUnavailable, match="policy_attributes"):
            await memories.get(PLACE, "k1")


async def test_a_read_that_nobody_waits_for_any_more_is_left_out(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        await filled(memories)
        given_up = asyncio.ensure_future(memories.get(PLACE, "k1"))
        kept = asyncio.ensure_future(memories.get(PLACE, "k2"))
        await asyncio.sleep(0)
        given_up.cancel()
        item = await kept
        assert item is not None
        assert item.value == {"n": 2}
        with pytest.raises(asyncio.CancelledError):
            await given_up


async def test_reads_that_were_asked_when_the_store_closes_are_answered_or_refused(tmp_path: Path) -> None:
    memories = await recollect.open(tmp_path)
    await filled(memories)
    asked = [asyncio.ensure_future(memories.get(PLACE, f"k{n}")) for n in range(MANY)]
    await asyncio.sleep(0)
    await memories.close()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, recollect.Item | StoreClosed) for answer in answers)


async def test_after_a_read_that_failed_the_next_ones_see_what_was_written_since(tmp_path: Path) -> None:
    async with recollect.open(tmp_path) as memories:
        await filled(memories)
        with apsw.Connection(str(tmp_path / "recollect.db")) as file:
            file.execute("UPDATE versions SET value = zeroblob(length(value)) WHERE key = 'k7'")
        file.close()
        kept = [
            await asyncio.gather(memories.get(PLACE, "k7"), memories.get(PLACE, "k8"), return_exceptions=True)
            for _ in range(8)
        ]
        await memories.put(PLACE, "k8", {"n": "new"})
        for _ in range(8):
            item = await memories.get(PLACE, "k8")
            assert item is not None
            assert item.value == {"n": "new"}
        assert all(isinstance(broken, SealBroken) for broken, _ in kept)
