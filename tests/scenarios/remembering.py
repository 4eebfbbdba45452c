"""Scenarios of the way in: what is said becomes a record, or waits for a person, or stays out; all can be undone."""

from __future__ import annotations

from typing import Any

from tests.scenarios.door import Door
from tests.scenarios.play import Cast, refused, scene

WAY_IN = "the way in"
CONSENT = {
    "consent_id": "cns_2026_05_04_a01",
    "subject_ceid": "customer:cus_77",
    "purpose": "support_personalization",
    "scope": {
        "predicates_allowed": ["prefers_communication_channel", "preferred_language"],
        "data_classifications_allowed": ["INTERNAL"],
    },
    "basis": "user_opt_in",
    "evidence_refs": ["channel:app_chat:msg_881", "consent_screen:v3"],
}
CUSTOMER = {
    "entity_ceid": "customer:cus_77",
    "predicate": "prefers_communication_channel",
    "value": "email",
    "evidence_refs": ["tool:crm.lookup:tc_212", "session:sess_42f1"],
    "confidence": 0.93,
}


def claim(value: str, *, entity: str = "project:apollo", predicate: str = "ships_on", **more: Any) -> dict[str, Any]:
    """A proposal that somebody makes."""
    candidate = {"entity_ceid": entity, "predicate": predicate, "value": value, "confidence": 0.9}
    return {"candidate": candidate | {"evidence_refs": ["tool:x:1"]}, "class": "decision_outcome", **more}


def texts(door: Door, **named: Any) -> list[str]:
    """What the records of a space say."""
    return [each["text"] for each in door.list_records(**named)["records"]]


@scene("what a user says of themself becomes a record, which only they see", WAY_IN)
def captured(cast: Cast) -> None:
    said = [{"text": "My name is Ada.", "session": "s1"}, {"text": "The weather is fine.", "session": "s2"}]
    first, second = cast.alice.capture(said)
    (found,) = first["remembered"]
    assert (first["state"], found["outcome"], second["remembered"]) == ("done", "promoted", [])
    assert cast.alice.get_record(found["record_id"])["text"] == "My name is Ada."
    assert texts(cast.alice, kind="profile") == ["My name is Ada."]
    assert texts(cast.alice, tier="working") == []
    assert cast.alice.get_capture(first["capture_id"])["remembered"] == [found]
    assert len(cast.alice.list_captures(session="s1")["captures"]) == 1
    assert len(cast.alice.list_traces()["traces"]) >= 1
    assert texts(cast.bob) == []
    for ask in (cast.bob.get_record, cast.bob.retract_record, cast.bob.pin_record):
        with refused("not_found"):
            ask(found["record_id"])
    with refused("not_found"):
        cast.bob.get_capture(first["capture_id"])
    with refused("forbidden"):
        cast.reader.capture(said)


@scene("a repeated request captures once", WAY_IN)
def captured_once(cast: Cast) -> None:
    first = cast.alice.capture([{"text": "I prefer tea."}], idempotency_key="k")
    again = cast.alice.capture([{"text": "I prefer tea."}], idempotency_key="k")
    assert again == [first[0] | {"replayed": True}]
    with refused("idempotency_mismatch"):
        cast.alice.capture([{"text": "I prefer coffee."}], idempotency_key="k")
    assert len(cast.alice.list_captures()["captures"]) == 1


@scene("what cannot be captured is refused", WAY_IN)
def not_captured(cast: Cast) -> None:
    unknown, unheard = {"text": "x", "channel": "console"}, {"text": "x", "kind": "dream"}
    several: list[list[dict[str, Any]]] = [[], [{}], [{"text": " "}], [unknown], [unheard]]
    for wrong in several:
        with refused("invalid_capture"):
            cast.alice.capture(wrong)
    with refused("invalid_capture"):
        cast.alice.capture([{"text": "x", "speaker": "operator"}])
    with refused("invalid_capture"):
        cast.alice.capture([{"text": "x"}], remember="perhaps")
    assert cast.alice.list_captures()["captures"] == []


@scene("a dry run says what would be remembered, and writes nothing", WAY_IN)
def dry_run(cast: Cast) -> None:
    told = cast.alice.would_remember({"text": "My timezone is CET. my password is hunter2"})
    assert {each["outcome"] for each in told["would"]} == {"denied", "promoted"}
    assert told["withheld"] is True
    assert texts(cast.alice) == []
    assert cast.alice.list_captures()["captures"] == []


