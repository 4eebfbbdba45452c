"""Hostile requests over HTTP, byte for byte, each with the refusal that it must get."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NS = ["user", "alice", "notes"]
HERE = "ns=user&ns=alice&ns=notes"
PUT = {"namespace": NS, "key": "new", "value": {"n": 1}}
SEARCH = {"namespace_prefix": NS}
ENTRY = {"sequence": 1, "kind": "add", "namespace": NS, "key": "k", "at": "2026-01-01T00:00:00Z", "value": {}}
SOURCE = "ab" * 32
SEARCH_CURSOR = "<a cursor of a search>"
EVENT_CURSOR = "<a cursor of the log>"
EXPORT_CURSOR = "<a cursor of an export>"
"""Filled in by the test, with cursors that are valid where they come from."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A request and the status and code of its refusal; `by` says with whose key it comes."""

    name: str
    method: str
    target: str
    status: int
    code: str
    body: bytes | None = None
    headers: Mapping[str, str | bytes] = field(default_factory=dict)
    by: str = "alice"

    def sent(self, key: str) -> bytes:
        """The bytes on the wire."""
        headers: dict[str, str | bytes] = {"Host": "localhost"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if self.body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(self.body))}
        headers |= self.headers
        lines = [f"{self.method} {self.target} HTTP/1.1".encode("latin-1")]
        for name, value in headers.items():
            if value != "":
                lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode("latin-1")))
        return b"\r\n".join(lines) + b"\r\n\r\n" + (self.body or b"")


def put(name: str, code: str, *, status: int = 400, raw: str | bytes | None = None, **changed: Any) -> Hostile:
    """A write with one thing wrong; a field set to `...` is left out."""
    fields = {each: value for each, value in (PUT | changed).items() if value is not ...}
    text = raw if raw is not None else json.dumps(fields)
    return Hostile(name, "PUT", "/v1/memories", status, code, text.encode() if isinstance(text, str) else text)


def search(name: str, code: str, *, status: int = 400, **changed: Any) -> Hostile:
    """A search with one thing wrong."""
    fields = {each: value for each, value in (SEARCH | changed).items() if value is not ...}
    return Hostile(name, "POST", "/v1/memories/search", status, code, json.dumps(fields).encode())


def get(name: str, target: str, code: str, status: int = 400, **headers: str | bytes) -> Hostile:
    """A read with one thing wrong."""
    named: dict[str, str | bytes] = {each.replace("_", "-"): value for each, value in headers.items()}
    return Hostile(name, "GET", target, status, code, headers=named)


def post(name: str, target: str, body: Any, code: str, status: int = 400, *, by: str = "admin") -> Hostile:
    """An administrator's request with one thing wrong."""
    return Hostile(name, "POST", target, status, code, json.dumps(body).encode(), by=by)


def _around(value: str) -> str:
    return '{"namespace":["user","alice","notes"],"key":"new","value":' + value + "}"


