"""Opening, sharing, backing up and restoring; and refusing what is not ours without touching it."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect import errors
from recollect.domain.address import Address, namespace
from recollect.domain.commits import Commit, Put
from recollect.domain.instants import Instant
from recollect.domain.reasons import Plane
from recollect.main import DATA_FILE
from recollect.testing.doubles import START

ALICE = ("user", "alice")
ROOT = Path(__file__).parent.parent.parent


class NotingClock:
    """A clock that notes on which threads it was asked."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def __call__(self) -> Instant:
        self.threads.add(threading.get_ident())
        return START


def test_a_synchronous_read_happens_on_the_thread_that_asks(tmp_path: Path) -> None:
    clock = NotingClock()
    with recollect.open_sync(tmp_path / "data", clock=clock) as memories:
        memories.put(ALICE, "k", {"n": 1})
        clock.threads.clear()
        memories.get(ALICE, "k")
        memories.search(ALICE)
        memories.list_namespaces()
        assert clock.threads == {threading.get_ident()}
        clock.threads.clear()
        other = threading.Thread(target=lambda: memories.get(ALICE, "k"))
        other.start()
        other.join()
        assert clock.threads == {other.ident}


async def test_an_awaited_write_leaves_the_loop_free(tmp_path: Path) -> None:
    clock = NotingClock()
    async with recollect.open(tmp_path / "data", clock=clock) as memories:
        clock.threads.clear()
        put = Put(Address(Plane.ITEM, namespace(ALICE), "k"), b"{}")
        await memories.workings.store.commit(Commit("default", (put,)))
        assert clock.threads
        assert threading.get_ident() not in clock.threads


