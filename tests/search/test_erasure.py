"""What was erased is found by nobody, its entries are gone at once, and those in older backups cannot be opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from tests.search.plain import SETTINGS
from tests.search.soundness import TENANT, entered

import recollect
from recollect import Memories
from recollect.domain.address import Address, decode_namespace
from recollect.domain.errors import KeyErased
from recollect.domain.planning import entry_field
from recollect.domain.reasons import Plane
from recollect.main import open_sync, restore


async def fill(memories: Memories) -> dict[str, set[bytes]]:
    """The ids of two users' memories, all of them indexed and searched."""
    ids: dict[str, set[bytes]] = {"ann": set(), "bob": set()}
    for number in range(20):
        for user, known in ids.items():
            done = await memories.put(("user", user), f"k{number}", {"text": f"tea number {number} of {user}"})
            assert done.id is not None
            known.add(done.id.bytes)
    assert len(await memories.search(query="tea", limit=100)) == 40
    return ids


async def test_no_search_returns_what_was_erased_and_its_entries_are_gone_at_once(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as memories:
        ids, store = await fill(memories), memories.workings.store
        assert await entered(store, 1) == ids["ann"] | ids["bob"]
        await memories.erase("user:ann")
        assert await entered(store, 1) == ids["bob"]
        for mode in ("hybrid", "semantic", "lexical"):
            for within in ((), ("user",), ("user", "ann")):
                for wait in (0, 1):
                    found = await memories.search(within, query="tea of ann", mode=mode, limit=100, wait=wait)
                    assert {hit.namespace[1] for hit in found} <= {"bob"}, (mode, within)
        await memories.trigger_index()
        assert (await memories.index_status()).indexed == 20


async def test_what_is_written_after_an_erasure_is_found(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as memories:
        await fill(memories)
        await memories.erase("user:ann")
        await memories.put(("user", "ann"), "new", {"text": "coffee"})
        found = await memories.search(("user", "ann"), query="coffee", limit=100)
        assert [hit.key for hit in found] == ["new"]


async def test_another_process_that_had_it_open_shows_it_no_more(tmp_path: Path) -> None:
    async with recollect.open(tmp_path, settings=SETTINGS) as one, recollect.open(tmp_path, settings=SETTINGS) as other:
        await fill(one)
        assert len(await other.search(query="tea", limit=100)) == 40
        await one.erase("user:ann")
        assert {hit.namespace[1] for hit in await other.search(query="tea", limit=100, wait=0)} == {"bob"}


async def test_entries_in_an_older_backup_cannot_be_opened(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup.db"
    async with recollect.open(home, settings=SETTINGS) as memories:
        await fill(memories)
        await memories.backup(backup)
        keyring = memories.workings.keyring
        assert opened(backup, keyring) == {"ann": 20, "bob": 20}, "the check can open them while the keys are there"
        await memories.erase("user:ann")
        assert opened(backup, keyring) == {"ann": 0, "bob": 20}


async def test_a_restored_backup_finds_nothing_of_what_was_erased(tmp_path: Path) -> None:
    home, backup, target = tmp_path / "home", tmp_path / "backup.db", tmp_path / "restored"
    async with recollect.open(home, settings=SETTINGS) as memories:
        await fill(memories)
        await memories.backup(backup)
        await memories.erase("user:ann")
    restore(backup, target, keys=home, settings=SETTINGS)
    with open_sync(target, settings=SETTINGS) as restored:
        assert {hit.namespace[1] for hit in restored.search(query="tea", limit=100)} == {"bob"}
        assert len(restored.search(("user", "ann"), query="tea", mode="lexical")) == 0


async def test_the_harness_finds_keys_that_outlive_an_erasure(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup.db"
    async with recollect.open(home, settings=SETTINGS) as memories:
        await fill(memories)
        await memories.backup(backup)
    shutil.copytree(home, tmp_path / "kept")
    async with recollect.open(home, settings=SETTINGS) as memories:
        await memories.erase("user:ann")
    async with recollect.open(tmp_path / "kept", settings=SETTINGS) as memories:
        assert opened(backup, memories.workings.keyring) == {"ann": 20, "bob": 20}


def opened(backup: Path, keyring: object) -> dict[str, int]:
    """How many entries of each user in a backup can be opened with these keys."""
    assert hasattr(keyring, "open")
    connection = apsw.Connection(str(backup))
    counts = {"ann": 0, "bob": 0}
    try:
        stored = connection.execute(
            "SELECT v.namespace, v.key, v.id, v.revision, e.series, e.content "
            "FROM entries e JOIN versions v ON v.n = e.n WHERE v.tenant = ? AND e.content IS NOT NULL",
            (TENANT,),
        )
        for encoded, key, row_id, revision, series, content in stored:
            place = decode_namespace(encoded)
            address = Address(Plane.ITEM, place, key)
            try:
                keyring.open(TENANT, address, row_id, revision, entry_field(series), content)
            except KeyErased:
                continue
            counts[place.segments[1]] += 1
    finally:
        connection.close()
    return counts


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
async def test_an_erasure_in_memory_is_the_same(mode: str) -> None:
    async with recollect.open(":memory:", settings=SETTINGS) as memories:
        ids = await fill(memories)
        await memories.erase("user:ann")
        assert await entered(memories.workings.store, 1) == ids["bob"]
        found = await memories.search(query="tea", mode=mode, limit=100)
        assert {hit.namespace[1] for hit in found} == {"bob"}
