"""What is sent: hostile text arrives as it is, and what would not is refused before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import pytest
from tests.sdk.scripted import ITEM, WRITTEN, call, fails, says, scripted

from recollect_client import Client, DeleteOp, PutOp, RecollectError, errors
from recollect_client import _requests as requests

HOSTILE = [
    "/",
    "..",
    ".",
    "a/b",
    "?",
    "#",
    "&ns=x",
    "=",
    "%2F",
    "%",
    "+",
    " ",
    "  a b  ",
    "日本",
    "é",
    "e\u0301",
    "😀",
    "\x1e",
    "\r\nX-Evil: 1",
    ";",
    "\\",
    '"',
    "*",
    "\u202e",
    "a" * 900,
]
ANSWERS: dict[str, object] = {
    "get": ITEM,
    "history": {"versions": [{**ITEM, "ended_at": None, "end_reason": None}]},
    "events": {"events": [], "after_cursor": "c", "complete": True},
    "list_namespaces": {"namespaces": [["a", "b"]]},
    "search": {"items": [{**ITEM, "score": None}], "cursor": None},
    "put": WRITTEN,
    "delete": {
        "results": [{"kind": None, "namespace": ["a"], "key": "k", "revision": 0, "sequence": None, "id": None}]
    },
}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_arrives_as_it_is(flavour: str, text: str) -> None:
    namespace = (text, "x", text)
    with scripted(says(200, ITEM)) as server:
        call(flavour, server.url, "get", namespace, text)
        read = server.requests[0]
    assert [value for name, value in read.query if name == "ns"] == list(namespace)
    assert [value for name, value in read.query if name == "key"] == [text]
    assert read.target.startswith("/v1/memories?")
    assert "x-evil" not in read.headers
    with scripted(says(200, WRITTEN)) as server:
        call(flavour, server.url, "put", namespace, text, {text: [text]})
    assert server.requests[0].json == {"namespace": list(namespace), "key": text, "value": {text: [text]}}


@pytest.mark.parametrize("text", [text for text in HOSTILE if text not in (".", "..")])
def test_a_hostile_id_stays_one_segment_of_the_path(flavour: str, text: str) -> None:
    with scripted(fails(404, "not_found")) as server, pytest.raises(errors.NotFound):
        call(flavour, server.url, "revoke_token", text)
    start, _, last = server.requests[0].target.rpartition("/")
    assert (start, unquote(last)) == ("/admin/v1/tokens", text)


def test_a_path_in_the_url_of_the_server_is_kept(flavour: str) -> None:
    with scripted(says(200, ITEM)) as server:
        call(flavour, f"{server.url}/memory/", "get", ("a",), "k")
    assert server.requests[0].target.startswith("/memory/v1/memories?ns=a&key=k")


def test_moments_are_sent_in_utc_with_microseconds(flavour: str) -> None:
    moment = datetime(2026, 1, 1, 2, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    with scripted(says(200, ITEM), says(200, WRITTEN)) as server:
        call(flavour, server.url, "get", ("a",), "k", as_of=moment)
        call(flavour, server.url, "put", ("a",), "k", {}, expires_at=moment)
    assert ("as_of", "2026-01-01T00:00:00.000005Z") in server.requests[0].query
    assert server.requests[1].json["expires_at"] == "2026-01-01T00:00:00.000005Z"


def test_a_batch_says_what_each_operation_is(flavour: str) -> None:
    results = {"results": [WRITTEN, {**WRITTEN, "kind": "delete"}]}
    operations = [PutOp(("a",), "k", {"n": 2**70}, ttl=timedelta(minutes=1)), DeleteOp(["a"], "k", 3)]
    with scripted(says(200, results)) as server:
        done = call(flavour, server.url, "batch", iter(operations), idempotency_key="b-1")
    assert [written.kind for written in done] == ["add", "delete"]
    assert server.requests[0].headers["idempotency-key"] == "b-1"
    assert server.requests[0].json == {
        "operations": [
            {"op": "put", "namespace": ["a"], "key": "k", "value": {"n": 2**70}, "ttl_seconds": 60.0},
            {"op": "delete", "namespace": ["a"], "key": "k", "expected_revision": 3},
        ]
    }


def test_every_write_has_a_key_of_its_own_and_reads_have_none(flavour: str) -> None:
    with scripted(says(200, WRITTEN), says(200, WRITTEN), says(200, ITEM)) as server:
        call(flavour, server.url, "put", ("a",), "k", {})
        call(flavour, server.url, "archive", ("a",), "k")
        call(flavour, server.url, "get", ("a",), "k")
    first, second, third = (request.headers.get("idempotency-key") for request in server.requests)
    assert first
    assert second
    assert first != second
    assert third is None


REFUSED: list[tuple[str, Callable[[Client], Any], type[RecollectError]]] = [
    ("NaN", lambda c: c.put(("a",), "k", {"x": math.nan}), errors.InvalidValue),
    ("infinity below", lambda c: c.put(("a",), "k", {"x": [{"y": math.inf}]}), errors.InvalidValue),
    ("a number as key", lambda c: c.put(("a",), "k", {1: 2}), errors.InvalidValue),  # type: ignore[dict-item]
    ("a tuple", lambda c: c.put(("a",), "k", {"x": (1,)}), errors.InvalidValue),
    ("a set", lambda c: c.put(("a",), "k", {"x": {1}}), errors.InvalidValue),
    ("a datetime", lambda c: c.put(("a",), "k", {"x": datetime.now(UTC)}), errors.InvalidValue),
    ("bytes", lambda c: c.put(("a",), "k", {"x": b"1"}), errors.InvalidValue),
    ("a proxy", lambda c: c.put(("a",), "k", MappingProxyType({"x": 1})), errors.InvalidValue),
    ("a surrogate", lambda c: c.put(("a",), "k", {"x": "\ud800"}), errors.InvalidValue),
    ("an object", lambda c: c.put(("a",), "k", {"x": object()}), errors.InvalidValue),
    ("NaN attribute", lambda c: c.put(("a",), "k", {}, attributes={"x": math.nan}), errors.InvalidAttributes),
    ("NaN filter", lambda c: c.search(filter={"x": math.nan}), errors.InvalidFilter),
    ("NaN limit", lambda c: c.search(limit=math.nan), errors.InvalidRequest),  # type: ignore[arg-type]
    ("text namespace", lambda c: c.put("ab", "k", {}), errors.InvalidNamespace),
    ("text namespace read", lambda c: c.get("ab", "k"), errors.InvalidNamespace),
    ("text prefix", lambda c: c.search("ab"), errors.InvalidNamespace),
    ("text pattern", lambda c: c.list_namespaces(prefix="ab"), errors.InvalidNamespace),
    ("set namespace", lambda c: c.get({"a", "b"}, "k"), errors.InvalidNamespace),  # type: ignore[arg-type]
    ("None segment", lambda c: c.get((None,), "k"), errors.InvalidNamespace),  # type: ignore[arg-type]
    ("surrogate segment", lambda c: c.get(("\ud800",), "k"), errors.InvalidNamespace),
    ("None key", lambda c: c.get(("a",), None), errors.InvalidKey),  # type: ignore[arg-type]
    ("surrogate key", lambda c: c.get(("a",), "\udfff"), errors.InvalidKey),
    ("ttl 0", lambda c: c.put(("a",), "k", {}, ttl=0), errors.InvalidExpiry),
    ("ttl NaN", lambda c: c.put(("a",), "k", {}, ttl=math.nan), errors.InvalidExpiry),
    ("ttl infinite", lambda c: c.put(("a",), "k", {}, ttl=math.inf), errors.InvalidExpiry),
    ("ttl below 0", lambda c: c.put(("a",), "k", {}, ttl=timedelta(seconds=-1)), errors.InvalidExpiry),
    ("naive expiry", lambda c: c.put(("a",), "k", {}, expires_at=datetime(2026, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001 - meant
    ("naive as_of", lambda c: c.get(("a",), "k", as_of=datetime(2026, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001 - meant
    ("text as_of", lambda c: c.get(("a",), "k", as_of="2026"), errors.InvalidExpiry),  # type: ignore[arg-type]
    ("no kinds", lambda c: c.events(kinds=[]), errors.InvalidQuery),
    ("text kinds", lambda c: c.events(kinds="add"), errors.InvalidQuery),
    ("long wait", lambda c: c.events(wait=61), errors.InvalidQuery),
    ("NaN wait", lambda c: c.events(wait=math.nan), errors.InvalidQuery),
    ("long wait of a search", lambda c: c.search(query="x", wait=61), errors.InvalidQuery),
    ("another wait of a write", lambda c: c.put(("a",), "k", {}, wait="soon"), errors.InvalidRequest),
    ("another wait of a batch", lambda c: c.batch([], wait="soon"), errors.InvalidRequest),
    ("surrogate query", lambda c: c.search(query="\ud800"), errors.InvalidQuery),
    ("bytes query", lambda c: c.search(query=b"x"), errors.InvalidQuery),  # type: ignore[arg-type]
    ("number among queries", lambda c: c.search(query=["x", 7]), errors.InvalidQuery),  # type: ignore[list-item]
    ("busy follower", lambda c: next(iter(c.follow(wait=0))), errors.InvalidQuery),
    ("text id", lambda c: c.get_by_id("x"), errors.InvalidQuery),  # type: ignore[arg-type]
    ("no id", lambda c: c.revoke_token(""), errors.InvalidQuery),
    ("dots", lambda c: c.revoke_token(".."), errors.InvalidQuery),
    ("text roles", lambda c: c.create_token("u", roles="admin"), errors.InvalidCaller),
    ("key with a line", lambda c: c.put(("a",), "k", {}, idempotency_key="a\r\nb"), errors.InvalidCommit),
    ("key in kanji", lambda c: c.put(("a",), "k", {}, idempotency_key="日"), errors.InvalidCommit),
    ("key with a space", lambda c: c.put(("a",), "k", {}, idempotency_key="a "), errors.InvalidCommit),
    ("no key", lambda c: c.put(("a",), "k", {}, idempotency_key=""), errors.InvalidCommit),
    ("long key", lambda c: c.put(("a",), "k", {}, idempotency_key="k" * 256), errors.InvalidCommit),
    ("no operation", lambda c: c.batch([("put", "a")]), errors.InvalidCommit),  # type: ignore[list-item]
    ("no list", lambda c: c.batch(None), errors.InvalidCommit),  # type: ignore[arg-type]
    ("boolean limit", lambda c: c.history(("a",), "k", limit=True), errors.InvalidQuery),
    ("cyclic value", lambda c: c.put(("a",), "k", _cyclic()), errors.InvalidValue),
    ("object entry", lambda c: c.import_page("s", [{"x": object()}]), errors.InvalidRequest),
]


def _cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


@pytest.mark.parametrize(("ask", "error"), [pytest.param(ask, error, id=name) for name, ask, error in REFUSED])
def test_what_would_not_arrive_as_it_is_meant_is_refused_here(
    ask: Callable[[Client], Any], error: type[RecollectError]
) -> None:
    with scripted(says(200, ITEM)) as server, Client(server.url, "t") as client:
        with pytest.raises(error) as caught:
            ask(client)
        assert type(caught.value) is error
    assert server.requests == []


def test_what_is_to_be_waited_for_is_given_the_time() -> None:
    assert requests.seconds_indexed(None) == 0
    held = requests.seconds_indexed("indexed")
    assert requests.write("PUT", "/", {}, held=held).held == requests.ask("/", {}, held=held).held == 60


def test_what_the_server_can_see_is_left_to_it(flavour: str) -> None:
    with scripted(fails(400, "invalid_query")) as server, pytest.raises(errors.InvalidQuery):
        call(flavour, server.url, "search", limit=-1, order="sideways", archived="maybe")
    assert server.requests[0].json == {
        "namespace_prefix": [],
        "mode": "hybrid",
        "explain": False,
        "order": "sideways",
        "limit": -1,
        "offset": 0,
        "archived": "maybe",
    }


@pytest.mark.parametrize("method", sorted(ANSWERS))
def test_answers_become_values(flavour: str, method: str) -> None:
    given: dict[str, tuple[Any, ...]] = {"search": (), "events": (), "list_namespaces": ()}
    arguments = given.get(method, (("a",), "k")) + (({},) if method == "put" else ())
    with scripted(says(200, ANSWERS[method])) as server:
        answer = call(flavour, server.url, method, *arguments)
    if method == "list_namespaces":
        assert answer == [("a", "b")]
    assert "{'n': 1}" not in repr(answer)
