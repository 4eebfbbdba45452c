"""`python -m benchmarks`: compare, measure growth, and leave a table, JSON and a chart."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from benchmarks.chart import chart
from benchmarks.growth import measure_growth
from benchmarks.machine import machine_facts
from benchmarks.report import as_json, report, table, write
from benchmarks.running import compare
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
    began = monotonic()

    def tell(text: str) -> None:
        print(f"[{monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=asked.dir) as made:
        folder = Path(made)
        machine = machine_facts(folder)
        series, subjects = compare(chosen, folder, tell)
        growth = measure_growth(chosen, folder, tell) if chosen.growth else []
    found = report(machine, chosen, subjects, series, growth)
    print(table(found))
    write(asked.results / "latest.json", as_json(found))
    write(asked.results / "latest.svg", chart(found))
    tell(f"written to {asked.results}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts, and growth to 100,000 items")
    parser.add_argument("--rounds", type=int, help="how often every subject has its turn")
    parser.add_argument("--growth", type=int, metavar="N", help="grow to N items (0: leave it out)")
    parser.add_argument("--dir", type=Path, help="where the stores are made; their file system is what is measured")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where latest.json and latest.svg are left")
    return parser


if __name__ == "__main__":
    sys.exit(main())
