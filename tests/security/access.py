"""Who may call what: one table written by hand, the requests that try it, and a server to try it at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

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
POLICIES = "/admin/v1/memories/policies"
QUESTION = {"action": "read", "namespace": ["user", "alice"], "user_id": "bob"}
OWNERS = """package memories.authz

import rego.v1

allow if {
	input.namespace[0] == "user"
	input.namespace[1] == input.context.user_id
}

allow if "admin" in input.context.roles
"""
"""A policy that decides as the built-in one does about what is asked here."""
WHY = {"X-Justification": "a trial"}
DELETION = {"op": "delete", "namespace": ["user", "alice", "notes"], "key": "gone"}

Row = tuple[str, int, int, int, int, int, int, int, int]
#                                                scopes         anon user other agent audit admin oper foreign
TABLE: dict[str, Row] = {
    "GET /v1/memories":                           ("read",         401, 200, 403, 200, 403, 200, 403, 404),
    "PUT /v1/memories":                           ("write",        401, 200, 403, 403, 403, 200, 403, 200),
    "PATCH /v1/memories":                         ("write",        401, 200, 403, 403, 403, 200, 403, 404),
    "DELETE /v1/memories":                        ("delete",       401, 204, 403, 403, 403, 204, 403, 204),
    "POST /v1/memories/search":                   ("read",         401, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/memories/batch":                    ("write delete", 401, 200, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/history":                   ("read",         401, 200, 403, 200, 403, 200, 403, 200),
    "GET /v1/memories/namespaces":                ("read",         401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/events":                    ("read",         401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/{id}":                      ("read",         401, 200, 404, 200, 404, 200, 404, 404),
    "GET /v1/whoami":                             ("",             401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/tools":                              ("",             401, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/tools/{name}":                      ("read",         401, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/brief":                              ("read",         401, 200, 200, 200, 200, 200, 200, 200),
    "GET /admin/v1/head":                         ("read",         401, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/verify":                      ("read",         401, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/erase":                       ("admin",        401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/sweep":                       ("admin",        401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/keys/rotate":                 ("admin",        401, 403, 403, 403, 403, 403, 200, 403),
    "GET /admin/v1/backup":                       ("admin",        401, 403, 403, 403, 403, 403, 200, 403),
    "GET /admin/v1/export":                       ("admin",        401, 403, 403, 403, 403, 200, 403, 200),
    "GET /admin/v1/import":                       ("admin",        401, 403, 403, 403, 403, 200, 403, 200),
    "POST /admin/v1/import":                      ("admin",        401, 403, 403, 403, 403, 200, 403, 200),
    "GET /admin/v1/tokens":                       ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "POST /admin/v1/tokens":                      ("admin",        401, 403, 403, 403, 403, 201, 201, 201),
    "DELETE /admin/v1/tokens/{id}":               ("admin",        401, 403, 403, 403, 403, 200, 200, 404),
    "GET /admin/v1/memories/policies":            ("read",         401, 403, 403, 403, 200, 200, 200, 200),
    "PUT /admin/v1/memories/policies":            ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "POST /admin/v1/memories/policies/check":     ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "POST /admin/v1/memories/policies/rollback":  ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "POST /admin/v1/memories/policies/explain":   ("read",         401, 403, 403, 403, 200, 200, 200, 200),
    "POST /admin/v1/memories/policies/simulate":  ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "GET /admin/v1/memories/index/status":        ("read",         401, 403, 403, 403, 200, 200, 200, 200),
    "POST /admin/v1/memories/index/trigger":      ("admin",        401, 403, 403, 403, 403, 200, 200, 200),
    "GET /admin/v1/memories/settings":            ("admin",        401, 403, 403, 403, 403, 403, 200, 403),
    "PUT /admin/v1/memories/settings":            ("admin",        401, 403, 403, 403, 403, 403, 200, 403),
    "DELETE /admin/v1/memories/{id}":             ("admin",        401, 403, 403, 403, 403, 204, 403, 404),
    "GET /admin/v1/audit":                        ("read",         401, 403, 403, 403, 200, 200, 403, 200),
    "GET /healthz":                               ("",             200, 200, 200, 200, 200, 200, 200, 200),
    "GET /readyz":                                ("",             200, 200, 200, 200, 200, 200, 200, 200),
    "GET /metrics":                               ("read",         401, 403, 403, 403, 200, 403, 200, 403),
    "GET /docs":                                  ("",             401, 200, 200, 200, 200, 200, 200, 200),
    "GET /openapi.yaml":                          ("",             401, 200, 200, 200, 200, 200, 200, 200),
    "GET /openapi-admin.yaml":                    ("",             401, 200, 200, 200, 200, 200, 200, 200),
}  # fmt: skip
"""The scopes that a credential needs, and what each caller gets, by the order of `WHO`.

