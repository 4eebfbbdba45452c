"""MCP over HTTP: who is let in, whose a session is, and what is answered to what is no message."""

from __future__ import annotations

import asyncio
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.typed import serving
from tests.mcp.clients import CLIENTS, HANDSHAKE, Place
from tests.mcp.raw import Hand
from tests.sizes import sized

from recollect.domain.callers import new_caller
from recollect.surfaces.mcp import sessions
from recollect.testing.servers import Server, running


def somebody(server: Server, **wishes: object) -> Hand:
    """A user who has no notes yet."""
    return Hand(server, server.key_for(f"user-{uuid.uuid4().hex[:8]}", **wishes))


@pytest.fixture
def hand(server: Server) -> Hand:
    return somebody(server)


# -- who is let in


def test_nothing_happens_before_the_caller_is_known(hand: Hand) -> None:
    for key in ("", "rk_wrong", hand.key[:-1]):
        stranger = replace(hand, key=key)
        for reply in (stranger.open(), stranger.send(b"{"), stranger.send(b"", "GET")):
            assert (reply.status, reply.json()["code"]) == (401, "unauthenticated")
            assert reply.headers["www-authenticate"] == "Bearer"
            assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_hosts_of_loopback_are_known(hand: Hand, host: str) -> None:
    assert hand.ask("ping").status == 200
    assert hand.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, host=host).status == 200


HOSTS = ["evil.example", "evil.example:4747", "127.0.0.1.evil.example", "localhost@evil.example", "[", "a:b:c", " "]


