"""The MCP server: the tools of an agent, the brief and single notes, over whatever can call tools.

It is defined once, on the SDK's low-level server, so that schemas and errors are exactly those of all other doors. A
tool's error is a result with `isError`, told in its text and under `recollect/error` in its `_meta`: some clients
check the structured content of errors too against the tool's output schema, so it cannot be told there.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from recollect.domain.errors import DeadlineExceeded, Internal, RecollectError
from recollect.service.toolbox import BRIEF_SECONDS, TOOLS, Tool, tool_named
from recollect.surfaces.mcp.agents import Agent
from recollect.surfaces.mcp.guidance import INSTRUCTIONS
from recollect.wire.tool_errors import Problem, tool_error

log = logging.getLogger("recollect.mcp")
ERROR = "recollect/error"
"""Where the `_meta` of a result tells an error."""
BRIEF = "recollect://brief"
NOTES = "recollect://notes/"
PROMPT = "memory_brief"
_MARKDOWN = "text/markdown"
_NOTHING = "Nothing is remembered yet."

AgentOf = Callable[[Any], Agent]
"""Finds the agent of a request, given the HTTP request it came with; None over standard input."""


def make_server(agent_of: AgentOf, errors: Sequence[type[Exception]] = ()) -> Server[Any]:
    """The server; `errors` are those that the toolbox raises on purpose, beside our own."""
    door = _Door(agent_of, (RecollectError, *errors))
    return Server(
        "recollect",
        version=_version(),
        title="Recollect",
        description="Memory that lasts across sessions.",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: TOOLS[name].parameters if name in TOOLS else None,
        on_list_tools=_list_tools,
        on_call_tool=door.call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=door.read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=door.get_prompt,
    )


class _Door:
    """What asks for somebody's memories."""

    def __init__(self, agent_of: AgentOf, errors: tuple[type[Exception], ...]) -> None:
        self._agent_of = agent_of
        self._errors = errors
        self._errors_and_time: tuple[type[Exception], ...] = (*errors, TimeoutError)

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool_named(params.name)
        except RecollectError as problem:
            raise MCPError(types.INVALID_PARAMS, problem.message, tool_error(problem)) from None
        agent = self._agent_of(context.request)
        await context.session.report_progress(0, 1)
        try:
            found = await self._called(agent, params.name, params.arguments or {})
        except _Trouble as trouble:
            text = types.TextContent(type="text", text=_json(trouble.told))
            result = types.CallToolResult(content=[text], is_error=True, _meta={ERROR: trouble.told})
        else:
            text = types.TextContent(type="text", text=_json(found))
            result = types.CallToolResult(content=[text], structured_content=found)
        await context.session.report_progress(1, 1)
        return result

    async def read_resource(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        agent, uri = self._agent_of(context.request), str(params.uri)
        if uri == BRIEF:
            text, media = await self._brief(agent), _MARKDOWN
        elif uri.startswith(NOTES):
            try:
                found = await self._called(agent, "fetch", {"id": uri.removeprefix(NOTES)})
            except _Trouble as trouble:
                raise MCPError(types.INVALID_PARAMS, trouble.told["message"], {"uri": uri} | trouble.told) from None
            text, media = str(found["text"]), "text/plain"
        else:
            raise MCPError(types.INVALID_PARAMS, "there is no such resource", {"uri": uri})
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=media, text=text)])

    async def get_prompt(self, context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt; there is {PROMPT}")
        text = await self._brief(self._agent_of(context.request)) or _NOTHING
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description="What is remembered.", messages=[said])

    async def _brief(self, agent: Agent) -> str:
        """What is remembered; nothing where it cannot be told, so that a session begins without it."""
        try:
            async with asyncio.timeout(BRIEF_SECONDS):
                return await agent.toolbox.brief(group=agent.group)
        except self._errors_and_time as problem:
            log.warning("brief.failed", extra={"fields": {"reason": type(problem).__name__}})
            return ""

    async def _called(self, agent: Agent, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a tool gives; whatever goes wrong is told as tools tell it, and never as a traceback."""
        try:
            async with asyncio.timeout(agent.seconds):
                return await agent.toolbox.call_tool(name, arguments, session=agent.session, group=agent.group)
        except self._errors as problem:
            raise _Trouble(cast("Problem", problem)) from None
        except TimeoutError:
            raise _Trouble(DeadlineExceeded("it took longer than the service allows")) from None
        except Exception:
            log.exception("mcp.fault", extra={"fields": {"tool": name}})
            raise _Trouble(Internal("something went wrong")) from None


class _Trouble(Exception):
    """An error as tools tell it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.told = tool_error(problem)


async def _list_tools(_context: object, _params: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.parameters,
        output_schema=tool.result,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


async def _list_resources(_context: object, _params: object) -> types.ListResourcesResult:
    brief = types.Resource(
        uri=BRIEF,
        name="brief",
        title="Brief from memory",
        description="What an agent should know at the beginning of a session. Behavioral entries are suggestions.",
        mime_type=_MARKDOWN,
    )
    return types.ListResourcesResult(resources=[brief])


async def _list_templates(_context: object, _params: object) -> types.ListResourceTemplatesResult:
    note = types.ResourceTemplate(
        uri_template=f"{NOTES}{{id}}",
        name="note",
        title="A memory",
        description="A single memory by its id, as `search` and `memory_search` tell it.",
        mime_type="text/plain",
    )
    return types.ListResourceTemplatesResult(resource_templates=[note])


async def _list_prompts(_context: object, _params: object) -> types.ListPromptsResult:
    prompt = types.Prompt(
        name=PROMPT, title="Brief from memory", description="Begin with what is remembered from earlier sessions."
    )
    return types.ListPromptsResult(prompts=[prompt])


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _version() -> str:
    try:
        return version("recollect")
    except PackageNotFoundError:
        return "unknown"
