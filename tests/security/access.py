"""Who may call what: one table written by hand, the requests that try it, and a server to try it at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from recollect.testing.servers import Server, running

WHO = ("anonymous", "user", "other", "agent", "auditor", "admin", "operator", "reviewer", "foreign")
"""
user      alice, whose memories the requests are about
other     bob, of the same tenant
agent     a client of alice with a credential for reading only
auditor, admin, operator, reviewer    each with that role alone
foreign   an administrator of another tenant
"""
NOTES = "ns=user&ns=alice&ns=notes"
ENTRIES = {"source": "cd" * 32, "entries": []}
MEMORY = {"namespace": ["user", "alice", "notes"], "key": "k", "value": {"n": 1}}
IMPORTED = {"user": "I prefer tea.", "at": "2025-06-01T09:00:00Z"}
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

CONSENT = {
    "subject_ceid": "user:alice",
    "purpose": "support",
    "scope": {"predicates_allowed": ["email"], "data_classifications_allowed": ["INTERNAL"]},
    "basis": "user_opt_in",
    "evidence_refs": ["consent_screen:v3"],
}
CANDIDATE = {
    "entity_ceid": "user:alice",
    "predicate": "name",
    "value": "Eve",
    "evidence_refs": ["tool:x:1"],
    "confidence": 0.9,
}
PROPOSAL = {"candidate": CANDIDATE, "class": "evidence_link"}
Row = tuple[str, int, int, int, int, int, int, int, int, int]
#                                                scopes         anon user other agent audit admin oper review foreign
TABLE: dict[str, Row] = {
    "GET /v1/memories":                            ("read",         401, 200, 403, 200, 403, 200, 403, 403, 404),
    "PUT /v1/memories":                            ("write",        401, 200, 403, 403, 403, 200, 403, 403, 200),
    "PATCH /v1/memories":                          ("write",        401, 200, 403, 403, 403, 200, 403, 403, 404),
    "DELETE /v1/memories":                         ("delete",       401, 204, 403, 403, 403, 204, 403, 403, 204),
    "POST /v1/memories/search":                    ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/memories/batch":                     ("write delete", 401, 200, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/memories/history":                    ("read",         401, 200, 403, 200, 403, 200, 403, 403, 200),
    "GET /v1/memories/namespaces":                 ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/events":                     ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/memories/{id}":                       ("read",         401, 200, 404, 200, 404, 200, 404, 404, 404),
    "POST /v1/captures":                           ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/captures":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/captures/dry-run":                   ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/captures/{id}":                       ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "POST /v1/proposals":                          ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/proposals":                           ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/proposals/load":                      ("write",        401, 403, 403, 403, 403, 200, 403, 200, 200),
    "POST /v1/proposals/decide":                   ("write",        401, 403, 403, 403, 403, 200, 403, 200, 200),
    "GET /v1/proposals/{id}":                      ("read",         401, 200, 404, 200, 404, 200, 404, 200, 404),
    "POST /v1/proposals/{id}/claim":               ("write",        401, 403, 403, 403, 403, 200, 403, 200, 404),
    "POST /v1/proposals/{id}/release":             ("write",        401, 403, 403, 403, 403, 200, 403, 200, 404),
    "POST /v1/proposals/{id}/approve":             ("write",        401, 403, 403, 403, 403, 200, 403, 200, 404),
    "POST /v1/proposals/{id}/reject":              ("write",        401, 403, 403, 403, 403, 200, 403, 200, 404),
    "POST /v1/consents":                           ("write",        401, 200, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/consents":                            ("read",         401, 200, 403, 200, 403, 200, 403, 403, 200),
    "GET /v1/consents/{id}":                       ("read",         401, 200, 404, 200, 404, 200, 404, 404, 404),
    "POST /v1/consents/{id}/revoke":               ("write",        401, 200, 404, 403, 404, 200, 404, 404, 404),
    "GET /v1/records":                             ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/records/undo":                       ("write delete", 401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/records/{id}":                        ("read",         401, 200, 404, 200, 404, 200, 404, 404, 404),
    "POST /v1/records/{id}/correct":               ("write",        401, 200, 404, 403, 404, 200, 404, 404, 404),
    "POST /v1/records/{id}/retract":               ("delete",       401, 200, 404, 403, 404, 200, 404, 404, 404),
    "POST /v1/records/{id}/pin":                   ("write",        401, 200, 404, 403, 404, 200, 404, 404, 404),
    "POST /v1/records/{id}/unpin":                 ("write",        401, 200, 404, 403, 404, 200, 404, 404, 404),
    "POST /v1/records/{id}/promote":               ("write",        401, 200, 404, 403, 404, 200, 404, 404, 404),
    "GET /v1/contradictions":                      ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/contradictions/{id}/resolve":        ("write",        401, 403, 403, 403, 403, 200, 403, 200, 404),
    "GET /v1/signals":                             ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/traces":                              ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/traces/{id}":                         ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "POST /v1/recall":                             ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/context":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/sessions/{id}/recall":               ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/sessions/{id}/turns":                ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "POST /v1/sessions/{id}/replay":               ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "GET /v1/profiles":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/profiles/{id}":                       ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "PUT /v1/profiles/{id}":                       ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "POST /v1/turns":                              ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "POST /v1/turns/import":                       ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/turns/import":                        ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/sessions":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/sessions/{id}":                       ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "POST /v1/sessions/{id}/close":                ("read write",   401, 200, 404, 403, 404, 404, 404, 404, 404),
    "GET /v1/sessions/{id}/messages":              ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/messages":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/session-state":                       ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/spines":                              ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/spines/{version}":                    ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "GET /v1/todos":                               ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/todos":                              ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/todos/{id}":                          ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "PATCH /v1/todos/{id}":                        ("write",        401, 200, 404, 403, 404, 404, 404, 404, 404),
    "GET /v1/seed":                                ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "PUT /v1/seed":                                ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "DELETE /v1/seed":                             ("delete",       401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/personas":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/personas/{id}":                       ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "PUT /v1/personas/{id}":                       ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "GET /v1/entities":                            ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/entities/{ref}":                      ("read",         401, 200, 404, 200, 404, 404, 404, 404, 404),
    "PUT /v1/entities/{ref}":                      ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "POST /v1/entities/{ref}/merge":               ("write",        401, 200, 404, 403, 404, 404, 404, 404, 404),
    "POST /v1/entities/{ref}/split":               ("write",        401, 200, 404, 403, 404, 404, 404, 404, 404),
    "POST /v1/entity-changes/{id}/undo":           ("write",        401, 200, 404, 403, 404, 404, 404, 404, 404),
    "GET /v1/entity-suggestions":                  ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/entity-suggestions/{id}":            ("write",        401, 200, 404, 403, 404, 404, 404, 404, 404),
    "POST /v1/curations":                          ("write delete", 401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/curations":                           ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/curations/{id}/undo":                ("write delete", 401, 200, 404, 403, 404, 404, 404, 404, 404),
    "GET /v1/records/{id}/why":                    ("read",         401, 200, 404, 200, 404, 200, 404, 404, 404),
    "POST /v1/why-not":                            ("read write",   401, 200, 200, 403, 200, 200, 200, 200, 200),
    "GET /v1/phases/diff":                         ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/metrics/memory":                      ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/phases":                             ("write",        401, 200, 200, 403, 200, 200, 200, 200, 200),
    "POST /admin/v1/captures/remember":            ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/whoami":                              ("",             401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/tools":                               ("",             401, 200, 200, 200, 200, 200, 200, 200, 200),
    "POST /v1/tools/{name}":                       ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /v1/brief":                               ("read",         401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /admin/v1/head":                          ("read",         401, 403, 403, 403, 200, 200, 403, 403, 200),
    "POST /admin/v1/verify":                       ("read",         401, 403, 403, 403, 200, 200, 403, 403, 200),
    "POST /admin/v1/erase":                        ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "POST /admin/v1/sweep":                        ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "POST /admin/v1/keys/rotate":                  ("admin",        401, 403, 403, 403, 403, 403, 200, 403, 403),
    "GET /admin/v1/backup":                        ("admin",        401, 403, 403, 403, 403, 403, 200, 403, 403),
    "GET /admin/v1/export":                        ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /admin/v1/import":                        ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "POST /admin/v1/import":                       ("admin",        401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /admin/v1/tokens":                        ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/tokens":                       ("admin",        401, 403, 403, 403, 403, 201, 201, 403, 201),
    "DELETE /admin/v1/tokens/{id}":                ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 404),
    "GET /admin/v1/memories/policies":             ("read",         401, 403, 403, 403, 200, 200, 200, 403, 200),
    "PUT /admin/v1/memories/policies":             ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/memories/policies/check":      ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/memories/policies/rollback":   ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "POST /admin/v1/memories/policies/explain":    ("read",         401, 403, 403, 403, 200, 200, 200, 403, 200),
    "POST /admin/v1/memories/policies/simulate":   ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "GET /admin/v1/memories/index/status":         ("read",         401, 403, 403, 403, 200, 200, 200, 403, 200),
    "POST /admin/v1/memories/index/trigger":       ("admin",        401, 403, 403, 403, 403, 200, 200, 403, 200),
    "GET /admin/v1/memories/settings":             ("admin",        401, 403, 403, 403, 403, 403, 200, 403, 403),
    "PUT /admin/v1/memories/settings":             ("admin",        401, 403, 403, 403, 403, 403, 200, 403, 403),
    "GET /admin/v1/memories/usage":                ("read",         401, 403, 403, 403, 200, 200, 403, 403, 404),
    "GET /admin/v1/memories/usage/top":            ("read",         401, 403, 403, 403, 200, 200, 403, 403, 200),
    "DELETE /admin/v1/memories/{id}":              ("admin",        401, 403, 403, 403, 403, 204, 403, 403, 404),
    "GET /admin/v1/audit":                         ("read",         401, 403, 403, 403, 200, 200, 403, 403, 200),
    "GET /healthz":                                ("",             200, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /readyz":                                 ("",             200, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /metrics":                                ("read",         401, 403, 403, 403, 200, 403, 200, 403, 403),
    "GET /docs":                                   ("",             401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /openapi.yaml":                           ("",             401, 200, 200, 200, 200, 200, 200, 200, 200),
    "GET /openapi-admin.yaml":                     ("",             401, 200, 200, 200, 200, 200, 200, 200, 200),
}  # fmt: skip
"""The scopes that a credential needs, and what each caller gets, by the order of `WHO`.

