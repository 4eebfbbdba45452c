"""Another process keeps the write lock: whoever writes hears of it once their patience is over, and may try again."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.domain.errors import StoreBusy

PATIENCE = 0.3
WRITERS = 40


async def test_all_who_wait_for_the_write_lock_hear_of_it_at_once_and_can_write_later(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=recollect.Settings(busy_seconds=PATIENCE)) as memories:
        await memories.put(("user", "alice"), "before", {})
        rival = apsw.Connection(str(tmp_path / "recollect.db"))
        rival.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        refused = await asyncio.gather(
            *(memories.put(("user", "alice"), f"k{n}", {}) for n in range(WRITERS)), return_exceptions=True
        )
        waited = time.monotonic() - began
        assert all(isinstance(answer, StoreBusy) for answer in refused)
        # One patience for the first alone and one for those who came meanwhile, not one for each.
        assert waited < PATIENCE * WRITERS / 4
        with pytest.raises(StoreBusy):
            await memories.erase("user:alice")
        rival.execute("ROLLBACK")
        rival.close()
        assert (await memories.put(("user", "alice"), "after", {})).revision == 1
        assert [item.key for item in await memories.search()] == ["after"]
        assert (await memories.verify()).sound