BODIES = [
    put("nothing at all", "invalid_request", raw=""),
    put("half an object", "invalid_request", raw='{"namespace":'),
    put("an array", "invalid_request", raw="[]"),
    put("null", "invalid_request", raw="null"),
    put("a comma too many", "invalid_request", raw=_around("{}")[:-1] + ",}"),
    put("two documents", "invalid_request", raw=_around("{}") + "{}"),
    put("a byte order mark", "invalid_request", raw=b"\xef\xbb\xbf" + _around("{}").encode()),
    put("not UTF-8", "invalid_request", raw=b'{"namespace":["\xff"],"key":"k","value":{}}'),
    put("UTF-16", "invalid_request", raw=_around("{}").encode("utf-16")),
    put("NaN", "invalid_request", raw=_around('{"a":NaN}')),
    put("Infinity", "invalid_request", raw=_around('{"a":Infinity}')),
    put("a number beyond all floats", "invalid_value", raw=_around('{"a":1e999}')),
    put("a number of 5,000 digits", "invalid_request", raw=_around('{"a":' + "9" * 5_000 + "}")),
    put("a key twice in the value", "invalid_request", raw=_around('{"a":1,"a":2}')),
    put("a key twice deep in the value", "invalid_request", raw=_around('{"b":[{"a":1,"a":2}]}')),
    put("a field twice", "invalid_request", raw=_around('{},"key":"other"')),
    put("a lone surrogate in the value", "invalid_value", raw=_around('{"a":"\\ud800"}')),
    put("a lone surrogate in the key", "invalid_key", raw=_around("{}").replace('"new"', '"\\ud800"')),
    put("NUL in the value", "invalid_value", value={"a": "\x00"}),
    put("NUL in a name of the value", "invalid_value", value={"\x00": 1}),
    put("NUL in the key", "invalid_key", key="a\x00b"),
    put("NUL in the namespace", "invalid_namespace", namespace=["user", "alice", "\x00"]),
    put("1,000 levels", "invalid_request", raw=_around('{"a":' * 1_000 + "1" + "}" * 1_000)),
    put("100,000 levels that never end", "invalid_request", raw="[" * 100_000),
    put("100,000 levels in the value", "invalid_request", raw=_around('{"a":' * 100_000 + "1" + "}" * 100_000)),
    put("5 MiB", "request_too_large", status=413, raw=_around('{"a":"' + "x" * (5 << 20) + '"}')),
    put("a value of 1 MiB and a little", "invalid_value", raw=_around('{"a":"' + "x" * (1 << 20) + '"}')),
    put("an unknown field", "invalid_request", tenant="other"),
    put("the policy's attributes", "invalid_request", policy_attributes={"sub": "bob"}),
    put("a namespace that is text", "invalid_request", namespace="user/alice"),
    put("a namespace of numbers", "invalid_request", namespace=["user", 5]),
    put("a key that is a number", "invalid_request", key=5),
    put("a value that is text", "invalid_value", value="text"),
    put("a value that is null", "invalid_value", value=None),
    put("no value", "invalid_request", value=...),
    put("no key", "invalid_request", key=...),
    put("no namespace", "invalid_request", namespace=...),
    put("attributes that are a list", "invalid_attributes", attributes=[1]),
    put("a time to live that is text", "invalid_request", ttl_seconds="60"),
    put("a time to live that is true", "invalid_request", ttl_seconds=True),
    put("a time to live below zero", "invalid_expiry", ttl_seconds=-0.001),
    put("a time to live of a million years", "invalid_expiry", ttl_seconds=31_557_600_000_000),
    put("two expiries", "invalid_expiry", ttl_seconds=60, expires_at="2999-01-01T00:00:00Z"),
    put("an expiry without a time zone", "invalid_expiry", expires_at="2999-01-01T00:00:00"),
    put("an expiry on February 30", "invalid_expiry", expires_at="2999-02-30T00:00:00Z"),
    put("an expiry before 1970", "invalid_expiry", expires_at="0001-01-01T00:00:00Z"),
    put("an expiry after the end of the calendar", "invalid_expiry", expires_at="9999-12-31T23:59:59-14:00"),
    put("a revision of 2^64", "invalid_commit", expected_revision=2**64),
    put("a revision below zero", "invalid_commit", expected_revision=-1),
    put("a revision that is a fraction", "invalid_request", expected_revision=1.5),
    put("index fields that are true", "invalid_request", index_fields=True),
    put("index fields that are disabled too", "invalid_request", index_fields=["a"], index_disabled=True),
    put("a thousand index fields", "invalid_request", index_fields=["a"] * 1_000),
    Hostile("a batch of nothing", "POST", "/v1/memories/batch", 400, "invalid_commit", b'{"operations":[]}'),
    Hostile(
        "a batch of the unknown", "POST", "/v1/memories/batch", 400, "invalid_request", b'{"operations":[{"op":"x"}]}'
    ),
    Hostile(
        "archived: yes", "PATCH", "/v1/memories", 400, "invalid_request", json.dumps(PUT | {"archived": "yes"}).encode()
    ),
]

