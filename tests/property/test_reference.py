"""One random program, run on the in-memory reference and on a subject, must get equal answers, errors included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.engines.postgres import needs_postgres
from tests.property import planted, programs
from tests.sizes import sized

from recollect.backends.keyring import Envelope, Plain
from recollect.backends.memory import MemoryStore
from recollect.backends.postgres import PostgresKeyStore, PostgresOptions, PostgresStore
from recollect.backends.sqlite import SqliteKeyStore, SqliteOptions, SqliteStore
from recollect.domain.address import Address, namespace
from recollect.domain.commits import Commit, Condition, Expect, Operation, Receipt, Relabel, idempotency
from recollect.domain.errors import RecollectError
from recollect.domain.events import Event, Head
from recollect.domain.instants import Instant
from recollect.domain.planning import Erasure
from recollect.domain.queries import Archived, EventQuery, Find, NamespaceQuery, Order
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.rows import is_expired
from recollect.ports.clock import Clock
from recollect.ports.keys import KeyStore, Sealer
from recollect.ports.store import Lease, Mark, Store
from recollect.sync import drive
from recollect.testing.doubles import ManualClock, SerialIds
from recollect.testing.drivers import OneMasterKey, fresh_folders
from recollect.testing.engines import postgres_url
from recollect.testing.postgres import drop_schema, fresh_schema

HASHES = {"digest", "previous", "hash", "trimmed_hash"}
"""What differs when one of the two seals its values: sealing draws on chance."""
MOST_BATCHES = 500
PAGE = 1_000


def comparable(value: Any, *, hashes: bool) -> Any:
    """The value as plain structures; without what rests on sealed bytes, unless hashes are to be equal too."""
    if isinstance(value, msgspec.Struct):
        names: tuple[str, ...] = value.__struct_fields__
    elif is_dataclass(value):
        names = tuple(field.name for field in fields(value))
    elif isinstance(value, list | tuple):
        return [comparable(each, hashes=hashes) for each in value]
    elif isinstance(value, RecollectError):
        return type(value).__name__, value.code, value.details
    else:
        return value
    kept = {name: getattr(value, name) for name in names if hashes or name not in HASHES}
    return type(value).__name__, {name: comparable(each, hashes=hashes) for name, each in kept.items()}


class Subject(Protocol):
    """What is compared with the reference: a store and its keys, on fresh data."""

    def keys(self) -> KeyStore: ...

    def store(self, clock: Clock, sealer: Sealer) -> Store: ...

    def forget(self) -> None: ...


class InSqlite:
    """A file in a directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keys(self) -> KeyStore:
        return SqliteKeyStore(SqliteOptions(self._folder / "keys.db", synchronous="OFF"))

    def store(self, clock: Clock, sealer: Sealer) -> Store:
        options = SqliteOptions(self._folder / "data.db", synchronous="OFF")
        return SqliteStore(options, clock=clock, ids=SerialIds(), sealer=sealer, direct=True)

    def forget(self) -> None:
        pass


class InPostgres:
    """A schema on the server for tests."""

    def __init__(self) -> None:
        self._url, self._schema = postgres_url(), fresh_schema()

    def keys(self) -> KeyStore:
        return PostgresKeyStore(PostgresOptions(self._url, f"{self._schema}_keys"))

    def store(self, clock: Clock, sealer: Sealer) -> Store:
        options = PostgresOptions(self._url, self._schema)
        return PostgresStore(options, clock=clock, ids=SerialIds(), sealer=sealer, direct=True, leases=clock)

    def forget(self) -> None:
        drop_schema(self._url, self._schema, f"{self._schema}_keys")


