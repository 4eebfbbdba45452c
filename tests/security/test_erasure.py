"""What was erased is gone: from the store, its files, its keys and every backup; and the log says so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.security.datafile import DATA, MASTER, WRAPPED, everything_in, raw

import recollect
from recollect import MemoriesSync
from recollect.backends.keyring import Envelope, FileMasterKeys
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions
from recollect.domain.address import Address, decode_namespace
from recollect.domain.errors import KeyErased, SealBroken
from recollect.domain.planning import Erasure
from recollect.domain.reasons import Plane
from recollect.testing.doubles import ManualClock

CANARY = "canary-of-ann"
PLAIN = "open-mark-of-ann"
"""In policy attributes, which are not sealed."""
ANN = ("user", "ann")
BOB = ("user", "bob")


def write(memories: MemoriesSync, keys: int = 20, rounds: int = 3) -> None:
    for turn in range(rounds):
        for number in range(keys):
            policy = {"mark": f"{PLAIN}-{turn}-{number}"}
            value = {"said": f"{CANARY}-{turn}-{number}"}
            memories.put((*ANN, "notes"), f"k{number}", value, attributes=value, policy_attributes=policy)
            memories.put(BOB, f"k{number}", {"of": "bob", "turn": turn}, policy_attributes={"mark": "bob"})
    memories.delete((*ANN, "notes"), "k0")


def everything_readable(memories: MemoriesSync, clock: ManualClock) -> str:
    """All that any reading call gives about anybody, as one text."""
    said: list[Any] = [item.value for item in memories.search((), limit=1_000)]
    for age in range(5):
        past = datetime.fromtimestamp((clock.now / 1_000_000) - age * 10, UTC)
        said += [item.value for item in memories.search((), limit=1_000, as_of=past)]
        said += [item.row.policy_attributes for item in memories.search((), limit=1_000, as_of=past)]
    for number in range(20):
        for item in memories.history((*ANN, "notes"), f"k{number}"):
            said += [item.value, item.attributes, item.row.policy_attributes]
        one = memories.get((*ANN, "notes"), f"k{number}")
        said.append(None if one is None else one.value)
    page = memories.events(limit=1_000)
    said += [(event.value, event.attributes, event.detail) for event in page]
    return repr(said)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@contextmanager
def opened(folder: Path, clock: ManualClock) -> Iterator[MemoriesSync]:
    with recollect.open_sync(folder, clock=clock) as memories:
        yield memories


def sealed_fields(folder: Path) -> list[tuple[Any, ...]]:
    with raw(folder / DATA) as db:
        sql = "SELECT namespace, key, id, revision, value FROM versions WHERE value IS NOT NULL"
        return list(db.execute(sql))


def wrapped_keys(folder: Path, subject: str) -> list[bytes]:
    with raw(folder / WRAPPED) as db:
        return [row[0] for row in db.execute("SELECT wrapped FROM keys WHERE subject = ?", (subject,))]


def open_all(folder: Path, clock: ManualClock, fields: list[tuple[Any, ...]]) -> list[bytes]:
    """What a fresh reader with the live master key can open of these fields."""
    keys = SqliteKeyStore(SqliteOptions(folder / WRAPPED))
    fresh = Envelope(keys, FileMasterKeys(folder / MASTER, create=False), clock)
    found = []
    for encoded, key, row_id, revision, sealed in fields:
        address = Address(Plane.ITEM, decode_namespace(encoded), key)
        try:
            found.append(fresh.open("default", address, row_id, revision, "value", sealed))
        except (KeyErased, SealBroken):
            continue
    keys.close()
    return found


# -- erasing


@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_nothing_erased_can_be_read_from_the_live_store(place: str, folder: Path, clock: ManualClock) -> None:
    with recollect.open_sync(":memory:" if place == "memory" else folder, clock=clock) as memories:
        write(memories)
        clock.advance(10)
        before = everything_readable(memories, clock)
        assert CANARY in before
        assert PLAIN in before
        receipt = memories.erase("user:ann")
        after = everything_readable(memories, clock)
        assert CANARY not in after
        assert PLAIN not in after
        assert (receipt.versions, receipt.live) == (60, 19)
        assert memories.verify(head=memories.head()).sound


@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_the_receipt_is_in_the_log_with_its_counts(place: str, folder: Path, clock: ManualClock) -> None:
    with recollect.open_sync(":memory:" if place == "memory" else folder, clock=clock) as memories:
        write(memories)
        first, second = memories.erase("user:ann"), memories.erase("user:ann")
        told = list(memories.events(ANN, kinds=["erased"]))
        details = [event.detail for event in told]
        assert details == [
            {"subject": "user:ann", "versions": 60, "live": 19},
            {"subject": "user:ann", "versions": 60, "live": 0},
        ]
        assert [event.sequence for event in told] == [first.sequence, second.sequence]
        assert second.live == 0
        assert first.id != second.id
        assert memories.head() == f"{second.sequence}:{second.hash}"
        assert memories.verify().sound


@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_others_keep_everything_and_the_erased_may_come_back(place: str, folder: Path, clock: ManualClock) -> None:
    with recollect.open_sync(":memory:" if place == "memory" else folder, clock=clock) as memories:
        write(memories)
        bobs = [(item.key, item.value, item.revision) for item in memories.search(BOB, limit=100, order="key")]
        memories.erase("user:ann")
        assert bobs == [(item.key, item.value, item.revision) for item in memories.search(BOB, limit=100, order="key")]
        assert len(bobs) == 20
        written = memories.put((*ANN, "notes"), "k1", {"back": True})
        assert (str(written.kind), written.revision) == ("add", 4)
        item = memories.get((*ANN, "notes"), "k1")
        assert item is not None
        assert item.value == {"back": True}
        assert [old.value for old in memories.history((*ANN, "notes"), "k1")] == [{"back": True}, None, None, None]
        assert memories.verify().sound


def test_a_name_that_begins_alike_is_somebody_else(folder: Path, clock: ManualClock) -> None:
    with opened(folder, clock) as memories:
        for name in ("ann", "anna", "Ann", "an"):
            memories.put(("user", name), "k", {"of": name})
        memories.for_tenant("other").put(ANN, "k", {"of": "another ann"})
        assert memories.erase("user:ann").live == 1
        assert {item.namespace[1] for item in memories.search(())} == {"anna", "Ann", "an"}
        assert memories.for_tenant("other").get(ANN, "k") is not None


def test_a_fresh_reader_with_the_live_master_key_can_open_nothing_erased(folder: Path, clock: ManualClock) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        fields = sealed_fields(folder)
        assert sum(CANARY.encode() in plain for plain in open_all(folder, clock, fields)) == 60
        memories.erase("user:ann")
        left = open_all(folder, clock, fields)
        assert len(left) == 60, "what is bob's still opens"
        assert not [plain for plain in left if CANARY.encode() in plain]
        assert not [field for field in sealed_fields(folder) if field[0].startswith("user\x1eann")]


def test_the_wrapped_keys_of_the_erased_are_in_no_file(folder: Path, clock: ManualClock) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        mine, others = wrapped_keys(folder, "user:ann"), wrapped_keys(folder, "user:bob")
        assert len(mine) == len(others) == 1
        memories.erase("user:ann")
        files = everything_in(folder)
        assert not [name for name, data in files.items() if mine[0] in data]
        assert [name for name, data in files.items() if others[0] in data] == [WRAPPED]


def test_plain_attributes_of_the_erased_are_in_no_file(folder: Path, clock: ManualClock) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        assert any(PLAIN.encode() in data for data in everything_in(folder).values())
        memories.erase("user:ann")
        assert not [name for name, data in everything_in(folder).items() if PLAIN.encode() in data]


def test_plain_attributes_do_not_linger_where_rows_moved_or_were_swept(folder: Path, clock: ManualClock) -> None:
    settings = recollect.Settings(keep_superseded_seconds=5, keep_tombstones_seconds=5)
    with recollect.open_sync(folder, clock=clock, settings=settings) as memories:
        write(memories, keys=150, rounds=4)
        clock.advance(10)
        memories.sweep()
        clock.advance(10)
        memories.sweep()
        write(memories, keys=100, rounds=2)
        memories.erase("user:ann")
        data = everything_in(folder)
        left = {name: found for name in data if (found := data[name].count(PLAIN.encode()))}
        assert not left, f"plain attributes of the erased still lie in {left}"


# -- backups and crashes


def test_an_older_backup_restored_with_the_keys_of_today_shows_nothing_erased(
    folder: Path, clock: ManualClock, tmp_path: Path
) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        memories.backup(tmp_path / "before.db")
        head = memories.head()
        memories.erase("user:ann")
    recollect.restore(tmp_path / "before.db", tmp_path / "again", keys=folder)
    with opened(tmp_path / "again", clock) as memories:
        readable = everything_readable(memories, clock)
        assert CANARY not in readable
        assert PLAIN not in readable
        receipts = [event.detail for event in memories.events(kinds=["erased"])]
        assert receipts == [{"subject": "user:ann", "versions": 60, "live": 19}]
        assert memories.verify(head=head).sound
        assert len(memories.search(BOB, limit=100)) == 20
    assert not [name for name, data in everything_in(tmp_path / "again").items() if PLAIN.encode() in data]


def test_an_older_backup_opened_without_restoring_shows_nothing_sealed(
    folder: Path, clock: ManualClock, tmp_path: Path
) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        memories.backup(tmp_path / "before.db")
        memories.erase("user:ann")
    shutil.copytree(folder, tmp_path / "by-hand")
    shutil.copy(tmp_path / "before.db", tmp_path / "by-hand" / DATA)
    with opened(tmp_path / "by-hand", clock) as memories:
        assert CANARY not in everything_readable(memories, clock)
        assert len(memories.search(BOB, limit=100)) == 20


def test_a_crash_between_destroying_the_key_and_the_receipt_is_completed_on_open(
    folder: Path, clock: ManualClock
) -> None:
    with opened(folder, clock) as memories:
        write(memories)
        inner = memories._memories
        inner._workings.keyring.destroy(
            Erasure(bytes(16), "default", "user:ann", decode_namespace("user\x1eann"), "crashed")
        )
        assert CANARY not in everything_readable(memories, clock), "the key is gone already"
        assert not list(memories.events(kinds=["erased"]))
    with opened(folder, clock) as memories:
        told = list(memories.events(kinds=["erased"]))
        assert [(event.detail, event.actor) for event in told] == [
            ({"subject": "user:ann", "versions": 60, "live": 19}, "crashed")
        ]
        assert PLAIN not in everything_readable(memories, clock)
        assert memories.verify().sound
    with opened(folder, clock) as memories:
        assert len(list(memories.events(kinds=["erased"]))) == 1


def test_a_crash_leaves_erasures_of_every_tenant_to_be_completed(folder: Path, clock: ManualClock) -> None:
    with opened(folder, clock) as memories:
        write(memories.for_tenant("other"))
        memories._memories._workings.keyring.destroy(
            Erasure(bytes(16), "other", "user:ann", decode_namespace("user\x1eann"), "crashed")
        )
    with opened(folder, clock) as memories:
        assert len(list(memories.for_tenant("other").events(kinds=["erased"]))) == 1
        assert not memories.for_tenant("other").search(ANN, limit=1)


def test_an_erasure_while_somebody_reads_still_empties_the_files(folder: Path, clock: ManualClock) -> None:
    """A reader who has just finished must not keep what was erased in the write-ahead log."""
    with opened(folder, clock) as memories, raw(folder / DATA) as db:
        write(memories)
        db.execute("BEGIN")
        assert db.execute("SELECT count(*) FROM versions").get == 120
        db.execute("COMMIT")
        memories.erase("user:ann")
        assert not [name for name, data in everything_in(folder).items() if PLAIN.encode() in data]
