"""Several processes that index the same memories, some of them with another model or a moment too late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.search.soundness import TENANT, entered, unsound
from tests.search.victim import with_dimension

import recollect
from recollect import Memories
from recollect.ports.store import Reflected

OLD, NEW = 256, 64


async def keys(memories: Memories, query: str) -> set[str]:
    """What a process finds, without indexing anything for it."""
    return {hit.key for hit in await memories.search(query=query, mode="lexical", wait=0, limit=100)}


async def change_meanwhile(one: Memories, other: Memories, *, dies: bool) -> None:
    """Let one process index while another one changes the model between what it read and what it writes."""
    store = one.workings.store
    real, changed = store.reflect, False

    async def late(tenant: str, series: int, reflected: Sequence[Reflected]) -> int:
        nonlocal changed
        if not changed:
            changed = True
            await other.workings.indexing.round(TENANT)
            done = await real(tenant, series, reflected)
            if dies:
                raise ConnectionError("it dies here")
            return done
        return await real(tenant, series, reflected)

    with patch.object(store, "reflect", late):
        await one.workings.indexing.batch(TENANT)
    assert changed


@pytest.mark.parametrize("dies", [False, True], ids=["it lives on", "it dies"])
async def test_a_change_of_model_while_another_indexes_loses_nothing(dies: bool, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=with_dimension(OLD)) as one:
        await one.put(("user", "u"), "before", {"text": "tea"})
        await one.trigger_index()
        async with recollect.open(tmp_path, settings=with_dimension(NEW)) as other:
            store, indexing = other.workings.store, other.workings.indexing
            await one.put(("user", "u"), "late", {"text": "tea, too"})
            # The other one must not index it first, or there is nothing to lose.
            with patch.object(store, "pending", _nothing):
                if dies:
                    with pytest.raises(ConnectionError):
                        await change_meanwhile(one, other, dies=True)
                else:
                    await change_meanwhile(one, other, dies=False)
            if dies:
                assert await keys(other, "tea") == {"before"}, "the fault that is to be mended"
                await other.trigger_index()
            assert await keys(other, "tea") == {"before", "late"}
            await indexing.round(TENANT)
            assert await entered(store, 1) == set(), "nothing is left of the series before"
            assert await unsound(store, await indexing.book.lines(TENANT)) == []


async def _nothing(tenant: str, *, limit: int = 100, ended: bool = False) -> list[object]:
    return []


async def test_the_process_that_was_started_last_chooses_the_model(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=with_dimension(OLD)) as old:
        await old.put(("user", "u"), "k", {"text": "tea"})
        await old.trigger_index()
        async with recollect.open(tmp_path, settings=with_dimension(NEW)) as new:
            for memories in (new, old, new, old):
                status = await memories.trigger_index()
                assert (status.model, status.rebuilding, status.indexed) == (f"hashing-{NEW}", None, 1)
            lines = await new.workings.indexing.book.lines(TENANT)
            assert lines is not None
            assert lines.last == 2, "nobody began anything again"
            await old.put(("user", "u"), "other", {"text": "tea, too"})
            assert {hit.key for hit in await old.search(query="tea", mode="semantic")} == {"k", "other"}
    async with recollect.open(tmp_path, settings=with_dimension(OLD)) as again:
        assert (await again.trigger_index()).model == f"hashing-{OLD}"
