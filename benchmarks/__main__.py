"""`python -m benchmarks`: compare, grow, go over HTTP, weigh policies, search, use servers, remember, recall, talk."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from benchmarks import conversing, policy, recalling, remembering, running, year
from benchmarks.agents import report as agents_report
from benchmarks.agents import running as agents
from benchmarks.chart import chart
from benchmarks.engines import report as engines_report
from benchmarks.engines import running as engines
from benchmarks.growth import measure_growth
from benchmarks.http import report as http_report
from benchmarks.http import running as http_running
from benchmarks.machine import machine_facts
from benchmarks.report import as_json, report, table, write
from benchmarks.searching import report as searching_report
from benchmarks.searching import running as searching
from benchmarks.workload import FULL, QUICK, Counts

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None, counts: Counts | None = None) -> int:
    """Run with these arguments; `counts` in place of those that they choose."""
    asked = _parser().parse_args(arguments)
    chosen = counts or (QUICK if asked.quick else FULL)
    if asked.rounds is not None:
        chosen = replace(chosen, rounds=asked.rounds)
    if asked.growth is not None:
        chosen = replace(chosen, growth=asked.growth)
    if asked.engine_growth is not None:
        chosen = replace(chosen, engine_growth=asked.engine_growth)
    if asked.memories is not None or asked.full:
        chosen = replace(chosen, searched=searching.STEPS[-1] if asked.memories is None else asked.memories)
    if asked.turns is not None:
        chosen = replace(chosen, turns=asked.turns)
    began = monotonic()

    def tell(text: str) -> None:
        print(f"[{monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=asked.dir) as made:
        folder = Path(made)
        machine = machine_facts(folder)
        if asked.only in (None, "store"):
            _store(chosen, machine, folder, asked.results, tell)
        if asked.only in (None, "http"):
            _http(chosen, machine, folder, asked.results, tell)
        if asked.only in (None, "policy"):
            _policy(chosen, machine, folder, asked.results, tell)
        if asked.only == "search" or (asked.only is None and chosen.searched):
            _search(chosen, machine, folder, asked.results, tell)
        if asked.only == "engines" or (asked.only is None and chosen.engines):
            _engines(chosen, machine, folder, asked.results, tell)
        if asked.only in (None, "remembering"):
            _remembering(chosen, machine, folder, asked.results, tell)
        if asked.only in (None, "recalling"):
            _recalling(chosen, machine, folder, asked.results, tell)
        if asked.only in (None, "conversing"):
            _conversing(chosen, machine, folder, asked.results, tell)
        if asked.only == "year" or (asked.only is None and chosen.turns):
            _year(chosen, machine, folder, asked.results, tell)
        if asked.only == "agents" or (asked.only is None and chosen.agents):
            _agents(chosen, machine, folder, asked.results, tell)
    tell(f"written to {asked.results}")
    return 0


def _store(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    series, subjects = running.compare(counts, folder, tell)
    growth = measure_growth(counts, folder, tell) if counts.growth else []
    found = report(machine, counts, subjects, series, growth)
    print(table(found))
    write(results / "latest.json", as_json(found))
    write(results / "latest.svg", chart(found))


def _http(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = http_report.report(machine, counts, http_running.compare(counts, folder, tell))
    print(http_report.table(found))
    write(results / "http.json", http_report.as_json(found))
    write(results / "http.svg", http_report.chart(found))


def _policy(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = policy.compare(counts, machine, folder, tell)
    print(policy.table(found))
    write(results / "policy.json", policy.as_json(found))


def _search(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = searching_report.report(machine, counts, searching.compare(counts, folder, tell))
    print(searching_report.table(found))
    write(results / "search.json", searching_report.as_json(found))


def _engines(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = engines.measured(counts, machine, folder, tell)
    if found is not None:
        print(engines_report.table(found))
        write(results / "engines.json", engines_report.as_json(found))


def _agents(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = agents.measured(counts, machine, folder, tell)
    print(agents_report.table(found))
    write(results / "agents.json", agents_report.as_json(found))


def _remembering(
    counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell
) -> None:
    found = remembering.measured(counts, machine, folder, tell)
    print(remembering.table(found))
    write(results / "remembering.json", json.dumps(found, indent=1) + "\n")


def _recalling(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = recalling.measured(counts, machine, folder, tell)
    print(recalling.table(found))
    write(results / "recalling.json", json.dumps(found, indent=1) + "\n")


def _conversing(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = conversing.measured(counts, machine, folder, tell)
    print(conversing.table(found))
    write(results / "conversing.json", json.dumps(found, indent=1) + "\n")


def _year(counts: Counts, machine: Mapping[str, object], folder: Path, results: Path, tell: running.Tell) -> None:
    found = year.measured(counts.turns, machine, folder, tell)
    print(year.table(found))
    write(results / "year.json", json.dumps(found, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts, and growth to 100,000 items")
    parts = (
        *("store", "http", "policy", "search", "engines", "agents"),
        *("remembering", "recalling", "conversing", "year"),
    )
    parser.add_argument("--only", choices=parts, help="one part of the run")
    parser.add_argument("--rounds", type=int, help="how often every subject has its turn")
    parser.add_argument("--growth", type=int, metavar="N", help="grow to N items (0: leave it out)")
    parser.add_argument("--engine-growth", type=int, metavar="N", help="grow a database to N items (0: leave it out)")
    parser.add_argument("--turns", type=int, metavar="N", help="a year of N turns (0: leave it out)")
    parser.add_argument("--full", action="store_true", help="search by query among up to 1,000,000 memories")
    parser.add_argument("--memories", type=int, metavar="N", help="search by query among up to N (0: leave it out)")
    parser.add_argument("--dir", type=Path, help="where the stores are made; their file system is what is measured")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON and the charts are left")
    return parser


if __name__ == "__main__":
    sys.exit(main())