@scene("what was inferred waits until a person approves it", WAY_IN)
def approved(cast: Cast) -> None:
    told = cast.alice.propose(claim("friday"))
    assert (told["outcome"], told["rule"]) == ("waiting", "inferred")
    assert texts(cast.alice) == []
    with refused("forbidden"):
        cast.alice.approve_proposal(told["proposal_id"])
    with refused("not_found"):
        cast.bob.get_proposal(told["proposal_id"])
    assert cast.alice.get_proposal(told["proposal_id"])["status"] == "waiting"
    (waiting,) = cast.reviewer.list_proposals()["proposals"]
    assert cast.reviewer.review_load()["waiting"] == 1
    assert cast.reviewer.claim_proposal(waiting["proposal_id"], seconds=60)["claimed_by"] == "maria"
    with refused("review_refused"):
        cast.second.approve_proposal(waiting["proposal_id"])
    cast.reviewer.release_proposal(waiting["proposal_id"])
    edit = {"value": "thursday", "text": "Apollo ships on Thursday."}
    done = cast.second.approve_proposal(waiting["proposal_id"], edit=edit, note="asked them")
    assert (done["status"], done["decided_by"], done["note"]) == ("approved", "theo", "asked them")
    assert cast.alice.get_record(done["record_id"])["value"] == "thursday"
    with refused("review_refused"):
        cast.reviewer.reject_proposal(waiting["proposal_id"])
    assert cast.reviewer.list_proposals()["proposals"] == []


@scene("what was rejected is not proposed again", WAY_IN)
def rejected(cast: Cast) -> None:
    told = cast.alice.propose(claim("friday"))
    assert cast.reviewer.reject_proposal(told["proposal_id"], note="it does not")["status"] == "rejected"
    again = cast.alice.propose(claim(" Friday"))
    assert (again["outcome"], again["reason"]) == ("denied", "rejected_before")
    assert cast.alice.propose(claim("monday"))["outcome"] == "waiting"
    assert [each["kind"] for each in cast.alice.list_signals()["signals"]] == ["candidate_rejected"]


@scene("the durable tier takes two people, and many are decided at once", WAY_IN)
def four_eyes(cast: Cast) -> None:
    durable = cast.alice.propose(claim("friday", tier_target="durable"))["proposal_id"]
    assert cast.reviewer.approve_proposal(durable)["status"] == "waiting"
    with refused("review_refused"):
        cast.reviewer.approve_proposal(durable)
    assert cast.second.approve_proposal(durable)["status"] == "approved"
    ids = [cast.alice.propose(claim(str(number), predicate="costs"))["proposal_id"] for number in range(2)]
    assert cast.reviewer.review_many("reject", ids, dry_run=True)["counts"] == {"rejected": 2}
    done = cast.reviewer.review_many("reject", [*ids, "mwp_nothing"], note="too much")
    assert done["counts"] == {"refused": 1, "rejected": 2}
    with refused("forbidden"):
        cast.alice.review_many("reject", ids)
    with refused("invalid_request"):
        cast.reviewer.review_many("perhaps", ids)


@scene("without a consent nothing personal waits, and what rests on one goes with it", WAY_IN)
def consents(cast: Cast) -> None:
    proposal = {"candidate": CUSTOMER, "class": "preference"}
    assert cast.admin.propose(proposal)["outcome"] == "denied"
    assert cast.admin.capture_consent(CONSENT)["state"] == "active"
    with refused("invalid_value"):
        cast.admin.capture_consent(CONSENT)
    with refused("invalid_value"):
        cast.admin.capture_consent(CONSENT | {"consent_id": "x", "tenant_id": "another"})
    told = cast.admin.propose(proposal)
    done = cast.reviewer.approve_proposal(told["proposal_id"])
    assert cast.admin.get_record(done["record_id"])["consent_id"] == CONSENT["consent_id"]
    revoked = cast.admin.revoke_consent(CONSENT["consent_id"], evidence_refs=["channel:app_chat:msg_902"])
    assert (revoked["state"], revoked["impacted"]) == ("tombstoned", [done["record_id"]])
    with refused("not_found"):
        cast.admin.get_record(done["record_id"])
    assert len(cast.admin.list_consents("customer:cus_77")["consents"]) == 2
    assert cast.admin.get_consent(CONSENT["consent_id"])["state"] != "active"
    with refused("not_found"):
        cast.admin.get_consent("cns_nothing")


@scene("a record is corrected, pinned and taken back", WAY_IN)
def corrected(cast: Cast) -> None:
    (found,) = cast.alice.capture([{"text": "My name is Ada."}])[0]["remembered"]
    cast.pass_time(0.01)
    told = cast.alice.correct_record(found["record_id"], value="Grace", text="My name is Grace.", note="misheard")
    assert told["outcome"] == "promoted"
    assert cast.alice.get_record(told["record_id"])["supersedes"] == [found["record_id"]]
    with refused("not_found"):
        cast.alice.get_record(found["record_id"])
    assert cast.alice.pin_record(told["record_id"])["pinned"] is True
    assert cast.alice.pin_record(told["record_id"], pinned=False)["pinned"] is False
    with refused("invalid_request"):
        cast.alice.correct_record(told["record_id"])
    with refused("not_found"):
        cast.bob.correct_record(told["record_id"], value="Bob")
    assert cast.alice.retract_record(told["record_id"]) == {"record_id": told["record_id"], "retracted": True}
    with refused("not_found"):
        cast.alice.retract_record(told["record_id"])
    assert texts(cast.alice) == []


