"""Indexing that is killed at any of its steps goes on from there: nothing is missing in the end, and nothing left."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.search.soundness import TENANT, unsound
from tests.search.steps import Killed, Steps, counted
from tests.search.troubled import REFUSED, Troubled
from tests.search.victim import Victims, with_dimension

from recollect.domain.callers import local_caller
from recollect.main import compose, open_sync
from recollect.service.memories import Memories
from recollect.service.workings import Workings
from recollect.sync import drive

BATCH = 4
BEFORE, AFTER = 256, 64
"""Dimensions of the model that serves, and of the one that takes its place."""
MOST_STEPS = 400


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that indexing can meet: new, updated, deleted, refused, and another model."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    with open_sync(folder, settings=with_dimension(BEFORE, BATCH)) as memories:
        for number in range(9):
            memories.put(("user", f"u{number % 2}"), f"k{number}", {"text": f"tea number {number}"})
        memories.trigger_index()
        for number in (1, 2):
            memories.put(("user", f"u{number % 2}"), f"k{number}", {"text": f"coffee number {number}"})
        for number in (3, 4):
            memories.delete(("user", f"u{number % 2}"), f"k{number}")
        memories.archive(("user", "u1"), "k5")
        for number in range(9, 13):
            memories.put(("user", "u0"), f"k{number}", {"text": f"water number {number}"})
        memories.put(("user", "u0"), "unwanted", {"text": "nothing"}, index_fields=[])
    return folder


def finished(folder: Path, dimension: int = AFTER) -> list[str]:
    """Let another process index to the end; say what is wrong then."""
    workings = compose(folder, with_dimension(dimension, BATCH), direct=True)
    try:
        drive(workings.indexing.round(TENANT))
        return drive(unsound(workings.store, drive(workings.indexing.book.lines(TENANT))))
    finally:
        drive(workings.close())


def stopped_at(folder: Path, step: int, *, after: bool, dimension: int = AFTER, planted: str = "") -> bool:
    """Index, and stop at that step as if the process had ended; False when there are fewer steps."""
    workings = compose(folder, with_dimension(dimension, BATCH), direct=True)
    try:
        with counted(workings, Steps(step, after=after)), planting(workings, planted):
            drive(workings.indexing.round(TENANT))
        return False
    except Killed:
        return True
    finally:
        drive(workings.close())


def planting(workings: Workings, planted: str) -> Any:
    """A store that marks versions as indexed without keeping, or dropping, their entries."""
    store = workings.store
    real = store.reflect

    async def marks_only(tenant: str, series: int, reflected: Any) -> int:
        spoiled = [each for each in reflected if each.mark.live == (planted == "keeps nothing")]
        await store.mark_indexed(tenant, [each.mark for each in spoiled])
        return await real(tenant, series, [each for each in reflected if each not in spoiled])

    return patch.object(store, "reflect", marks_only if planted else real)


def swept(prepared: Path, folder: Path, stride: int) -> tuple[list[str], int]:
    """Stop at the steps, before or after each; return what was wrong, and how many steps there are."""
    flaws: list[str] = []
    for turn in range(0, 2 * MOST_STEPS, stride):
        step, after = turn // 2 + 1, turn % 2 == 1
        copy = folder / str(turn)
        shutil.copytree(prepared, copy)
        killed = stopped_at(copy, step, after=after)
        flaws += [f"stopped {'after' if after else 'before'} step {step}: {flaw}" for flaw in finished(copy)]
        shutil.rmtree(copy)
        if not killed:
            return flaws, step - 1
    raise AssertionError("there is no end of steps")


every_step = pytest.mark.parametrize(
    "stride", [pytest.param(7, id="small"), pytest.param(1, id="full", marks=pytest.mark.soak)]
)


@every_step
def test_stopped_at_any_step_it_goes_on_from_there(stride: int, prepared: Path, tmp_path: Path) -> None:
    flaws, steps = swept(prepared, tmp_path, stride)
    print(f"indexing stopped at each of {steps} steps, before and after it: {len(flaws)} flaws")
    assert flaws == []
    assert steps > 20


@pytest.mark.parametrize(("planted", "named"), [("keeps nothing", "missing"), ("drops nothing", "orphan")])
def test_the_harness_finds_a_store_that_only_marks(planted: str, named: str, prepared: Path, tmp_path: Path) -> None:
    """Without another model, which makes all entries anew."""
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy)
    stopped_at(copy, 12, after=True, dimension=BEFORE, planted=planted)
    flaws = finished(copy, BEFORE)
    assert any(named in flaw for flaw in flaws), flaws


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as running:
        yield running


@every_step
def test_killed_at_any_step_it_goes_on_from_there(
    stride: int, victims: Victims, prepared: Path, tmp_path: Path
) -> None:
    flaws: list[str] = []
    kills = 0
    for step in range(1, MOST_STEPS, stride):
        copy, after = tmp_path / str(step), step % 2 == 0
        shutil.copytree(prepared, copy)
        killed = victims.index(copy, step, after=after, dimension=AFTER, batch=BATCH)
        flaws += [f"killed at step {step}: {flaw}" for flaw in finished(copy)]
        shutil.rmtree(copy)
        kills += killed
        if not killed:
            break
    print(f"indexing killed at {kills} steps: {len(flaws)} flaws")
    assert flaws == []
    assert kills >= 20 // stride


def test_killed_again_and_again_it_still_comes_to_its_end(victims: Victims, prepared: Path, tmp_path: Path) -> None:
    """Every process gets a few steps further than the one before."""
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy)
    kills = 0
    while victims.index(copy, 9, after=True, dimension=AFTER, batch=BATCH):
        kills += 1
        assert kills < 100, "it does not come to an end"
    assert kills >= 2
    assert finished(copy) == []


def test_stopped_while_a_text_is_put_off_it_is_put_off_in_the_end(tmp_path: Path) -> None:
    for step in range(1, MOST_STEPS):
        folder = tmp_path / str(step)
        embedder = Troubled()
        with patch("recollect.main.embedder_of", lambda _, embedder=embedder: embedder):
            workings = compose(folder, with_dimension(BEFORE), direct=True)
            try:
                memories = Memories(workings, local_caller(TENANT, ""))
                for number in range(3):
                    drive(memories.put(("a",), f"k{number}", {"text": f"tea {number}"}))
                drive(memories.put(("a",), "poisoned", {"text": REFUSED}))
                try:
                    with counted(workings, Steps(step, after=step % 2 == 0)):
                        drive(workings.indexing.round(TENANT))
                    done = True
                except Killed:
                    done = False
                drive(workings.indexing.round(TENANT))
                lines = drive(workings.indexing.book.lines(TENANT))
                assert drive(unsound(workings.store, lines, poisoned=1)) == [], step
            finally:
                drive(workings.close())
        shutil.rmtree(folder)
        if done:
            break
    assert step > 6
