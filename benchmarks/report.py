"""From samples to figures, ratios and verdicts; as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.goals import GOALS, Goal, Verdict, verdicts
from benchmarks.growth import Grown, ratios
from benchmarks.rows import ROWS
from benchmarks.running import Series
from benchmarks.subjects import Subject
from benchmarks.subjects.ours import Ours
from benchmarks.workload import Counts

NOTES = (
    (
        "Ratios are throughput of recollect divided by throughput of the other, from the medians of all rounds: "
        "above 1, recollect is faster."
    ),
    (
        "recollect runs with its defaults: values encrypted, every change in the hash-chained log, old versions kept. "
        "The peers overwrite in place, in plain text, without a log."
    ),
    (
        "The filter asks for the same fact in another place: recollect keeps it as a plain policy attribute, "
        "SqliteStore finds it inside the JSON value."
    ),
    "Every value that is read is decoded within the time measured.",
    (
        "The floor inserts the very rows and events that recollect wrote, sealed beforehand, into the same tables with "
        "the same settings, and does nothing else."
    ),
    (
        "Where a row has 16 at once, the table compares with the form in which the peer is faster: 16 tasks on "
        "AsyncSqliteStore, which puts what arrives in one turn of the event loop into one transaction, or 16 threads "
        "on SqliteStore. The goals name SqliteStore itself, so they are judged against its 16 threads. recollect "
        "always counts with 16 tasks."
    ),
    "At either size of the growth measurement every user was read once beforehand.",
)


@dataclass(frozen=True)
class Figure:
    """One subject in one row: the medians of all rounds."""

    per_second: float
    p50_us: float
    p99_us: float
    form: str


@dataclass(frozen=True)
class Report:
    """Everything that a run found."""

    machine: Mapping[str, object]
    counts: Counts
    subjects: Sequence[Subject]
    figures: Mapping[tuple[str, str], Figure]
    """By row and subject, in the form that counts."""
    slower_forms: Mapping[tuple[str, str], Figure]
    ratios: Mapping[tuple[str, str], float]
    growth: Sequence[Grown]
    growth_ratios: Mapping[str, float]
    verdicts: Sequence[Verdict]


def report(
    machine: Mapping[str, object],
    counts: Counts,
    subjects: Sequence[Subject],
    series: Series,
    growth: Sequence[Grown],
    goals: Sequence[Goal] = GOALS,
) -> Report:
    """Everything that follows from the samples."""
    figures, slower = _figures(series)
    against = {
        (row, name): figures[row, Ours.name].per_second / figure.per_second
        for (row, name), figure in figures.items()
        if name != Ours.name
    }
    for (row, name), figure in [*figures.items(), *slower.items()]:
        if name != Ours.name and figure.form:
            against[row, f"{name}, {figure.form}"] = figures[row, Ours.name].per_second / figure.per_second
    grown = ratios(growth) if growth else {}
    return Report(machine, counts, subjects, figures, slower, against, growth, grown, verdicts(against, grown, goals))


def _figures(series: Series) -> tuple[dict[tuple[str, str], Figure], dict[tuple[str, str], Figure]]:
    """The figures that count, and those of the other form where a subject was measured in two."""
    counting: dict[tuple[str, str], Figure] = {}
    others: dict[tuple[str, str], Figure] = {}
    for (row, name, form), samples in series.items():
        figure = Figure(
            median(sample.per_second for sample in samples),
            median(sample.percentile(0.5) for sample in samples),
            median(sample.percentile(0.99) for sample in samples),
            form,
        )
        known = counting.get((row, name))
        if known is None:
            counting[row, name] = figure
        elif name != Ours.name and figure.per_second > known.per_second:
            counting[row, name], others[row, name] = figure, known
        else:
            others[row, name] = figure
    return counting, others


def table(found: Report) -> str:
    """The report as text."""
    return "\n".join(
        [
            *throughput_lines(found),
            "",
            *ratio_lines(found),
            "",
            *_growth(found),
            "",
            *goal_lines(found.verdicts),
            "",
            *_notes(),
        ]
    )


def throughput_lines(found: Report) -> Iterator[str]:
    """What every subject did in every row."""
    yield "Operations per second (p50 / p99 of one call in µs)"
    yield from (f"  {subject.name:<23} {subject.durability}" for subject in found.subjects)
    for row in ROWS:
        yield row.title
        for subject in found.subjects:
            place = (row.name, subject.name)
            if place in found.figures:
                yield f"  {subject.name:<23} {_line(found.figures[place])}"
            if place in found.slower_forms:
                other = found.slower_forms[place]
                ratio = found.figures[row.name, Ours.name].per_second / other.per_second
                yield f"  {'':<23} {_line(other)} (against this form: {ratio:.2f}×)"


def _line(figure: Figure) -> str:
    return f"{figure.per_second:>12,.0f}/s   {figure.p50_us:>10,.1f} / {figure.p99_us:>10,.1f}   {figure.form}"


def ratio_lines(found: Report) -> Iterator[str]:
    """How we compare, row by row."""
    others = [subject.name for subject in found.subjects if subject.name != Ours.name]
    goals = {verdict.goal.row: verdict for verdict in found.verdicts}
    yield f"recollect is so many times as fast as{'':<3}" + "".join(f"{name:>24}" for name in others) + "   goal"
    for row in ROWS:
        cells = [f"{found.ratios[row.name, name]:.2f}×" if (row.name, name) in found.ratios else "" for name in others]
        yield f"  {row.title:<37}" + "".join(f"{cell:>24}" for cell in cells) + f"   {_verdict(goals.get(row.name))}"


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    return f"{verdict.goal.text()} {verdict.goal.against}: {'met' if verdict.met else 'MISSED'}"


def _growth(found: Report) -> Iterator[str]:
    if not found.growth:
        return
    yield "Growth of recollect (µs)"
    yield "       items      get p50     get mean      put p50     put mean  batch, item     load s    on disk MB"
    for grown in found.growth:
        yield (
            f"{grown.items:>12,} {grown.get_p50:>12.1f} {grown.get_mean:>12.1f} {grown.put_p50:>12.1f} "
            f"{grown.put_mean:>12.1f} {grown.batch_put_per_item:>12.1f} {grown.load_seconds:>10.1f} "
            f"{grown.bytes_on_disk / 1e6:>13,.1f}"
        )
    yield "       ratio " + " ".join(f"{ratio:>11.2f}×" for ratio in found.growth_ratios.values())


def goal_lines(reached: Sequence[Verdict]) -> Iterator[str]:
    """What was to be reached, and whether it was."""
    met = sum(verdict.met for verdict in reached)
    yield f"Goals: {met} of {len(reached)} met"
    for verdict in reached:
        yield (
            f"  {'met   ' if verdict.met else 'MISSED'} {verdict.goal.row:<18} against {verdict.goal.against:<23} "
            f"{verdict.ratio:>6.2f}{verdict.goal.unit}   goal {verdict.goal.text()}"
        )


def _notes() -> Iterator[str]:
    yield "Notes"
    yield from (f"  - {note}" for note in NOTES)


def as_json(found: Report) -> str:
    """The report for programs."""
    said = {
        "machine": found.machine,
        "counts": asdict(found.counts),
        "durability": {subject.name: subject.durability for subject in found.subjects},
        "rows": rows_as_json(found),
        "growth": {"sizes": [asdict(grown) for grown in found.growth], "ratios": found.growth_ratios},
        "goals": [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in found.verdicts],
        "notes": NOTES,
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def rows_as_json(found: Report) -> dict[str, object]:
    """The figures of every row."""
    return {
        row.name: {
            "title": row.title,
            "subjects": {
                name: {
                    **asdict(figure),
                    "ours_over_this": found.ratios.get((row.name, name)),
                    "other_form": _plain(found.slower_forms.get((row.name, name))),
                }
                for (each, name), figure in found.figures.items()
                if each == row.name
            },
        }
        for row in ROWS
    }


def _plain(figure: Figure | None) -> dict[str, object] | None:
    return None if figure is None else asdict(figure)


def write(path: Path, text: str) -> None:
    """Put a result in place at once, so that an interrupted run leaves the last one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text)
    beside.replace(path)