404 looks as if nothing were there; 200 for those who see nothing of it is checked below.
"""

#                              anon user other agent audit admin oper review foreign
JUSTIFIED: dict[str, tuple[int, int, int, int, int, int, int, int, int]] = {
    "GET /v1/memories":            (401, 403, 403, 403, 403, 200, 403, 403, 404),
    "POST /v1/memories/search":    (401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/memories/history":    (401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/memories/namespaces": (401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/memories/events":     (401, 403, 403, 403, 403, 200, 403, 403, 200),
    "GET /v1/memories/{id}":       (401, 403, 403, 403, 403, 200, 403, 403, 404),
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
    "POST /v1/captures": ("/v1/captures", {"captures": [{"text": "I prefer tea."}]}),
    "POST /v1/captures/dry-run": ("/v1/captures/dry-run", {"text": "I prefer tea."}),
    "GET /v1/captures/{id}": ("/v1/captures/{capture}", None),
    "POST /v1/proposals": ("/v1/proposals", PROPOSAL),
    "POST /v1/proposals/decide": (
        "/v1/proposals/decide",
        {"decision": "reject", "proposal_ids": ["mwp_x"], "dry_run": True},
    ),
    "GET /v1/proposals/{id}": ("/v1/proposals/{proposal}", None),
    "POST /v1/proposals/{id}/claim": ("/v1/proposals/{proposal}/claim", {}),
    "POST /v1/proposals/{id}/release": ("/v1/proposals/{proposal}/release", None),
    "POST /v1/proposals/{id}/approve": ("/v1/proposals/{proposal}/approve", {}),
    "POST /v1/proposals/{id}/reject": ("/v1/proposals/{proposal}/reject", {}),
    "POST /v1/consents": ("/v1/consents", CONSENT),
    "GET /v1/consents": ("/v1/consents?subject=user:alice", None),
    "GET /v1/consents/{id}": ("/v1/consents/{consent}", None),
    "POST /v1/consents/{id}/revoke": ("/v1/consents/{consent}/revoke", {}),
    "POST /v1/records/undo": ("/v1/records/undo", {"source": "never seen"}),
    "GET /v1/records/{id}": ("/v1/records/{record}", None),
    "POST /v1/records/{id}/correct": ("/v1/records/{record}/correct", {"value": "coffee"}),
    "POST /v1/records/{id}/retract": ("/v1/records/{record}/retract", None),
    "POST /v1/records/{id}/pin": ("/v1/records/{record}/pin", None),
    "POST /v1/records/{id}/unpin": ("/v1/records/{record}/unpin", None),
    "POST /v1/records/{id}/promote": ("/v1/records/{record}/promote", {"to_space": "project", "project": "apollo"}),
    "POST /v1/contradictions/{id}/resolve": ("/v1/contradictions/{contradiction}/resolve", {"winner": "existing"}),
    "POST /v1/phases": ("/v1/phases", {"token": "t"}),
    "POST /v1/recall": ("/v1/recall", {"query": "tea"}),
    "POST /v1/context": ("/v1/context", {"query": "tea"}),
    "POST /v1/sessions/{id}/recall": ("/v1/sessions/s1/recall", {"query": "tea"}),
    "POST /v1/sessions/{id}/turns": ("/v1/sessions/s1/turns", {"user": "I prefer tea."}),
    "POST /v1/sessions/{id}/replay": ("/v1/sessions/{session}/replay", None),
    "GET /v1/profiles/{id}": ("/v1/profiles/default", None),
    "PUT /v1/profiles/{id}": ("/v1/profiles/careful", {"settings": {"semantic": True}}),
    "POST /v1/turns": ("/v1/turns", {"user": "I prefer tea."}),
    "POST /v1/turns/import": (
        "/v1/turns/import",
        {"source": "cd" * 32, "position": 0, "persona": "diary", "turns": [IMPORTED]},
    ),
    "GET /v1/turns/import": (f"/v1/turns/import?source={'cd' * 32}", None),
    "GET /v1/sessions/{id}": ("/v1/sessions/{talk}", None),
    "POST /v1/sessions/{id}/close": ("/v1/sessions/{talk}/close", None),
    "GET /v1/sessions/{id}/messages": ("/v1/sessions/{talk}/messages", None),
    "GET /v1/spines/{version}": ("/v1/spines/{spine}", None),
    "POST /v1/todos": ("/v1/todos", {"content": "Call John."}),
    "GET /v1/todos/{id}": ("/v1/todos/{todo}", None),
    "PATCH /v1/todos/{id}": ("/v1/todos/{todo}", {"status": "COMPLETED"}),
    "GET /v1/seed": ("/v1/seed{told}", None),
    "PUT /v1/seed": ("/v1/seed", {"text": "Lives in Austin."}),
    "GET /v1/personas/{id}": ("/v1/personas/default", None),
    "PUT /v1/personas/{id}": ("/v1/personas/coach", {"settings": {"label": "Coach"}}),
    "GET /v1/entities/{ref}": ("/v1/entities/{entity}", None),
    "PUT /v1/entities/{ref}": ("/v1/entities/person:john", {"label": "John"}),
    "POST /v1/entities/{ref}/merge": ("/v1/entities/{entity}/merge", {"into": "person:ada"}),
    "POST /v1/entities/{ref}/split": ("/v1/entities/{entity}/split", {"aliases": ["{alias}"]}),
    "POST /v1/entity-changes/{id}/undo": ("/v1/entity-changes/{change}/undo", None),
    "POST /v1/entity-suggestions/{id}": ("/v1/entity-suggestions/{suggestion}", {"accept": False}),
    "POST /v1/curations": ("/v1/curations", {}),
    "POST /v1/curations/{id}/undo": ("/v1/curations/{curation}/undo", None),
    "GET /v1/traces/{id}": ("/v1/traces/{trace}", None),
    "GET /v1/records/{id}/why": ("/v1/records/{record}/why", None),
    "POST /v1/why-not": ("/v1/why-not", {"text": "I prefer tea."}),
    "GET /v1/phases/diff": ("/v1/phases/diff?from=phase-1&to=phase-1&space=user", None),
    "GET /admin/v1/memories/usage": (f"/admin/v1/memories/usage?{NOTES}&key=k", None),
    "POST /admin/v1/captures/remember": ("/admin/v1/captures/remember", {}),
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
TOLD: dict[str, tuple[Callable[[Any], object], set[str]]] = {
    "POST /v1/recall": (lambda found: _recalled(found["memories"]), {"user", "agent"}),
    "POST /v1/context": (lambda found: _recalled(found["pack"]["manifest"]["ids"]), {"user", "agent"}),
    "GET /v1/sessions/{id}/messages": (lambda found: found["messages"], {"user", "agent"}),
    "GET /v1/captures": (lambda found: _of_alice(found["captures"], "about", "user:alice"), {"user", "agent"}),
    "GET /v1/records": (lambda found: _of_alice(found["records"], "owner", "alice"), {"user", "agent"}),
    "GET /v1/proposals": (
        lambda found: _of_alice(found["proposals"], "user_id", "alice"),
        {"user", "agent", "admin", "reviewer"},
    ),
    "GET /v1/contradictions": (
        lambda found: _of_alice(found["contradictions"], "entity_ceid", "user:alice"),
        {"user", "agent", "admin", "reviewer"},
    ),
}
"""What of the way in is alice's, and who is shown it: captures and records are told to nobody else in a list."""


