"""An MCP client that stores a memory and finds it again, as an agent would: in one session, and in the next.

It starts `recollect mcp`, on the data directory that is named, and speaks with it over standard input and output:

    python examples/mcp_client.py [directory]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


def session(directory: str) -> Client:
    """A client with a server of its own, which lasts as long as its session."""
    arguments = ["-m", "recollect", "--home", directory, "mcp"]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments)))


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives; the SDK checks it against the schema that the server told."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error or answer.structured_content is None:
        raise SystemExit(f"{tool}: {answer.content}")
    return dict(answer.structured_content)


async def main(directory: str) -> None:
    """Tell something in one session, and ask for it in another."""
    async with session(directory) as client:
        told = await call(client, "memory_store", type="fact", content="The user has a cat named Luna", tags=["pets"])
        print("stored:", told["content"])
    async with session(directory) as client:
        found = await call(client, "memory_search", query="what is the pet called?")
        for each in found["results"][:3]:
            print("found: ", each["content"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            asyncio.run(main(scratch))
