"""While writers write and indexers die, no search shows what it must not; when all is quiet, the index is sound."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from http.client import HTTPException
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.search.plain import SETTINGS
from tests.search.soundness import TENANT, unsound
from tests.search.storm import VOCABULARY, Storm, Tally, timed
from tests.search.victim import Victims
from tests.sizes import sized

import recollect
from recollect.backends.sqlite import SqliteStore
from recollect.domain.rows import Row
from recollect.testing.servers import Server


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as running:
        yield running


async def stormed(folder: Path, items: int, searches: int, victims: Victims | None, planted: Any = None) -> Tally:
    async with recollect.open(folder, settings=SETTINGS) as memories:
        memories.workings.indexing.inline = False
        storm = Storm(memories, items, seed=items)
        with planted() if planted is not None else nullcontext():
            await storm.rage(searches, victims, folder)
        storm.tally.flaws += await storm.calm()
        return storm.tally


@sized(400, 10_000)
async def test_no_search_shows_what_it_must_not_and_nothing_is_left_or_missing(
    count: int, victims: Victims, tmp_path: Path
) -> None:
    began = time.perf_counter()
    tally = await stormed(tmp_path, count, 10 * count if count > 1_000 else 2 * count, victims)
    print(f"convergence: {count} items, {tally}, {timed(began)}")
    assert tally.flaws == []
    assert tally.kills > 0
    assert tally.hits > tally.searches


def stale() -> Any:
    """A store that gives rows as they were when they were first asked for."""
    real, known = SqliteStore.rows, dict[bytes, Row]()

    async def rows(store: SqliteStore, tenant: str, ids: Sequence[bytes]) -> Sequence[Row]:
        for row in await real(store, tenant, ids):
            known.setdefault(row.id, row)
        return [known[row_id] for row_id in ids if row_id in known]

    return patch.object(SqliteStore, "rows", rows)


def deaf() -> Any:
    """A store that drops no entry."""
    real = SqliteStore.reflect

    async def reflect(store: SqliteStore, tenant: str, series: int, reflected: Any) -> int:
        await store.mark_indexed(tenant, [each.mark for each in reflected if not each.mark.live])
        return await real(store, tenant, series, [each for each in reflected if each.mark.live])

    return patch.object(SqliteStore, "reflect", reflect)


@pytest.mark.parametrize(("planted", "named"), [(stale, "had ended before"), (deaf, "an orphan")])
async def test_the_harness_finds_a_store_that_does_not_notice_ends(planted: Any, named: str, tmp_path: Path) -> None:
    tally = await stormed(tmp_path, 200, 600, None, planted)
    assert any(named in flaw for flaw in tally.flaws), tally


# -- a server and a process of its own, on one directory


@sized(160, 4_000)
async def test_a_server_that_is_killed_and_another_process_leave_a_sound_index(count: int, tmp_path: Path) -> None:
    began = time.perf_counter()
    server = Server(tmp_path, policy_engine="builtin", index_seconds=0.2).start()
    over = threading.Event()
    http = Tally()
    try:
        stranger = server.key_for("stranger")

        async with recollect.open(tmp_path, settings=SETTINGS) as memories:
            memories.workings.indexing.inline = False
            storm = Storm(memories, count, seed=count)
            with ThreadPoolExecutor(2) as threads:
                asked = [
                    threads.submit(over_http, server, over, http, key, n)
                    for n, key in ((0, server.token), (1, stranger))
                ]
                restarting = asyncio.create_task(restarted(server, over))
                try:
                    await storm.rage(2 * count, None, tmp_path)
                finally:
                    over.set()
                    await restarting
                for each in asked:
                    each.result()
            await asyncio.sleep(0.5)
            storm.tally.flaws += http.flaws + await storm.calm()
            lines = await memories.workings.indexing.book.lines(TENANT)
            storm.tally.flaws += await unsound(memories.workings.store, lines)
    finally:
        server.stop()
    print(
        f"server and process: {count} items, {storm.tally}; "
        f"over HTTP {http.writes} writes, {http.searches} searches, {timed(began)}"
    )
    assert storm.tally.flaws == []
    assert http.searches > 10
    assert "Traceback" not in server.log()


async def restarted(server: Server, over: threading.Event) -> None:
    """Kill the server now and then, and start it again."""
    while not over.is_set():
        await asyncio.sleep(2.0)
        if not over.is_set():
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)


def over_http(server: Server, over: threading.Event, tally: Tally, key: str, number: int) -> None:
    """Write and search through the server, as far as it is there."""
    turn = answered = 0
    while not over.is_set() or answered < 20:
        turn += 1
        try:
            place = {"namespace": ["user", "stranger"], "key": f"http-{number}-{turn % 20}"}
            text = f"{VOCABULARY[turn % len(VOCABULARY)]} {VOCABULARY[turn * 7 % len(VOCABULARY)]}"
            status, told, _ = server.request("PUT", "/v1/memories", place | {"value": {"text": text}}, token=key)
            tally.writes += status in (200, 201)
            if status >= 500:
                tally.flaws.append(f"a write was answered with {status}: {told}")
            body = {"namespace_prefix": [], "query": VOCABULARY[turn % 10], "limit": 50, "wait": 0}
            status, told, _ = server.request("POST", "/v1/memories/search", body, token=key)
        except (OSError, HTTPException):
            time.sleep(0.05)
            continue
        answered += 1
        tally.searches += 1
        if status != 200:
            tally.flaws.append(f"a search was answered with {status}: {told}")
        elif number == 1 and any(item["namespace"][:2] != ["user", "stranger"] for item in told["items"]):
            tally.flaws.append(f"a stranger was shown {told['items']}")
