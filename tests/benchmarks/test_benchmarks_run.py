"""The benchmark itself, with tiny counts: it must run through, agree, and leave its three results."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.__main__ import main
from benchmarks.goals import GOALS, PEER, Goal, verdicts
from benchmarks.report import report
from benchmarks.rows import ROWS
from benchmarks.running import Disagreement, compare
from benchmarks.subjects import Value
from benchmarks.subjects.ours import Ours, OursCalled
from benchmarks.workload import Counts, Memo, Sample

TINY = Counts(
    items=400,
    rounds=2,
    writes=8,
    concurrent=32,
    reads=40,
    searches=8,
    broad=2,
    listings=3,
    mixed=64,
    growth=2_000,
    turns=0,
    grown_writes=20,
    grown_reads=40,
    searched=0,
    engines=False,
    agents=False,
)


def test_a_run_leaves_a_table_figures_and_a_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"

    assert main(["--dir", str(tmp_path), "--results", str(results)], TINY) == 0

    printed = capsys.readouterr().out
    assert all(row.title in printed for row in ROWS)
    assert "not durable" in printed
    assert "Goals:" in printed
    said = json.loads((results / "latest.json").read_text())
    assert set(said["rows"]) == {row.name for row in ROWS}
    for row in ROWS:
        expected = {"recollect", "SqliteStore", "SqliteStore WAL+FULL", "SqliteStore WAL+NORMAL", "InMemoryStore"}
        assert set(said["rows"][row.name]["subjects"]) == expected | ({"floor"} if row.for_floor else set())
    assert [size["items"] for size in said["growth"]["sizes"]] == [200, 2_000]
    assert {goal["row"] for goal in said["goals"]} >= {goal.row for goal in GOALS}
    bars = ElementTree.fromstring((results / "latest.svg").read_text())
    assert len(list(bars.iter("{http://www.w3.org/2000/svg}title"))) == 3 * len(ROWS) + 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"], "the stores were left behind"


def test_a_subject_that_answers_wrongly_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: OursCalled, memo: Memo) -> Value | None:
        return {"topic": "something else"}

    monkeypatch.setattr(OursCalled, "get", forgetful)

    with pytest.raises(Disagreement, match="recollect does not give back"):
        compare(TINY, tmp_path, print)


def test_ratios_are_medians_of_rounds_and_peers_count_in_their_faster_form() -> None:
    def at(rate: float) -> Sample:
        return Sample(100, round(100 * 1e9 / rate), [1_000])

    series = {
        ("put_crowd", "recollect", "16 tasks"): [at(1_000), at(6_000), at(90_000)],
        ("put_crowd", "recollect", "16 threads"): [at(500_000)],
        ("put_crowd", PEER, "16 threads"): [at(1_500)],
        ("put_crowd", PEER, "16 tasks"): [at(2_000), at(2_000), at(2_000)],
    }

    found = report({}, TINY, [Ours()], series, [])

    assert found.ratios["put_crowd", PEER] == pytest.approx(3.0, rel=1e-3)
    assert found.figures["put_crowd", PEER].form == "16 tasks"
    assert [verdict.met for verdict in found.verdicts] == [False]
    assert found.verdicts[0].ratio == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize(("ratio", "met"), [(1.49, False), (1.5, True), (1.51, True)])
def test_a_goal_is_met_from_its_bound_on(ratio: float, met: bool) -> None:
    assert [verdict.met for verdict in verdicts({("put", PEER): ratio}, {})] == [met]


@pytest.mark.parametrize(("ratio", "met"), [(1.49, True), (1.5, True), (1.51, False)])
def test_a_growth_goal_is_met_up_to_its_bound(ratio: float, met: bool) -> None:
    assert Goal("get_p50", "growth", 1.5, at_most=True).met(ratio) is met
