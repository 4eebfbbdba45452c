"""Running everything that agents come in by, in one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks.agents import calls, stores, tools
from benchmarks.agents.report import Report, report
from benchmarks.engines.databases import Databases, databases
from benchmarks.running import Tell
from benchmarks.workload import Counts
from recollect.testing.engines import EngineMissing, durable_postgres_url


def measured(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> Report:
    """Time LangGraph's calls, those of gRPC, and the tools; without PostgreSQL, its store is left out."""
    notes: list[str] = []
    loads = [os.getloadavg()[0]]
    with ExitStack() as stack:
        made: Databases | None = None
        try:
            made = stack.enter_context(databases(durable_postgres_url()))
            notes.append(f"PostgresStore runs on PostgreSQL {made.version()}, over a Unix socket.")
        except EngineMissing as missing:
            notes.append(f"PostgreSQL could not be started here, so PostgresStore is missing. {missing}")
        series, subjects = stores.compare(counts, made, folder / "stores", tell)
        series |= stores.compare_by_meaning(counts, made, folder / "meaning", tell)
    loads.append(os.getloadavg()[0])
    (folder / "calls").mkdir()
    called = calls.compare(counts, folder / "calls", tell)
    loads.append(os.getloadavg()[0])
    used = tools.compare(counts, folder / "tools", tell)
    loads.append(os.getloadavg()[0])
    notes.append(f"Load averages at the beginning and after each part: {', '.join(f'{load:.2f}' for load in loads)}.")
    return report(machine, counts, subjects, series, called, used, notes)
