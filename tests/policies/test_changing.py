"""A policy that changes while others write: each request is decided by one state of it, and never by a past one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.policies.changing import (
    MOST_WRITERS,
    NOTES,
    Counters,
    Written,
    batches,
    bundle,
    counters,
    letter_of,
    markers,
    mistakes,
)
from tests.policies.changing import write_here as written_here
from tests.sizes import sized

import recollect
from recollect import MemoriesSync, Settings
from recollect.domain.callers import Caller, new_caller
from recollect.domain.errors import Forbidden, InvalidBundle, NotFound
from recollect.main import follow_policies
from recollect.service.audit import Audited
from recollect.service.guard import Guard, InForce, Ruling
from recollect.service.memories import Memories
from recollect.service.policies import Policies
from recollect.testing.servers import Server, running

CLIENTS = 16
ROOT = Path(__file__).parents[2]
QUIET = {"rate_per_second": 0, "failures_per_second": 0, "index_seconds": 86_400}
BROKEN = {
    "authz.rego": "package memories.authz\n\nimport rego.v1\n\nallow if {\n",
    "filter.rego": "package memories.filter\n\nnamespace_prefix := := 1\n",
}
OPEN = {"authz.rego": "package memories.authz\n\nimport rego.v1\n\nallow := true\n"}
NOSY = 'package memories.attributes\n\nimport rego.v1\n\nattributes := {"u": input.context.user_id}\n'


def changing(push: Callable[[int], object], shared: Counters, pushes: int, writers: Sequence[int]) -> None:
    """Put one policy after the other in force, and tell everybody when each begins and when each has returned.

    Every writer gets the time for a few batches in between.
    """
    for number in range(1, pushes + 1):
        _await_writers(shared, writers)
        shared.set(0, number)
        push(number)
        shared.set(1, number)
    _await_writers(shared, writers)
    shared.set(2, 1)


def _await_writers(shared: Counters, writers: Sequence[int]) -> None:
    wanted = {writer: shared.get(3 + writer) + 4 for writer in writers}
    deadline = time.monotonic() + 30
    while any(shared.get(3 + writer) < count for writer, count in wanted.items()) and not shared.get(2):
        assert time.monotonic() < deadline, "the writers write no more"
        time.sleep(0.005)


class Writers:
    """Threads that write until all is over."""

    def __init__(self, shared: Counters, *writes: Callable[[str, str], str]) -> None:
        self.log: list[Written] = []
        self.problems: list[BaseException] = []
        self._shared = shared
        self._threads = [
            threading.Thread(target=self._run, args=(write, shared, number)) for number, write in enumerate(writes)
        ]

    def _run(self, write: Callable[[str, str], str], shared: Counters, number: int) -> None:
        try:
            for each in batches(write, shared, number, f"{number}-"):
                self.log.append(each)
        except BaseException as problem:  # noqa: BLE001 - told by the one who waits
            self.problems.append(problem)
            shared.set(2, 1)

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shared.set(2, 1)
        for thread in self._threads:
            thread.join()
        assert self.problems == []


def check_mixed(log: list[Written]) -> None:
    """Fail unless both policies allowed and denied something, so that there was something to get wrong."""
    assert {each.letter for each in log if each.outcome == ""} == {"a", "b", "x"}
    assert {each.outcome for each in log} == {"", "not in a", "not in b"}


# -- over HTTP


def over_http(server: Server, token: str) -> Callable[[str, str], str]:
    def write(letter: str, number: str) -> str:
        steps = [
            {"op": "put", "namespace": list(NOTES), "key": key, "value": {"text": number}}
            for key in (f"x-{number}", f"{letter}-{number}-too")
        ]
        status, said, _ = server.request("POST", "/v1/memories/batch", {"operations": steps}, token=token)
        if status == 200:
            return ""
        return (
            str(said.get("reason") or said.get("details", {}).get("reason") or said)
            if status == 403
            else f"{status} {said}"
        )

    return write


@sized(small=4, full=60)
def test_clients_over_http_meet_the_old_policy_or_the_new_one(tmp_path: Path, count: int) -> None:
    with running(tmp_path / "home", **QUIET) as server, counters(tmp_path / "shared") as shared:
        token = server.key_for("alice")

        def push(number: int) -> None:
            status, said, _ = server.request(
                "PUT", "/admin/v1/memories/policies", {"modules": bundle(letter_of(number))}
            )
            assert status == 200, said

        push(0)
        with Writers(shared, *[over_http(server, token)] * CLIENTS) as writers:
            changing(push, shared, count, range(CLIENTS))
        wrong = mistakes(writers.log, None)
        print(f"over HTTP: {count} pushes, {CLIENTS} clients, {len(writers.log):,} batches, {len(wrong)} mistakes")
        assert wrong == []
        check_mixed(writers.log)
        assert server.request("POST", "/admin/v1/verify")[1]["sound"] is True
    with recollect.open_sync(tmp_path / "home") as memories:
        entries = memories.list_audit(action=Audited.POLICY_PUSHED, limit=1_000).entries
        assert len(entries) == count + 1
        memories.trigger_index()
        assert set(markers(memories).values()) == {letter_of(count)}, (
            "what was written by an older policy is brought up to date"
        )


# -- in two processes


def other_process(home: Path, what: str, shared: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.policies.changing", str(home), what, str(shared)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@sized(small=6, full=200)
def test_two_processes_meet_the_old_policy_or_the_new_one(tmp_path: Path, count: int) -> None:
    home = tmp_path / "home"
    with recollect.open_sync(home) as memories, counters(tmp_path / "shared") as shared:
        memories.push_policy(bundle(letter_of(0)))
        process = other_process(home, "other", tmp_path / "shared")
        try:
            with Writers(shared, written_here(memories)) as writers:
                changing(
                    lambda number: memories.push_policy(bundle(letter_of(number))), shared, count, (0, MOST_WRITERS - 1)
                )
            told = process.communicate(timeout=120)[0]
        finally:
            process.kill()
        assert process.returncode == 0
        theirs = [Written(*json.loads(line)) for line in told.splitlines()]
        marked = markers(memories.for_tenant("default"))
        log = [*writers.log, *theirs]
        wrong = mistakes(log, _all_marked(memories))
        print(f"in two processes: {count} pushes, {len(log):,} batches, {len(wrong)} mistakes")
        assert wrong == []
        assert len(marked) > 0
        check_mixed(writers.log)
        check_mixed(theirs)
        assert memories.verify().sound


def _all_marked(memories: MemoriesSync) -> dict[str, str]:
    """What the store says of every key, whatever policy is in force now."""
    memories.rollback_policy(0)
    return markers(memories)


def test_a_policy_that_is_remembered_too_long_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the policy is looked up now and then, and what it decided is written without looking again."""
    honest, kept = Policies.in_force, dict[str, tuple[float, InForce]]()

    async def forgetful(self: Policies, tenant: str) -> InForce:
        at, known = kept.get(tenant, (0.0, None))
        if known is None or time.monotonic() - at > 0.3:
            known = InForce((await honest(self, tenant)).policy)
            kept[tenant] = (time.monotonic(), known)
        return known

    with recollect.open_sync(tmp_path / "home") as memories, counters(tmp_path / "shared") as shared:
        memories.push_policy(bundle(letter_of(0)))
        monkeypatch.setattr(Policies, "in_force", forgetful)
        with Writers(shared, written_here(memories)) as writers:
            changing(lambda number: memories.push_policy(bundle(letter_of(number))), shared, 3, (0,))
        monkeypatch.undo()
        assert mistakes(writers.log, None)
        assert mistakes(writers.log, _all_marked(memories))


