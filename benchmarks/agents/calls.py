"""Calls of gRPC, on our service and on one that does nothing, each a process of its own, from one client."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import grpc
import uvloop

from benchmarks.http.load import Misbehaved
from benchmarks.http.rows import Keys
from benchmarks.http.running import filled
from benchmarks.running import Tell
from benchmarks.workload import AT_ONCE, Counts, Memo, Sample, awaited, memos
from recollect.surfaces.grpc.structs import fill
from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.surfaces.grpc.v1.memory_service_pb2_grpc import MemoriesServiceStub
from recollect.testing.servers import running

OURS, BARE = "over gRPC", "bare"
ROWS = {
    "grpc_get_1": ("GetMemory", 1),
    "grpc_get_16": ("GetMemory", AT_ONCE),
    "grpc_put_1": ("PutMemory", 1),
    "grpc_put_16": ("PutMemory", AT_ONCE),
}
"""By row: the call, and how many are under way at a time."""
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Answered:
    """A sample, and the processor time of the server for one call, in microseconds."""

    sample: Sample
    processor_us: float


Series = dict[tuple[str, str], list[Answered]]


class Client:
    """Somebody who calls one server, over one connection."""

    def __init__(self, place: str, process: int, keys: Keys) -> None:
        self._channel = grpc.aio.insecure_channel(place)
        self._process = process
        self._keys = keys
        self._stub: Any = MemoriesServiceStub(self._channel)

    async def ask(self, asked: tuple[str, Memo, Any]) -> Any:
        """One call, in the name of the item's user."""
        name, memo, request = asked
        metadata = (("authorization", f"Bearer {self._keys[memo.namespace[1]]}"),)
        return await getattr(self._stub, name)(request, metadata=metadata)

    async def load(self, name: str, wanted: Sequence[Memo], at_once: int) -> Answered:
        """Time these calls; so many are under way at a time."""
        work = [(name, memo, message(name, memo)) for memo in wanted]
        spent = _processor_seconds(self._process)
        began = perf_counter_ns()
        parts = await asyncio.gather(*(awaited(self.ask, work[place::at_once]) for place in range(at_once)))
        sample = Sample(len(work), perf_counter_ns() - began, [lap for part in parts for lap in part.laps])
        return Answered(sample, (_processor_seconds(self._process) - spent) * 1e6 / len(work))

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()


def message(name: str, memo: Memo) -> Any:
    """What is sent to get or to put an item."""
    if name == "GetMemory":
        return pb.GetMemoryRequest(namespace=memo.namespace, key=memo.key)
    request = pb.PutMemoryRequest(namespace=memo.namespace, key=memo.key)
    fill(request.value, memo.value, "value")
    return request


def compare(counts: Counts, folder: Path, tell: Tell) -> Series:
    """Fill our service, check its answers, and time every row on both servers, round by round."""
    stored = memos(0, counts.items, counts.namespaces)
    series: Series = {}
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        running(folder / "ours", grpc_port=0, log_level="warning", filterable_attributes=["topic"]) as server,
    ):
        keys = filled(server, stored)
        assert server.process is not None
        ours = runner.run(_client(server.grpc, server.process.pid, keys))
        answers = runner.run(_checked(ours, stored))
        tell("the service is filled, and answers rightly over gRPC")
        with running_bare(answers, folder) as (port, process):
            bare = runner.run(_client(f"127.0.0.1:{port}", process, keys))
            try:
                for number in range(counts.rounds):
                    _round(counts, stored, number, {OURS: ours, BARE: bare}, series, runner)
                    tell(f"gRPC, round {number + 1} of {counts.rounds} done")
            finally:
                runner.run(ours.close())
                runner.run(bare.close())
    return series


async def _client(place: str, process: int, keys: Keys) -> Client:
    return Client(place, process, keys)


def _round(
    counts: Counts, stored: Sequence[Memo], number: int, clients: dict[str, Client], series: Series, runner: Any
) -> None:
    for place, (row, (name, at_once)) in enumerate(ROWS.items()):
        many = counts.reads if name == "GetMemory" else counts.concurrent if at_once > 1 else counts.writes
        reading = [stored[(number * many + at * 7) % len(stored)] for at in range(many)]
        work = reading if name == "GetMemory" else memos(0, many, counts.namespaces, f"{row}-{number}-")
        for each in (OURS, BARE) if (number + place) % 2 == 0 else (BARE, OURS):
            series.setdefault((row, each), []).append(runner.run(clients[each].load(name, work, at_once)))


async def _checked(ours: Client, stored: Sequence[Memo]) -> dict[str, Any]:
    """Ask everything once that will be timed, refuse what is wrong, and give the right answers to be repeated."""
    found: Any = None
    for memo in stored[:: max(1, len(stored) // 20)]:
        found = await ours.ask(("GetMemory", memo, message("GetMemory", memo)))
        if (tuple(found.namespace), found.key) != (memo.namespace, memo.key) or found.value["text"] != memo.value[
            "text"
        ]:
            raise Misbehaved(f"a get over gRPC does not give back what was put under {memo.key}")
    written = await ours.ask(("PutMemory", stored[0], message("PutMemory", stored[0])))
    if (written.key, written.revision) != (stored[0].key, 2):
        raise Misbehaved(f"a put over gRPC is confirmed as {written}")
    return {"GetMemory": found, "PutMemory": written}


@contextmanager
def running_bare(answers: dict[str, Any], folder: Path) -> Iterator[tuple[int, int]]:
    """The port and the process of a server that repeats these answers, for as long as the block lasts."""
    file = folder / "answers.json"
    said = {name: base64.b64encode(answer.SerializeToString()).decode() for name, answer in answers.items()}
    file.write_text(json.dumps(said))
    program = [sys.executable, str(Path(__file__).with_name("bare.py")), str(file)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline()), process.pid
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _processor_seconds(process: int) -> float:
    """Processor time that a process has spent so far; 0 where the system does not tell."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
