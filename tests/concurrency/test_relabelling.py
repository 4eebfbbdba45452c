"""Versions that are relabelled while they are replaced: S49 with two stores on one file, and threads on each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.concurrency.crew import in_threads
from tests.concurrency.lifetimes import steady_clock
from tests.sizes import sized

from recollect.backends.keyring import Plain
from recollect.backends.sqlite import SqliteOptions, SqliteStore, commits
from recollect.backends.sqlite.writer import Group
from recollect.domain.address import Address, namespace
from recollect.domain.attributes import stored_attributes
from recollect.domain.commits import Commit, Operation, Put, Receipt, Relabel
from recollect.domain.errors import RevisionConflict
from recollect.domain.queries import EventQuery
from recollect.domain.reasons import EventKind, Plane
from recollect.main import random_ids
from recollect.ports.store import Store, Verification
from recollect.sync import drive

TENANT = "acme"
PLACES = [Address(Plane.ITEM, namespace(("raced",)), str(number)) for number in range(4)]


def told(revision: int, by: str) -> str:
    """Attributes that say of which revision they were computed."""
    return f'{{"by":"{by}","of":{revision}}}'


def replacing(store: Store, chance: random.Random, done: Counter[str], count: int) -> None:
    """Replace versions, each time on condition of the revision that was read."""
    for _ in range(count):
        place = chance.choice(PLACES)
        row = drive(store.get(TENANT, place))
        read = row.revision if row else 0
        wish = Put(place, b"{}", policy_attributes=told(read + 1, "writer"), expected_revision=read)
        done["written"] += acknowledged(store, wish)


def relabelling(store: Store, chance: random.Random, done: Counter[str], count: int) -> None:
    """Relabel versions, with what was computed of the revision that was read."""
    for number in range(count):
        rows = [row for place in chance.sample(PLACES, 3) if (row := drive(store.get(TENANT, place)))]
        wishes = [Relabel(row.address, row.revision, told(row.revision, f"{number} by {id(done)}")) for row in rows]
        done["relabelled"] += acknowledged(store, *wishes)


def acknowledged(store: Store, *wishes: Operation) -> int:
    """How many of the operations did something."""
    try:
        receipt = drive(store.commit(Commit(TENANT, wishes)))
    except RevisionConflict:
        return 0
    return sum(outcome.kind is not None for outcome in receipt.outcomes)


def raced(path: Path, count: int) -> tuple[Counter[str], list[str], Verification]:
    """Two stores on one file, with writers and relabellers on each; what was done, what is wrong, and the proof."""
    stores = [
        SqliteStore(
            SqliteOptions(path / "data.db", synchronous="OFF"),
            clock=steady_clock,
            ids=random_ids,
            sealer=Plain(),
            direct=True,
        )
        for _ in range(2)
    ]
    tallies: list[Counter[str]] = [Counter() for _ in range(4)]
    works: list[Callable[[], None]] = [
        partial(work, store, random.Random(number), tallies[number], count)
        for number, (store, work) in enumerate((store, work) for store in stores for work in (replacing, relabelling))
    ]
    try:
        tallies[0]["written"] += acknowledged(
            stores[0], *(Put(place, b"{}", policy_attributes=told(1, "first")) for place in PLACES)
        )
        in_threads(*works)
        return sum(tallies, Counter()), flaws(stores[0]), drive(stores[1].verify(TENANT))
    finally:
        for store in stores:
            drive(store.close())


def flaws(store: Store) -> list[str]:
    """Versions whose attributes were computed of another one, or of which the log tells in another order."""
    rows = [row for place in PLACES for row in drive(store.history(TENANT, place, limit=1_000_000))]
    found = [
        f"revision {row.revision} has {row.policy_attributes}"
        for row in rows
        if stored_attributes(row.policy_attributes)["of"] != row.revision
    ]
    live: dict[Address, int] = {}
    after = 0
    while True:
        page = drive(store.events(TENANT, EventQuery(after=after, limit=1_000, values=False)))
        for event in (entry.event for entry in page.entries):
            if event.kind is EventKind.RELABELLED and live.get(event.address) != event.revision:
                found.append(f"{event} relabelled what was not live")
            live[event.address] = event.revision
        after = page.after
        if page.complete:
            return found


@sized(150, 5_000)
def test_what_was_computed_of_one_version_never_comes_to_another(count: int, tmp_path: Path) -> None:
    done, found, verification = raced(tmp_path, count)
    print(f"relabelling: {done['written']:,} written, {done['relabelled']:,} relabelled, both by two at once")
    assert found == []
    assert verification.sound, verification.problems
    assert verification.head.sequence == done["written"] + done["relabelled"]
    assert min(done["written"], done["relabelled"]) > count // 2


def test_a_store_that_relabels_whatever_is_live_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = commits.apply_commit

    def blind(group: Group, commit: Commit, **rest: Any) -> Receipt:
        wishes: list[Operation] = []
        for wish in commit.operations:
            live = commits.newest(group.db, TENANT, wish.address)
            blindly = isinstance(wish, Relabel) and live is not None
            wishes.append(msgspec.structs.replace(wish, revision=live.revision) if blindly and live else wish)
        return honest(group, msgspec.structs.replace(commit, operations=tuple(wishes)), **rest)

    monkeypatch.setattr(commits, "apply_commit", blind)
    _, found, verification = raced(tmp_path, 300)
    assert any("has" in flaw for flaw in found)
    assert verification.sound, "the log tells what was done, right or wrong"
