"""Every operation on the files fails once on the way in: no proposal is lost, none is applied twice, none untold."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from tests.faults.test_fail_at_n import FAULTS, MOST_POINTS, Case, explored, opened_later
from tests.faults.workload import TENANT, Opened, memory_files, open_store

from recollect.backends.extraction import RulesExtractor
from recollect.backends.policy import BuiltinEngine
from recollect.backends.policy.builtin import BuiltinPolicy
from recollect.backends.summarizing import ExtractiveSummarizer
from recollect.domain.bundles import Bundle
from recollect.domain.callers import Caller, local_caller
from recollect.domain.errors import InvalidRequest, ReviewRefused, StoreTrouble
from recollect.domain.queries import Find
from recollect.domain.reasons import Plane
from recollect.ports.policy import Review, Verdict
from recollect.service.memories import Memories
from recollect.service.pipeline.consenting import Consenting
from recollect.service.pipeline.places import LAPSES
from recollect.service.pipeline.shelving import Shelving
from recollect.service.rules import Rules
from recollect.service.workings import Workings
from recollect.sync import drive
from recollect.testing.faults.failing import BROKEN, FailAt, Fault


class Trusting(BuiltinPolicy):
    """Approves what users say of themselves, as the shipped policy does."""

    async def review(self, caller: Caller, proposal: Mapping[str, Any]) -> Review:
        """Theirs, yes; all else waits."""
        if proposal["origin"] in ("user_stated", "imposed"):
            return Review(Verdict.APPROVE, "said so", "stated_by_user")
        return await super().review(caller, proposal)


class TrustingEngine(BuiltinEngine):
    """Has that one policy."""

    async def policy(self, bundle: Bundle | None) -> BuiltinPolicy:
        """Always the same."""
        del bundle
        return Trusting()


def memories(opened: Opened) -> Memories:
    assert opened.keyring is not None
    workings = Workings.over(
        opened.store,
        opened.keyring,
        clock=opened.clock,
        ids=opened.ids,
        engine=TrustingEngine(),
        finder=RulesExtractor(),
        summarizer=ExtractiveSummarizer(),
        rules=Rules(),
    )
    return Memories(workings, local_caller(TENANT))


def _prepare_pending(opened: Opened) -> None:
    mine = memories(opened)
    drive(mine.capture([{"text": "My name is Ada."}]))
    opened.clock.advance(1)
    drive(mine.capture([{"text": "My name is Ada Lovelace. I prefer tea."}], remember="later"))


def _look(opened: Opened) -> None:
    drive(memories(opened).remember_pending())


def _prepare_proposal(opened: Opened) -> None:
    mine = memories(opened)
    drive(mine.capture([{"text": "My name is Ada."}]))
    candidate = {
        "entity_ceid": "user:admin",
        "predicate": "name",
        "value": "Grace",
        "evidence_refs": ["tool:x:1"],
        "confidence": 0.9,
    }
    told = drive(mine.propose({"candidate": candidate, "class": "evidence_link"}))
    assert told["outcome"] == "waiting"


def _approve(opened: Opened) -> None:
    mine = memories(opened)
    waiting = drive(mine.list_proposals())["proposals"]
    with suppress(ReviewRefused):
        for each in waiting:
            drive(mine.approve_proposal(each["proposal_id"]))


def _reject(opened: Opened) -> None:
    mine = memories(opened)
    for each in drive(mine.list_proposals())["proposals"]:
        drive(mine.reject_proposal(each["proposal_id"]))


@FAULTS
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(_prepare_pending, _look, sealed=True), id="looking into a capture"),
        pytest.param(Case(_prepare_proposal, _approve, sealed=True), id="approving"),
        pytest.param(Case(_prepare_proposal, _reject, sealed=True), id="rejecting"),
    ],
)
def test_what_fails_anywhere_is_done_wholly_or_not_at_all_and_once_when_repeated(case: Case, fault: Fault) -> None:
    report = explored(case, fault)
    print(f"{fault.name}: {report.points} points, {report.unknown} unknown")
    assert report.findings == []
    assert report.points >= 10


def test_the_harness_finds_a_record_without_its_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue entry that is taken away before the rest is committed is noticed."""
    keep = Shelving.keep

    def apart(self: Shelving, waiting: Any) -> None:
        if waiting.status == "approved":
            store = self.draft.unit._store
            from recollect.domain.commits import Commit, Delete
            from recollect.service.pipeline.places import queued

            with suppress(StopIteration):
                store.commit(Commit(self.tenant, (Delete(queued(waiting.id)),))).send(None)
        keep(self, waiting)

    monkeypatch.setattr(Shelving, "keep", apart)
    assert explored(Case(_prepare_proposal, _approve, sealed=True), BROKEN).findings


