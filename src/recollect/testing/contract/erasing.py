"""Proofs of S40 to S44 and S51: erasing, backing up, closing, who is there, and how much."""

# ruff: noqa: D103 - the name of a check is its sentence

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from recollect.domain.address import namespace
from recollect.domain.errors import StoreClosed, Unsupported
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, EventQuery, Find, NamespaceQuery
from recollect.domain.reasons import EndReason, EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.stored import Shelf
from recollect.ports.store import Mark
from recollect.testing.contract.scenes import (
    OTHER,
    TENANT,
    at,
    delete,
    entries_of,
    log_of,
    put,
    refused,
    rows_of,
    write,
    write_one,
)
from recollect.testing.contract.trial import Trial, clause


async def _subject(trial: Trial) -> Erasure:
    """Ann's rows in several planes and states, beside those of others; and the wish to erase hers."""
    store = trial.store
    for plane in Plane:
        await write(store, put(at("user", "ann", key="a", plane=plane), b"secret", policy='{"p":"secret"}'))
    await write(store, put(at("user", "ann", key="a"), b"secret2"), put(at("user", "ann", "deep"), b"secret", ttl=5))
    await write(store, put(at("user", "ann", "gone"), b"secret"))
    await delete(store, at("user", "ann", "gone"))
    for segments in (("user", "anna"), ("user", "ANN"), ("user",), ("users", "ann")):
        await write(store, put(at(*segments), b"other"))
    await write(store, put(at("user", "ann"), b"other"), tenant=OTHER)
    trial.clock.advance(1)
    return Erasure(b"erasure-of-ann-1", TENANT, "user:ann", namespace(("user", "ann")), "officer")


