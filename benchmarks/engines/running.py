"""Running everything that is measured on a database server, on one server and in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.engines.databases import databases
from benchmarks.engines.growth import measure_growth
from benchmarks.engines.processes import measure_processes
from benchmarks.engines.report import EngineReport, report
from benchmarks.engines.subjects import LangGraphPostgres, OursOnPostgres
from benchmarks.running import Tell, compared
from benchmarks.subjects import Subject
from benchmarks.workload import Counts
from recollect.testing.engines import EngineMissing, durable_postgres_url


def measured(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> EngineReport | None:
    """Compare, serve by processes, and grow; None where there is no server."""
    try:
        url = durable_postgres_url()
    except EngineMissing as missing:
        tell(str(missing))
        return None
    with databases(url) as made:
        subjects: list[Subject] = [OursOnPostgres(made), LangGraphPostgres(made)]
        tell("on PostgreSQL")
        series = compared(subjects, counts, folder / "compared", tell, filled=made.settle, ended=made.drop)
        served = measure_processes(replace(counts, reads=counts.reads // 4), made, folder, tell)
        made.drop()
        growth = measure_growth(counts, made, folder, tell) if counts.engine_growth else []
        return report(machine, counts, made.version(), subjects, series, served, growth)
