"""Three processes with wrong clocks index one PostgreSQL, and are killed; all is indexed, in effect once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from tests.processes.workers import Workers, settings_of
from tests.search.soundness import TENANT, unsound
from tests.sizes import sized

import recollect
from recollect.domain.callers import local_caller
from recollect.domain.errors import LeaseLost
from recollect.service.memories import Memories
from recollect.service.views import DeleteOp, PutOp
from recollect.sync import MemoriesSync, drive
from recollect.workers.indexer import Indexer
from recollect.workers.rounds import Holding

PER_BATCH = 25
QUERIES = 8
"""As many as are asked as one."""
PATIENCE = 120.0
"""How long nothing may be done before it is given up."""


def write(memories: MemoriesSync, jobs: int) -> dict[str, str]:
    """Write so many versions, some over others, and delete some; return the word that finds each live key."""
    chance = random.Random(jobs)
    words: dict[str, str] = {}
    for start in range(0, jobs, PER_BATCH):
        operations: list[PutOp | DeleteOp] = []
        for number in range(start, min(start + PER_BATCH, jobs)):
            again = bool(words) and chance.random() < 0.2
            key = chance.choice(list(words)[-100:]) if again else f"k{number}"
            words[key] = f"word{number}"
            operations.append(PutOp(("user", str(number % 5)) if not again else _place(key), key, {"text": words[key]}))
            if chance.random() < 0.1:
                gone = chance.choice(list(words)[-100:])
                operations.append(DeleteOp(_place(gone), gone))
                del words[gone]
        memories.batch(operations)
    return words


def _place(key: str) -> tuple[str, str]:
    return "user", str(int(key.removeprefix("k")) % 5)


def settle(memories: MemoriesSync) -> None:
    """Wait until nothing is pending, for as long as something is done."""
    workings = memories._memories.workings
    store, indexing = workings.store, workings.indexing
    least, since = float("inf"), time.monotonic()
    while True:
        lines = drive(indexing.book.lines(TENANT))
        pending = float("inf") if lines is None else drive(store.index_figures(TENANT, lines.serving.number)).pending
        if not pending:
            return
        if pending < least:
            least, since = pending, time.monotonic()
        assert time.monotonic() - since < PATIENCE, f"{pending} are pending, and nothing is done"
        time.sleep(0.05)


def flaws(memories: MemoriesSync, words: dict[str, str]) -> list[str]:
    """What is wrong with the index, and what searches do not find, or find too much."""
    workings = memories._memories.workings
    found = drive(unsound(workings.store, drive(workings.indexing.book.lines(TENANT))))
    pairs = sorted(words.items())
    for start in range(0, len(pairs), QUERIES):
        asked = pairs[start : start + QUERIES]
        hits = memories.search(query=[word for _, word in asked], mode="lexical", limit=QUERIES * 2, wait=0)
        if {hit.key for hit in hits} != {key for key, _ in asked}:
            found.append(f"searching for {asked} found {[hit.key for hit in hits]}")
    return found


@pytest.mark.parametrize("rivals", [False, True], ids=["in turn", "all at once"])
@sized(200, 10_000)
def test_all_is_indexed_in_effect_once_whoever_is_killed(
    count: int, rivals: bool, database: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    with (
        recollect.open_sync(tmp_path, settings=settings_of(database)) as memories,
        Workers(tmp_path, database, rivals=rivals) as workers,
    ):
        workers.kill_at_random(count, most=count // 40)
        words = write(memories, count)
        while workers.kills < 4:
            time.sleep(0.05)
        settle(memories)
        workers.rest()
        settle(memories)
        found = flaws(memories, words)
        sound = memories.verify().sound
    seconds = time.monotonic() - began
    print(f"indexing: {count} jobs, {workers.kills} kills, {len(words)} live, {len(found)} flaws, {seconds:.0f} s")
    assert found == []
    assert sound
    assert workers.kills > 3


@pytest.mark.parametrize(
    ("bug", "flaw"), [("loses entries", "missing"), ("keeps what ended", "an orphan")], ids=["loses", "keeps"]
)
def test_a_worker_that_does_half_of_it_is_found(bug: str, flaw: str, database: str, tmp_path: Path) -> None:
    with (
        recollect.open_sync(tmp_path, settings=settings_of(database)) as memories,
        Workers(tmp_path, database, bug=bug),
    ):
        words = write(memories, 60)
        settle(memories)
        memories.delete(_place(key := min(words)), key)
        del words[key]
        settle(memories)
        assert any(flaw in each for each in flaws(memories, words))


async def test_a_worker_that_lost_its_lease_leaves_the_rest_to_the_one_who_has_it(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(_: Holding) -> None:
        raise LeaseLost("it ran out")

    monkeypatch.setattr(Holding, "renew", lost)
    async with recollect.open(tmp_path, settings=settings_of(database)) as memories:
        workings = memories.workings
        for tenant in ("first", "second"):
            by = Memories(workings, local_caller(tenant, ""))
            await by.put(("user", "ann"), "k", {"text": "tea"})
        indexer = Indexer(
            workings.store,
            workings.extractor,
            workings.indexing,
            workings.searching,
            workings.decisions,
            holder="me",
            seconds=lambda: 1.0,
        )
        with pytest.raises(LeaseLost):
            await indexer.round()
        assert len(await workings.store.pending("second")) == 1