@clause("S40")
async def erasing_empties_every_version_in_all_planes_and_nothing_else(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    erased = await store.erase(erasure)
    assert (erased.versions, erased.live) == (len(Plane) + 3, len(Plane) + 1)
    for entry in await entries_of(store):
        if entry.row is None:
            continue
        hers = erasure.namespace.contains(entry.row.address.namespace)
        assert (entry.row.value is None) == hers
        assert not hers or entry.row.ended_at is not None
        assert not hers or (entry.row.attributes, entry.row.policy_attributes) == (None, "{}")
    for plane in Plane:
        assert await store.get(TENANT, at("user", "ann", key="a", plane=plane)) is None
        assert await rows_of(store, Find(plane, erasure.namespace)) == []
        rows = await store.history(TENANT, at("user", "ann", key="a", plane=plane))
        assert rows[0].end_reason is EndReason.ERASED
    assert len(await rows_of(store, Find(Plane.ITEM))) == 4
    assert await store.get(OTHER, at("user", "ann")) is not None


@clause("S40")
async def an_erasure_happens_once(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    erased = await store.erase(erasure)
    assert (await write_one(store, put(at("user", "ann"), b"new"))).kind is EventKind.ADD
    log = await log_of(store)
    trial.clock.advance(1)
    assert await store.erase(erasure) == erased
    assert await (await trial.second()).erase(erasure) == erased
    assert await log_of(store) == log
    row = await store.get(TENANT, at("user", "ann"))
    assert row is not None
    assert row.value == b"new", "what came after an erasure is not touched by repeating it"


@clause("S40", "S10")
async def an_erasure_of_the_same_identity_in_another_tenant_is_another_one(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    await store.erase(erasure)
    theirs = await store.erase(Erasure(erasure.id, OTHER, erasure.subject, erasure.namespace))
    assert (theirs.tenant, theirs.versions, theirs.live) == (OTHER, 1, 1)
    assert await store.get(OTHER, at("user", "ann")) is None


@clause("S41")
async def erasing_leaves_a_receipt_and_the_log_still_verifies(trial: Trial) -> None:
    store, erasure = trial.store, await _subject(trial)
    before = await log_of(store)
    erased = await store.erase(erasure)
    log = await log_of(store)
    assert log[:-1] == before, "the log tells what happened before, as it did before"
    receipt = log[-1]
    assert receipt.kind is EventKind.ERASED
    assert (receipt.sequence, receipt.hash, receipt.at) == (erased.sequence, erased.hash, erased.at)
    assert (receipt.row_id, receipt.actor) == (erasure.id, "officer")
    assert receipt.address.namespace == erasure.namespace
    report = await store.verify(TENANT)
    assert report.sound, report.problems
    for plane in Plane:
        told = await entries_of(store, query=EventQuery(planes=frozenset({plane}), kinds=frozenset({EventKind.ERASED})))
        assert [entry.event for entry in told] == [receipt], "an erasure concerns every plane"
    await write(store, put(at("user", "ann", key="a"), b"new"))
    assert (await store.verify(TENANT)).sound


@clause("S41")
async def erasing_nothing_leaves_a_receipt_as_well(trial: Trial) -> None:
    erased = await trial.store.erase(Erasure(b"n" * 16, TENANT, "user:nobody", namespace(("user", "nobody"))))
    assert (erased.versions, erased.live, erased.sequence) == (0, 0, 1)
    assert [event.kind for event in await log_of(trial.store)] == [EventKind.ERASED]
    assert (await trial.store.verify(TENANT)).sound


@clause("S42")
async def a_backup_is_a_consistent_copy_taken_while_others_write(trial: Trial) -> None:
    store, target = trial.store, trial.scratch / "copy.backup"
    if "backup" not in store.capabilities:
        assert trial.open_backup is None
        await refused(Unsupported, store.backup(target))
        assert not target.exists()
        return
    assert trial.open_backup is not None
    await write(store, *(put(at("data", key=str(n)), b"x" * 2_000) for n in range(50)))
    stop = asyncio.Event()
    written = 0

    async def keep_writing() -> None:
        nonlocal written
        while not stop.is_set() and written < 5_000:
            await write(store, put(at("pair", key="one"), b"%d" % written), put(at("pair", key="two"), b"%d" % written))
            written += 1

    writer = asyncio.create_task(keep_writing())
    await store.wait(TENANT, 60, 30)
    acknowledged = written
    told: list[tuple[int, int]] = []
    await store.backup(target, lambda done, total: told.append((done, total)))
    stop.set()
    await writer
    assert told
    assert told[-1][0] == told[-1][1]
    copy = await trial.open_backup(target)
    report = await copy.verify(TENANT)
    assert report.sound, report.problems
    one, two = await copy.get(TENANT, at("pair", key="one")), await copy.get(TENANT, at("pair", key="two"))
    assert one is not None
    assert two is not None
    assert one.value == two.value
    assert one.revision >= acknowledged
    assert len(await rows_of(copy, Find(Plane.ITEM, namespace(("data",))))) == 50
    log = await log_of(store)
    assert (await log_of(copy)) == log[: report.head.sequence]
    await write(copy, put(at("only", "in", "the", "copy")))
    assert await store.get(TENANT, at("only", "in", "the", "copy")) is None


@clause("S43")
async def a_closed_store_refuses_every_call(trial: Trial) -> None:
    store = trial.store
    await write(store, put(at("kept")))
    lease = await store.acquire("sweeper", "me", 10)
    assert lease is not None
    await store.close()
    await store.close()
    late = Erasure(b"c" * 16, TENANT, "user:ann", namespace(("user", "ann")))
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: write(store, put(at("late"))),
        lambda: store.get(TENANT, at("kept")),
        lambda: store.get(TENANT, at("kept"), as_of=trial.clock()),
        lambda: store.get_by_id(TENANT, bytes(16)),
        lambda: store.find(TENANT, Find(Plane.ITEM)),
        lambda: store.history(TENANT, at("kept")),
        lambda: store.namespaces(TENANT, NamespaceQuery()),
        lambda: store.tenants(),
        lambda: store.head(TENANT),
        lambda: store.events(TENANT, EventQuery()),
        lambda: store.wait(TENANT, 0, 5),
        lambda: store.verify(TENANT),
        *(partial(store.sweep, TENANT, step, Retention()) for step in Pass),
        lambda: store.pending(TENANT),
        lambda: store.mark_indexed(TENANT, [Mark(bytes(16), live=True)]),
        lambda: store.acquire("sweeper", "you", 10),
        lambda: store.renew(lease, 10),
        lambda: store.release(lease),
        lambda: store.erase(late),
        lambda: store.aside(lambda: None),
        lambda: store.count(TENANT, Plane.ITEM),
    ]
    if "backup" in store.capabilities:
        calls.append(lambda: store.backup(trial.scratch / "late.backup"))
    if "copy" in store.capabilities:
        calls += [store.mark, lambda: store.set_mark(None), lambda: store.take_over(Shelf.EVENTS, [])]
        calls += [lambda: store.amount(Shelf.EVENTS), lambda: anext(store.stored(Shelf.EVENTS))]
    for call in calls:
        await refused(StoreClosed, call())
    with suppress(StoreClosed):
        assert store.stamp() != store.stamp(), "a closed store does not know what others commit"


@clause("S44")
async def tenants_are_those_that_have_ever_written_sorted(trial: Trial) -> None:
    store = trial.store
    assert list(await store.tenants()) == []
    for name in ("zeta", "alpha", "Beta", "a.b", "a-b", "9"):
        await write(store, put(at("x")), tenant=name)
        await store.get("reader", at("x"))
    await delete(store, at("x"), "nothing-to-delete")
    await delete(store, at("x"), "alpha")
    assert list(await store.tenants()) == ["9", "Beta", "a-b", "a.b", "alpha", "zeta"]


@clause("S51")
async def counting_counts_what_a_search_of_everything_finds(trial: Trial) -> None:
    store = trial.store
    assert await store.count(TENANT, Plane.ITEM) == 0
    await write(store, *(put(at("x", key=f"k{n}")) for n in range(5)))
    await write(store, put(at("x", key="k0")))
    await write(store, put(at("x", key="set aside"), archived=True))
    await write(store, put(at("x", key="short"), ttl=1))
    await write(store, put(at("x", key="k0", plane=Plane.RECORD)))
    await write(store, put(at("x", key="k0")), tenant="other")
    assert await store.count(TENANT, Plane.ITEM) == 7
    trial.clock.advance(2)
    await delete(store, at("x", key="k1"))
    assert await store.count(TENANT, Plane.ITEM) == 5
    everything = await store.find(TENANT, Find(Plane.ITEM, limit=100, archived=Archived.INCLUDE))
    assert len(everything.rows) == 5
