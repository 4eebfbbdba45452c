"""Consent, from end to end: the seed's examples, each of its invariants, and what each failure mode comes to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.pipeline.scene import TENANT, Scene
from tests.promotion import seed

from recollect.domain.errors import InvalidInput, NotFound, ReviewRefused
from recollect.domain.instants import parse_rfc3339
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.service.pipeline import lapsing, shelving
from recollect.service.pipeline.lapsing import Lapsing
from recollect.service.pipeline.places import LAPSES

CONSENT: dict[str, Any] = json.loads(seed.CONSENT)
PROPOSAL: dict[str, Any] = json.loads(seed.PROPOSAL)
SUBJECT = CONSENT["subject_ceid"]


@pytest.fixture
async def at_the_time(here: Scene) -> Scene:
    """The scene a minute after the seed's consent was captured."""
    moment = parse_rfc3339("2026-05-04T09:31:00Z")
    assert moment is not None
    here.clock.advance((moment - here.clock()) / 1_000_000)
    return here


async def promoted(here: Scene) -> dict[str, Any]:
    """The record of the seed's proposal, under the seed's consent."""
    await here.admin.capture_consent(CONSENT)
    told = await here.alice.propose(PROPOSAL)
    done = await here.maria.approve_proposal(told["proposal_id"])
    return await here.alice.get_record(done["record_id"])


async def _cut_off(*_: object) -> None:
    raise OSError("cut off")


async def lapsed(here: Scene) -> AsyncIterator[str]:
    """The notes of what is to be ended."""
    page = await here.root.workings.store.find(TENANT, Find(Plane.LINK, LAPSES, order=Order.KEY, limit=100))
    for row in page.rows:
        yield row.address.key


# -- the examples


async def test_the_consent_of_the_seed_is_accepted_and_given_back(at_the_time: Scene) -> None:
    told = await at_the_time.admin.capture_consent(CONSENT)
    assert {name: told[name] for name in CONSENT} == CONSENT
    assert told["state"] == "active"
    assert {name: (await at_the_time.admin.get_consent(CONSENT["consent_id"]))[name] for name in CONSENT} == CONSENT


async def test_the_proposal_of_the_seed_is_accepted_and_produced(at_the_time: Scene) -> None:
    await at_the_time.admin.capture_consent(CONSENT)
    told = await at_the_time.alice.propose(PROPOSAL)
    shown = await at_the_time.maria.get_proposal(told["proposal_id"])
    mine = {"proposal_id": told["proposal_id"], "auto_promote_eligible": False}
    assert {name: shown[name] for name in PROPOSAL} == PROPOSAL | mine
    assert (shown["status"], shown["rule"]) == ("waiting", "behavioral_untrusted")


async def test_what_a_tenant_lets_promote_itself_is_told_as_in_the_seed(at_the_time: Scene) -> None:
    """With a rule of its own, the service produces the seed's proposal with all its fields."""
    await at_the_time.admin.capture_consent(CONSENT)
    rule = (
        "package memories.review\nimport rego.v1\n"
        'decision := {"decision": "approve", "reason": "agreed", "rule": "channels"} if '
        'input.proposal.predicate == "prefers_communication_channel"\n'
        'default decision := {"decision": "review", "reason": "", "rule": "default"}\n'
    )
    await at_the_time.admin.push_policy({"memories/review.rego": rule})
    told = await at_the_time.alice.propose(PROPOSAL)
    assert told["outcome"] == "promoted"
    shown = await at_the_time.alice.get_proposal(told["proposal_id"])
    assert {name: shown[name] for name in PROPOSAL} == PROPOSAL | {"proposal_id": told["proposal_id"]}
    record = await at_the_time.alice.get_record(told["record_id"])
    assert record["consent_id"] == CONSENT["consent_id"]


# -- the invariants


@pytest.mark.parametrize("write_class", ["preference", "decision_outcome", "correction", "evidence_link"])
async def test_personal_data_without_a_live_consent_never_enters_the_queue(here: Scene, write_class: str) -> None:
    told = await here.alice.propose(PROPOSAL | {"class": write_class})
    assert (told["outcome"], told["reason"]) == ("denied", "consent_missing")
    assert await here.waiting() == []
    assert (await here.maria.list_proposals(status="rejected"))["proposals"] == []
    assert "memory_denied" in [each["type"] for each in await here.events()]


async def test_the_matched_consent_is_on_the_record(at_the_time: Scene) -> None:
    assert (await promoted(at_the_time))["consent_id"] == CONSENT["consent_id"]


async def test_from_the_revocation_on_nothing_that_rested_on_it_is_given(at_the_time: Scene) -> None:
    record = await promoted(at_the_time)
    told = await at_the_time.admin.revoke_consent(CONSENT["consent_id"])
    assert (told["impacted"], told["state"]) == ([record["id"]], "tombstoned")
    assert told["event"]["type"] == "memory.consent_revoked"
    assert told["event"]["impacted"] == 1
    with pytest.raises(NotFound):
        await at_the_time.alice.get_record(record["id"])
    assert await at_the_time.texts() == []
    gone = [each for each in await at_the_time.events() if each["type"] == "memory_deleted"]
    assert [each["reason"] for each in gone] == ["consent_revoked"]
    again = await at_the_time.alice.propose(PROPOSAL)
    assert (again["outcome"], again["reason"]) == ("denied", "consent_missing")
    signals = (await at_the_time.admin.list_signals())["signals"]
    assert "memory.consent_revoked" in {each.get("type") for each in signals}


