"""The rows of the table: which operation each times, in which form, and on what."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.subjects import Awaitables, Calls, Subject, called, evented
from benchmarks.workload import (
    BATCH,
    Counts,
    Memo,
    Question,
    Sample,
    Step,
    awaited,
    by_tasks,
    by_threads,
    memo,
    memos,
    mixed,
    one_by_one,
    questions,
)


@dataclass(frozen=True)
class Opened:
    """A subject under way: a store for plain calls and, where there is one, a store for an event loop."""

    subject: Subject
    plain: Calls
    evented: Awaitables | None


@dataclass(frozen=True)
class Material:
    """What one round does: the same for every subject."""

    stored: list[Memo]
    fresh: list[Memo]
    crowd: list[Memo]
    updates: list[Memo]
    doomed: list[Memo]
    wanted: list[Memo]
    narrow: list[Question]
    broad: list[Question]
    steps: list[Step]
    listings: list[int]


def everything_put(counts: Counts) -> list[Memo]:
    """All that is ever put under a new key, in the order in which it is."""
    users = counts.namespaces
    stored = memos(0, counts.items, users)
    return stored + memos(counts.items, counts.writes, users) + _crowd(counts)


def _crowd(counts: Counts) -> list[Memo]:
    return memos(counts.items + counts.writes, counts.concurrent, counts.namespaces)


def material(counts: Counts, seed: int) -> Material:
    """The work of one round."""
    users, chance = counts.namespaces, random.Random(seed)
    stored = memos(0, counts.items, users)
    changed = chance.sample(range(counts.items), 2 * min(counts.writes, counts.items // 4))
    half = len(changed) // 2
    # An update keeps the key and the namespace and brings another item's value.
    updates = [stored[at]._replace(value=memo(at + users * 7, users).value) for at in changed[:half]]
    doomed = [stored[at] for at in changed[half:]]
    gone = {each.key for each in doomed}
    return Material(
        stored,
        memos(counts.items, counts.writes, users),
        _crowd(counts),
        updates,
        doomed,
        chance.choices(stored, k=counts.reads),
        questions(counts.searches, users, chance, broad=False),
        questions(counts.broad, users, chance, broad=True),
        mixed(counts.mixed, [each for each in stored if each.key not in gone], users, chance),
        [users] * counts.listings,
    )


Measured = dict[str, Sample]
"""Samples by the form in which they were taken."""
Run = Callable[[Opened, Material, asyncio.Runner], Measured]


def _batch(opened: Opened, work: Material, _: asyncio.Runner) -> Measured:
    batches = [opened.plain.batch(work.stored[at : at + BATCH]) for at in range(0, len(work.stored), BATCH)]
    size = min(BATCH, len(work.stored))
    return {"plain calls": one_by_one(lambda put: put(), batches, each=size)}


def _put(opened: Opened, work: Material, _: asyncio.Runner) -> Measured:
    return {"plain calls": one_by_one(opened.plain.put, work.fresh)}


def _put_awaited(opened: Opened, work: Material, runner: asyncio.Runner) -> Measured:
    return {} if opened.evented is None else {"awaited": runner.run(awaited(opened.evented.put, work.fresh))}


def _put_crowd(opened: Opened, work: Material, runner: asyncio.Runner) -> Measured:
    found: Measured = {}
    if opened.evented is not None:
        found["16 tasks"] = runner.run(by_tasks(opened.evented.put, work.crowd))
        found["16 threads"] = by_threads(opened.plain.put, work.crowd)
    return found


def _mixed(opened: Opened, work: Material, runner: asyncio.Runner) -> Measured:
    found: Measured = {}
    if opened.evented is not None:
        found["16 tasks"] = runner.run(by_tasks(evented(opened.evented), work.steps))
        found["16 threads"] = by_threads(called(opened.plain), work.steps)
    return found


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    title: str
    run: Run
    for_floor: bool = False


ROWS = (
    Row("batch_put", "batch put, 1,000 at once", _batch, for_floor=True),
    Row("get", "get", lambda o, work, _: {"plain calls": one_by_one(o.plain.get, work.wanted)}),
    Row(
        "search",
        "search a subtree + filter",
        lambda o, work, _: {"plain calls": one_by_one(o.plain.search, work.narrow)},
    ),
    Row(
        "search_broad",
        "search everything + filter",
        lambda o, work, _: {"plain calls": one_by_one(o.plain.search, work.broad)},
    ),
    Row(
        "list_namespaces",
        "list namespaces",
        lambda o, work, _: {"plain calls": one_by_one(o.plain.namespaces, work.listings)},
    ),
    Row("put_awaited", "put, awaited", _put_awaited),
    Row("put", "put, plain call", _put, for_floor=True),
    Row("update", "update", lambda o, work, _: {"plain calls": one_by_one(o.plain.put, work.updates)}),
    Row("delete", "delete", lambda o, work, _: {"plain calls": one_by_one(o.plain.delete, work.doomed)}),
    Row("put_crowd", "put by 16 at once", _put_crowd),
    Row("mixed", "mixed, 16 at once", _mixed),
)
