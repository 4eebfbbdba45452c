"""Whoever writes and then searches with `wait` finds what was written, every time."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.search.plain import SETTINGS
from tests.sizes import sized

import recollect
from recollect.domain.address import ROOT
from recollect.domain.reasons import Plane
from recollect.ports.store import EntryPage
from recollect.service.opened import Shelves
from recollect.service.series import Series
from recollect.testing.servers import Server, running

WRITERS = 8
KEYS = 40
"""Keys of each writer, so that most writes are updates of what was found before."""


@dataclass
class Tally:
    """How often what was just written was not found, and how long it took."""

    pairs: int = 0
    misses: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        return 1_000 * sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))]

    def __str__(self) -> str:
        return (
            f"{self.pairs} pairs, {len(self.misses)} misses, p50 {self.quantile(0.5):.1f} ms, "
            f"p99 {self.quantile(0.99):.1f} ms"
        )


def said(writer: int, number: int) -> str:
    return f"unique{writer}x{number}"


async def in_process(path: Path, count: int, wait: float | None) -> Tally:
    """Pairs by several writers at once, each in its own namespace and in one that all share."""
    tally = Tally()
    async with recollect.open(path, settings=SETTINGS) as memories:

        async def write(writer: int) -> None:
            chance = random.Random(writer)
            for number in range(count // WRITERS):
                word, place = said(writer, number), ("user", chance.choice((f"w{writer}", "shared")))
                key = f"{writer}-{number % KEYS}"
                began = time.perf_counter()
                await memories.put(place, key, {"text": f"the word is {word}"})
                mode, within = chance.choice(("hybrid", "lexical")), chance.choice(((), ("user",), place))
                found = await memories.search(within, query=word, mode=mode, limit=1, wait=wait)
                tally.seconds.append(time.perf_counter() - began)
                tally.pairs += 1
                if [hit.key for hit in found] != [key] or word not in str(found.items[0].value):
                    tally.misses.append(f"{word} in {within} by {mode}")

        await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    return tally


@sized(200, 10_000)
async def test_a_search_with_wait_finds_what_was_just_written(count: int, tmp_path: Path) -> None:
    tally = await in_process(tmp_path, count, 60.0)
    print(f"read your writes, in process: {tally}")
    assert tally.misses == []
    assert tally.pairs == count


@sized(80, 1_000)
async def test_without_saying_so_a_search_in_process_waits_too(count: int, tmp_path: Path) -> None:
    assert (await in_process(tmp_path, count, None)).misses == []


async def test_the_harness_finds_a_search_that_does_not_wait(tmp_path: Path) -> None:
    assert (await in_process(tmp_path, 80, 0)).misses


async def test_put_with_wait_returns_once_it_is_found(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as memories:
        for number in range(20):
            done = await memories.put(("a",), f"k{number}", {"text": said(0, number)}, wait="indexed")
            assert done.indexed is True
            found = await memories.search(("a",), query=said(0, number), mode="lexical", wait=0)
            assert [hit.key for hit in found] == [f"k{number}"]
        assert (await memories.put(("a",), "unsaid", {"text": "x"})).indexed is None
        unfindable = await memories.put(("a",), "none", {"text": "hidden"}, index_fields=[], wait="indexed")
        assert unfindable.indexed is True
        assert len(await memories.search(("a",), query="hidden", mode="lexical")) == 0


def test_threads_that_share_one_store_find_what_they_wrote(tmp_path: Path) -> None:
    misses: list[str] = []
    with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:

        def write(writer: int) -> None:
            for number in range(20):
                memories.put(("user", "shared"), f"{writer}-{number % 7}", {"text": said(writer, number)})
                found = memories.search(query=said(writer, number), mode="lexical", limit=1)
                if [hit.key for hit in found] != [f"{writer}-{number % 7}"]:
                    misses.append(said(writer, number))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
    assert misses == []


# -- over HTTP


def over_http(server: Server, count: int, *, wait: bool) -> Tally:
    """The same over HTTP; without `wait`, ask again until it is found."""
    tally, lock = Tally(), threading.Lock()
    turn = random.randrange(1 << 30)

    def write(writer: int) -> None:
        for number in range(count // WRITERS):
            word, key = f"unique{turn}x{writer}x{number}", f"{writer}-{number % KEYS}"
            body = {
                "namespace_prefix": ["user"],
                "query": word,
                "mode": "lexical",
                "limit": 1,
                "wait": 60 if wait else 0,
            }
            value = {"text": f"the word is {word}"}
            put = {"namespace": ["user", f"w{writer % 3}"], "key": key, "value": value}
            status, told, _ = server.request("PUT", "/v1/memories", put)
            assert status in (200, 201), told
            began = time.perf_counter()
            for _ in range(1 if wait else 10_000):
                status, found, _ = server.request("POST", "/v1/memories/search", body)
                assert status == 200, found
                if [item["key"] for item in found["items"]] == [key]:
                    break
            else:
                tally.misses.append(word)
            with lock:
                tally.seconds.append(time.perf_counter() - began)
                tally.pairs += 1

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, range(WRITERS)))
    return tally


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("home"), policy_engine="builtin") as started:
        yield started


@sized(80, 10_000)
def test_over_http_a_search_with_wait_finds_what_was_just_written(count: int, server: Server) -> None:
    tally = over_http(server, count, wait=True)
    print(f"read your writes, over HTTP: {tally}")
    assert tally.misses == []
    assert tally.pairs == count


@sized(80, 2_000)
def test_without_wait_it_is_found_soon(count: int, server: Server) -> None:
    tally = over_http(server, count, wait=False)
    print(f"time to visible without wait, over HTTP: {tally}")
    assert tally.misses == []


# -- two who bring one shelf up to date


async def test_a_search_sees_all_that_it_read_although_another_was_quicker_with_less(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as memories:
        store, series = memories.workings.store, Series(1, "hashing-256", 256)
        shelves, calls = Shelves(store, _at_once, 1 << 30), 0
        await memories.put(("a",), "first", {"text": "tea"}, wait="indexed")
        opened, _ = await shelves.fresh("default", Plane.ITEM, ROOT, series)
        since = opened.shelf.upto
        await memories.put(("a",), "second", {"text": "tea"}, wait="indexed")
        less = await store.entry_changes("default", Plane.ITEM, ROOT, 1, since)
        await memories.put(("a",), "third", {"text": "tea"}, wait="indexed")
        real = store.entry_changes

        async def overtaken(*given: Any, **more: Any) -> EntryPage:
            nonlocal calls
            page = await real(*given, **more)
            if not calls:
                opened.take(since, less)  # by the other one, who had read before the third was written
            calls += 1
            return page

        with patch.object(store, "entry_changes", overtaken):
            found, _ = await shelves.fresh("default", Plane.ITEM, ROOT, series)
        assert len(found.shelf) == 3


async def _at_once(work: Any) -> Any:
    return work()