TRANSPORT = [
    Hostile("no content type", "PUT", "/v1/memories", 415, "unsupported_media_type", b"{}", {"Content-Type": ""}),
    Hostile("a form", "PUT", "/v1/memories", 415, "unsupported_media_type", b"a=1", {"Content-Type": "text/plain"}),
    Hostile(
        "gzip",
        "PUT",
        "/v1/memories",
        415,
        "unsupported_media_type",
        gzip.compress(json.dumps(PUT).encode(), mtime=0),
        {"Content-Encoding": "gzip"},
    ),
    Hostile("a body on GET", "GET", f"/v1/memories?{HERE}&key=k", 400, "invalid_request", b"{}"),
    Hostile("a body on DELETE", "DELETE", f"/v1/memories?{HERE}&key=k", 400, "invalid_request", b"{}"),
    Hostile(
        "a chunked body on GET",
        "GET",
        f"/v1/memories?{HERE}&key=k",
        400,
        "invalid_request",
        b"2\r\n{}\r\n0\r\n\r\n",
        {"Content-Length": "", "Transfer-Encoding": "chunked"},
    ),
    Hostile(
        "5 MiB in chunks",
        "PUT",
        "/v1/memories",
        413,
        "request_too_large",
        b"500000\r\n" + b"x" * 0x500000 + b"\r\n0\r\n\r\n",
        {"Content-Length": "", "Transfer-Encoding": "chunked"},
    ),
    Hostile(
        "5 MiB announced", "PUT", "/v1/memories", 413, "request_too_large", b"{}", {"Content-Length": str(5 << 20)}
    ),
    Hostile(
        "an encoding within the chunks",
        "PUT",
        "/v1/memories",
        415,
        "unsupported_media_type",
        b"2\r\n{}\r\n0\r\n\r\n",
        {"Content-Length": "", "Transfer-Encoding": "gzip, chunked"},
    ),
    Hostile(
        "a length beyond all memory",
        "PUT",
        "/v1/memories",
        413,
        "request_too_large",
        b"{}",
        {"Content-Length": "9" * 18},
    ),
]

