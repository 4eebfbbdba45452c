"""Whatever a client sends, the answer is one that the contract promises, and never a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.sizes import sized
from tests.surfaces.contracts import each_operation
from tests.surfaces.fuzz import fuzz
from tests.surfaces.serving import PLANTED, PLANTING, Served, served

LIMITS = {"failures_per_second": 0, "rate_per_second": 0, "sweep_seconds": 1}
"""Requests without a credential are part of it and must not be slowed down; sweeps run beside them."""
EVERYTHING = {f"{method.upper()} {path}" for path, method, _ in each_operation()}

NEVER_MET = {"DELETE /admin/v1/tokens/{id}", "DELETE /admin/v1/memories/{id}"}
"""What chance has no id for; other tests do."""


CONSENT = {
    "subject_ceid": "customer:cus_77",
    "purpose": "support",
    "scope": {"predicates_allowed": ["preferred_language"], "data_classifications_allowed": ["INTERNAL"]},
    "basis": "user_opt_in",
    "evidence_refs": ["channel:app_chat:msg_881"],
}


def furnished(service: Served) -> dict[str, str]:
    """For every operation on one thing of the ways in and out, one that is there for it alone."""

    def made(path: str, body: object, method: str = "POST") -> Any:
        answer = service.ask(method, path, body)
        assert answer.status == 200, answer.body
        return answer.json()

    def claim(predicate: str) -> dict[str, object]:
        candidate = {"entity_ceid": "user:admin", "predicate": predicate, "value": "x", "confidence": 0.9}
        return {"candidate": candidate | {"evidence_refs": ["tool:x:1"]}, "class": "evidence_link"}

    there: dict[str, str] = {}
    for name in ("getRecord", "pinRecord", "unpinRecord", "correctRecord", "promoteRecord", "retractRecord", "why"):
        (told,) = made("/v1/captures", {"captures": [{"text": f"I prefer {name}."}]})["captures"]
        there["getCapture"], there[name] = told["capture_id"], told["remembered"][0]["record_id"]
    for name in ("getProposal", "claimProposal", "releaseProposal", "approveProposal", "rejectProposal"):
        there[name] = made("/v1/proposals", claim(name))["proposal_id"]
    for name in ("getConsent", "revokeConsent"):
        there[name] = made("/v1/consents", CONSENT)["consent_id"]
    made("/v1/captures", {"captures": [{"text": "My name is Ada."}]})
    made("/v1/proposals", claim("name"))
    there["resolveContradiction"] = service.ask("GET", "/v1/contradictions").json()["contradictions"][0]["id"]
    memory = {"namespace": ["user", "admin"], "key": "there", "value": {}}
    there["getVersion"] = made("/v1/memories", memory, "PUT")["id"]
    there["getTrace"] = made("/v1/recall", {})["trace_id"]
    there["replaySession"] = made("/v1/sessions/there/turns", {"user": "I prefer tea."})["session"]
    there["getProfile"] = made("/v1/profiles/there", {"settings": {}}, "PUT")["name"]
    return there | talked(made)


def talked(made: Callable[..., Any]) -> dict[str, str]:
    """The same for every operation on one thing of a conversation."""

    def said(text: str, persona: str = "default") -> Any:
        return made("/v1/turns", {"user": text, "ai": "I see.", "persona": persona})

    there: dict[str, str] = {}
    for name in ("getSession", "closeSession", "listSessionMessages"):
        there[name] = said("Hello.", name)["session"]["id"]
    for name in ("Mukesh", "Makesh"):
        said(f"My friend {name} lives in Porto.")
    for number, liked in enumerate(("tea", "jazz", "chess", "opera", *("rain",) * 8)):
        said(f"My friend Zoe likes {liked}." if number < 4 else "How are you?")
    for name in ("getTodo", "changeTodo"):
        there[name] = made("/v1/todos", {"content": f"Look into {name}"})["id"]
    there["getPersona"] = made("/v1/personas/there", {"settings": {}}, "PUT")["name"]
    there["undoEntityChange"] = made("/v1/entities/person:ada", {"label": "Ada"}, "PUT")["change"]["id"]
    there["getEntity"] = there["putEntity"] = there["splitEntity"] = "person:john"
    made("/v1/entities/person:john", {"label": "John", "aliases": ["Jonny"]}, "PUT")
    there["mergeEntities"] = made("/v1/entities/person:jon", {"label": "Jon"}, "PUT")["ref"]
    suggested = made("/v1/entity-suggestions", None, "GET")["suggestions"]
    there["decideEntitySuggestion"] = suggested[0]["id"]
    there["undoCuration"] = made("/v1/curations", {})["id"]
    return there


@sized(1_000, 10_000)
def test_an_administrator_gets_only_what_the_contract_promises(tmp_path: Path, count: int) -> None:
    with served(tmp_path, LIMITS) as service:
        there = furnished(service)
        # A name that was split off leads elsewhere, so that it cannot be given anew.
        first = fuzz(service.url, service.admin_key, 1, edges=False, only="putEntity", there=there)
        found = fuzz(service.url, service.admin_key, count, there=there)
        assert not found.wrong, found.report()
        assert found.cases >= count
        assert found.succeeded | first.succeeded >= EVERYTHING - NEVER_MET
        assert service.ask("POST", "/admin/v1/verify", {}).json()["sound"]


@sized(20, 10_000)
def test_a_user_gets_only_what_the_contract_promises(tmp_path: Path, count: int) -> None:
    with served(tmp_path, LIMITS) as service:
        found = fuzz(service.url, service.new_key("alice"), count, edges=count > 1_000)
        assert not found.wrong, found.report()
        assert found.cases >= count
        assert found.statuses[403]
        assert not [name for name in found.succeeded if "/admin/" in name]


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("spoiled"), LIMITS, spoiled=True) as service:
        yield service


@pytest.mark.parametrize("operation", ["searchMemories", "listAudit"])
@pytest.mark.parametrize("planted", ["", *PLANTED])
def test_a_planted_fault_is_caught(spoiled: Served, planted: str, operation: str) -> None:
    found = fuzz(spoiled.url, spoiled.admin_key, 1, only=operation, headers={PLANTING: planted})
    assert found.cases
    assert bool(found.wrong) is bool(planted), found.report()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("whole"), LIMITS) as service:
        yield service


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-14:00", "1969-12-31T23:59:59Z"]
)
def test_a_moment_that_no_answer_could_show_is_refused_wherever_one_is_taken(whole: Served, moment: str) -> None:
    put: dict[str, object] = {"namespace": ["user", "admin"], "key": "k", "value": {}}
    entry: dict[str, object] = {"sequence": 1, "kind": "add", "at": "2026-01-01T00:00:00Z"} | put
    source, query = "a" * 64, quote(moment)
    refused = [
        whole.ask("PUT", "/v1/memories", put | {"expires_at": moment}),
        whole.ask("POST", "/v1/memories/batch", {"operations": [{"op": "put", "expires_at": moment} | put]}),
        whole.ask("POST", "/v1/memories/search", {"namespace_prefix": [], "as_of": moment}),
        whole.ask("GET", f"/v1/memories?ns=user&ns=admin&key=k&as_of={query}"),
        whole.ask("GET", f"/v1/memories/events?after={query}"),
        whole.ask("GET", f"/v1/memories/events?before={query}"),
        whole.ask("POST", "/admin/v1/tokens", {"user_id": "bob", "expires_at": moment}),
        whole.ask("POST", "/admin/v1/import", {"source": source, "entries": [entry | {"at": moment}]}),
        whole.ask("POST", "/admin/v1/import", {"source": source, "entries": [entry | {"expires_at": moment}]}),
        whole.ask("POST", "/v1/records/undo", {"after": moment}),
        whole.ask("POST", "/v1/consents", CONSENT | {"valid_until": moment}),
    ]
    assert [answer.status for answer in refused] == [400] * len(refused)
    for method, path, body in (
        ("GET", "/v1/memories/events", None),
        ("GET", "/admin/v1/export", None),
        ("POST", "/v1/memories/search", {"namespace_prefix": []}),
    ):
        assert whole.ask(method, path, body).status == 200


@pytest.mark.parametrize(
    "query",
    [
        "/v1/memories?ns=user&ns=admin&key=k&archived=",
        "/v1/memories?ns=user&ns=admin&key=k&as_of=",
        "/v1/memories?ns=user&ns=admin&key=",
        "/v1/memories?ns=user&ns=&key=k",
        "/v1/memories/namespaces?archived=",
        "/v1/memories/namespaces?max_depth=",
        "/v1/memories/history?ns=user&ns=admin&key=k&limit=",
        "/v1/memories/events?follow=",
        "/v1/memories/events?wait=",
        "/v1/memories/events?kinds=",
        "/v1/memories/events?after_cursor=",
        "/admin/v1/export?cursor=",
        "/admin/v1/tokens?tenant=",
        "/admin/v1/audit?action=",
        "/admin/v1/audit?cursor=",
        "/admin/v1/audit?limit=",
        "/admin/v1/audit?service=",
        "/admin/v1/memories/policies?service=",
        "/v1/memories?ns=user&ns=admin&key=k&as_user_id=",
        "/v1/captures?limit=",
        "/v1/captures?cursor=",
        "/v1/records?space=",
        "/v1/records?kind=",
        "/v1/records?tier=",
        "/v1/records?event_type=",
        "/v1/proposals?status=",
        "/v1/proposals?cursor=",
        "/v1/contradictions?status=",
        "/v1/consents?subject=",
        "/v1/signals?limit=",
        "/v1/traces?cursor=",
    ],
)
def test_an_empty_parameter_is_not_taken_for_none(whole: Served, query: str) -> None:
    assert whole.ask("GET", query).status == 400
