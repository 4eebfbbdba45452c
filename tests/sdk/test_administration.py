"""Policies, the audit and reads that are justified: what is sent, what is refused before, and what the service says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.sdk.scripted import ITEM, WRITTEN, call, drops, fails, says, scripted
from tests.sdk.service import Service
from tests.sdk.test_against_server import Both

from recollect_client import AsyncClient, Client, PutOp, errors

VERSION = {"number": 2, "digest": "d" * 64, "source": "api", "note": "", "by": "root", "at": "2026-01-01T00:00:00Z"}
POLICY = {"version": VERSION, "modules": {"authz.rego": "x"}, "packages": ["authz"], "versions": [VERSION]}
REPORT = {"sound": True, "problems": [], "checks": [{"name": "n", "passed": True, "note": ""}], "packages": []}
STATUS = {
    "pending": 0,
    "extraction": {
        "running": False,
        "done": 1,
        "total": 1,
        "changed": 0,
        "failed": 0,
        "started_at": None,
        "finished_at": None,
    },
}
TUNED = {"settings": {"max_depth": 5, "sweep_seconds": 0.5}, "changed": ["max_depth"]}
EXPLAINED: dict[str, Any] = {
    "package": "filter",
    "rule": "memories.filter.namespace_prefix",
    "decision": None,
    "narrowed": {"namespace_prefix": ["user", "a"], "filter": {"kind": "note"}},
    "clauses": [{"module": "m", "line": 1, "title": "t", "held": False, "failed": "x", "failed_line": 2}],
    "input": {"namespace_prefix": []},
}
MODULES = {"authz.rego": "package memories.authz\n"}
OWN = """package memories.authz

allow if {
    input.namespace[0] == "user"
    input.namespace[1] == input.context.user_id
}

