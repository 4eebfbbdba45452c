"""Many at one history lose nothing, double nothing, and see no moment that never was; who would is caught."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.conftest import SETTINGS
from tests.adapters.rivals import Contest, Rival, states
from tests.sizes import sized

import recollect
from recollect.testing.servers import Server
from recollect_client import AsyncClient, Client, _history
from recollect_client._conversations import Conversation, operations_of
from recollect_client._history import Head, History
from recollect_client.openai_agents import RecollectSession


def contests(count: int, kind: type[History] = History) -> Iterator[tuple[Contest, int]]:
    """Histories with a beginning, and a seed for each; the log of a store is read often, so it is kept short."""
    for start in range(0, count, 50):
        with recollect.open_sync(":memory:", settings=SETTINGS) as memories:
            for seed in range(start, min(count, start + 50)):
                place = ("user", "alice", "conversations", f"s{seed}")
                held = Contest(memories, kind(operations_of(memories), f"s{seed}", place))
                held.run([adder(held.history, "first", 3)], seed)
                yield held, seed


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_history, "_PAGE", 2)


def adder(history: History, name: str, batches: int) -> Rival:
    wishes = [[f"{name}{batch}.{part}" for part in range(2)] for batch in range(batches)]
    return Rival(("add", items, history.add(items)) for items in wishes)


def popper(history: History, times: int) -> Rival:
    return Rival(("pop", None, history.pop()) for _ in range(times))


def reader(history: History, *limits: int | None) -> Rival:
    return Rival(("read", limit, history.read(limit)) for limit in limits)


def additions_and_pops(count: int, kind: type[History] = History) -> None:
    for held, seed in contests(count, kind):
        h = held.history
        held.run([adder(h, "a", 2), adder(h, "b", 2), popper(h, 3), popper(h, 3), reader(h, None, 3, None)], seed)
        held.check()


def clearing(count: int) -> None:
    for held, seed in contests(count):
        h = held.history
        clears = Rival(("clear", None, h.clear()) for _ in range(2))
        held.run([adder(h, "a", 3), clears, popper(h, 2), reader(h, None, 5, None)], seed)
        held.check(cleared=True)


@sized(40, 2_000)
def test_additions_and_pops_in_any_order_of_their_steps(count: int) -> None:
    additions_and_pops(count)


@sized(40, 2_000)
def test_clearing_in_any_order_of_its_steps(count: int) -> None:
    clearing(count)


@sized(20, 500)
def test_clearing_more_than_a_commit_takes(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_history, "_OPERATIONS", 4)
    for held, seed in contests(count):
        h, memories = held.history, held.memories
        held.run([adder(h, "a", 3), Rival(("clear", None, h.clear()) for _ in range(2)), popper(h, 1)], seed)
        session = RecollectSession(h.session_id, user="alice", client=memories)
        left = asyncio.run(session.get_items())
        assert left == sorted(set(left), key=left.index)
        asyncio.run(session.clear_session())
        assert asyncio.run(session.get_items()) == []
        assert memories.list_namespaces(prefix=h.place) == []


# -- those who would are caught


class ExpectsNothing(History):
    """Writes the head whatever it has become."""

    __slots__ = ()

    def _put(self, head: Head) -> Any:
        return dataclasses.replace(super()._put(head), expected_revision=None)


class TakesWhatItFinds(History):
    """Never asks whether the history was cut while it was read."""

    __slots__ = ()

    def _check_uncut(self, head: Head) -> Conversation[None]:  # noqa: ARG002 - the flaw is that it is not used
        yield from ()


class MarksNoCuts(History):
    """Writes blocks that do not say after how many cuts they were written."""

    __slots__ = ()

    def _block(self, head: Head, number: int, value: dict[str, Any], **lifetime: Any) -> Any:
        return super()._block(dataclasses.replace(head, cuts=0), number, value, **lifetime)


class CountsNothing(History):
    """Reads whatever blocks there are."""

    __slots__ = ()

    def _blocks(self, head: Head, limit: int | None) -> Conversation[list[Any]]:
        return super()._blocks(dataclasses.replace(head, blocks=10**6, cuts=10**6), limit)

    def _check_uncut(self, head: Head) -> Conversation[None]:  # noqa: ARG002 - the flaw is that it is not used
        yield from ()


@pytest.mark.parametrize("broken", [ExpectsNothing, TakesWhatItFinds, MarksNoCuts, CountsNothing])
def test_a_history_that_is_careless_is_caught(broken: type[History]) -> None:
    with pytest.raises(AssertionError, match=r"doubled|is not what was added|is none of"):
        additions_and_pops(300, broken)


# -- with nobody deciding whose turn it is


async def added_by(session: RecollectSession, name: str, batches: int) -> None:
    for batch in range(batches):
        await session.add_items([{"by": name, "batch": batch, "part": part} for part in range(3)])  # type: ignore[misc]


def whole(items: list[Any], writers: int, batches: int) -> bool:
    """True when every batch is there once, in one piece, and those of each writer in their order."""
    groups = [items[start : start + 3] for start in range(0, len(items), 3)]
    order: dict[str, list[int]] = {}
    for group in groups:
        by, batch = group[0]["by"], group[0]["batch"]
        if group != [{"by": by, "batch": batch, "part": part} for part in range(3)]:
            return False
        order.setdefault(by, []).append(batch)
    return len(order) == writers and all(found == list(range(batches)) for found in order.values())


def test_what_is_torn_lost_or_doubled_is_not_whole() -> None:
    sound = [{"by": "a", "batch": batch, "part": part} for batch in range(2) for part in range(3)]
    assert whole(sound, 1, 2)
    for wrong in (sound[:3], sound + sound[:3], sound[3:] + sound[:3], sound[1:] + sound[:1], sound[:-1]):
        assert not whole(wrong, 1, 2)


@sized(5, 20)
async def test_tasks_with_clients_of_their_own(server: Server, alices_key: str, count: int) -> None:
    clients = [AsyncClient(server.url, alices_key) for _ in range(4)]
    sessions = [RecollectSession(f"busy {count}", user="alice", client=client) for client in clients for _ in range(2)]
    seen: list[list[Any]] = []

    async def watch(session: RecollectSession) -> None:
        seen.extend([list(await session.get_items()) for _ in range(count)])

    await asyncio.gather(watch(sessions[0]), *(added_by(each, str(n), count) for n, each in enumerate(sessions)))
    items: list[Any] = await sessions[0].get_items()
    assert whole(items, len(sessions), count)
    assert all(each == items[: len(each)] and len(each) % 3 == 0 for each in seen)
    with Client(server.url, alices_key) as log:
        had = states(log, History.of(log, f"busy {count}", "alice", None, ()))
    assert all(each in had for each in seen)
    popped: list[Any] = await asyncio.gather(*(each.pop_item() for each in sessions for _ in range(3)))
    assert sorted(map(str, popped)) == sorted(map(str, items[-len(popped) :]))
    assert await sessions[0].get_items() == items[: -len(popped)]
    for client in clients:
        await client.close()


_PROGRAM = """
import asyncio, sys
import recollect
from tests.adapters.conftest import SETTINGS
from tests.adapters.test_rivals import added_by
from recollect_client.openai_agents import RecollectSession

async def main(folder, name, batches):
    async with recollect.open(folder, settings=SETTINGS) as memories:
        await added_by(RecollectSession("shared", user="alice", client=memories), name, batches)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@sized(20, 300)
async def test_processes_on_one_directory(tmp_path: Path, count: int) -> None:
    async with recollect.open(tmp_path / "kept", settings=SETTINGS) as memories:
        session = RecollectSession("shared", user="alice", client=memories)
        programs = [
            subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path / "kept"), name, str(count)])  # noqa: ASYNC220 - it is waited for on a thread
            for name in ("one", "two")
        ]
        await added_by(session, "here", count)
        assert [await asyncio.to_thread(program.wait) for program in programs] == [0, 0]
        assert whole(list(await session.get_items()), 3, count)
