"""From samples on a database server to figures, ratios with their spread, and verdicts; as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.engines.growth import Grown
from benchmarks.engines.growth import ratios as growth_ratios
from benchmarks.engines.processes import Served, gains
from benchmarks.goals import ENGINE_GOALS, ENGINE_GROWTH_GOALS, PROCESS_GOALS, Verdict
from benchmarks.report import Report, goal_lines, ratio_lines, rows_as_json, throughput_lines
from benchmarks.report import report as compared_report
from benchmarks.rows import ROWS
from benchmarks.running import Series
from benchmarks.subjects import Subject
from benchmarks.subjects.ours import Ours
from benchmarks.workload import Counts

NOTES = (
    (
        "Both keep their data on one server, in databases of their own, and wait for its disk with every commit. They "
        "take turns, and after the first batch both are vacuumed and analyzed."
    ),
    (
        "recollect runs with its defaults: values encrypted, every change in the hash-chained log, old versions kept, "
        "every call decided by the policy, which is looked up with it. The peer overwrites in place, in plain text."
    ),
    (
        "The spread is that of the ratio in the single rounds. Where a row has 16 at once, recollect counts with 16 "
        "tasks and the peer with the form in which it is faster."
    ),
    "Semantic search on PostgreSQL is measured by the searching part, in search.json.",
)


@dataclass(frozen=True)
class EngineReport:
    """Everything that a run on a server found."""

    compared: Report
    server: str
    spreads: Mapping[tuple[str, str], tuple[float, float]]
    """By row and peer with its form: the least and the largest ratio of a round."""
    served: Sequence[Served]
    growth: Sequence[Grown]
    verdicts: Sequence[Verdict]


def report(
    machine: Mapping[str, object],
    counts: Counts,
    server: str,
    subjects: Sequence[Subject],
    series: Series,
    served: Sequence[Served],
    growth: Sequence[Grown],
) -> EngineReport:
    """Everything that follows from the samples."""
    compared = compared_report(machine, counts, subjects, series, [], ENGINE_GOALS)
    gained, grown = gains(served), growth_ratios(growth) if growth else {}
    verdicts = [
        *compared.verdicts,
        *(Verdict(goal, gained[goal.row]) for goal in PROCESS_GOALS if goal.row in gained),
        *(Verdict(goal, grown[goal.row]) for goal in ENGINE_GROWTH_GOALS if goal.row in grown),
    ]
    return EngineReport(compared, server, _spreads(series), served, growth, verdicts)


def _spreads(series: Series) -> dict[tuple[str, str], tuple[float, float]]:
    ours = {(row, form): samples for (row, name, form), samples in series.items() if name == Ours.name}
    found = {}
    for (row, name, form), samples in series.items():
        mine = ours.get((row, "16 tasks")) or ours.get((row, form))
        if name != Ours.name and mine is not None:
            rounds = [one.per_second / other.per_second for one, other in zip(mine, samples, strict=True)]
            found[row, f"{name}, {form}"] = (min(rounds), max(rounds))
    return found


def table(found: EngineReport) -> str:
    """The report as text."""
    lines = [
        f"On PostgreSQL {found.server}",
        *throughput_lines(found.compared),
        "",
        *ratio_lines(found.compared),
        "",
        *_spread_lines(found),
        "",
        *_served_lines(found),
        "",
        *_growth_lines(found),
        "",
        *goal_lines(found.verdicts),
        "",
        "Notes",
        *(f"  - {note}" for note in NOTES),
    ]
    return "\n".join(lines)


def _spread_lines(found: EngineReport) -> Iterator[str]:
    yield "Ratio in the slowest and in the fastest round"
    for row in ROWS:
        for (name, against), (least, most) in found.spreads.items():
            if name == row.name:
                yield f"  {row.title:<37} {against:<28} {least:>6.2f}× to {most:.2f}×"


def _served_lines(found: EngineReport) -> Iterator[str]:
    if not found.served:
        return
    yield "Over HTTP, 16 connections       processes    requests/s       p50 µs   cores busy"
    for each in found.served:
        yield (
            f"  {each.row:<29} {each.processes:>9} {each.per_second:>13,.0f} {each.p50_us:>12,.0f} "
            f"{each.processor_share:>11.0%}"
        )
    yield from (f"  {row:<29} two processes serve {gain:.2f}× of one" for row, gain in gains(found.served).items())


def _growth_lines(found: EngineReport) -> Iterator[str]:
    if not found.growth:
        return
    yield "Growth on PostgreSQL (µs)     items      get p50      put p50   search p50     load s   bytes per item"
    for grown in found.growth:
        yield (
            f"{grown.items:>35,} {grown.get_p50:>12.1f} {grown.put_p50:>12.1f} {grown.search_p50:>12.1f} "
            f"{grown.load_seconds:>10.1f} {sum(grown.bytes_per_item.values()):>16,.0f}"
        )
    yield "  " + "   ".join(f"{name} {ratio:.2f}×" for name, ratio in growth_ratios(found.growth).items())


def as_json(found: EngineReport) -> str:
    """The report for programs."""
    compared = found.compared
    said = {
        "machine": {**compared.machine, "postgresql": found.server},
        "counts": asdict(compared.counts),
        "durability": {subject.name: subject.durability for subject in compared.subjects},
        "rows": rows_as_json(compared),
        "spreads": {f"{row}: {against}": spread for (row, against), spread in found.spreads.items()},
        "processes": [asdict(each) for each in found.served],
        "growth": [asdict(grown) for grown in found.growth],
        "goals": [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in found.verdicts],
        "notes": NOTES,
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"