def _of_alice(found: list[dict[str, Any]], name: str, value: str) -> list[dict[str, Any]]:
    return [each for each in found if each[name] == value]


def _recalled(found: list[Any]) -> list[Any]:
    return [each for each in found if ":alice:" in (each if isinstance(each, str) else each["id"])]


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
    said: Iterator[int] = field(default_factory=count)

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
        for name, make in MADE.items():
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(make(self), safe=""))
        path = path.replace("{version}", self.version)
        if body == {"aliases": ["{alias}"]}:
            body = {"aliases": [f"Other {path.split('/')[3].rpartition('_')[2]}"]}
        body = {k: v for k, v in body.items() if v is not ...} if isinstance(body, dict) else body
        return method, path, body

    def made(self, path: str, body: Any) -> Any:
        """What alice gets for something that she does on the way in."""
        status, told, _ = self.server.request("POST", path, body, token=self.keys["user"])
        assert status == 200, told
        return told

    def captured(self) -> Any:
        """Something new that alice says."""
        said = {"captures": [{"text": f"I prefer tea number {next(self.said)}."}]}
        return self.made("/v1/captures", said)["captures"][0]

    def talked(self) -> Any:
        """A turn of a conversation of alice."""
        return self.made("/v1/turns", {"user": f"Hello number {next(self.said)}.", "ai": "Yes."})

    def named(self) -> Any:
        """Somebody new of whom alice speaks, under two names."""
        number = next(self.said)
        body = {"label": f"Name {number}", "aliases": [f"Other {number}"]}
        path = f"/v1/entities/person:name_{number}"
        self.server.request("PUT", "/v1/entities/person:ada", {"label": "Ada"}, token=self.keys["user"])
        status, told, _ = self.server.request("PUT", path, body, token=self.keys["user"])
        assert status == 200, told
        return told

    def contradiction(self) -> str:
        """The id of a new contradiction among what alice said."""
        self.made("/v1/captures", {"captures": [{"text": "My name is Ada."}]})
        candidate = {**CANDIDATE, "value": f"Eve {next(self.said)}"}
        proposal = self.made("/v1/proposals", {**PROPOSAL, "candidate": candidate})["proposal_id"]
        return str(self.server.request("GET", f"/v1/proposals/{proposal}", token=self.keys["user"])[1]["contradiction"])

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