def test_threads_may_share_one_synchronous_store(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:

        def work(number: int) -> None:
            for turn in range(20):
                memories.put(("user", f"u{number}"), f"k{turn}", {"n": turn})
                item = memories.get(("user", f"u{number}"), f"k{turn}")
                assert item is not None
                assert item.value == {"n": turn}

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(memories.search(limit=1_000)) == 120
        assert memories.verify().sound


def test_what_was_closed_is_there_when_opened_again(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        memories.put(ALICE, "k", {"n": 1}, attributes={"a": 1})
        head = memories.head()
    with recollect.open_sync(str(tmp_path / "data")) as memories:
        item = memories.get(ALICE, "k")
        assert item is not None
        assert (item.value, item.attributes) == ({"n": 1}, {"a": 1})
        assert memories.head() == head


async def test_two_stores_on_one_directory_see_each_other_at_once(tmp_path: Path) -> None:
    async with recollect.open(tmp_path / "data") as one, recollect.open(tmp_path / "data") as two:
        for turn in range(20):
            await one.put(ALICE, "k", {"turn": turn})
            item = await two.get(ALICE, "k")
            assert item is not None
            assert item.value == {"turn": turn}


async def test_an_opening_can_be_awaited(tmp_path: Path) -> None:
    memories = await recollect.open(tmp_path / "data")
    await memories.put(ALICE, "k", {})
    await memories.close()


async def test_a_backup_while_others_write_can_be_restored(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    async with recollect.open(tmp_path / "data") as memories:
        for number in range(200):
            await memories.put(ALICE, f"k{number:03}", {"n": number, "pad": "x" * 2_000})

        async def write() -> None:
            for number in range(200, 400):
                await memories.put(ALICE, f"k{number:03}", {"n": number})

        writing = asyncio.create_task(write())
        await asyncio.sleep(0)
        await memories.backup(tmp_path / "copy.db", progress=lambda done, total: progress.append((done, total)))
        await writing
        assert len(await memories.search(limit=1_000)) == 400
    assert progress
    assert progress[-1][0] == progress[-1][1]
    await asyncio.to_thread(recollect.restore, tmp_path / "copy.db", tmp_path / "again", keys=tmp_path / "data")
    async with recollect.open(tmp_path / "again") as memories:
        kept = [item.key for item in await memories.search(order="key", limit=1_000)]
        assert len(kept) >= 200
        assert kept == [f"k{number:03}" for number in range(len(kept))], "a copy is one moment, without holes"
        assert (await memories.verify()).sound
        assert len(await memories.events(limit=1_000)) == len(kept)
        await memories.put(ALICE, "new", {})


def test_a_backup_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with recollect.open_sync(tmp_path / "data") as memories, pytest.raises(errors.InvalidSetting):
        memories.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]


def test_memories_that_are_kept_nowhere_cannot_be_backed_up(tmp_path: Path) -> None:
    with recollect.open_sync(":memory:") as memories, pytest.raises(errors.Unsupported):
        memories.backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_restoring_needs_a_backup_keys_and_an_empty_place(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        memories.put(ALICE, "k", {})
        memories.backup(tmp_path / "copy.db")
    with pytest.raises(errors.InvalidSetting):
        recollect.restore(tmp_path / "nothing.db", tmp_path / "again", keys=tmp_path / "data")
    with pytest.raises(errors.NotAStore):
        recollect.restore(tmp_path / "copy.db", tmp_path / "data", keys=tmp_path / "data")
    (tmp_path / "no-keys").mkdir()
    with pytest.raises(errors.InvalidSetting):
        recollect.restore(tmp_path / "copy.db", tmp_path / "again", keys=tmp_path / "no-keys")
    assert not (tmp_path / "again").exists()
    assert list((tmp_path / "no-keys").iterdir()) == []
    recollect.restore(tmp_path / "copy.db", tmp_path / "again", keys=tmp_path / "data" / "keys")
    with recollect.open_sync(tmp_path / "again") as memories:
        assert memories.get(ALICE, "k") is not None


# -- what is not ours


def foreign(path: Path, *statements: str) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("statements", "error"),
    [
        (("CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('precious')"), errors.NotAStore),
        (("PRAGMA application_id = 1196444487", "CREATE TABLE tiles (x)"), errors.NotAStore),
        (("PRAGMA user_version = 1", "CREATE TABLE notes (text)"), errors.NotAStore),
        (
            ("PRAGMA application_id = 1382376303", "PRAGMA user_version = 99", "CREATE TABLE later (x)"),
            errors.SchemaTooNew,
        ),
    ],
    ids=["another program", "another program with a name", "another program with a version", "a newer schema"],
)
def test_a_database_that_is_not_ours_to_read_is_left_as_it_is(
    statements: tuple[str, ...], error: type[errors.RecollectError], tmp_path: Path
) -> None:
    before = foreign(tmp_path / "data" / DATA_FILE, *statements)
    with pytest.raises(error):
        recollect.open_sync(tmp_path / "data")
    assert (tmp_path / "data" / DATA_FILE).read_bytes() == before
    assert [path.name for path in (tmp_path / "data").iterdir()] == [DATA_FILE]


def test_a_store_of_a_newer_schema_is_left_as_it_is(tmp_path: Path) -> None:
    with recollect.open_sync(tmp_path / "data") as memories:
        memories.put(ALICE, "k", {})
    before = foreign(tmp_path / "data" / DATA_FILE, "PRAGMA user_version = 99")
    with pytest.raises(errors.SchemaTooNew):
        recollect.open_sync(tmp_path / "data")
    assert (tmp_path / "data" / DATA_FILE).read_bytes() == before


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / DATA_FILE).write_bytes(b"these are not the rows you are looking for" * 100)
    before = (tmp_path / "data" / DATA_FILE).read_bytes()
    with pytest.raises(errors.NotAStore):
        recollect.open_sync(tmp_path / "data")
    assert (tmp_path / "data" / DATA_FILE).read_bytes() == before


def test_a_path_that_cannot_be_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    with pytest.raises(errors.StoreUnavailable):
        recollect.open_sync(tmp_path / "file")
    with pytest.raises(errors.StoreUnavailable):
        recollect.open_sync(tmp_path / "file" / "below")


def test_a_refused_opening_leaves_no_thread_behind(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(errors.InvalidTenant):
        recollect.open_sync(tmp_path / "data", tenant="not a tenant")
    assert threading.active_count() == before


# -- the generated form


def test_the_synchronous_form_is_what_the_generator_writes() -> None:
    spec = importlib.util.spec_from_file_location("generate_sync", ROOT / "tools/generate_sync.py")
    assert spec is not None
    assert spec.loader is not None
    tool: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "src/recollect/sync.py").read_text() == tool.formatted(tool.generate())
