"""Memories in PostgreSQL are opened by a setting; the master key stays in the data directory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.engines.postgres import needs_postgres

import recollect
from recollect.config import Secret, Settings
from recollect.domain.errors import InvalidSetting, MasterKeyMismatch, MasterKeyMissing, Unsupported
from recollect.main import KEYS_FOLDER, MASTER_KEY_FILE
from recollect.testing.postgres import fresh_schema


@pytest.fixture
def settings() -> Iterator[Settings]:
    """Settings that name a database of its own."""
    url, name = needs_postgres(), fresh_schema()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    own = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    yield Settings(store=Secret(own), embedder="hashing", policy_engine="builtin")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_one_process_remembers_another_finds(settings: Settings, tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=settings) as memories:
        memories.put(("user", "ann"), "tea", {"text": "without sugar"})
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == [KEYS_FOLDER, MASTER_KEY_FILE]
    with recollect.open_sync(tmp_path, settings=settings) as memories:
        item = memories.get(("user", "ann"), "tea")
        assert item is not None
        assert item.value == {"text": "without sugar"}
        assert memories.verify().sound


def test_an_event_loop_uses_it_too(settings: Settings, tmp_path: Path) -> None:
    async def use() -> list[int]:
        async with recollect.open(tmp_path, settings=settings) as memories:
            made = await asyncio.gather(*(memories.put(("user", "ann"), str(n), {"n": n}) for n in range(50)))
            return sorted(each.sequence or 0 for each in made)

    assert asyncio.run(use()) == list(range(1, 51))


def test_an_erased_user_is_gone(settings: Settings, tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=settings) as memories:
        memories.put(("user", "ann"), "tea", {"text": "without sugar"})
        memories.erase("user:ann")
        assert memories.get(("user", "ann"), "tea") is None
        assert memories.verify().sound


def test_without_its_master_key_it_stays_shut(settings: Settings, tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=settings) as memories:
        memories.put(("user", "ann"), "tea", {"text": "without sugar"})
    (tmp_path / KEYS_FOLDER / MASTER_KEY_FILE).unlink()
    with pytest.raises((MasterKeyMissing, MasterKeyMismatch)):
        recollect.open_sync(tmp_path, settings=settings)


def test_a_backup_into_a_file_is_not_offered(settings: Settings, tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path, settings=settings) as memories, pytest.raises(Unsupported):
        memories.backup(tmp_path / "copy.db")
    with pytest.raises(Unsupported):
        recollect.restore(tmp_path / "copy.db", tmp_path / "new", keys=tmp_path, settings=settings)


def test_a_missing_driver_is_named(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("recollect.backends.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidSetting, match=r"recollect\[postgres\]"):
        recollect.open_sync(tmp_path, settings=settings)


def test_a_file_of_another_name(tmp_path: Path) -> None:
    chosen = Settings(store=Secret(f"sqlite:///{tmp_path / 'other.db'}"), embedder="hashing", policy_engine="builtin")
    with recollect.open_sync(tmp_path / "home", settings=chosen) as memories:
        memories.put(("a",), "k", {})
    assert (tmp_path / "other.db").exists()
    with recollect.open_sync(tmp_path / "home", settings=chosen) as memories:
        assert memories.get(("a",), "k") is not None


@pytest.mark.parametrize("url", ["mysql://server/db", "sqlite://data.db", "server/db"])
def test_what_is_no_store_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InvalidSetting, match="store must begin") as refusal:
        Settings(store=Secret(url))
    assert url not in str(refusal.value)
