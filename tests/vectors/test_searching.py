"""Searches that a vector store proposes for find what searches in memory find."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.search.plain import SETTINGS
from tests.search.test_filtered import asked_often
from tests.sizes import sized

import recollect
from recollect import Memories, PutOp
from recollect.config import Settings
from recollect.domain.address import ROOT
from recollect.domain.errors import VectorsUnavailable
from recollect.domain.reasons import Plane
from recollect.domain.rows import Item
from recollect.ports.vectors import Scope, VectorStore
from recollect.service.following import Following, line_of
from recollect.testing.doubles import ManualClock

WORDS = ("tea", "coffee", "sugar", "garden", "python", "tabs", "spaces", "river", "mountain", "blue", "green", "red")


@sized(150, 5_000)
async def test_the_answer_is_that_of_an_exact_search_of_the_scope(count: int, placed: Settings, tmp_path: Path) -> None:
    flaws, hits = await asked_often(tmp_path, count, most=5, settings=placed)
    assert flaws == []
    assert hits > count


def text_of(number: int) -> str:
    """A text like no other."""
    chance = random.Random(number)
    return " ".join(chance.choices(WORDS, k=4 + number % 9)) + f" number{number}"


async def filled(memories: Memories, count: int = 120) -> None:
    await memories.batch(
        [
            PutOp(
                ("user", f"u{number % 5}"),
                f"k{number}",
                {"text": text_of(number)},
                policy_attributes={"rank": number % 4},
            )
            for number in range(count)
        ]
    )


def told(hits: Iterable[Item]) -> list[tuple[float, str, Any]]:
    """What was found; those of equal scores by their keys."""
    return sorted((-round(hit.score or 0.0, 3), hit.key, hit.matched_queries) for hit in hits)


QUESTIONS: list[dict[str, Any]] = [
    {"query": "tea in the garden"},
    {"query": "python tabs", "limit": 5, "offset": 60},
    {"query": "green", "filter": {"rank": {"gte": 2}}, "min_score": 0.2},
    {"query": "sugar", "mode": "semantic"},
    {"query": "sugar coffee", "mode": "lexical"},
]


async def test_scores_and_reasons_are_those_of_a_look_at_everything(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path / "one", settings=SETTINGS) as memories:
        await filled(memories)
    shutil.copytree(tmp_path / "one", tmp_path / "other")  # with its keys: vectors are turned in the same way
    async with (
        recollect.open(tmp_path / "one", settings=placed) as proposed,
        recollect.open(tmp_path / "other", settings=SETTINGS) as exact,
    ):
        for place in ((), ("user",), ("user", "u3")):
            for question in QUESTIONS:
                one = await proposed.search(place, explain=True, **question)
                other = await exact.search(place, explain=True, **question)
                assert told(one) == told(other), (place, question)
                assert one.explanation is not None
                assert other.explanation is not None
                assert one.explanation["searched"] == other.explanation["searched"]
                assert [sorted(hit.explanation or {}) for hit in one] == [
                    sorted(hit.explanation or {}) for hit in other
                ]


async def test_several_queries_find_alike(placed: Settings, tmp_path: Path) -> None:
    """Among those of nearly equal scores, the ranks that are added up may differ; the best have no such neighbours."""
    async with recollect.open(tmp_path / "one", settings=SETTINGS) as memories:
        await filled(memories)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    async with (
        recollect.open(tmp_path / "one", settings=placed) as proposed,
        recollect.open(tmp_path / "other", settings=SETTINGS) as exact,
    ):
        one = await proposed.search((), query=["river", "blue mountain"], limit=30)
        other = await exact.search((), query=["river", "blue mountain"], limit=30)
        assert [hit.key for hit in one.items[:5]] == [hit.key for hit in other.items[:5]]
        assert len(one) == len(other) == 30


def following(memories: Memories) -> Following:
    found = memories.workings.searching.following
    assert found is not None
    return found


def kept(vectors: VectorStore, memories: Memories, tenant: str = "default") -> int:
    """How many versions the vector store has, of all series."""
    now = memories.workings.clock()
    return sum(vectors.statistics(line, Scope(now), []).count for line in vectors.lines(tenant))


async def test_what_was_erased_is_gone_when_the_receipt_is_given(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=placed) as memories:
        await filled(memories)
        await memories.search((), query="tea")
        vectors = following(memories).vectors
        assert kept(vectors, memories) == 120
        await memories.erase("user:u3")
        assert kept(vectors, memories) == 96
        assert (await memories.search(("user", "u3"), query="tea")).items == []


async def test_what_ended_is_neither_shown_nor_counted(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=placed) as memories:
        await filled(memories, 10)
        assert len(await memories.search((), query="tea", mode="semantic", limit=50)) == 10
        await memories.delete(("user", "u0"), "k0")
        await memories.put(("user", "u1"), "k1", {"text": "something else"})
        found = await memories.search((), query="something else", mode="semantic", limit=50, explain=True)
        assert (len(found), found.items[0].key) == (9, "k1")
        assert found.explanation is not None
        assert found.explanation["searched"] == 9


async def test_a_store_that_was_followed_by_nobody_is_filled_from_the_start(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as memories:
        await filled(memories)
        expected = told(await memories.search((), query="tea"))
    async with recollect.open(tmp_path, settings=placed) as memories:
        assert told(await memories.search((), query="tea")) == expected
        assert kept(following(memories).vectors, memories) == 120


async def test_one_that_did_not_follow_for_long_is_made_anew(placed: Settings, tmp_path: Path) -> None:
    clock = ManualClock()
    async with recollect.open(tmp_path, settings=placed, clock=clock) as memories:
        await filled(memories, 20)
        await memories.search((), query="tea")
    async with recollect.open(tmp_path, settings=SETTINGS, clock=clock) as memories:
        for number in range(5):
            await memories.delete(("user", f"u{number}"), f"k{number}")
        await memories.search((), query="tea")
        clock.advance(200 * 86_400)
        await memories.sweep()
    async with recollect.open(tmp_path, settings=placed, clock=clock) as memories:
        await memories.search((), query="tea")
        assert kept(following(memories).vectors, memories) == 15


async def test_one_that_is_ahead_of_a_restored_store_is_made_anew(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path / "data", settings=placed) as memories:
        await filled(memories, 5)
        await memories.search((), query="tea")
        await memories.backup(tmp_path / "backup.db")
        await filled(memories, 20)
        await memories.search((), query="tea")
    recollect.restore(tmp_path / "backup.db", tmp_path / "back", keys=tmp_path / "data")
    async with recollect.open(tmp_path / "back", settings=placed) as memories:
        assert len(await memories.search((), query="tea", mode="semantic", limit=50)) == 5
        assert kept(following(memories).vectors, memories) == 5


async def test_vectors_of_a_model_that_serves_no_longer_are_forgotten(placed: Settings, tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=placed) as memories:
        await filled(memories, 20)
        await memories.search((), query="tea")
    other = replace(placed, embedder="none")
    async with recollect.open(tmp_path, settings=other) as memories:
        await memories.trigger_index()
        (line,) = following(memories).vectors.lines("default")
        assert (line.model, line.dimension) == ("none", 0)
        assert len(await memories.search((), query="tea", mode="lexical", limit=50)) > 0


async def test_without_the_vector_store_small_scopes_are_searched_and_large_ones_refused(
    placed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recollect.open(tmp_path, settings=replace(placed, vectors_exact=30)) as memories:
        await filled(memories)
        await memories.search((), query="tea")
        following(memories).vectors.close()

        def refuse(*_: object) -> None:
            raise VectorsUnavailable("gone")

        for name in ("write", "nearest", "sharing", "statistics", "followed", "follow", "lines", "forget"):
            monkeypatch.setattr(following(memories).vectors, name, refuse)
        assert len(await memories.search(("user", "u3"), query="tea")) == 10
        with pytest.raises(VectorsUnavailable):
            await memories.search((), query="tea")
        await memories.put(("user", "u3"), "new", {"text": "tea"})
        await memories.erase("user:u4")
        assert len(await memories.search(("user", "u3"), query="tea", limit=30)) == 25


async def test_what_a_vector_store_proposes_is_not_believed(placed: Settings, tmp_path: Path) -> None:
    """It may know what is gone, or belongs to somebody else: nothing of that is shown."""
    async with recollect.open(tmp_path, settings=placed) as memories:
        await filled(memories, 30)
        await memories.search((), query="tea")
        lines = await memories.workings.indexing.book.lines("default")
        assert lines is not None
        vectors, line = following(memories).vectors, line_of("default", Plane.ITEM, lines.serving)
        page = await memories.workings.store.entries("default", Plane.ITEM, ROOT, line.series)
        await memories.delete(("user", "u0"), "k0")
        assert page.entries
        nearest = vectors.nearest

        def everything(*asked: Any) -> list[tuple[bytes, float]]:
            return [*nearest(*asked), *((entry.id, 1.0) for entry in page.entries), (bytes(16), 1.0)]

        vectors.nearest = everything  # type: ignore[method-assign,assignment] # a vector store that lies
        found = await memories.search(("user", "u0"), query="tea", mode="semantic", limit=50)
        assert {hit.namespace for hit in found} == {("user", "u0")}
        assert len(found) == 5