def test_a_policy_that_changes_within_a_batch_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: every step of a batch is decided by the policy of its own moment."""
    honest, begin, pause = Memories._operation, Guard.begin, partial(time.sleep, 0.002)

    async def fickle(self: Memories, _: Any, operation: Any) -> Any:
        pause()
        return await honest(self, await self._guard.begin(self._caller), operation)

    async def careless(self: Guard, caller: Caller) -> Ruling:
        ruling = await begin(self, caller)
        ruling.conditions = ()
        return ruling

    with recollect.open_sync(tmp_path / "home") as memories, counters(tmp_path / "shared") as shared:
        memories.push_policy(bundle(letter_of(0)))
        monkeypatch.setattr(Memories, "_operation", fickle)
        monkeypatch.setattr(Guard, "begin", careless)
        with Writers(shared, *[written_here(memories)] * 4) as writers:
            changing(lambda number: memories.push_policy(bundle(letter_of(number))), shared, 20, range(4))
        monkeypatch.undo()
        assert mistakes(writers.log, _all_marked(memories))


# -- versions


@pytest.fixture(params=["memory", "sqlite"])
def memories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoriesSync]:
    with recollect.open_sync(":memory:" if request.param == "memory" else tmp_path / "data") as opened:
        yield opened


def marked(letter: str) -> dict[str, str]:
    """A policy that only marks; the built-in ones stand in for the rest."""
    return {"attributes.rego": bundle(letter)["attributes.rego"]}


def mark(memories: MemoriesSync) -> str:
    """What the policy in force marks a write with; nothing, if it is the built-in one."""
    alice = memories.for_caller(new_caller("default", "alice"))
    alice.put(NOTES, "k", {"text": "x"})
    return next(
        (letter for letter in "abcdefghijklmnopqrstuvwxyz" if alice.search(NOTES, filter={"marker": letter}).items), ""
    )


def test_the_last_ten_versions_can_be_gone_back_to(memories: MemoriesSync) -> None:
    letters = "abcdefghijklm"
    for place, letter in enumerate(letters, 1):
        shown = memories.push_policy(marked(letter), note=f"the {letter}")
        assert (shown.version.number, shown.version.note, shown.modules) == (place, f"the {letter}", marked(letter))
        assert mark(memories) == letter
    kept = [version.number for version in memories.show_policy().versions]
    assert kept == list(range(13, 3, -1))
    for number in kept:
        assert memories.rollback_policy(number).version.number == number
        assert mark(memories) == letters[number - 1]
    for gone in (1, 2, 3, 14, 99):
        with pytest.raises(NotFound):
            memories.rollback_policy(gone)
    assert mark(memories) == "d"
    assert memories.rollback_policy(0).version.number == 0
    assert mark(memories) == ""
    assert memories.push_policy(marked("z")).version.number == 14
    assert memories.rollback_policy().version.number == 13
    assert mark(memories) == "m"


def test_every_activation_is_one_entry_in_the_audit(memories: MemoriesSync) -> None:
    for letter in "abc":
        memories.push_policy(marked(letter))
    memories.rollback_policy(1)
    memories.rollback_policy()
    memories.rollback_policy(3)
    entries = memories.list_audit().entries
    told = [(entry.action, entry.details["from"], entry.details["to"]) for entry in reversed(entries)]
    pushed, back = Audited.POLICY_PUSHED, Audited.POLICY_ROLLED_BACK
    assert told == [(pushed, 0, 1), (pushed, 1, 2), (pushed, 2, 3), (back, 3, 1), (back, 1, 0), (back, 0, 3)]
    assert memories.verify().sound


@pytest.mark.parametrize(
    "modules",
    [
        BROKEN,
        OPEN,
        {**marked("b"), "attributes_test.rego": "package t\n\nimport rego.v1\n\ntest_it if 1 == 2\n"},
        {"attributes.rego": NOSY},
        {},
        {"../x.rego": "package x\n"},
    ],
    ids=[
        "does not compile",
        "opens everything",
        "fails its own test",
        "asks for the caller",
        "is empty",
        "is misnamed",
    ],
)
def test_a_bundle_that_is_refused_changes_nothing(memories: MemoriesSync, modules: dict[str, str]) -> None:
    memories.push_policy(marked("a"))
    before, entries = memories.show_policy(), memories.list_audit().entries
    with pytest.raises(InvalidBundle):
        memories.push_policy(modules)
    assert memories.show_policy() == before
    assert memories.list_audit().entries == entries
    assert mark(memories) == "a"


def test_a_refusal_tells_of_every_problem_at_once(memories: MemoriesSync) -> None:
    with pytest.raises(InvalidBundle) as refused:
        memories.push_policy(BROKEN)
    assert {problem["module"] for problem in _problems(refused.value)} == set(BROKEN)


def _problems(refused: InvalidBundle) -> list[Any]:
    found = refused.details["problems"]
    assert isinstance(found, list)
    return found


def test_one_tenant_changes_and_the_others_do_not(memories: MemoriesSync) -> None:
    memories.push_policy(marked("s"), service=True)
    other = memories.for_tenant("other")
    other.push_policy(marked("o"))
    assert (mark(memories), _mark_in(other)) == ("s", "o")
    memories.push_policy(marked("t"), service=True)
    assert (mark(memories), _mark_in(other)) == ("t", "o")
    other.rollback_policy(0)
    assert _mark_in(other) == "t"


def _mark_in(memories: MemoriesSync) -> str:
    memories.put(NOTES, "k", {"text": "x"})
    return next(letter for letter in "ost" if memories.search(NOTES, filter={"marker": letter}).items)


# -- a process that dies while it changes the policy


@sized(small=5, full=200)
def test_a_process_that_is_killed_leaves_the_old_policy_or_the_new_one(tmp_path: Path, count: int) -> None:
    home, chance = tmp_path / "home", random.Random(count)
    recollect.open_sync(home).close()
    done = 0
    for _ in range(count):
        process = other_process(home, "push", tmp_path / "shared")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.random() * 0.3)
        process.kill()
        told = process.communicate()[0].split("\n")[:-1]
        with recollect.open_sync(home) as memories:
            shown = memories.show_policy()
            acknowledged = done + 1 + len(told)
            assert shown.version.number in (acknowledged, acknowledged + 1)
            done = shown.version.number
            assert shown.version == shown.versions[0]
            letter = letter_of(int(shown.version.note))
            assert shown.modules == bundle(letter)
            assert written_here(memories)("x", str(done)) == ""
            assert written_here(memories)("ab".replace(letter, ""), "no") == f"not in {letter}"
            assert markers(memories)[f"x-{done}"] == letter
            entries = memories.list_audit(limit=1_000).entries
            assert done > 1_000 or len(entries) == done
            assert memories.verify().sound


# -- a directory


def write(folder: Path, modules: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rego"):
        path.unlink()
    for name, text in modules.items():
        (folder / name).write_text(text)
    return folder


def test_a_directory_is_followed_at_the_start_and_when_it_changed(tmp_path: Path) -> None:
    folder = write(tmp_path / "policies", marked("a"))
    settings = Settings(policy_dir=str(folder))
    with recollect.open_sync(tmp_path / "home", settings=settings) as memories:
        assert mark(memories) == "a"
        shown = memories.show_policy(service=True)
        assert (shown.version.number, shown.version.source) == (1, "directory")
    with recollect.open_sync(tmp_path / "home", settings=settings) as memories:
        assert memories.show_policy(service=True).version.number == 1, "nothing changed"
    write(folder, marked("b"))
    with recollect.open_sync(tmp_path / "home", settings=settings) as memories:
        assert mark(memories) == "b"
        assert len(memories.list_audit(service=True).entries) == 2


async def test_a_directory_that_is_unsound_changes_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "policies", marked("a"))
    async with recollect.open(":memory:", settings=Settings(policy_dir=str(folder))) as memories:
        alice = memories.for_caller(new_caller("default", "alice"))
        before = await memories.show_policy(service=True)
        for modules in (BROKEN, OPEN, {}):
            write(folder, modules)
            with pytest.raises(InvalidBundle):
                await follow_policies(memories.workings, folder)
            assert await memories.show_policy(service=True) == before
        write(folder, marked("a"))
        assert await follow_policies(memories.workings, folder) is False
        write(folder, marked("b"))
        assert await follow_policies(memories.workings, folder) is True
        await alice.put(NOTES, "k", {"text": "x"})
        assert (await alice.search(NOTES, filter={"marker": "b"})).items


async def test_what_was_put_in_force_by_hand_stays_until_the_directory_changes(tmp_path: Path) -> None:
    folder = write(tmp_path / "policies", marked("a"))
    async with recollect.open(":memory:", settings=Settings(policy_dir=str(folder))) as memories:
        await memories.push_policy(marked("h"), service=True)
        assert await follow_policies(memories.workings, folder) is False
        assert (await memories.show_policy(service=True)).modules == marked("h")
        write(folder, marked("b"))
        assert await follow_policies(memories.workings, folder) is True
        assert (await memories.show_policy(service=True)).modules == marked("b")


def test_an_unsound_directory_is_refused_at_the_first_start_with_every_problem(tmp_path: Path) -> None:
    folder = write(tmp_path / "policies", BROKEN)
    with pytest.raises(InvalidBundle) as refused:
        recollect.open_sync(tmp_path / "home", settings=Settings(policy_dir=str(folder)))
    assert {problem["module"] for problem in _problems(refused.value)} == set(BROKEN)
    with pytest.raises(RuntimeError, match="did not start"):
        Server(tmp_path / "served", policy_dir=folder).start()
    with pytest.raises(InvalidBundle, match="there is no policy in"):
        recollect.open_sync(tmp_path / "home", settings=Settings(policy_dir=str(tmp_path / "nowhere")))


def test_the_service_follows_its_directory_and_keeps_the_last_good_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "policies", bundle("a"))
    with running(tmp_path / "home", policy_dir=folder, **QUIET) as server:
        send = over_http(server, server.key_for("alice"))
        assert send("a", "1") == ""
        write(folder, BROKEN)
        _await(lambda: "policy.refused" in server.log())
        assert (send("a", "2"), send("b", "2")) == ("", "not in a")
        write(folder, bundle("b"))
        _await(lambda: send("b", "3") == "")
        assert send("a", "4") == "not in b"


def _await(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_a_caller_who_may_not_change_the_policy_does_not(memories: MemoriesSync) -> None:
    alice = memories.for_caller(new_caller("default", "alice"))
    for call in (
        lambda: alice.push_policy(marked("a")),
        lambda: alice.rollback_policy(0),
        lambda: alice.check_policy(marked("a")),
    ):
        with pytest.raises(Forbidden):
            call()
    admin = memories.for_caller(new_caller("default", "root", roles=["admin"]))
    with pytest.raises(Forbidden):
        admin.push_policy(marked("a"), service=True)
    assert memories.show_policy().version.number == 0
