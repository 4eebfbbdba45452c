"""MCP over HTTP by hand: single messages, with whatever headers, to see what no client library would send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from recollect.testing.servers import Server

ACCEPT = "application/json, text/event-stream"
MODERN = "2026-07-28"
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def session(self) -> str:
        return self.headers["mcp-session-id"]

    def json(self) -> Any:
        """The last message of the answer, whole or as a stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            data = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ")]
            return json.loads(data[-1])
        return json.loads(self.body)


@dataclass
class Hand:
    """Somebody who speaks by hand, with a key and perhaps in a session."""

    server: Server
    key: str
    headers: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def send(self, message: object, method: str = "POST", host: str | None = None, **headers: str) -> Reply:
        """Send a message, or bytes as they are."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        sent = {"Content-Type": "application/json", "Accept": ACCEPT} | self.headers
        if self.key:
            sent["Authorization"] = f"Bearer {self.key}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.putrequest(method, "/mcp", skip_host=host is not None, skip_accept_encoding=True)
            if host:
                connection.putheader("Host", host)
            for name, value in (sent | {"Content-Length": str(len(data))}).items():
                connection.putheader(name, value)
            connection.endheaders(data)
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())
        finally:
            connection.close()

    def ask(self, method: str, params: Any = None, **headers: str) -> Reply:
        """Make a request."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}}
        return self.send(message, **headers)

    def tell(self, method: str, params: Any = None, **headers: str) -> Reply:
        """Send a notification."""
        return self.send({"jsonrpc": "2.0", "method": method, "params": params or {}}, **headers)

    def open(self, **headers: str) -> Reply:
        """Open a session, and stay in it."""
        client = {"name": "raw", "version": "1"}
        given = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        reply = self.ask("initialize", given, **headers)
        if reply.status == 200:
            self.headers |= {"Mcp-Session-Id": reply.session, "MCP-Protocol-Version": "2025-11-25"}
            assert self.tell("notifications/initialized").status == 202
        return reply

    def call(self, tool: str, arguments: Mapping[str, Any] = {}, **headers: str) -> Any:
        """What a tool gives, or its error."""
        reply = self.ask("tools/call", {"name": tool, "arguments": dict(arguments)}, **headers)
        assert reply.status == 200, reply.body
        result = reply.json()["result"]
        return result["_meta"]["recollect/error"] if result.get("isError") else result["structuredContent"]

    def keep(self, content: str, **headers: str) -> Any:
        return self.call("memory_store", {"type": "fact", "content": content}, **headers)

    def found(self, **headers: str) -> list[str]:
        results = self.call("memory_search", {"limit": 100}, **headers)["results"]
        return sorted(each["content"] for each in results)

    def modern(self, method: str, params: Any = None, **headers: str) -> Reply:
        """Make a request as the protocol without sessions does."""
        name = {"Mcp-Name": params["name"]} if params and "name" in params else {}
        own = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method} | name
        return self.ask(method, {**(params or {}), "_meta": _ENVELOPE}, **(own | headers))