class Twins(RuleBasedStateMachine):
    """The reference and the subject, given the same program."""

    def __init__(self, opened: Subject, *, encrypted: bool) -> None:
        super().__init__()
        self.clocks = ManualClock(), ManualClock()
        self.envelope: Envelope | None = None
        if encrypted:
            self.envelope = Envelope(opened.keys(), OneMasterKey(), self.clocks[1], rotate_at=16, block=4)
        self.reference = MemoryStore(clock=self.clocks[0], ids=SerialIds(), sealer=Plain(), direct=True)
        self.subject = opened.store(self.clocks[1], self.envelope or Plain())
        self.forget = opened.forget
        self.ids: list[bytes] = [bytes(16)]
        self.cursors: list[str] = ["no cursor"]
        self.requests: list[tuple[str, Commit]] = []
        self.leases: list[Lease] = []
        self.marks: list[tuple[str, Mark]] = []
        self.erasures: list[Erasure] = []
        self.folded: dict[str, tuple[int, dict[Address, Instant | None]]] = {}
        self.stamps: dict[int, tuple[object, list[Head]]] = {}

    def teardown(self) -> None:
        try:
            for tenant in programs.TENANTS:
                self.everything_is_alike(tenant)
                self.verify(tenant)
        finally:
            drive(self.subject.close())
            if self.envelope is not None:
                self.envelope.close()
            self.forget()

    def both(self, call: str, *given: Any, **named: Any) -> Any:
        """The answer of both stores to a call, which must be the same; None when both refuse."""
        answers: list[Any] = []
        for store in (self.reference, self.subject):
            try:
                answers.append(drive(getattr(store, call)(*given, **named)))
            except RecollectError as refusal:
                answers.append(refusal)
        hashes = self.envelope is None
        wanted, got = (comparable(answer, hashes=hashes) for answer in answers)
        assert got == wanted
        return None if isinstance(answers[0], RecollectError) else answers[0]

    # -- writing

    @initialize(
        puts=st.lists(programs.plain_puts, min_size=3, max_size=20), labels=st.lists(programs.policies, max_size=8)
    )
    def begin_with_something(self, puts: list[Operation], labels: list[str]) -> None:
        relabelled = [Relabel(put.address, 1, label) for put, label in zip(puts, labels, strict=False)]
        for tenant in programs.TENANTS:
            self._commit(Commit(tenant, tuple(puts)))
            if relabelled:
                self._commit(Commit(tenant, tuple(relabelled)))

    @rule(
        tenant=programs.tenants,
        operations=st.lists(programs.operations, min_size=1, max_size=7),
        conditions=st.one_of(st.just([]), st.just([]), st.lists(programs.conditions, max_size=2)),
        actor=st.sampled_from(["", "ann"]),
        key=st.sampled_from([None, None, "one", "two"]),
    )
    def commit(
        self, tenant: str, operations: list[Operation], conditions: list[Condition], actor: str, key: str | None
    ) -> None:
        request = None if key is None else idempotency(key, actor, operations)
        self._commit(Commit(tenant, tuple(operations), tuple(conditions), actor, request))

    @rule(tenant=programs.tenants, operation=programs.plain_puts)
    def put(self, tenant: str, operation: Operation) -> None:
        self._commit(Commit(tenant, (operation,)))

    @rule(tenant=programs.tenants, operations=st.lists(programs.plain_puts, min_size=1, max_size=12))
    def put_many(self, tenant: str, operations: list[Operation]) -> None:
        self._commit(Commit(tenant, tuple(operations)))

    @rule(tenant=programs.tenants, operation=programs.deletes)
    def delete(self, tenant: str, operation: Operation) -> None:
        self._commit(Commit(tenant, (operation,)))

    @rule(tenant=programs.tenants, operation=programs.puts)
    def put_upon_what_was_read(self, tenant: str, operation: Operation) -> None:
        row = self.both("get", tenant, operation.address)
        condition = Expect(operation.address, row.revision if row else 0)
        self._commit(Commit(tenant, (operation,), (condition,)))

    @rule(
        tenant=programs.tenants,
        plane=programs.planes,
        limit=programs.limits,
        policies=st.lists(programs.policies, min_size=1, max_size=3),
    )
    def relabel_what_was_found(self, tenant: str, plane: Plane, limit: int, policies: list[str]) -> None:
        page = self.both("find", tenant, Find(plane, limit=limit, archived=Archived.INCLUDE))
        wishes = [Relabel(row.address, row.revision, policy) for row in page.rows for policy in policies]
        if wishes:
            self._commit(Commit(tenant, tuple(wishes), actor="relabeller"))

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def repeat_a_request(self, data: st.DataObject) -> None:
        tenant, commit = data.draw(st.sampled_from(self.requests))
        self._commit(msgspec.structs.replace(commit, tenant=tenant))

    def _commit(self, commit: Commit) -> None:
        receipt: Receipt | None = self.both("commit", commit)
        if receipt is not None:
            self.ids += [outcome.id for outcome in receipt.outcomes if outcome.id is not None]
            if commit.idempotency is not None:
                self.requests.append((commit.tenant, commit))

    @rule(seconds=st.sampled_from([1, 1, 2, 5, 60, -1, -30]))
    def move_the_clock(self, seconds: int) -> None:
        for clock in self.clocks:
            clock.advance(seconds)
        for tenant in programs.TENANTS:
            self.everything_is_alike(tenant)

    # -- reading

    def _moment(self, distance: Instant | None) -> Instant | None:
        return None if distance is None else Instant(self.clocks[0]() + distance)

    @rule(
        tenant=programs.tenants,
        addresses=st.lists(programs.places, min_size=1, max_size=6),
        as_of=st.one_of(st.none(), programs.moments),
    )
    def get(self, tenant: str, addresses: list[Address], as_of: Instant | None) -> None:
        for address in addresses:
            self.both("get", tenant, address, as_of=self._moment(as_of))

    @rule(tenant=programs.tenants, data=st.data())
    def get_by_id(self, tenant: str, data: st.DataObject) -> None:
        for row_id in data.draw(st.lists(st.sampled_from(self.ids), min_size=1, max_size=4)):
            self.both("get_by_id", tenant, row_id)

    @rule(tenant=programs.tenants, queries=st.lists(programs.finds, min_size=1, max_size=6))
    def find(self, tenant: str, queries: list[Find]) -> None:
        for query in queries:
            page = self.both("find", tenant, replace(query, as_of=self._moment(query.as_of)))
            if page is not None and page.cursor is not None:
                self.cursors.append(page.cursor)

    @rule(tenant=programs.tenants, query=programs.finds, data=st.data())
    def find_from_a_cursor(self, tenant: str, query: Find, data: st.DataObject) -> None:
        cursor = data.draw(st.sampled_from(self.cursors))
        self.both("find", tenant, replace(query, cursor=cursor, as_of=self._moment(query.as_of)))

    @rule(tenant=programs.tenants, query=programs.finds)
    def find_page_by_page(self, tenant: str, query: Find) -> None:
        query = replace(query, as_of=self._moment(query.as_of))
        for _ in range(MOST_BATCHES):
            page = self.both("find", tenant, query)
            if page is None or page.cursor is None:
                return
            query = replace(query, cursor=page.cursor, offset=0)
        raise AssertionError("paging did not end")

    @rule(
        tenant=programs.tenants,
        addresses=st.lists(programs.places, min_size=1, max_size=6),
        limit=programs.limits,
        before=st.sampled_from([None, None, 1, 2, 3]),
    )
    def history(self, tenant: str, addresses: list[Address], limit: int, before: int | None) -> None:
        for address in addresses:
            self.both("history", tenant, address, limit=limit, before=before)

    @rule(tenant=programs.tenants, queries=st.lists(programs.listings, min_size=1, max_size=6))
    def namespaces(self, tenant: str, queries: list[NamespaceQuery]) -> None:
        for query in queries:
            self.both("namespaces", tenant, query)

    def _reading(self, tenant: str, query: EventQuery) -> EventQuery:
        after = drive(self.reference.head(tenant)).sequence - query.after
        return replace(query, after=max(0, after), since=self._moment(query.since), until=self._moment(query.until))

    @rule(tenant=programs.tenants, queries=st.lists(programs.readings, min_size=1, max_size=6))
    def events(self, tenant: str, queries: list[EventQuery]) -> None:
        for query in queries:
            self.both("events", tenant, self._reading(tenant, query))

    @rule(tenant=programs.tenants, after=st.integers(0, 1_000))
    def events_from_anywhere(self, tenant: str, after: int) -> None:
        self.both("events", tenant, EventQuery(after=after))

    @rule(tenant=programs.tenants, query=programs.readings)
    def events_page_by_page(self, tenant: str, query: EventQuery) -> None:
        start = drive(self.reference.head(tenant)).trimmed
        query = replace(self._reading(tenant, query), after=start)
        for _ in range(MOST_BATCHES):
            page = self.both("events", tenant, query)
            if page is None or page.complete:
                return
            query = replace(query, after=page.after)
        raise AssertionError("paging did not end")

    # -- upkeep

    @rule(tenant=programs.tenants, limit=programs.limits)
    def expire(self, tenant: str, limit: int) -> None:
        self.both("sweep", tenant, Pass.EXPIRE, Retention(), limit=limit)

    @rule(
        tenant=programs.tenants,
        step=st.sampled_from([Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE, Pass.TRIM]),
        retention=programs.retentions,
        limit=programs.limits,
    )
    def sweep_to_the_end(self, tenant: str, step: Pass, retention: Retention, limit: int) -> None:
        """Which of those that are due come first is left to the backend; how many there are is not."""
        self._fold(tenant)
        for _ in range(MOST_BATCHES):
            swept = self.both("sweep", tenant, step, retention, limit=limit)
            if not swept.more:
                return
        raise AssertionError("sweeping did not end")

    @rule(tenant=programs.tenants, until=st.sampled_from([Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE]))
    def sweep_whatever_has_ended(self, tenant: str, until: Pass) -> None:
        """With all of it known to the index, and nothing kept for any time, every pass has something to do."""
        self.both("mark_indexed", tenant, [each.mark for each in self.both("pending", tenant, limit=PAGE)])
        for step in (Pass.EXPIRE, Pass.EVICT, Pass.TOMBSTONE, Pass.PURGE):
            self.both("sweep", tenant, step, Retention(superseded=0, deleted=0, tombstones=0), limit=PAGE)
            if step is until:
                return

    @rule(tenant=programs.tenants, limit=programs.limits)
    def pending(self, tenant: str, limit: int) -> None:
        waiting = self.both("pending", tenant, limit=limit)
        self.marks += [(tenant, each.mark) for each in waiting]

    @precondition(lambda self: self.marks)
    @rule(data=st.data())
    def mark_indexed(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.marks), min_size=1, max_size=4))
        for tenant in programs.TENANTS:
            marks = [mark for mine, mark in chosen if mine == tenant]
            self.both("mark_indexed", tenant, marks)

    @rule(
        name=st.sampled_from(["sweeper", "other"]),
        holder=st.sampled_from(["me", "you"]),
        seconds=st.sampled_from([0.5, 3, 30]),
    )
    def acquire(self, name: str, holder: str, seconds: float) -> None:
        lease = self.both("acquire", name, holder, seconds)
        if lease is not None:
            self.leases.append(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), renewing=st.booleans())
    def renew_or_release(self, data: st.DataObject, renewing: bool) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        if renewing:
            self.both("renew", lease, 5)
        else:
            self.both("release", lease)

    @rule(tenant=programs.tenants, name=st.sampled_from(["a", "ab", "A", "nobody"]))
    def erase(self, tenant: str, name: str) -> None:
        erasure = Erasure(
            bytes([len(self.erasures)]) * 16, tenant, f"user:{name}", namespace(("user", name)), "officer"
        )
        self.erasures.append(erasure)
        if self.envelope is not None:
            self.envelope.destroy(erasure)
        self.both("erase", erasure)
        if self.envelope is not None:
            self.envelope.settle(erasure.id)

    @precondition(lambda self: self.erasures)
    @rule(data=st.data())
    def erase_again(self, data: st.DataObject) -> None:
        erasure = data.draw(st.sampled_from(self.erasures))
        self.both("erase", erasure)

    # -- what must hold

    @invariant()
    def the_logs_end_alike(self) -> None:
        self.both("tenants")
        for tenant in programs.TENANTS:
            self.both("head", tenant)

    @invariant()
    def equal_stamps_vouch_for_equal_logs(self) -> None:
        for number, store in enumerate((self.reference, self.subject)):
            heads = [drive(store.head(tenant)) for tenant in programs.TENANTS]
            stamp, stamped = self.stamps.get(number, (None, []))
            assert stamp != store.stamp() or stamped == heads
            self.stamps[number] = (store.stamp(), heads)

    @rule(tenant=programs.tenants)
    def everything_is_alike(self, tenant: str) -> None:
        start = drive(self.reference.head(tenant)).trimmed
        self.both("events", tenant, EventQuery(after=start, limit=PAGE))
        self.both("pending", tenant, limit=PAGE)
        for plane in programs.PLANES:
            for archived in Archived:
                self.both("namespaces", tenant, NamespaceQuery(plane=plane, limit=PAGE, archived=archived))
            for order in Order:
                self.both("find", tenant, Find(plane, order=order, limit=PAGE, archived=Archived.INCLUDE))
        for address in programs.FEW:
            self.both("get", tenant, address)
            self.both("history", tenant, address)

    @rule(tenant=programs.tenants)
    def verify(self, tenant: str) -> None:
        report = self.both("verify", tenant)
        assert report.sound, report.problems

    @rule(tenant=programs.tenants)
    def the_folded_log_gives_exactly_what_is_live(self, tenant: str) -> None:
        now = self.clocks[0]()
        folded = {address for address, expires_at in self._fold(tenant).items() if not is_expired(expires_at, now)}
        live: set[Address] = set()
        for plane in programs.PLANES:
            for archived in (Archived.EXCLUDE, Archived.ONLY):
                page = self.both("find", tenant, Find(plane, order=Order.KEY, limit=PAGE, archived=archived))
                live |= {row.address for row in page.rows}
        assert live == folded

    def _fold(self, tenant: str) -> dict[Address, Instant | None]:
        """Every key that the log says has a live version, with when that expires; folded on from the last time."""
        after, live = self.folded.get(tenant, (0, {}))
        assume(drive(self.reference.head(tenant)).trimmed <= after)
        page = self.both("events", tenant, EventQuery(after=after, limit=PAGE, values=False))
        for entry in page.entries:
            _fold_in(live, entry.event)
        assert page.complete
        self.folded[tenant] = (page.after, live)
        return live


