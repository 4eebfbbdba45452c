"""Running the rows over HTTP: our server and the constant side by side, each in every round, taking turns."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvloop

from benchmarks.http.agreement import Recorded, check_constant, check_ours
from benchmarks.http.load import answer_to, load
from benchmarks.http.rows import ROWS, Keys, Material, Row, batch, material
from benchmarks.running import Tell
from benchmarks.subjects.ours import Ours, OursAwaited
from benchmarks.workload import Counts, Memo, Sample, awaited, by_tasks, memos
from recollect.testing.servers import Server, running

OURS, CONSTANT, IN_PROCESS = "over HTTP", "constant", "in process"
Series = dict[tuple[str, str], list[Sample]]
"""The samples of all rounds, by row and subject."""
_FILL = 1_000
_STOP_SECONDS = 30.0


def compare(counts: Counts, folder: Path, tell: Tell) -> Series:
    """Fill our server, check its answers, and time every row on it and on the constant, round by round."""
    stored = memos(0, counts.items, counts.namespaces)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, _ours(folder / "ours") as server:
        keys = filled(server, stored)
        tell("server filled")
        recorded = check_ours(server.port, stored, keys, server.token)
        with running_constant(recorded, folder) as port:
            check_constant(port, recorded, server.token)
            inside = runner.run(_inside(folder / "inside", stored))
            try:
                return _rounds(counts, stored, (server, port, inside), keys, runner, tell)
            finally:
                runner.run(inside.close())


def _rounds(
    counts: Counts,
    stored: Sequence[Memo],
    subjects: tuple[Server, int, OursAwaited],
    keys: Keys,
    runner: asyncio.Runner,
    tell: Tell,
) -> Series:
    server, constant, inside = subjects
    series: Series = defaultdict(list)
    for number in range(counts.rounds):
        work = material(counts, stored, number)
        for place, row in enumerate(ROWS):
            tell(f"  {row.title} ×{row.connections}")
            requests = row.requests(work, keys, server.token)
            turns = [(OURS, server.port), (CONSTANT, constant)]
            for name, port in turns if (number + place) % 2 == 0 else turns[::-1]:
                series[row.name, name].append(runner.run(load(port, requests, row.connections)))
            sample = runner.run(_in_process(row, inside, work))
            if sample is not None:
                series[row.name, IN_PROCESS].append(sample)
        tell(f"round {number + 1} of {counts.rounds} over HTTP done")
    return dict(series)


async def _in_process(row: Row, inside: OursAwaited, work: Material) -> Sample | None:
    """The same without HTTP, where that is one call."""
    if row.name == "get_1":
        return await awaited(inside.get, work.wanted)
    if row.name == "get_16":
        return await by_tasks(inside.get, work.wanted_at_once)
    if row.name == "put_1":
        return await awaited(inside.put, work.fresh)
    return await by_tasks(inside.put, work.crowd) if row.name == "put_16" else None


async def _inside(folder: Path, stored: Sequence[Memo]) -> OursAwaited:
    inside = await Ours().evented(folder)
    for at in range(0, len(stored), _FILL):
        await inside.fill(stored[at : at + _FILL])
    return inside


@contextmanager
def _ours(folder: Path) -> Iterator[Server]:
    """Our server as anybody gets it, but for its log of requests, which the constant has none of either."""
    with running(folder, log_level="warning", filterable_attributes=["topic"]) as server:
        yield server


def filled(server: Server, stored: Sequence[Memo]) -> Keys:
    """Put all of these through the service, and give every user a key."""
    for at in range(0, len(stored), _FILL):
        reply = answer_to(server.port, batch(stored[at : at + _FILL], server.token))
        if reply.status != 200:
            raise RuntimeError(f"the server could not be filled: {reply.body.decode()}")
    return {user: server.key_for(user) for user in sorted({memo.namespace[1] for memo in stored})}


@contextmanager
def running_constant(recorded: Recorded, folder: Path) -> Iterator[int]:
    """The port of a constant that repeats these answers, for as long as the block lasts."""
    file = folder / "answers.json"
    file.write_text(json.dumps(recorded))
    program = [sys.executable, str(Path(__file__).with_name("constant.py")), str(file)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
