"""Another model: searches answer from the old vectors until the new ones are complete, and never from a mixture."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.embedding.server import serving
from tests.search.plain import Memory, cosines
from tests.search.soundness import TENANT, entered, unsound
from tests.search.victim import Victims, with_dimension
from tests.sizes import sized

import recollect
from recollect import Memories, PutOp
from recollect.config import Settings
from recollect.domain.errors import EmbedderTrouble, RecollectError
from recollect.domain.rows import Item
from recollect.ports.store import EntryPage, Place

OLD, NEW = 256, 64
QUERIES = ("tea number 7", "coffee without sugar", "a river in the mountains", "indentation of number 12")
WORDS = ("tea", "coffee", "sugar", "river", "mountains", "indentation", "whitespace", "garden")


def texts(count: int) -> list[str]:
    return [f"{WORDS[n % 8]} and {WORDS[n * 3 % 7]}, number {n}" for n in range(count)]


async def fill(folder: Path, count: int, settings: Settings) -> list[Memory]:
    """So many memories, indexed by a first model."""
    known: list[Memory] = []
    async with recollect.open(folder, settings=settings) as memories:
        for start in range(0, count, 500):
            part = list(enumerate(texts(count)))[start : start + 500]
            done = await memories.batch([PutOp(("user", f"u{n % 7}"), f"k{n}", {"text": text}) for n, text in part])
            for (number, text), each in zip(part, done, strict=True):
                assert each.id is not None
                known.append(Memory(each.id.bytes, ("user", f"u{number % 7}"), f"k{number}", {"text": text}, {}, 0))
        await memories.trigger_index()
    return known


class Expected:
    """What either model would answer, by brute force."""

    def __init__(self, known: Sequence[Memory]) -> None:
        self._scores = {
            (dimension, query): {row_id: max(0.0, each) for row_id, each in cosines(known, query, dimension).items()}
            for dimension in (OLD, NEW)
            for query in QUERIES
        }

    def flaws(self, hits: Sequence[Item], query: str, model: str) -> list[str]:
        """What is wrong with an answer that says by which model it is."""
        wanted = self._scores[int(model.removeprefix("hashing-")), query]
        best = sorted(wanted.values(), reverse=True)[:10]
        scores = [hit.score or 0.0 for hit in hits]
        if len(hits) != len(best):
            return [f"{len(hits)} hits for {query!r} by {model} instead of {len(best)}"]
        if any(abs(one - other) > 1e-4 for one, other in zip(scores, best, strict=True)):
            return [f"{query!r} by {model}: {scores} instead of {best}"]
        return [
            f"{hit} by {model} has {hit.score}, not {wanted[hit.id.bytes]}"
            for hit in hits
            if abs((hit.score or 0.0) - wanted[hit.id.bytes]) > 1e-4
        ]


async def ask(memories: Memories, expected: Expected, query: str) -> tuple[str, list[str]]:
    found = await memories.search(query=query, mode="semantic", explain=True, limit=10, wait=0)
    assert found.explanation is not None
    model = found.explanation["model"]
    return model, expected.flaws(found.items, query, model)


@sized(300, 10_000)
async def test_searches_meanwhile_answer_from_one_model_and_progress_is_seen(count: int, tmp_path: Path) -> None:
    began = time.perf_counter()
    expected = Expected(await fill(tmp_path, count, with_dimension(OLD)))
    seen: list[str] = []
    flaws: list[str] = []
    progress: list[tuple[int, int]] = []
    async with recollect.open(tmp_path, settings=with_dimension(NEW, 20)) as memories:
        memories.workings.indexing.inline = False
        seen.append((await ask(memories, expected, QUERIES[0]))[0])
        over = asyncio.Event()

        async def search(number: int) -> None:
            turn = number
            while not over.is_set() or seen[-1] != f"hashing-{NEW}":
                model, wrong = await ask(memories, expected, QUERIES[turn % len(QUERIES)])
                seen.append(model)
                flaws.extend(wrong)
                turn += 1

        async def watch() -> None:
            while not over.is_set():
                status = await memories.index_status()
                if status.rebuilding is not None:
                    progress.append((status.rebuilding.done, status.rebuilding.total))
                await asyncio.sleep(0.01)

        tasks = [asyncio.create_task(each) for each in (search(0), search(1), watch())]
        await memories.trigger_index()
        over.set()
        await asyncio.gather(*tasks)
        status = await memories.index_status()
        flaws += await unsound(memories.workings.store, await memories.workings.indexing.book.lines(TENANT))
    print(
        f"model change: {count} items, {len(seen)} searches meanwhile, {seen.count(seen[0])} by the old model, "
        f"{len(progress)} looks at the progress, {time.perf_counter() - began:.0f} s"
    )
    assert flaws == []
    assert seen[0] == f"hashing-{OLD}"
    assert seen[-1] == f"hashing-{NEW}"
    assert len(progress) > 3
    assert all(total == count and 0 <= done <= total for done, total in progress), progress[-5:]
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert (status.model, status.rebuilding, status.indexed) == (f"hashing-{NEW}", None, count)


async def test_the_harness_finds_a_mixture(tmp_path: Path) -> None:
    expected = Expected(await fill(tmp_path, 40, with_dimension(OLD)))
    async with recollect.open(tmp_path, settings=with_dimension(OLD)) as memories:
        by_old = list(await memories.search(query=QUERIES[0], mode="semantic"))
        assert expected.flaws(by_old, QUERIES[0], f"hashing-{OLD}") == []
        assert expected.flaws(by_old, QUERIES[0], f"hashing-{NEW}") != []
        assert expected.flaws(by_old[:-1], QUERIES[0], f"hashing-{OLD}") != []


async def test_a_search_that_begins_before_the_change_and_reads_after_it_finds_everything(tmp_path: Path) -> None:
    """The old entries are removed under a search that was about to read them."""
    expected = Expected(await fill(tmp_path, 60, with_dimension(OLD)))
    async with recollect.open(tmp_path, settings=with_dimension(NEW)) as memories:
        store, indexing = memories.workings.store, memories.workings.indexing
        real, changed = store.entries, False

        async def late(*given: object, after: Place | None = None, limit: int = 1_000) -> EntryPage:
            nonlocal changed
            if not changed:
                changed = True
                await indexing.round(TENANT)
            return await real(*given, after=after, limit=limit)  # type: ignore[arg-type] # passed through

        with patch.object(store, "entries", late):
            _, flaws = await ask(memories, expected, QUERIES[0])
        assert changed
        assert flaws == []


# -- killed, and going on


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as running:
        yield running


@sized(300, 10_000)
async def test_killed_in_the_middle_it_goes_on_and_searches_answer_throughout(
    count: int, victims: Victims, tmp_path: Path
) -> None:
    expected = Expected(await fill(tmp_path, count, with_dimension(OLD)))
    flaws: list[str] = []
    made: list[int] = []
    batch = max(10, count // 40)
    while await asyncio.to_thread(victims.index, tmp_path, 12, after=True, dimension=NEW, batch=batch):
        async with recollect.open(tmp_path, settings=with_dimension(NEW)) as memories:
            memories.workings.indexing.inline = False
            model, wrong = await ask(memories, expected, QUERIES[len(made) % len(QUERIES)])
            flaws += wrong
            status = await memories.index_status()
            if status.rebuilding is not None:
                assert model == f"hashing-{OLD}"
                made.append(status.rebuilding.done)
        assert len(made) < 1_000, "it does not come to an end"
    print(f"model change of {count} items killed after {made} entries: {len(flaws)} flaws")
    async with recollect.open(tmp_path, settings=with_dimension(NEW)) as memories:
        model, wrong = await ask(memories, expected, QUERIES[0])
        assert model == f"hashing-{NEW}"
        flaws += wrong
        flaws += await unsound(memories.workings.store, await memories.workings.indexing.book.lines(TENANT))
    assert flaws == []
    assert made == sorted(made)
    assert len(made) > 3


@pytest.mark.parametrize("then", [OLD, 128])
async def test_another_change_in_the_middle_leaves_nothing_behind(then: int, victims: Victims, tmp_path: Path) -> None:
    expected = Expected(await fill(tmp_path, 100, with_dimension(OLD)))
    assert victims.index(tmp_path, 20, after=True, dimension=NEW, batch=10)
    async with recollect.open(tmp_path, settings=with_dimension(then, 10)) as memories:
        store, book = memories.workings.store, memories.workings.indexing.book
        assert 0 < len(await entered(store, 2)) < 100, "it was stopped in the middle"
        model, flaws = await ask(memories, expected, QUERIES[1])
        assert (model, flaws) == (f"hashing-{OLD}", [])
        status = await memories.trigger_index()
        assert (status.model, status.rebuilding, status.indexed) == (f"hashing-{then}", None, 100)
        assert await unsound(store, await book.lines(TENANT)) == []
        await memories.put(("user", "u1"), "new", {"text": "tea for two"})
        assert "new" in [hit.key for hit in await memories.search(query="tea for two", mode="semantic")]


async def test_what_is_written_updated_and_deleted_meanwhile_is_right_by_both_models(
    victims: Victims, tmp_path: Path
) -> None:
    await fill(tmp_path, 60, with_dimension(OLD))
    assert victims.index(tmp_path, 20, after=True, dimension=NEW, batch=10)
    async with recollect.open(tmp_path, settings=with_dimension(NEW, 10)) as memories:
        await memories.put(("user", "u0"), "k0", {"text": "whisky"})
        await memories.delete(("user", "u1"), "k1")
        await memories.put(("user", "u0"), "new", {"text": "whisky and soda"})
        for model in (f"hashing-{OLD}", f"hashing-{NEW}"):
            found = await memories.search(query="whisky", explain=True, limit=100)
            assert found.explanation is not None
            assert found.explanation["model"] == model
            assert {hit.key for hit in found.items[:2]} == {"k0", "new"}
            assert "k1" not in {hit.key for hit in found}
            await memories.trigger_index()
        assert await unsound(memories.workings.store, await memories.workings.indexing.book.lines(TENANT)) == []


# -- models that cannot be had


def openai(url: str, seconds: float = 30) -> Settings:
    return Settings(
        embedder="openai", embedder_url=url, embedder_model="m", embedder_seconds=seconds, policy_engine="builtin"
    )


def dead_url() -> str:
    return "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("url", [None, dead_url()], ids=["unknown", "dead"])
async def test_while_the_old_model_cannot_be_had_searches_answer_by_words_and_say_so(
    url: str | None, tmp_path: Path
) -> None:
    with serving() as server:
        await fill(tmp_path, 30, openai(server.url))
    settings = Settings(
        embedder="hashing", embedder_url=url, embedder_dimension=NEW, embedder_seconds=0.5, policy_engine="builtin"
    )
    async with recollect.open(tmp_path, settings=settings) as memories:
        memories.workings.indexing.inline = False
        found = await memories.search(query="whitespace", explain=True)
        assert found.explanation is not None
        assert any("words alone" in rule for rule in found.explanation["rules"])
        assert found.items
        assert all("whitespace" in str(hit.value) for hit in found)
        with pytest.raises(RecollectError):
            await memories.search(query="whitespace", mode="semantic")
        await memories.put(("user", "u0"), "new", {"text": "whitespace, again"})
        await memories.trigger_index()
        found = await memories.search(query="whitespace", explain=True, limit=100)
        assert found.explanation is not None
        assert (found.explanation["model"], found.explanation["rules"]) == (f"hashing-{NEW}", [])
        assert "new" in {hit.key for hit in found}
        assert await unsound(memories.workings.store, await memories.workings.indexing.book.lines(TENANT)) == []


async def test_while_the_new_model_cannot_be_had_the_old_one_serves_also_what_is_new(tmp_path: Path) -> None:
    expected = Expected(await fill(tmp_path, 30, with_dimension(OLD)))
    async with recollect.open(tmp_path, settings=openai(dead_url(), 0.5)) as memories:
        model, flaws = await ask(memories, expected, QUERIES[0])
        assert (model, flaws) == (f"hashing-{OLD}", [])
        await memories.put(("user", "u0"), "new", {"text": "whisky"})
        assert [hit.key for hit in await memories.search(query="whisky", mode="lexical")] == ["new"]
        with pytest.raises(EmbedderTrouble):
            await memories.trigger_index()


async def test_while_the_first_model_cannot_be_had_words_find_what_is_written(tmp_path: Path) -> None:
    with serving() as server:
        settings = openai(server.url, 0.5)
        server.refuses, server.status = (lambda _: True), 503
        async with recollect.open(tmp_path, settings=settings) as memories:
            await memories.put(("user", "u0"), "k", {"text": "whisky"})
            found = await memories.search(query="whisky", explain=True)
            assert [hit.key for hit in found] == ["k"]
            assert found.explanation is not None
            assert any("words alone" in rule for rule in found.explanation["rules"])
            server.refuses = lambda _: False
            status = await memories.trigger_index()
            assert (status.model, status.rebuilding, status.indexed) == ("openai/m", None, 1)
            assert [hit.key for hit in await memories.search(query="whisky", mode="semantic")] == ["k"]


async def test_back_to_the_first_model_from_a_copy_is_the_same_as_never_having_left(tmp_path: Path) -> None:
    home = tmp_path / "home"
    expected = Expected(await fill(home, 50, with_dimension(OLD)))
    for dimension in (NEW, OLD, NEW):
        async with recollect.open(home, settings=with_dimension(dimension, 10)) as memories:
            await memories.trigger_index()
            assert await ask(memories, expected, QUERIES[2]) == (f"hashing-{dimension}", [])
            assert await unsound(memories.workings.store, await memories.workings.indexing.book.lines(TENANT)) == []
    shutil.rmtree(home)