def _fold_in(live: dict[Address, Instant | None], event: Event) -> None:
    match event.kind:
        case EventKind.ADD | EventKind.UPDATE:
            assert (event.address in live) == (event.kind is EventKind.UPDATE)
            live[event.address] = event.expires_at
        case EventKind.RELABELLED:
            assert live[event.address] == event.expires_at
        case EventKind.DELETE | EventKind.EXPIRED:
            del live[event.address]
        case EventKind.ERASED:
            for address in [each for each in live if event.address.namespace.contains(each.namespace)]:
                del live[address]


def run(fresh: Callable[[], Subject], *, encrypted: bool, examples: int, steps: int, **more: Any) -> None:
    """Run so many random programs of so many steps, each on fresh stores."""

    class FreshTwins(Twins):
        def __init__(self) -> None:
            super().__init__(fresh(), encrypted=encrypted)

    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        **more,
    )
    run_state_machine_as_test(FreshTwins, settings=chosen)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@sized(60, 1_500)
def test_sqlite_answers_like_the_reference(count: int, encrypted: bool, tmp_path: Path) -> None:
    compare(in_folders(tmp_path), count, encrypted=encrypted)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@sized(30, 1_000)
def test_postgres_answers_like_the_reference(count: int, encrypted: bool) -> None:
    needs_postgres()
    compare(InPostgres, count, encrypted=encrypted)


def in_folders(folder: Path) -> Callable[[], Subject]:
    fresh = fresh_folders(folder)
    return lambda: InSqlite(fresh())


def compare(fresh: Callable[[], Subject], count: int, *, encrypted: bool) -> None:
    soak = count > 100
    # Making a found program small takes minutes, so only the large run does it.
    phases = [Phase.generate, Phase.shrink] if soak else [Phase.generate]
    run(fresh, encrypted=encrypted, examples=count, steps=50 if soak else 40, derandomize=not soak, phases=phases)


@pytest.mark.parametrize("plant", planted.ALL)
def test_a_planted_difference_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        run(in_folders(tmp_path), encrypted=False, examples=300, steps=40, derandomize=True, phases=[Phase.generate])
