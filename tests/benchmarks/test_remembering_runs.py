"""The benchmark of the way in, with tiny counts: it must run through and leave its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from tests.benchmarks.test_benchmarks_run import TINY


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(TINY, items=10, rounds=1, writes=4)
    assert main(["--only", "remembering", "--dir", str(tmp_path), "--results", str(tmp_path / "results")], counts) == 0
    assert "capture to record" in capsys.readouterr().out
    said = json.loads((tmp_path / "results/remembering.json").read_text())
    assert said["ratios"]["capture beside put"] > 0
    assert said["records"] == 10
