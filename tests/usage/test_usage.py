"""Usage: every load is counted once, whoever reads beside whom, and no read waits for it or fails by it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.scene import SETTINGS, TENANT, Scene, scene
from tests.sizes import sized

import recollect
from recollect.domain.address import namespace
from recollect.domain.commits import Commit, Receipt
from recollect.domain.errors import Forbidden, InvalidQuery, NotFound, StoreUnavailable
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.service import usage as module
from recollect.workers.counter import Counter

NOTES = ("user", "alice", "notes")
ALICE = namespace(("user", "alice"))


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path)


def count_commits(here: Scene, monkeypatch: pytest.MonkeyPatch) -> list[Commit]:
    """Every commit from now on."""
    store = here.root.workings.store
    seen: list[Commit] = []
    commit = store.commit

    async def counted(given: Commit) -> Receipt:
        seen.append(given)
        return await commit(given)

    monkeypatch.setattr(store, "commit", counted)
    return seen


async def kept(here: Scene) -> int:
    """How many rows tell of usage."""
    return len((await here.root.workings.store.find(TENANT, Find(Plane.USAGE, limit=1_000))).rows)


async def fetched(here: Scene, key: str = "tea") -> Any:
    return (await here.admin.get_usage(NOTES, key))["usage"]["fetch_count"]


async def test_a_get_counts_and_a_search_a_miss_and_a_look_at_the_past_do_not(place: str) -> None:
    async with scene(place) as here:
        await here.alice.put(NOTES, "tea", {"text": "green"})
        written = here.clock.now
        for _ in range(3):
            here.clock.advance(1)
            assert await here.alice.get(NOTES, "tea") is not None
        await here.alice.search(NOTES)
        await here.alice.search(NOTES, query="green")
        await here.alice.history(NOTES, "tea")
        await here.alice.get(NOTES, "coffee")
        item = await here.alice.get(NOTES, "tea", include_usage=True)
        assert item is not None
        assert item.usage == {"fetch_count": 3, "last_fetched_at": "2026-01-01T00:00:03Z"}
        await here.alice.get(NOTES, "tea", as_of=item.updated_at)
        assert here.clock.now - written == 3_000_000
        assert await fetched(here) == 4
        assert (await here.admin.top_usage())["usage"][0]["key"] == "tea"


async def test_without_being_asked_for_it_is_not_shown_and_a_search_shows_it_without_counting(place: str) -> None:
    async with scene(place) as here:
        await here.alice.put(NOTES, "tea", {"text": "green"})
        item = await here.alice.get(NOTES, "tea")
        assert item is not None
        assert item.usage is None
        for asked in ({}, {"query": "green"}):
            (hit,) = await here.alice.search(NOTES, include_usage=True, **asked)  # type: ignore[arg-type] # one of two
            assert hit.usage == {"fetch_count": 1, "last_fetched_at": "2026-01-01T00:00:00Z"}
            (hit,) = await here.alice.search(NOTES, **asked)  # type: ignore[arg-type] # one of two
            assert hit.usage is None


async def test_what_an_administrator_reads_with_a_justification_is_no_load(place: str) -> None:
    async with scene(place) as here:
        await here.alice.put(NOTES, "tea", {"text": "green"})
        assert await here.admin.justified("a ticket").get(NOTES, "tea") is not None
        assert await here.admin.justified("a ticket", as_user_id="alice").get(NOTES, "tea") is not None
        assert await fetched(here) == 0


async def test_no_read_commits_anything(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.alice.put(NOTES, "tea", {"text": "green"})
    commits = count_commits(here, monkeypatch)
    for _ in range(50):
        await here.alice.get(NOTES, "tea", include_usage=True)
    assert commits == []
    assert await here.root.workings.usage.flush() == 1
    assert [len(each.operations) for each in commits] == [1]
    assert await here.root.workings.usage.flush() == 0
    assert len(commits) == 1


async def test_a_counter_that_writes_with_every_read_is_caught(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.alice.put(NOTES, "tea", {"text": "green"})
    commits = count_commits(here, monkeypatch)
    for _ in range(3):
        await here.alice.get(NOTES, "tea")
        await here.root.workings.usage.flush()  # the planted bug
    assert len(commits) == 3


@sized(200, 20_000)
async def test_readers_and_writers_of_counts_in_parallel_lose_none(place: str, count: int) -> None:
    async with scene(place) as here:
        for key in "ab":
            await here.alice.put(NOTES, key, {"text": key})

        async def reader(number: int) -> None:
            for step in range(count // 10):
                await here.alice.get(NOTES, "ab"[(number + step) % 2])
                if step % 7 == number % 7:
                    await here.root.workings.usage.flush()

        await asyncio.gather(*(reader(number) for number in range(10)))
        assert await fetched(here, "a") + await fetched(here, "b") == count // 10 * 10
        await here.root.workings.usage.flush()
        assert await fetched(here, "a") + await fetched(here, "b") == count // 10 * 10


def test_threads_that_share_memories_lose_none(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
        memories.put(NOTES, "tea", {"text": "green"})

        def read(_: int) -> None:
            for _ in range(50):
                memories.get(NOTES, "tea")

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(read, range(8)))
        assert memories.get_usage(NOTES, "tea")["usage"]["fetch_count"] == 400


PROCESS = """
import sys
import recollect
with recollect.open_sync(sys.argv[1], settings=recollect.Settings(embedder="hashing")) as memories:
    for number in range(int(sys.argv[2])):
        memories.get(("user", "alice", "notes"), "tea")
        if number % 10 == 0:
            memories.top_usage()
