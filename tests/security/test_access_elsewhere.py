"""Who may call what, told elsewhere: the client and the commands lead to the same routes, the page says the same."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from tests.security.access import TABLE, WHO
from tools import generate_access

import recollect_client
from recollect.cli.commands import COMMANDS, GROUPS
from recollect.domain.callers import _NEEDS, Action, Role, Scope
from recollect.surfaces.rest.routes import ROUTES, Route

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
    "show_policy": "GET /admin/v1/memories/policies",
    "push_policy": "PUT /admin/v1/memories/policies",
    "check_policy": "POST /admin/v1/memories/policies/check",
    "rollback_policy": "POST /admin/v1/memories/policies/rollback",
    "explain_policy": "POST /admin/v1/memories/policies/explain",
    "simulate_policy": "POST /admin/v1/memories/policies/simulate",
    "index_status": "GET /admin/v1/memories/index/status",
    "trigger_index": "POST /admin/v1/memories/index/trigger",
    "show_settings": "GET /admin/v1/memories/settings",
    "change_settings": "PUT /admin/v1/memories/settings",
    "force_delete": "DELETE /admin/v1/memories/{id}",
    "list_audit": "GET /admin/v1/audit",
    "list_tools": "GET /v1/tools",
    "call_tool": "POST /v1/tools/{name}",
    "brief": "GET /v1/brief",
    "capture": "POST /v1/captures",
    "get_capture": "GET /v1/captures/{id}",
    "list_captures": "GET /v1/captures",
    "would_remember": "POST /v1/captures/dry-run",
    "propose": "POST /v1/proposals",
    "get_record": "GET /v1/records/{id}",
    "list_records": "GET /v1/records",
    "correct_record": "POST /v1/records/{id}/correct",
    "retract_record": "POST /v1/records/{id}/retract",
    "pin_record": "POST /v1/records/{id}/pin",
    "promote_record": "POST /v1/records/{id}/promote",
    "start_phase": "POST /v1/phases",
    "undo": "POST /v1/records/undo",
    "list_proposals": "GET /v1/proposals",
    "get_proposal": "GET /v1/proposals/{id}",
    "review_load": "GET /v1/proposals/load",
    "claim_proposal": "POST /v1/proposals/{id}/claim",
    "release_proposal": "POST /v1/proposals/{id}/release",
    "approve_proposal": "POST /v1/proposals/{id}/approve",
    "reject_proposal": "POST /v1/proposals/{id}/reject",
    "review_many": "POST /v1/proposals/decide",
    "resolve_contradiction": "POST /v1/contradictions/{id}/resolve",
    "capture_consent": "POST /v1/consents",
    "revoke_consent": "POST /v1/consents/{id}/revoke",
    "list_consents": "GET /v1/consents",
    "get_consent": "GET /v1/consents/{id}",
    "list_contradictions": "GET /v1/contradictions",
    "list_signals": "GET /v1/signals",
    "list_traces": "GET /v1/traces",
    "get_trace": "GET /v1/traces/{id}",
    "recall": "POST /v1/recall",
    "context": "POST /v1/context",
    "take_turn": "POST /v1/sessions/{id}/turns",
    "recall_turn": "POST /v1/sessions/{id}/recall",
    "replay": "POST /v1/sessions/{id}/replay",
    "list_profiles": "GET /v1/profiles",
    "get_profile": "GET /v1/profiles/{id}",
    "put_profile": "PUT /v1/profiles/{id}",
    "why": "GET /v1/records/{id}/why",
    "why_not": "POST /v1/why-not",
    "diff_phases": "GET /v1/phases/diff",
    "memory_metrics": "GET /v1/metrics/memory",
    "get_usage": "GET /admin/v1/memories/usage",
    "top_usage": "GET /admin/v1/memories/usage/top",
    "converse": "POST /v1/turns",
    "conversation_context": "POST /v1/context",
    "import_conversation": "POST /v1/turns/import",
    "conversation_progress": "GET /v1/turns/import",
    "list_sessions": "GET /v1/sessions",
    "get_session": "GET /v1/sessions/{id}",
    "close_session": "POST /v1/sessions/{id}/close",
    "get_session_state": "GET /v1/session-state",
    "list_messages": "GET /v1/messages",
    "list_spines": "GET /v1/spines",
    "get_spine": "GET /v1/spines/{version}",
    "list_todos": "GET /v1/todos",
    "add_todo": "POST /v1/todos",
    "get_todo": "GET /v1/todos/{id}",
    "change_todo": "PATCH /v1/todos/{id}",
    "get_seed": "GET /v1/seed",
    "put_seed": "PUT /v1/seed",
    "delete_seed": "DELETE /v1/seed",
    "list_personas": "GET /v1/personas",
    "get_persona": "GET /v1/personas/{id}",
    "put_persona": "PUT /v1/personas/{id}",
    "list_entities": "GET /v1/entities",
    "get_entity": "GET /v1/entities/{ref}",
    "put_entity": "PUT /v1/entities/{ref}",
    "merge_entities": "POST /v1/entities/{ref}/merge",
    "split_entity": "POST /v1/entities/{ref}/split",
    "undo_entity_change": "POST /v1/entity-changes/{id}/undo",
    "list_entity_suggestions": "GET /v1/entity-suggestions",
    "decide_entity_suggestion": "POST /v1/entity-suggestions/{id}",
    "curate": "POST /v1/curations",
    "list_curations": "GET /v1/curations",
    "undo_curation": "POST /v1/curations/{id}/undo",
    "remember_pending": "POST /admin/v1/captures/remember",
}
CLI_METHODS = {
    "put": {"put"},
    "get": {"get", "get_by_id"},
    "rm": {"delete", "force_delete"},
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
    "policy show": {"show_policy"},
    "policy explain": {"explain_policy"},
    "policy test": {"check_policy"},
    "policy simulate": {"simulate_policy"},
    "policy push": {"check_policy", "push_policy", "index_status"},
    "policy rollback": {"rollback_policy", "index_status"},
    "index status": {"index_status"},
    "index trigger": {"trigger_index"},
    "settings show": {"show_settings"},
    "settings set": {"change_settings"},
    "settings unset": {"change_settings"},
    "audit": {"list_audit"},
    "ipc": {"call_tool"},
    "tool store": {"call_tool"},
    "tool search": {"call_tool"},
    "tool brief": {"call_tool", "brief"},
    "tool delete": {"call_tool"},
    "tool list": {"list_tools"},
    "capture": {"capture", "would_remember"},
    "captures": {"list_captures", "get_capture"},
    "propose": {"propose"},
    "remember": {"remember_pending"},
    "records": {"list_records"},
    "record show": {"get_record"},
    "record correct": {"correct_record"},
    "record retract": {"retract_record"},
    "record pin": {"pin_record"},
    "record unpin": {"pin_record"},
    "record promote": {"promote_record"},
    "undo": {"undo"},
    "phase": {"start_phase"},
    "consent add": {"capture_consent"},
    "consent list": {"list_consents"},
    "consent show": {"get_consent"},
    "consent revoke": {"revoke_consent"},
    "proposals": {"list_proposals", "get_proposal"},
    "review": {
        *("review_load", "review_many", "list_proposals", "claim_proposal", "release_proposal"),
        *("approve_proposal", "reject_proposal", "get_record"),
    },
    "contradictions": {"list_contradictions"},
    "contradiction resolve": {"resolve_contradiction"},
    "signals": {"list_signals"},
    "traces": {"list_traces"},
    "trace": {"list_traces", "get_trace"},
    "recall": {"recall"},
    "context": {"context", "conversation_context"},
    "turn": {"take_turn", "recall_turn"},
    "replay": {"replay"},
    "profile put": {"put_profile"},
    "profile show": {"get_profile"},
    "profile list": {"list_profiles"},
    "why": {"why"},
    "why-not": {"why_not"},
    "diff": {"diff_phases"},
    "talk": {"converse"},
    "spine": {"get_spine", "list_spines"},
    "session list": {"list_sessions"},
    "session show": {"get_session"},
    "session close": {"close_session"},
    "session messages": {"list_messages"},
    "session state": {"get_session_state"},
    "todo list": {"list_todos"},
    "todo show": {"get_todo"},
    "todo add": {"add_todo"},
    "todo done": {"change_todo"},
    "todo skip": {"change_todo"},
    "todo change": {"change_todo"},
    "persona list": {"list_personas"},
    "persona show": {"get_persona"},
    "persona put": {"put_persona"},
    "seed show": {"get_seed"},
    "seed put": {"put_seed"},
    "seed delete": {"delete_seed"},
    "entity list": {"list_entities"},
    "entity show": {"get_entity"},
    "entity put": {"put_entity"},
    "entity merge": {"merge_entities"},
    "entity split": {"split_entity"},
    "entity undo": {"undo_entity_change"},
    "entity suggestions": {"list_entity_suggestions"},
    "entity accept": {"decide_entity_suggestion"},
    "entity reject": {"decide_entity_suggestion"},
    "curate": {"curate"},
    "curate undo": {"undo_curation"},
    "curations": {"list_curations"},
    "converse import": {"import_conversation", "conversation_progress"},
    "usage top": {"top_usage"},
    "usage show": {"get_usage"},
    "report": {"memory_metrics", "recall"},
}
"""By which calls of the client a command asks a server."""
CLI_ALONE = {
    *("serve", "settings", "doctor", "version", "restore", "keys show", "policy init", "copy", "migrate"),
    "mcp",  # it calls tools for as long as it runs, at the asynchronous client
}
"""Commands about this machine, which ask no server for memories."""


def test_every_call_of_the_client_leads_to_a_route() -> None:
    calls = {name for name, _ in inspect.getmembers(recollect_client.Client, inspect.isfunction) if name[0] != "_"}
    assert calls - {"close", "justified"} == set(SDK_ROUTES)
    assert set(SDK_ROUTES.values()) <= set(TABLE)
    contracts = {"GET /docs", "GET /openapi.yaml", "GET /openapi-admin.yaml"}
    only_for_people = {"GET /healthz", "GET /readyz", "GET /metrics", *contracts}
    # `batch`, `pin_record` and `list_messages` do that
    others = {"DELETE /v1/memories", "POST /v1/records/{id}/unpin", "GET /v1/sessions/{id}/messages"}
    assert set(TABLE) - set(SDK_ROUTES.values()) == only_for_people | others


def test_a_call_of_the_client_names_its_route() -> None:
    for call, route in SDK_ROUTES.items():
        if call in ("events", "follow", "delete", "force_delete", "call_tool", "brief"):
            continue  # their requests are made by a function that both clients share, or by `batch`
        assert route.split()[1].partition("{")[0] in told_by(call), call


def told_by(call: str) -> str:
    """What a call of the client does, with the words of its module in place of their names."""
    method = getattr(recollect_client.Client, call)
    body = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0]
    assert isinstance(body, ast.FunctionDef)
    text = "".join(ast.unparse(each) for each in body.body[1:])
    for name, value in method.__globals__.items():
        if isinstance(value, str) and name.isupper():
            text = text.replace(f"{{{name}}}", value).replace(name, value)
    return text


def test_every_command_leads_to_calls_of_the_client_or_stays_on_this_machine() -> None:
    commands = {name for group in COMMANDS.values() for name in group}
    commands |= {f"{group} {name}" for group, members in GROUPS.items() for name in members.commands}
    commands |= {group for group, members in GROUPS.items() if members.alone is not None}
    assert commands == set(CLI_METHODS) | CLI_ALONE
    assert {call for calls in CLI_METHODS.values() for call in calls} == set(SDK_ROUTES) - {"batch"}


# -- the page that tells all this


def test_the_page_is_up_to_date() -> None:
    assert generate_access.TARGET.read_text() == generate_access.page(), "run `make generate`"


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    assert generate_access.write(tmp_path / "access.md").read_text() == generate_access.page()


def disagreements(route: Route) -> list[str]:
    """Where the page, which follows from the code, says something else than the table."""
    scopes, *statuses = TABLE[f"{route.method} {route.path}"]
    row = dict(zip(WHO, statuses, strict=True))
    found = []
    for who in ("anonymous", "user", *Role):
        said = generate_access.allowed(route, who)
        mine = said == generate_access.YES or (said == generate_access.OWN and who == "user")
        may = {200, 201, 204} if mine else {401, 403} if said == generate_access.NO else {200, 403, 404}
        if row[who] not in may:
            found.append(f"{who}: {said} on the page, {row[who]} in the table")
    needed = generate_access.scopes_of(route)
    if set(scopes.split()) != set(needed):
        found.append(f"scopes: {needed} on the page, {scopes} in the table")
    if row["user"] < 300 and (row["agent"] == row["user"]) is not (set(needed) <= {Scope.READ}):
        found.append(f"agent: {needed} on the page, {row['agent']} in the table")
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


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.action], ids=lambda each: f"{each.method} {each.path}"
)
def test_a_route_that_asks_for_the_wrong_action_is_noticed(route: Route) -> None:
    assert route.action is not None
    wrong = [action for action in Action if _NEEDS[action] != _NEEDS[route.action]]
    assert len(wrong) > len(Action) / 2
    for action in wrong:
        assert disagreements(replace(route, action=action)), action
    if (route.method, route.path) not in generate_access.MANY_ACTIONS:
        assert disagreements(replace(route, action=None))
