"""A call that takes long, over HTTP: cancelled by its session, by nobody else, or by its deadline."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from recollect.config import Settings
from recollect.domain.callers import Caller, new_caller
from recollect.service.memories import Memories
from recollect.surfaces.guests import Visit
from recollect.surfaces.mcp import sessions
from recollect.surfaces.mcp.http import McpDoor
from recollect.testing.doubles import ManualClock

ALICE = new_caller("default", "alice", credential="token:1")
MALLORY = new_caller("default", "mallory", credential="token:2")


class Slow:
    """A toolbox whose calls end only when they are broken off."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.broken_off = 0

    async def call_tool(self, *_: Any, **__: Any) -> dict[str, Any]:
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        raise AssertionError("nobody waits for so long")

    async def brief(self, **_: Any) -> str:
        return ""


class Sent:
    """What was sent back."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.hung_up = asyncio.Event()

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")


def visit(message: object, sent: Sent, toolbox: object, caller: Caller, seconds: float, **more: str) -> Visit:
    body = json.dumps(message).encode()
    given = {"host": "localhost", "accept": "application/json, text/event-stream", "content-type": "application/json"}
    headers = [(name.encode(), value.encode()) for name, value in (given | more).items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}
    read = False

    async def receive() -> Any:
        nonlocal read
        if not read:
            read = True
            return {"type": "http.request", "body": body, "more_body": False}
        await sent.hung_up.wait()
        return {"type": "http.disconnect"}

    settings = Settings(request_seconds=seconds)
    return Visit(scope, dict(headers), body, receive, sent.send, caller, cast("Memories", toolbox), settings)


def call(progress: bool) -> dict[str, Any]:
    meta = {"_meta": {"progressToken": 7}} if progress else {}
    return {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "memory_brief", **meta}}


def cancel(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize("progress", [False, True])
async def test_a_session_cancels_its_own_call_and_nobody_elses(progress: bool) -> None:
    door, slow, sent = McpDoor(ManualClock()), Slow(), Sent()
    own, foreign = (
        {"mcp-session-id": sessions.opened(who, bytes([number] * 16)), "mcp-protocol-version": "2025-11-25"}
        for number, who in enumerate((ALICE, MALLORY))
    )
    calling = asyncio.create_task(door.visit(visit(call(progress), sent, slow, ALICE, 30, **own)))
    await asyncio.wait_for(slow.begun.wait(), 30)
    await door.visit(visit(cancel(5), Sent(), slow, MALLORY, 30, **foreign))
    await door.visit(visit(cancel(6), Sent(), slow, ALICE, 30, **own))
    await asyncio.sleep(0.05)
    assert not calling.done()
    assert slow.broken_off == 0
    told = Sent()
    await door.visit(visit(cancel(5), told, slow, ALICE, 30, **own))
    await asyncio.wait_for(calling, 30)
    assert told.status == 202
    assert slow.broken_off == 1
    assert sent.status == 200
    assert b"Request cancelled" in sent.body
    assert door._under_way == {}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_call_that_takes_too_long_is_told_as_a_tools_error(version: str) -> None:
    door, slow, sent = McpDoor(ManualClock()), Slow(), Sent()
    message = call(progress=False)
    more = {"mcp-protocol-version": version}
    if version == "2026-07-28":
        prefix = "io.modelcontextprotocol"
        meta = {f"{prefix}/protocolVersion": version, f"{prefix}/clientCapabilities": {}}
        message["params"]["_meta"] = meta
        more |= {"mcp-method": "tools/call", "mcp-name": "memory_brief"}
    await asyncio.wait_for(door.visit(visit(message, sent, slow, ALICE, 0.1, **more)), 30)
    told = json.loads(sent.body)["result"]
    assert told["isError"] is True
    assert json.loads(told["content"][0]["text"])["code"] == "PLUGIN_TIMEOUT"
    assert slow.broken_off == 1


async def test_without_sessions_hanging_up_cancels() -> None:
    door, slow, sent = McpDoor(ManualClock()), Slow(), Sent()
    message = call(progress=False)
    prefix = "io.modelcontextprotocol"
    message["params"]["_meta"] = {f"{prefix}/protocolVersion": "2026-07-28", f"{prefix}/clientCapabilities": {}}
    more = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_brief"}
    calling = asyncio.create_task(door.visit(visit(message, sent, slow, ALICE, 30, **more)))
    await asyncio.wait_for(slow.begun.wait(), 30)
    sent.hung_up.set()
    await asyncio.wait_for(calling, 30)
    assert slow.broken_off == 1


async def test_a_fault_of_a_tool_is_told_without_what_it_says() -> None:
    class Broken(Slow):
        async def call_tool(self, *_: Any, **__: Any) -> dict[str, Any]:
            raise RuntimeError("a secret of the machine")

    sent = Sent()
    await McpDoor(ManualClock()).visit(visit(call(progress=False), sent, Broken(), ALICE, 30))
    assert b"secret" not in sent.body
    told = json.loads(sent.body)["result"]
    assert json.loads(told["content"][0]["text"])["code"] == "PLUGIN_ERROR"