"""


def test_two_processes_on_one_directory_add_up(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
        memories.put(NOTES, "tea", {"text": "green"})
        words = [sys.executable, "-c", PROCESS, str(tmp_path)]
        others = [subprocess.Popen([*words, str(each)]) for each in (130, 70)]
        assert [each.wait(60) for each in others] == [0, 0]
        memories.get(NOTES, "tea")
        assert memories.get_usage(NOTES, "tea")["usage"]["fetch_count"] == 201
    with recollect.open_sync(tmp_path, settings=SETTINGS) as memories:
        assert memories.get_usage(NOTES, "tea")["usage"]["fetch_count"] == 201
        assert memories.verify().sound


async def test_a_store_that_fails_to_count_fails_no_read_and_nothing_is_lost(
    here: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await here.alice.put(NOTES, "tea", {"text": "green"})
    store = here.root.workings.store

    async def away(*_: object) -> Any:
        raise StoreUnavailable("the disk is away")

    with monkeypatch.context() as broken:
        broken.setattr(store, "commit", away)
        assert await here.alice.get(NOTES, "tea") is not None
        assert await here.root.workings.usage.flush() == 0
        broken.setattr(store, "get_each", away)
        item = await here.alice.get(NOTES, "tea", include_usage=True)
        assert item is not None
        assert item.value == {"text": "green"}
        assert item.usage is None
    assert {each.message for each in caplog.records} == {"usage.failed", "usage.unread"}
    assert "green" not in caplog.text
    assert await here.root.workings.usage.flush() == 1
    assert await fetched(here) == 2


async def test_what_is_noted_is_bounded_and_what_is_dropped_is_told(
    here: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    for number in range(5):
        await here.alice.put(NOTES, f"k{number}", {"text": "x"})
        await here.alice.get(NOTES, f"k{number}")
        await here.alice.get(NOTES, f"k{number}")
    assert await here.root.workings.usage.flush() == 3
    assert [(each.message, each.__dict__["fields"]) for each in caplog.records] == [("usage.dropped", {"loads": 4})]


async def test_a_key_that_is_made_again_counts_anew(place: str) -> None:
    async with scene(place) as here:
        await here.alice.put(NOTES, "tea", {"text": "green"})
        await here.alice.get(NOTES, "tea")
        await here.root.workings.usage.flush()
        await here.alice.get(NOTES, "tea")  # noted, but not written down before the key is gone
        await here.alice.delete(NOTES, "tea")
        with pytest.raises(NotFound):
            await here.admin.get_usage(NOTES, "tea")
        here.clock.advance(1)
        await here.alice.put(NOTES, "tea", {"text": "black"})
        assert await fetched(here) == 0
        await here.alice.get(NOTES, "tea")
        await here.root.workings.usage.flush()
        assert await fetched(here) == 1
        here.clock.advance(1)
        await here.alice.put(NOTES, "tea", {"text": "white"})  # an update is the same key
        assert await fetched(here) == 1


async def test_the_row_of_a_deleted_key_goes_with_the_next_flush_or_sweep(place: str) -> None:
    async with scene(place) as here:
        for key in ("tea", "milk"):
            await here.alice.put(NOTES, key, {"text": key})
            await here.alice.get(NOTES, key)
        await here.root.workings.usage.flush()
        assert await kept(here) == 2
        await here.alice.get(NOTES, "tea")
        await here.alice.delete(NOTES, "tea")
        await here.root.workings.usage.flush()
        assert await kept(here) == 1
        await here.alice.delete(NOTES, "milk")
        assert (await here.admin.top_usage())["usage"] == []
        await here.admin.sweep()
        assert await kept(here) == 0


async def test_erasing_a_user_erases_their_usage(place: str) -> None:
    async with scene(place) as here:
        for user in ("alice", "bob"):
            await here.as_user(user).put(("user", user), "tea", {"text": "green"})
            await here.as_user(user).get(("user", user), "tea")
        await here.root.workings.usage.flush()
        await here.alice.get(("user", "alice"), "tea")  # still in memory
        rows = (await here.root.workings.store.find(TENANT, Find(Plane.USAGE, ALICE))).rows
        assert len(rows) == 1
        await here.admin.erase("user:alice")
        await here.root.workings.usage.flush()
        history = await here.root.workings.store.history(TENANT, rows[0].address)
        assert all(each.value is None for each in history)
        assert [each["namespace"] for each in (await here.admin.top_usage())["usage"]] == [["user", "bob"]]


async def test_the_list_is_ordered_narrowed_and_bounded(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, key in enumerate("abc", 1):
        await here.alice.put(NOTES, key, {"text": key})
        for _ in range(number):
            here.clock.advance(1)
            await here.alice.get(NOTES, key)
    here.clock.advance(1)
    await here.alice.get(NOTES, "a")
    found = await here.admin.top_usage()
    assert [(each["key"], each["usage"]["fetch_count"]) for each in found["usage"]] == [("c", 3), ("a", 2), ("b", 2)]
    assert (found["looked_at"], found["complete"]) == (3, True)
    by_time = await here.admin.top_usage(sort="last_fetched_at", limit=2)
    assert [each["key"] for each in by_time["usage"]] == ["a", "c"]
    assert (await here.admin.top_usage(namespace_prefix=("user", "bob")))["usage"] == []
    monkeypatch.setattr(module, "_PAGE", 1)
    monkeypatch.setattr(module, "MOST_LOOKED_AT", 2)
    assert (await here.admin.top_usage())["complete"] is False


async def test_usage_is_for_administrators_and_auditors(here: Scene) -> None:
    for who in (here.alice, here.maria):
        with pytest.raises(Forbidden):
            await who.get_usage(NOTES, "tea")
        with pytest.raises(Forbidden):
            await who.top_usage()
    await here.as_user("eve", "auditor").top_usage()
    with pytest.raises(InvalidQuery):
        await here.admin.top_usage(sort="name")


async def test_records_count_apart_from_items_of_the_same_name(here: Scene) -> None:
    await here.say("My name is Ada.")
    record = (await here.alice.list_records())["records"][0]
    key = record["id"].partition("alice:")[2]
    await here.alice.put(ALICE.segments, key, {"text": "an item"})
    usage, now = here.root.workings.usage, here.clock.now
    for _ in range(2):
        usage.note(TENANT, ALICE, key, Plane.RECORD, now)
    await here.alice.get(ALICE.segments, key)
    await usage.flush()
    told = {each["plane"]: each["usage"]["fetch_count"] for each in (await here.admin.top_usage())["usage"]}
    assert told == {"record": 2, "item": 1}


async def test_the_counter_writes_down_tidies_and_tells_how_much_waits(here: Scene) -> None:
    await here.alice.put(NOTES, "tea", {"text": "green"})
    await here.alice.get(NOTES, "tea")
    for text in ("My name is Ada.", "Actually, my name is Grace.", "My name is Ada."):
        here.clock.advance(1)
        await here.say(text)
    assert len(await here.waiting()) == 1
    here.clock.advance(90)
    told: list[tuple[int, float]] = []
    workings = here.root.workings
    counter = Counter(
        workings.store,
        workings.usage,
        workings.clock,
        holder="one",
        seconds=lambda: 1.0,
        report=lambda *figures: told.append(figures),
    )
    assert await counter.round() == 1
    assert told == [(1, 90.0)]
    await here.alice.delete(NOTES, "tea")
    assert await counter.round() == 0
    assert await kept(here) == 0
