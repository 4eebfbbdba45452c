"""The agent's tools over REST; headers tell in which session and for which group it calls, apart from what it says."""

from __future__ import annotations

from typing import Any

from recollect.domain.notes import GROUP
from recollect.surfaces.rest.exchange import Answer, Exchange, answer

SESSION, GROUP_HEADER = b"recollect-session", b"recollect-group"


async def list_tools(ask: Exchange) -> Answer:
    """Every tool, with its schemas."""
    ask.no_parameters()
    return answer({"tools": await ask.use.list_tools()})


async def call_tool(ask: Exchange) -> Answer:
    """Call a tool with the arguments in the body."""
    ask.no_parameters()
    arguments = ask.parsed(dict[str, Any])
    session, group = ask.header(SESSION), ask.header(GROUP_HEADER)
    given = await ask.use.call_tool(ask.part, arguments, session=session, group=GROUP if group is None else group)
    return answer(given)


async def brief(ask: Exchange) -> Answer:
    """What an agent should know at the beginning of a session."""
    ask.no_parameters()
    group = ask.header(GROUP_HEADER)
    text = await ask.use.brief(group=GROUP if group is None else group)
    return Answer(200, text.encode(), b"text/markdown; charset=utf-8")