# -- a revocation, which is told once everything that rested on the consent is ended


CONSENT = {
    "consent_id": "cns_1",
    "subject_ceid": "user:admin",
    "basis": "user_opt_in",
    "purpose": "care",
    "scope": {"predicates_allowed": ["health"], "data_classifications_allowed": ["INTERNAL"]},
    "evidence_refs": ["form:1"],
}


def _prepare_consent(opened: Opened) -> None:
    mine = memories(opened)
    drive(mine.capture_consent(CONSENT))
    drive(mine.capture([{"text": "I have asthma."}]))
    _approve(opened)


def _revoke(opened: Opened) -> None:
    mine = memories(opened)
    with suppress(InvalidRequest):  # it was revoked, and what rested on it is not ended yet
        drive(mine.revoke_consent("cns_1"))
    drive(mine.remember_pending())


def _revoked_soundly(opened: Opened) -> str:
    """What is wrong with a revocation that was made, if anything."""
    mine = memories(opened)
    told = [each for each in drive(mine.list_signals())["signals"] if each.get("type") == "memory.consent_revoked"]
    if [each["impacted"] for each in told] != [1]:
        return f"it was told {told}"
    if drive(mine.list_records())["records"]:
        return "a record is still there"
    if drive(opened.store.find(TENANT, Find(Plane.RECORD, limit=10))).rows:
        return "what a record says is still kept"
    return "a note is left" if drive(opened.store.find(TENANT, Find(Plane.LINK, LAPSES, limit=10))).rows else ""


def _swept(fault: Fault) -> tuple[int, list[str]]:
    """Revoke a consent with a failure at every operation in turn: how many those are, and what was wrong."""
    findings: list[str] = []
    with memory_files() as files:
        opened = open_store(files, sealed=True)
        _prepare_consent(opened)
        opened.close()
        base = files.copy()
        for nth in range(1, MOST_POINTS):
            files.contents = {path: bytearray(data) for path, data in base.items()}
            opened = opened_later(files, sealed=True)
            failing = FailAt(files, fault, nth)
            files.watch = failing
            with suppress(StoreTrouble):
                _revoke(opened)
            files.watch = None
            left = files.copy()
            opened.close()
            files.contents = {path: bytearray(data) for path, data in left.items()}
            again = opened_later(files, sealed=True)
            again.clock.advance(60)
            mine = memories(again)
            state = drive(mine.get_consent("cns_1"))["state"]
            if (state == "active") != bool(drive(mine.list_records())["records"]):
                findings.append(f"at {nth}: the consent is {state}, and what rests on it is seen otherwise")
            _revoke(again)
            if flaw := _revoked_soundly(again):
                findings.append(f"at {nth}: {flaw}")
            again.close()
            if failing.hit is None:
                return nth - 1, findings
    raise AssertionError("there is no end to the operations")


@FAULTS
def test_a_revocation_that_fails_anywhere_hides_at_once_ends_everything_and_is_told_once(fault: Fault) -> None:
    points, findings = _swept(fault)
    print(f"{fault.name}: {points} points")
    assert findings == []
    assert points >= 10


def test_that_harness_finds_a_revocation_that_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consenting, "_note", lambda *_: None)
    _, findings = _swept(BROKEN)
    assert findings