@pytest.mark.parametrize("host", HOSTS)
def test_other_hosts_are_refused(hand: Hand, host: str) -> None:
    reply = hand.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, host=host)
    assert (reply.status, reply.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"])
def test_pages_of_this_machine_are_let_in(hand: Hand, origin: str) -> None:
    assert hand.ask("ping", Origin=origin).status == 200


ORIGINS = ["https://evil.example", "null", "http://localhost.evil.example", "http://localhost@evil.example", "x", ""]


@pytest.mark.parametrize("origin", ORIGINS)
def test_other_pages_are_refused(hand: Hand, origin: str) -> None:
    reply = hand.ask("ping", Origin=origin)
    assert (reply.status, reply.json()["code"]) == (403, "forbidden")


def test_settings_name_more_hosts_and_pages(tmp_path: Path) -> None:
    named = {"mcp_hosts": "memory.example.com,other.example:81", "mcp_origins": "https://chat.example.com"}
    with running(tmp_path / "home", **named) as server:
        hand = somebody(server)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        seen = {
            host: hand.send(ping, host=host).status
            for host in ("memory.example.com", "memory.example.com:443", "other.example:81", "other.example", "x")
        }
        assert list(seen.values()) == [200, 200, 200, 403, 403]
        assert hand.ask("ping", Origin="https://chat.example.com").status == 200
        assert hand.ask("ping", Origin="http://chat.example.com").status == 403


def test_it_is_limited_counted_and_logged_as_all_requests_are(tmp_path: Path) -> None:
    with running(tmp_path / "home", rate_per_second=2, max_body_bytes=4_096, log_level="debug") as server:
        hand = somebody(server)
        reply = hand.send(b" " * 5_000)
        assert (reply.status, reply.json()["code"]) == (413, "request_too_large")
        assert hand.send(b"{}", Content_Type="text/plain").status == 415
        statuses = [hand.ask("ping") for _ in range(8)]
        refused = [each for each in statuses if each.status == 429]
        assert refused
        assert refused[0].json()["code"] == "rate_limited"
        assert int(refused[0].headers["retry-after"]) >= 1
        assert all("x-request-id" in each.headers for each in statuses)
        _, counted, _ = server.request("GET", "/metrics")
        assert b'route="/mcp"' in counted
        assert "route=/mcp status=413" in server.log()
        assert hand.key not in server.log()


# -- sessions


def test_a_session_is_for_the_credential_that_opened_it(server: Server) -> None:
    user = f"owner-{uuid.uuid4().hex[:8]}"
    hand = Hand(server, server.key_for(user))
    opened = hand.open()
    assert hand.keep("mine")["session_id"] == opened.session
    for key in (server.key_for("mallory"), server.key_for(user), server.token):
        thief = replace(hand, key=key)
        for reply in (thief.ask("tools/list"), thief.tell("notifications/cancelled"), thief.open()):
            assert (reply.status, reply.json()["code"]) == (404, "not_found")
    for made_up in ("x", "", opened.session[:-1], opened.session + "0", "é", "0" * 32 + "." + "0" * 32):
        assert hand.ask("ping", Mcp_Session_Id=made_up).status == 404
    assert hand.found() == ["mine"]


def test_names_of_sessions_tell_every_part_of_a_credential_apart() -> None:
    chance = bytes(16)
    caller = new_caller("t", "u", "c", credential="token:1")
    others = [
        new_caller("t2", "u", "c", credential="token:1"),
        new_caller("t", "u2", "c", credential="token:1"),
        new_caller("t", "u", "c2", credential="token:1"),
        new_caller("t", "u", "c", credential="token:2"),
        new_caller("t", "u", "c", credential="jwt:1"),
    ]
    session = sessions.opened(caller, chance)
    assert sessions.belongs(session, caller)
    assert not any(sessions.belongs(session, other) for other in others)
    assert len({sessions.of_day(each, "2026-01-01") for each in (caller, *others)}) == 6
    assert sessions.of_day(caller, "2026-01-01") != sessions.of_day(caller, "2026-01-02")
    renewed = new_caller("t", "u", "c", credential="jwt:2")
    assert sessions.belongs(sessions.opened(others[-1], chance), renewed), "a renewed token goes on"


def test_budgets_are_per_session(hand: Hand) -> None:
    first, second = replace(hand, headers={}), replace(hand, headers={})
    first.open()
    second.open()
    for number in range(20):
        assert "id" in first.keep(f"first {number}")
    assert first.keep("too many")["code"] == "RATE_LIMITED"
    assert "id" in second.keep("second")
    assert "id" in first.keep("named", Recollect_Session="another")
    assert first.keep("again")["code"] == "RATE_LIMITED"
    assert len(first.found()) == 22
    # Without a session that was opened, the credential's day is one.
    for number in range(20):
        assert "id" in hand.keep(f"day {number}")
    assert hand.keep("too many")["code"] == "RATE_LIMITED"


def test_groups_are_apart(hand: Hand) -> None:
    hand.open()
    hand.keep("at home")
    hand.keep("at work", Recollect_Group="work")
    assert hand.found() == ["at home"]
    assert hand.found(Recollect_Group="work") == ["at work"]
    assert hand.call("memory_search", Recollect_Group="../other")["field"] == "group"
    assert hand.keep("x", Recollect_Session="a b")["field"] == "session"


def strays(server: Server, count: int, *, planted: bool = False) -> list[int]:
    """The sessions that found something else than what they should know, out of so many at once.

    They are of several users, and of several groups of each; of the last group there are several sessions, which share
    what they know. Planted: all of them speak for one group.
    """
    users = [server.key_for(f"canary-{uuid.uuid4().hex[:8]}") for _ in range(count // 5)]
    hands, groups = [], []
    for number in range(count):
        groups.append(f"g{min(number // len(users), 3)}")
        hands.append(Hand(server, users[number % len(users)], {"Recollect-Group": "g0" if planted else groups[number]}))
        hands[-1].open()
    canaries = [f"canary {number} {hand.headers['Mcp-Session-Id'][:8]}" for number, hand in enumerate(hands)]
    with ThreadPoolExecutor(16) as pool:
        kept = list(pool.map(lambda number: hands[number].keep(canaries[number]), range(count)))
        found = list(pool.map(lambda number: hands[number].found(), range(count)))
    assert [each["session_id"] for each in kept] == [hand.headers["Mcp-Session-Id"] for hand in hands]
    assert len({each["session_id"] for each in kept}) == count
    known: dict[tuple[str, str], list[str]] = {}
    for hand, group, canary in zip(hands, groups, canaries, strict=True):
        known.setdefault((hand.key, group), []).append(canary)
    return [number for number in range(count) if found[number] != sorted(known[hands[number].key, groups[number]])]


@sized(50, 400)
def test_interleaved_sessions_see_only_their_own(server: Server, count: int) -> None:
    assert strays(server, count) == []


def test_sessions_that_see_what_is_not_theirs_are_noticed(server: Server) -> None:
    assert strays(server, 10, planted=True)


def test_a_session_outlives_the_service(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", failures_per_second=0).start()
    try:
        hand = somebody(server)
        session = hand.open().session
        for number in range(19):
            hand.keep(f"before {number}")
        server.kill()
        server.start()
        assert hand.keep("after")["session_id"] == session
        assert hand.keep("too many")["code"] == "RATE_LIMITED"
        assert len(hand.found()) == 20
        stranger = somebody(server)
        assert replace(stranger, headers=hand.headers).ask("ping").status == 404
    finally:
        server.stop()


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_goes_on_after_a_restart(client: str, tmp_path: Path) -> None:
    server = Server(tmp_path / "home", policy_engine="builtin").start()
    server.settings["port"] = server.port
    headers = {"Authorization": f"Bearer {server.key_for('alice')}"}
    try:
        async with CLIENTS[client](Place(url=f"{server.url}/mcp", headers=headers), HANDSHAKE) as agent:
            before = await agent.keep("before")
            await asyncio.to_thread(server.stop)
            await asyncio.to_thread(server.start)
            after = await agent.keep("after")
            assert before.result["session_id"] == after.result["session_id"]
            assert await agent.found() == ["after", "before"]
    finally:
        server.stop()


def test_what_serve_starts_answers(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as started:
        assert started.admin_key is not None
        server = Server(tmp_path / "home")
        server.url = started.url
        hand = Hand(server, started.admin_key)
        assert hand.open().json()["result"]["serverInfo"]["name"] == "recollect"
        assert hand.keep("served")["content"] == "served"
        assert hand.found() == ["served"]


def test_two_processes_behind_one_address_know_the_same_sessions(tmp_path: Path) -> None:
    with running(tmp_path / "home") as one, running(tmp_path / "home") as other:
        hand = somebody(one)
        hand.open()
        assert "id" in hand.keep("by the first")
        elsewhere = replace(hand, server=other)
        assert "id" in elsewhere.keep("by the second")
        assert elsewhere.found() == hand.found() == ["by the first", "by the second"]


# -- rights


def test_a_credential_for_reading_cannot_write(server: Server, hand: Hand) -> None:
    user = f"reader-{uuid.uuid4().hex[:8]}"
    writer, reader = Hand(server, server.key_for(user)), Hand(server, server.key_for(user, scopes=["read"]))
    kept = writer.keep("written")
    reader.open()
    assert reader.found() == ["written"]
    assert reader.keep("x")["code"] == "UNAUTHORIZED"
    assert reader.call("memory_delete", {"id": kept["id"]})["code"] == "UNAUTHORIZED"
    nothing = Hand(server, server.key_for(user, scopes=[]))
    assert nothing.call("memory_search")["code"] == "UNAUTHORIZED"
    assert nothing.call("memory_brief")["code"] == "UNAUTHORIZED"
    brief = nothing.ask("resources/read", {"uri": "recollect://brief"}).json()["result"]
    assert brief["contents"][0]["text"] == ""
    assert writer.found() == ["written"]


# -- what is no message


MALFORMED: list[tuple[bytes, int, int]] = [
    (b"", 400, -32700),
    (b"{", 400, -32700),
    (b"\xff\xfe", 400, -32700),
    (b"[" * 100_000, 400, -32700),
    (b"null", 400, -32602),
    (b"[]", 400, -32602),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32602),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32602),
    (b'{"id":1,"method":"ping"}', 400, -32602),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 400, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200, -32601),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["x"]}}', 200, -32602),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":[]}}', 200, -32602),
]


