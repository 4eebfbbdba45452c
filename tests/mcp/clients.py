"""Two independent clients of MCP, each over standard input and over HTTP, in both eras of the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastmcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from tests.cli.typed import COMMAND, environment

HANDSHAKE, MODERN = "legacy", "2026-07-28"
"""With sessions that are opened, and without."""


@dataclass(frozen=True)
class Called:
    """What came of calling a tool."""

    is_error: bool
    result: Any
    """The structured content."""
    text: str
    told: Any = None
    """The error, as the result's `_meta` or the protocol's error tells it."""
    protocol_error: int | None = None

    @property
    def code(self) -> str | None:
        return None if self.told is None else str(self.told["code"])


@dataclass(frozen=True)
class Place:
    """Where the server is: a command to be started, or an address with headers."""

    home: Path | None = None
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Speaker:
    """A connected client; what both kinds of it have in common."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.progress: list[tuple[float, float | None]] = []

    async def _heard(self, progress: float, total: float | None, _message: str | None) -> None:
        self.progress.append((progress, total))

    async def tools(self) -> dict[str, dict[str, Any]]:
        listed = await self.client.list_tools()
        tools = getattr(listed, "tools", listed)
        return {tool.name: tool.model_dump(by_alias=True, mode="json") for tool in tools}

    async def call(self, tool: str, /, **arguments: Any) -> Called:
        try:
            found = await self._called(tool, arguments)
        except MCPError as problem:
            return Called(True, None, problem.message, problem.data, problem.code)
        text = found.content[0].text
        told = (found.meta or {}).get("recollect/error")
        return Called(found.is_error, found.structured_content, text, told)

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self.client.call_tool(tool, arguments, progress_callback=self._heard)

    async def keep(self, content: str, kind: str = "fact", **more: Any) -> Called:
        return await self.call("memory_store", type=kind, content=content, **more)

    async def found(self, **asked: Any) -> list[str]:
        called = await self.call("memory_search", **asked)
        assert not called.is_error, called.text
        return [each["content"] for each in called.result["results"]]

    async def read(self, uri: str) -> tuple[str, str]:
        found = await self.client.read_resource(uri)
        (content,) = getattr(found, "contents", found)
        return content.mime_type, content.text

    async def prompt(self, name: str) -> str:
        (message,) = (await self.client.get_prompt(name)).messages
        return str(message.content.text)

    async def instructions(self) -> str:
        return str(self.client.instructions)


class FastSpeaker(Speaker):
    """FastMCP's client, which has its own words for some of it."""

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await self.client.call_tool(tool, arguments, raise_on_error=False, progress_handler=self._heard)

    async def instructions(self) -> str:
        return str(self.client.initialize_result.instructions)


@asynccontextmanager
async def official(place: Place, mode: str) -> AsyncIterator[Speaker]:
    if place.home is not None:
        command, arguments = COMMAND[0], [*COMMAND[1:], "mcp", *place.words]
        given = StdioServerParameters(command=command, args=arguments, env=environment(place.home, **place.environment))
        async with Client(stdio_client(given), mode=mode) as client:
            yield Speaker(client)
        return
    async with (
        create_mcp_http_client(headers=dict(place.headers)) as http,
        Client(streamable_http_client(place.url, http_client=http), mode=mode) as client,
    ):
        yield Speaker(client)


@asynccontextmanager
async def fast(place: Place, mode: str) -> AsyncIterator[Speaker]:
    if place.home is not None:
        command, arguments = COMMAND[0], [*COMMAND[1:], "mcp", *place.words]
        own = environment(place.home, **place.environment)
        transport: Any = StdioTransport(command, arguments, env=own, keep_alive=False)
    else:
        transport = StreamableHttpTransport(place.url, headers=dict(place.headers))
    async with fastmcp.Client(transport, mode=mode) as client:
        yield FastSpeaker(client)


CLIENTS = {"official": official, "fastmcp": fast}


def plain(text: str) -> Any:
    """What the text of a result says."""
    return json.loads(text)
