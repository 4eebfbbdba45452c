"""What is MongoDB's own: whose database it is, plain threads, plans of many documents, and a server that is gone."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pymongo import MongoClient
from tests.docs.pages import ROOT, run
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture

from recollect.backends.keyring import Plain
from recollect.backends.mongodb import MongoKeyStore, MongoOptions, MongoStore
from recollect.backends.mongodb import ledger as ledger_module
from recollect.domain.address import namespace
from recollect.domain.commits import Commit
from recollect.domain.errors import InvalidSetting, NotAStore, SchemaTooNew, StoreUnavailable
from recollect.domain.planning import Erasure
from recollect.domain.queries import EventQuery, Find, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.ports.store import Mark, Reflected
from recollect.testing.contract.scenes import TENANT, at, put, write
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.mongodb import MongoScene

Result = TypeVar("Result")


@pytest.fixture
def options(mongodb: str) -> Iterator[MongoOptions]:
    """A database that is dropped when the test is over."""
    made = MongoOptions(mongodb, f"trial_{secrets.token_hex(8)}")
    yield made
    with MongoClient[dict[str, Any]](mongodb) as client:
        client.drop_database(made.database)


def store_on(options: MongoOptions, *, direct: bool = False, clock: ManualClock | None = None) -> MongoStore:
    return MongoStore(options, clock=clock or ManualClock(), ids=SerialIds(), sealer=Plain(), direct=direct)


def at_once(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    work.close()
    raise AssertionError("it suspended")


# -- whose database it is


def test_a_database_of_another_program_is_refused_and_left_alone(options: MongoOptions) -> None:
    with MongoClient[dict[str, Any]](options.url) as client:
        client[options.database]["customers"].insert_one({"_id": 1})
        for make in (store_on, MongoKeyStore):
            with pytest.raises(NotAStore, match="another program"):
                make(options)
        assert client[options.database].list_collection_names() == ["customers"]


def test_data_of_a_newer_program_is_refused(options: MongoOptions) -> None:
    at_once(store_on(options, direct=True).close())
    with MongoClient[dict[str, Any]](options.url) as client:
        client[options.database]["about"].update_one({"_id": "store"}, {"$set": {"schema": 99}})
    with pytest.raises(SchemaTooNew) as refused:
        store_on(options)
    assert refused.value.details == {"schema": 99}


def test_store_and_keys_can_share_a_database_in_either_order(options: MongoOptions) -> None:
    MongoKeyStore(options).close()
    at_once(store_on(options, direct=True).close())
    MongoKeyStore(options).close()


def test_a_server_that_is_not_there_is_said_to_be_so() -> None:
    with pytest.raises(StoreUnavailable, match="no MongoDB server can be reached"):
        store_on(MongoOptions("mongodb://127.0.0.1:1/", timeout_seconds=0.2))


def test_an_unusable_address_is_a_wrong_setting_and_a_password_is_never_shown() -> None:
    for wrong in ("not an address", "mongodb://me:secret:secret@127.0.0.1/", "mongodb://127.0.0.1:port/"):
        with pytest.raises(InvalidSetting) as refused:
            store_on(MongoOptions(wrong))
        assert "secret" not in f"{refused.value} {refused.value.__cause__}"
    assert "secret" not in repr(MongoOptions("mongodb://me:secret@127.0.0.1/"))


def test_the_guide_does_what_it_says(options: MongoOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs/how-to/use-mongodb.md").read_text()
    here = guide.replace("mongodb://127.0.0.1:27017/", options.url)
    here = here.replace('database="recollect"', f'database="{options.database}"')
    assert guide.count("127.0.0.1:27017") == 1
    assert run(here, "use-mongodb.md") == 1


# -- plain threads


def test_on_plain_threads_no_call_suspends(options: MongoOptions) -> None:
    clock = ManualClock()
    store = store_on(options, direct=True, clock=clock)
    receipt = at_once(store.commit(Commit(TENANT, (put(at("a"), b"1", index=True, ttl=5),))))
    assert receipt.head == 1
    row = at_once(store.get(TENANT, at("a")))
    assert row is not None
    assert row.value == b"1"
    assert len(at_once(store.find(TENANT, Find(Plane.ITEM, order=Order.KEY))).rows) == 1
    assert len(at_once(store.events(TENANT, EventQuery())).entries) == 1
    assert not at_once(store.wait(TENANT, 1, 0.01))
    lease = at_once(store.acquire("sweeper", "me", 5))
    assert lease is not None
    at_once(store.release(lease))
    clock.advance(5)
    assert at_once(store.sweep(TENANT, Pass.EXPIRE, Retention())).done == 1
    assert at_once(store.verify(TENANT)).sound
    at_once(store.close())


def test_threads_that_write_at_once_lose_nothing(options: MongoOptions) -> None:
    store = store_on(options, direct=True)

    def work(number: int) -> None:
        for count in range(5):
            at_once(store.commit(Commit(TENANT, (put(at("busy", key=f"{number}-{count}")), put(at("shared"))))))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert at_once(store.head(TENANT)).sequence == 40
    assert len(at_once(store.history(TENANT, at("shared")))) == 20
    assert at_once(store.verify(TENANT)).sound
    at_once(store.close())


# -- keys that somebody else destroyed


async def test_what_was_sealed_with_a_destroyed_key_is_emptied_before_a_new_one_seals(mongodb: str) -> None:
    scene = MongoScene(mongodb)
    try:
        one, other = scene.open(), scene.open()
        first, second = scene.envelopes
        ann, erasure = at("user", "ann"), Erasure(b"e" * 16, TENANT, "user:ann", namespace(("user", "ann")))
        await write(one, put(ann, b"1", index=True))
        await write(other, put(ann, b"2", index=True))
        first.destroy(erasure)  # and its process dies, before anything is emptied
        receipt = await write(other, put(ann, b"3", index=True))
        second.settle(erasure.id)
        assert [row.value for row in await other.history(TENANT, ann)] == [b"3", None, None]
        kinds = [entry.event.kind for entry in (await other.events(TENANT, EventQuery())).entries]
        assert kinds == [EventKind.ADD, EventKind.UPDATE, EventKind.ERASED, EventKind.ADD]
        row_id = receipt.outcomes[0].id
        assert row_id is not None
        await one.reflect(TENANT, 1, [Reflected(Mark(row_id, live=True), b"entry")])
        entries = await other.entries(TENANT, Plane.ITEM, namespace(("user",)), 1)
        assert [entry.content for entry in entries.entries] == [b"entry"], "it was sealed with the new key"
        assert await one.erase(erasure) == await other.erase(erasure)
        assert (await one.verify(TENANT)).sound
    finally:
        await scene.close()


# -- plans of many documents


async def test_a_commit_larger_than_a_document_is_whole(options: MongoOptions) -> None:
    store = store_on(options)
    value = b"x" * (1 << 20)
    await write(store, *(put(at("large", key=str(number)), value) for number in range(20)))
    assert (await store.head(TENANT)).sequence == 20
    row = await store.get(TENANT, at("large", key="7"))
    assert row is not None
    assert row.value == value
    await store.close()
    with MongoClient[dict[str, Any]](options.url) as client:
        assert client[options.database]["parts"].count_documents({}) == 0


async def test_a_plan_in_parts_is_carried_out_by_whoever_comes_next(
    options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_PART_BYTES", 500)
    first = store_on(options)
    await write(first, *(put(at("user", "ann", key=str(number))) for number in range(20)))

    async def die(*_: object) -> None:
        raise StoreUnavailable("planted")

    monkeypatch.setattr(first._ledger, "_finish", die)
    erased = await first.erase(Erasure(b"e" * 16, TENANT, "user:ann", namespace(("user", "ann"))))
    assert (erased.versions, erased.live) == (20, 20)
    second = store_on(options)
    assert (await second.find(TENANT, Find(Plane.ITEM))).rows == []
    assert (await second.verify(TENANT)).sound
    await first.close()
    await second.close()


# -- what is removed in the background


async def test_old_commits_and_what_is_left_of_purged_versions_go_in_the_end(
    options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "KEPT_COMMITS", 2)
    clock = ManualClock()
    store = store_on(options, clock=clock)
    for number in range(5):
        await write(store, put(at("kept", key=str(number))))
        await write(store, put(at("kept", key=str(number))))
    keep = Retention(superseded=0, tombstones=0, events=0)
    day = 86_401
    for step in (Pass.EVICT, Pass.PURGE, Pass.TRIM):
        clock.advance(1)
        await store.sweep(TENANT, step, keep)
    clock.advance(day)
    for step in (Pass.PURGE, Pass.TRIM):
        await store.sweep(TENANT, step, keep)
    assert (await store.verify(TENANT)).sound
    await write(store, put(at("kept", key="0")))
    assert [row.revision for row in await store.history(TENANT, at("kept", key="0"))] == [3, 2]
    await store.close()
    with MongoClient[dict[str, Any]](options.url) as client:
        database = client[options.database]
        assert database["versions"].count_documents({"gone": {"$ne": None}}) == 0
        assert database["commits"].count_documents({}) <= 4
        assert database["events"].count_documents({}) <= 3
