"""Every route for every kind of caller, as the table has it, tried at a real server; and what they change there."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.security.access import (
    JUSTIFIED,
    NEED_WHY,
    POLICIES,
    REQUESTS,
    SEE_THEM,
    SEES,
    TABLE,
    TOLD,
    WHO,
    WHY,
    Place,
    expected,
    placed,
)

from recollect.domain.callers import Action, Role, Scope
from recollect.surfaces.rest.routes import ROUTES, Route
from recollect.testing import servers


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("access") / "data") as made:
        yield made


ROWS = [pytest.param(route, who, id=f"{route.replace(' ', '-')}-{who}") for route in TABLE for who in WHO]


@pytest.mark.parametrize(("route", "who"), ROWS)
def test_a_caller_gets_what_the_table_says(route: str, who: str, place: Place) -> None:
    status, answer = place.ask(route, who)
    assert status == expected(route, who), answer
    if status == 200 and route in SEES:
        assert bool(SEES[route](answer)) is (who in SEE_THEM)
    if status == 200 and route in TOLD:
        shown, those = TOLD[route]
        assert bool(shown(answer)) is (who in those)
    if status in (401, 403, 404):
        assert answer["code"] == {401: "unauthenticated", 403: "forbidden", 404: "not_found"}[status]
        assert "alice" not in json.dumps(answer)


CHANGES = [row for row in ROWS if row.values[0] in TABLE and not str(row.values[0]).startswith("GET ")]


@pytest.mark.parametrize(
    ("route", "who"),
    [row for row in CHANGES if row.values[1] == "foreign" or expected(str(row.values[0]), str(row.values[1])) >= 400],
)
def test_whoever_is_refused_and_whoever_is_of_another_tenant_changes_nothing_here(
    route: str, who: str, place: Place
) -> None:
    (method, path, body), key = place.ready(route), place.key(who)
    before = place.state()
    status, _ = place.send(method, path, body, key, WHY if route in NEED_WHY else {})
    assert status == expected(route, who)
    assert place.state() == before


def test_what_is_looked_at_for_changes_shows_them(place: Place) -> None:
    seen = {
        "PUT /v1/memories": ("user", {"memories"}),
        "PUT /admin/v1/memories/policies": ("admin", {"policy", "audit"}),
        "DELETE /admin/v1/memories/{id}": ("admin", {"memories", "audit"}),
        "POST /admin/v1/tokens": ("admin", {"tokens"}),
        "PUT /admin/v1/memories/settings": ("operator", {"audit of the service"}),
    }
    for route, (who, changes) in seen.items():
        method, path, body = place.ready(route)
        before = place.state()
        assert place.send(method, path, body, place.key(who), WHY if route in NEED_WHY else {})[0] < 300
        after = place.state()
        assert {name for name in before if before[name] != after[name]} >= changes, route


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("route", JUSTIFIED)
def test_only_an_administrator_reads_in_another_name_and_never_unnoticed(route: str, who: str, place: Place) -> None:
    method, path, body = place.ready(route)
    if body is None:
        path += f"{'&' if '?' in path else '?'}as_user_id=alice"
    else:
        body = {**body, "as_user_id": "alice"}
    before = place.state()
    status, answer = place.send(method, path, body, key := place.key(who), WHY)
    assert status == JUSTIFIED[route][WHO.index(who)], answer
    if status == 200:
        shown = SEES[route](answer) if route in SEES else answer
        assert bool(shown) is (who == "admin")
    after = place.state()
    added = len(after["audit"]["entries"]) - len(before["audit"]["entries"])
    assert added == (1 if who == "admin" else 0)
    assert {name for name in before if before[name] != after[name]} <= {"audit"}
    if added:
        written = after["audit"]["entries"][0]
        assert (written["by"], written["justification"]) == ("root", "a trial")
        assert written["details"]["as_user_id"] == "alice"
    silent = place.send(method, path, body, key)[0]
    assert silent == (400 if who in ("admin", "foreign") else status)
    assert place.state() == after


def test_every_read_can_be_justified_and_nothing_else_takes_another_name(place: Place) -> None:
    reads = {f"{route.method} {route.path}" for route in ROUTES if route.action is Action.READ}
    of_the_way_in = ("captures", "proposals", "consents", "records", "contradictions", "signals")
    of_the_way_out = ("recall", "context", "sessions", "profiles", "traces", "why-not", "phases", "metrics")
    of_conversations = ("turns", "messages", "session-state", "spines", "todos", "seed", "personas", "curations")
    own = {*of_the_way_in, *of_the_way_out, *of_conversations, "entities", "entity-suggestions"}
    in_own_name = {"GET /v1/brief"} | {each for each in reads if each.split("/")[2] in own}
    assert set(JUSTIFIED) == reads - in_own_name
    for route in set(TABLE) - set(JUSTIFIED) - {"GET /healthz", "GET /readyz"}:
        method, path, body = place.ready(route)
        if body is None:
            path += f"{'&' if '?' in path else '?'}as_user_id=alice"
        else:
            body = {**body, "as_user_id": "alice"}
        assert place.send(method, path, body, place.server.token, WHY)[0] == 400, route


@pytest.mark.parametrize("scope", Scope)
def test_a_credential_without_the_scope_opens_nothing_whatever_roles_its_holder_has(scope: Scope, place: Place) -> None:
    rest = [each for each in Scope if each is not scope]
    key = place.server.key_for("alice", tenant="here", roles=list(Role), scopes=rest)
    for route, (scopes, *_) in TABLE.items():
        status, answer = place.send(*place.ready(route), key, WHY if route in NEED_WHY else {})
        assert (status == 403) is (scope in scopes.split()), (route, answer)
        assert status in (200, 201, 204, 403), (route, answer)


def test_a_foreign_policy_decides_nothing_here(place: Place) -> None:
    foreign, before = place.key("foreign"), place.state()
    nobody = {"authz": "package memories.authz\n\nimport rego.v1\n\nallow := false\n"}
    status, pushed = place.send("PUT", POLICIES, nobody, foreign)
    assert (status, pushed["version"]["number"]) == (200, 1)
    theirs = {"namespace": ["user", "alice"], "key": "k", "value": {}}
    assert place.send("PUT", "/v1/memories", theirs, foreign)[0] == 403
    assert place.ask("GET /v1/memories", "user")[0] == 200
    assert place.state() == before
    for service in ({"service": True}, {"service": True, "note": "everybody's"}):
        assert place.send("PUT", POLICIES, {**nobody, **service}, foreign)[0] == 403
        assert place.send("PUT", POLICIES, {**nobody, **service}, place.keys["admin"])[0] == 403
    assert place.send("POST", f"{POLICIES}/rollback", {"service": True}, foreign)[0] == 403
    assert place.state() == before


def test_a_foreign_administrator_sees_and_changes_nothing_here(place: Place) -> None:
    assert place.ask("GET /v1/memories", "user")[1]["value"] == {"n": 1}
    ours = place.ask("GET /admin/v1/export", "admin")[1]
    theirs = place.ask("GET /admin/v1/export", "foreign")[1]
    assert ours["source"] != theirs["source"]
    assert {token["tenant"][:9] for token in place.ask("GET /admin/v1/tokens", "foreign")[1]["tokens"]} == {"elsewhere"}
    for method, path, body in (
        ("GET", "/admin/v1/tokens?tenant=here", None),
        ("POST", "/admin/v1/tokens", {"user_id": "x", "tenant": "here"}),
    ):
        assert place.server.request(method, path, body, token=place.key("foreign"))[0] == 403
        assert place.server.request(method, path, body, token=place.keys["operator"])[0] in (200, 201)


def without_row(routes: tuple[Route, ...]) -> list[str]:
    """Routes that the table has forgotten."""
    return [name for route in routes if (name := f"{route.method} {route.path}") not in TABLE]


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    print(f"access: {len(TABLE)} routes, {len(ROWS)} rows")
    assert without_row(ROUTES) == []
    assert len(TABLE) == len(ROUTES)
    assert set(REQUESTS) <= set(TABLE)


def test_only_health_is_open_to_strangers() -> None:
    open_routes = {route for route in TABLE if expected(route, "anonymous") != 401}
    assert open_routes == {"GET /healthz", "GET /readyz"} == {f"GET {each.path}" for each in ROUTES if each.anonymous}


METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
UNKNOWN = (
    *("/", "/v1", "/v1/", "/v2/memories", "/admin", "/admin/v1", "/admin/v1/tokens/", "/metrics/x", "/favicon.ico"),
    *("/healthz/", "/readyz/x", "/.env", "/static/../healthz", "/v1/memories/search/x", "//healthz"),
)


@pytest.mark.parametrize("path", UNKNOWN)
def test_a_stranger_learns_nothing_from_unknown_paths(path: str, place: Place) -> None:
    for method in METHODS:
        status, answer, headers = place.server.request(method, path, token="")
        assert status == 401
        assert method == "HEAD" or answer["code"] == "unauthenticated"
        assert headers["www-authenticate"] == "Bearer"
        status, answer, _ = place.server.request(method, path, token=place.keys["user"])
        assert status == 404
        assert method == "HEAD" or answer["code"] == "not_found"


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_a_method_that_is_not_offered_is_refused_to_callers_and_unknown_to_strangers(path: str, place: Place) -> None:
    offered = {route.method for route in ROUTES if route.path == path}
    real = path.replace("{id}", "00000000-0000-7000-8000-000000000000")
    for method in set(METHODS) - offered:
        assert place.server.request(method, real, token="")[0] == 401
        status, _, headers = place.server.request(method, real, token=place.keys["user"])
        if path == "/v1/memories/{id}" or status != 404:
            assert status == 405
            assert set(headers["allow"].split(", ")) == offered


@pytest.mark.parametrize("credential", ["Bearer", "Bearer rk_", "Basic OnJrXw==", "bearer x", "rk_x", "Digest x", "\t"])
def test_a_wrong_credential_is_no_better_than_none(credential: str, place: Place) -> None:
    for route in TABLE:
        method, path = route.split()
        headers = {"authorization": credential}
        status = place.server.request(method, path.replace("{id}", "x"), token="", headers=headers)[0]
        assert status == (200 if path in ("/healthz", "/readyz") else 401)


def test_the_page_for_browsers_takes_a_key_as_a_password_and_nothing_else_does(place: Place) -> None:
    basic = {"authorization": "Basic " + b64encode(f"me:{place.keys['user']}".encode()).decode()}
    for route in TABLE:
        method, path = route.split()
        if method == "GET" and path not in ("/healthz", "/readyz"):
            status, _, headers = place.server.request(method, path.replace("{id}", "x"), token="", headers=basic)
            assert status == (200 if path in ("/docs", "/openapi.yaml", "/openapi-admin.yaml") else 401)
            assert status == 200 or headers["www-authenticate"] == "Bearer"
    assert place.server.request("GET", "/docs", token="")[2]["www-authenticate"].startswith("Basic ")


# -- the checker is checked


MISROUTED = """
from dataclasses import replace
from recollect.domain.callers import Action
from recollect.surfaces.rest import app
wrong = {("GET", "/metrics"): None, ("GET", "/admin/v1/audit"): Action.CHANGE_SETTINGS}
app.ROUTES = tuple(
    replace(each, action=wrong.get((each.method, each.path), each.action)) for each in app.ROUTES
)
"""


def test_a_server_that_lets_the_wrong_ones_in_or_keeps_the_right_ones_out_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_PROGRAM", MISROUTED + servers._PROGRAM)
    with placed(tmp_path / "data") as spoiled:
        wrong = {
            route: [who for who in WHO if spoiled.ask(route, who)[0] != expected(route, who)]
            for route in ("GET /metrics", "GET /admin/v1/audit", "GET /admin/v1/head")
        }
    assert wrong == {
        "GET /metrics": ["user", "other", "agent", "admin", "reviewer", "foreign"],
        "GET /admin/v1/audit": ["auditor", "admin", "foreign"],
        "GET /admin/v1/head": [],
    }


def test_a_route_without_a_row_is_noticed() -> None:
    assert without_row(ROUTES) == []
    assert without_row((*ROUTES, replace(ROUTES[0], path="/v1/new"))) == ["GET /v1/new"]
