"""The benchmark of searches, with tiny counts: it must run through, time only right answers, and leave its results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.running import Disagreement
from benchmarks.searching import running
from benchmarks.searching.corpus import Layout
from benchmarks.searching.footprint import measured
from benchmarks.searching.lexical import FULL, NONE
from benchmarks.searching.lexical import compare as compare_words
from benchmarks.searching.report import Report, as_json, report, table
from benchmarks.searching.running import INSIDE, TEAM, USER, Found, Row, share, sizes
from benchmarks.searching.subjects import (
    LOCAL,
    OURS,
    OURS_AWAITED,
    OURS_PGVECTOR,
    POSTGRES,
    SQLITE,
    Called,
    NoPostgres,
    Postgres,
)
from benchmarks.workload import Counts, Sample

import recollect

TINY = Counts(rounds=2, searches=4, broad=3, searched=340)


@pytest.fixture(scope="module")
def run() -> Report:
    # Not where pytest keeps its folders: PostgreSQL runs as a user of its own, and any pytest closes those to others.
    with TemporaryDirectory(prefix="recollect-bench-") as folder:
        found = running.compare(TINY, Path(folder), lambda _: None, user=20)
    if not any(name == POSTGRES for _, name in found.laps):
        if os.environ.get("CI"):
            pytest.fail(found.notes[0])
        pytest.skip(found.notes[0])
    return report({}, TINY, found)


def test_a_run_times_everybody_on_every_scope(run: Report) -> None:
    rows = {(row.size, row.scope, row.model): row for row, _ in run.figures}

    assert set(rows) == {
        (340, USER, "hashing"),
        (340, TEAM, "hashing"),
        (340, INSIDE, "hashing"),
        (20, TEAM, "local model"),
    }
    for (row, name), figure in run.figures.items():
        assert 0 < figure.p50 <= figure.p99
        assert name == OURS or row.scope != INSIDE
    assert {name for _, name in run.figures} == {OURS, OURS_AWAITED, OURS_PGVECTOR, SQLITE, POSTGRES}
    assert set(run.found.cold) == {row for row in rows.values() if row.scope != INSIDE}


def test_a_run_finds_the_ten_closest_and_says_what_everything_costs(run: Report) -> None:
    assert run.found.recall["340 memories, hashing, recollect"] == 1.0
    assert run.found.recall["340 memories, hashing, SqliteStore"] == 1.0, "it embeds something else than we do"
    assert all(load["bytes_each"] > 0 for load in run.found.loads.values())
    assert all(rate > 0 for rate in run.found.rates.values())
    said = json.loads(as_json(run))
    assert {goal["against"] for goal in said["goals"]} == {SQLITE, POSTGRES, "exact"}
    printed = table(run)
    assert "| 340 memories, a team's subtree of 340 |" in printed
    assert "HNSW index built" in printed


def test_only_a_query_loads_the_model(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=LOCAL) as memories:
        memories.put(("user", "u"), "k", {"text": "likes tea"})
        memories.search(("user",), query="tea")

    said = measured(tmp_path, "local", [])

    assert said["without_query"]["model_imported"] == []
    assert "onnxruntime" in said["with_query"]["model_imported"]
    assert said["first_query_ms"] > said["second_query_ms"]


def test_the_arguments_choose_how_many_memories_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def compare(counts: Counts, *_: object) -> Found:
        asked.append(counts.searched)
        return Found()

    monkeypatch.setattr(running, "compare", compare)
    for arguments in ([], ["--quick"], ["--full"], ["--memories", "7"]):
        assert main(["--only", "search", "--dir", str(tmp_path), "--results", str(tmp_path), *arguments]) == 0

    assert asked == [100_000, 10_000, 1_000_000, 7]
    assert "search by query" in capsys.readouterr().out
    assert json.loads((tmp_path / "search.json").read_text())["rows"] == []


def test_a_search_that_finds_too_little_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(folder: Path) -> None:
        raise NoPostgres("it is left out")

    monkeypatch.setattr(running, "Postgres", absent)
    monkeypatch.setattr(Called, "search", lambda *_: ["m0000000"])

    with pytest.raises(Disagreement, match="recollect finds 1 "):
        running.compare(TINY, tmp_path, lambda _: None, user=20)


def test_a_postgres_that_does_not_start_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")

    with pytest.raises(NoPostgres, match="FileExistsError"):
        Postgres(tmp_path / "taken")


def test_both_ways_of_finding_words_find_the_same_where_both_rank() -> None:
    found = compare_words(Layout(300, 20), 4)

    assert found["memories"] == 300
    assert found[FULL]["ranks"]
    assert not found[NONE]["ranks"]
    assert found[FULL]["same_hits"] > 0.8


def test_sizes_go_up_to_the_most_step_by_step() -> None:
    assert sizes(1_000_000) == [1_000, 10_000, 100_000, 1_000_000]
    assert sizes(20_000) == [1_000, 10_000, 20_000]
    assert sizes(300) == [300]


def test_a_share_counts_those_that_are_as_close_as_the_tenth() -> None:
    cosines = np.array([0.9, 0.8, *[0.5] * 20])

    assert share(cosines, [0, 1, *range(10, 18)]) == 1.0
    assert share(cosines, [0, *range(10, 18)]) == 0.9
    assert share(np.arange(20.0), range(10)) == 0.0


def test_memories_lie_in_users_and_teams_and_no_question_is_asked_twice() -> None:
    layout = Layout(250_000)

    assert layout.memory(123_456).namespace == ("team", "t001", "u00123", "s4")
    assert (layout.in_user, layout.in_team) == (1_000, 100_000)
    asked = [*layout.of_users(50, 1, 8), *layout.of_users(50, 2, 8), *layout.of_team(50, 3)]
    assert len({query.text for query in asked}) == 150
    assert len({query.prefix for query in asked[:50]}) == 8


def test_ratios_are_medians_of_rounds_and_goals_depend_on_the_size() -> None:
    def lasting(milliseconds: float) -> Sample:
        return Sample(1, 1, [round(milliseconds * 1e6)])

    large, small = Row(100_000, TEAM, 100_000), Row(100_000, USER, 1_000)
    found = Found()
    found.laps[large, OURS] = [lasting(1), lasting(2), lasting(4)]
    found.laps[large, SQLITE] = [lasting(6), lasting(8), lasting(100)]
    found.laps[small, OURS] = [lasting(2)]
    found.laps[small, SQLITE] = [lasting(1)]
    found.recall = {"x, recollect": 0.97, "x, PostgresStore": 0.1}

    said = report({}, TINY, found)

    assert said.ratios == {(large, SQLITE): 6.0, (small, SQLITE): 0.5}
    assert [(each.goal.bound, each.met) for each in said.verdicts] == [(5.0, True), (1.0, False), (0.98, False)]
