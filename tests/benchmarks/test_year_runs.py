"""The benchmark of a year of conversation, with tiny counts: it must run through and leave its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from tests.benchmarks.test_benchmarks_run import TINY


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(TINY, turns=60)
    assert main(["--only", "year", "--dir", str(tmp_path), "--results", str(tmp_path / "results")], counts) == 0
    assert "60 turns" in capsys.readouterr().out
    said = json.loads((tmp_path / "results/year.json").read_text())
    assert said["at the end"].keys() == {"context_p50_ms", "rss_mb", "disk_mb"}
    assert said["ratios"]["context at the end beside 1,000 turns"] > 0
