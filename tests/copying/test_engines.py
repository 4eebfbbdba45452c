"""Looking after an engine: what `doctor` and `migrate` say of a server, and what opening refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from pymongo import MongoClient
from tests.cli.typed import typed
from tests.copying.deployment import settings_of

import recollect
from recollect.backends.postgres import schema, upgrades
from recollect.backends.postgres.schema import STEPS, Step
from recollect.config import Settings
from recollect.config.secret import Secret
from recollect.domain.errors import KeyStoreMissing, StoreIncomplete
from recollect.engines import engine_of, shown
from recollect.ports.engines import Migration, skew
from recollect.sync import drive

_INVALID = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'recollect.versions_ended'::regclass"
Troubles = list[tuple[str, str]]


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def examined(url: str, *, besides: str = "durability") -> Troubles:
    """What is not well, but for the durability of a server for tests."""
    found = engine_of(url, Settings()).examine()
    assert all(each.advice for each in found if each.level != "ok")
    return [(each.check, each.level) for each in found if each.level != "ok" and each.check != besides]


def begun(url: str, home: Path) -> None:
    with recollect.open_sync(home, settings=settings_of(url)) as memories:
        memories.put(["user", "alice"], "diet", {"text": "vegan"})


def test_a_sound_postgresql_is_well(postgres: str, tmp_path: Path) -> None:
    assert examined(postgres) == [("schema", "warning")]
    begun(postgres, tmp_path)
    assert examined(postgres) == []


def test_a_sound_mongodb_is_well(documents: str, tmp_path: Path) -> None:
    assert examined(documents) == [("schema", "warning")]
    begun(documents, tmp_path)
    assert examined(documents) == []


@pytest.mark.parametrize(
    ("planted", "trouble"),
    [
        ("DROP INDEX recollect.versions_expiring", ("indexes", "failure")),
        (_INVALID, ("indexes", "failure")),
        ('ALTER TABLE recollect.events ALTER COLUMN namespace TYPE text COLLATE "POSIX"', ("collation", "failure")),
        ("DROP SCHEMA recollect_keys CASCADE", ("wrapped keys", "failure")),
        ("DELETE FROM recollect_keys.keys", ("wrapped keys", "failure")),
    ],
)
def test_what_is_wrong_with_a_schema_is_found(
    planted: str, trouble: tuple[str, str], postgres: str, tmp_path: Path
) -> None:
    begun(postgres, tmp_path)
    run(postgres, planted)
    assert examined(postgres) == [trouble]


def test_a_database_that_takes_no_writes_is_found(postgres: str, tmp_path: Path) -> None:
    begun(postgres, tmp_path)
    name = urlsplit(postgres).path[1:]
    run(postgres, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    assert ("role", "failure") in examined(postgres)


def test_a_server_that_may_lose_what_it_acknowledged_is_found(postgres: str) -> None:
    with psycopg.connect(postgres) as connection:
        off = connection.execute("SHOW fsync").fetchone() == ("off",)
    found = [each for each in engine_of(postgres, Settings()).examine() if each.check == "durability"]
    assert [each.level for each in found] == (["failure"] if off else ["ok"])
    name = urlsplit(postgres).path[1:]
    run(postgres, f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    assert "warning" in [each.level for each in engine_of(postgres, Settings()).examine() if each.check == "durability"]


def test_vectors_that_are_asked_for_and_cannot_be_kept_are_found(postgres: str) -> None:
    with psycopg.connect(postgres) as connection:
        there = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is not None
    asked = Settings(store=Secret(postgres), vectors=Secret("pgvector"))
    found = {each.check: each.level for each in engine_of(postgres, asked).examine()}
    assert found["vectors"] == ("ok" if there else "warning")
    assert ("vectors", "warning") not in examined(postgres)


def test_what_is_wrong_with_a_database_of_documents_is_found(documents: str, tmp_path: Path) -> None:
    begun(documents, tmp_path)
    name = documents.rpartition("/")[2]
    with MongoClient[dict[str, Any]](documents) as client:
        client[name]["versions"].drop_index("tenant_since")
        assert examined(documents) == [("indexes", "failure")]
        client[name]["keys"].delete_many({})
    assert examined(documents) == [("indexes", "failure"), ("wrapped keys", "failure")]


@pytest.mark.parametrize(
    ("theirs", "level"), [(100.05, "ok"), (100.9, "ok"), (98.5, "warning"), (102.0, "warning"), (140.0, "failure")]
)
def test_clocks_that_differ_are_found(theirs: float, level: str) -> None:
    assert skew(theirs, 100.0, 100.1).level == level


def _without_keys_in_postgres(url: str) -> None:
    run(url, "DROP SCHEMA recollect_keys CASCADE")


def _without_keys_in_mongodb(url: str) -> None:
    with MongoClient[dict[str, Any]](url) as client:
        client[url.rpartition("/")[2]]["keys"].drop()


@pytest.mark.parametrize(
    ("engine", "lose"), [("postgres", _without_keys_in_postgres), ("documents", _without_keys_in_mongodb)]
)
def test_data_without_its_wrapped_keys_is_not_opened(
    engine: str, lose: Callable[[str], None], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str = request.getfixturevalue(engine)
    begun(url, tmp_path)
    lose(url)
    with pytest.raises(KeyStoreMissing, match="wrapped keys are missing"):
        recollect.open_sync(tmp_path, settings=settings_of(url))


@pytest.mark.parametrize("engine", ["postgres", "documents"])
def test_a_half_copied_place_is_not_served(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url: str = request.getfixturevalue(engine)
    begun(url, tmp_path)
    with recollect.open_sync(tmp_path, settings=settings_of(url)) as memories:
        drive(memories._memories.workings.store.set_mark(b"begun"))
    with pytest.raises(StoreIncomplete):
        recollect.open_sync(tmp_path, settings=settings_of(url))


# -- from the command line


def test_the_doctor_looks_at_the_server_too(postgres: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    begun(postgres, home)
    told = json.loads(typed(home, "doctor", "--json", RECOLLECT_STORE=postgres).stdout)
    checks = [each["check"] for each in told["findings"]]
    engine = ["database", "server clock", "role", "connections", "durability", "vectors", "indexes", "collation"]
    assert [check for check in checks if check in {*engine, "wrapped keys"}] == [*engine, "wrapped keys"]
    assert [each["check"] for each in told["findings"] if each["level"] == "failure"] in ([], ["durability"])


@pytest.mark.parametrize(
    "url", ["postgresql://bob:hush@127.0.0.1:1/x", "mongodb://bob:hush@127.0.0.1:1/x?serverSelectionTimeoutMS=100"]
)
def test_a_server_that_cannot_be_reached_gets_advice_that_fits(url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    done = typed(home, "doctor", "--json", RECOLLECT_STORE=url)
    assert done.returncode == 4
    found = [each for each in json.loads(done.stdout)["findings"] if each["check"] == "database"]
    assert [each["level"] for each in found] == ["failure"]
    assert "host, port, user, password" in found[0]["advice"]
    assert b"hush" not in done.stdout + done.stderr


def test_what_is_shown_of_a_url_has_no_password() -> None:
    assert shown("postgresql://bob:hush@db:5432/x?password=hush") == "postgresql://db:5432/x"


def migrated(home: Path, url: str | None, *words: str) -> tuple[int, dict[str, Any]]:
    done = typed(home, "migrate", "--json", *words, RECOLLECT_STORE=url or f"sqlite:///{home}/recollect.db")
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("engine", ["postgres", "documents"])
def test_a_schema_is_made_before_anything_is_served(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, home = request.getfixturevalue(engine), tmp_path / "home"
    home.mkdir(mode=0o700)
    status, told = migrated(home, url, "--check")
    assert status == 4
    assert told["pending"]
    status, told = migrated(home, url)
    assert (status, bool(told["done"])) == (0, True)
    assert migrated(home, url, "--check") == (0, {"pending": [], "done": [], "to_finish": []})
    begun(url, home)


def test_a_newer_program_adds_first_and_removes_when_told_to(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(postgres, Settings())
    engine.migrate(False)
    assert engine.migration() == Migration()
    steps = (*STEPS, Step("CREATE TABLE newer (n int)", "DROP TABLE newer"))
    for module in (schema, upgrades):
        monkeypatch.setattr(module, "STEPS", steps)
    number = len(steps)
    later = (f"the second part of step {number} in recollect",)
    assert engine.migration() == Migration((f"step {number} in the schema recollect",), later)
    engine.migrate(False)
    assert engine.migration() == Migration((), later)
    engine.migrate(True)
    assert engine.migration() == Migration()


def test_a_file_is_checked_and_brought_up_to_date(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    assert migrated(home, None, "--check")[0] == 4
    with recollect.open_sync(home) as memories:
        memories.put(["user", "alice"], "diet", {"text": "vegan"})
    assert migrated(home, None, "--check") == (0, {"pending": [], "done": [], "to_finish": []})
    assert migrated(home, None)[0] == 0
