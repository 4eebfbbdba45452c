"""A file that an earlier release wrote is brought up to date when it is opened, with all that is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from tests.faults.workload import make_schema

from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore, schema
from recollect.domain.address import namespace
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, Find
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.testing.contract.scenes import TENANT, at, delete, log_of, put, relabel, rows_of, write
from recollect.testing.doubles import ManualClock, SerialIds


def opened(path: Path, clock: ManualClock, ids: SerialIds) -> SqliteStore:
    return SqliteStore(SqliteOptions(path), clock=clock, ids=ids, sealer=Plain())


def tables(path: Path) -> list[Any]:
    """What the engine knows of the tables: names, columns, indexes."""
    connection = apsw.Connection(str(path))
    try:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]
        return [(name, list(connection.execute(f"PRAGMA table_info({name})"))) for name in names]
    finally:
        connection.close()


async def written_before(path: Path, clock: ManualClock, ids: SerialIds, steps: int) -> None:
    """A file of an earlier schema, with versions in every state."""
    store = opened(path, clock, ids)
    for n in range(20):
        await write(store, put(at("old", key=str(n % 7)), b"x" * 900 * n, policy=f'{{"n":{n}}}'))
        clock.advance(1)
    await delete(store, at("old", key="3"))
    await write(store, put(at("user", "ann")), put(at("brief"), ttl=1))
    if steps > 1:
        await write(store, put(at("put", "away"), policy='{"n":1}', archived=True))
    clock.advance(5)
    for step in (Pass.EXPIRE, Pass.EVICT):
        await store.sweep(TENANT, step, Retention(superseded=10_000_000), limit=5)
    await store.erase(Erasure(b"e" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    await store.close()
    connection = apsw.Connection(str(path))
    make_schema(connection, steps)
    connection.close()


async def test_a_file_of_the_first_schema_keeps_everything_and_still_verifies(tmp_path: Path) -> None:
    clock, ids, path = ManualClock(), SerialIds(), tmp_path / "data.db"
    await written_before(path, clock, ids, 1)
    assert "archived" not in str(tables(path))
    store = opened(path, clock, ids)
    assert (await store.verify(TENANT)).sound
    log = await log_of(store)
    rows = await rows_of(store, Find(Plane.ITEM))
    assert len(rows) == 6
    assert rows == await rows_of(store, Find(Plane.ITEM, archived=Archived.INCLUDE))
    assert await rows_of(store, Find(Plane.ITEM, archived=Archived.ONLY)) == []
    await write(store, put(at("old", key="1"), archived=True), put(at("new"), archived=True))
    assert len(await rows_of(store, Find(Plane.ITEM))) == 5
    assert (await log_of(store))[: len(log)] == log
    await store.close()
    store = opened(path, clock, ids)
    assert (await store.verify(TENANT)).sound
    assert len(await rows_of(store, Find(Plane.ITEM, archived=Archived.ONLY))) == 2
    await store.close()


async def test_what_a_file_of_the_second_schema_holds_can_be_relabelled(tmp_path: Path) -> None:
    clock, ids, path = ManualClock(), SerialIds(), tmp_path / "data.db"
    await written_before(path, clock, ids, 2)
    assert "archived" in str(tables(path))
    assert "pinned_sequence" not in str(tables(path))
    store = opened(path, clock, ids)
    assert (await store.verify(TENANT)).sound
    log, everything = await log_of(store), Find(Plane.ITEM, archived=Archived.INCLUDE)
    before = await rows_of(store, everything)
    assert len(before) == 7
    for row in before:
        assert (await relabel(store, row.address, row.revision, '{"new":true}')).revision == row.revision
    assert [replace(row, policy_attributes='{"new":true}') for row in before] == await rows_of(store, everything)
    assert (await log_of(store))[: len(log)] == log
    await write(store, put(at("old", key="1")))
    await store.close()
    store = opened(path, clock, ids)
    report = await store.verify(TENANT)
    assert report.sound, report.problems
    clock.advance(1_000)
    for step in (Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE):
        await store.sweep(TENANT, step, Retention(superseded=0, tombstones=0))
        assert (await store.verify(TENANT)).sound
    await store.close()


@pytest.mark.parametrize("steps", range(1, len(schema.MIGRATIONS) + 1))
async def test_every_older_schema_becomes_the_one_that_new_files_have(tmp_path: Path, steps: int) -> None:
    older, new = tmp_path / "older.db", tmp_path / "new.db"
    connection = apsw.Connection(str(older))
    schema.migrate(connection, schema.MIGRATIONS[:steps])
    connection.close()
    for path in (older, new):
        await opened(path, ManualClock(), SerialIds()).close()
    assert tables(older) == tables(new)
    schema.check_ours(new)
