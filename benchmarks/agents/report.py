"""From samples at the doors of agents to figures, ratios and verdicts; as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.agents import calls, stores, tools
from benchmarks.agents.subjects import OURS, POSTGRES, SQLITE, SQLITE_WAL, Subject
from benchmarks.goals import Goal, Verdict
from benchmarks.report import goal_lines
from benchmarks.workload import Counts, Sample

PEERS = (SQLITE, SQLITE_WAL, POSTGRES)
JUDGED = (SQLITE, POSTGRES)
NO_SLOWER, OF_THE_STACK, MILLISECONDS = 1.0, 0.7, 10.0
NOTES = (
    (
        "LangGraph's calls are plain calls of `BaseStore` on stores with the same items. Ratios are throughput of "
        "recollect divided by throughput of the other in the same round, in the median of all rounds: above 1, "
        "recollect is faster. The spread is that of single rounds."
    ),
    (
        "recollect is `recollect.langgraph.open_store` with its defaults: values encrypted, every change in the "
        "hash-chained log, every call decided by the policy. It filters what it has opened; the peers filter in the "
        "database, in plain text."
    ),
    (
        "By meaning, all have one embedder, which makes vectors of 384 numbers without a model, and its time is part "
        "of every search. recollect searches by words and by meaning together, the peers by meaning alone. SqliteStore "
        "has sqlite-vec and a WAL."
    ),
    (
        "The bare gRPC server has `grpc.aio` and the loop of ours, parses the request, and answers a message that ours "
        "answered before. It knows no callers. One process calls both, over one connection each, and shares the "
        "machine with them; the processor time is that of the server alone, what it does in the background included."
    ),
    "The tools run in process, over notes that they stored themselves; the local model is the default.",
)


@dataclass(frozen=True)
class Figure:
    """The medians of all rounds."""

    per_second: float
    p50_us: float
    p99_us: float


@dataclass(frozen=True)
class Ratio:
    """How many times as fast we are: in the median of rounds, in the slowest and in the fastest."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Report:
    """Everything that a run found."""

    machine: Mapping[str, object]
    counts: Counts
    subjects: Sequence[Subject]
    titles: Mapping[str, str]
    figures: Mapping[tuple[str, str], Figure]
    ratios: Mapping[tuple[str, str], Ratio]
    processor_us: Mapping[tuple[str, str], float]
    tools: Mapping[tuple[str, str], Figure]
    verdicts: Sequence[Verdict]
    notes: Sequence[str]


def report(
    machine: Mapping[str, object],
    counts: Counts,
    subjects: Sequence[Subject],
    series: stores.Series,
    called: calls.Series,
    used: tools.Series,
    notes: Sequence[str],
) -> Report:
    """Everything that follows from the samples."""
    answered = {at: [each.sample for each in taken] for at, taken in called.items()}
    ratios = _ratios(series, OURS) | _ratios(answered, calls.OURS)
    using = {at: _figure(samples) for at, samples in used.items()}
    return Report(
        machine,
        counts,
        subjects,
        stores.titles(series),
        {at: _figure(samples) for at, samples in (series | answered).items()},
        ratios,
        {at: median(each.processor_us for each in taken) for at, taken in called.items()},
        using,
        [*_verdicts(ratios), *_tool_verdicts(using)],
        (*NOTES, *notes),
    )


def _ratios(series: Mapping[tuple[str, str], list[Sample]], ours: str) -> dict[tuple[str, str], Ratio]:
    found = {}
    for (row, name), samples in series.items():
        if name != ours:
            mine = series[row, ours]
            rounds = [one.per_second / other.per_second for one, other in zip(mine, samples, strict=True)]
            found[row, name] = Ratio(median(rounds), min(rounds), max(rounds))
    return found


def _figure(samples: Sequence[Sample]) -> Figure:
    return Figure(
        median(sample.per_second for sample in samples),
        median(sample.percentile(0.5) for sample in samples),
        median(sample.percentile(0.99) for sample in samples),
    )


