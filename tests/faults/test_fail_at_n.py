"""Every operation on the files fails once, at every place where it can, and nothing is ever half done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import apsw
import pytest
from tests.faults.workload import (
    DATA,
    KEYS,
    TENANT,
    Dump,
    Opened,
    commit,
    dump,
    make_schema,
    memory_files,
    open_store,
    options,
    place,
    raw,
)

from recollect.backends.extraction import RulesExtractor
from recollect.backends.policy import BuiltinEngine
from recollect.backends.sqlite import commits
from recollect.backends.sqlite.connections import open_connection
from recollect.backends.sqlite.schema import MIGRATIONS, migrate
from recollect.backends.sqlite.writer import Group
from recollect.backends.summarizing import ExtractiveSummarizer
from recollect.domain.callers import local_caller
from recollect.domain.commits import Delete, Operation, Put, Relabel, idempotency
from recollect.domain.errors import OutcomeUnknown, RecollectError, StoreFull, StoreTrouble
from recollect.domain.planning import Plan
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.domain.retention import Pass, Retention
from recollect.service.memories import Memories
from recollect.service.rules import Rules
from recollect.service.workings import Workings
from recollect.sync import drive
from recollect.testing.doubles import ManualClock
from recollect.testing.faults.failing import BROKEN, BROKEN_ONCE, FULL, FailAt, Fault
from recollect.testing.faults.files import MemoryFiles
from recollect.testing.faults.power_loss import Image

MOST_POINTS = 2_000
FAULTS = pytest.mark.parametrize("fault", [BROKEN_ONCE, BROKEN, FULL], ids=lambda fault: fault.name)
SEALED = pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
LONG = Retention(superseded=0, deleted=0, tombstones=0, events=0, receipts=0)
MARKER = "a-plain-word"


@dataclass(frozen=True)
class Case:
    """A call to make on a prepared store, and what is expected of it."""

    prepare: Callable[[Opened], object]
    call: Callable[[Opened], object]
    sealed: bool = False
    repeatable: bool = True
    """Whether calling it again after it was done changes nothing."""
    tight: bool = False
    """Whether pages are spilled before the commit, and moved into the main file right after it."""
    exact: bool = True
    """Whether an error other than `OutcomeUnknown` means that nothing was done."""


@dataclass
class Report:
    """How many places failed, and what was wrong after any of them."""

    points: int = 0
    unknown: int = 0
    findings: list[str] = field(default_factory=list)


def opened_later(files: MemoryFiles, *, sealed: bool, tight: bool = False) -> Opened:
    """The store, at a moment after everything that prepared it."""
    clock = ManualClock()
    clock.advance(10_000)
    return open_store(files, sealed=sealed, tight=tight, clock=clock)


def memories(opened: Opened) -> Memories:
    assert opened.keyring is not None
    engine = BuiltinEngine()
    workings = Workings.over(
        opened.store,
        opened.keyring,
        clock=opened.clock,
        ids=opened.ids,
        engine=engine,
        finder=RulesExtractor(),
        summarizer=ExtractiveSummarizer(),
        rules=Rules(),
    )
    return Memories(workings, local_caller("default"))


def settled_state(files: MemoryFiles, image: Image, case: Case, then: Callable[[Opened], object] | None = None) -> Dump:
    """What a new process finds: opened, interrupted erasures carried through, sound, every value readable."""
    files.contents = {path: bytearray(data) for path, data in image.items()}
    opened = opened_later(files, sealed=case.sealed)
    try:
        if case.sealed:
            drive(memories(opened).finish_erasures())
        if then is not None:
            then(opened)
        verification = drive(opened.store.verify(TENANT))
        assert verification.sound, verification.problems
        live = drive(opened.store.find(TENANT, Find(Plane.ITEM, limit=1000))).rows
        assert all(row.value is not None for row in live), "a value can no longer be opened"
    finally:
        opened.close()
    with raw(files, DATA) as connection:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        return dump(connection, sealed=case.sealed)


def explored(case: Case, fault: Fault) -> Report:
    """Make the call fail at its first operation, its second, and so on until it no longer fails."""
    report = Report()
    with memory_files() as files:
        opened = open_store(files, sealed=case.sealed)
        case.prepare(opened)
        opened.close()
        base = files.copy()
        before = settled_state(files, base, case)
        after = settled_state(files, base, case, case.call)
        assert before != after, "a call that changes nothing proves nothing"
        for nth in range(1, MOST_POINTS):
            failing = FailAt(files, fault, nth)
            flaw, error = _attempt(files, case, failing, base, before, after)
            report.unknown += isinstance(error, OutcomeUnknown)
            if flaw:
                report.findings.append(f"{fault.name}, at {nth} ({failing.hit}), {error!r}: {flaw}")
            if failing.hit is None:
                report.points = nth - 1
                return report
    raise AssertionError("there is no end to the operations")


def _attempt(
    files: MemoryFiles, case: Case, failing: FailAt, base: Image, before: Dump, after: Dump
) -> tuple[str, Exception | None]:
    """One failing call: what is wrong with what it left, if anything, and the error that it raised."""
    files.contents = {path: bytearray(data) for path, data in base.items()}
    opened = opened_later(files, sealed=case.sealed, tight=case.tight)
    error: Exception | None = None
    files.watch = failing
    try:
        case.call(opened)
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is looked at below
        error = problem
    files.watch = None
    left = files.copy()
    try:
        return _flaw_in_error(failing, error) or _flaw(files, case, opened, left, before, after, error), error
    except (AssertionError, RecollectError, apsw.Error) as problem:
        return repr(problem), error
    finally:
        opened.close()


def _flaw_in_error(failing: FailAt, error: Exception | None) -> str:
    """Errors are ours, and a full disk is called that."""
    if error is None:
        return ""
    if not isinstance(error, StoreTrouble):
        return "an error that is none of ours"
    if failing.fault is FULL and not isinstance(error, StoreFull | OutcomeUnknown):
        return "a full disk was called something else"
    return ""


def _flaw(
    files: MemoryFiles, case: Case, opened: Opened, left: Image, before: Dump, after: Dump, error: Exception | None
) -> str:
    # The same object first, since its files are still the ones in place.
    commit(opened, Put(place(9, 9), b"{}"))
    if case.repeatable:
        case.call(opened)
    opened.close()
    went_on = settled_state(files, files.copy(), case)
    told = [row[:7] for row in went_on["events"] if "u9" not in row[_NAMESPACE[case.sealed]]]
    if case.repeatable and len(told) != len(after["events"]):
        return f"the same store, after going on, tells {len(told)} events instead of {len(after['events'])}"

    found = settled_state(files, left, case)
    if found != after and (error is None or found != before):
        return "reopened, it is neither as before nor as after" if error else "what was acknowledged is not there"
    if found != before and case.exact and error is not None and not isinstance(error, OutcomeUnknown):
        return "the error says that nothing happened, but it did"
    if case.repeatable and settled_state(files, left, case, case.call) != after:
        return "repeated after reopening, it was not done exactly once"
    return ""


_NAMESPACE = {False: 4, True: 3}
"""Where a dumped event has its namespace."""


# -- a write


def _prepare_write(opened: Opened) -> None:
    for key in range(4):
        commit(opened, Put(place(1, key), b'{"text":"%s"}' % (b"x" * 900)))
    commit(opened, Put(place(1, 0), b'{"text":"second"}'))
    commit(opened, Relabel(place(1, 2), 1, '{"label":1}'))


_BATCH: tuple[Operation, ...] = (
    Put(place(1, 0), b'{"text":"third"}'),
    Delete(place(1, 1)),
    Relabel(place(1, 2), 1, '{"label":2}'),
    Relabel(place(1, 3), 1, '{"label":2}'),
    Put(place(3, 7), b'{"text":"%s"}' % (b"y" * 6_000), attributes=b'{"n":1}', archived=True),
)


def _batch(opened: Opened) -> None:
    commit(opened, *_BATCH, idempotency=idempotency("once", "", _BATCH))


@FAULTS
@SEALED
@pytest.mark.parametrize("tight", [False, True], ids=["roomy", "tight"])
def test_a_write_that_fails_anywhere_is_there_wholly_or_not_at_all_and_once_when_repeated(
    fault: Fault, sealed: bool, tight: bool
) -> None:
    report = explored(Case(_prepare_write, _batch, sealed, tight=tight), fault)
    print(f"write, {sealed=} {tight=}, {fault.name}: {report.points} points, {report.unknown} unknown")
    assert report.findings == []
    assert report.points >= 10


def test_the_harness_finds_a_store_that_writes_versions_and_events_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = commits.write_plan

    def apart(group: Group, tenant: str, plan: Plan) -> None:
        whole(group, tenant, Plan(plan.head, endings=plan.endings, versions=plan.versions, labels=plan.labels))
        group.db.execute("COMMIT")
        group.db.execute("BEGIN IMMEDIATE")
        whole(group, tenant, Plan(plan.head, events=plan.events))

    monkeypatch.setattr(commits, "write_plan", apart)
    assert explored(Case(_prepare_write, _batch), BROKEN).findings


# -- an erasure


def _prepare_erasure(opened: Opened) -> None:
    for key in range(3):
        commit(opened, Put(place(1, key), b'{"text":"mine"}', policy_attributes=f'{{"w":"{MARKER}"}}'))
        commit(opened, Put(place(2, key), b'{"text":"other"}'))
        commit(opened, Relabel(place(1, key), 1, f'{{"w":"{MARKER}, again"}}'))
    commit(opened, Put(place(1, 0), b'{"text":"second"}'))


def _erase(opened: Opened) -> None:
    drive(memories(opened).erase("user:u1"))


@FAULTS
def test_an_erasure_that_fails_anywhere_is_carried_through_or_never_began(fault: Fault) -> None:
    report = explored(Case(_prepare_erasure, _erase, sealed=True, repeatable=False, exact=False), fault)
    print(f"erase, {fault.name}: {report.points} points, {report.unknown} unknown")
    assert report.findings == []
    assert report.points >= 10


@FAULTS
@pytest.mark.parametrize("what", ["the key", "what was plain"])
def test_an_acknowledged_erasure_leaves_nothing_of_its_subject_in_any_file_whatever_failed(
    fault: Fault, what: str
) -> None:
    with memory_files() as files:
        opened = open_store(files, sealed=True)
        _prepare_erasure(opened)
        opened.close()
        base = files.copy()
        with raw(files, KEYS) as connection:
            wrapped = connection.execute("SELECT wrapped FROM keys WHERE subject = 'user:u1'").get
        trace = wrapped if what == "the key" else MARKER.encode()
        assert any(trace in data for data in base.values())
        acknowledged = 0
        for nth in range(1, MOST_POINTS):
            files.contents = {path: bytearray(data) for path, data in base.items()}
            opened = opened_later(files, sealed=True)
            failing = files.watch = FailAt(files, fault, nth)
            try:
                _erase(opened)
            except RecollectError:
                pass
            else:
                acknowledged += 1
                assert not any(trace in data for data in files.contents.values()), failing.hit
            files.watch = None
            opened.close()
            if failing.hit is None:
                break
        assert acknowledged > 0


# -- a sweep


def _prepare_sweep(until: Pass) -> Callable[[Opened], None]:
    def prepare(opened: Opened) -> None:
        for key in range(3):
            commit(opened, Put(place(1, key), b'{"n":1}', ttl=1_000_000))
            commit(opened, Put(place(2, key), b'{"n":1}'))
            commit(opened, Relabel(place(2, key), 1, '{"label":1}'))
            commit(opened, Put(place(2, key), b'{"n":2}'))
            commit(opened, Put(place(3, key), b'{"n":1}'))
            commit(opened, Delete(place(3, key)))
        commit(opened, *_BATCH, idempotency=idempotency("old", "", _BATCH))
        opened.clock.advance(5_000)
        for step in Pass:
            if step is until:
                return
            drive(opened.store.sweep(TENANT, step, LONG))

    return prepare


@FAULTS
@pytest.mark.parametrize("step", list(Pass))
def test_a_pass_of_a_sweep_that_fails_anywhere_is_done_wholly_or_not_at_all(step: Pass, fault: Fault) -> None:
    def sweep(opened: Opened) -> None:
        drive(opened.store.sweep(TENANT, step, LONG))

    report = explored(Case(_prepare_sweep(step), sweep, repeatable=False), fault)
    print(f"sweep {step}, {fault.name}: {report.points} points, {report.unknown} unknown")
    assert report.findings == []
    assert report.points >= 3


# -- opening and migrating


def _schema(files: MemoryFiles, path: str) -> tuple[object, ...]:
    with raw(files, path) as connection:
        tables = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
        version = connection.execute("PRAGMA user_version").get
        return (*tables, version, connection.execute("PRAGMA application_id").get)


def _journal_mode(files: MemoryFiles, path: str) -> object:
    with raw(files, path) as connection:
        return connection.execute("PRAGMA journal_mode").get


def _opening_points(files: MemoryFiles, fault: Fault, open_it: Callable[[], Callable[[], None]], base: Image) -> int:
    """Fail everywhere while opening; afterwards the schemas are as before or as after, and opening again works.

    `open_it` returns what closes it again.
    """

    def schemas() -> list[tuple[object, ...]]:
        kept = files.copy()
        found = [_schema(files, path) for path in (DATA, KEYS)]
        files.contents = kept
        return found

    def fresh() -> None:
        files.contents = {path: bytearray(data) for path, data in base.items()}

    fresh()
    before = schemas()
    open_it()()
    after = schemas()
    used = [path for path in files.contents if path in (DATA, KEYS)]
    for nth in range(1, MOST_POINTS):
        fresh()
        failing = files.watch = FailAt(files, fault, nth)
        error: Exception | None = None
        close: Callable[[], None] | None = None
        try:
            close = open_it()
        except StoreTrouble as problem:
            error = problem
        files.watch = None
        if close is not None:
            close()
        if failing.hit is None:
            return nth - 1
        found = schemas()
        if error is None:
            assert found == after, failing.hit
            assert {_journal_mode(files, path) for path in used} == {"wal"}, failing.hit
        assert not _flaw_in_error(failing, error), (failing.hit, error)
        for mine, old, new in zip(found, before, after, strict=True):
            assert mine in (old, new), failing.hit
        open_it()()
        assert schemas() == after, failing.hit
    raise AssertionError("there is no end to the operations")


@FAULTS
def test_opening_new_files_that_fails_anywhere_can_be_done_again(fault: Fault) -> None:
    with memory_files() as files:
        points = _opening_points(files, fault, lambda: open_store(files, sealed=True).close, {})
    print(f"open, {fault.name}: {points} points")
    assert points >= 40


_NEXT = """
CREATE TABLE notes (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
INSERT INTO notes (text) SELECT key FROM versions;
ALTER TABLE leases ADD COLUMN note TEXT;
CREATE INDEX notes_text ON notes (text);
"""


def _migrated(files: MemoryFiles) -> Callable[[], None]:
    try:
        connection = open_connection(options(files, DATA), writes=True)
        try:
            migrate(connection, (*MIGRATIONS, _NEXT))
        except BaseException:
            with suppress(apsw.Error):
                connection.close()
            raise
        return connection.close
    except apsw.FullError as problem:
        raise StoreFull(str(problem)) from problem
    except apsw.Error as problem:
        raise StoreTrouble(str(problem)) from problem


@FAULTS
@pytest.mark.parametrize("existing", [True, False], ids=["every later step", "every step"])
def test_a_migration_that_fails_anywhere_left_the_old_schema_or_the_new(fault: Fault, existing: bool) -> None:
    with memory_files() as files:
        base: Image = {}
        if existing:
            opened = open_store(files, sealed=False)
            _prepare_write(opened)
            opened.close()
            with raw(files, DATA) as connection:
                make_schema(connection, 1)
            base = files.copy()
        points = _opening_points(files, fault, lambda: _migrated(files), base)
    print(f"migrate, {'from the first' if existing else 'from nothing'}, {fault.name}: {points} points")
    assert points >= 5