async def test_a_consent_that_is_taken_back_while_a_proposal_waits_ends_it(at_the_time: Scene) -> None:
    await at_the_time.admin.capture_consent(CONSENT)
    told = await at_the_time.alice.propose(PROPOSAL)
    await at_the_time.admin.revoke_consent(CONSENT["consent_id"])
    with pytest.raises(ReviewRefused, match="the proposal was withdrawn"):
        await at_the_time.maria.approve_proposal(told["proposal_id"])
    assert await at_the_time.texts() == []
    assert await at_the_time.waiting() == []
    shown = await at_the_time.alice.get_proposal(told["proposal_id"])
    assert (shown["status"], shown["text"], shown["candidate"]["value"]) == ("withdrawn", "(redacted)", "(redacted)")


async def test_a_reviewer_cannot_make_something_personal_that_waits_without_consent(at_the_time: Scene) -> None:
    candidate = PROPOSAL["candidate"] | {"predicate": "likes", "value": "tea"}
    told = await at_the_time.alice.propose({"candidate": candidate, "class": "evidence_link"})
    with pytest.raises(ReviewRefused, match="no live consent covers this"):
        await at_the_time.maria.approve_proposal(told["proposal_id"], edit={"predicate": "health"})
    assert (await at_the_time.maria.get_proposal(told["proposal_id"]))["candidate"]["predicate"] == "likes"


async def test_what_an_expired_consent_covered_is_ended_and_told(at_the_time: Scene) -> None:
    record = await promoted(at_the_time)
    at_the_time.clock.advance(366 * 86_400)
    await at_the_time.admin.remember_pending()
    rows = [each async for each in lapsed(at_the_time)]
    assert rows == []
    (told,) = [each for each in await at_the_time.events() if each["type"] == "memory_deleted"]
    assert (told["memory_id"], told["reason"]) == (record["id"], "consent_lost")


