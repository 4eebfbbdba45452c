"""The benchmark of the way out, with tiny counts: it must run through and leave its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from tests.benchmarks.test_benchmarks_run import TINY


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(TINY, items=10, rounds=1, writes=4, searched=30)
    assert main(["--only", "recalling", "--dir", str(tmp_path), "--results", str(tmp_path / "results")], counts) == 0
    assert "governed turn" in capsys.readouterr().out
    said = json.loads((tmp_path / "results/recalling.json").read_text())
    assert [each["size"] for each in said["tenants"]] == [30]
    assert said["tenants"][0]["recall beside search"] > 0
