"""Every route of the REST door, with what a caller needs to be let in; a test compares it with the contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from recollect.domain.callers import Action
from recollect.surfaces.rest import (
    admin,
    captures,
    conversing,
    curating,
    entities,
    measuring,
    memories,
    operation,
    policies,
    proposals,
    recall,
    records,
    tools,
    traces,
    turns,
)
from recollect.surfaces.rest.exchange import Answer, Exchange
from recollect.surfaces.service import LONG_SECONDS

Handler = Callable[[Exchange], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path, who may call it, and how it is answered."""

    method: str
    path: str
    handler: Handler
    action: Action | None
    """What scopes and roles must cover; the policy decides about single memories after that. None: any caller."""
    anonymous: bool = False
    body: bool = False
    seconds: float | None = None
    """A deadline of its own, in place of the setting."""
    basic: bool = False
    """Whether a browser may send an API key as a password."""


def _lengthy(method: str, path: str, handler: Handler, action: Action | None) -> Route:
    """A route that reads a body and may take its time to answer."""
    return Route(method, path, handler, action, body=True, seconds=LONG_SECONDS)


ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/memories", memories.get_memory, Action.READ),
    Route("PUT", "/v1/memories", memories.put_memory, Action.WRITE, body=True),
    Route("PATCH", "/v1/memories", memories.patch_memory, Action.WRITE, body=True),
    Route("DELETE", "/v1/memories", memories.delete_memory, Action.DELETE),
    Route("POST", "/v1/memories/search", memories.search_memories, Action.READ, body=True),
    Route("POST", "/v1/memories/batch", memories.batch_memories, None, body=True),
    Route("GET", "/v1/memories/history", memories.get_history, Action.READ),
    Route("GET", "/v1/memories/namespaces", memories.list_namespaces, Action.READ),
    Route("GET", "/v1/memories/events", memories.list_events, Action.READ, seconds=LONG_SECONDS),
    Route("GET", "/v1/memories/{id}", memories.get_version, Action.READ),
    Route("POST", "/v1/captures", captures.capture, Action.WRITE, body=True),
    Route("GET", "/v1/captures", captures.list_captures, Action.READ),
    Route("POST", "/v1/captures/dry-run", captures.would_remember, Action.WRITE, body=True),
    Route("GET", "/v1/captures/{id}", captures.get_capture, Action.READ),
    Route("POST", "/v1/proposals", proposals.propose, Action.WRITE, body=True),
    Route("GET", "/v1/proposals", proposals.list_proposals, Action.READ),
    Route("GET", "/v1/proposals/load", proposals.load, Action.REVIEW),
    _lengthy("POST", "/v1/proposals/decide", proposals.decide, Action.REVIEW),
    Route("GET", "/v1/proposals/{id}", proposals.get_proposal, Action.READ),
    Route("POST", "/v1/proposals/{id}/claim", proposals.claim, Action.REVIEW, body=True),
    Route("POST", "/v1/proposals/{id}/release", proposals.release, Action.REVIEW),
    Route("POST", "/v1/proposals/{id}/approve", proposals.approve, Action.REVIEW, body=True),
    Route("POST", "/v1/proposals/{id}/reject", proposals.reject, Action.REVIEW, body=True),
    Route("POST", "/v1/consents", captures.capture_consent, Action.WRITE, body=True),
    Route("GET", "/v1/consents", captures.list_consents, Action.READ),
    Route("GET", "/v1/consents/{id}", captures.get_consent, Action.READ),
    _lengthy("POST", "/v1/consents/{id}/revoke", captures.revoke_consent, Action.WRITE),
    Route("GET", "/v1/records", records.list_records, Action.READ),
    _lengthy("POST", "/v1/records/undo", records.undo, None),
    Route("GET", "/v1/records/{id}", records.get_record, Action.READ),
    Route("POST", "/v1/records/{id}/correct", records.correct, Action.WRITE, body=True),
    Route("POST", "/v1/records/{id}/retract", records.retract, Action.DELETE),
    Route("POST", "/v1/records/{id}/pin", records.pin, Action.WRITE),
    Route("POST", "/v1/records/{id}/unpin", records.unpin, Action.WRITE),
    Route("POST", "/v1/records/{id}/promote", records.promote, Action.WRITE, body=True),
    Route("GET", "/v1/contradictions", proposals.list_contradictions, Action.READ),
    Route("POST", "/v1/contradictions/{id}/resolve", proposals.resolve, Action.REVIEW, body=True),
    Route("GET", "/v1/signals", records.list_signals, Action.READ),
    Route("POST", "/v1/recall", recall.recall, Action.READ, body=True),
    Route("POST", "/v1/context", recall.context, Action.READ, body=True),
    Route("POST", "/v1/sessions/{id}/recall", turns.recall_turn, Action.READ, body=True),
    Route("POST", "/v1/sessions/{id}/turns", turns.take_turn, Action.WRITE, body=True),
    Route("POST", "/v1/sessions/{id}/replay", turns.replay, Action.READ, seconds=LONG_SECONDS),
    Route("POST", "/v1/turns", conversing.converse, Action.WRITE, body=True),
    _lengthy("POST", "/v1/turns/import", curating.import_turns, Action.WRITE),
    Route("GET", "/v1/turns/import", curating.imported_turns, Action.READ),
    Route("GET", "/v1/sessions", conversing.list_sessions, Action.READ),
    Route("GET", "/v1/sessions/{id}", conversing.get_session, Action.READ),
    Route("POST", "/v1/sessions/{id}/close", conversing.close_session, None),
    Route("GET", "/v1/sessions/{id}/messages", conversing.list_session_messages, Action.READ),
    Route("GET", "/v1/messages", conversing.list_messages, Action.READ),
    Route("GET", "/v1/session-state", conversing.get_session_state, Action.READ),
    Route("GET", "/v1/spines", conversing.list_spines, Action.READ),
    Route("GET", "/v1/spines/{version}", conversing.get_spine, Action.READ),
    Route("GET", "/v1/todos", conversing.list_todos, Action.READ),
    Route("POST", "/v1/todos", conversing.add_todo, Action.WRITE, body=True),
    Route("GET", "/v1/todos/{id}", conversing.get_todo, Action.READ),
    Route("PATCH", "/v1/todos/{id}", conversing.change_todo, Action.WRITE, body=True),
    Route("GET", "/v1/seed", conversing.get_seed, Action.READ),
    Route("PUT", "/v1/seed", conversing.put_seed, Action.WRITE, body=True),
    Route("DELETE", "/v1/seed", conversing.delete_seed, Action.DELETE),
    Route("GET", "/v1/personas", conversing.list_personas, Action.READ),
    Route("GET", "/v1/personas/{id}", conversing.get_persona, Action.READ),
    Route("PUT", "/v1/personas/{id}", conversing.put_persona, Action.CHANGE_POLICY, body=True),
    Route("GET", "/v1/entities", entities.list_entities, Action.READ),
    Route("GET", "/v1/entities/{ref}", entities.get_entity, Action.READ),
    Route("PUT", "/v1/entities/{ref}", entities.put_entity, Action.WRITE, body=True),
    Route("POST", "/v1/entities/{ref}/merge", entities.merge_entities, Action.WRITE, body=True),
    Route("POST", "/v1/entities/{ref}/split", entities.split_entity, Action.WRITE, body=True),
    Route("POST", "/v1/entity-changes/{id}/undo", entities.undo_entity_change, Action.WRITE),
    Route("GET", "/v1/entity-suggestions", entities.list_entity_suggestions, Action.READ),
    Route("POST", "/v1/entity-suggestions/{id}", entities.decide_entity_suggestion, Action.WRITE, body=True),
    _lengthy("POST", "/v1/curations", curating.curate, None),
    Route("GET", "/v1/curations", curating.list_curations, Action.READ),
    Route("POST", "/v1/curations/{id}/undo", curating.undo_curation, None),
    Route("GET", "/v1/profiles", turns.list_profiles, Action.READ),
    Route("GET", "/v1/profiles/{id}", turns.get_profile, Action.READ),
    Route("PUT", "/v1/profiles/{id}", turns.put_profile, Action.CHANGE_POLICY, body=True),
    Route("GET", "/v1/traces", traces.list_traces, Action.READ),
    Route("GET", "/v1/traces/{id}", traces.get_trace, Action.READ),
    Route("GET", "/v1/records/{id}/why", traces.why, Action.READ),
    Route("POST", "/v1/why-not", traces.why_not, None, body=True),
    Route("GET", "/v1/phases/diff", traces.diff_phases, Action.READ),
    Route("GET", "/v1/metrics/memory", measuring.memory_metrics, Action.READ),
    Route("POST", "/v1/phases", records.start_phase, Action.WRITE, body=True),
    Route("GET", "/v1/whoami", memories.whoami, None),
    Route("GET", "/v1/tools", tools.list_tools, None),
    Route("POST", "/v1/tools/{name}", tools.call_tool, None, body=True),
    Route("GET", "/v1/brief", tools.brief, Action.READ),
    Route("GET", "/admin/v1/head", admin.get_head, Action.VERIFY),
    _lengthy("POST", "/admin/v1/verify", admin.verify, Action.VERIFY),
    _lengthy("POST", "/admin/v1/erase", admin.erase, Action.ERASE),
    _lengthy("POST", "/admin/v1/sweep", admin.sweep, Action.SWEEP),
    _lengthy("POST", "/admin/v1/captures/remember", captures.remember_pending, Action.SWEEP),
    _lengthy("POST", "/admin/v1/keys/rotate", admin.rotate_keys, Action.ROTATE),
    Route("GET", "/admin/v1/backup", admin.backup, Action.BACKUP, seconds=LONG_SECONDS),
    Route("GET", "/admin/v1/export", admin.export_page, Action.TRANSFER),
    Route("GET", "/admin/v1/import", admin.import_progress, Action.TRANSFER),
    Route("POST", "/admin/v1/import", admin.import_page, Action.TRANSFER, body=True),
    Route("GET", "/admin/v1/tokens", admin.list_tokens, Action.TOKENS),
    Route("POST", "/admin/v1/tokens", admin.create_token, Action.TOKENS, body=True),
    Route("DELETE", "/admin/v1/tokens/{id}", admin.revoke_token, Action.TOKENS),
    Route("GET", "/admin/v1/memories/policies", policies.show_policy, Action.SHOW_POLICY),
    _lengthy("PUT", "/admin/v1/memories/policies", policies.push_policy, Action.CHANGE_POLICY),
    _lengthy("POST", "/admin/v1/memories/policies/check", policies.check_policy, Action.CHANGE_POLICY),
    _lengthy("POST", "/admin/v1/memories/policies/rollback", policies.rollback_policy, Action.CHANGE_POLICY),
    _lengthy("POST", "/admin/v1/memories/policies/explain", policies.explain_policy, Action.SHOW_POLICY),
    _lengthy("POST", "/admin/v1/memories/policies/simulate", policies.simulate_policy, Action.CHANGE_POLICY),
    Route("GET", "/admin/v1/memories/index/status", policies.index_status, Action.SHOW_INDEX),
    _lengthy("POST", "/admin/v1/memories/index/trigger", policies.trigger_index, Action.TRIGGER_INDEX),
    Route("GET", "/admin/v1/memories/settings", policies.show_settings, Action.CHANGE_SETTINGS),
    Route("PUT", "/admin/v1/memories/settings", policies.change_settings, Action.CHANGE_SETTINGS, body=True),
    Route("GET", "/admin/v1/memories/usage", measuring.get_usage, Action.AUDIT),
    Route("GET", "/admin/v1/memories/usage/top", measuring.top_usage, Action.AUDIT),
    Route("DELETE", "/admin/v1/memories/{id}", policies.force_delete, Action.FORCE_DELETE),
    Route("GET", "/admin/v1/audit", policies.list_audit, Action.AUDIT),
    Route("GET", "/healthz", operation.healthz, None, anonymous=True),
    Route("GET", "/readyz", operation.readyz, None, anonymous=True),
    Route("GET", "/metrics", operation.metrics, Action.METRICS),
    Route("GET", "/docs", operation.docs, None, basic=True),
    Route("GET", "/openapi.yaml", operation.openapi, None, basic=True),
    Route("GET", "/openapi-admin.yaml", operation.openapi_admin, None, basic=True),
)
