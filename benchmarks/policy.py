"""What the policy costs: the same calls with the shipped Rego bundle and with the plain Python rule, taking turns."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvloop

import recollect
from benchmarks.goals import Goal, Verdict
from benchmarks.http.load import answer_to, load
from benchmarks.http.rows import ROWS, Keys, batch, material
from benchmarks.running import Tell
from benchmarks.workload import Counts, Memo, Sample, awaited, by_tasks, memos, one_by_one
from recollect import Settings
from recollect.domain.callers import Action, Caller, new_caller
from recollect.main import compose
from recollect.service.memories import Memories
from recollect.service.views import PutOp
from recollect.sync import MemoriesSync
from recollect.testing.servers import Server, running

REGO, PLAIN = "rego", "builtin"
ENGINES = (REGO, PLAIN)
OVER_HTTP = ("get_1", "get_16", "put_16", "search_16")
GOALS = (
    Goal("get over HTTP ×16", PLAIN, 0.8),
    Goal("get over HTTP ×1", PLAIN, 0.8),
    Goal("get in process, awaited", PLAIN, 0.6),
    Goal("get in process, plain call", PLAIN, 0.6),
)
NOTES = (
    (
        "Both run side by side in every round, with defaults but for `policy_engine`. Ratios are throughput with Rego "
        "divided by throughput with the plain Python rule, in the same round; shown is the median of all rounds."
    ),
    (
        "Every call is made in the name of the user whose memory it is, over as many users as there are namespaces. "
        "Decisions are kept by that part of the question on which they can depend, so that most are made once."
    ),
    "An uncached decision is a question that was never asked before: it goes to the sandboxed process and back.",
)
_FILL = 1_000
Series = dict[tuple[str, str], list[Sample]]


@dataclass(frozen=True)
class Report:
    """Everything that a run found."""

    machine: Mapping[str, object]
    counts: Counts
    per_second: Mapping[str, Mapping[str, float]]
    """By row and engine."""
    ratios: Mapping[str, float]
    uncached: Mapping[str, float]
    """Microseconds of a decision that was never made before, by percentile."""
    verdicts: Sequence[Verdict]


def compare(counts: Counts, machine: Mapping[str, object], folder: Path, tell: Tell) -> Report:
    """Run every row with both engines, round by round."""
    stored = memos(0, counts.items, counts.namespaces)
    series: Series = defaultdict(list)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        inside = {engine: runner.run(_Inside.opened(folder / f"in-{engine}", engine, stored)) for engine in ENGINES}
        called = {engine: _Called(folder / f"called-{engine}", engine, stored) for engine in ENGINES}
        try:
            with ExitStack() as stack:
                servers = {engine: stack.enter_context(_server(folder / engine, engine)) for engine in ENGINES}
                keys = {engine: _filled(server, stored) for engine, server in servers.items()}
                tell("both servers filled")
                for number in range(counts.rounds):
                    turns = ENGINES if number % 2 == 0 else ENGINES[::-1]
                    _http_round(series, counts, stored, number, servers, keys, turns, runner)
                    _inside_round(series, counts, stored, number, inside, called, turns, runner)
                    tell(f"round {number + 1} of {counts.rounds} of policies done")
            uncached = runner.run(_uncached(counts))
        finally:
            for engine in ENGINES:
                called[engine].close()
                runner.run(inside[engine].close())
    return _report(machine, counts, series, uncached)


def _http_round(
    series: Series,
    counts: Counts,
    stored: Sequence[Memo],
    number: int,
    servers: Mapping[str, Server],
    keys: Mapping[str, Keys],
    turns: Sequence[str],
    runner: asyncio.Runner,
) -> None:
    work = material(counts, stored, number)
    for row in ROWS:
        if row.name in OVER_HTTP:
            for engine in turns:
                requests = row.requests(work, keys[engine], servers[engine].token)
                sample = runner.run(load(servers[engine].port, requests, row.connections))
                series[f"{row.title} over HTTP ×{row.connections}", engine].append(sample)


def _inside_round(
    series: Series,
    counts: Counts,
    stored: Sequence[Memo],
    number: int,
    inside: Mapping[str, _Inside],
    called: Mapping[str, _Called],
    turns: Sequence[str],
    runner: asyncio.Runner,
) -> None:
    work = material(counts, stored, number)
    for engine in turns:
        series["get in process, awaited", engine].append(runner.run(awaited(inside[engine].get, work.wanted_at_once)))
        series["put in process, 16 tasks", engine].append(runner.run(by_tasks(inside[engine].put, work.crowd)))
        series["get in process, plain call", engine].append(one_by_one(called[engine].get, work.wanted_at_once))


class _Inside:
    """The asynchronous API, in the name of each item's user."""

    def __init__(self, memories: Memories, users: Sequence[str]) -> None:
        self._memories = memories
        self._of = {user: memories.for_caller(new_caller("default", user)) for user in users}

    @staticmethod
    async def opened(folder: Path, engine: str, stored: Sequence[Memo]) -> _Inside:
        memories = await recollect.open(folder, settings=Settings(policy_engine=engine))
        for at in range(0, len(stored), _FILL):
            await memories.batch(_operations(stored[at : at + _FILL]))
        return _Inside(memories, _users(stored))

    async def get(self, memo: Memo) -> object:
        return await self._of[memo.namespace[1]].get(memo.namespace, memo.key)

    async def put(self, memo: Memo) -> object:
        return await self._of[memo.namespace[1]].put(memo.namespace, memo.key, memo.value)

    async def close(self) -> None:
        await self._memories.close()


