"""A commit on MongoDB is whole for everybody: whoever dies while writing it, and whoever looks meanwhile."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient
from tests.engines.mongodb import found_server  # noqa: F401 - a fixture
from tests.faults.mongodb_victim import ACTS, Interrupted, opened, prepare, snapshot

from recollect.backends.keyring import Plain
from recollect.backends.mongodb import MongoOptions, MongoStore, driver, plans, views
from recollect.backends.mongodb.driver import Document, Where
from recollect.backends.mongodb.views import View
from recollect.domain.errors import OutcomeUnknown
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.testing.contract.scenes import TENANT, at, put, write
from recollect.testing.doubles import ManualClock, SerialIds

MOST_POINTS = 60


@pytest.fixture
def options(mongodb: str) -> Iterator[MongoOptions]:
    """A database that is dropped when the test is over."""
    made = MongoOptions(mongodb, f"trial_{secrets.token_hex(8)}", patience_seconds=0.0)
    yield made
    with MongoClient[dict[str, Any]](mongodb) as client:
        client.drop_database(made.database)


class Scene:
    """A store that can be interrupted, and others on the same data."""

    def __init__(self, options: MongoOptions) -> None:
        self.options = options
        self.clock, self.ids = ManualClock(), SerialIds()
        self._stores: list[MongoStore] = []

    def open(self) -> MongoStore:
        """A store whose commits can be interrupted."""
        self._stores.append(opened(self.options, self.clock, self.ids))
        return self._stores[-1]

    def other(self) -> MongoStore:
        """A store as another process would have it."""
        apart = replace(self.options, turns=str(len(self._stores)))
        self._stores.append(MongoStore(apart, clock=self.clock, ids=SerialIds(), sealer=Plain()))
        return self._stores[-1]

    async def close(self) -> None:
        for store in self._stores:
            await store.close()


def interrupting(store: MongoStore) -> Interrupted:
    assert isinstance(store._driver, Interrupted)
    return store._driver


async def before_and_after(options: MongoOptions, act: str) -> list[tuple[object, ...]]:
    """What is seen before an act, and after it, when nobody interferes."""
    scene = Scene(options)
    store = scene.open()
    await prepare(store, scene.clock)
    seen = [await snapshot(store)]
    await ACTS[act](store)
    seen.append(await snapshot(store))
    await scene.close()
    with MongoClient[dict[str, Any]](options.url) as client:
        client.drop_database(options.database)
    return seen


@pytest.mark.parametrize("act", ["commit", "erase", "reflect"])
async def test_a_commit_is_whole_wherever_its_writer_is_killed(act: str, options: MongoOptions) -> None:
    before, after = await before_and_after(options, act)
    for point in itertools.count():
        assert point < MOST_POINTS
        trial = replace(options, database=f"{options.database}_{point}")
        command = [sys.executable, "-m", "tests.faults.mongodb_victim", trial.url, trial.database, act, str(point)]
        told = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120)
        scene = Scene(trial)
        try:
            store = scene.other()
            scene.clock.advance(10)
            seen = await snapshot(store)
            if "survived" in told.stdout:
                assert seen == after
                break
            assert told.returncode == -9, told.stderr
            assert seen == (before if point == 0 else after), f"killed at point {point}"
            await write(store, put(at("user", "ann", key="later")))
            assert (await store.verify(TENANT)).sound
        finally:
            await scene.close()
            with MongoClient[dict[str, Any]](trial.url) as client:
                client.drop_database(trial.database)
    print(f"{act}: killed at {point} points")
    assert point >= 6


async def seen_meanwhile(options: MongoOptions, act: str) -> tuple[list[bool], int]:
    """Whether another process saw a commit wholly or not at all, at every point of it; and how many there were."""
    before, after = await before_and_after(options, act)
    scene = Scene(options)
    store, other = scene.open(), scene.other()
    await prepare(store, scene.clock)
    sound: list[bool] = []

    async def look() -> None:
        seen = await snapshot(other)
        sound.append(seen == (after if len(sound) else before))

    interrupting(store).point = look
    try:
        await ACTS[act](store)
        interrupting(store).point = on_with_it
        sound.append(await snapshot(store) == after and await snapshot(other) == after)
    finally:
        await scene.close()
    return sound, len(sound)


async def on_with_it() -> None:
    """Look no more."""


@pytest.mark.parametrize("act", ["commit", "erase", "reflect"])
async def test_others_see_a_commit_wholly_or_not_at_all_while_it_is_carried_out(
    act: str, options: MongoOptions
) -> None:
    """They finish it, and its writer then carries it out once more, which changes nothing."""
    sound, points = await seen_meanwhile(options, act)
    assert all(sound), f"{act}: {sound}"
    assert points > 6


async def seen_by_one_who_began_before(options: MongoOptions) -> bool:
    """Whether one who reads at a commit sees the same however far a later one is carried out."""
    scene = Scene(options)
    store, other = scene.open(), scene.other()
    await prepare(store, scene.clock)
    state = await other._ledger.state(TENANT)
    same = True

    async def rows() -> list[tuple[str, int, str]]:
        wanted, holds = views.live(scene.clock())
        found = await View(other._driver, other._ledger, state).all(
            {"tenant": TENANT, "plane": Plane.ITEM.value}, wanted, holds
        )
        return sorted((each["key"], each["revision"], each["policy_attributes"]) for each in found)

    expected = await rows()

    async def look() -> None:
        nonlocal same
        same = same and await rows() == expected

    interrupting(store).point = look
    try:
        await ACTS["commit"](store)
        await look()
    finally:
        await scene.close()
    assert len(expected) == 6
    return same


async def test_one_who_began_before_a_commit_sees_nothing_of_it(options: MongoOptions) -> None:
    assert await seen_by_one_who_began_before(options)


async def test_a_half_visible_commit_is_noticed(options: MongoOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "as_at", lambda document, _: document)
    assert not await seen_by_one_who_began_before(options)


async def test_a_roll_forward_that_cannot_be_repeated_is_noticed(
    options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def once(self: driver.Driver, collection: str, documents: list[Document]) -> bool:
        for document in documents:
            await self.insert(collection, document)
        return True

    monkeypatch.setattr(driver.Driver, "add", once)
    with pytest.raises(driver.Taken):
        await seen_meanwhile(options, "commit")


def unguarded(tenant: str, number: int, name: str, fields: Document, gone: list[str]) -> tuple[Where, Document]:
    change: Document = {"$set": fields} | ({"$unset": dict.fromkeys(gone, "")} if gone else {})
    return {"_id": name, "tenant": tenant}, change


async def after_one_who_slept(options: MongoOptions) -> bool:
    """Whether all is well when a writer stops amid its commit, others finish it and write on, and it then goes on."""
    scene = Scene(options)
    store, other = scene.open(), scene.other()
    await prepare(store, scene.clock)
    points = 0

    async def sleep() -> None:
        nonlocal points
        points += 1
        if points == 2:  # the commit is inserted, and nothing of it is carried out
            await write(other, put(at("user", "ann", key="a"), b"4"), put(at("user", "ann", key="d"), b"4"))
            await ACTS["reflect"](other)

    interrupting(store).point = sleep
    try:
        await ACTS["commit"](store)
        live = await store.find(TENANT, Find(Plane.ITEM, limit=100))
        values = {row.address.key: row.value for row in live.rows}
        sound = (await store.verify(TENANT)).sound and await store.pending(TENANT) == []
        return sound and (values["a"], values["d"]) == (b"4", b"4")
    finally:
        await scene.close()


async def test_a_writer_that_slept_changes_nothing_that_others_did_meanwhile(options: MongoOptions) -> None:
    assert await after_one_who_slept(options)


async def test_a_writer_that_overwrites_what_others_did_meanwhile_is_noticed(
    options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "_guarded", unguarded)
    assert not await after_one_who_slept(options)


# -- answers that never arrive


class Cut(Interrupted):
    """A driver that loses the answer to the insert of a commit, before or after the server did it."""

    lose: Callable[[], str] = staticmethod(lambda: "")

    async def insert(self, collection: str, document: Document) -> None:
        what = self.lose() if collection == "commits" else ""
        if what == "request":
            raise driver.Lost("planted")
        await super().insert(collection, document)
        if what == "answer":
            raise driver.Lost("planted")
        if what == "sent twice":
            await super().insert(collection, document)


@pytest.mark.parametrize("lost", ["request", "answer", "sent twice"])
async def test_a_commit_whose_answer_was_lost_happens_once(
    lost: str, options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.mongodb_victim.Interrupted", Cut)
    scene = Scene(options)
    store = scene.open()
    try:
        await prepare(store, scene.clock)
        before = (await store.head(TENANT)).sequence
        fates = iter([lost])
        store._driver.lose = lambda: next(fates, "")  # type: ignore[attr-defined]
        receipt = await write(store, put(at("user", "ann", key="a"), b"9"))
        assert (receipt.head, (await store.head(TENANT)).sequence) == (before + 1, before + 1)
        assert (await store.verify(TENANT)).sound
    finally:
        await scene.close()


async def test_an_outcome_that_cannot_be_found_out_is_said_to_be_unknown(
    options: MongoOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.mongodb_victim.Interrupted", Cut)
    scene = Scene(replace(options, busy_seconds=0.2))
    store = scene.open()
    try:
        await prepare(store, scene.clock)
        store._driver.lose = lambda: "request"  # type: ignore[attr-defined]
        with pytest.raises(OutcomeUnknown):
            await write(store, put(at("user", "ann", key="a"), b"9"))
    finally:
        await scene.close()
