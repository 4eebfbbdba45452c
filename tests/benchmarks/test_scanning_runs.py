"""The measurement of scans runs, on few texts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import scanning


def test_the_scans_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = tmp_path / "talk.json.gz"
    with gzip.open(talk, "wt") as file:
        json.dump([{"text": "green tea in the morning\nwrite to bob@example.org about it"}], file)
    scanning.main(["--count", "3", "--lines", str(talk)])
    shown = capsys.readouterr().out
    assert "p99" in shown
    assert "talk.json.gz: 1 of 2 lines have a find: {'email': 1}" in shown
