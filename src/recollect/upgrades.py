"""Bringing the schema of whatever engine is configured to what this version needs."""

from __future__ import annotations

from pathlib import Path

from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.backends.sqlite.schema import MIGRATIONS, check_ours, version_of
from recollect.config import Settings
from recollect.domain.errors import NotAStore
from recollect.engines import SQLITE, engine_of, is_server
from recollect.main import DATA_FILE, random_ids, system_clock
from recollect.ports.engines import Migration
from recollect.sync import drive


def migration(home: Path, settings: Settings) -> Migration:
    """What is to be done; nothing is changed by asking."""
    url = None if settings.store is None else settings.store.reveal()
    if url is not None and is_server(url):
        return engine_of(url, settings).migration()
    file = _file(home, url)
    if not file.is_file():
        return Migration((f"make {file}",))
    check_ours(file)
    version = version_of(file)
    return Migration(tuple(f"step {number} in {file}" for number in range(version + 1, len(MIGRATIONS) + 1)))


def migrate(home: Path, settings: Settings, *, finish: bool) -> None:
    """Do it; older programs go on until it is finished."""
    url = None if settings.store is None else settings.store.reveal()
    if url is not None and is_server(url):
        engine_of(url, settings).migrate(finish)
        return
    file = _file(home, url)
    if not file.is_file():
        raise NotAStore(f"there are no memories in {home} yet: `recollect serve` or `recollect put` begins there")
    options = SqliteOptions(file, busy_seconds=settings.busy_seconds, partial=True)
    drive(SqliteStore(options, clock=system_clock, ids=random_ids, sealer=Plain(), direct=True).close())


def _file(home: Path, url: str | None) -> Path:
    return home / DATA_FILE if url is None else Path(url.removeprefix(SQLITE))
