"""The service over HTTP by one process and by two, on one database: what a second process adds."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import uvloop

from benchmarks.engines.databases import Databases
from benchmarks.http.load import Request, load
from benchmarks.http.rows import ROWS, material
from benchmarks.http.running import filled
from benchmarks.running import Tell
from benchmarks.workload import AT_ONCE, Counts, Sample, memos
from recollect.testing.servers import Server

SHOWN = ("get_16", "put_16", "search_16", "mixed_16")
MOST = 2


@dataclass(frozen=True)
class Served:
    """What so many processes serve together."""

    row: str
    processes: int
    per_second: float
    p50_us: float
    processor_share: float
    """How much of all cores was busy meanwhile, with the load and the database: at 1, another process adds nothing."""


def measure_processes(counts: Counts, made: Databases, folder: Path, tell: Tell) -> list[Served]:
    """Fill a database through one service, and send the same requests to one process and to two, in turns."""
    stored = memos(0, counts.items, counts.namespaces)
    samples: dict[tuple[str, int], list[tuple[Sample, float]]] = defaultdict(list)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, ExitStack() as stack:
        servers = _started(made.fresh(), folder, stack)
        keys = filled(servers[0], stored)
        made.settle()
        for number in range(counts.rounds):
            work = material(counts, stored, number)
            for row in ROWS:
                if row.name in SHOWN:
                    requests = row.requests(work, keys, servers[0].token)
                    turns = (1, MOST) if number % 2 == 0 else (MOST, 1)
                    for many in turns:
                        ports = [server.port for server in servers[:many]]
                        samples[row.name, many].append(runner.run(_load(ports, requests)))
            tell(f"  round {number + 1} of {counts.rounds} over HTTP by processes done")
    return [_served(row, many, taken) for (row, many), taken in samples.items()]


def _started(url: str, folder: Path, stack: ExitStack) -> list[Server]:
    homes = [folder / f"service-{number}" for number in range(MOST)]
    wishes = {"store": url, "log_level": "warning", "filterable_attributes": ["topic"]}
    servers = [stack.enter_context(Server(homes[0], **wishes))]
    for home in homes[1:]:
        (home / "keys").mkdir(parents=True, mode=0o700)
        shutil.copy2(homes[0] / "keys" / "master.key", home / "keys" / "master.key")
        servers.append(stack.enter_context(Server(home, **wishes)))
    return servers


async def _load(ports: Sequence[int], requests: Sequence[Request]) -> tuple[Sample, float]:
    """Time these requests, spread over the processes, and tell how busy the machine was."""
    each = AT_ONCE // len(ports)
    began, busy = perf_counter_ns(), _busy_seconds()
    parts = (load(port, requests[place :: len(ports)], each) for place, port in enumerate(ports))
    samples = await asyncio.gather(*parts)
    took = perf_counter_ns() - began
    share = (_busy_seconds() - busy) / (took / 1e9) / (os.cpu_count() or 1)
    return Sample(len(requests), took, [lap for sample in samples for lap in sample.laps]), share


def _busy_seconds() -> float:
    """Processor time that all processes of the machine have spent so far."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    spent = [int(number) for number in stat.read_text().splitlines()[0].split()[1:]]
    return (sum(spent[:3]) + sum(spent[5:8])) / os.sysconf("SC_CLK_TCK")


def _served(row: str, many: int, taken: Sequence[tuple[Sample, float]]) -> Served:
    return Served(
        row,
        many,
        median(sample.per_second for sample, _ in taken),
        median(sample.percentile(0.5) for sample, _ in taken),
        median(share for _, share in taken),
    )


def gains(served: Sequence[Served]) -> dict[str, float]:
    """By how much two processes serve more than one."""
    rates = {(each.row, each.processes): each.per_second for each in served}
    return {row: rates[row, MOST] / rates[row, 1] for row, many in rates if many == 1}