404 looks as if nothing were there; 200 for those who see nothing of it is checked below.
"""

#                              anon user other agent audit admin oper foreign
JUSTIFIED: dict[str, tuple[int, int, int, int, int, int, int, int]] = {
    "GET /v1/memories":            (401, 403, 403, 403, 403, 200, 403, 404),
    "POST /v1/memories/search":    (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/history":    (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/namespaces": (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/events":     (401, 403, 403, 403, 403, 200, 403, 200),
    "GET /v1/memories/{id}":       (401, 403, 403, 403, 403, 200, 403, 404),
}  # fmt: skip
"""What each gets who reads in alice's name, and says why. Without saying why, those who may are told so with 400."""

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
    "POST /v1/tools/{name}": ("/v1/tools/memory_search", {}),
    "POST /admin/v1/verify": ("/admin/v1/verify", {}),
    "POST /admin/v1/erase": ("/admin/v1/erase", {"subject": "user:nobody"}),
    "POST /admin/v1/sweep": ("/admin/v1/sweep", {}),
    "POST /admin/v1/keys/rotate": ("/admin/v1/keys/rotate", {}),
    "GET /admin/v1/import": (f"/admin/v1/import?source={'cd' * 32}", None),
    "POST /admin/v1/import": ("/admin/v1/import", ENTRIES),
    "POST /admin/v1/tokens": ("/admin/v1/tokens", {"user_id": "somebody", "scopes": ["admin"]}),
    "DELETE /admin/v1/tokens/{id}": ("/admin/v1/tokens/{token}", None),
    "PUT /admin/v1/memories/policies": (POLICIES, {"authz": OWNERS}),
    "POST /admin/v1/memories/policies/check": (f"{POLICIES}/check", {"authz": OWNERS}),
    "POST /admin/v1/memories/policies/rollback": (f"{POLICIES}/rollback", {"number": 0}),
    "POST /admin/v1/memories/policies/explain": (f"{POLICIES}/explain", QUESTION),
    "POST /admin/v1/memories/policies/simulate": (f"{POLICIES}/simulate", {"authz": OWNERS}),
    "PUT /admin/v1/memories/settings": ("/admin/v1/memories/settings", {"index_batch": 100}),
    "DELETE /admin/v1/memories/{id}": ("/admin/v1/memories/{doomed}", None),
}
"""The request by which a route is tried; without a row: the path alone."""

NEED_WHY = {"DELETE /admin/v1/memories/{id}"}
"""Routes that are refused to everybody who does not say why."""

SEES: dict[str, Callable[[Any], object]] = {
    "POST /v1/memories/search": lambda found: found["items"],
    "GET /v1/memories/history": lambda found: found["versions"],
    "GET /v1/memories/namespaces": lambda found: found["namespaces"],
    "GET /v1/memories/events": lambda found: found["events"],
    "GET /admin/v1/export": lambda found: found["entries"],
}
SEE_THEM = {"user", "agent", "admin"}
"""Who is shown alice's memories, by routes that show others an empty answer."""


def expected(route: str, who: str) -> int:
    """What the table says."""
    return int(TABLE[route][1 + WHO.index(who)])


@dataclass(frozen=True, slots=True)
class Place:
    """A server with everybody's keys, one memory of alice, and one API key of her tenant."""

    server: Server
    keys: dict[str, str]
    version: str
    tenants: Iterator[int] = field(default_factory=count)

    def ready(self, route: str) -> tuple[str, str, Any]:
        """The request by which a route is tried, with what it needs in place."""
        method, path = route.split()
        path, body = REQUESTS.get(route, (path, None))
        if "{token}" in path:
            made = self.server.request("POST", "/admin/v1/tokens", {"user_id": "victim", "tenant": "here"})[1]
            path = path.replace("{token}", made["token"]["id"])
        if "{doomed}" in path:
            doomed = {**MEMORY, "key": "doomed"}
            path = path.replace(
                "{doomed}", self.server.request("PUT", "/v1/memories", doomed, token=self.keys["user"])[1]["id"]
            )
        path = path.replace("{version}", self.version)
        body = {k: v for k, v in body.items() if v is not ...} if isinstance(body, dict) else body
        return method, path, body

    def ask(self, route: str, who: str) -> tuple[int, Any]:
        """Try a route in somebody's name."""
        return self.send(*self.ready(route), self.key(who), WHY if route in NEED_WHY else {})

    def send(self, method: str, path: str, body: Any, key: str, headers: Mapping[str, str] = {}) -> tuple[int, Any]:
        """Send a request with a key."""
        status, answer, _ = self.server.request(method, path, body, token=key, headers=headers)
        return status, answer

    def key(self, who: str) -> str:
        """Somebody's key; a foreign administrator comes from a new tenant each time, so that nothing is there yet."""
        if who != "foreign":
            return self.keys[who]
        return self.server.key_for("alice", tenant=f"elsewhere-{next(self.tenants)}", roles=["admin"])

    def state(self) -> dict[str, Any]:
        """Everything that somebody could have changed here: in alice's tenant, and in the service itself."""
        admin, owner = self.keys["admin"], self.server.token
        asked = {
            "memories": ("/admin/v1/export?limit=1000", admin),
            "policy": (POLICIES, admin),
            "audit": ("/admin/v1/audit?limit=1000", admin),
            "tokens": ("/admin/v1/tokens?tenant=here", owner),
            "policy of the service": (f"{POLICIES}?service=true", owner),
            "audit of the service": ("/admin/v1/audit?limit=1000&service=true", owner),
            "settings": ("/admin/v1/memories/settings", owner),
        }
        found = {name: self.server.request("GET", path, token=key) for name, (path, key) in asked.items()}
        assert {status for status, _, _ in found.values()} == {200}
        state = {name: answer for name, (_, answer, _) in found.items()}
        # How far the log goes is left out: the service itself writes down in it what was asked of the policy.
        return state | {"memories": state["memories"]["entries"]}


@contextmanager
def placed(home: Path) -> Iterator[Place]:
    """A server with all that, for as long as the block lasts."""
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