def _verdicts(ratios: Mapping[tuple[str, str], Ratio]) -> Iterator[Verdict]:
    for (row, name), ratio in ratios.items():
        if name in JUDGED:
            yield Verdict(Goal(row, name, NO_SLOWER), ratio.median)
        elif name == calls.BARE:
            yield Verdict(Goal(row, name, OF_THE_STACK), ratio.median)


def _tool_verdicts(used: Mapping[tuple[str, str], Figure]) -> Iterator[Verdict]:
    for (name, model), figure in used.items():
        if name == "memory_search":
            yield Verdict(Goal(name, model, MILLISECONDS, at_most=True, unit=" ms"), figure.p50_us / 1_000)


def table(found: Report) -> str:
    """The report as text."""
    lines = [
        *_store_lines(found),
        "",
        *_call_lines(found),
        "",
        *_tool_lines(found),
        "",
        *goal_lines(found.verdicts),
        "",
        "Notes",
        *(f"  - {note}" for note in found.notes),
    ]
    return "\n".join(lines)


def _store_lines(found: Report) -> Iterator[str]:
    names = [name for name in (OURS, *PEERS) if any(at[1] == name for at in found.figures)]
    yield f"{'LangGraph, p50 in µs':<44}" + "".join(f"{name:>34}" for name in names)
    for row, title in found.titles.items():
        yield f"  {title:<42}" + "".join(f"{_cell(found, row, name):>34}" for name in names)


def _cell(found: Report, row: str, name: str) -> str:
    figure, ratio = found.figures.get((row, name)), found.ratios.get((row, name))
    if figure is None:
        return "–"
    said = f"{figure.p50_us:,.0f}"
    return said if ratio is None else f"{said}   {ratio.median:.2f}× ({ratio.least:.2f} to {ratio.most:.2f})"


def _call_lines(found: Report) -> Iterator[str]:
    yield f"{'gRPC':<14}{'ours /s':>10}{'bare /s':>10}{'ratio':>9}{'spread':>16}{'server, µs per call':>22}{'bare':>8}"
    for row in calls.ROWS:
        ours, bare = found.figures[row, calls.OURS], found.figures[row, calls.BARE]
        ratio = found.ratios[row, calls.BARE]
        spent = [found.processor_us[row, name] for name in (calls.OURS, calls.BARE)]
        yield (
            f"  {row:<12}{ours.per_second:>10,.0f}{bare.per_second:>10,.0f}{ratio.median:>8.2f}×"
            f"{f'{ratio.least:.2f} to {ratio.most:.2f}':>16}{spent[0]:>22,.0f}{spent[1]:>8,.0f}"
        )


def _tool_lines(found: Report) -> Iterator[str]:
    yield f"{'Tools':<26}{'model':<14}{'p50 ms':>9}{'p99 ms':>9}"
    for (name, model), figure in found.tools.items():
        yield f"  {name:<24}{model:<14}{figure.p50_us / 1_000:>9.2f}{figure.p99_us / 1_000:>9.2f}"


def as_json(found: Report) -> str:
    """The report for programs."""
    rows: dict[str, dict[str, object]] = {}
    for (row, name), figure in found.figures.items():
        ratio = found.ratios.get((row, name))
        told: dict[str, object] = {**asdict(figure), "ours_over_this": None if ratio is None else asdict(ratio)}
        if (row, name) in found.processor_us:
            told["server_processor_us"] = found.processor_us[row, name]
        rows.setdefault(row, {})[name] = told
    said = {
        "machine": found.machine,
        "counts": asdict(found.counts),
        "durability": {subject.name: subject.durability for subject in found.subjects},
        "rows": rows,
        "tools": [{"tool": tool, "model": model, **asdict(each)} for (tool, model), each in found.tools.items()],
        "goals": [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in found.verdicts],
        "notes": found.notes,
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"