@pytest.mark.parametrize(("body", "status", "code"), MALFORMED)
def test_what_is_no_message_is_refused_as_json_rpc_does(hand: Hand, body: bytes, status: int, code: int) -> None:
    hand.open()
    reply = hand.send(body)
    assert (reply.status, reply.json()["error"]["code"]) == (status, code)
    assert "Traceback" not in reply.body.decode()
    assert hand.found() == []


def test_only_post_is_offered(hand: Hand) -> None:
    hand.open()
    for method in ("GET", "DELETE", "PUT"):
        reply = hand.send(b"", method)
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert hand.ask("ping", Accept="text/html").status == 406


def test_versions_are_negotiated(hand: Hand) -> None:
    for version, agreed in (("2025-03-26", "2025-03-26"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
        asked = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        assert hand.ask("initialize", asked).json()["result"]["protocolVersion"] == agreed
    refused = hand.ask("ping", MCP_Protocol_Version="1999-01-01")
    assert refused.status == 400
    discovered = hand.modern("server/discover").json()["result"]
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert "suggestions from earlier sessions" in discovered["instructions"]


def test_answers_are_plain_unless_progress_is_asked_for(hand: Hand) -> None:
    hand.open()
    plain = hand.ask("tools/call", {"name": "memory_search", "arguments": {}})
    assert plain.headers["content-type"] == "application/json"
    asked = {"name": "memory_search", "arguments": {}, "_meta": {"progressToken": "p"}}
    streamed = hand.ask("tools/call", asked)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.body.count(b'"progressToken":"p"') == 2
    assert streamed.json()["result"]["structuredContent"] == plain.json()["result"]["structuredContent"]
    only_json = hand.ask("tools/call", asked, Accept="application/json")
    assert json.loads(only_json.body)["result"] == plain.json()["result"]


def test_the_protocol_without_sessions_takes_what_headers_say(hand: Hand) -> None:
    arguments = {"name": "memory_store", "arguments": {"type": "fact", "content": "modern"}}
    unnamed = hand.modern("tools/call", arguments).json()["result"]["structuredContent"]
    named = hand.modern("tools/call", arguments, Recollect_Session="chat-7").json()["result"]["structuredContent"]
    assert unnamed["session_id"] != named["session_id"] == "chat-7"