def _proposed(place: Place) -> str:
    candidate = {**CANDIDATE, "predicate": f"drinks {next(place.said)}"}
    return str(place.made("/v1/proposals", {**PROPOSAL, "candidate": candidate})["proposal_id"])


def _spined(place: Place) -> str:
    for _ in range(11):
        place.talked()
    return "latest"


def _seeded(place: Place) -> str:
    told = {"text": "Lives in Austin."}
    assert place.server.request("PUT", "/v1/seed", told, token=place.keys["user"])[0] == 200
    return ""


def _suggested(place: Place) -> str:
    name = "".join(chr(ord("a") + int(digit)) for digit in f"{next(place.said):05d}")
    for said in (f"My brother Mak{name}sh lives in Rome.", f"My friend Muk{name}sh lives in Rome."):
        place.made("/v1/turns", {"user": said})
    path = "/v1/entity-suggestions"
    return str(place.server.request("GET", path, token=place.keys["user"])[1]["suggestions"][0]["id"])


def _curated(place: Place) -> str:
    name = f"John{'abcdefghij'[next(place.said) % 10]}"
    for what in ("jazz", "tea", "chess"):
        place.made("/v1/turns", {"user": f"My friend {name} likes {what} number {next(place.said)}."})
    return str(place.made("/v1/curations", {})["id"])


