"""Every route for every kind of caller, as one table written by hand and tried at a real server."""

from __future__ import annotations

import ast
import inspect
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tools import generate_access

import recollect_client
from recollect.cli.program import _COMMANDS, _GROUPS
from recollect.domain.callers import _NEEDS, Action, Role, Scope
from recollect.surfaces.rest.routes import ROUTES, Route
from recollect.testing.servers import Server, running

WHO = ("anonymous", "user", "other", "agent", "auditor", "admin", "operator", "foreign")
"""
user      alice, whose memories the requests are about
other     bob, of the same tenant
agent     a client of alice with a credential for reading only
auditor, admin, operator    each with that role alone
foreign   an administrator of another tenant
"""
NOTES = "ns=user&ns=alice&ns=notes"
ENTRIES = {"source": "cd" * 32, "entries": []}
MEMORY = {"namespace": ["user", "alice", "notes"], "key": "k", "value": {"n": 1}}
DELETION = {"op": "delete", "namespace": ["user", "alice", "notes"], "key": "gone"}

#                                       anonymous user other agent auditor admin operator foreign
TABLE: dict[str, tuple[int, int, int, int, int, int, int, int]] = {
    "GET /v1/memories":                     (401, 200, 403, 200, 403, 200, 403, 404),
    "PUT /v1/memories":                     (401, 200, 403, 403, 403, 200, 403, 200),
    "PATCH /v1/memories":                   (401, 200, 403, 403, 403, 200, 403, 404),
    "DELETE /v1/memories":                  (401, 204, 403, 403, 403, 204, 403, 204),
    "POST /v1/memories/search":             (401, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/memories/batch":              (401, 200, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/history":             (401, 200, 403, 200, 403, 200, 403, 200),
    "GET /v1/memories/namespaces":          (401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/events":              (401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/{id}":                (401, 200, 404, 200, 404, 200, 404, 404),
    "GET /v1/whoami":                       (401, 200, 200, 200, 200, 200, 200, 200),
    "GET /admin/v1/head":                   (401, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/verify":                (401, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/erase":                 (401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/sweep":                 (401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/keys/rotate":           (401, 403, 403, 403, 403, 403, 200, 403),
    "GET /admin/v1/backup":                 (401, 403, 403, 403, 403, 403, 200, 403),
    "GET /admin/v1/export":                 (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /admin/v1/import":                 (401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/import":                (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /admin/v1/tokens":                 (401, 403, 403, 403, 403, 200, 200, 200),
    "POST /admin/v1/tokens":                (401, 403, 403, 403, 403, 201, 201, 201),
    "DELETE /admin/v1/tokens/{id}":         (401, 403, 403, 403, 403, 200, 200, 404),
    "GET /healthz":                         (200, 200, 200, 200, 200, 200, 200, 200),
    "GET /readyz":                          (200, 200, 200, 200, 200, 200, 200, 200),
    "GET /metrics":                         (401, 403, 403, 403, 200, 403, 200, 403),
    "GET /docs":                            (401, 200, 200, 200, 200, 200, 200, 200),
    "GET /openapi.yaml":                    (401, 200, 200, 200, 200, 200, 200, 200),
}  # fmt: skip
"""What each gets. 404 looks as if nothing were there; 200 for those who see nothing of it is checked below."""

REQUESTS: dict[str, tuple[str, Any]] = {
    "GET /v1/memories": (f"/v1/memories?{NOTES}&key=k", None),
    "PUT /v1/memories": ("/v1/memories", MEMORY),
    "PATCH /v1/memories": ("/v1/memories", {**MEMORY, "archived": False} | {"value": ...}),
    "DELETE /v1/memories": (f"/v1/memories?{NOTES}&key=gone", None),
    "POST /v1/memories/search": ("/v1/memories/search", {"namespace_prefix": ["user", "alice"]}),
    "POST /v1/memories/batch": ("/v1/memories/batch", {"operations": [{"op": "put", **MEMORY}, DELETION]}),
    "GET /v1/memories/history": (f"/v1/memories/history?{NOTES}&key=k", None),
    "GET /v1/memories/namespaces": ("/v1/memories/namespaces?prefix=user&prefix=alice", None),
    "GET /v1/memories/events": ("/v1/memories/events?ns=user&ns=alice", None),
    "GET /v1/memories/{id}": ("/v1/memories/{version}", None),
    "POST /admin/v1/verify": ("/admin/v1/verify", {}),
    "POST /admin/v1/erase": ("/admin/v1/erase", {"subject": "user:nobody"}),
    "POST /admin/v1/sweep": ("/admin/v1/sweep", {}),
    "POST /admin/v1/keys/rotate": ("/admin/v1/keys/rotate", {}),
    "GET /admin/v1/import": (f"/admin/v1/import?source={'cd' * 32}", None),
    "POST /admin/v1/import": ("/admin/v1/import", ENTRIES),
    "POST /admin/v1/tokens": ("/admin/v1/tokens", {"user_id": "somebody"}),
    "DELETE /admin/v1/tokens/{id}": ("/admin/v1/tokens/{token}", None),
}
"""The request by which a route is tried; without a row: the path alone."""

SEES: dict[str, Callable[[Any], object]] = {
    "POST /v1/memories/search": lambda found: found["items"],
    "GET /v1/memories/history": lambda found: found["versions"],
    "GET /v1/memories/namespaces": lambda found: found["namespaces"],
    "GET /v1/memories/events": lambda found: found["events"],
    "GET /admin/v1/export": lambda found: found["entries"],
}
SEE_THEM = {"user", "agent", "admin"}
"""Who is shown alice's memories, by routes that show others an empty answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """A server with everybody's keys, one memory of alice, and one API key of her tenant."""

    server: Server
    keys: dict[str, str]
    version: str
    tenants: Iterator[int] = field(default_factory=count)

    def ask(self, route: str, who: str) -> tuple[int, Any]:
        """Try a route in somebody's name."""
        method, path = route.split()
        path, body = REQUESTS.get(route, (path, None))
        if "{token}" in path:
            made = self.server.request("POST", "/admin/v1/tokens", {"user_id": "victim", "tenant": "here"})[1]
            path = path.replace("{token}", made["token"]["id"])
        path = path.replace("{version}", self.version)
        body = {k: v for k, v in body.items() if v is not ...} if isinstance(body, dict) else body
        status, answer, _ = self.server.request(method, path, body, token=self.key(who))
        return status, answer

    def key(self, who: str) -> str:
        """Somebody's key; a foreign administrator comes from a new tenant each time, so that nothing is there yet."""
        if who != "foreign":
            return self.keys[who]
        return self.server.key_for("alice", tenant=f"elsewhere-{next(self.tenants)}", roles=["admin"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("access") / "data"
    with running(home, failures_per_second=0) as server:
        keys = {
            "anonymous": "",
            "user": server.key_for("alice", tenant="here"),
            "other": server.key_for("bob", tenant="here"),
            "agent": server.key_for("alice", tenant="here", client_id="agent", scopes=["read"]),
            "auditor": server.key_for("eve", tenant="here", roles=["auditor"]),
            "admin": server.key_for("root", tenant="here", roles=["admin"]),
            "operator": server.key_for("ops", tenant="here", roles=["operator"]),
        }
        status, written, _ = server.request("PUT", "/v1/memories", MEMORY, token=keys["user"])
        assert status == 200
        yield Place(server, keys, written["id"])


ROWS = [pytest.param(route, who, id=f"{route.replace(' ', '-')}-{who}") for route in TABLE for who in WHO]


@pytest.mark.parametrize(("route", "who"), ROWS)
def test_a_caller_gets_what_the_table_says(route: str, who: str, place: Place) -> None:
    status, answer = place.ask(route, who)
    assert status == TABLE[route][WHO.index(who)], answer
    if status == 200 and route in SEES:
        assert bool(SEES[route](answer)) is (who in SEE_THEM)
    if status in (401, 403, 404):
        assert answer["code"] == {401: "unauthenticated", 403: "forbidden", 404: "not_found"}[status]
        assert "alice" not in json.dumps(answer)


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
    assert without_row(ROUTES) == []
    assert len(TABLE) == len(ROUTES)
    assert set(REQUESTS) <= set(TABLE)


def test_only_health_is_open_to_strangers() -> None:
    open_routes = {route for route, row in TABLE.items() if row[0] != 401}
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
            assert status == (200 if path in ("/docs", "/openapi.yaml") else 401)
            assert status == 200 or headers["www-authenticate"] == "Bearer"
    assert place.server.request("GET", "/docs", token="")[2]["www-authenticate"].startswith("Basic ")


# -- other doors lead to the same routes

SDK_ROUTES = {
    "put": "PUT /v1/memories",
    "archive": "PATCH /v1/memories",
    "delete": "POST /v1/memories/batch",
    "batch": "POST /v1/memories/batch",
    "get": "GET /v1/memories",
    "get_by_id": "GET /v1/memories/{id}",
    "search": "POST /v1/memories/search",
    "list_namespaces": "GET /v1/memories/namespaces",
    "history": "GET /v1/memories/history",
    "events": "GET /v1/memories/events",
    "follow": "GET /v1/memories/events",
    "head": "GET /admin/v1/head",
    "verify": "POST /admin/v1/verify",
    "erase": "POST /admin/v1/erase",
    "sweep": "POST /admin/v1/sweep",
    "rotate_keys": "POST /admin/v1/keys/rotate",
    "backup": "GET /admin/v1/backup",
    "export_page": "GET /admin/v1/export",
    "import_progress": "GET /admin/v1/import",
    "import_page": "POST /admin/v1/import",
    "whoami": "GET /v1/whoami",
    "create_token": "POST /admin/v1/tokens",
    "list_tokens": "GET /admin/v1/tokens",
    "revoke_token": "DELETE /admin/v1/tokens/{id}",
}
CLI_METHODS = {
    "put": {"put"},
    "get": {"get", "get_by_id"},
    "rm": {"delete"},
    "search": {"search"},
    "ls": {"list_namespaces"},
    "history": {"history"},
    "archive": {"archive"},
    "unarchive": {"archive"},
    "log": {"events", "follow", "head"},
    "head": {"head"},
    "verify": {"verify"},
    "whoami": {"whoami"},
    "backup": {"backup"},
    "export": {"export_page"},
    "import": {"import_progress", "import_page"},
    "sweep": {"sweep"},
    "erase": {"erase"},
    "tokens create": {"create_token"},
    "tokens list": {"list_tokens"},
    "tokens revoke": {"revoke_token"},
    "keys rotate": {"rotate_keys"},
}
"""By which calls of the client a command asks a server."""
CLI_ALONE = {"serve", "settings", "doctor", "version", "restore", "keys show"}
"""Commands about this machine, which ask no server for memories."""


def test_every_call_of_the_client_leads_to_a_route() -> None:
    calls = {name for name, _ in inspect.getmembers(recollect_client.Client, inspect.isfunction) if name[0] != "_"}
    assert calls - {"close"} == set(SDK_ROUTES)
    assert set(SDK_ROUTES.values()) <= set(TABLE)
    only_for_people = {"GET /healthz", "GET /readyz", "GET /metrics", "GET /docs", "GET /openapi.yaml"}
    assert set(TABLE) - set(SDK_ROUTES.values()) == only_for_people | {"DELETE /v1/memories"}


def test_a_call_of_the_client_names_its_route() -> None:
    source = inspect.getsource(recollect_client._sync.Client)
    methods = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    for call, route in SDK_ROUTES.items():
        if call in ("events", "follow", "delete"):
            continue  # their requests are made by a function that both share, or by `batch`
        texts = "".join(ast.unparse(each) for each in methods[call].body[1:])
        assert route.split()[1].partition("{")[0] in texts, call


def test_every_command_leads_to_calls_of_the_client_or_stays_on_this_machine() -> None:
    commands = {name for group in _COMMANDS.values() for name in group}
    commands |= {f"{group} {name}" for group, (_, _, members) in _GROUPS.items() for name in members}
    assert commands == set(CLI_METHODS) | CLI_ALONE
    assert {call for calls in CLI_METHODS.values() for call in calls} == set(SDK_ROUTES) - {"batch"}


# -- the page that tells all this


def test_the_page_is_up_to_date() -> None:
    assert generate_access.TARGET.read_text() == generate_access.page(), "run `make generate`"


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    assert generate_access.write(tmp_path / "access.md").read_text() == generate_access.page()


def disagreements(route: Route) -> list[str]:
    """Where the page, which follows from the code, says something else than the table."""
    row = dict(zip(WHO, TABLE[f"{route.method} {route.path}"], strict=True))
    found = []
    for who in ("anonymous", "user", *Role):
        said = generate_access.allowed(route, who)
        mine = said == generate_access.YES or (said == generate_access.OWN and who == "user")
        may = {200, 201, 204} if mine else {401, 403} if said == generate_access.NO else {200, 403, 404}
        if row[who] not in may:
            found.append(f"{who}: {said} on the page, {row[who]} in the table")
    reads_only = set(generate_access.scopes_of(route)) <= {Scope.READ}
    if row["user"] < 300 and (row["agent"] == row["user"]) is not reads_only:
        found.append(f"agent: {generate_access.scopes_of(route)} on the page, {row['agent']} in the table")
    return found


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_page_says_what_the_table_says(route: Route) -> None:
    assert disagreements(route) == []


def test_a_rule_that_opens_wider_or_less_wide_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = {f"{route.method} {route.path}": route for route in ROUTES}
    monkeypatch.setitem(_NEEDS, Action.VERIFY, (Scope.READ, frozenset()))
    assert disagreements(routes["GET /admin/v1/head"])
    monkeypatch.setitem(_NEEDS, Action.ERASE, (Scope.ADMIN, frozenset({Role.OPERATOR})))
    assert disagreements(routes["POST /admin/v1/erase"])
    monkeypatch.setitem(_NEEDS, Action.WRITE, (Scope.READ, frozenset()))
    assert disagreements(routes["PUT /v1/memories"])
    assert disagreements(replace(routes["GET /v1/whoami"], anonymous=True))


def test_a_route_without_a_row_is_noticed() -> None:
    assert without_row(ROUTES) == []
    assert without_row((*ROUTES, replace(ROUTES[0], path="/v1/new"))) == ["GET /v1/new"]
