"""The benchmark of the doors for agents, with tiny counts: it must run through, agree, and leave its figures."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import main
from benchmarks.agents import calls, stores
from benchmarks.agents.report import report
from benchmarks.agents.subjects import OURS, POSTGRES, SQLITE, SQLITE_WAL
from benchmarks.http.load import Misbehaved
from benchmarks.running import Disagreement
from benchmarks.workload import Memo, Sample, memos
from langgraph.store.base import BaseStore
from tests.benchmarks.test_benchmarks_run import TINY
from tests.engines.postgres import needs_postgres

from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb

COUNTS = replace(TINY, items=40, rounds=1, reads=16, concurrent=16, searches=4)
PLAIN = {row.name for row in stores.ROWS}
BY_MEANING = {f"{kind}_40" for kind in ("meaning", "meaning_filter", "put_meaning")}


def test_a_run_leaves_a_table_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_postgres()
    results = tmp_path / "results"

    assert main(["--only", "agents", "--dir", str(tmp_path), "--results", str(results)], COUNTS) == 0

    printed = capsys.readouterr().out
    assert "put, then search by meaning, 40 items" in printed
    said = json.loads((results / "agents.json").read_text())
    assert set(said["rows"]) == PLAIN | BY_MEANING | set(calls.ROWS)
    assert all(set(said["rows"][row]) == {OURS, SQLITE, SQLITE_WAL, POSTGRES} for row in PLAIN)
    assert all(set(said["rows"][row]) == {OURS, SQLITE, POSTGRES} for row in BY_MEANING)
    assert all(set(said["rows"][row]) == {calls.OURS, calls.BARE} for row in calls.ROWS)
    assert {each["tool"] for each in said["tools"]} >= {"memory_search", "memory_store", "memory_brief"}
    judged = {(goal["row"], goal["against"]) for goal in said["goals"]}
    assert judged >= {("get", SQLITE), ("get", POSTGRES), ("grpc_get_16", calls.BARE), ("memory_search", "hashing")}
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"], "something was left behind"


def test_a_store_that_answers_wrongly_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(store: BaseStore, memo: Memo) -> dict[str, Any]:
        return {"topic": "something else"}

    monkeypatch.setattr(stores, "get", forgetful)
    with pytest.raises(Disagreement, match="recollect does not give back"):
        stores.compare(COUNTS, None, tmp_path / "stores", lambda _: None)


def test_a_store_that_does_not_find_what_was_just_put_is_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_put_and_meant", lambda store, query, number: stores._meant(store, query, number))
    with pytest.raises(Disagreement, match="does not find what was put just before"):
        stores.compare_by_meaning(COUNTS, None, tmp_path / "meaning", lambda _: None)


def test_a_service_that_answers_wrongly_over_grpc_is_not_timed(tmp_path: Path) -> None:
    stored = memos(0, 4, 1)
    answers = {"GetMemory": pb.MemoryItem(key="another"), "PutMemory": pb.MemoryWriteResult()}

    async def checked(port: int, process: int) -> None:
        client = calls.Client(f"127.0.0.1:{port}", process, {memo.namespace[1]: "a key" for memo in stored})
        try:
            await calls._checked(client, stored)
        finally:
            await client.close()

    with calls.running_bare(answers, tmp_path) as (port, process), pytest.raises(Misbehaved, match="does not give"):
        asyncio.run(checked(port, process))


def test_goals_are_judged_within_rounds_and_tools_by_the_clock() -> None:
    def at(rate: float) -> Sample:
        return Sample(100, round(100 * 1e9 / rate), [round(1e9 / rate)])

    series = {("get", OURS): [at(90), at(900), at(30)], ("get", SQLITE): [at(100), at(1_000), at(10)]}
    called = {
        (row, name): [calls.Answered(at(80 if name == calls.OURS else 100), 1.0)]
        for row in calls.ROWS
        for name in (calls.OURS, calls.BARE)
    }

    found = report({}, COUNTS, [], series, called, {("memory_search", "hashing"): [at(50)]}, [])

    reached = {(each.goal.row, each.goal.against): (round(each.ratio, 2), each.met) for each in found.verdicts}
    assert reached["get", SQLITE] == (0.9, False)
    assert reached["grpc_put_1", calls.BARE] == (0.8, True)
    assert reached["memory_search", "hashing"] == (20.0, False)
    assert (found.ratios["get", SQLITE].least, found.ratios["get", SQLITE].most) == pytest.approx((0.9, 3.0), rel=1e-3)
