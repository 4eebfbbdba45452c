"""What is particular to our stores: where they are, what lies below a root, what reads write, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from tests.langgraph.subjects import SETTINGS, MovingClock

import recollect
from recollect.domain.callers import Scope, new_caller
from recollect.domain.errors import Forbidden, InvalidKey, InvalidValue, StoreClosed
from recollect.langgraph import open_async_store, open_store
from recollect.testing.servers import Server
from recollect_client import Client
from recollect_client import errors as client_errors
from recollect_client.langgraph import AsyncRecollectStore, RecollectStore
from recollect_client.langgraph._paths import index_fields

ALICE = ("user", "alice")


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def memories(clock: MovingClock) -> Iterator[recollect.MemoriesSync]:
    with recollect.open_sync(":memory:", settings=SETTINGS, clock=clock) as memories:
        yield memories


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


# -- where it is


@pytest.mark.parametrize(
    "names", [("RECOLLECT_URL", "RECOLLECT_TOKEN"), ("MEMORY_SERVICE_URL", "MEMORY_SERVICE_TOKEN")]
)
def test_the_environment_says_where_the_server_is(
    names: tuple[str, str], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RECOLLECT_URL", "RECOLLECT_TOKEN", "MEMORY_SERVICE_URL", "MEMORY_SERVICE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in zip(names, (server.url, server.key_for("ann")), strict=True):
        monkeypatch.setenv(name, value)
    with RecollectStore(root=("user", "ann")) as store:
        store.put(("where",), "k", {"n": 1})
        item = store.get(("where",), "k")
        assert item is not None

    async def asked() -> Any:
        async with AsyncRecollectStore() as other:
            return await other.aget(("user", "ann", "where"), "k")

    found = asyncio.run(asked())
    assert (found.value, found.created_at, found.updated_at) == (item.value, item.created_at, item.updated_at)


def test_a_store_closes_what_it_opened_and_nothing_else(server: Server) -> None:
    with RecollectStore(server.url, server.token) as store:
        pass
    with pytest.raises(client_errors.StoreClosed):
        store.get(("a",), "k")
    with Client(server.url, server.token) as client:
        with RecollectStore.over(client) as store:
            store.put(("over", "client"), "k", {"n": 1})
        assert client.get(("over", "client"), "k") is not None


def test_memories_in_a_directory_are_there_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "kept", root=ALICE, settings=SETTINGS) as store:
        store.put(("facts",), "k", {"n": 1})
    with pytest.raises(StoreClosed):
        store.get(("facts",), "k")

    async def again() -> Any:
        async with open_async_store(tmp_path / "kept", settings=SETTINGS) as other:
            return await other.aget((*ALICE, "facts"), "k")

    assert asyncio.run(again()).value == {"n": 1}


# -- below a root


def test_a_store_below_a_root_sees_and_lists_nothing_else(memories: recollect.MemoriesSync) -> None:
    memories.put(ALICE, "at the root", {"text": "green tea"})
    memories.put((*ALICE, "facts", "work"), "k", {"text": "something else"})
    memories.put(("user", "bob", "facts"), "k", {"text": "green tea"})
    store = RecollectStore.over(memories, root=ALICE)
    assert [(item.namespace, item.key) for item in store.search(())] == [(("facts", "work"), "k")]
    assert [item.key for item in store.search((), query="green tea", limit=1)] == ["k"]
    assert store.list_namespaces() == [("facts", "work")]
    assert store.list_namespaces(max_depth=1) == [("facts",)]
    assert store.list_namespaces(prefix=("*", "work")) == [("facts", "work")]
    assert store.list_namespaces(suffix=("facts", "work")) == [("facts", "work")]
    assert store.list_namespaces(suffix=("alice", "facts", "work")) == []
    assert store.list_namespaces(suffix=("*", "*", "work")) == []
    assert store.get((), "at the root") is None


@pytest.mark.parametrize("root", ["user", ("user", ""), ("user", "*"), ("user", 7)])
def test_a_root_says_where_it_is(root: Any, memories: recollect.MemoriesSync) -> None:
    with pytest.raises(InvalidNamespaceError):
        RecollectStore.over(memories, root=root)
    with pytest.raises(InvalidNamespaceError):
        RecollectStore("http://127.0.0.1:9", "", root=root)


def test_the_policy_holds(memories: recollect.MemoriesSync) -> None:
    bob = memories.for_caller(new_caller("default", "bob", "agent", (), (Scope.READ, Scope.WRITE)))
    store = RecollectStore.over(bob)
    memories.put((*ALICE, "facts"), "k", {"n": 1})
    with pytest.raises(Forbidden):
        store.get((*ALICE, "facts"), "k")
    assert store.search(()) == []
    assert store.list_namespaces() == []


# -- what reads write


def test_what_does_not_expire_is_not_written_by_reads(memories: recollect.MemoriesSync) -> None:
    store = RecollectStore.over(memories)
    store.put(("a",), "k", {"n": 1})
    store.get(("a",), "k")
    store.search(("a",))
    item = memories.get(("a",), "k")
    assert item is not None
    assert (item.revision, item.attributes) == (1, None)


def test_who_may_only_read_reads_what_expires(memories: recollect.MemoriesSync, clock: MovingClock) -> None:
    RecollectStore.over(memories).put((*ALICE, "a"), "k", {"n": 1}, ttl=1)
    reader = memories.for_caller(new_caller("default", "alice", "agent", (), (Scope.READ,)))
    store = RecollectStore.over(reader)
    assert [item.key for item in store.search(ALICE)] == ["k"]
    assert store.get((*ALICE, "a"), "k") is not None
    clock.pass_time(61)
    assert store.get((*ALICE, "a"), "k") is None


class Overtaken:
    """Memories to which somebody else writes just before anything is prolonged."""

    def __init__(self, memories: recollect.MemoriesSync) -> None:
        self._memories = memories

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memories, name)

    def batch(self, operations: Any, **named: Any) -> Any:
        if any(each.expected_revision is not None for each in operations):
            self._memories.put(("a",), "overtaken", {"n": "theirs"}, ttl=3_600)
        return self._memories.batch(operations, **named)


Overtaken.__module__ = "recollect.testing"  # where the operations that it takes come from


def test_a_read_undoes_no_write_that_came_in_between(memories: recollect.MemoriesSync, clock: MovingClock) -> None:
    store = RecollectStore.over(Overtaken(memories))
    store.put(("a",), "overtaken", {"n": "mine"}, ttl=1)
    store.put(("a",), "other", {"n": 1}, ttl=1)
    clock.pass_time(40)
    assert len(store.search(("a",))) == 2
    clock.pass_time(40)
    found = {item.key: item.value for item in RecollectStore.over(memories).search(("a",), refresh_ttl=False)}
    assert found == {"overtaken": {"n": "theirs"}, "other": {"n": 1}}


def test_trouble_while_a_life_is_prolonged_is_told(memories: recollect.MemoriesSync) -> None:
    class Failing(Overtaken):
        def batch(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

    Failing.__module__ = Overtaken.__module__
    RecollectStore.over(memories).put(("a",), "k", {"n": 1}, ttl=1)
    with pytest.raises(ConnectionError):
        RecollectStore.over(Failing(memories)).get(("a",), "k")


def test_many_prolonged_items_stay_in_their_order_over_pages(
    memories: recollect.MemoriesSync, clock: MovingClock
) -> None:
    store = RecollectStore.over(memories)
    keys = [f"{number:03}" for number in range(230)]
    for key in keys:
        store.put(("a",), key, {"n": 1}, index=False, ttl=10)
    for key in keys[::3]:
        store.get(("a",), key)
    newest = keys[::-1]
    found = [item.key for item in store.search(("a",), limit=500, refresh_ttl=False)]
    assert found == newest
    assert [item.key for item in store.search(("a",), limit=5, offset=120, refresh_ttl=False)] == newest[120:125]


def test_a_batch_that_reads_and_writes_one_key_writes_it_once(memories: recollect.MemoriesSync) -> None:
    store = RecollectStore.over(memories)
    store.put(("a",), "k", {"n": 1}, ttl=1)
    store.batch([GetOp(("a",), "k"), SearchOp(("a",)), PutOp(("a",), "k", {"n": 2})])
    item = memories.get(("a",), "k")
    assert item is not None
    assert (item.revision, item.value, item.expires_at) == (2, {"n": 2}, None)


# -- queries


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["text"], ["text"]),
        (["$"], None),
        (["text", "$"], None),
        ([], []),
        (["parts[*].text"], ["parts[*].text"]),
        (["parts[-1].text"], ["parts[1].text"]),
        (["parts[-9].text"], []),
        (["*"], ["text", "parts", "meta"]),
        (["meta.*"], ["meta.title", "meta.rest"]),
        (["parts.*.text"], ["parts[0].text", "parts[1].text"]),
        (["{text,meta.title}"], ["text", "meta.title"]),
        (["meta.{title, rest, none}"], ["meta.title", "meta.rest"]),
        (["text", "text"], ["text"]),
    ],
)
def test_paths_of_langgraph_become_those_of_the_service(paths: list[str], expected: list[str] | None) -> None:
    value = {"text": "x", "parts": [{"text": "a"}, {"text": "b"}], "meta": {"title": "t", "rest": "r"}}
    assert index_fields(paths, None, value) == expected
    assert index_fields(None, paths, value) == expected
    assert index_fields(False, paths, value) == []


def test_a_query_goes_down_to_where_the_ranking_ends(memories: recollect.MemoriesSync) -> None:
    store = RecollectStore.over(memories)
    store.batch([PutOp(("a",), f"{number:04}", {"text": "tea"}) for number in range(1_005)])
    assert len(store.search(("a",), query="tea", limit=5_000)) == 1_000
    assert len(store.search(("a",), query="tea", limit=50, offset=990)) == 10
    assert store.search(("a",), query="tea", offset=1_000) == []
    assert len(store.search(("a",), limit=5_000)) == 1_005


# -- what is refused


def test_what_the_service_refuses_is_told_by_its_own_errors(memories: recollect.MemoriesSync) -> None:
    store = RecollectStore.over(memories)
    with pytest.raises(InvalidKey):
        store.put(("a",), "", {"n": 1})
    with pytest.raises(InvalidValue):
        store.put(("a",), "k", {"n": float("nan")})
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch(["get"])  # type: ignore[list-item] # no operation


async def test_the_store_for_an_event_loop_is_not_called_without_await_on_it() -> None:
    async with open_async_store(":memory:", settings=SETTINGS) as store:
        await store.aput(("a",), "k", {"n": 1})
        with pytest.raises(asyncio.InvalidStateError, match="aget"):
            store.get(("a",), "k")
        item = await asyncio.to_thread(store.get, ("a",), "k")
        assert item is not None


async def test_the_store_without_an_event_loop_can_be_awaited() -> None:
    with open_store(":memory:", settings=SETTINGS) as store:
        await asyncio.gather(*(store.aput(("a",), str(number), {"n": number}) for number in range(20)))
        assert len(await store.asearch(("a",), limit=50)) == 20
