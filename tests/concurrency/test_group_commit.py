"""The event loop waits for nothing, and commits that arrive together share one wait for the disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore
from recollect.domain.address import Address, Namespace
from recollect.domain.commits import Commit, Put, Receipt
from recollect.domain.errors import RevisionConflict
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.main import random_ids, system_clock

TENANT = "t"
PATIENCE = 10.0


class Gate(Plain):
    """Sealing that can be held up, and that remembers on which threads it was asked for."""

    # ruff: noqa: ARG002 - it needs none of what it is given

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.threads: set[int] = set()
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.opened.set()
        self.gave_up = False

    def _pass(self) -> None:
        self.threads.add(threading.get_ident())
        self.entered.set()
        if not self.opened.wait(self.patience):
            self.gave_up = True

    def seal(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
        self._pass()
        return plain

    def open(self, tenant: str, address: Address, row_id: bytes, revision: int, field: str, sealed: bytes) -> bytes:
        self._pass()
        return sealed

    def shut(self) -> None:
        """Hold up whoever comes next."""
        self.entered.clear()
        self.opened.clear()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def commits() -> Iterator[Callable[[], int]]:
    """How many transactions with changes were committed so far, on connections opened from now on."""
    seen: list[int] = []

    def note() -> bool:
        seen.append(1)
        return False

    def count(connection: apsw.Connection) -> None:
        connection.set_commit_hook(note)

    apsw.connection_hooks.append(count)
    yield lambda: len(seen)
    apsw.connection_hooks.remove(count)


def _store(folder: Path, gate: Gate) -> SqliteStore:
    return SqliteStore(SqliteOptions(folder / "rows.db"), clock=system_clock, ids=random_ids, sealer=gate)


def _address(key: int) -> Address:
    return Address(Plane.ITEM, Namespace.of("n"), str(key))


def _put(key: int, expected: int | None = None) -> Commit:
    return Commit(TENANT, (Put(_address(key), b"{}", expected_revision=expected),))


async def _held_up(gate: Gate, store: SqliteStore, first: Commit) -> asyncio.Task[Receipt]:
    """A commit that has come as far as sealing, and is held up there."""
    gate.shut()
    task = asyncio.create_task(store.commit(first))
    assert await asyncio.to_thread(gate.entered.wait, PATIENCE)
    return task


async def test_writes_and_searches_run_on_other_threads_than_the_loop(tmp_path: Path, gate: Gate) -> None:
    store = _store(tmp_path, gate)
    await asyncio.gather(*(store.commit(_put(key)) for key in range(16)))
    writing = set(gate.threads)
    gate.threads.clear()
    await store.find(TENANT, Find(Plane.ITEM))
    await store.close()
    assert len(writing) == 1
    assert gate.threads
    assert threading.get_ident() not in writing | gate.threads


async def test_a_few_quick_reads_run_on_the_loop_and_many_do_not(tmp_path: Path, gate: Gate) -> None:
    store = _store(tmp_path, gate)
    await asyncio.gather(*(store.commit(_put(key)) for key in range(200)))
    gate.threads.clear()
    await asyncio.gather(*(store.get(TENANT, _address(key)) for key in range(16)))
    assert gate.threads == {threading.get_ident()}
    gate.threads.clear()
    await asyncio.gather(*(store.get(TENANT, _address(key)) for key in range(200)))
    await store.close()
    assert threading.get_ident() not in gate.threads


async def test_a_write_that_is_held_up_does_not_hold_up_the_loop(tmp_path: Path, gate: Gate) -> None:
    store = _store(tmp_path, gate)
    held = await _held_up(gate, store, _put(0))
    assert await store.get(TENANT, _address(0)) is None  # reads go on too, and see nothing of it
    assert not held.done()
    gate.opened.set()
    await held
    assert await store.get(TENANT, _address(0)) is not None
    await store.close()
    assert not gate.gave_up


async def test_a_read_that_is_held_up_holds_up_the_loop_once_and_then_no_more(tmp_path: Path, gate: Gate) -> None:
    store = _store(tmp_path, gate)
    await store.commit(_put(0))
    gate.shut()
    gate.patience = 0.1
    assert await store.get(TENANT, _address(0)) is not None
    gate.patience, gate.gave_up = PATIENCE, False
    gate.shut()
    read = asyncio.create_task(store.get(TENANT, _address(0)))
    assert await asyncio.to_thread(gate.entered.wait, PATIENCE)
    assert not read.done()
    gate.opened.set()
    assert await read is not None
    await store.close()
    assert not gate.gave_up


async def test_a_read_that_meets_a_lock_is_left_to_a_thread(tmp_path: Path, gate: Gate) -> None:
    store = _store(tmp_path, gate)
    await store.commit(_put(0))
    asked: list[int] = []

    def locked_here(db: apsw.Connection) -> str:
        asked.append(threading.get_ident())
        if asked[-1] == threading.main_thread().ident:
            raise apsw.BusyError
        return "read"

    assert await store._glance(locked_here) == "read"
    await store.close()
    assert len(asked) == 2
    assert asked[0] == threading.get_ident() != asked[1]


def test_a_loop_that_is_held_up_is_noticed(tmp_path: Path) -> None:
    gate = Gate(patience=0.2)
    store = SqliteStore(
        SqliteOptions(tmp_path / "rows.db"), clock=system_clock, ids=random_ids, sealer=gate, direct=True
    )

    async def on_the_loop() -> None:
        gate.shut()
        task = asyncio.create_task(store.commit(_put(0)))
        await asyncio.sleep(0)
        gate.opened.set()
        await task
        await store.close()

    asyncio.run(on_the_loop())
    assert gate.gave_up


async def test_commits_that_wait_for_another_share_one_transaction(
    tmp_path: Path, gate: Gate, commits: Callable[[], int]
) -> None:
    store = _store(tmp_path, gate)
    before = commits()
    held = await _held_up(gate, store, _put(0))
    waiting = [asyncio.create_task(store.commit(_put(key))) for key in range(1, 16)]
    await asyncio.sleep(0)  # each has now handed its commit over
    gate.opened.set()
    receipts = await asyncio.gather(*waiting)
    await held
    assert commits() - before == 2
    assert sorted(receipt.head for receipt in receipts) == list(range(2, 17))
    await store.close()


async def test_a_refused_commit_does_not_concern_those_it_shares_a_transaction_with(
    tmp_path: Path, gate: Gate, commits: Callable[[], int]
) -> None:
    store = _store(tmp_path, gate)
    before = commits()
    held = await _held_up(gate, store, _put(0))
    waiting = [asyncio.create_task(store.commit(_put(key, 7 if key % 2 else 0))) for key in range(1, 16)]
    await asyncio.sleep(0)
    gate.opened.set()
    outcomes: Sequence[object] = await asyncio.gather(*waiting, return_exceptions=True)
    await held
    assert commits() - before == 2
    refused = [isinstance(outcome, RevisionConflict) for outcome in outcomes]
    assert refused == [bool(key % 2) for key in range(1, 16)]
    assert (await store.head(TENANT)).sequence == 8
    assert (await store.verify(TENANT)).sound
    await store.close()


async def test_sixteen_writers_need_far_fewer_transactions_than_commits(
    tmp_path: Path, commits: Callable[[], int]
) -> None:
    async with recollect.open(tmp_path) as memories:
        await memories.put(("n",), "first", {})
        before = commits()

        async def write(task: int) -> None:
            for number in range(25):
                await memories.put(("n",), f"{task}.{number}", {})

        await asyncio.gather(*(write(task) for task in range(16)))
        assert commits() - before <= 400 / 4
        assert len(await memories.search(limit=1_000)) == 401


async def test_a_lone_writer_needs_one_transaction_for_each_commit(tmp_path: Path, commits: Callable[[], int]) -> None:
    async with recollect.open(tmp_path) as memories:
        await memories.put(("n",), "first", {})
        before = commits()
        for number in range(25):
            await memories.put(("n",), str(number), {})
        assert commits() - before == 25
