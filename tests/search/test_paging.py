"""Pages of a search by query, several queries at once, and the least score that is shown."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from tests.search.plain import SETTINGS

import recollect
from recollect import Memories, PutOp
from recollect.domain.rows import Item

COUNT = 330
WORDS = [
    "tea",
    "coffee",
    "sugar",
    "garden",
    "indentation",
    "whitespace",
    "python",
    "tabs",
    "river",
    "mountain",
    "blue",
    "green",
    "invoice",
    "deadline",
    "meeting",
    "doctor",
    "sister",
    "holiday",
    "recipe",
    "bicycle",
    "guitar",
    "rent",
    "landlord",
    "passport",
    "train",
    "dentist",
]


@pytest.fixture
async def memories() -> AsyncIterator[Memories]:
    chance = random.Random(5)
    async with recollect.open(":memory:", settings=SETTINGS) as opened:
        texts = [" ".join(chance.choices(WORDS, k=chance.randrange(3, 12))) for _ in range(COUNT)]
        await opened.batch(
            [PutOp(("user", f"u{n % 3}", f"s{n % 20}"), f"k{n:03d}", {"text": text}) for n, text in enumerate(texts)]
        )
        yield opened


async def keys(memories: Memories, query: str | list[str], **more: Any) -> list[str]:
    return [hit.key for hit in await memories.search(query=query, **more)]


def merged(pages: Sequence[Sequence[str]]) -> list[str]:
    return [key for page in pages for key in page]


async def paged(memories: Memories, query: str | list[str], mode: str, size: int) -> list[str]:
    pages = [await keys(memories, query, mode=mode, limit=size, offset=start) for start in range(0, COUNT, size)]
    return merged(pages)


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize("size", [7, 25, 100])
async def test_pages_together_are_the_whole(mode: str, size: int, memories: Memories) -> None:
    whole = await keys(memories, "tea in the garden", mode=mode, limit=COUNT)
    assert await paged(memories, "tea in the garden", mode, size) == whole
    assert len(set(whole)) == len(whole)
    assert mode == "lexical" or len(whole) == COUNT


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize("size", [25, 100])
async def test_pages_of_several_queries_together_are_the_whole(mode: str, size: int, memories: Memories) -> None:
    asked = ["tea in the garden", "rent for the landlord", "blue bicycle"]
    whole = await keys(memories, asked, mode=mode, limit=COUNT)
    assert len(set(whole)) == len(whole)
    assert await paged(memories, asked, mode, size) == whole


async def test_the_check_finds_a_page_that_overlaps(memories: Memories) -> None:
    whole = await keys(memories, "tea", mode="semantic", limit=100)
    overlapping = [await keys(memories, "tea", mode="semantic", limit=25, offset=start) for start in (0, 24, 49, 74)]
    assert merged(overlapping) != whole


async def test_several_queries_are_put_together_by_their_ranks(memories: Memories) -> None:
    asked = ["tea", "landlord", "xyzzy"]
    alone = [await keys(memories, query, mode="lexical", limit=COUNT) for query in asked]
    found = list(await memories.search(query=asked, mode="lexical", limit=COUNT))
    assert {hit.key for hit in found} == set(merged(alone))
    for hit in found:
        ranks = {number: ranking.index(hit.key) + 1 for number, ranking in enumerate(alone) if hit.key in ranking}
        assert hit.matched_queries == tuple(ranks)
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks.values()) * 61 / 3)
    assert _scores(found) == sorted(_scores(found), reverse=True)
    both = [hit for hit in found if hit.matched_queries == (0, 1)]
    assert both
    assert both[0].key == found[0].key, "what both find comes first"


async def test_the_same_query_twice_ranks_like_once(memories: Memories) -> None:
    once = await keys(memories, "green tea", limit=50)
    assert await keys(memories, ["green tea", "green tea"], limit=50) == once


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
async def test_the_least_score_cuts_the_ranking_off(mode: str, memories: Memories) -> None:
    everything = list(await memories.search(query="tea in the garden", mode=mode, limit=COUNT))
    for least in (0, 0.2, 0.5, 0.9, 1):
        found = await keys(memories, "tea in the garden", mode=mode, limit=COUNT, min_score=least)
        assert found == [hit.key for hit in everything if (hit.score or 0) >= least]


async def test_an_explanation_says_what_each_arm_found(memories: Memories) -> None:
    answer = await memories.search(query="tea garden", explain=True, limit=20)
    assert answer.explanation is not None
    assert answer.explanation["model"] == "hashing-256"
    assert answer.explanation["searched"] == COUNT
    words = list(await memories.search(query="tea garden", mode="lexical", limit=COUNT))
    for hit in answer:
        assert hit.explanation is not None
        rank = next((n for n, each in enumerate(words, 1) if each.key == hit.key), None)
        assert ("lexical" in hit.explanation) == (rank is not None)
        assert hit.explanation["semantic"]["field"] == "text"
    assert all(hit.explanation is None for hit in await memories.search(query="tea"))


def _scores(hits: Sequence[Item]) -> list[float]:
    return [hit.score or 0.0 for hit in hits]
