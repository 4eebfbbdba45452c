"""A door: one way to the memories in somebody's name, with the same calls and plain answers at every door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

Plain = dict[str, Any]
WRITTEN = ("id", "kind", "revision", "sequence", "created_at", "updated_at", "expires_at", "replayed")
DELETED = ("id", "kind", "revision", "sequence")
STORED = ("id", "namespace", "key", "value", "attributes", "revision", "archived")
ITEM = (*STORED, "created_at", "updated_at", "expires_at")
VERSION = (*ITEM, "ended_at", "end_reason")
HAPPENED = ("namespace", "key", "kind", "sequence", "cursor", "revision", "occurred_at", "actor", "detail")
EVENT = (*HAPPENED, "value", "attributes", "expires_at")
CALLER = ("user_id", "client_id", "roles", "scopes")


class Refused(Exception):
    """What was asked is refused, with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Door(Protocol):
    """The memories in one caller's name. What is not there is refused with `not_found`."""

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        attributes: Mapping[str, Any] | None = None,
        ttl: float | None = None,
        expires_at: datetime | None = None,
        index_fields: Sequence[str] | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> Plain: ...

    def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Plain: ...

    def delete(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Plain: ...

    def batch(
        self, operations: Iterable[Plain], *, idempotency_key: str | None = None, wait: str | None = None
    ) -> list[Plain]: ...

    def get(
        self, namespace: Sequence[str], key: str, *, as_of: datetime | None = None, archived: str = "exclude"
    ) -> Plain: ...

    def get_by_id(self, item_id: str) -> Plain: ...

    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        query: str | Sequence[str] | None = None,
        mode: str = "hybrid",
        min_score: float | None = None,
        explain: bool = False,
        wait: float | None = None,
        order: str = "newest",
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        as_of: datetime | None = None,
        archived: str = "exclude",
    ) -> Plain: ...

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        archived: str = "exclude",
    ) -> list[list[str]]: ...

    def history(
        self, namespace: Sequence[str], key: str, *, limit: int = 100, before_revision: int | None = None
    ) -> list[Plain]: ...

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
    ) -> Plain: ...

    def whoami(self) -> Plain: ...

    def justified(self, why: str, *, as_user_id: str | None = None) -> Door: ...

    def show_policy(self, *, service: bool = False) -> Plain: ...

    def check_policy(self, modules: Mapping[str, str]) -> Plain: ...

    def push_policy(self, modules: Mapping[str, str], *, note: str = "", service: bool = False) -> Plain: ...

    def rollback_policy(self, number: int | None = None, *, service: bool = False) -> Plain: ...

    def explain_policy(
        self,
        action: str,
        namespace: Sequence[str],
        key: str = "",
        *,
        user_id: str,
        client_id: str = "",
        roles: Sequence[str] = (),
        claims: Mapping[str, Any] | None = None,
        value: Mapping[str, Any] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        modules: Mapping[str, str] | None = None,
    ) -> Plain: ...

    def simulate_policy(self, modules: Mapping[str, str]) -> Plain: ...

    def list_audit(
        self, *, action: str | None = None, limit: int = 50, cursor: str | None = None, service: bool = False
    ) -> Plain: ...

    def force_delete(self, item_id: str, *, justification: str) -> None: ...

    def index_status(self) -> Plain: ...

    def trigger_index(self) -> Plain: ...

    def show_settings(self) -> Plain: ...

    def change_settings(self, settings: Mapping[str, float | None]) -> Plain: ...

    def capture(self, *given: Any, **named: Any) -> Any: ...

    def get_capture(self, *given: Any) -> Any: ...

    def list_captures(self, **named: Any) -> Any: ...

    def would_remember(self, *given: Any) -> Any: ...

    def propose(self, *given: Any) -> Any: ...

    def get_record(self, *given: Any) -> Any: ...

    def list_records(self, **named: Any) -> Any: ...

    def correct_record(self, *given: Any, **named: Any) -> Any: ...

    def retract_record(self, *given: Any) -> Any: ...

    def pin_record(self, *given: Any, **named: Any) -> Any: ...

    def promote_record(self, *given: Any, **named: Any) -> Any: ...

    def start_phase(self, *given: Any, **named: Any) -> Any: ...

    def undo(self, **named: Any) -> Any: ...

    def list_proposals(self, **named: Any) -> Any: ...

    def get_proposal(self, *given: Any) -> Any: ...

    def review_load(self) -> Any: ...

    def claim_proposal(self, *given: Any, **named: Any) -> Any: ...

    def release_proposal(self, *given: Any) -> Any: ...

    def approve_proposal(self, *given: Any, **named: Any) -> Any: ...

    def reject_proposal(self, *given: Any, **named: Any) -> Any: ...

    def review_many(self, *given: Any, **named: Any) -> Any: ...

    def resolve_contradiction(self, *given: Any, **named: Any) -> Any: ...

    def capture_consent(self, *given: Any) -> Any: ...

    def revoke_consent(self, *given: Any, **named: Any) -> Any: ...

    def list_consents(self, *given: Any) -> Any: ...

    def get_consent(self, *given: Any) -> Any: ...

    def list_contradictions(self, **named: Any) -> Any: ...

    def list_signals(self, **named: Any) -> Any: ...

    def recall(self, *asked: Any, **named: Any) -> Any: ...

    def context(self, *asked: Any, **named: Any) -> Any: ...

    def take_turn(self, *asked: Any, **named: Any) -> Any: ...

    def recall_turn(self, *asked: Any, **named: Any) -> Any: ...

    def replay(self, *asked: Any) -> Any: ...

    def put_profile(self, *asked: Any, **named: Any) -> Any: ...

    def get_profile(self, *asked: Any, **named: Any) -> Any: ...

    def list_profiles(self) -> Any: ...

    def list_traces(self, **named: Any) -> Any: ...

    def get_trace(self, *asked: Any, **named: Any) -> Any: ...

    def why(self, *asked: Any) -> Any: ...

    def why_not(self, *asked: Any) -> Any: ...

    def diff_phases(self, *asked: Any, **named: Any) -> Any: ...

    def get_usage(self, *asked: Any) -> Any: ...

    def top_usage(self, **named: Any) -> Any: ...

    def converse(self, *asked: Any, **named: Any) -> Any: ...

    def conversation_context(self, *asked: Any, **named: Any) -> Any: ...

    def list_sessions(self, **named: Any) -> Any: ...

    def get_session(self, *asked: Any) -> Any: ...

    def close_session(self, *asked: Any) -> Any: ...

    def get_session_state(self, *asked: Any) -> Any: ...

    def list_messages(self, **named: Any) -> Any: ...

    def list_spines(self, **named: Any) -> Any: ...

    def get_spine(self, *asked: Any) -> Any: ...

    def list_todos(self, **named: Any) -> Any: ...

    def add_todo(self, *asked: Any, **named: Any) -> Any: ...

    def get_todo(self, *asked: Any) -> Any: ...

    def change_todo(self, *asked: Any, **named: Any) -> Any: ...

    def get_seed(self) -> Any: ...

    def put_seed(self, *asked: Any) -> Any: ...

    def delete_seed(self) -> Any: ...

    def list_personas(self) -> Any: ...

    def get_persona(self, *asked: Any) -> Any: ...

    def put_persona(self, *asked: Any, **named: Any) -> Any: ...

    def list_entities(self, **named: Any) -> Any: ...

    def get_entity(self, *asked: Any, **named: Any) -> Any: ...

    def put_entity(self, *asked: Any, **named: Any) -> Any: ...

    def merge_entities(self, *asked: Any, **named: Any) -> Any: ...

    def split_entity(self, *asked: Any, **named: Any) -> Any: ...

    def undo_entity_change(self, *asked: Any) -> Any: ...

    def list_entity_suggestions(self, **named: Any) -> Any: ...

    def decide_entity_suggestion(self, *asked: Any) -> Any: ...

    def curate(self, **named: Any) -> Any: ...

    def list_curations(self, **named: Any) -> Any: ...

    def undo_curation(self, *asked: Any) -> Any: ...


