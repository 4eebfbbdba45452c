"""Processes are killed while they write; whatever they were told was done, is done."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.sizes import sized

from recollect.domain.reasons import EventKind
from recollect.main import open_sync
from recollect.service.views import MemoryEvent
from recollect.sync import MemoriesSync
from recollect.testing.faults.kills import Acknowledged, Victims

CYCLES_PER_FOLDER = 25
Place = tuple[str, str]


@dataclass
class Tally:
    """What happened over many cycles, and every flaw that was found."""

    cycles: int = 0
    acknowledged: int = 0
    flaws: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    with Victims() as running:
        yield running


def killed_often(victims: Victims, folder: Path, count: int, *, planted: bool = False) -> Tally:
    """Kill so many processes, and look at what each left; a directory serves for some of them in a row."""
    tally, chance = Tally(), random.Random(count)
    everything: list[Acknowledged] = []
    for cycle in range(count):
        home = folder / str(cycle // CYCLES_PER_FOLDER)
        if cycle % CYCLES_PER_FOLDER == 0:
            everything = []
            shutil.rmtree(folder / str(cycle // CYCLES_PER_FOLDER - 1), ignore_errors=True)
        everything += (said := victims.killed(home, cycle, from_fork=chance.random() < 0.1, planted=planted))
        tally.cycles += 1
        tally.acknowledged += len(said)
        with open_sync(home) as memories:
            flaws = _flaws(memories, everything)
        tally.flaws += flaws
        if planted and flaws:
            break
    return tally


def _flaws(memories: MemoriesSync, acknowledged: list[Acknowledged]) -> list[str]:
    """What is wrong between what was acknowledged, the log, and the rows."""
    log = _log(memories)
    flaws: list[str] = []
    erased = {event.namespace[1]: at for at, event in sorted(log.items()) if event.kind is EventKind.ERASED}
    for each in acknowledged:
        event = log.get(each.sequence)
        if event is None:
            flaws.append(f"{each} was acknowledged and is not in the log")
        elif (event.kind, event.namespace, event.key, event.revision) != (
            each.kind,
            ("user", each.subject),
            each.key,
            each.revision,
        ):
            flaws.append(f"{each} was acknowledged, but the log has {event}")
        elif each.token and each.sequence < erased.get(each.subject, 0):
            if event.value is not None:
                flaws.append(f"{each} was erased later, and {event} still has its value")
        elif each.token and (event.value or {}).get("token") != each.token:
            flaws.append(f"{each} was acknowledged with another value than {event} has")
    if sorted(log) != list(range(1, len(log) + 1)):
        flaws.append("the log has gaps")
    if (rows := _rows(memories)) != (told := _folded(log)):
        flaws.append(f"rows and log disagree: {sorted(rows.items() ^ told.items())[:4]}")
    verification = memories.verify()
    flaws += [str(problem) for problem in verification.problems]
    return flaws


def _log(memories: MemoriesSync) -> dict[int, MemoryEvent]:
    log: dict[int, MemoryEvent] = {}
    cursor: str | None = None
    while True:
        page = memories.events(after=cursor, limit=1_000)
        log.update((event.sequence, event) for event in page)
        cursor = page.cursor
        if page.complete:
            return log


def _rows(memories: MemoriesSync) -> dict[Place, int]:
    rows: dict[Place, int] = {}
    cursor: str | None = None
    while True:
        page = memories.search(("user",), order="key", limit=1_000, cursor=cursor)
        rows.update(((item.namespace[1], item.key), item.revision) for item in page)
        cursor = page.cursor
        if cursor is None:
            return rows


def _folded(log: dict[int, MemoryEvent]) -> dict[Place, int]:
    """Which keys are live, and at which revision, going by the log alone."""
    live: dict[Place, int] = {}
    for _, event in sorted(log.items()):
        subject, key = event.namespace[1], event.key
        if event.kind is EventKind.ERASED:
            live = {place: revision for place, revision in live.items() if place[0] != subject}
        elif event.kind is EventKind.DELETE:
            live.pop((subject, key), None)
        else:
            live[subject, key] = event.revision
    return live


@sized(30, 2_000)
def test_whatever_was_acknowledged_survives_the_killing_of_its_process(
    count: int, victims: Victims, tmp_path: Path
) -> None:
    began = time.perf_counter()
    tally = killed_often(victims, tmp_path, count)
    pace = tally.cycles / (time.perf_counter() - began) * 60
    print(f"kill: {tally.cycles} cycles, {tally.acknowledged} acknowledged, {pace:.0f} cycles/min")
    assert tally.flaws == []
    assert tally.acknowledged > 0


def test_the_harness_finds_a_store_that_acknowledges_before_it_commits(victims: Victims, tmp_path: Path) -> None:
    tally = killed_often(victims, tmp_path, CYCLES_PER_FOLDER, planted=True)
    assert any("is not in the log" in flaw for flaw in tally.flaws), tally
