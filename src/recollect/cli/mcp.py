"""The command that gives an agent its memory over MCP, on standard input and output."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.doors import Local, Remote, user_name
from recollect.cli.here import Here
from recollect.cli.tools import Group
from recollect.config.sources import load
from recollect.domain.notes import GROUP

if TYPE_CHECKING:
    from recollect.surfaces.mcp.agents import Toolbox


def mcp(
    here: Here,
    group: Group = GROUP,
    session: Annotated[
        str | None,
        typer.Option(envvar="RECOLLECT_SESSION", metavar="NAME", help="Whose budget is spent; a new one without it."),
    ] = None,
) -> None:
    """Give an agent its memory: speak MCP on standard input and output, until the input ends.

    Example: recollect mcp --group my-project
    """
    way = here.way()
    named = session or f"mcp-{secrets.token_hex(8)}"
    import asyncio  # here, because what follows is slow to load, and no other command needs it

    from recollect.service.notes import new_session
    from recollect.surfaces.logs import configure

    new_session(named, group)
    configure("warning", "text")
    asyncio.run(_served(way, named, group))


async def _served(way: Remote | Local, session: str, group: str) -> None:
    if isinstance(way, Remote):
        from recollect_client import AsyncClient
        from recollect_client.errors import RecollectError as ClientError

        async with AsyncClient(way.url, way.token or "") as client:
            await _speak(client, session, group, (ClientError,))
        return
    from recollect.main import open as opened

    settings = load(way.home, environment=os.environ, flags={}).settings
    async with opened(way.home, tenant=way.tenant, actor=user_name(), settings=settings) as memories:
        await _speak(memories, session, group)


async def _speak(toolbox: Toolbox, session: str, group: str, errors: tuple[type[Exception], ...] = ()) -> None:
    from recollect.surfaces.mcp.agents import Agent
    from recollect.surfaces.mcp.server import make_server
    from recollect.surfaces.mcp.stdio import serve_stdio

    agent = Agent(toolbox, session, group)
    await serve_stdio(make_server(lambda _: agent, errors))
