"""Running the rows: every subject in every round, in alternating order, each in a fresh folder."""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.rows import ROWS, Material, Opened, everything_put, material
from benchmarks.subjects import Subject
from benchmarks.subjects.floor import Floor
from benchmarks.subjects.ours import Ours
from benchmarks.subjects.peers import SQLITE_DEFAULT, SQLITE_WAL_FULL, SQLITE_WAL_NORMAL, LangGraphMemory
from benchmarks.workload import BATCH, PAGE, Counts, Sample

Tell = Callable[[str], None]
Series = dict[tuple[str, str, str], list[Sample]]
"""The samples of all rounds, by row, subject and form."""


class Disagreement(Exception):
    """Two subjects answered the same question differently, so that comparing their speed would mean nothing."""


def all_subjects(counts: Counts, folder: Path) -> list[Subject]:
    """Everything that is compared."""
    floor = Floor(everything_put(counts), _made(folder / "recorded"))
    return [Ours(), SQLITE_DEFAULT, SQLITE_WAL_FULL, SQLITE_WAL_NORMAL, LangGraphMemory(), floor]


def compare(counts: Counts, folder: Path, tell: Tell) -> tuple[Series, list[Subject]]:
    """Time every row on every subject, round by round."""
    subjects = all_subjects(counts, folder)
    return compared(subjects, counts, folder, tell), subjects


def compared(
    subjects: Sequence[Subject],
    counts: Counts,
    folder: Path,
    tell: Tell,
    *,
    filled: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> Series:
    """The same for these subjects; `filled` is called when a round has filled them, and `ended` when it is over."""
    series: Series = defaultdict(list)
    with asyncio.Runner() as runner:
        for number in range(counts.rounds):
            order = subjects if number % 2 == 0 else subjects[::-1]
            _round(order, material(counts, number), _made(folder / f"round-{number}"), runner, series, tell, filled)
            ended()
            shutil.rmtree(folder / f"round-{number}")
            tell(f"round {number + 1} of {counts.rounds} done")
    return dict(series)


def _round(
    subjects: Sequence[Subject],
    work: Material,
    folder: Path,
    runner: asyncio.Runner,
    series: Series,
    tell: Tell,
    filled: Callable[[], None],
) -> None:
    opened = [_open(subject, folder, work, runner) for subject in subjects]
    try:
        for place, row in enumerate(ROWS):
            tell(f"  {row.title}")
            for each in opened if place % 2 == 0 else opened[::-1]:
                if row.for_floor or each.subject.name != Floor.name:
                    for form, sample in row.run(each, work, runner).items():
                        series[row.name, each.subject.name, form].append(sample)
            if row.name == "batch_put":
                filled()
                _check_agreement([each for each in opened if each.subject.name != Floor.name], work)
    finally:
        for each in opened:
            each.plain.close()
            if each.evented is not None:
                runner.run(each.evented.close())


def _open(subject: Subject, folder: Path, work: Material, runner: asyncio.Runner) -> Opened:
    plain = subject.plain(_made(folder / subject.name / "plain"))
    evented = runner.run(subject.evented(_made(folder / subject.name / "evented")))
    if evented is not None:
        for at in range(0, len(work.stored), BATCH):
            runner.run(evented.fill(work.stored[at : at + BATCH]))
    return Opened(subject, plain, evented)


def _check_agreement(opened: Sequence[Opened], work: Material) -> None:
    listed = {tuple(map(tuple, each.plain.namespaces(work.listings[0]))) for each in opened}
    if len(listed) != 1:
        raise Disagreement("the subjects list different namespaces")
    for each in opened:
        for wanted in work.wanted[:20]:
            if each.plain.get(wanted) != wanted.value:
                raise Disagreement(f"{each.subject.name} does not give back what was put under {wanted.key}")
        for question in (*work.narrow[:5], *work.broad[:2]):
            matching = sum(
                memo.value["topic"] == question.topic and memo.namespace[: len(question.prefix)] == question.prefix
                for memo in work.stored
            )
            found = each.plain.search(question)
            if len(found) != min(PAGE, matching) or any(value["topic"] != question.topic for value in found):
                raise Disagreement(f"{each.subject.name} finds something else for {question}")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