@scene("what came from a bad session is undone, with what was derived from it", WAY_IN)
def undone(cast: Cast) -> None:
    first = cast.alice.capture([{"text": "I prefer tea.", "session": "bad"}])
    cast.alice.capture([{"text": "I prefer coffee.", "session": "good"}])
    record = first[0]["remembered"][0]["record_id"]
    derived = cast.alice.propose(claim("tea", entity="user:alice", predicate="drinks", derived_from=[record]))
    cast.reviewer.approve_proposal(derived["proposal_id"])
    assert len(texts(cast.alice)) == 3
    assert cast.alice.undo(source="bad", dry_run=True) == {"dry_run": True, "records": 2, "proposals": 0}
    assert cast.alice.undo(source="bad")["records"] == 2
    assert texts(cast.alice) == ["I prefer coffee."]
    with refused("invalid_request"):
        cast.alice.undo()
    with refused("forbidden"):
        cast.reader.undo(source="good")
    assert cast.reviewer.undo(principal="alice")["records"] == 1
    assert texts(cast.alice) == []


@scene("a person settles what contradicts what is known", WAY_IN)
def contradictions(cast: Cast) -> None:
    cast.alice.capture([{"text": "My name is Ada."}])
    proposal = claim("Eve", entity="user:alice", predicate="name") | {"class": "evidence_link"}
    assert cast.alice.propose(proposal)["outcome"] == "waiting"
    (found,) = cast.reviewer.list_contradictions()["contradictions"]
    assert cast.alice.list_contradictions()["contradictions"] == [found]
    assert cast.bob.list_contradictions()["contradictions"] == []
    with refused("invalid_request"):
        cast.reviewer.resolve_contradiction(found["id"], "nobody")
    with refused("forbidden"):
        cast.alice.resolve_contradiction(found["id"], "candidate")
    done = cast.reviewer.resolve_contradiction(found["id"], "existing", note="she said so")
    assert done["proposal"]["status"] == "rejected"
    assert texts(cast.alice) == ["My name is Ada."]
    assert cast.reviewer.list_contradictions()["contradictions"] == []
    assert len(cast.reviewer.list_contradictions(status="resolved")["contradictions"]) == 1


@scene("what is of a session has an id with a slash, at every door", WAY_IN)
def slashes(cast: Cast) -> None:
    told = cast.alice.propose(claim("red", predicate="builds", space="session", session="s/1 %2F"))
    plain = cast.alice.propose(claim("red", predicate="builds", space="session", session="s1"))
    first, second = (cast.reviewer.approve_proposal(each["proposal_id"])["record_id"] for each in (told, plain))
    assert second == "session:alice/s1:semantic:1"
    assert cast.alice.get_record(second)["session"] == "s1"
    assert cast.alice.pin_record(second)["pinned"] is True
    with refused("not_found"):
        cast.alice.get_record(second.replace("/", "%2F"))
    with refused("not_found"):
        cast.alice.get_record("session:alice/s1")
    assert [each["id"] for each in cast.alice.list_records(space="session", session="s/1 %2F")["records"]] == [first]
    cast.alice.retract_record(second)
    assert texts(cast.alice, space="session", session="s1") == []
    with refused("invalid_query"):
        cast.alice.list_records(space="session")


@scene("phases begin once for each token, and what is for a project waits", WAY_IN)
def phases(cast: Cast) -> None:
    cast.alice.capture([{"text": "We decided to ship weekly."}])
    began = cast.alice.start_phase("t1", name="second", reason="a new release")
    assert (began["began"], began["phase"]["phase_id"]) == (True, "phase-2")
    assert cast.alice.start_phase("t1")["began"] is False
    (record,) = cast.alice.list_records(event_type="decision")["records"]
    with refused("invalid_request"):
        cast.alice.promote_record(record["id"], "project")
    denied = cast.alice.promote_record(record["id"], "project", project="apollo")
    assert (denied["outcome"], denied["reason"]) == ("denied", "write_space_disallowed")
    told = cast.member.promote_record(record["id"], "project", project="apollo")
    assert told["outcome"] == "waiting"
    (waiting,) = cast.reviewer.list_proposals(limit=1)["proposals"]
    assert waiting["rule"] == "crosses_spaces"
