"""A text that cannot be embedded holds up nobody else, is put off for longer and longer, and is tried again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.search.troubled import FAILING, REFUSED, Troubled, with_embedder

import recollect
from recollect import Memories
from recollect.config import Settings
from recollect.domain.errors import EmbedderTrouble
from recollect.ports.store import Pending
from recollect.service.making import Made, Making
from recollect.testing.doubles import ManualClock

GOOD = 30


async def found(memories: Memories, query: str, **more: object) -> list[str]:
    return [hit.key for hit in await memories.search(query=query, mode="lexical", limit=100, **more)]  # type: ignore[arg-type] # options of a search


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def embedder() -> Troubled:
    return Troubled()


@pytest.fixture(params=["memory", "sqlite"])
async def memories(
    request: pytest.FixtureRequest, embedder: Troubled, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[Memories]:
    async with with_embedder(":memory:" if request.param == "memory" else tmp_path, embedder, clock) as opened:
        yield opened


def waits(poison: str, attempts: int) -> float:
    """Seconds that a text waits after so many attempts; a model that fails may be well again soon."""
    return min(2.0 ** (attempts - 1), 3_600.0 if poison == REFUSED else 30.0)


@pytest.mark.parametrize("poison", [REFUSED, FAILING])
async def test_a_poisoned_text_does_not_hold_up_the_others(memories: Memories, poison: str) -> None:
    await memories.put(("a",), "poisoned", {"text": f"tea with {poison}"})
    for number in range(GOOD):
        await memories.put(("a",), f"good{number}", {"text": f"tea number {number}"})
    assert sorted(await found(memories, "tea")) == sorted(f"good{n}" for n in range(GOOD))
    status = await memories.index_status()
    assert (status.pending, status.failed, status.indexed) == (1, 1, GOOD)


@pytest.mark.parametrize("poison", [REFUSED, FAILING])
async def test_it_is_put_off_for_longer_each_time_and_tried_again_after_its_moment(
    memories: Memories, embedder: Troubled, clock: ManualClock, poison: str
) -> None:
    await memories.put(("a",), "poisoned", {"text": f"tea with {poison}"})
    await memories.put(("a",), "good", {"text": "tea"})

    async def tries() -> int:
        before = sum(any(poison in text for text in asked) for asked in embedder.asked)
        await memories.put(("a",), "company", {"text": f"tea at {clock()}"})
        await memories.trigger_index()
        return sum(any(poison in text for text in asked) for asked in embedder.asked) - before

    assert await tries() > 0
    for attempts in range(1, 14):
        clock.advance(waits(poison, attempts) - 0.001)
        assert await tries() == 0, f"tried before its moment, after {attempts} attempts"
        clock.advance(0.001)
        assert await tries() > 0, f"not tried at its moment, after {attempts} attempts"
        assert (await memories.index_status()).failed == 1
    embedder.cured = True
    clock.advance(3_600)
    assert sorted(await found(memories, "tea")) == ["company", "good", "poisoned"]
    status = await memories.index_status()
    assert (status.pending, status.failed, status.indexed) == (0, 0, 3)


@pytest.mark.parametrize("poison", [REFUSED, FAILING])
async def test_many_poisoned_texts_before_the_good_ones_do_not_block_the_queue(memories: Memories, poison: str) -> None:
    """More of them than a batch has, and all before the others."""
    for number in range(150):
        await memories.put(("a",), f"poisoned{number}", {"text": f"tea with {poison} {number}"})
    for number in range(GOOD):
        await memories.put(("a",), f"good{number}", {"text": f"tea number {number}"})
    await memories.trigger_index()
    assert sorted(await found(memories, "tea")) == sorted(f"good{n}" for n in range(GOOD))


async def test_the_harness_finds_a_queue_that_is_blocked(embedder: Troubled) -> None:
    """An embedder that cannot tell one text from another is as good as down: then nobody is indexed."""
    embedder.down = True
    async with with_embedder(":memory:", embedder, ManualClock()) as memories:
        await memories.put(("a",), "good", {"text": "tea"})
        await memories.trigger_index()
        assert await found(memories, "tea", wait=0) == []


async def test_a_poisoned_text_that_is_replaced_is_indexed_at_once(memories: Memories) -> None:
    await memories.put(("a",), "k", {"text": f"tea {REFUSED}"})
    assert await found(memories, "tea") == []
    await memories.put(("a",), "k", {"text": "tea"})
    assert await found(memories, "tea") == ["k"]
    status = await memories.index_status()
    assert (status.pending, status.failed) == (0, 0)


async def test_waiting_for_a_poisoned_text_says_that_it_is_not_found_yet(memories: Memories) -> None:
    done = await memories.put(("a",), "k", {"text": f"tea {REFUSED}"}, wait="indexed")
    assert done.indexed is False
    assert (await memories.get(("a",), "k")) is not None


# -- an embedder that is down


async def test_while_the_embedder_is_down_hybrid_answers_by_words_and_says_so(
    memories: Memories, embedder: Troubled
) -> None:
    await memories.put(("a",), "tea", {"text": "tea without sugar"}, wait="indexed")
    await memories.put(("a",), "coffee", {"text": "coffee"}, wait="indexed")
    embedder.down = True
    answer = await memories.search(("a",), query="tea", explain=True)
    assert [hit.key for hit in answer] == ["tea"]
    assert answer.explanation is not None
    assert any("words alone" in rule for rule in answer.explanation["rules"])
    with pytest.raises(EmbedderTrouble):
        await memories.search(("a",), query="tea", mode="semantic")
    assert [hit.key for hit in await memories.search(("a",), query="tea", mode="lexical")] == ["tea"]
    embedder.down = False
    assert (await memories.search(("a",), query="tea", explain=True)).explanation["rules"] == []  # type: ignore[index] # it was asked for


async def test_while_the_embedder_is_down_what_waits_does_not_make_searches_and_writes_fail(
    memories: Memories, embedder: Troubled, clock: ManualClock
) -> None:
    await memories.put(("a",), "tea", {"text": "tea without sugar"}, wait="indexed")
    embedder.down = True
    late = await memories.put(("a",), "late", {"text": "tea, late"}, wait="indexed")
    assert late.indexed is False, "it was written, so the call does not fail"
    for wait in (None, 0, 1):
        assert "tea" in [hit.key for hit in await memories.search(("a",), query="tea", wait=wait)]
        assert "tea" in [hit.key for hit in await memories.search(("a",), query="tea", wait=wait, mode="lexical")]
    embedder.down = False
    clock.advance(1)
    assert sorted(hit.key for hit in await memories.search(("a",), query="tea")) == ["late", "tea"]


async def test_a_version_that_cannot_be_made_an_entry_of_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Making._made

    def faulty(self: Making, each: Pending, *rest: Any) -> Made:
        if each.row.address.key == "bad":
            raise OverflowError("planted")
        return plain(self, each, *rest)

    monkeypatch.setattr(Making, "_made", faulty)
    async with recollect.open(":memory:", settings=Settings(embedder="hashing")) as memories:
        for key in ("bad", "good"):
            await memories.put(("user", "ann"), key, {"text": f"{key} tea"})
        assert [item.key for item in await memories.search(query="tea", mode="lexical")] == ["good"]
        status = await memories.index_status()
        assert (status.pending, status.failed, status.indexed) == (1, 1, 1)