class Person:
    """Whom a credential stands for."""

    def __init__(self, user: str, client: str = "", roles: Sequence[str] = (), scopes: Sequence[str] | None = None):
        self.user, self.client, self.roles, self.scopes = user, client, tuple(roles), scopes


PEOPLE = {
    "alice": Person("alice"),
    "bob": Person("bob"),
    "aliced": Person("aliced"),
    "reader": Person("alice", "reader", scopes=("read",)),
    "writer": Person("alice", "writer", scopes=("read", "write")),
    "admin": Person("root", roles=("admin",)),
    "auditor": Person("eve", roles=("auditor",)),
    "operator": Person("otto", roles=("operator",)),
    "reviewer": Person("maria", roles=("reviewer",)),
    "second": Person("theo", roles=("reviewer",)),
    "member": Person("alice", roles=("project:apollo",)),
}


class House(Protocol):
    """A service with its doors; every scenario plays in a tenant of its own."""

    def door(self, tenant: str, person: Person) -> Door:
        """The memories of a tenant, in a person's name."""

    def pass_time(self, seconds: float) -> None:
        """Let so much time go by."""

    def close(self) -> None:
        """Shut everything."""


def moment(text: str | None) -> datetime | None:
    """A moment as the service writes it."""
    return None if text is None else datetime.fromisoformat(text)


def plain(thing: Any, names: Sequence[str]) -> Plain:
    """These fields of an answer, whether it has them as attributes or as members, with plain types."""
    read = thing.get if isinstance(thing, Mapping) else lambda name: getattr(thing, name)
    return {name: _plain(read(name), name) for name in names}


def confirmed(done: Any, names: Sequence[str]) -> Plain:
    """The confirmation of a write; whether it is indexed only where that was waited for."""
    return plain(done, names) | _if_told(done, "indexed")


def found(page: Any, query: str | Sequence[str] | None = None) -> Plain:
    """A page of a search, with what only some searches tell."""
    told = [_found(item, query) for item in (page["items"] if isinstance(page, Mapping) else page.items)]
    return {"items": told} | plain(page, ("cursor",)) | _if_told(page, "explanation")


def _found(item: Any, query: str | Sequence[str] | None) -> Plain:
    told = plain(item, (*ITEM, "score")) | _if_told(item, "explanation")
    assert (told["score"] is None) is (query is None)
    return told if query is None or isinstance(query, str) else told | plain(item, ("matched_queries",))


def _if_told(thing: Any, name: str) -> Plain:
    said = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name)
    return {} if said is None else {name: said}


def _plain(value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int | float | dict):
        return value
    if name in ("roles", "scopes"):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and (name == "at" or name.endswith("_at")):
        return moment(value)
    return value if isinstance(value, datetime) else str(value)
