"""The way in at the client: what is repeated and what never is, what is refused before it is sent, and whole ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.sdk.scripted import call, drops, fails, says, scripted
from tests.sdk.service import Service
from tests.sdk.test_against_server import Both

from recollect_client import AsyncClient, Client, errors
from recollect_client._requests import Call

TOLD = {"captures": [{"capture_id": "cap_1", "state": "done", "remembered": []}]}
SAID = [{"text": "I prefer tea.", "session": "s1"}]
SLASHED = "session:alice/s1:semantic:1"
CLAIM = {
    "candidate": {
        "entity_ceid": "project:apollo",
        "predicate": "ships_on",
        "value": "friday",
        "evidence_refs": ["tool:x:1"],
        "confidence": 0.9,
    },
    "class": "decision_outcome",
}
ONCE: dict[str, tuple[Any, ...]] = {
    "capture": (SAID,),
    "propose": (CLAIM,),
    "approve_proposal": ("mwp_1",),
    "reject_proposal": ("mwp_1",),
    "claim_proposal": ("mwp_1",),
    "release_proposal": ("mwp_1",),
    "review_many": ("approve", ["mwp_1"]),
    "resolve_contradiction": ("ctr_1", "existing"),
    "correct_record": (SLASHED,),
    "retract_record": (SLASHED,),
    "pin_record": (SLASHED,),
    "promote_record": (SLASHED, "project"),
    "start_phase": ("t",),
    "undo": (),
    "capture_consent": ({},),
    "revoke_consent": ("cns_1",),
}
AGAIN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "get_capture": (("cap_1",), {}),
    "list_captures": ((), {}),
    "would_remember": (({"text": "x"},), {}),
    "get_record": ((SLASHED,), {}),
    "list_records": ((), {}),
    "list_proposals": ((), {}),
    "get_proposal": (("mwp_1",), {}),
    "review_load": ((), {}),
    "get_consent": (("cns_1",), {}),
    "list_consents": (("user:alice",), {}),
    "list_contradictions": ((), {}),
    "list_signals": ((), {}),
    "review_many": (("approve", ["mwp_1"]), {"dry_run": True}),
    "undo": ((), {"source": "x", "dry_run": True}),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


def test_every_call_of_the_way_in_is_here() -> None:
    inherited = next(each for each in AsyncClient.__mro__ if each.__name__ == "AsyncRemembering")
    assert set(ONCE) | set(AGAIN) == {name for name in vars(inherited) if name[0] != "_"}


@pytest.mark.parametrize("method", sorted(ONCE))
def test_what_changes_something_is_not_repeated_when_its_answer_was_lost(flavour: str, method: str) -> None:
    with scripted(drops, says(200, TOLD)) as server, pytest.raises(errors.ConnectionFailed):
        call(flavour, server.url, method, *ONCE[method])
    assert len(server.requests) == 1
    assert "idempotency-key" not in server.requests[0].headers


@pytest.mark.parametrize("method", sorted(ONCE))
def test_what_was_certainly_not_done_is_tried_again(flavour: str, method: str) -> None:
    with scripted(fails(503, "store_busy"), says(200, TOLD)) as server:
        call(flavour, server.url, method, *ONCE[method])
    assert len(server.requests) == 2


@pytest.mark.parametrize("method", sorted(AGAIN))
def test_what_changes_nothing_is_repeated(flavour: str, method: str) -> None:
    given, named = AGAIN[method]
    with scripted(drops, says(200, TOLD)) as server:
        assert call(flavour, server.url, method, *given, **named) == TOLD
    assert len(server.requests) == 2


def test_a_capture_with_a_key_is_repeated_with_the_same_key(flavour: str) -> None:
    with scripted(drops, says(200, TOLD)) as server:
        assert call(flavour, server.url, "capture", SAID, idempotency_key="mine") == TOLD["captures"]
    assert [each.headers["idempotency-key"] for each in server.requests] == ["mine", "mine"]
    assert server.requests[1].json == {"captures": SAID, "remember": "now"}


@pytest.mark.parametrize("record", [SLASHED, "user:a b%2F/c:semantic:1", "user:日:profile:2"])
def test_an_id_is_one_segment_whatever_it_contains(flavour: str, record: str) -> None:
    with scripted(says(200, {})) as server:
        call(flavour, server.url, "pin_record", record, pinned=False)
    assert server.requests[0].target == f"/v1/records/{quote(record, safe='')}/unpin"
    assert server.requests[0].body == b""


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.capture({"text": "x"}), errors.InvalidCapture),
        (lambda c: c.capture("x"), errors.InvalidCapture),
        (lambda c: c.capture([{"text": "x", "refs": {1}}]), errors.InvalidCapture),
        (lambda c: c.capture(SAID, idempotency_key=""), errors.InvalidCommit),
        (lambda c: c.would_remember("x"), errors.InvalidCapture),
        (lambda c: c.propose([]), errors.InvalidValue),
        (lambda c: c.propose({"candidate": float("nan")}), errors.InvalidValue),
        (lambda c: c.capture_consent("x"), errors.InvalidValue),
        (lambda c: c.revoke_consent("x", evidence_refs="yes"), errors.InvalidValue),
        (lambda c: c.review_many("approve", "mwp_1"), errors.InvalidRequest),
        (lambda c: c.pin_record("x", pinned="no"), errors.InvalidRequest),
        (lambda c: c.get_record(".."), errors.InvalidQuery),
        (lambda c: c.get_proposal(""), errors.InvalidQuery),
        (lambda c: c.undo(after="yesterday"), errors.InvalidExpiry),
        (lambda c: c.justified("a trial").list_records(), errors.Forbidden),
        (lambda c: c.justified("a trial").capture(SAID), errors.Forbidden),
        (lambda c: c.justified("a trial", as_user_id="bob").get_record("user:bob:profile:1"), errors.Forbidden),
    ],
)
def test_what_would_not_arrive_as_it_is_meant_is_refused_here(
    ask: Callable[[Client], Any], error: type[errors.RecollectError]
) -> None:
    with scripted(says(200, {})) as server, Client(server.url, "t") as client:
        with pytest.raises(error) as caught:
            ask(client)
        assert type(caught.value) is error
    assert server.requests == []


def test_what_is_captured_for_later_is_remembered_when_asked_for(flavour: str, service: Service) -> None:
    with Both(flavour, service.url, service.token) as client:
        (told,) = client.capture([{"text": f"I prefer {flavour} tea."}], remember="later", idempotency_key=flavour)
        assert client.remember_pending() >= 0
        (again,) = client.capture([{"text": f"I prefer {flavour} tea."}], remember="now", idempotency_key=flavour)
        assert (again["capture_id"], again["state"], again["replayed"]) == (told["capture_id"], "done", True)
        (found,) = again["remembered"]
        assert client.get_record(found["record_id"])["text"] == f"I prefer {flavour} tea."


def test_a_slash_divides_a_path_only_where_it_was_sent_as_one(service: Service) -> None:
    with Client(service.url, service.token) as client:
        told = client.propose(CLAIM | {"space": "session", "session": "s1"})
        record = client.approve_proposal(told["proposal_id"])["record_id"]
        assert record == "session:admin/s1:semantic:1"
        assert client.get_record(record)["id"] == record
        with pytest.raises(errors.NotFound, match="record not found"):
            client.get_record(quote(record, safe=""))
        with pytest.raises(errors.NotFound, match="nothing at this path"):
            client._send(Call("GET", f"/v1/records/{record}"))
