"""The benchmarks of conversations, with tiny counts: they must run through and leave their figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.recall import packs
from tests.benchmarks.test_benchmarks_run import TINY

TALK = {
    "sample_id": "tiny",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ann", "text": "I adopted a parrot called Kiwi."},
            {"dia_id": "D1:2", "speaker": "Bob", "text": "How lovely!"},
            {"dia_id": "D1:3", "speaker": "Bob", "text": "I play chess on Mondays."},
        ],
    },
    "qa": [{"question": "What is the parrot called?", "category": 4, "evidence": ["D1:1"]}],
}


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = replace(TINY, items=10, rounds=1, writes=5)
    assert main(["--only", "conversing", "--dir", str(tmp_path), "--results", str(tmp_path / "results")], counts) == 0
    assert "context" in capsys.readouterr().out
    said = json.loads((tmp_path / "results/conversing.json").read_text())
    assert said["milliseconds"].keys() == {"turn", "context", "context, evidence"}


def test_it_is_looked_up_whether_packs_hold_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps([TALK]))
    assert packs.main(["--data", str(tmp_path), "--results", str(tmp_path / "results")]) == 0
    assert "search of the same words" in capsys.readouterr().out
    said = json.loads((tmp_path / "results/packs.json").read_text())
    found = {each["subject"]: each["evidence"] for each in said["figures"] if each["category"] == "all"}
    assert len(found) == 5
    assert set(found.values()) == {1.0}