MADE: dict[str, Callable[[Place], str]] = {
    "capture": lambda place: str(place.captured()["capture_id"]),
    "record": lambda place: str(place.captured()["remembered"][0]["record_id"]),
    "proposal": _proposed,
    "consent": lambda place: str(place.made("/v1/consents", CONSENT)["consent_id"]),
    "contradiction": Place.contradiction,
    "trace": lambda place: str(place.made("/v1/recall", {"query": "tea"})["trace_id"]),
    "session": lambda place: str(place.made("/v1/sessions/taken/turns", {"user": "I prefer tea."})["session"]),
    "talk": lambda place: str(place.talked()["session"]["id"]),
    "spine": _spined,
    "todo": lambda place: str(place.made("/v1/todos", {"content": f"Call number {next(place.said)}."})["id"]),
    "told": _seeded,
    "entity": lambda place: str(place.named()["ref"]),
    "change": lambda place: str(place.named()["change"]["id"]),
    "suggestion": _suggested,
    "curation": _curated,
}
"""What a request names, made anew for it."""


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
            "reviewer": server.key_for("maria", tenant="here", roles=["reviewer"]),
        }
        status, written, _ = server.request("PUT", "/v1/memories", MEMORY, token=keys["user"])
        assert status == 200
        place = Place(server, keys, written["id"])
        place.contradiction()
        yield place
