"""Whatever bytes come over HTTP: a plain refusal in one envelope, and nothing has changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.security.hostile_bytes import GARBAGE, HARMLESS, SMUGGLED, exchanged
from tests.security.hostile_requests import ALL, EVENT_CURSOR, EXPORT_CURSOR, NS, SEARCH_CURSOR, Hostile

from recollect.testing.servers import Server, running


@dataclass(frozen=True, slots=True)
class Target:
    """A server, the keys to it, and cursors that are valid where they come from."""

    server: Server
    keys: dict[str, str]
    cursors: dict[str, str]

    def state(self) -> tuple[Any, ...]:
        """Everything that happened to memories, and which keys there are."""
        return tuple(self.server.request("GET", f"/admin/v1/{what}")[1] for what in ("export?limit=1000", "tokens"))

    def answer(self, sent: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the first answer."""
        received = exchanged(self.server.port, sent)
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return int(status.split()[1]) if received else 0, headers, body


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    home = tmp_path_factory.mktemp("requests") / "data"
    with running(home, failures_per_second=0, filterable_attributes="lang") as server:
        alice = server.key_for("alice")
        for number in range(3):
            body = {"namespace": NS, "key": f"k{number}", "value": {"n": number}}
            assert server.request("PUT", "/v1/memories", body, token=alice)[0] == 200
        found = server.request("POST", "/v1/memories/search", {"namespace_prefix": NS, "limit": 1}, token=alice)[1]
        told = server.request("GET", "/v1/memories/events?limit=1", token=alice)[1]
        exported = server.request("GET", "/admin/v1/export?limit=1")[1]
        cursors = {
            SEARCH_CURSOR: found["cursor"],
            EVENT_CURSOR: told["after_cursor"],
            EXPORT_CURSOR: exported["cursor"],
        }
        yield Target(server, {"alice": alice, "admin": server.token, "": ""}, cursors)
        assert server.request("POST", "/admin/v1/verify", {})[1]["sound"]
        assert "http.fault" not in server.log()


def filled(case: Hostile, cursors: dict[str, str]) -> Hostile:
    """The case with real cursors in it."""
    for name, cursor in cursors.items():
        headers = {each: cursor if value == name else value for each, value in case.headers.items()}
        body = None if case.body is None else case.body.replace(name.encode(), cursor.encode())
        case = replace(case, target=case.target.replace(name, cursor), headers=headers, body=body)
    return case


def flaws(case: Hostile, status: int, headers: dict[str, str], body: bytes) -> list[str]:
    """What is wrong with an answer to a hostile request."""
    found = [] if status == case.status else [f"status {status}, not {case.status}: {body[:200]!r}"]
    if not re.fullmatch("[0-9a-f]{16}", headers.get("x-request-id", "")):
        found.append("no request id")
    if case.method == "HEAD":
        return [*found, "a body"] if body else found
    try:
        told = json.loads(body)
    except ValueError:
        return [*found, f"no envelope: {body[:200]!r}"]
    if not isinstance(told, dict) or set(told) != {"error", "code", "details"}:
        return [*found, f"no envelope: {told!r}"]
    if told["code"] != case.code:
        found.append(f"code {told['code']}, not {case.code}: {told['error']}")
    if not 5 <= len(told["error"]) <= 600 or not told["error"].isprintable():
        found.append(f"a message that is none: {told['error']!r}")
    if status == 401 and not headers.get("www-authenticate"):
        found.append("no challenge")
    return found if told["details"].get("advice") else [*found, "no advice"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name.replace(" ", "-")) for case in ALL])
def test_a_hostile_request_is_refused_and_changes_nothing(case: Hostile, target: Target) -> None:
    before = target.state()
    asked = filled(case, target.cursors)
    assert flaws(case, *target.answer(asked.sent(target.keys[case.by]))) == []
    assert target.state() == before


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_http_is_refused_by_the_parser(name: str, target: Target) -> None:
    before = target.state()
    status, headers, body = target.answer(GARBAGE[name].replace(b"KEY", target.keys["alice"].encode()))
    assert (status, headers.get("connection")) == (400, "close")
    said = json.loads(body)
    assert (set(said), said["code"]) == ({"error", "code", "details"}, "invalid_request")
    assert target.state() == before


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_odd_but_lawful_makes_no_difference(name: str, target: Target) -> None:
    status, headers, body = target.answer(HARMLESS[name].replace(b"KEY", target.keys["alice"].encode()))
    assert status == 200
    assert (json.loads(body)["user_id"], json.loads(body)["tenant"]) == ("alice", "default")
    assert re.fullmatch("[0-9a-f]{16}", headers["x-request-id"])


@pytest.mark.parametrize("name", SMUGGLED)
def test_a_second_request_is_never_answered_in_the_name_of_the_first(name: str, target: Target) -> None:
    before = target.state()
    sent = SMUGGLED[name].replace(b"KEY", target.keys["admin"].encode())
    received = exchanged(
        target.server.port, sent + b"GET /v1/nowhere HTTP/1.1\r\nConnection: close\r\n\r\n", whole=False
    )
    statuses = re.findall(rb"HTTP/1\.1 ([0-9]{3})", received)
    assert statuses[0] in (b"400", b"415")
    assert b'"head"' not in received
    assert set(statuses[1:]) <= {b"401"}, "what was hidden in the first request has no credential"
    assert target.state() == before


def test_a_request_without_its_last_byte_does_nothing(target: Target) -> None:
    before = target.state()
    body = json.dumps({"namespace": NS, "key": "new", "value": {}}).encode()
    case = Hostile("cut off", "PUT", "/v1/memories", 0, "", body)
    exchanged(target.server.port, case.sent(target.keys["alice"])[:-1], cut=True)
    assert target.state() == before


def test_the_table_is_long_and_says_each_thing_once() -> None:
    names = [case.name for case in ALL]
    assert len(names) >= 60
    pairs = {(case.name, case.target) for case in ALL}
    assert len(pairs) == len(names)
    print(f"hostile requests: {len(ALL)} refused by the service, {len(GARBAGE)} by the parser")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b'{"error":"no such thing","code":"not_found","details":{"advice":"x"}}'),
        (404, b'{"error":"no such thing","code":"internal","details":{"advice":"x"}}'),
        (404, b'{"error":"no such thing","code":"not_found","details":{}}'),
        (404, b'{"error":"","code":"not_found","details":{"advice":"x"}}'),
        (404, b'{"error":"no such thing","code":"not_found","details":{"advice":"x"},"trace":"x"}'),
        (404, b"Not Found"),
    ],
)
def test_an_answer_that_is_not_as_promised_is_noticed(status: int, body: bytes) -> None:
    case = Hostile("planted", "GET", "/", 404, "not_found")
    right = b'{"error":"no such thing","code":"not_found","details":{"advice":"x"}}'
    assert flaws(case, 404, {"x-request-id": "0" * 16}, right) == []
    assert flaws(case, status, {"x-request-id": "0" * 16}, body)
    assert flaws(case, 404, {}, right)