PARAMETERS = [
    get("an unknown parameter", f"/v1/memories?{HERE}&key=k&tenant=other", "invalid_request"),
    get("a parameter twice", f"/v1/memories?{HERE}&key=k&key=l", "invalid_request"),
    get("no key", f"/v1/memories?{HERE}", "invalid_request"),
    get("no namespace", "/v1/memories?key=k", "invalid_namespace"),
    get("an empty segment", "/v1/memories?ns=user&ns=&key=k", "invalid_namespace"),
    get("an empty key", f"/v1/memories?{HERE}&key=", "invalid_key"),
    get("NUL in a segment", "/v1/memories?ns=user&ns=alice&ns=%00&key=k", "invalid_namespace"),
    get("a parameter that is not UTF-8", f"/v1/memories?{HERE}&key=%FF", "invalid_request"),
    get("an encoded lone surrogate", f"/v1/memories?{HERE}&key=%ED%A0%80", "invalid_request"),
    get("bad percent-encoding", f"/v1/memories?{HERE}&key=%zz", "invalid_request"),
    get("percent-encoding cut off", f"/v1/memories?{HERE}&key=a%2", "invalid_request"),
    get("a thousand parameters", "/v1/memories?" + "ns=a&" * 1_000 + "key=k", "invalid_request"),
    get("a key of 2,000 bytes", f"/v1/memories?{HERE}&key={'k' * 2_000}", "invalid_key"),
    get("a segment of 2,000 bytes", f"/v1/memories?ns=user&ns={'k' * 2_000}&key=k", "invalid_namespace"),
    get("100 segments", "/v1/memories?" + "ns=a&" * 100 + "key=k", "invalid_namespace"),
    get("a moment that is none", f"/v1/memories?{HERE}&key=k&as_of=yesterday", "invalid_expiry"),
    get("a way to treat archived ones that is none", f"/v1/memories?{HERE}&key=k&archived=maybe", "invalid_query"),
    get("a limit of text", "/v1/memories/events?limit=ten", "invalid_request"),
    get("a limit of 2^64", f"/v1/memories/events?limit={2**64}", "invalid_request"),
    get("a limit of other digits", "/v1/memories/events?limit=%D9%A1", "invalid_request"),
    get("a limit of nothing", "/v1/memories/events?limit=0", "invalid_query"),
    get("a limit below nothing", "/v1/memories/namespaces?limit=-5", "invalid_query"),
    get("a limit above the most", "/v1/memories/events?limit=201", "invalid_query"),
    get("history without end", f"/v1/memories/history?{HERE}&key=k&limit=1001", "invalid_query"),
    get("a depth below zero", "/v1/memories/namespaces?max_depth=-1", "invalid_query"),
    get("an offset of a billion", "/v1/memories/namespaces?offset=1000000000", "invalid_query"),
    get("a wait of NaN", "/v1/memories/events?wait=nan", "invalid_request"),
    get("a wait without end", "/v1/memories/events?wait=inf", "invalid_request"),
    get("a wait below zero", "/v1/memories/events?wait=-1", "invalid_query"),
    get("a wait with a gap", "/v1/memories/events?wait=1_0", "invalid_request"),
    get("follow: maybe", "/v1/memories/events?follow=maybe", "invalid_request"),
    get("an unknown kind", "/v1/memories/events?kinds=born", "invalid_query"),
    get("a cursor of nothing", "/v1/memories/events?after_cursor=", "invalid_cursor"),
    get("a cursor of garbage", "/v1/memories/events?after_cursor=%F0%9F%A6%8A", "invalid_cursor"),
    get("a cursor of 70,000 characters", "/v1/memories/events?after_cursor=" + "A" * 60_000, "invalid_cursor"),
    get("a cursor of a search for the log", f"/v1/memories/events?after_cursor={SEARCH_CURSOR}", "invalid_cursor"),
    get("a cursor of an export for the log", f"/v1/memories/events?after_cursor={EXPORT_CURSOR}", "invalid_cursor"),
    get("garbage to resume from", "/v1/memories/events?follow=true", "invalid_cursor", Last_Event_ID="garbage!!"),
    get(
        "half a cursor to resume from",
        "/v1/memories/events",
        "invalid_cursor",
        Accept="text/event-stream",
        Last_Event_ID=SEARCH_CURSOR,
    ),
    Hostile("a revision of text", "DELETE", f"/v1/memories?{HERE}&key=k&expected_revision=x", 400, "invalid_request"),
    Hostile(
        "parameters on a write", "PUT", "/v1/memories?dry_run=true", 400, "invalid_request", json.dumps(PUT).encode()
    ),
    Hostile("parameters on health", "GET", "/healthz?x=1", 400, "invalid_request", by=""),
]

