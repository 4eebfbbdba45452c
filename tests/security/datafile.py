"""The data directory as an intruder sees it: raw rows, raw bytes, no store in between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

DATA = "recollect.db"
WRAPPED = "keys/wrapped.db"
MASTER = "keys/master.key"


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """A plain connection to a database file, without any of our settings but speed."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.set_busy_timeout(5_000)
        yield connection
    finally:
        connection.close()


def everything_in(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a directory, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def files_with(folder: Path, needle: bytes) -> list[str]:
    """Which files below a directory contain these bytes, however a reader might spell them."""
    spellings = (needle, needle.hex().encode(), needle.decode().encode("utf-16-le"))
    return [name for name, data in everything_in(folder).items() if any(each in data for each in spellings)]
