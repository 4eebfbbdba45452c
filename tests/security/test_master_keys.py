"""Master keys: private, never invented anew for old data, replaceable, and told apart."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path

import pytest
from tests.security.datafile import DATA, MASTER, WRAPPED, everything_in, raw

import recollect
from recollect import MemoriesSync, Settings
from recollect.domain.errors import InvalidSetting, KeyTrouble, MasterKeyMismatch, MasterKeyMissing

SUBJECTS = (("user", "ann"), ("user", "bob"), ("shared",))


def fill(memories: MemoriesSync) -> None:
    for path in SUBJECTS:
        memories.put(path, "k", {"of": list(path)}, attributes={"a": 1})


def assert_all_readable(memories: MemoriesSync) -> None:
    for path in SUBJECTS:
        item = memories.get(path, "k")
        assert item is not None
        assert (item.value, item.attributes) == ({"of": list(path)}, {"a": 1})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def printing(folder: Path, name: str, key: bytes, *, text: str | None = None) -> str:
    """A command that prints a master key, as a secret manager's client would."""
    script = folder / name
    script.write_text(f"#!/bin/sh\necho {key.hex() if text is None else text}\n")
    script.chmod(0o700)
    return str(script)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_files_and_directories_are_for_their_owner_only(folder: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with recollect.open_sync(folder) as memories:
            fill(memories)
            memories.backup(tmp_path / "backup.db")
            private = [folder, *folder.rglob("*")]
            assert {str(path): mode(path) for path in private if path.is_dir() and mode(path) != 0o700} == {}
            assert {str(path): oct(mode(path)) for path in private if path.is_file() and mode(path) != 0o600} == {}
    finally:
        os.umask(before)


def test_backups_and_restored_directories_are_for_their_owner_only(folder: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with recollect.open_sync(folder) as memories:
            fill(memories)
            memories.backup(tmp_path / "backup.db")
        recollect.restore(tmp_path / "backup.db", tmp_path / "again", keys=folder)
        again = tmp_path / "again"
        private = {
            path: 0o700 if path.is_dir() else 0o600 for path in (tmp_path / "backup.db", again, *again.rglob("*"))
        }
        assert {str(path): oct(mode(path)) for path, wanted in private.items() if mode(path) != wanted} == {}
    finally:
        os.umask(before)


def test_a_missing_master_key_is_never_replaced_by_a_new_one(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    (folder / MASTER).unlink()
    before = everything_in(folder)
    with pytest.raises(MasterKeyMissing):
        recollect.open_sync(folder)
    assert everything_in(folder) == before


def test_a_missing_folder_of_keys_is_never_replaced_by_a_new_one(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    for path in (folder / "keys").iterdir():
        path.unlink()
    (folder / "keys").rmdir()
    before = everything_in(folder)
    with pytest.raises(MasterKeyMissing):
        recollect.open_sync(folder)
    assert everything_in(folder) == before
    assert not (folder / "keys").exists()


def test_missing_data_keys_are_an_error_and_do_not_look_like_an_erasure(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    (folder / WRAPPED).unlink()
    with pytest.raises(KeyTrouble), recollect.open_sync(folder) as memories:
        assert_all_readable(memories)
    assert not (folder / WRAPPED).exists()


@pytest.mark.parametrize("text", ["", "{}", '{"keys": []}', '{"keys": ["AAAA"]}', '{"keys": 5}', "[]", "\x00"])
def test_a_damaged_key_file_is_refused(text: str, folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    (folder / MASTER).write_text(text)
    with pytest.raises(MasterKeyMissing):
        recollect.open_sync(folder)
    assert (folder / MASTER).read_text() == text


def test_the_wrong_master_key_neither_reads_nor_writes(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    right = (folder / MASTER).read_text()
    (folder / MASTER).write_text(json.dumps({"keys": [base64.b64encode(bytes(32)).decode()]}))
    with pytest.raises(MasterKeyMismatch), recollect.open_sync(folder) as memories:
        memories.get(SUBJECTS[0], "k")
    with pytest.raises(MasterKeyMismatch), recollect.open_sync(folder) as memories:
        memories.put(("user", "new"), "k", {"sealed": "under a key that is lost tomorrow"})
    (folder / MASTER).write_text(right)
    with recollect.open_sync(folder) as memories:
        assert_all_readable(memories)
        assert memories.get(("user", "new"), "k") is None
        assert memories.verify().sound


def test_rotating_gives_a_new_master_key_and_forgets_the_old_one(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
        old = json.loads((folder / MASTER).read_text())["keys"]
        with raw(folder / WRAPPED) as db:
            wrapped = [row[0] for row in db.execute("SELECT wrapped FROM keys")]
        assert memories.rotate_keys() == len(SUBJECTS)
        new = json.loads((folder / MASTER).read_text())["keys"]
        assert len(old) == len(new) == 1
        assert old != new
        files = everything_in(folder)
        assert not [name for name, data in files.items() if old[0].encode() in data]
        assert not [name for name, data in files.items() if any(each in data for each in wrapped)]
        assert_all_readable(memories)
        memories.put(("user", "new"), "k", {})
    with recollect.open_sync(folder) as memories:
        assert_all_readable(memories)
        assert mode(folder / MASTER) == 0o600
        assert memories.verify().sound


def test_a_rotation_that_stopped_half_way_leaves_all_readable_and_can_go_on(folder: Path) -> None:
    with recollect.open_sync(folder) as memories:
        fill(memories)
    keys = json.loads((folder / MASTER).read_text())["keys"]
    (folder / MASTER).write_text(json.dumps({"keys": [base64.b64encode(bytes(range(32))).decode(), *keys]}))
    with recollect.open_sync(folder) as memories:
        assert_all_readable(memories)
        assert memories.rotate_keys() == len(SUBJECTS)
        assert len(json.loads((folder / MASTER).read_text())["keys"]) == 1
        assert_all_readable(memories)


@pytest.mark.parametrize("spelled", ["hex", "base64"])
def test_a_command_can_print_the_master_key(spelled: str, folder: Path, tmp_path: Path) -> None:
    key = os.urandom(32)
    text = key.hex() if spelled == "hex" else base64.b64encode(key).decode()
    settings = Settings(master_key_command=printing(tmp_path, "key", b"", text=text))
    for _ in range(2):
        with recollect.open_sync(folder, settings=settings) as memories:
            fill(memories)
            assert_all_readable(memories)
    assert not (folder / MASTER).exists()
    assert not [name for name, data in everything_in(folder).items() if key in data or text.encode() in data]


def test_a_command_rotates_with_the_command_before_it(folder: Path, tmp_path: Path) -> None:
    old, new = printing(tmp_path, "old", os.urandom(32)), printing(tmp_path, "new", os.urandom(32))
    with recollect.open_sync(folder, settings=Settings(master_key_command=old)) as memories:
        fill(memories)
    both = Settings(master_key_command=new, previous_master_key_command=old)
    with recollect.open_sync(folder, settings=both) as memories:
        assert_all_readable(memories)
        assert memories.rotate_keys() == len(SUBJECTS)
        assert memories.rotate_keys() == 0
    with recollect.open_sync(folder, settings=Settings(master_key_command=new)) as memories:
        assert_all_readable(memories)
    with (
        pytest.raises(MasterKeyMismatch),
        recollect.open_sync(folder, settings=Settings(master_key_command=old)) as memories,
    ):
        memories.get(SUBJECTS[0], "k")


@pytest.mark.parametrize("failing", ["/nonexistent/command", "false", "'unbalanced"])
def test_a_command_that_cannot_be_run_is_told(failing: str, folder: Path) -> None:
    with pytest.raises(MasterKeyMissing):
        recollect.open_sync(folder, settings=Settings(master_key_command=failing))
    assert not (folder / DATA).exists()


@pytest.mark.parametrize("printed", ["", "abcd", "zz" * 32, "00" * 31])
def test_a_command_that_prints_something_else_is_told_without_showing_it(
    printed: str, folder: Path, tmp_path: Path
) -> None:
    settings = Settings(master_key_command=printing(tmp_path, "bad", b"", text=printed or "''"))
    with pytest.raises(InvalidSetting) as caught:
        recollect.open_sync(folder, settings=settings)
    assert not printed or printed not in str(caught.value)
