"""The REST door, by plain HTTP and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode

from tests.scenarios import told
from tests.scenarios.door import (
    CALLER,
    DELETED,
    EVENT,
    ITEM,
    VERSION,
    WRITTEN,
    Door,
    Person,
    Plain,
    Refused,
    confirmed,
    found,
    plain,
)
from tests.scenarios.in_process import key_for
from tests.scenarios.talks import Talks, talked
from tests.scenarios.way_in import WayIn, remembered
from tests.scenarios.way_out import WayOut, given

from recollect.testing.servers import Server

POLICIES = "/admin/v1/memories/policies"
ASKED = {
    "get_capture": "/v1/captures/{}",
    "list_captures": "/v1/captures",
    "get_record": "/v1/records/{}",
    "list_records": "/v1/records",
    "list_proposals": "/v1/proposals",
    "get_proposal": "/v1/proposals/{}",
    "review_load": "/v1/proposals/load",
    "get_consent": "/v1/consents/{}",
    "list_consents": "/v1/consents?subject={}",
    "list_contradictions": "/v1/contradictions",
    "list_signals": "/v1/signals",
}
"""The reads of the way in, with the path of each."""
DONE: dict[str, tuple[str, tuple[str, ...]]] = {
    "correct_record": ("/v1/records/{}/correct", ()),
    "retract_record": ("/v1/records/{}/retract", ()),
    "promote_record": ("/v1/records/{}/promote", ("to_space",)),
    "start_phase": ("/v1/phases", ("token",)),
    "undo": ("/v1/records/undo", ()),
    "claim_proposal": ("/v1/proposals/{}/claim", ()),
    "release_proposal": ("/v1/proposals/{}/release", ()),
    "approve_proposal": ("/v1/proposals/{}/approve", ()),
    "reject_proposal": ("/v1/proposals/{}/reject", ()),
    "review_many": ("/v1/proposals/decide", ("decision", "proposal_ids")),
    "resolve_contradiction": ("/v1/contradictions/{}/resolve", ("winner",)),
    "revoke_consent": ("/v1/consents/{}/revoke", ()),
}
"""What is done on the way in: the path of each, and what its body calls the arguments that need no name."""
TAKEN = {
    "would_remember": "/v1/captures/dry-run",
    "propose": "/v1/proposals",
    "capture_consent": "/v1/consents",
}
"""What takes a document as it is."""


READ = {
    "get_profile": "/v1/profiles/{}",
    "list_profiles": "/v1/profiles",
    "list_traces": "/v1/traces",
    "get_trace": "/v1/traces/{}",
    "why": "/v1/records/{}/why",
    "diff_phases": "/v1/phases/diff?from={}&to={}",
}
"""The reads of the way out, with the path of each."""
POSTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "recall": ("/v1/recall", ("query",)),
    "context": ("/v1/context", ("query",)),
    "take_turn": ("/v1/sessions/{}/turns", ()),
    "recall_turn": ("/v1/sessions/{}/recall", ("query",)),
    "why_not": ("/v1/why-not", ("text",)),
}
"""What is asked with a body on the way out, and what it calls the arguments that need no name."""
HEARD = {
    "list_sessions": "/v1/sessions",
    "get_session": "/v1/sessions/{}",
    "get_session_state": "/v1/session-state?persona={}",
    "list_messages": "/v1/messages",
    "list_spines": "/v1/spines",
    "get_spine": "/v1/spines/{}",
    "list_todos": "/v1/todos",
    "get_todo": "/v1/todos/{}",
    "get_seed": "/v1/seed",
    "list_personas": "/v1/personas",
    "get_persona": "/v1/personas/{}",
    "list_entities": "/v1/entities",
    "get_entity": "/v1/entities/{}",
    "list_entity_suggestions": "/v1/entity-suggestions",
    "list_curations": "/v1/curations",
}
"""The reads of a conversation, with the path of each."""
SAID: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "converse": ("POST", "/v1/turns", ("user",)),
    "conversation_context": ("POST", "/v1/context", ("query",)),
    "close_session": ("POST", "/v1/sessions/{}/close", ()),
    "add_todo": ("POST", "/v1/todos", ("content",)),
    "change_todo": ("PATCH", "/v1/todos/{}", ()),
    "put_seed": ("PUT", "/v1/seed", ("text",)),
    "delete_seed": ("DELETE", "/v1/seed", ()),
    "put_persona": ("PUT", "/v1/personas/{}", ("settings",)),
    "put_entity": ("PUT", "/v1/entities/{}", ()),
    "merge_entities": ("POST", "/v1/entities/{}/merge", ("into",)),
    "split_entity": ("POST", "/v1/entities/{}/split", ()),
    "undo_entity_change": ("POST", "/v1/entity-changes/{}/undo", ()),
    "decide_entity_suggestion": ("POST", "/v1/entity-suggestions/{}", ("accept",)),
    "curate": ("POST", "/v1/curations", ()),
    "undo_curation": ("POST", "/v1/curations/{}/undo", ()),
}
"""What is said and done in a conversation, and what its body calls the arguments that need no name."""
BODILESS = frozenset({"close_session", "delete_seed", "undo_entity_change", "undo_curation"})


class Http(WayIn, WayOut, Talks):
    """The REST interface as its contract tells it."""

    def __init__(
        self, connection: HTTPConnection, key: str, why: str | None = None, as_user: str | None = None
    ) -> None:
        self._connection = connection
        self._key = key
        self._why, self._as_user = why, as_user

    def justified(self, why: str, *, as_user_id: str | None = None) -> Door:
        return Http(self._connection, self._key, why, as_user_id)

    def _send(
        self, method: str, path: str, body: Plain | None = None, idempotency_key: str | None = None
    ) -> tuple[Any, bool]:
        headers = {"Authorization": f"Bearer {self._key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if self._why is not None:
            headers["X-Justification"] = self._why
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            envelope = json.loads(content)
            assert set(envelope) == {"error", "code", "details"}, envelope
            raise Refused(envelope["code"])
        return json.loads(content) if content else None, answer.headers.get("Idempotency-Replayed") == "true"

    def _read(self, path: str, query: Iterable[tuple[str, Any]] = ()) -> Any:
        asked = [*query, ("as_user_id", self._as_user)]
        pairs = [(name, _text(value)) for name, value in asked if value is not None]
        return self._send("GET", f"{path}?{urlencode(pairs, quote_via=quote)}" if pairs else path)[0]

    def _remember(self, call: str, *given: Any, **named: Any) -> Any:
        if call in ASKED:
            return remembered(self._read(ASKED[call].format(*_encoded(given)), named.items()))
        if call in TAKEN:
            return remembered(self._send("POST", TAKEN[call], given[0])[0])
        if call == "capture":
            key = named.pop("idempotency_key", None)
            done, replayed = self._send("POST", "/v1/captures", {"captures": given[0]} | named, key)
            assert replayed is any("replayed" in each for each in done["captures"])
            return remembered(done["captures"])
        if call == "pin_record":
            word = "pin" if named.get("pinned", True) else "unpin"
            return remembered(self._send("POST", f"/v1/records/{_encoded(given)[0]}/{word}")[0])
        path, names = DONE[call]
        ids = given[: path.count("{}")]
        body = dict(zip(names, given[len(ids) :], strict=True)) | named
        whole = call in ("correct_record", "undo") or body
        return remembered(self._send("POST", path.format(*_encoded(ids)), body if whole else None)[0])

    def _give(self, call: str, *asked: Any, **named: Any) -> Any:
        key = named.pop("idempotency_key", None)
        if named.pop("plain", False):
            named["format"] = "plain"
        if call in READ:
            path = READ[call].format(*_encoded(asked))
            query = urlencode([(name, _text(value)) for name, value in named.items()], quote_via=quote)
            return given(self._send("GET", path + ("&" if "?" in path else "?") + query if query else path)[0])
        if call == "replay":
            return given(self._send("POST", f"/v1/sessions/{_encoded(asked)[0]}/replay")[0])
        if call == "put_profile":
            return given(self._send("PUT", f"/v1/profiles/{asked[0]}", {"settings": asked[1]} | named)[0])
        if call in ("get_usage", "top_usage"):
            return given(self._usage(*asked, **named))
        path, names = POSTED[call]
        ids, rest = asked[: path.count("{}")], asked[path.count("{}") :]
        body = dict(zip(names, rest, strict=False)) | {name: _plain(value) for name, value in named.items()}
        done, replayed = self._send("POST", path.format(*_encoded(ids)), body, key)
        assert replayed is (done.get("replayed", False))
        return given(done)

    def _talk(self, call: str, *asked: Any, **named: Any) -> Any:
        if call in HEARD:
            if call == "get_spine" and not asked:
                asked = ("latest",)
            path = HEARD[call] if asked else HEARD[call].partition("?")[0]
            query = urlencode([(name, _text(value)) for name, value in named.items()], quote_via=quote)
            path = path.format(*_encoded(map(str, asked)))
            return talked(self._send("GET", f"{path}{'&' if '?' in path else '?'}{query}" if query else path)[0])
        key = named.pop("idempotency_key", None)
        method, path, names = SAID[call]
        ids, rest = asked[: path.count("{}")], asked[path.count("{}") :]
        body = dict(zip(names, rest, strict=False)) | {name: _plain(value) for name, value in named.items()}
        body |= {"conversation": True} if call == "conversation_context" else {}
        sent = None if call in BODILESS else body
        done, replayed = self._send(method, path.format(*_encoded(ids)), sent, key)
        assert replayed is bool(done.get("replayed", False))
        return talked(done)

    def _usage(self, *asked: Any, namespace_prefix: Sequence[str] = (), **named: Any) -> Any:
        if asked:
            return self._read("/admin/v1/memories/usage", _address(*asked))
        below = [("ns", each) for each in namespace_prefix]
        return self._read("/admin/v1/memories/usage/top", [*below, *named.items()])

    def put(self, namespace: Sequence[str], key: str, value: Any, **named: Any) -> Plain:
        idempotency_key = named.pop("idempotency_key", None)
        body = _put(namespace=namespace, key=key, value=value, **named)
        done, replayed = self._send("PUT", "/v1/memories", body, idempotency_key)
        assert done["namespace"] == list(namespace)
        assert done["key"] == key
        return confirmed(done | {"replayed": replayed}, WRITTEN)

    def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Plain:
        body = {"namespace": list(namespace), "key": key, "archived": archived}
        body |= {} if expected_revision is None else {"expected_revision": expected_revision}
        done, replayed = self._send("PATCH", "/v1/memories", body, idempotency_key)
        assert done["archived"] is archived
        return plain(done | {"replayed": replayed}, WRITTEN)

    def delete(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Plain:
        query = [*_address(namespace, key), ("expected_revision", expected_revision)]
        pairs = [(name, _text(value)) for name, value in query if value is not None]
        path = f"/v1/memories?{urlencode(pairs, quote_via=quote)}"
        return {"replayed": self._send("DELETE", path, None, idempotency_key)[1]}

    def batch(
        self, operations: Iterable[Plain], *, idempotency_key: str | None = None, wait: str | None = None
    ) -> list[Plain]:
        steps = [_step(**each) for each in operations]
        body = {"operations": steps, "wait": wait}
        done, replayed = self._send("POST", "/v1/memories/batch", body, idempotency_key)
        shapes = [WRITTEN if step["op"] == "put" else DELETED for step in steps]
        told = [each | {"replayed": replayed} for each in done["results"]]
        return [confirmed(each, shape) for each, shape in zip(told, shapes, strict=True)]

    def get(self, namespace: Sequence[str], key: str, **named: Any) -> Plain:
        return plain(self._read("/v1/memories", [*_address(namespace, key), *named.items()]), ITEM)

    def get_by_id(self, item_id: str) -> Plain:
        return plain(self._read(f"/v1/memories/{item_id}"), VERSION)

    def search(self, namespace_prefix: Sequence[str] = (), **named: Any) -> Plain:
        body = {name: _text(value) if isinstance(value, datetime) else value for name, value in named.items()}
        body |= {} if self._as_user is None else {"as_user_id": self._as_user}
        page = self._send("POST", "/v1/memories/search", {"namespace_prefix": list(namespace_prefix)} | body)[0]
        return found(page, named.get("query"))

    def list_namespaces(
        self, *, prefix: Sequence[str] = (), suffix: Sequence[str] = (), **named: Any
    ) -> list[list[str]]:
        query = [*(("prefix", each) for each in prefix), *(("suffix", each) for each in suffix), *named.items()]
        listed: list[list[str]] = self._read("/v1/memories/namespaces", query)["namespaces"]
        return listed

    def history(self, namespace: Sequence[str], key: str, **named: Any) -> list[Plain]:
        kept = self._read("/v1/memories/history", [*_address(namespace, key), *named.items()])
        return [plain(each, VERSION) for each in kept["versions"]]

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
    ) -> Plain:
        place = [*(("ns", each) for each in namespace_prefix), *(("kinds", each) for each in kinds or ())]
        page = self._read(
            "/v1/memories/events",
            [*place, ("after_cursor", after), ("after", since), ("before", until), ("limit", limit)],
        )
        told = [plain(event, EVENT) for event in page["events"]]
        return {"events": told, "cursor": page["after_cursor"], "complete": page["complete"]}

    def whoami(self) -> Plain:
        return plain(self._read("/v1/whoami"), CALLER)

    def show_policy(self, *, service: bool = False) -> Plain:
        return told.policy(self._read(POLICIES, [("service", "true" if service else None)]))

    def check_policy(self, modules: Mapping[str, str]) -> Plain:
        return told.report(self._send("POST", f"{POLICIES}/check", {"modules": modules})[0])

    def push_policy(self, modules: Mapping[str, str], *, note: str = "", service: bool = False) -> Plain:
        return told.policy(self._send("PUT", POLICIES, {"modules": modules, "note": note, "service": service})[0])

    def rollback_policy(self, number: int | None = None, *, service: bool = False) -> Plain:
        return told.policy(self._send("POST", f"{POLICIES}/rollback", {"number": number, "service": service})[0])

    def explain_policy(self, action: str, namespace: Sequence[str], key: str = "", **named: Any) -> Plain:
        body = {"action": action, "namespace": list(namespace), "key": key} | named
        return told.explanation(self._send("POST", f"{POLICIES}/explain", body)[0])

    def simulate_policy(self, modules: Mapping[str, str]) -> Plain:
        return told.simulation(self._send("POST", f"{POLICIES}/simulate", {"modules": modules})[0])

    def list_audit(self, *, service: bool = False, **named: Any) -> Plain:
        return told.audit(self._read("/admin/v1/audit", [*named.items(), ("service", "true" if service else None)]))

    def force_delete(self, item_id: str, *, justification: str) -> None:
        Http(self._connection, self._key, justification)._send("DELETE", f"/admin/v1/memories/{item_id}")

    def index_status(self) -> Plain:
        return told.index(self._read("/admin/v1/memories/index/status"))

    def trigger_index(self) -> Plain:
        return told.index(self._send("POST", "/admin/v1/memories/index/trigger")[0])

    def show_settings(self) -> Plain:
        return told.tuned(self._read("/admin/v1/memories/settings"))

    def change_settings(self, settings: Mapping[str, float | None]) -> Plain:
        return told.tuned(self._send("PUT", "/admin/v1/memories/settings", dict(settings))[0])


def _plain(value: Any) -> Any:
    return _text(value) if isinstance(value, datetime) else value


def _encoded(ids: Iterable[str]) -> list[str]:
    return [quote(each, safe="") for each in ids]


def _step(op: str, **fields: Any) -> Plain:
    return {"op": op} | (_put(**fields) if op == "put" else fields | {"namespace": list(fields["namespace"])})


def _put(
    namespace: Sequence[str],
    key: str,
    value: Any,
    ttl: float | None = None,
    attributes: Mapping[str, Any] | None = None,
    expires_at: datetime | None = None,
    expected_revision: int | None = None,
    index_fields: Sequence[str] | None = None,
    wait: str | None = None,
) -> Plain:
    fields: Plain = {"wait": wait, "index_fields": False if index_fields == [] else index_fields}
    fields |= {"attributes": attributes, "ttl_seconds": ttl, "expected_revision": expected_revision}
    fields["expires_at"] = None if expires_at is None else _text(expires_at)
    given = {name: each for name, each in fields.items() if each is not None}
    return {"namespace": list(namespace), "key": key, "value": value} | given


def _address(namespace: Sequence[str], key: str) -> list[tuple[str, Any]]:
    return [*(("ns", each) for each in namespace), ("key", key)]


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


class OverHttp:
    """The REST interface of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)

    def door(self, tenant: str, person: Person) -> Door:
        return Http(self._connection, key_for(self._server, tenant, person))

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._connection.close()