class _Called:
    """The synchronous API, in the name of each item's user."""

    def __init__(self, folder: Path, engine: str, stored: Sequence[Memo]) -> None:
        self._memories: MemoriesSync = recollect.open_sync(folder, settings=Settings(policy_engine=engine))
        for at in range(0, len(stored), _FILL):
            self._memories.batch(_operations(stored[at : at + _FILL]))
        self._of = {user: self._memories.for_caller(new_caller("default", user)) for user in _users(stored)}

    def get(self, memo: Memo) -> object:
        return self._of[memo.namespace[1]].get(memo.namespace, memo.key)

    def close(self) -> None:
        self._memories.close()


async def _uncached(counts: Counts) -> dict[str, float]:
    """How long questions take that were never asked before."""
    workings = compose(":memory:", Settings())
    try:
        policy = (await workings.policies.in_force("default")).policy
        caller = new_caller("default", "asker")
        await policy.authorize(caller, Action.READ, ("user", "first"), "k")
        ask: Callable[[str], Awaitable[Any]] = lambda user: _ask(policy, caller, user)  # noqa: E731 - a step of the run
        names = [f"u{random.Random(number).getrandbits(64):x}" for number in range(counts.reads)]
        sample = await awaited(ask, names)
    finally:
        await workings.close()
    return {"p50": sample.percentile(0.5), "p99": sample.percentile(0.99), "mean": sample.mean}


async def _ask(policy: Any, caller: Caller, user: str) -> object:
    return await policy.authorize(caller, Action.READ, ("user", user, "notes"), "k")


def _server(folder: Path, engine: str) -> Any:
    return running(folder, log_level="warning", filterable_attributes=["topic"], policy_engine=engine)


def _filled(server: Server, stored: Sequence[Memo]) -> Keys:
    for at in range(0, len(stored), _FILL):
        reply = answer_to(server.port, batch(stored[at : at + _FILL], server.token))
        if reply.status != 200:
            raise RuntimeError(f"the server could not be filled: {reply.body.decode()}")
    return {user: server.key_for(user) for user in _users(stored)}


def _users(stored: Sequence[Memo]) -> list[str]:
    return sorted({memo.namespace[1] for memo in stored})


def _operations(stored: Sequence[Memo]) -> list[PutOp]:
    return [PutOp(memo.namespace, memo.key, memo.value) for memo in stored]


def _report(machine: Mapping[str, object], counts: Counts, series: Series, uncached: Mapping[str, float]) -> Report:
    rows = list(dict.fromkeys(row for row, _ in series))
    ratios = {
        row: median(
            mine.per_second / other.per_second
            for mine, other in zip(series[row, REGO], series[row, PLAIN], strict=True)
        )
        for row in rows
    }
    rates = {row: {name: median(each.per_second for each in series[row, name]) for name in ENGINES} for row in rows}
    verdicts = [Verdict(goal, ratios[goal.row]) for goal in GOALS if goal.row in ratios]
    return Report(machine, counts, rates, ratios, uncached, verdicts)


def table(report: Report) -> str:
    """The run as text."""
    goals = {verdict.goal.row: verdict for verdict in report.verdicts}
    lines = ["", f"{'what the policy costs':<30}{'rego /s':>12}{'builtin /s':>12}{'ratio':>9}  goal"]
    for row, ratio in report.ratios.items():
        found = goals.get(row)
        said = "" if found is None else f"{found.goal.text()} {'met' if found.met else 'missed'}"
        rates = report.per_second[row]
        lines.append(f"{row:<30}{rates[REGO]:>12,.0f}{rates[PLAIN]:>12,.0f}{ratio:>8.2f}×  {said}")
    p50, p99, mean = (report.uncached[name] for name in ("p50", "p99", "mean"))
    lines.append(f"{'uncached decision':<30}p50 {p50:,.0f} µs, p99 {p99:,.0f} µs, mean {mean:,.0f} µs")
    return "\n".join([*lines, "", *(f"- {note}" for note in NOTES)])


def as_json(report: Report) -> str:
    """The run for machines."""
    said = asdict(report)
    said["verdicts"] = [
        {"row": each.goal.row, "bound": each.goal.bound, "ratio": each.ratio, "met": each.met}
        for each in report.verdicts
    ]
    return json.dumps({**said, "notes": NOTES}, indent=1) + "\n"
