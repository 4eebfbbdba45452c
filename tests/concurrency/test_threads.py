"""Callers without an event loop share one store from many threads, and none sees half of what another does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import recollect
from recollect import MemoriesSync, Settings

PLACE = ("user", "alice", "notes")
ROUNDS = 150
SETTINGS = Settings(embedder="hashing")


@pytest.fixture(params=["in memory", "on disk"])
def memories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoriesSync]:
    place = ":memory:" if request.param == "in memory" else str(tmp_path / "data")
    with recollect.open_sync(place, settings=SETTINGS) as opened:
        yield opened


@pytest.fixture(autouse=True)
def impatient_interpreter() -> Iterator[None]:
    """Change threads at every chance, so that a step between two of a commit's is met."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def test_what_is_overwritten_is_never_missing(memories: MemoriesSync) -> None:
    memories.put(PLACE, "k", {"n": 0})

    def write() -> list[int]:
        return [memories.put(PLACE, "k", {"n": number}).revision for number in range(1, ROUNDS)]

    def read() -> list[int]:
        """One finding in three ways a round: by its key, in its place, and what there is of it."""
        found = []
        for _ in range(ROUNDS):
            item = memories.get(PLACE, "k")
            assert item is not None
            found.append(item.revision)
            assert [each.key for each in memories.search(PLACE).items] == ["k"]
            assert memories.list_namespaces() == [PLACE]
        return found

    with ThreadPoolExecutor(4) as threads:
        writing, *reading = [threads.submit(write), *(threads.submit(read) for _ in range(3))]
        assert writing.result(60) == list(range(2, ROUNDS + 1))
        for seen in reading:
            assert seen.result(60) == sorted(seen.result())


def test_what_grows_can_be_searched_and_swept(memories: MemoriesSync) -> None:
    def write(who: int) -> None:
        for number in range(ROUNDS // 3):
            memories.put(PLACE, f"{who}-{number}", {"text": "tea"}, ttl=None if number % 2 else 0.001)

    def look() -> None:
        for _ in range(ROUNDS // 3):
            memories.search(PLACE)
            memories.search(PLACE, query="tea")
            memories.sweep()
            memories.events()

    with ThreadPoolExecutor(4) as threads:
        for done in [*(threads.submit(write, who) for who in range(2)), *(threads.submit(look) for _ in range(2))]:
            done.result(60)
    left = {each.key for each in memories.search(PLACE, limit=ROUNDS).items}
    assert left == {f"{who}-{number}" for who in range(2) for number in range(ROUNDS // 3) if number % 2}
    assert memories.verify().problems == ()
