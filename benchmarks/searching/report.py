"""From laps to figures, ratios and verdicts; as Markdown for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.goals import Goal, Verdict
from benchmarks.searching.lexical import FULL, LISTS, NONE
from benchmarks.searching.running import INSIDE, TEAM, Found, Row
from benchmarks.searching.subjects import OURS, OURS_AWAITED, POSTGRES, SQLITE
from benchmarks.workload import Counts, Sample

NAMES = (OURS, OURS_AWAITED, SQLITE, POSTGRES)
PEERS = (SQLITE, POSTGRES)
LARGE, FASTER = 100_000, 5.0
SMALL, NO_SLOWER = 1_000, 1.0
RECALL = 0.98
NOTES = (
    (
        "Ratios are the p50 of the other divided by the p50 of recollect, medians of all rounds: above 1, recollect is "
        "faster. Everybody answers the same questions, none of them twice, with ten hits, and takes turns."
    ),
    (
        "recollect searches by words and by meaning together, over encrypted memories, with events and the policy, "
        "and default settings but for the embedder. LangGraph's stores search by meaning alone, over plain text."
    ),
    (
        "The embedder is the same for all and its time is part of every search. `hashing` makes vectors of 384 numbers "
        "without a model, so that large counts can be filled."
    ),
    (
        "A first search reads all entries of its scope; later ones keep them in memory. The scope of a user inside an "
        "opened team's is served from the team's."
    ),
)


@dataclass(frozen=True)
class Figure:
    """Milliseconds of a search."""

    p50: float
    p99: float


@dataclass(frozen=True)
class Report:
    """Everything that a run found, with what it means."""

    machine: Mapping[str, object]
    counts: Counts
    found: Found
    figures: Mapping[tuple[Row, str], Figure]
    ratios: Mapping[tuple[Row, str], float]
    """The p50 of a peer over ours, by plain calls, in the median of rounds."""
    verdicts: Sequence[Verdict]


def report(machine: Mapping[str, object], counts: Counts, found: Found) -> Report:
    """What the laps mean."""
    figures = {at: _figure(samples) for at, samples in found.laps.items()}
    ratios: dict[tuple[Row, str], float] = {}
    for (row, name), samples in found.laps.items():
        if name in PEERS:
            mine = found.laps[row, OURS]
            ratios[row, name] = median(
                theirs.percentile(0.5) / ours.percentile(0.5) for theirs, ours in zip(samples, mine, strict=True)
            )
    return Report(machine, counts, found, figures, ratios, list(_verdicts(ratios, found.recall)))


def _figure(samples: Sequence[Sample]) -> Figure:
    together = Sample(0, 0, [lap for sample in samples for lap in sample.laps])
    return Figure(together.percentile(0.5) / 1_000, together.percentile(0.99) / 1_000)


def _verdicts(ratios: Mapping[tuple[Row, str], float], recall: Mapping[str, float]) -> Iterator[Verdict]:
    for (row, name), ratio in ratios.items():
        if row.within >= LARGE and row.scope == TEAM:
            yield Verdict(Goal(_title(row), name, FASTER), ratio)
        elif row.within <= SMALL:
            yield Verdict(Goal(_title(row), name, NO_SLOWER), ratio)
    for name, share in recall.items():
        if name.endswith(f", {OURS}"):
            yield Verdict(Goal(f"ten closest found, {name}", "exact", RECALL), share)


def _title(row: Row) -> str:
    said = f"{row.size:,} memories, {row.scope} subtree of {row.within:,}"
    return said if row.model == "hashing" else f"{said}, {row.model}"


def table(report: Report) -> str:
    """The run as Markdown."""
    return "\n".join(
        [
            *_searches(report),
            *_first(report),
            *_loads(report),
            *_words(report),
            "",
            "Goals: " + ("all met" if all(each.met for each in report.verdicts) else "some missed"),
            *(
                f"- {each.goal.row}, against {each.goal.against}: {each.ratio:.3g}, goal {each.goal.text()}: "
                f"{'met' if each.met else 'MISSED'}"
                for each in report.verdicts
            ),
            "",
            *(f"- {note}" for note in (*NOTES, *report.found.notes)),
        ]
    )


def _searches(report: Report) -> Iterator[str]:
    yield ""
    yield "| search by query, p50 / p99 in ms | " + " | ".join(NAMES) + " | ratio, SQLite | ratio, PostgreSQL |"
    yield "|---|" + "---|" * (len(NAMES) + len(PEERS))
    for row in dict.fromkeys(row for row, _ in report.figures):
        cells = [_shown(report.figures.get((row, name))) for name in NAMES]
        cells += [f"{report.ratios[row, name]:.1f}×" if (row, name) in report.ratios else "–" for name in PEERS]
        yield f"| {_title(row)} | {' | '.join(cells)} |"


def _shown(figure: Figure | None) -> str:
    return "–" if figure is None else f"{figure.p50:.2f} / {figure.p99:.2f}"


def _first(report: Report) -> Iterator[str]:
    yield ""
    yield "| first search of a scope | ms |"
    yield "|---|---|"
    for row, laps in report.found.cold.items():
        if row.scope != INSIDE:
            yield f"| {_title(row)} | {median(laps):,.1f} |"


def _loads(report: Report) -> Iterator[str]:
    yield ""
    yield (
        "| memories | put/s | indexed/s | bytes on disk each | ten closest found: "
        + ", ".join((OURS, *PEERS))
        + " | RSS in MB: no query yet, first query, user's scope, team's scope |"
    )
    yield "|---|---|---|---|---|---|"
    for name, load in report.found.loads.items():
        shares = [report.found.recall.get(f"{name}, {each}") for each in (OURS, *PEERS)]
        said = ", ".join("–" if share is None else f"{share:.3f}" for share in shares)
        memory = ", ".join(f"{each:,.0f}" for each in _memory(report.found.footprints[name]))
        yield (
            f"| {name} | {load['put_per_second']:,.0f} | {load['indexed_per_second']:,.0f} | {load['bytes_each']:,.0f} "
            f"| {said} | {memory} |"
        )
    yield ""
    for name, rate in report.found.rates.items():
        yield f"- Indexed with the {name} of text: {rate:,.0f}/s"
    for name, footprint in report.found.footprints.items():
        first, second = footprint["first_query_ms"], footprint["second_query_ms"]
        yield f"- First query of a process, {name}: {first:,.0f} ms; second: {second:,.1f} ms"


def _memory(footprint: Mapping[str, Any]) -> list[float]:
    return [part["rss_mb"] for part in footprint.values() if isinstance(part, dict)]


def _words(report: Report) -> Iterator[str]:
    yield ""
    yield "| words alone, ten best | p50 / p99 in µs | built in s | hits as with lists |"
    yield "|---|---|---|---|"
    for each in report.found.lexical:
        for name in (LISTS, FULL, NONE):
            way, ranks = each[name], each[name].get("ranks", True)
            yield (
                f"| {each['memories']:,} memories, {name}{'' if ranks else ' (ranks nothing: every score is 0)'} "
                f"| {way['p50_us']:,.0f} / {way['p99_us']:,.0f} | {way['built_in_seconds']:.2f} "
                f"| {way['same_hits']:.0%} |"
            )


def as_json(report: Report) -> str:
    """The run for machines."""
    found = report.found
    rows = [
        {
            **asdict(row),
            "subjects": {
                name: {**asdict(report.figures[row, name]), "theirs_over_ours": report.ratios.get((row, name))}
                for name in NAMES
                if (row, name) in report.figures
            },
            "first_ms": found.cold.get(row, []),
        }
        for row in dict.fromkeys(row for row, _ in report.figures)
    ]
    said = {
        "machine": report.machine,
        "counts": asdict(report.counts),
        "rows": rows,
        "loads": found.loads,
        "recall": found.recall,
        "lexical": found.lexical,
        "indexed_per_second": found.rates,
        "footprints": found.footprints,
        "goals": [
            {
                "row": each.goal.row,
                "against": each.goal.against,
                "bound": each.goal.bound,
                "ratio": each.ratio,
                "met": each.met,
            }
            for each in report.verdicts
        ],
        "notes": [*NOTES, *found.notes],
    }
    return json.dumps(said, indent=1) + "\n"