async def test_a_revocation_that_was_cut_off_is_finished_later_and_told_once(
    at_the_time: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await promoted(at_the_time)
    with monkeypatch.context() as patched:
        patched.setattr(Lapsing, "settle", _cut_off)
        with pytest.raises(OSError, match="cut off"):
            await at_the_time.admin.revoke_consent(CONSENT["consent_id"])
    with pytest.raises(NotFound):
        await at_the_time.alice.get_record(record["id"])
    assert len([each async for each in lapsed(at_the_time)]) == 2  # and one for when its time is over
    for _ in range(2):
        await at_the_time.admin.remember_pending()
        signals = (await at_the_time.admin.list_signals())["signals"]
        (told,) = [each for each in signals if each.get("type") == "memory.consent_revoked"]
        assert told["impacted"] == 1
    gone = [each for each in await at_the_time.events() if each["type"] == "memory_deleted"]
    assert [(each["memory_id"], each["reason"]) for each in gone] == [(record["id"], "consent_revoked")]


async def test_a_revocation_counts_however_many_consents_came_before(
    at_the_time: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelving, "_CONSENTS", 2)
    monkeypatch.setattr(lapsing, "_CONSENTS", 2)
    record = await promoted(at_the_time)
    for number in range(5):
        await at_the_time.admin.capture_consent(CONSENT | {"consent_id": f"cns_more_{number}"})
    assert (await at_the_time.admin.revoke_consent(CONSENT["consent_id"]))["impacted"] == [record["id"]]
    assert (await at_the_time.alice.propose(PROPOSAL))["outcome"] == "waiting"  # by one of the others


async def test_traces_have_no_words_of_what_rests_on_consent_or_lacks_it(at_the_time: Scene) -> None:
    assert await at_the_time.outcomes("I have diabetes.") == ["denied"]
    scope = {"predicates_allowed": ["health"], "data_classifications_allowed": ["INTERNAL"]}
    mine = CONSENT | {"subject_ceid": "user:alice", "scope": scope}
    await at_the_time.alice.capture_consent(mine)
    (waits,) = await at_the_time.say("I have asthma.")
    assert (await at_the_time.maria.approve_proposal(waits["proposal_id"]))["status"] == "approved"
    assert await at_the_time.texts() == ["I have asthma."]
    told = json.dumps([await at_the_time.events(), await at_the_time.alice.list_signals()]).casefold()
    assert '"memory_write"' in told
    assert "diabetes" not in told
    assert "asthma" not in told


async def test_an_expired_consent_covers_nothing_any_more(at_the_time: Scene) -> None:
    record = await promoted(at_the_time)
    at_the_time.clock.advance(366 * 86_400)
    with pytest.raises(NotFound):
        await at_the_time.alice.get_record(record["id"])
    assert await at_the_time.texts() == []
    assert (await at_the_time.admin.get_consent(CONSENT["consent_id"]))["state"] == "expired"


async def test_consents_are_never_changed_only_superseded(at_the_time: Scene) -> None:
    record = await promoted(at_the_time)
    with pytest.raises(InvalidInput, match="id_taken"):
        await at_the_time.admin.capture_consent(CONSENT | {"purpose": "marketing"})
    narrower = CONSENT | {
        "consent_id": "cns_2",
        "supersedes": CONSENT["consent_id"],
        "scope": {"predicates_allowed": ["preferred_language"], "data_classifications_allowed": ["INTERNAL"]},
    }
    told = await at_the_time.admin.capture_consent(narrower)
    assert told["impacted"] == [record["id"]]
    shown = (await at_the_time.admin.list_consents(SUBJECT))["consents"]
    assert [(each["consent_id"], each["state"]) for each in shown] == [
        (CONSENT["consent_id"], "superseded"),
        ("cns_2", "active"),
    ]
    assert {name: shown[0][name] for name in CONSENT} == CONSENT
    assert await at_the_time.texts() == []


async def test_consent_never_reaches_from_one_tenant_to_another(at_the_time: Scene) -> None:
    with pytest.raises(InvalidInput, match="other_tenant"):
        await at_the_time.admin.capture_consent(CONSENT | {"tenant_id": "another"})
    await at_the_time.admin.capture_consent(CONSENT)
    elsewhere = at_the_time.root.for_tenant("another")
    with pytest.raises(NotFound):
        await elsewhere.get_consent(CONSENT["consent_id"])
    told = await elsewhere.propose(PROPOSAL)
    assert (told["outcome"], told["reason"]) == ("denied", "consent_missing")
    assert at_the_time.root.for_tenant(TENANT) is not elsewhere


async def test_people_consent_for_themselves_and_for_nobody_else(here: Scene) -> None:
    mine = CONSENT | {"consent_id": "cns_mine", "subject_ceid": "user:alice"}
    mine |= {"captured_at": "2026-01-01T00:00:00Z", "valid_until": None}
    with pytest.raises(Exception, match="access denied"):
        await here.alice.capture_consent(CONSENT)
    with pytest.raises(Exception, match="access denied"):
        await here.as_user("bob").capture_consent(mine)
    await here.alice.capture_consent(mine)
    with pytest.raises(NotFound):
        await here.as_user("bob").revoke_consent("cns_mine")


# -- the failure modes


async def test_every_class_of_record_ends_when_its_tier_says(here: Scene) -> None:
    (found,) = await here.say("We decided to ship weekly.", session="s")
    record = await here.alice.get_record(found["record_id"])
    assert (record["tier"], record["ends_at"]) == ("semantic", None)
    told = await here.alice.propose(
        {
            "candidate": {
                "entity_ceid": "project:apollo",
                "predicate": "status",
                "value": "green",
                "evidence_refs": ["tool:x:1"],
                "confidence": 0.9,
            },
            "class": "evidence_link",
            "tier_target": "working",
        }
    )
    done = await here.maria.approve_proposal(told["proposal_id"])
    assert len(await here.texts()) == 2
    here.clock.advance(4 * 3_600 + 1)
    with pytest.raises(NotFound):
        await here.alice.get_record(done["record_id"])
    assert len(await here.texts()) == 1
    assert await here.admin.remember_pending() == 1
    assert await here.admin.remember_pending() == 0
    ended = [each for each in await here.events() if each.get("memory_id") == done["record_id"]]
    assert [(each["type"], each["reason"]) for each in ended] == [
        ("memory_forget", "ttl_expired"),
        ("memory_deleted", "expired"),
    ]


async def test_what_differs_is_put_before_a_person_and_not_settled_by_itself(here: Scene) -> None:
    await here.say("My name is Ada.")
    told = await here.alice.propose(
        {
            "candidate": {
                "entity_ceid": "user:alice",
                "predicate": "name",
                "value": "Eve",
                "evidence_refs": ["tool:x:1"],
                "confidence": 1.0,
            },
            "class": "evidence_link",
        }
    )
    assert (told["outcome"], told["existing"]) == ("waiting", "user:alice:profile:1")
    (event,) = (await here.maria.list_contradictions())["contradictions"]
    assert (event["type"], event["verdict"], event["status"]) == ("memory.contradiction", "contradicts", "open")
    assert await here.texts() == ["My name is Ada."]


async def test_nothing_tells_of_a_record_without_consent_not_even_a_stub(at_the_time: Scene) -> None:
    record = await promoted(at_the_time)
    await at_the_time.admin.revoke_consent(CONSENT["consent_id"])
    page = await at_the_time.alice.list_records()
    assert record["id"] not in json.dumps(page)
    with pytest.raises(NotFound) as refused:
        await at_the_time.alice.get_record(record["id"])
    with pytest.raises(NotFound) as never:
        await at_the_time.alice.get_record("user:alice:semantic:999")
    assert str(refused.value) == str(never.value)
