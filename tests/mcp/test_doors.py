"""Every tool, resource and prompt through two independent clients, over standard input and over HTTP."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import jsonschema_rs
import pytest
from mcp.shared.exceptions import MCPError
from tests.mcp.clients import CLIENTS, HANDSHAKE, MODERN, Place, Speaker, plain

from recollect.domain.notes import SUGGESTIONS
from recollect.service.toolbox import TOOLS
from recollect.surfaces.mcp.guidance import INSTRUCTIONS
from recollect.testing.servers import Server

EVERY_WAY = pytest.mark.parametrize(
    ("client", "mode", "over"),
    [
        pytest.param(client, mode, over, id=f"{client}-{over}-{'handshake' if mode == HANDSHAKE else 'modern'}")
        for over in ("stdio", "http")
        for client in CLIENTS
        for mode in (HANDSHAKE, MODERN)
    ],
)


@asynccontextmanager
async def spoken(client: str, mode: str, over: str, home: Path, server: Server) -> AsyncIterator[Speaker]:
    """A client of a user who has no notes yet."""
    user = f"user-{uuid.uuid4().hex[:8]}"
    headers = {"Authorization": f"Bearer {server.key_for(user)}"} if over == "http" else {}
    place = (
        Place(url=f"{server.url}/mcp", headers=headers)
        if over == "http"
        else Place(home / "new", environment={"RECOLLECT_POLICY_ENGINE": "builtin"})
    )
    async with CLIENTS[client](place, mode) as speaker:
        yield speaker


@EVERY_WAY
async def test_everything_is_offered_and_works_and_errors_can_be_read(
    client: str, mode: str, over: str, tmp_path: Path, server: Server
) -> None:
    async with spoken(client, mode, over, tmp_path, server) as agent:
        await offers_everything(agent, mode)
        await tells_errors(agent)


async def offers_everything(agent: Speaker, mode: str) -> None:
    tools = await agent.tools()
    assert list(tools) == list(TOOLS)
    for name, tool in TOOLS.items():
        told = tools[name]
        assert (told["title"], told["description"]) == (tool.title, tool.description)
        assert (told["inputSchema"], told["outputSchema"]) == (tool.parameters, tool.result)
        hints = told["annotations"]
        assert hints["readOnlyHint"] is tool.read_only
        assert hints["destructiveHint"] is tool.destructive
        assert hints["idempotentHint"] is tool.idempotent
        assert hints["openWorldHint"] is False
    if mode == HANDSHAKE:
        assert await agent.instructions() == INSTRUCTIONS

    kept = await agent.keep("Prefers green tea", "preference", tags=["drinks"])
    called = {
        "memory_store": kept,
        "memory_search": await agent.call("memory_search", query="tea", tags=["drinks"]),
        "memory_brief": await agent.call("memory_brief", include_provenance=True),
        "search": await agent.call("search", query="tea"),
        "fetch": await agent.call("fetch", id=kept.result["id"]),
    }
    assert agent.progress == [(0, 1), (1, 1)] * len(called), "honest: it began, and it ended"
    media, brief = await agent.read("recollect://brief")
    assert media == "text/markdown"
    assert brief.endswith(f"> {SUGGESTIONS}\n\n- [preference] Prefers green tea (0d ago)\n")
    assert "Prefers green tea" in await agent.prompt("memory_brief")
    assert await agent.read(f"recollect://notes/{kept.result['id']}") == (
        "text/plain",
        f"{SUGGESTIONS}\n\nPrefers green tea",
    )
    called["memory_delete"] = await agent.call("memory_delete", id=kept.result["id"])
    assert set(called) == set(TOOLS)
    for name, one in called.items():
        assert not one.is_error, one.text
        jsonschema_rs.validate(TOOLS[name].result, one.result)
        assert plain(one.text) == one.result
    assert await agent.found() == []
    assert await agent.prompt("memory_brief") == "Nothing is remembered yet."


async def tells_errors(agent: Speaker) -> None:
    wrong = await agent.call("memory_store", type="opinion", content="x")
    assert (wrong.is_error, wrong.protocol_error, wrong.result) == (True, None, None)
    assert plain(wrong.text) == wrong.told
    assert wrong.told["code"] == "VALIDATION_FAILED"
    assert (wrong.told["retriable"], wrong.told["field"]) == (False, "type")
    assert (await agent.call("memory_delete", id="mem-none")).code == "HANDLER_ERROR"
    assert (await agent.call("fetch", id="mem-none")).code == "HANDLER_ERROR"
    unknown = await agent.call("memory_forget")
    assert (unknown.protocol_error, unknown.code) == (-32602, "UNKNOWN_TOOL")
    for missing in ("recollect://notes/mem-none", "recollect://notes/", "recollect://other", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            await agent.read(missing)
    with pytest.raises(MCPError):
        await agent.prompt("other")
    for number in range(19):
        assert not (await agent.keep(f"note {number}")).is_error
    spent = await agent.keep("one too many")
    assert (spent.code, spent.told["retriable"]) == ("RATE_LIMITED", False)
    assert len(await agent.found(limit=100)) == 19