_TWICE = b'{"namespace_prefix":["user","alice"],"filter":{"lang":"a","lang":"b"}}'
QUESTIONS = [
    search("an unknown operator", "invalid_filter", filter={"lang": {"$regex": ".*"}}),
    search("code as an operator", "invalid_filter", filter={"lang": {"$where": "sleep(1)"}}),
    search("nested conditions", "invalid_filter", filter={"$and": [{"lang": "en"}]}),
    search("a filter that is a list", "invalid_request", filter=[1]),
    search("a name with a quote in it", "invalid_filter", filter={"lang') OR 1=1 --": "x"}),
    search("a condition of nothing", "invalid_filter", filter={"lang": {}}),
    search("a condition on null", "invalid_filter", filter={"lang": None}),
    search("choices without end", "invalid_filter", filter={"lang": {"in": ["x"] * 100_000}}),
    search("conditions without end", "invalid_filter", filter={f"n{number}": 1 for number in range(1_000)}),
    search("a filter 500 levels deep", "invalid_filter", filter={"lang": json.loads("[" * 500 + "]" * 500)}),
    search("a number of 2^64 in a filter", "invalid_filter", filter={"lang": 2**64}),
    search("no prefix", "invalid_request", namespace_prefix=...),
    search("a limit above the most", "invalid_query", limit=101),
    search("a limit that is text", "invalid_request", limit="10"),
    search("a limit that is true", "invalid_request", limit=True),
    search("an offset below zero", "invalid_query", offset=-1),
    search("an order that is SQL", "invalid_query", order="key; DROP TABLE rows"),
    search("a cursor of the log", "invalid_cursor", cursor=EVENT_CURSOR),
    search("a cursor of an export", "invalid_cursor", cursor=EXPORT_CURSOR),
    search("a cursor with another order", "invalid_cursor", cursor=SEARCH_CURSOR, order="key"),
    search("a query of nothing", "invalid_query", query=""),
    search("a query of blanks", "invalid_query", query=" \n\u2003"),
    search("a query with NUL", "invalid_query", query="a\x00b"),
    search("a query without end", "invalid_query", query="x" * 100_000),
    search("a query that is a number", "invalid_request", query=7),
    search("no queries at all", "invalid_query", query=[]),
    search("queries without end", "invalid_query", query=["x"] * 1_000),
    search("a query of queries", "invalid_request", query=[["x"]]),
    search("a mode that is SQL", "invalid_query", query="x", mode="'; DROP TABLE entries"),
    search("a least score above the most", "invalid_query", query="x", min_score=1.5),
    search("a least score that is text", "invalid_request", query="x", min_score="0.5"),
    search("an explanation that is text", "invalid_request", query="x", explain="yes"),
    search("a wait of a day", "invalid_query", query="x", wait=86_400),
    search("a wait below zero", "invalid_query", query="x", wait=-1),
    search("a query with a cursor", "invalid_query", query="x", cursor=SEARCH_CURSOR),
    search("a query of the past", "invalid_query", query="x", as_of="2026-01-01T00:00:00Z"),
    search("a ranking without end", "invalid_query", query="x", offset=1_000),
    Hostile("a filter with a name twice", "POST", "/v1/memories/search", 400, "invalid_request", _TWICE),
    post("a head of garbage", "/admin/v1/verify", {"head": "17:xyz"}, "invalid_query"),
    post("a subject that is none", "/admin/v1/erase", {"subject": "everybody"}, "invalid_namespace"),
    post("a subject with NUL", "/admin/v1/erase", {"subject": "user:\x00"}, "invalid_namespace"),
    post("a sweep of a million", "/admin/v1/sweep", {"batch": 1_000_000}, "invalid_query"),
    post("a key for nobody", "/admin/v1/tokens", {"user_id": ""}, "invalid_caller"),
    post("a key for a user with a line break", "/admin/v1/tokens", {"user_id": "a\nb"}, "invalid_caller"),
    post("a key with an unknown scope", "/admin/v1/tokens", {"user_id": "x", "scopes": ["root"]}, "invalid_caller"),
    post(
        "a key that has expired",
        "/admin/v1/tokens",
        {"user_id": "x", "expires_at": "2001-01-01T00:00:00Z"},
        "invalid_expiry",
    ),
    post(
        "a key in the service's own tenant",
        "/admin/v1/tokens",
        {"user_id": "x", "tenant": "recollect:system"},
        "invalid_tenant",
    ),
    post("a key in a tenant that is none", "/admin/v1/tokens", {"user_id": "x", "tenant": "../x"}, "invalid_tenant"),
    post("a source that is none", "/admin/v1/import", {"source": "../..", "entries": []}, "invalid_request"),
    post("entries out of order", "/admin/v1/import", {"source": SOURCE, "entries": [ENTRY, ENTRY]}, "invalid_request"),
    post(
        "an entry of an unknown kind",
        "/admin/v1/import",
        {"source": SOURCE, "entries": [ENTRY | {"kind": "erased"}]},
        "invalid_request",
    ),
    post(
        "an entry from before 1970",
        "/admin/v1/import",
        {"source": SOURCE, "entries": [ENTRY | {"at": "0001-01-01T00:00:00Z"}]},
        "invalid_expiry",
    ),
    post(
        "an entry that expires after the end of the calendar",
        "/admin/v1/import",
        {"source": SOURCE, "entries": [ENTRY | {"expires_at": "9999-12-31T23:59:59-14:00"}]},
        "invalid_expiry",
    ),
    post("501 entries", "/admin/v1/import", {"source": SOURCE, "entries": [ENTRY] * 501}, "invalid_request"),
    Hostile(
        "an export from a cursor of the log",
        "GET",
        f"/admin/v1/export?cursor={EVENT_CURSOR}",
        400,
        "invalid_cursor",
        by="admin",
    ),
    Hostile("an import of nowhere", "GET", "/admin/v1/import?source=%00", 400, "invalid_request", by="admin"),
]

