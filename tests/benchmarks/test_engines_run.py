"""The benchmark on a database server, with tiny counts: it must run through, agree, and leave its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.engines.processes import Served
from benchmarks.engines.report import report
from benchmarks.engines.subjects import LangGraphPostgres
from benchmarks.rows import ROWS
from benchmarks.running import Disagreement
from benchmarks.subjects import Value
from benchmarks.subjects.peers import PeerCalled
from benchmarks.workload import Memo, Sample
from tests.benchmarks.test_benchmarks_run import TINY
from tests.engines.postgres import needs_postgres

COUNTS = replace(TINY, items=200, rounds=1, reads=16, mixed=32, engine_growth=2_000)


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_postgres()
    results = tmp_path / "results"

    assert main(["--only", "engines", "--dir", str(tmp_path), "--results", str(results)], COUNTS) == 0

    printed = capsys.readouterr().out
    assert all(row.title in printed for row in ROWS)
    said = json.loads((results / "engines.json").read_text())
    assert all(set(row["subjects"]) == {"recollect", "PostgresStore"} for row in said["rows"].values())
    assert {each["processes"] for each in said["processes"]} == {1, 2}
    assert [size["items"] for size in said["growth"]] == [200, 2_000]
    assert {goal["row"] for goal in said["goals"]} >= {"get", "put_crowd", "mixed_16", "engine_search_p50"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"], "something was left behind"


def test_a_peer_that_answers_wrongly_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_postgres()

    def forgetful(self: PeerCalled, memo: Memo) -> Value | None:
        return {"topic": "something else"}

    monkeypatch.setattr(PeerCalled, "get", forgetful)
    with pytest.raises(Disagreement, match="PostgresStore does not give back"):
        main(["--only", "engines", "--dir", str(tmp_path), "--results", str(tmp_path / "results")], COUNTS)


def test_goals_are_judged_by_what_was_measured() -> None:
    def at(rate: float) -> Sample:
        return Sample(100, round(100 * 1e9 / rate), [1_000])

    series = {
        ("put_crowd", "recollect", "16 tasks"): [at(3_000), at(4_000)],
        ("put_crowd", LangGraphPostgres.name, "16 tasks"): [at(1_000), at(4_000)],
        ("put_crowd", LangGraphPostgres.name, "16 threads"): [at(500), at(500)],
    }
    served = [Served("put_16", 1, 1_000, 1, 1.0), Served("put_16", 2, 1_700, 1, 1.0)]

    found = report({}, COUNTS, "18", [], series, served, [])

    assert found.spreads["put_crowd", "PostgresStore, 16 tasks"] == pytest.approx((1.0, 3.0), rel=1e-3)
    reached = {verdict.goal.row: (round(verdict.ratio, 2), verdict.met) for verdict in found.verdicts}
    assert reached == {"put_crowd": (1.4, False), "put_16": (1.7, True)}
