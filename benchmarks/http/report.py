"""From samples over HTTP to figures, ratios and verdicts, as a table, a chart and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from statistics import median

from benchmarks.goals import Goal, Verdict
from benchmarks.http.rows import ROWS
from benchmarks.http.running import CONSTANT, IN_PROCESS, OURS, Series
from benchmarks.report import Figure
from benchmarks.workload import Counts, Sample

GOALS = (Goal("get_1", CONSTANT, 0.5), Goal("get_16", CONSTANT, 0.5), Goal("put_16", CONSTANT, 0.4))
NOTES = (
    (
        "The constant is the stack of our server and nothing else: uvicorn with the same options, uvloop, httptools "
        "and a Starlette router, answering bytes that our server answered before. It reads the body of a request and "
        "looks at nothing."
    ),
    (
        "Ratios are throughput over HTTP divided by throughput of the other, in the same round; shown is the median of "
        "all rounds. 1 would mean that memories cost nothing beyond the stack."
    ),
    (
        "Our server runs with its defaults, and checks the key of each request; every write is on disk when it is "
        "answered. It writes no line per request in this run, and keeps the topic as an attribute to filter by."
    ),
    "One process makes the load, over bare connections that wait for each answer. It shares the machine with both.",
    "In process is the asynchronous API with its defaults, called one after the other or by 16 tasks.",
)
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 190, 560, 15, 11, 60


@dataclass(frozen=True)
class Report:
    """Everything that a run over HTTP found."""

    machine: Mapping[str, object]
    counts: Counts
    figures: Mapping[tuple[str, str], Figure]
    """By row and subject."""
    ratios: Mapping[tuple[str, str], float]
    verdicts: Sequence[Verdict]


def report(machine: Mapping[str, object], counts: Counts, series: Series) -> Report:
    """Everything that follows from the samples."""
    figures = {place: _figure(samples) for place, samples in series.items()}
    ratios = {
        (row, name): median(
            mine.per_second / other.per_second for mine, other in zip(series[row, OURS], samples, strict=True)
        )
        for (row, name), samples in series.items()
        if name != OURS
    }
    found = [Verdict(goal, ratios[goal.row, goal.against]) for goal in GOALS if (goal.row, goal.against) in ratios]
    return Report(machine, counts, figures, ratios, found)


def _figure(samples: Sequence[Sample]) -> Figure:
    return Figure(
        median(sample.per_second for sample in samples),
        median(sample.percentile(0.5) for sample in samples),
        median(sample.percentile(0.99) for sample in samples),
        "",
    )


def table(found: Report) -> str:
    """The report as text."""
    return "\n".join([*_figures(found), "", *_goals(found), "", "Notes", *(f"  - {note}" for note in NOTES)])


def _figures(found: Report) -> Iterator[str]:
    heads = "".join(f"{name:>20}{'p50 / p99 µs':>20}" for name in (OURS, CONSTANT))
    yield f"{'Requests per second':<26}{heads}{'ratio':>8}{'against in process':>20}"
    for row in ROWS:
        if (row.name, OURS) not in found.figures:
            continue
        cells = "".join(_cell(found.figures[row.name, name]) for name in (OURS, CONSTANT))
        inside = found.ratios.get((row.name, IN_PROCESS))
        shown = "" if inside is None else f"{inside:.2f}×"
        title = f"{row.title} ×{row.connections}"
        yield f"  {title:<24}{cells}{found.ratios[row.name, CONSTANT]:>7.2f}×{shown:>20}"


def _cell(figure: Figure) -> str:
    return f"{figure.per_second:>18,.0f}/s{f'{figure.p50_us:,.0f} / {figure.p99_us:,.0f}':>20}"


def _goals(found: Report) -> Iterator[str]:
    yield f"Goals over HTTP: {sum(verdict.met for verdict in found.verdicts)} of {len(found.verdicts)} met"
    for verdict in found.verdicts:
        goal = verdict.goal
        yield (
            f"  {'met   ' if verdict.met else 'MISSED'} {goal.row:<10} against {goal.against:<10} "
            f"{verdict.ratio:>6.2f}×   goal {goal.text()}"
        )


def as_json(found: Report) -> str:
    """The report for programs."""
    rows = {
        row.name: {
            "title": row.title,
            "connections": row.connections,
            "subjects": {
                name: {
                    "per_second": figure.per_second,
                    "p50_us": figure.p50_us,
                    "p99_us": figure.p99_us,
                    "ours_over_this": found.ratios.get((row.name, name)),
                }
                for (each, name), figure in found.figures.items()
                if each == row.name
            },
        }
        for row in ROWS
    }
    said = {
        "machine": found.machine,
        "counts": asdict(found.counts),
        "rows": rows,
        "goals": [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in found.verdicts],
        "notes": NOTES,
    }
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def chart(found: Report) -> str:
    """The share of the constant's throughput as bars, on a scale from nothing to all of it."""
    height = _TOP + len(ROWS) * (_BAR + _GAP) + 26
    goals = {verdict.goal.row: verdict.goal.bound for verdict in found.verdicts}
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 70}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="12">'
        ),
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="12" y="22" font-size="15" font-weight="bold">Throughput over HTTP, as a share of a constant’s</text>',
        '<text x="12" y="42">the same stack, answering bytes it has; │ the goal</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LEFT + share * _WIDTH
        lines.append(f'<line x1="{x:.0f}" y1="{_TOP - 8}" x2="{x:.0f}" y2="{height - 22}" stroke="#ddd"/>')
        lines.append(f'<text x="{x:.0f}" y="{height - 8}" text-anchor="middle" fill="#555">{share:g}×</text>')
    for place, row in enumerate(ROWS):
        title = f"{row.title} ×{row.connections}"
        lines += _bar(_TOP + place * (_BAR + _GAP), title, found.ratios[row.name, CONSTANT], goals.get(row.name))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(y: int, title: str, ratio: float, goal: float | None) -> Iterator[str]:
    end = min(ratio, 1.1) * _WIDTH
    yield f'<text x="{_LEFT - 10}" y="{y + 12}" text-anchor="end">{escape(title)}</text>'
    yield (
        f'<rect x="{_LEFT}" y="{y}" width="{end:.1f}" height="{_BAR}" fill="#2a6f97">'
        f"<title>{escape(title)}: {ratio:.2f}×</title></rect>"
    )
    yield f'<text x="{_LEFT + end + 5:.1f}" y="{y + 12}" font-size="11">{ratio:.2f}×</text>'
    if goal is not None:
        x = _LEFT + goal * _WIDTH
        yield f'<line x1="{x:.1f}" y1="{y - 3}" x2="{x:.1f}" y2="{y + _BAR + 3}" stroke="black" stroke-width="2"/>'
