"""On what a run ran, so that its figures can be read."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path
from time import perf_counter_ns

import apsw


def machine_facts(folder: Path) -> dict[str, object]:
    """Cores, versions, the file system under the folder, and what one wait for its disk takes."""
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite_ours": apsw.sqlite_lib_version(),
        "sqlite_peers": sqlite3.sqlite_version,
        "langgraph_checkpoint_sqlite": version("langgraph-checkpoint-sqlite"),
        "file_system": _file_system(folder),
        "fsync_p50_us": round(_fsync_microseconds(folder), 1),
    }


def _file_system(folder: Path) -> str:
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "unknown"
    lines = [line.split() for line in mounts.read_text().splitlines()]
    under = [(point, kind) for _, point, kind, *_ in lines if folder.resolve().is_relative_to(point)]
    return max(under, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]


def _fsync_microseconds(folder: Path, tries: int = 100) -> float:
    probe = folder / "fsync-probe"
    laps: list[int] = []
    with probe.open("wb", buffering=0) as file:
        for _ in range(tries):
            file.write(bytes(4096))
            began = perf_counter_ns()
            os.fsync(file.fileno())
            laps.append(perf_counter_ns() - began)
    probe.unlink()
    return sorted(laps)[len(laps) // 2] / 1_000
