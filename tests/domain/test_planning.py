"""Deciding commits, and checking the log that they leave."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.address import Address, Namespace
from recollect.domain.commits import (
    Commit,
    Delete,
    Expect,
    Expire,
    Operation,
    Put,
    Relabel,
    Unchanged,
    checked_commit,
    idempotency,
)
from recollect.domain.errors import Contention, InvalidCommit, InvalidExpiry, RecollectError, RevisionConflict
from recollect.domain.events import Event, Head, rehash, version_digest
from recollect.domain.instants import LAST, Instant
from recollect.domain.planning import Newest, Pinned, Plan, Version, empty_version, plan_commit
from recollect.domain.reasons import TOLD, EndReason, EventKind, IndexState, Plane
from recollect.domain.verification import Kept, LogChecker
from recollect.testing.doubles import SerialIds

A, B = (Address(Plane.ITEM, Namespace.of("user", "ann"), key) for key in "ab")


def seal(tenant: str, address: Address, row_id: bytes, revision: int, field: str, plain: bytes) -> bytes:
    return f"{field}:{revision}:".encode() + plain


@dataclass
class Shelf:
    """The least that plans can be carried out on: rows, a log and a head."""

    now: int = 1_000
    head: Head = field(default_factory=Head)
    versions: dict[bytes, Version] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    ids: SerialIds = field(default_factory=SerialIds)
    changed: bool = False
    kept: dict[int, Kept] = field(default_factory=dict)

    def newest(self, address: Address) -> Newest | None:
        mine = [version for version in self.versions.values() if version.address == address]
        if not mine:
            return None
        last = max(mine, key=lambda version: version.revision)
        return Newest(
            last.id, last.revision, last.created_at, last.written_at, last.expires_at, last.ended_at, last.index_state
        )

    def pinned(self, row_id: bytes) -> Pinned | None:
        version = self.versions.get(row_id)
        if version is None:
            return None
        claimed = version.pinned_sequence or version.sequence
        return Pinned(version, next((event.digest for event in self.log if event.sequence == claimed), None))

    def plan(self, *operations: Operation, conditions: Sequence[Expect | Unchanged] = ()) -> Plan:
        return plan_commit(
            Commit("t", operations, tuple(conditions), "me"),
            head=self.head,
            newest=self.newest,
            pinned=self.pinned,
            changed_since=lambda *_: self.changed,
            now=Instant(self.now),
            new_id=self.ids,
            seal=seal,
        )

    def do(self, *operations: Operation, conditions: Sequence[Expect | Unchanged] = ()) -> Plan:
        plan = self.plan(*operations, conditions=conditions)
        for label in plan.labels:
            version = self.versions[label.id]
            version.policy_attributes, version.pinned_sequence = label.policy_attributes, label.sequence
            version.index_state = label.index_state
        for ending in plan.endings:
            version = self.versions[ending.id]
            version.ended_at, version.end_reason = ending.at, ending.reason
            version.ended_sequence, version.index_state = ending.sequence, ending.index_state
        for version in plan.versions:
            assert version.id not in self.versions
            self.versions[version.id] = version
        self.log += plan.events
        self.head = plan.head
        return plan

    def check(self, log: Sequence[Event] | None = None, expected: tuple[int, bytes] | None = None) -> list[str]:
        checker = LogChecker(self.head, expected)
        told = self.log if log is None else log
        by_sequence = {event.sequence: event for event in told}
        for event in told:
            checker.event(event, self.kept.get(event.sequence, Kept.WHOLE), self.versions.get(event.row_id))
        for version in self.versions.values():
            newest = max(v.revision for v in self.versions.values() if v.address == version.address)
            ended = by_sequence.get(version.ended_sequence or -1)
            pinned = by_sequence.get(version.pinned_sequence or -1)
            checker.version(version, by_sequence.get(version.sequence), ended, newest, pinned)
        return [problem.finding.value for problem in checker.finish()]


def kinds(plan: Plan) -> list[str]:
    return [event.kind.value for event in plan.events]


def test_a_put_adds_then_updates() -> None:
    shelf = Shelf()
    first = shelf.do(Put(A, b"{}"))
    shelf.now += 5
    second = shelf.do(Put(A, b"{}"))
    assert (kinds(first), kinds(second)) == (["add"], ["update"])
    assert [ending.reason for ending in second.endings] == [EndReason.UPDATED]
    version = second.versions[0]
    assert (version.revision, version.created_at, version.written_at) == (2, 1_000, 1_005)
    assert version.value == b"value:2:{}"
    assert second.head.sequence == 2


def test_deleting_what_is_not_there_does_nothing() -> None:
    plan = Shelf().do(Delete(A))
    assert (plan.events, plan.endings, plan.head) == ([], [], Head())
    assert plan.receipt.outcomes[0].kind is None


def test_revisions_go_on_after_a_deletion_and_creation_begins_anew() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}"))
    shelf.do(Delete(A))
    shelf.now += 1
    plan = shelf.do(Put(A, b"{}"))
    assert kinds(plan) == ["add"]
    assert (plan.versions[0].revision, plan.versions[0].created_at) == (2, 1_001)


def test_what_expired_is_ended_before_it_is_written_again() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}", ttl=10))
    shelf.now += 10
    plan = shelf.do(Put(A, b"{}", expected_revision=0))
    assert kinds(plan) == ["expired", "add"]
    assert [ending.reason for ending in plan.endings] == [EndReason.EXPIRED]
    assert len(plan.receipt.outcomes) == 1


def test_expiring_ends_only_what_is_due() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}", ttl=10), Put(B, b"{}"))
    shelf.now += 9
    assert kinds(shelf.do(Expire(A), Expire(B))) == []
    shelf.now += 1
    assert kinds(shelf.do(Expire(A), Expire(B))) == ["expired"]
    assert kinds(shelf.do(Expire(A))) == []


def test_a_later_operation_sees_what_an_earlier_one_did() -> None:
    shelf = Shelf()
    plan = shelf.do(Put(A, b"1"), Put(A, b"2", expected_revision=1), Delete(A, expected_revision=2), Put(A, b"3"))
    assert kinds(plan) == ["add", "update", "delete", "add"]
    assert [(v.revision, v.end_reason) for v in plan.versions] == [
        (1, EndReason.UPDATED),
        (2, EndReason.DELETED),
        (3, None),
    ]
    assert shelf.check() == []


@pytest.mark.parametrize(("expected", "fits"), [(None, True), (0, False), (1, True), (2, False)])
def test_an_expected_revision_is_compared_with_the_live_one(expected: int | None, fits: bool) -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}"))
    for operation in (Put(A, b"{}", expected_revision=expected), Delete(A, expected)):
        if fits:
            shelf.plan(operation)
        else:
            with pytest.raises(RevisionConflict):
                shelf.plan(operation)


def test_conditions_are_checked_before_anything_is_decided() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}"))
    shelf.plan(Put(B, b"{}"), conditions=[Expect(A, 1), Expect(B, 0)])
    for wrong in (Expect(A, 0), Expect(A, 2), Expect(B, 1)):
        with pytest.raises(Contention):
            shelf.plan(Put(B, b"{}"), conditions=[wrong])
    shelf.changed = True
    with pytest.raises(Contention):
        shelf.plan(Put(B, b"{}"), conditions=[Unchanged(Plane.ITEM, A.namespace, 0)])


def test_a_clock_that_goes_back_never_makes_a_version_end_before_it_began() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}"))
    shelf.now -= 500
    plan = shelf.do(Put(A, b"{}"))
    assert plan.versions[0].written_at == 1_000
    assert plan.endings[0].at == 1_000
    shelf.do(Delete(A))
    assert all(v.ended_at is not None and v.ended_at >= v.written_at for v in shelf.versions.values())
    assert shelf.check() == []


def test_the_index_hears_of_the_end_of_what_it_may_have_heard_of() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"{}", index=True), Put(B, b"{}"))
    plan = shelf.do(Delete(A), Delete(B))
    assert [ending.index_state for ending in plan.endings] == [IndexState.PENDING, IndexState.UNWANTED]


def test_a_commit_needs_operations_within_limits() -> None:
    with pytest.raises(InvalidCommit):
        checked_commit(Commit("t", ()))
    with pytest.raises(InvalidCommit):
        checked_commit(Commit("t", (Delete(A),) * 1_001))
    with pytest.raises(InvalidExpiry):
        checked_commit(Commit("t", (Put(A, b"{}", expires_at=Instant(5), ttl=5),)))
    with pytest.raises(InvalidCommit):
        checked_commit(Commit("t", (Put(A, bytes(33 << 20)), Put(B, bytes(32 << 20)))))


def test_a_request_is_known_by_key_and_actor_and_told_apart_by_content() -> None:
    first = idempotency("key", "me", [Put(A, b"1")])
    assert first == idempotency("key", "me", [Put(A, b"1")])
    assert first.lookup == idempotency("key", "me", [Put(A, b"2")]).lookup
    assert first.fingerprint != idempotency("key", "me", [Put(A, b"2")]).fingerprint
    assert first.lookup != idempotency("key", "you", [Put(A, b"1")]).lookup
    others: list[Operation] = [Delete(A), Put(B, b"1"), Put(A, b"1", ttl=5), Put(A, b"1", expected_revision=0)]
    others += [Put(A, b"1", archived=True), Put(A, b"1", at=Instant(5)), Delete(A, at=Instant(5)), Expire(A)]
    others += [Put(A, b"1", archived=True, at=Instant(5)), Expire(A, at=Instant(5)), Delete(A, at=Instant(6))]
    others += [Relabel(A, 1, "{}"), Relabel(A, 2, "{}"), Relabel(A, 1, '{"x":1}'), Relabel(B, 1, "{}")]
    assert len({idempotency("key", "me", [each]).fingerprint for each in others}) == len(others)


def test_an_archived_version_is_a_version_like_any_other() -> None:
    shelf = Shelf()
    plans = [shelf.do(Put(A, b"{}", archived=archived)) for archived in (True, False, True)]
    assert [plan.versions[0].archived for plan in plans] == [True, False, True]
    assert [kinds(plan) for plan in plans] == [["add"], ["update"], ["update"]]
    assert shelf.check() == []
    for version in shelf.versions.values():
        version.archived = not version.archived
        assert shelf.check() == ["version_altered"]
        version.archived = not version.archived


def test_what_was_pinned_before_there_was_an_archive_still_holds() -> None:
    plain = version_digest(b"value", b"attributes", '{"a":1}', Instant(5), Instant(9))
    assert plain.hex() == "744a87e374e589a3cfc2b75f28f25efdd3c462626a273e96a1e91bc5bc9f5317"
    assert version_digest(b"value", b"attributes", '{"a":1}', Instant(5), Instant(9), archived=False) == plain
    assert version_digest(b"value", b"attributes", '{"a":1}', Instant(5), Instant(9), archived=True) != plain
    asked = idempotency("key", "me", [Put(A, b"1", ttl=5), Delete(A, 3), Expire(A)])
    assert asked.fingerprint.hex() == "5d1424cfea340b6d5812e381002eede382f1b5b5c96e5fead5680ea4d6e09814"


def test_what_happened_elsewhere_is_dated_then_and_says_when_it_was_recorded() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1", ttl=50, at=Instant(100)), Put(B, b"1"))
    plan = shelf.do(Put(A, b"2", at=Instant(149)), Delete(A, at=Instant(160)), Put(A, b"3", ttl=5, at=Instant(170)))
    assert kinds(plan) == ["update", "delete", "add"]
    assert [event.at for event in plan.events] == [149, 160, 170]
    assert {event.detail for event in plan.events} == {'{"imported_at":1000}'}
    assert [(v.created_at, v.written_at, v.expires_at) for v in plan.versions] == [(100, 149, None), (170, 170, 175)]
    late = shelf.do(Put(A, b"4", at=Instant(175)), Expire(B, at=Instant(9_999)), Delete(B))
    assert kinds(late) == ["expired", "add", "delete"]
    assert [(event.at, event.detail != "") for event in late.events] == [(175, True), (175, True), (1_000, False)]
    assert shelf.check() == []


@pytest.mark.parametrize("moment", [-1, LAST + 1])
def test_a_moment_outside_the_calendar_is_refused(moment: int) -> None:
    when = Instant(moment)
    for operation in (Put(A, b"{}", at=when), Delete(A, at=when), Expire(A, at=when)):
        with pytest.raises(InvalidCommit):
            checked_commit(Commit("t", (operation,)))


moments = st.one_of(st.none(), st.integers(900, 1_100).map(Instant))
operations = st.one_of(
    st.builds(
        Put,
        st.sampled_from([A, B]),
        st.just(b"{}"),
        ttl=st.one_of(st.none(), st.integers(1, 20)),
        archived=st.booleans(),
        at=moments,
    ),
    st.builds(Delete, st.sampled_from([A, B]), st.one_of(st.none(), st.integers(0, 4)), moments),
    st.builds(Expire, st.sampled_from([A, B]), moments),
    st.builds(Relabel, st.sampled_from([A, B]), st.integers(1, 4), st.sampled_from(["{}", '{"x":1}', '{"x":2}'])),
)
programs = st.lists(
    st.tuples(st.integers(-5, 15), st.lists(operations, min_size=1, max_size=4)), min_size=1, max_size=8
)


def run(program: list[tuple[int, list[Operation]]]) -> Shelf:
    shelf = Shelf()
    for step, wishes in program:
        shelf.now += step
        try:
            shelf.do(*wishes)
        except RecollectError:
            continue
    return shelf


@given(programs)
def test_any_program_keeps_the_rules(program: list[tuple[int, list[Operation]]]) -> None:
    shelf = run(program)
    assert [event.sequence for event in shelf.log] == list(range(1, len(shelf.log) + 1))
    for address in (A, B):
        mine = sorted((v for v in shelf.versions.values() if v.address == address), key=lambda v: v.revision)
        assert [version.revision for version in mine] == list(range(1, len(mine) + 1))
        assert sum(version.ended_at is None for version in mine) <= 1
        assert all(version.ended_at is not None for version in mine[:-1])
        for older, newer in itertools.pairwise(mine):
            assert older.written_at <= (older.ended_at or 0) <= newer.written_at
    assert shelf.check() == []
    for place, event in enumerate(shelf.log):
        assert event.hash == rehash(event)
        assert event.previous == (shelf.log[place - 1].hash if place else bytes(32))


@given(programs, st.randoms(use_true_random=False))
def test_a_log_with_an_event_altered_dropped_or_moved_is_found_out(
    program: list[tuple[int, list[Operation]]], chance: object
) -> None:
    shelf = run(program)
    if len(shelf.log) < 2:
        return
    place = chance.randrange(len(shelf.log) - 1)  # type: ignore[attr-defined] # a random.Random
    log = shelf.log
    event = log[place]
    altered = msgspec.structs.replace(event, actor="somebody else")
    moved = [*log[:place], log[place + 1], event, *log[place + 2 :]]
    for harmed in ([*log[:place], altered, *log[place + 1 :]], [*log[:place], *log[place + 1 :]], moved, log[:-1]):
        assert shelf.check(harmed) != []


def test_a_checker_names_what_it_found() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"), Put(A, b"2"), Put(B, b"3"), Delete(B))
    assert shelf.check(expected=(2, shelf.log[1].hash)) == []
    assert shelf.check(expected=(2, bytes(32))) == ["head_mismatch"]
    assert shelf.check(expected=(9, bytes(32))) == ["head_mismatch"]
    assert "head_mismatch" in shelf.check(shelf.log[:-1])
    assert "sequence_gap" in shelf.check(shelf.log[1:])
    first = shelf.versions[shelf.log[0].row_id]
    first.value = b"value:1:other"
    assert shelf.check() == ["version_altered"]
    first.value = b"value:1:1"
    assert shelf.check() == []
    first.ended_at = first.end_reason = first.ended_sequence = None
    assert "ending_mismatch" in shelf.check()
    del shelf.versions[shelf.log[2].row_id]
    assert "version_missing" in shelf.check()


def test_every_kind_of_event_is_one_word_and_all_but_one_are_told() -> None:
    assert [kind.value for kind in EventKind] == ["add", "update", "delete", "expired", "erased", "relabelled"]
    assert list(TOLD) == ["add", "update", "delete", "expired", "erased"]


def test_relabelling_leaves_the_version_as_it_is_but_for_its_attributes() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1", b"sealed", ttl=50, archived=True, index_fields="[]"))
    version = shelf.versions[shelf.log[0].row_id]
    before = msgspec.structs.replace(version)
    shelf.now += 5
    plan = shelf.do(Relabel(A, 1, '{"x":1}'))
    assert (kinds(plan), plan.versions, plan.endings) == (["relabelled"], [], [])
    assert version == msgspec.structs.replace(before, policy_attributes='{"x":1}', pinned_sequence=2)
    event, outcome = plan.events[0], plan.receipt.outcomes[0]
    assert (event.address, event.row_id, event.revision) == (A, version.id, 1)
    assert (event.at, event.expires_at, event.digest) == (1_005, 1_050, version.digest())
    assert (outcome.kind, outcome.sequence, outcome.id, outcome.revision) == ("relabelled", 2, version.id, 1)
    assert (outcome.created_at, outcome.written_at, outcome.expires_at) == (1_000, 1_000, 1_050)
    assert shelf.check() == []


@pytest.mark.parametrize(
    "wish", [Relabel(A, 1, '{"x":1}'), Relabel(A, 2, "{}"), Relabel(B, 1, "1"), Relabel(A, 3, "1")]
)
def test_relabelling_what_is_not_as_it_was_read_does_nothing(wish: Relabel) -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"), Put(A, b"2"), Put(B, b"3", ttl=5))
    shelf.now += 5
    plan = shelf.do(wish)
    assert (plan.events, plan.labels, plan.endings, plan.head.sequence) == ([], [], [], 3)
    assert plan.receipt.outcomes[0].kind is None


def test_the_index_hears_of_new_attributes_of_what_it_reflects() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"))
    version = shelf.versions[shelf.log[0].row_id]
    told = {IndexState.UNWANTED: "unwanted", IndexState.PENDING: "pending", IndexState.DONE: "pending"}
    for number, (state, wanted) in enumerate(told.items()):
        version.index_state = state
        shelf.do(Relabel(A, 1, f'{{"x":{number}}}'))
        assert version.index_state == wanted


def test_one_commit_relabels_what_is_stored_more_than_once_and_then_ends_it() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1", index=True))
    first = shelf.versions[shelf.log[0].row_id]
    first.index_state = IndexState.DONE
    plan = shelf.do(Relabel(A, 1, "1"), Relabel(A, 1, "2"), Relabel(A, 1, "2"), Put(A, b"2"), Relabel(A, 2, "3"))
    assert kinds(plan) == ["relabelled", "relabelled", "update", "relabelled"]
    assert (first.policy_attributes, first.pinned_sequence, first.index_state) == ("2", 3, IndexState.PENDING)
    second = plan.versions[0]
    assert (second.policy_attributes, second.pinned_sequence, second.ended_at) == ("3", 5, None)
    assert shelf.check() == []


def test_a_version_that_is_not_as_recorded_is_not_relabelled() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"), Relabel(A, 1, "1"))
    version = shelf.versions[shelf.log[0].row_id]
    for name, edited in (("value", b"other"), ("policy_attributes", "9"), ("pinned_sequence", 0), ("archived", True)):
        stored = getattr(version, name)
        setattr(version, name, edited)
        assert shelf.do(Relabel(A, 1, "2")).events == []
        assert shelf.check() != []
        setattr(version, name, stored)
    kept, shelf.log = shelf.log, shelf.log[:1]
    assert shelf.do(Relabel(A, 1, "2")).events == [], "the event that pinned it is missing, and was not trimmed"
    shelf.log, shelf.head = [], Head(2, kept[1].hash, 2, kept[1].hash)
    assert kinds(shelf.do(Relabel(A, 1, "2"))) == ["relabelled"]
    assert shelf.check() == []


def test_a_checker_names_what_it_found_about_attributes() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"), Put(B, b"1"), Relabel(A, 1, "1"), Relabel(B, 1, "1"), Relabel(A, 1, "2"))
    version = shelf.versions[shelf.log[0].row_id]
    altered = ["version_altered"]
    for attributes, claimed in itertools.product(("{}", "1", "2", "3"), (None, 0, 1, 2, 3, 4, 5, 6)):
        version.policy_attributes, version.pinned_sequence = attributes, claimed
        found = set() if (attributes, claimed) == ("2", 5) else {"version_altered"}
        assert set(shelf.check()) == found, (attributes, claimed)
    version.policy_attributes, version.pinned_sequence = "2", 5
    other = msgspec.structs.replace(shelf.log[2], kind=EventKind.UPDATE)
    assert "event_altered" in shelf.check([*shelf.log[:2], other, *shelf.log[3:]])
    shelf.do(Delete(A))
    empty_version(version)
    assert shelf.check() == altered, "it was not said that its value may be gone"
    shelf.kept[1] = Kept.EMPTIED
    assert shelf.check() == []
    version.pinned_sequence = 5
    assert shelf.check() == altered
    del shelf.versions[version.id]
    shelf.kept[1] = Kept.PURGED
    assert shelf.check() == []


def test_a_live_version_is_missed_although_it_was_relabelled_after_it_is_said_to_be_purged() -> None:
    shelf = Shelf()
    shelf.do(Put(A, b"1"), Relabel(A, 1, "1"))
    del shelf.versions[shelf.log[0].row_id]
    shelf.kept[1] = Kept.PURGED
    assert shelf.check() == ["version_missing"]
    shelf.kept = {1: Kept.WHOLE, 2: Kept.PURGED}
    assert shelf.check() == ["version_missing", "event_altered"]
