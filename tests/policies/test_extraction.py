"""When the policy extracts other attributes, what is stored already is brought up to date, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.sizes import sized

import recollect
from recollect import MemoriesSync
from recollect.config import Settings
from recollect.domain.address import ROOT
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import new_caller
from recollect.domain.commits import Relabel
from recollect.domain.queries import Archived, EventQuery, Find, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.rows import Row
from recollect.domain.values import stored_value
from recollect.service import extraction
from recollect.service.guard import InForce, extracted, given_in
from recollect.sync import drive
from recollect.testing.doubles import ManualClock

NOTES = ("user", "alice", "notes")
REPOSITORY = Path(__file__).parents[2]
_BODY = """package memories.attributes

import rego.v1

attributes := {{"marker": "{letter}", "kind": input.value.kind, "sub": input.namespace[1]}}
"""
FAILING = """package memories.attributes

import rego.v1

attributes := {"marker": "c"} if input.value.n != 7

attributes := "none" if input.value.n == 7
"""


def marking(letter: str) -> dict[str, str]:
    """A policy that marks everything with a letter, and lifts the kind out of the value."""
    return {"memories/attributes.rego": _BODY.format(letter=letter)}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def memories(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[MemoriesSync]:
    with recollect.open_sync(":memory:" if request.param == "memory" else tmp_path / "home", clock=clock) as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_BATCH", 10)


def fill(memories: MemoriesSync, count: int) -> None:
    for n in range(count):
        memories.put(NOTES, f"k{n:03}", {"n": n, "kind": f"kind{n % 3}"})


def found(memories: MemoriesSync, **wanted: Any) -> int:
    count, cursor = 0, None
    while True:
        page = memories.search(NOTES, filter=wanted, limit=1_000, cursor=cursor, order="key")
        count, cursor = count + len(page.items), page.cursor
        if cursor is None:
            return count


def rows(memories: MemoriesSync) -> list[Row]:
    """Every live row, archived ones too, as the store has them."""
    inner, all_rows, cursor = memories._memories, list[Row](), None
    while True:
        query = Find(Plane.ITEM, ROOT, order=Order.KEY, limit=500, cursor=cursor, archived=Archived.INCLUDE)
        page = drive(inner._store.find(inner._tenant, query))
        all_rows, cursor = all_rows + page.rows, page.cursor
        if cursor is None:
            return all_rows


def stale(memories: MemoriesSync) -> list[str]:
    """The keys whose attributes are not what the policy in force extracts from them now."""
    workings = memories._memories.workings
    policy = drive(workings.policies.in_force(memories._memories._tenant)).policy
    wrong = []
    for row in rows(memories):
        sealed = None if row.attributes is None else stored_value(row.attributes)
        place, key, value = row.address.namespace.segments, row.address.key, stored_value(row.value or b"{}")
        fresh = drive(extracted(policy, place, key, value, sealed, given_in(row.policy_attributes)))
        if encode_attributes(fresh) != row.policy_attributes:
            wrong.append(key)
    return wrong


def go_on(memories: MemoriesSync, batches: int | None = None) -> int:
    """What the background does: a round, or so many batches of one."""
    left = [batches]

    async def after_batch(_: int) -> bool:
        if left[0] is not None:
            left[0] -= 1
        return left[0] is None or left[0] > 0

    return drive(memories._memories.workings.extractor.round(memories._memories._tenant, after_batch))


def seen(memories: MemoriesSync) -> list[Any]:
    """All that callers see of the memories but for filters."""
    items = memories.search(NOTES, limit=1_000, order="key", archived="include").items
    events = memories.events(limit=1_000).events
    return [
        [(item.id, item.key, item.value, item.revision, item.created_at, item.updated_at) for item in items],
        [(event.kind, event.key, event.sequence, event.revision) for event in events],
        [[(past.id, past.revision, past.value) for past in memories.history(NOTES, item.key)] for item in items],
    ]


def test_items_are_found_by_the_new_attributes_and_no_longer_by_the_old(memories: MemoriesSync) -> None:
    fill(memories, 35)
    memories.push_policy(marking("a"))
    assert (found(memories, marker="a"), found(memories, namespace="user")) == (0, 35)
    assert go_on(memories) == 35
    assert (found(memories, marker="a"), found(memories, namespace="user"), found(memories, kind="kind1")) == (
        35,
        0,
        12,
    )
    memories.push_policy(marking("b"))
    assert go_on(memories) == 35
    assert (found(memories, marker="a"), found(memories, marker="b")) == (0, 35)
    memories.rollback_policy(0)
    assert go_on(memories) == 35
    assert (found(memories, marker="b"), found(memories, namespace="user")) == (0, 35)
    assert stale(memories) == []
    assert memories.verify().sound


def test_nothing_else_of_an_item_changes(memories: MemoriesSync, clock: ManualClock) -> None:
    fill(memories, 12)
    clock.advance(5)
    fill(memories, 6)
    moment = memories.search(NOTES, limit=1).items[0].updated_at
    clock.advance(5)
    before, then = seen(memories), _as_of(memories, moment)
    memories.push_policy(marking("a"))
    clock.advance(5)
    assert go_on(memories) == 12
    assert seen(memories) == before
    assert _as_of(memories, moment) == then
    assert found(memories, marker="a") == 12


def _as_of(memories: MemoriesSync, moment: datetime) -> list[Any]:
    items = [memories.get(NOTES, f"k{n:03}", as_of=moment) for n in range(12)]
    return [None if item is None else (item.id, item.value, item.revision) for item in items]


def test_a_pass_tells_how_far_it_is(memories: MemoriesSync, clock: ManualClock) -> None:
    status = memories.index_status().extraction
    assert (status.running, status.done, status.total, status.finished_at) == (False, 0, 0, None)
    fill(memories, 25)
    memories.push_policy(marking("a"))
    status = memories.index_status().extraction
    assert (status.running, status.done, status.total) == (True, 0, 25)
    clock.advance(1)
    for done in (10, 20):
        go_on(memories, 1)
        status = memories.index_status().extraction
        assert (status.running, status.done, status.total, status.changed, status.failed) == (True, done, 25, done, 0)
        assert status.finished_at is None
    clock.advance(1)
    go_on(memories)
    status = memories.index_status().extraction
    assert (status.running, status.done, status.total, status.changed, status.failed) == (False, 25, 25, 25, 0)
    assert status.started_at is not None
    assert status.finished_at is not None
    assert status.finished_at > status.started_at
    assert go_on(memories) == 0, "there is nothing left to do"


def test_a_trigger_brings_everything_up_to_date(memories: MemoriesSync) -> None:
    fill(memories, 15)
    memories.push_policy(marking("a"))
    status = memories.trigger_index().extraction
    assert (status.running, status.done, status.changed) == (False, 15, 15)
    assert stale(memories) == []


def test_a_policy_that_extracts_the_same_changes_no_item(memories: MemoriesSync) -> None:
    fill(memories, 15)
    memories.push_policy(marking("a"))
    go_on(memories)
    assert relabelled(memories) == 15
    authz = "package memories.authz\n\nimport rego.v1\n\ndefault allow := false\n"
    memories.push_policy({**marking("a"), "authz.rego": authz})
    go_on(memories)
    memories.rollback_policy(1)
    go_on(memories)
    assert (relabelled(memories), stale(memories)) == (15, [])


def relabelled(memories: MemoriesSync) -> int:
    """How often an item got other attributes, by the log."""
    inner = memories._memories
    query = EventQuery(kinds=frozenset({EventKind.RELABELLED}), limit=1_000)
    return len(drive(inner._store.events(inner._tenant, query)).entries)


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_pass_that_stopped_goes_on_in_another_process(tmp_path: Path, batches: int) -> None:
    with recollect.open_sync(tmp_path) as memories:
        fill(memories, 35)
        memories.push_policy(marking("a"))
        go_on(memories, batches)
        assert found(memories, marker="a") == 10 * batches
    program = (
        "import sys, recollect\nwith recollect.open_sync(sys.argv[1]) as m: print(m.trigger_index().extraction.done)"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=REPOSITORY)
    assert told.stdout.strip() == "35"
    with recollect.open_sync(tmp_path) as memories:
        status = memories.index_status().extraction
        assert (status.running, status.done, status.changed) == (False, 35, 35)
        assert stale(memories) == []
        assert memories.verify().sound


def test_another_policy_during_a_pass_begins_it_again(memories: MemoriesSync) -> None:
    fill(memories, 35)
    memories.push_policy(marking("a"))
    go_on(memories, 2)
    memories.push_policy(marking("b"))
    status = memories.index_status().extraction
    assert status.running
    go_on(memories)
    status = memories.index_status().extraction
    assert (status.running, status.done, status.total) == (False, 35, 35)
    assert found(memories, marker="b") == 35
    assert stale(memories) == []


def test_what_was_written_between_two_changes_is_not_forgotten(memories: MemoriesSync) -> None:
    """There and back again before the background came to it: what was written there must still be brought back."""
    memories.push_policy(marking("a"))
    memories.put(NOTES, "there", {"n": 0, "kind": "x"})
    memories.rollback_policy(0)
    go_on(memories)
    assert stale(memories) == []
    memories.push_policy(marking("a"))
    go_on(memories)
    memories.push_policy(marking("b"))
    memories.put(NOTES, "again", {"n": 0, "kind": "x"})
    memories.rollback_policy(2)
    go_on(memories)
    assert stale(memories) == []


def test_a_policy_of_the_service_reaches_every_tenant_that_goes_by_it(memories: MemoriesSync) -> None:
    other, own = memories.for_tenant("other"), memories.for_tenant("own")
    for each in (memories, other, own):
        fill(each, 12)
    own.push_policy(marking("o"))
    memories.push_policy(marking("s"), service=True)
    for each, letter in ((memories, "s"), (other, "s"), (own, "o")):
        go_on(each)
        assert (found(each, marker=letter), stale(each)) == (12, [])


def test_given_attributes_outlive_the_policy(memories: MemoriesSync) -> None:
    memories.put(NOTES, "k", {"n": 1, "kind": "x"}, policy_attributes={"team": "red", "marker": "given"})
    for letter in "ab":
        memories.push_policy(marking(letter))
        go_on(memories)
        assert (found(memories, team="red"), found(memories, marker=letter)) == (1, 1)
    memories.rollback_policy(0)
    go_on(memories)
    assert (found(memories, team="red"), found(memories, sub="alice")) == (1, 1)


def test_archived_items_are_brought_up_to_date_too(memories: MemoriesSync) -> None:
    fill(memories, 12)
    for n in range(6):
        memories.archive(NOTES, f"k{n:03}")
    memories.push_policy(marking("a"))
    assert go_on(memories) == 12
    assert len(memories.search(NOTES, filter={"marker": "a"}, archived="only").items) == 6
    memories.archive(NOTES, "k000", archived=False)
    assert (found(memories, marker="a"), stale(memories)) == (7, [])


def test_what_expired_or_was_erased_is_left_alone(memories: MemoriesSync, clock: ManualClock) -> None:
    fill(memories, 3)
    memories.put(NOTES, "short", {"n": 1, "kind": "x"}, ttl=10)
    memories.put(("user", "bob"), "gone", {"n": 1, "kind": "x"})
    memories.delete(NOTES, "k002")
    clock.advance(20)
    memories.erase("user:bob")
    memories.push_policy(marking("a"))
    assert go_on(memories) == 2
    status = memories.index_status().extraction
    assert (status.total, status.changed, status.failed) == (2, 2, 0)
    assert memories.get(NOTES, "short") is None
    assert memories.verify().sound


def test_an_item_that_the_policy_fails_on_is_counted_and_holds_up_nothing(memories: MemoriesSync) -> None:
    fill(memories, 35)
    memories.push_policy({"attributes.rego": FAILING})
    assert go_on(memories) == 35
    status = memories.index_status().extraction
    assert (status.running, status.done, status.changed, status.failed) == (False, 35, 34, 1)
    assert (found(memories, marker="c"), found(memories, namespace="user")) == (34, 1)
    assert memories.verify().sound


@sized(small=2, full=40)
def test_writers_during_a_pass_leave_nothing_stale(tmp_path: Path, count: int) -> None:
    with recollect.open_sync(tmp_path, settings=Settings(embedder="hashing")) as memories:
        fill(memories, 60)
        done, problems = threading.Event(), list[BaseException]()

        def write(number: int) -> None:
            alice, n = memories.for_caller(new_caller("default", "alice")), 0
            try:
                while not done.is_set():
                    n += 1
                    key = f"k{(n * 7 + number) % 80:03}"
                    if n % 11 == 0:
                        alice.delete(NOTES, key)
                    elif n % 13 == 0 and alice.get(NOTES, key):
                        alice.archive(NOTES, key)
                    else:
                        alice.put(NOTES, key, {"n": n, "kind": f"kind{n % 3}"})
            except BaseException as problem:  # noqa: BLE001 - told below
                problems.append(problem)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for writer in writers:
            writer.start()
        try:
            for place in range(count):
                memories.push_policy(marking("ab"[place % 2]))
                memories.trigger_index()
        finally:
            done.set()
            for writer in writers:
                writer.join()
        assert [problem for problem in problems if not isinstance(problem, recollect.errors.NotFound)] == []
        assert stale(memories) == []
        assert memories.verify().sound


def test_a_policy_that_changes_within_a_batch_begins_the_pass_again(
    memories: MemoriesSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memories, 30)
    memories.push_policy(marking("a"))
    honest, pushed = extraction._relabel, list[str]()

    async def interrupted(in_force: InForce, row: Row) -> Relabel | None:
        if not pushed and row.address.key == "k025":
            pushed.append("b")
            await memories._memories.push_policy(marking("b"))
        return await honest(in_force, row)

    monkeypatch.setattr(extraction, "_relabel", interrupted)
    go_on(memories)
    assert (pushed, found(memories, marker="b"), stale(memories)) == (["b"], 30, [])


@pytest.mark.parametrize("planted", [False, True], ids=["as it is", "with a bug"])
def test_a_write_within_a_batch_is_not_relabelled_by_what_it_replaced(
    memories: MemoriesSync, planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug gives the version that came meanwhile the attributes of the one before."""
    fill(memories, 12)
    memories.push_policy(marking("a"))
    honest = extraction._relabel

    async def interrupted(in_force: InForce, row: Row) -> Relabel | None:
        if row.address.key == "k005":
            await memories._memories.put(NOTES, "k005", {"n": 5, "kind": "another"})
        wish = await honest(in_force, row)
        return (
            wish
            if wish is None or not planted
            else replace(wish, revision=wish.revision + (wish.address.key == "k005"))
        )

    monkeypatch.setattr(extraction, "_relabel", interrupted)
    go_on(memories)
    assert stale(memories) == (["k005"] if planted else [])
    assert found(memories, kind="another") == (0 if planted else 1)
