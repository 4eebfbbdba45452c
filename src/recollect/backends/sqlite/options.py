"""How the SQLite backend is tuned; the defaults are the promise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SqliteOptions:
    """Where the file is, and how it is written."""

    path: Path
    synchronous: str = "FULL"
    """FULL: what was acknowledged survives power loss. Anything less is for planted faults."""
    exclusive: bool = False
    """One connection only, without shared memory; for file systems that have none, and for fault injection."""
    vfs: str | None = None
    """The name of another SQLite file layer, for fault injection."""
    busy_seconds: float = 30.0
    """How long to wait for another process that is writing."""
    group: int = 512
    """How many commits may share one transaction, and so one wait for the disk."""
    readers: int = 2
    """How many threads read for an event loop; what takes long has threads of its own."""
    cache_kib: int = 65_536
    """Page cache of the writing connection."""
    checkpoint_pages: int = 4_000
    """After how many pages of write-ahead log they are moved into the main file."""
    partial: bool = False
    """Open data that was only partly copied too: for who goes on with copying."""
