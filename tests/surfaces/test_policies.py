"""Policies, the audit, settings and reads in another's name, as the REST door offers them, at a real service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
from tests.surfaces.contracts import COMPONENTS, CONTRACT, CONTRACT_FOR_ADMINISTRATORS, operations_of
from tests.surfaces.serving import Answered, Served, served

from recollect.domain import errors
from recollect.domain.bundles import MAX_BUNDLE_BYTES, Package
from recollect.surfaces.rest.routes import ROUTES
from recollect.surfaces.service import LONG_SECONDS
from recollect.wire.errors import STATUS, envelope, status_of

POLICIES = "/admin/v1/memories/policies"
SETTINGS = "/admin/v1/memories/settings"
AUDIT = "/admin/v1/audit"
OWNERS = """package memories.authz

import rego.v1

allow if {
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}

allow if "admin" in input.context.roles
"""
EVERYBODY = "package memories.authz\n\nimport rego.v1\n\nallow := true\n"
BROKEN = "package memories.authz\n\nimport rego.v1\n\nallow if {\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("policies"), {"failures_per_second": 0}, still=True) as running:
        for user in ("bob", "alice"):
            remember(running, user)
        yield running


IDS: dict[str, str] = {}
"""The id of the memory that was remembered last, by the address of the service."""


def remember(service: Served, user: str) -> None:
    put = {"namespace": ["user", user, "notes"], "key": "k", "value": {"of": user}}
    IDS[service.url] = service.ask("PUT", "/v1/memories", put).json()["id"]


TENANTS = count()


@pytest.fixture
def tenant(service: Served) -> str:
    """The key of an administrator of a tenant of its own."""
    return service.new_key("root", roles=["admin"], tenant=f"tenant-{next(TENANTS)}")


def refused(answer: Answered, status: int, code: str) -> Any:
    """The details of a refusal."""
    assert (answer.status, answer.json()["code"]) == (status, code), answer.body
    return answer.json()["details"]


def in_force(service: Served, key: str) -> Any:
    answer = service.ask("GET", POLICIES, key=key)
    assert answer.status == 200, answer.body
    return answer.json()


# -- putting a policy in force


def test_the_short_form_is_a_module_for_each_package(service: Served, tenant: str) -> None:
    pushed = service.ask("PUT", POLICIES, {"authz": OWNERS, "note": "ours"}, key=tenant)
    assert pushed.status == 200, pushed.body
    assert pushed.json() == in_force(service, tenant)
    assert pushed.json()["modules"] == {"authz.rego": OWNERS}
    assert pushed.json()["packages"] == [Package.AUTHZ]
    again = service.ask("PUT", POLICIES, {"modules": {"authz.rego": OWNERS}}, key=tenant).json()
    assert again["version"]["digest"] == pushed.json()["version"]["digest"]
    assert [each["number"] for each in again["versions"]] == [2, 1]


def test_a_bundle_in_both_forms_or_in_none_is_refused(service: Served, tenant: str) -> None:
    both = {"modules": {"authz.rego": OWNERS}, "filter": "package memories.filter"}
    for path, method in ((POLICIES, "PUT"), (f"{POLICIES}/check", "POST"), (f"{POLICIES}/simulate", "POST")):
        refused(service.ask(method, path, both, key=tenant), 400, "invalid_request")
        refused(service.ask(method, path, {}, key=tenant), 400, "invalid_bundle")
        refused(service.ask(method, path, {"modules": ["authz"]}, key=tenant), 400, "invalid_bundle")
        refused(service.ask(method, path, {"modules": {"authz.rego": 1}}, key=tenant), 400, "invalid_bundle")
        refused(service.ask(method, path, {"polices": {}}, key=tenant), 400, "invalid_request")
    assert in_force(service, tenant)["versions"] == []


def test_an_unsound_policy_is_refused_with_every_reason_and_the_one_before_stays(service: Served, tenant: str) -> None:
    before = service.ask("PUT", POLICIES, {"authz": OWNERS}, key=tenant).json()
    details = refused(service.ask("PUT", POLICIES, {"authz": BROKEN}, key=tenant), 400, "invalid_bundle")
    assert details["problems"]
    assert {"message", "module", "line"} == set(details["problems"][0])
    assert details["failed"] == []
    details = refused(service.ask("PUT", POLICIES, {"authz": EVERYBODY}, key=tenant), 400, "invalid_bundle")
    assert details["problems"] == []
    assert "a stranger reads another user's memories" in {each["check"] for each in details["failed"]}
    assert details["advice"].startswith("Correct what")
    assert in_force(service, tenant) == before


def test_a_check_answers_alike_whether_the_policy_is_sound_or_not(service: Served, tenant: str) -> None:
    for text, sound in ((OWNERS, True), (EVERYBODY, False), (BROKEN, False)):
        answer = service.ask("POST", f"{POLICIES}/check", {"authz": text}, key=tenant)
        assert (answer.status, answer.json()["sound"]) == (200, sound), answer.body
    refused(
        service.ask("POST", f"{POLICIES}/check", {"authz": OWNERS, "note": "x"}, key=tenant), 400, "invalid_request"
    )
    assert in_force(service, tenant)["version"]["number"] == 0


def test_going_back_needs_no_body_and_takes_a_number(service: Served, tenant: str) -> None:
    service.ask("PUT", POLICIES, {"authz": OWNERS}, key=tenant)
    service.ask("PUT", POLICIES, {"authz": OWNERS + "\n# and more\n"}, key=tenant)
    assert service.ask("POST", f"{POLICIES}/rollback", key=tenant).json()["version"]["number"] == 1
    assert service.ask("POST", f"{POLICIES}/rollback", {"number": 2}, key=tenant).json()["version"]["number"] == 2
    assert service.ask("POST", f"{POLICIES}/rollback", {"number": 0}, key=tenant).json()["version"]["number"] == 0
    refused(service.ask("POST", f"{POLICIES}/rollback", {"number": 9}, key=tenant), 404, "not_found")
    refused(service.ask("POST", f"{POLICIES}/rollback", {"number": -1}, key=tenant), 400, "invalid_bundle")


def test_the_policy_of_the_service_is_an_operators_business(service: Served, tenant: str) -> None:
    for method, path, body in (
        ("GET", f"{POLICIES}?service=true", None),
        ("PUT", POLICIES, {"authz": OWNERS, "service": True}),
        ("POST", f"{POLICIES}/rollback", {"service": True}),
        ("GET", f"{AUDIT}?service=true", None),
    ):
        refused(service.ask(method, path, body, key=tenant), 403, "forbidden")
    assert service.ask("GET", f"{POLICIES}?service=true").json()["version"]["source"] == "built-in"
    refused(service.ask("GET", f"{POLICIES}?service=yes"), 400, "invalid_request")


def bundle_of(size: int, filling: str) -> dict[str, str]:
    """Modules with so many bytes together, most of them in a comment."""
    rest = size - len(OWNERS.encode())
    most = 500_000
    parts = [most] * (rest // most) + [rest % most]
    head = "package filling{}\n\nimport rego.v1\n\n# "
    filled = {
        f"filling{n}.rego": (opening := head.format(n)) + filling * (part - len(opening) - 1) + "\n"
        for n, part in enumerate(parts)
    }
    return {"authz.rego": OWNERS, **filled}


@pytest.mark.parametrize("filling", ["x", '"', "\\"])
def test_a_bundle_as_large_as_a_bundle_may_be_gets_through(service: Served, tenant: str, filling: str) -> None:
    modules = bundle_of(MAX_BUNDLE_BYTES, filling)
    assert sum(len(text.encode()) for text in modules.values()) == MAX_BUNDLE_BYTES
    checked = service.ask("POST", f"{POLICIES}/check", {"modules": modules}, key=tenant)
    assert (checked.status, checked.json()["sound"]) == (200, True), checked.body[:500]
    details = refused(
        service.ask("POST", f"{POLICIES}/check", {"modules": bundle_of(MAX_BUNDLE_BYTES + 1, filling)}, key=tenant),
        400,
        "invalid_bundle",
    )
    assert set(details) == {"advice"}


def test_what_tries_a_policy_may_take_longer_than_other_requests(tmp_path: Path) -> None:
    long = {route.handler.__name__ for route in ROUTES if route.seconds == LONG_SECONDS}
    assert {"check_policy", "push_policy", "rollback_policy", "simulate_policy", "trigger_index"} <= long
    tests = f"package memories.authz_test\n\nimport rego.v1\n\nmany := {list(range(60))}\n\n"
    tests += "".join(f"test_{n} if count([1 | some a in many; some b in many; a + b > {n}]) > 0\n\n" for n in range(10))
    slow = {"authz.rego": OWNERS, "authz_test.rego": tests}
    with served(tmp_path, {"request_seconds": 0.1}, still=True) as hurried:
        for method, path in (("POST", f"{POLICIES}/check"), ("PUT", POLICIES), ("POST", f"{POLICIES}/simulate")):
            began = monotonic()
            answer = hurried.ask(method, path, {"modules": slow})
            assert answer.status == 200, answer.body
            assert monotonic() - began > 0.1, "it was no trial: it took no longer than anything may"


def test_where_the_plain_rule_decides_no_policy_is_taken_and_the_answers_say_so(tmp_path: Path) -> None:
    with served(tmp_path, {"policy_engine": "builtin"}, still=True) as plain:
        shown = plain.ask("GET", POLICIES)
        assert shown.status == 200
        schema = {"components": COMPONENTS, "$ref": "#/components/schemas/PolicyInForce"}
        jsonschema_rs.validate(schema, shown.json(), validate_formats=True)
        for method, path in (("POST", f"{POLICIES}/check"), ("PUT", POLICIES), ("POST", f"{POLICIES}/simulate")):
            refused(plain.ask(method, path, {"authz": OWNERS}), 501, "unsupported")


# -- explaining


def test_an_explanation_is_that_of_the_policy_asked_for(service: Served, tenant: str) -> None:
    asked = {"action": "write", "namespace": ["user", "bob"], "key": "k", "user_id": "alice", "value": {"n": 1}}
    told = service.ask("POST", f"{POLICIES}/explain", asked, key=tenant).json()
    assert told["decision"] == {"allow": False, "reason": "access denied"}
    assert told["input"]["value"] == {"n": 1}
    told = service.ask("POST", f"{POLICIES}/explain", asked | {"roles": ["admin"]}, key=tenant).json()
    assert told["decision"]["allow"] is True
    assert [clause for clause in told["clauses"] if clause["held"]]
    search = {"action": "search", "namespace": ["user", "bob"], "user_id": "alice", "filter": {"a": 1}}
    told = service.ask("POST", f"{POLICIES}/explain", search, key=tenant).json()
    assert told["decision"] is None
    assert told["narrowed"] == {"namespace_prefix": ["user", "alice"], "filter": {}}
    other = {"authz.rego": OWNERS.replace('"admin"', '"chief"')}
    told = service.ask("POST", f"{POLICIES}/explain", asked | {"roles": ["chief"], "modules": other}, key=tenant).json()
    assert told["decision"]["allow"] is True
    refused(service.ask("POST", f"{POLICIES}/explain", asked | {"action": "erase"}, key=tenant), 400, "invalid_request")
    refused(service.ask("POST", f"{POLICIES}/explain", {"action": "read"}, key=tenant), 400, "invalid_request")


# -- the audit, and reading in somebody's name


def entries(running: Served, key: str | None = None, **query: object) -> list[Any]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = running.ask("GET", f"{AUDIT}?{asked}", key=key)
    assert answer.status == 200, answer.body
    return list(answer.json()["entries"])


READS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "get": ("GET", "/v1/memories?ns=user&ns=alice&ns=notes&key=k", None),
    "get_by_id": ("GET", "/v1/memories/{id}", None),
    "history": ("GET", "/v1/memories/history?ns=user&ns=alice&ns=notes&key=k", None),
    "list_namespaces": ("GET", "/v1/memories/namespaces?prefix=user", None),
    "events": ("GET", "/v1/memories/events?ns=user", None),
    "search": ("POST", "/v1/memories/search", {"namespace_prefix": ["user"]}),
}


def read(service: Served, call: str, as_user_id: str | None, key: str | None = None, **headers: str) -> Answered:
    """Read alice's memories, in somebody's name if one is given."""
    method, path, body = READS[call]
    path = path.replace("{id}", IDS[service.url])
    if as_user_id is not None and body is not None:
        body = body | {"as_user_id": as_user_id}
    elif as_user_id is not None:
        path += f"{'&' if '?' in path else '?'}as_user_id={quote(as_user_id)}"
    return service.ask(method, path, body, key=key, **headers)


@pytest.mark.parametrize("call", READS)
def test_a_read_in_somebodys_name_shows_what_they_would_see_and_is_written_down(service: Served, call: str) -> None:
    why = {"X-Justification": f"checking {call}"}
    as_alice, as_bob = read(service, call, "alice", **why), read(service, call, "bob", **why)
    assert as_alice.status == 200, as_alice.body
    assert b'"of":"alice"' in as_alice.body or call == "list_namespaces"
    assert b'"of":"bob"' not in as_alice.body
    assert b'"of":"alice"' not in as_bob.body
    assert as_bob.status == {"get": 403, "history": 403, "get_by_id": 404}.get(call, 200)
    written = entries(service, action="justified_read", limit=2)
    assert [entry["justification"] for entry in written] == [f"checking {call}"] * 2
    assert [entry["details"]["as_user_id"] for entry in written] == ["bob", "alice"]
    assert {entry["details"]["call"] for entry in written} == {call}
    assert {entry["by"] for entry in written} == {"admin"}


@pytest.mark.parametrize("call", READS)
def test_an_administrator_who_says_why_in_their_own_name_is_written_down_too(service: Served, call: str) -> None:
    assert read(service, call, None, **{"X-Justification": f"my own {call}"}).status == 200
    assert entries(service, limit=1)[0]["justification"] == f"my own {call}"
    before = entries(service, limit=1)
    assert read(service, call, None).status == 200
    assert entries(service, limit=1) == before


@pytest.mark.parametrize("call", READS)
def test_reading_in_somebodys_name_is_for_administrators_who_say_why(service: Served, call: str) -> None:
    before = entries(service, limit=1)
    user = service.new_key("alice")
    auditor = service.new_key("eve", roles=["auditor", "operator"])
    for key in (user, auditor):
        for name in ("alice", "bob", None):
            refused(read(service, call, name, key, **{"X-Justification": "curious"}), 403, "forbidden")
        refused(read(service, call, "alice", key), 403, "forbidden")
    refused(read(service, call, "alice"), 400, "invalid_request")
    refused(read(service, call, "alice", **{"X-Justification": ""}), 400, "invalid_request")
    refused(read(service, call, "", **{"X-Justification": "who?"}), 400, "invalid_caller")
    assert entries(service, limit=1) == before


def test_where_administrators_must_say_why_they_do_not_read_otherwise(tmp_path: Path) -> None:
    with served(tmp_path, {"require_justification": "true"}, still=True) as strict:
        remember(strict, "alice")
        for call in READS:
            silent = read(strict, call, None)
            if call == "get_by_id":
                refused(silent, 404, "not_found")
            else:
                assert "X-Justification" in refused(silent, 403, "forbidden")["reason"]
            assert read(strict, call, None, **{"X-Justification": "asked to"}).status == 200
        own = "/v1/memories/history?ns=user&ns=admin&key=k"
        assert strict.ask("GET", own).status == 200


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"plain", "plain"),
        ("Prüfung für 日本".encode(), "Prüfung für 日本"),
        ("Prüfung".encode("latin-1"), "Prüfung"),
        (b"  around  ", "around"),
        (("é" * 1_000).encode(), "é" * 1_000),
        ("\U0001f469\u200d\U0001f4bb".encode(), "\U0001f469\u200d\U0001f4bb"),
    ],
    ids=["ascii", "utf-8", "latin-1", "spaces", "longest", "joined"],
)
def test_a_justification_is_kept_as_it_was_meant(service: Served, sent: bytes, kept: str) -> None:
    assert read(service, "get", None, **{"X-Justification": sent.decode("latin-1")}).status == 200
    assert entries(service, limit=1)[0]["justification"] == kept


@pytest.mark.parametrize(
    "sent",
    [b"", b" ", ("é" * 1_001).encode(), b"x" * 1_001, b"two\twords", "next\x85line".encode(), b"c1 \x85"],
    ids=["empty", "blank", "too long", "too long in ascii", "tab", "control in utf-8", "control in latin-1"],
)
def test_a_justification_that_cannot_be_kept_is_refused(service: Served, sent: bytes) -> None:
    before = entries(service, limit=1)
    refused(read(service, "get", None, **{"X-Justification": sent.decode("latin-1")}), 400, "invalid_request")
    assert entries(service, limit=1) == before


def test_the_audit_is_read_page_by_page_and_by_what_was_done(service: Served, tenant: str) -> None:
    for _ in range(3):
        assert service.ask("POST", f"{POLICIES}/rollback", {"number": 0}, key=tenant).status == 200
    first = service.ask("GET", f"{AUDIT}?limit=2", key=tenant).json()
    rest = service.ask("GET", f"{AUDIT}?limit=2&cursor={first['cursor']}", key=tenant).json()
    assert len(first["entries"]) == 2
    assert len(rest["entries"]) == 1
    assert len({entry["id"] for entry in first["entries"] + rest["entries"]}) == 3
    assert entries(service, tenant, action="force_deleted") == []
    for query in ("action=nonsense", "limit=0", "limit=1001", "cursor=nonsense!", "service=1", "since=2026"):
        assert service.ask("GET", f"{AUDIT}?{query}", key=tenant).status == 400


# -- deleting by id


def test_a_memory_is_deleted_by_its_id_only_by_one_who_says_why(service: Served) -> None:
    put = {"namespace": ["user", "carol"], "key": "doomed", "value": {"n": 1}}
    made = service.ask("PUT", "/v1/memories", put).json()
    path = f"/admin/v1/memories/{made['id']}"
    refused(service.ask("DELETE", path), 400, "invalid_request")
    refused(service.ask("DELETE", path, **{"X-Justification": " "}), 400, "invalid_request")
    refused(service.ask("DELETE", f"{path}?force=true", **{"X-Justification": "why"}), 400, "invalid_request")
    refused(service.ask("DELETE", "/admin/v1/memories/nonsense", **{"X-Justification": "why"}), 404, "not_found")
    where = "/v1/memories?ns=user&ns=carol&key=doomed"
    assert service.ask("GET", where).status == 200
    gone = service.ask("DELETE", path, **{"X-Justification": "asked for: ticket 7"})
    assert (gone.status, gone.body) == (204, b"")
    assert service.ask("GET", where).status == 404
    refused(service.ask("DELETE", path, **{"X-Justification": "again"}), 404, "not_found")
    written = entries(service, action="force_deleted")
    assert [entry["justification"] for entry in written] == ["asked for: ticket 7"]
    assert written[0]["details"]["namespace"] == ["user", "carol"]
    told = service.ask("GET", "/v1/memories/events?ns=user&ns=carol").json()["events"]
    assert [event["kind"] for event in told] == ["add", "delete"]


# -- the index and the settings


def test_the_index_is_brought_up_to_date_when_asked(service: Served, tenant: str) -> None:
    put = {"namespace": ["user", "root"], "key": "k", "value": {"topic": "tea"}}
    assert service.ask("PUT", "/v1/memories", put, key=tenant).status == 200
    text = "package memories.attributes\n\nimport rego.v1\n\nattributes := {"
    topics = text + '"sub": input.namespace[1], "topic": input.value.topic}\n'
    assert service.ask("PUT", POLICIES, {"attributes": topics}, key=tenant).status == 200
    waiting = service.ask("GET", "/admin/v1/memories/index/status", key=tenant).json()["extraction"]
    assert (waiting["running"], waiting["done"], waiting["total"]) == (True, 0, 1)
    wanted = {"namespace_prefix": ["user"], "filter": {"topic": "tea"}}
    assert service.ask("POST", "/v1/memories/search", wanted, key=tenant).json()["items"] == []
    refused(service.ask("POST", "/admin/v1/memories/index/trigger", {"all": True}, key=tenant), 400, "invalid_request")
    done = service.ask("POST", "/admin/v1/memories/index/trigger", key=tenant).json()["extraction"]
    assert (done["running"], done["done"], done["changed"], done["failed"]) == (False, 1, 1, 0)
    assert done["started_at"] <= done["finished_at"]
    assert len(service.ask("POST", "/v1/memories/search", wanted, key=tenant).json()["items"]) == 1


def test_settings_are_changed_and_changed_back(service: Served) -> None:
    before = service.ask("GET", SETTINGS).json()
    assert before["changed"] == []
    changed = service.ask("PUT", SETTINGS, {"max_depth": 2, "index_seconds": 5}).json()
    assert changed["changed"] == ["index_seconds", "max_depth"]
    assert changed["settings"] == before["settings"] | {"max_depth": 2, "index_seconds": 5}
    deep = {"namespace": ["user", "admin", "deep"], "key": "k", "value": {}}
    refused(service.ask("PUT", "/v1/memories", deep), 400, "invalid_namespace")
    for wrong in ({}, {"max_depth": 0}, {"max_depth": 2.5}, {"max_depth": True}, {"port": 1}, {"index_batch": "9"}):
        refused(service.ask("PUT", SETTINGS, wrong), 400, "invalid_setting")
    refused(service.ask("PUT", SETTINGS, [1]), 400, "invalid_request")
    assert service.ask("GET", SETTINGS).json() == changed
    assert service.ask("PUT", SETTINGS, {"max_depth": None, "index_seconds": None}).json() == before
    assert service.ask("PUT", "/v1/memories", deep).status == 200
    assert len(entries(service, action="settings_changed", service="true")) == 2


# -- what it promises, and how errors are told


@pytest.mark.parametrize(
    ("path", "contract"), [("/openapi.yaml", CONTRACT), ("/openapi-admin.yaml", CONTRACT_FOR_ADMINISTRATORS)]
)
def test_the_contracts_are_served_as_they_are(service: Served, path: str, contract: dict[str, Any]) -> None:
    answer = service.ask("GET", path)
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.body == (Path(__file__).parents[2] / "contracts" / path[1:]).read_bytes()
    page = service.ask("GET", "/docs").body.decode()
    for _, _, operation in operations_of(contract):
        assert f'id="{operation["operationId"]}"' in page


def test_details_keep_their_shape_and_what_json_does_not_know_becomes_text() -> None:
    problem = errors.InvalidBundle("no", problems=[{"line": 3, "at": (1, None)}], failed=(), where=Path("a"))
    told = json.loads(envelope(problem))["details"]
    assert told == {
        "problems": [{"line": 3, "at": [1, None]}],
        "failed": [],
        "where": "a",
        "advice": errors.InvalidBundle.advice(),
    }


def test_every_error_has_a_status_that_says_whose_fault_it_is() -> None:
    ours = (errors.KeyTrouble, errors.StoreTrouble, errors.ServiceTrouble, errors.Unsupported)
    of_callers = (errors.RateLimited, errors.TextRefused)
    for error in errors.all_errors():
        theirs = not issubclass(error, ours) and error is not errors.RecollectError
        assert (400 <= status_of(error) < 500) is (theirs or error in of_callers), error
    assert status_of(errors.InvalidBundle) == 400
    assert set(STATUS) <= set(errors.all_errors())