PATHS = [
    get("an id that is none", "/v1/memories/not-a-uuid", "not_found", 404),
    get("an id that climbs", "/v1/memories/..%2f..%2fadmin%2fv1%2fhead", "not_found", 404),
    get("an id in the words of the contract", "/v1/memories/{id}", "not_found", 404),
    get("the same, encoded", "/v1/memories/%7Bid%7D", "not_found", 404),
    get("a path that climbs", "/v1/memories/../../admin/v1/head", "not_found", 404),
    get("a double slash", "//v1/memories", "not_found", 404),
    get("a slash at the end", "/v1/memories/", "not_found", 404),
    get("another case", "/V1/Memories", "not_found", 404),
    get("NUL in a path", "/v1/memories/%00", "not_found", 404),
    get("a path that is not UTF-8", "/v1/memories/%ff%fe", "not_found", 404),
    get("a path without end", "/" + "a" * 60_000, "not_found", 404),
    get("a file of the service", "/../../etc/passwd", "not_found", 404),
    Hostile("a key's id that climbs", "DELETE", "/admin/v1/tokens/..%2f..", 404, "not_found", by="admin"),
    Hostile("a key's id with a pattern", "DELETE", "/admin/v1/tokens/*", 404, "not_found", by="admin"),
    Hostile("HEAD", "HEAD", "/v1/whoami", 405, "", headers={"Connection": "close"}),
    Hostile("OPTIONS", "OPTIONS", "/v1/memories", 405, "method_not_allowed"),
    Hostile("TRACE", "TRACE", "/v1/memories", 405, "method_not_allowed"),
    Hostile("POST where there is only GET", "POST", "/v1/whoami", 405, "method_not_allowed", b"{}"),
    Hostile(
        "a method behind another",
        "POST",
        "/v1/memories",
        405,
        "method_not_allowed",
        b"{}",
        {"X-HTTP-Method-Override": "DELETE"},
    ),
]

HEADERS = [
    Hostile(
        "an empty idempotency key",
        "PUT",
        "/v1/memories",
        400,
        "invalid_commit",
        json.dumps(PUT).encode(),
        {"Idempotency-Key": b" "},
    ),
    Hostile(
        "an idempotency key without end",
        "PUT",
        "/v1/memories",
        400,
        "invalid_commit",
        json.dumps(PUT).encode(),
        {"Idempotency-Key": "x" * 256},
    ),
    get("no credential", f"/v1/memories?{HERE}&key=k", "unauthenticated", 401, Authorization=""),
    get("an empty credential", "/v1/whoami", "unauthenticated", 401, Authorization="Bearer "),
    get("a scheme that is none", "/v1/whoami", "unauthenticated", 401, Authorization="Token rk_x"),
    get("a key that is none", "/v1/whoami", "unauthenticated", 401, Authorization="Bearer rk_x"),
    get("a credential that is not ASCII", "/v1/whoami", "unauthenticated", 401, Authorization=b"Bearer rk_\xe9\xff"),
    get("a password that is not base64", "/docs", "unauthenticated", 401, Authorization="Basic !!!"),
    get("a password that is not ASCII", "/docs", "unauthenticated", 401, Authorization=b"Basic \xe9\xe9"),
    get("a password where none is taken", "/v1/whoami", "unauthenticated", 401, Authorization="Basic YTpi"),
    get(
        "a credential of 20,000 characters",
        "/v1/whoami",
        "unauthenticated",
        401,
        Authorization="Bearer " + "x" * 20_000,
    ),
    get(
        "a JWT where none are taken",
        "/v1/whoami",
        "unauthenticated",
        401,
        Authorization="Bearer eyJhbGciOiJub25lIn0.e30.",
    ),
]

ALL = [*BODIES, *TRANSPORT, *PARAMETERS, *QUESTIONS, *PATHS, *HEADERS]