# Administrators have everything
allow if "admin" in input.context.roles
"""
SHARED = """
# Agents read what is shared
allow if {
    input.namespace[0] == "shared"
    input.operation == "read"
    input.context.client_id != ""
}
"""
LANGUAGES = 'package memories.attributes\n\nattributes["lang"] := input.value.lang\n'


# -- what is sent


def test_a_policy_is_sent_whole(flavour: str) -> None:
    with scripted(says(200, POLICY)) as server:
        found = call(flavour, server.url, "push_policy", MODULES, note="why", service=True)
        call(flavour, server.url, "push_policy", MODULES)
        call(flavour, server.url, "show_policy", service=True)
        call(flavour, server.url, "rollback_policy", 0)
    assert (found.version.number, found.modules, found.packages) == (2, {"authz.rego": "x"}, ("authz",))
    pushed, plain, shown, back = server.requests
    assert (pushed.method, pushed.target) == ("PUT", "/admin/v1/memories/policies")
    assert pushed.json == {"modules": MODULES, "note": "why", "service": True}
    assert plain.json == {"modules": MODULES}
    assert shown.target == "/admin/v1/memories/policies?service=true"
    assert (back.target, back.json) == ("/admin/v1/memories/policies/rollback", {"number": 0})


def test_a_question_to_a_policy_is_sent_whole(flavour: str) -> None:
    given: dict[str, Any] = {"client_id": "c", "claims": {"n": 2**70}, "value": {"a": None}, "filter": {"k": "v"}}
    with scripted(says(200, EXPLAINED)) as server:
        found = call(
            flavour, server.url, "explain_policy", "search", ("é",), "k", user_id="u", roles={"r"}, modules={}, **given
        )
        call(flavour, server.url, "explain_policy", "read", (), user_id="u")
    assert server.requests[0].json == {
        "action": "search",
        "namespace": ["é"],
        "key": "k",
        "user_id": "u",
        "roles": ["r"],
        "modules": {},
        **given,
    }
    assert server.requests[1].json == {"action": "read", "namespace": [], "key": "", "user_id": "u", "roles": []}
    assert (found.narrowed.prefix, found.narrowed.filter, found.decision) == (("user", "a"), {"kind": "note"}, None)
    assert (found.clauses[0].failed, found.clauses[0].failed_line) == ("x", 2)


def test_settings_that_are_taken_back_are_sent_as_null(flavour: str) -> None:
    with scripted(says(200, TUNED)) as server:
        found = call(flavour, server.url, "change_settings", {"max_depth": 5, "sweep_seconds": None})
    assert server.requests[0].json == {"max_depth": 5, "sweep_seconds": None}
    assert [type(value) for value in found.settings.values()] == [int, float]


def test_the_audit_is_asked_for_page_by_page(flavour: str) -> None:
    entry = {
        "id": ITEM["id"],
        "action": "force_deleted",
        "by": "root",
        "at": "2026-01-01T00:00:00Z",
        "justification": "unlawful",
        "details": {"key": "k"},
    }
    with scripted(says(200, {"entries": [entry], "cursor": "c2"})) as server:
        page = call(flavour, server.url, "list_audit", action="force_deleted", limit=1, cursor="c1", service=True)
    assert server.requests[0].query == [
        ("action", "force_deleted"),
        ("limit", "1"),
        ("cursor", "c1"),
        ("service", "true"),
    ]
    assert (page.entries[0].id, page.entries[0].details, page.cursor) == (UUID(str(ITEM["id"])), {"key": "k"}, "c2")


READS: list[tuple[str, tuple[Any, ...], object]] = [
    ("get", (("a",), "k"), ITEM),
    ("get_by_id", (uuid4(),), {**ITEM, "ended_at": None, "end_reason": None}),
    ("search", (("a",),), {"items": [], "cursor": None}),
    ("list_namespaces", (), {"namespaces": []}),
    ("history", (("a",), "k"), {"versions": []}),
    ("events", (("a",),), {"events": [], "after_cursor": "c", "complete": True}),
]
REASONS = ["ticket 4711", "Prüfung – 日本 🦊", "  spaces around  "]


@pytest.mark.parametrize("why", REASONS)
@pytest.mark.parametrize(("method", "given", "answer"), READS, ids=[each[0] for each in READS])
def test_every_read_says_why_and_as_whom(method: str, given: tuple[Any, ...], answer: object, why: str) -> None:
    with scripted(says(200, answer)) as server, Client(server.url, "rk_x") as client:
        getattr(client.justified(why, as_user_id="al/ice"), method)(*given)
        getattr(client.justified(why), method)(*given)
        getattr(client, method)(*given)
    as_user, justified, plain = server.requests
    for request in (as_user, justified):
        assert request.headers["x-justification"].encode("latin-1").decode() == why.strip()
    sent = as_user.json if as_user.body else dict(as_user.query)
    assert sent["as_user_id"] == "al/ice"
    assert b"as_user_id" not in justified.body + plain.body
    assert "as_user_id" not in justified.target + plain.target
    assert "x-justification" not in plain.headers


async def test_a_follower_says_why_with_every_page() -> None:
    event = {
        "kind": "add",
        "namespace": ["a"],
        "key": "k",
        "sequence": 1,
        "cursor": "c",
        "revision": 1,
        "occurred_at": "2026-01-01T00:00:00Z",
    }
    pages = [{"events": [event], "after_cursor": cursor, "complete": True} for cursor in ("c1", "c2")]
    with scripted(*(says(200, page) for page in pages)) as server:
        async with AsyncClient(server.url, "rk_x") as client:
            events = client.justified("on duty", as_user_id="alice").follow()
            assert [(await anext(events)).key, (await anext(events)).key] == ["k", "k"]
            await events.aclose()  # type: ignore[attr-defined] # an iterator that is a generator
    assert [request.headers["x-justification"] for request in server.requests] == ["on duty", "on duty"]
    assert all(("as_user_id", "alice") in request.query for request in server.requests)


def test_a_view_shares_the_connections() -> None:
    with Client("http://127.0.0.1:9", "rk_x") as client:
        view = client.justified("on duty")
        assert view._http is client._http
    with pytest.raises(errors.StoreClosed):
        view.get(("a",), "k")


# -- what is refused before anything is sent

AS_ALICE: list[tuple[str, Callable[[Client], Any]]] = [
    ("put", lambda c: c.put(("user", "alice"), "k", {})),
    ("delete", lambda c: c.delete(("user", "alice"), "k")),
    ("archive", lambda c: c.archive(("user", "alice"), "k")),
    ("batch", lambda c: c.batch([PutOp(("a",), "k", {})])),
    ("erase", lambda c: c.erase("user:alice")),
    ("head", lambda c: c.head()),
    ("push", lambda c: c.push_policy(MODULES)),
    ("force delete", lambda c: c.force_delete(uuid4(), justification="x")),
    ("tokens", lambda c: c.list_tokens()),
    ("audit", lambda c: c.list_audit()),
    ("another view", lambda c: c.justified("mine again")),
]


@pytest.mark.parametrize(("what", "act"), AS_ALICE, ids=[each[0] for each in AS_ALICE])
def test_in_another_users_place_nothing_is_done_in_ones_own_name(what: str, act: Callable[[Client], Any]) -> None:
    with scripted(says(200, WRITTEN)) as server, Client(server.url, "rk_x") as client:
        view = client.justified("on duty", as_user_id="alice")
        with pytest.raises(errors.Forbidden) as caught:
            act(view)
    assert caught.value.details["reason"]
    assert server.requests == []


REFUSED: list[tuple[str, Callable[[Client], Any], type[errors.RecollectError]]] = [
    ("no reason", lambda c: c.justified(""), errors.InvalidRequest),
    ("a reason of spaces", lambda c: c.justified("  "), errors.InvalidRequest),
    ("two lines", lambda c: c.justified("a\r\nX-Evil: 1"), errors.InvalidRequest),
    ("no text", lambda c: c.justified(7), errors.InvalidRequest),  # type: ignore[arg-type]
    ("a surrogate", lambda c: c.justified("\ud800"), errors.InvalidRequest),
    ("a user that is none", lambda c: c.justified("x", as_user_id=7), errors.InvalidCaller),  # type: ignore[arg-type]
    ("deleting without a reason", lambda c: c.force_delete(uuid4(), justification=" "), errors.InvalidRequest),
    ("an id that is none", lambda c: c.force_delete("x", justification="y"), errors.InvalidQuery),  # type: ignore[arg-type]
    ("a bundle that is none", lambda c: c.push_policy(["x"]), errors.InvalidBundle),  # type: ignore[arg-type]
    ("bytes for a text", lambda c: c.check_policy({"a.rego": b"x"}), errors.InvalidBundle),  # type: ignore[dict-item]
    ("a text with a surrogate", lambda c: c.simulate_policy({"a.rego": "\ud800"}), errors.InvalidBundle),
    ("a switch that is none", lambda c: c.show_policy(service="no"), errors.InvalidQuery),  # type: ignore[arg-type]
    ("settings that are none", lambda c: c.change_settings([1]), errors.InvalidSetting),  # type: ignore[arg-type]
    ("infinity", lambda c: c.change_settings({"sweep_seconds": float("inf")}), errors.InvalidSetting),
    ("one text as namespace", lambda c: c.explain_policy("read", "user", user_id="a"), errors.InvalidNamespace),
]


@pytest.mark.parametrize(("what", "act", "error"), REFUSED, ids=[each[0] for each in REFUSED])
def test_what_would_not_arrive_as_it_is_meant_is_refused(
    what: str, act: Callable[[Client], Any], error: type[errors.RecollectError]
) -> None:
    with scripted(says(200, POLICY)) as server, Client(server.url, "rk_x") as client, pytest.raises(error):
        act(client)
    assert server.requests == []


# -- what is not done twice

ONCE: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("push_policy", (MODULES,), {}),
    ("rollback_policy", (), {}),
    ("force_delete", (uuid4(),), {"justification": "x"}),
]
AGAIN: list[tuple[str, tuple[Any, ...], object]] = [
    ("rollback_policy", (3,), POLICY),
    ("check_policy", (MODULES,), REPORT),
    ("trigger_index", (), STATUS),
    ("change_settings", ({"max_depth": 5},), TUNED),
]


@pytest.mark.parametrize(("method", "given", "named"), ONCE, ids=[each[0] for each in ONCE])
def test_what_would_be_done_twice_is_not_repeated(
    flavour: str, method: str, given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    with scripted(drops, says(200, POLICY)) as server, pytest.raises(errors.ConnectionFailed):
        call(flavour, server.url, method, *given, **named)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("method", "given", "answer"), AGAIN, ids=[each[0] for each in AGAIN])
def test_what_can_be_done_twice_is_repeated(flavour: str, method: str, given: tuple[Any, ...], answer: object) -> None:
    with scripted(drops, says(200, answer)) as server:
        call(flavour, server.url, method, *given)
    assert len(server.requests) == 2


def test_every_reason_for_a_refusal_is_in_the_details(flavour: str) -> None:
    problems = [{"message": "no", "module": "a.rego", "line": 3}]
    failing = fails(422, "invalid_bundle", problems=problems, failed=[])
    with scripted(failing) as server, pytest.raises(errors.InvalidBundle) as caught:
        call(flavour, server.url, "push_policy", MODULES)
    assert caught.value.details["problems"] == problems


# -- against the service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


@pytest.fixture
def admin(flavour: str, service: Service) -> Iterator[Both]:
    """An administrator of a tenant of its own."""
    with Client(service.url, service.token) as root:
        made = root.create_token("root", roles=["admin"], tenant=f"t-{uuid4().hex}")
    with Both(flavour, service.url, made.secret) as both:
        yield both


def somebody(flavour: str, service: Service, admin: Both, user: str, **named: Any) -> Both:
    return Both(flavour, service.url, admin.create_token(user, **named).secret)


def test_a_policy_is_checked_pushed_and_taken_back(flavour: str, service: Service, admin: Both) -> None:
    assert admin.show_policy().version.source == "built-in"
    modules = {"authz.rego": OWN + SHARED}
    report = admin.check_policy(modules)
    assert (report.sound, report.problems, report.packages) == (True, (), ("authz",))
    assert all(check.passed for check in report.checks)
    admin.put(("shared", "x"), "k", {"n": 1})
    with somebody(flavour, service, admin, "alice", client_id="agent") as agent:
        with pytest.raises(errors.Forbidden) as caught:
            agent.get(("shared", "x"), "k")
        assert caught.value.details["reason"] == "access denied"
        simulated = admin.simulate_policy(modules)
        assert [(each.user_id, each.client_id, each.action) for each in simulated.changes] == [
            ("alice", "agent", "read")
        ]
        assert (simulated.changes[0].before.allow, simulated.changes[0].after.allow) == (False, True)
        pushed = admin.push_policy(modules, note="agents read shared")
        assert (pushed.version.number, pushed.version.note, pushed.modules) == (1, "agents read shared", modules)
        assert pushed.version.at.tzinfo is not None
        assert agent.get(("shared", "x"), "k").value == {"n": 1}
        explained = admin.explain_policy("read", ("shared", "x"), "k", user_id="alice", client_id="agent")
        assert [clause.title for clause in explained.clauses if clause.held] == ["Agents read what is shared"]
        back = admin.rollback_policy()
        assert (back.version.number, [each.number for each in back.versions]) == (0, [1])
        with pytest.raises(errors.Forbidden):
            agent.get(("shared", "x"), "k")
    with pytest.raises(errors.InvalidBundle) as refused:
        admin.push_policy({"authz.rego": "package memories.authz\n\nallow := true\n"})
    assert "a stranger reads another user's memories" in [each["check"] for each in refused.value.details["failed"]]
    with pytest.raises(errors.NotFound):
        admin.rollback_policy(9)
    assert [entry.action for entry in admin.list_audit().entries] == ["policy_rolled_back", "policy_pushed"]


def test_reads_are_justified_and_memories_deleted_by_id(flavour: str, service: Service, admin: Both) -> None:
    with somebody(flavour, service, admin, "alice") as alice:
        written = alice.put(("user", "alice"), "k", {"n": 1})
        admin.put(("user", "bob"), "k", {"n": 2})
        view = admin.view("Prüfung 4711 – 日本", as_user_id="alice")
        assert view.get(("user", "alice"), "k").value == {"n": 1}
        assert [item.key for item in view.search()] == ["k"]
        with pytest.raises(errors.Forbidden):
            view.get(("user", "bob"), "k")
        who = view.whoami()
        assert (who.user_id, who.roles, who.scopes) == ("alice", frozenset(), frozenset({"read"}))
        (*_, entry) = admin.list_audit(action="justified_read").entries
        assert (entry.justification, entry.by, entry.details["as_user_id"]) == ("Prüfung 4711 – 日本", "root", "alice")
        with pytest.raises(errors.Forbidden):
            alice.list_audit()
        with pytest.raises(errors.Forbidden):
            alice.force_delete(written.id, justification="mine")
        deleted = admin.force_delete(written.id, justification="unlawful")
        assert (deleted.kind, deleted.id) == ("delete", written.id)
        assert alice.get(("user", "alice"), "k") is None
        with pytest.raises(errors.NotFound):
            admin.force_delete(written.id, justification="again")


def test_what_is_stored_follows_the_policy(admin: Both) -> None:
    admin.put(("user", "root"), "old", {"lang": "go"})
    admin.push_policy({"attributes.rego": LANGUAGES})
    status = admin.trigger_index()
    assert (status.extraction.running, status.extraction.failed) == (False, 0)
    assert admin.index_status() == status
    assert [item.key for item in admin.search(filter={"lang": "go"})] == ["old"]


def test_settings_are_changed_and_taken_back(flavour: str, service: Service, admin: Both) -> None:
    with Both(flavour, service.url, service.token) as operator:
        assert operator.show_settings().changed == ()
        tuned = operator.change_settings({"index_batch": 7})
        assert (tuned.settings["index_batch"], tuned.changed) == (7, ("index_batch",))
        with pytest.raises(errors.InvalidSetting):
            operator.change_settings({"index_batch": 0})
        assert operator.change_settings({"index_batch": None}).changed == ()
        with pytest.raises(errors.Forbidden):
            admin.show_settings()
