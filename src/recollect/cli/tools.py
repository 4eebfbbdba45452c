"""Commands for agents and about them: ipc, as programs call a tool, and tool, as people do."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
import typer

from recollect.cli.doors import errors
from recollect.cli.here import Here
from recollect.cli.screen import calm, dumped
from recollect.domain.errors import InvalidNote, UnknownTool
from recollect.domain.notes import GROUP, NoteType
from recollect.domain.scrubbing import on_one_line
from recollect.wire.tool_errors import Problem, tool_error

Session = Annotated[
    str | None,
    typer.Option(
        "--session", envvar="RECOLLECT_SESSION", metavar="NAME", help="Whose budget is spent; this shell's without it."
    ),
]
Group = Annotated[str, typer.Option("--group", envvar="RECOLLECT_GROUP", metavar="NAME", help="Which notes are meant.")]
Tag = Annotated[list[str] | None, typer.Option("--tag", metavar="TEXT", help="May be repeated.")]
_TOPIC = "tool.invoke."


def ipc(
    here: Here,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="tool.invoke. and the name of a tool.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="The arguments, a JSON object; - reads them.")] = "{}",
    session: Session = None,
    group: Group = GROUP,
) -> int:
    """Call a tool as a program does: what it gives on stdout, or its error on stderr as JSON, with status 1.

    Example: recollect ipc tool.invoke.memory_search '{"query": "TypeScript"}'
    """
    try:
        here.screen.quiet = True
        name = topic.removeprefix(_TOPIC)
        if name == topic:
            raise UnknownTool(f"a topic is {_TOPIC} and the name of a tool, like {_TOPIC}memory_search")
        given = here.door(create=True).call_tool(name, _object(payload), session=session or this_shell(), group=group)
    except errors() as problem:
        sys.stderr.write(dumped(msgspec.json.encode(tool_error(cast("Problem", problem)))) + "\n")
        return 1
    here.screen.line(given)
    return 0


def _object(payload: str) -> dict[str, Any]:
    text = sys.stdin.read() if payload == "-" else payload
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidNote("the arguments are not JSON") from None
    if not isinstance(found, dict):
        raise InvalidNote("the arguments of a tool are a JSON object")
    return found


def this_shell() -> str:
    """The session of whoever calls from this shell: until it ends, or the day does."""
    return f"shell-{datetime.now(UTC):%Y%m%d}-{os.getppid()}"


def store(
    here: Here,
    type: Annotated[NoteType, typer.Argument(help="What it is about.")],  # noqa: A002 - the word of the tool
    content: Annotated[str, typer.Argument(metavar="TEXT", help="A clear, self-contained insight.")],
    tag: Tag = None,
    supersedes: Annotated[str | None, typer.Option(metavar="ID", help="The entry that this one replaces.")] = None,
    session: Session = None,
    group: Group = GROUP,
) -> None:
    """Store a memory entry, as an agent does with memory_store.

    Example: recollect tool store preference "Prefers dark mode" --tag editor
    """
    asked = {"type": type.value, "content": content, "tags": tag or [], "supersedes": supersedes}
    given = _call(here, "memory_store", asked, session, group)
    if not here.is_json:
        instead = f", in place of {given['supersedes']}" if given["supersedes"] else ""
        here.screen.say(f"{given['id']}: stored{instead}")


def search(
    here: Here,
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="What to look for; else the newest.")] = None,
    tag: Tag = None,
    type: Annotated[NoteType | None, typer.Option("--type", metavar="TYPE", help="Only of this type.")] = None,  # noqa: A002 - the word of the tool
    include_superseded: Annotated[bool, typer.Option("--superseded", help="Also what was replaced.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="At most so many; 100 is the most.")] = 20,
    group: Group = GROUP,
) -> None:
    """Search memory entries, as an agent does with memory_search.

    Example: recollect tool search "programming language preferences" --tag coding
    """
    asked = {
        "query": query,
        "tags": tag or [],
        "type": None if type is None else type.value,
        "include_superseded": include_superseded,
        "limit": limit,
    }
    given = _call(here, "memory_search", {name: each for name, each in asked.items() if each is not None}, None, group)
    if here.is_json:
        return
    rows = [
        (each["id"], each["type"], each["created_at"][:10], calm(on_one_line(each["content"])))
        for each in given["results"]
    ]
    if not rows:
        here.screen.note("nothing was found")
        return
    here.screen.table(("id", "type", "stored", "content"), rows)
    if "notice" in given:
        here.screen.note(given["notice"])


def brief(here: Here, group: Group = GROUP) -> None:
    """Print what an agent should know at the beginning of a session, in markdown; nothing when there is nothing.

    Example: recollect tool brief
    """
    if here.is_json:
        _call(here, "memory_brief", {}, None, group)
        return
    for line in here.door(create=True).brief(group=group).splitlines():
        here.screen.say(calm(line))


def delete(
    here: Here,
    id: Annotated[str, typer.Argument(metavar="ID", help="The entry.")],  # noqa: A002 - the word of the tool
    session: Session = None,
    group: Group = GROUP,
) -> None:
    """Delete a memory entry for good, as an agent does with memory_delete.

    Example: recollect tool delete mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c
    """
    given = _call(here, "memory_delete", {"id": id}, session, group)
    if not here.is_json:
        here.screen.say(f"{given['id']}: deleted")


def show(here: Here) -> None:
    """List the tools that agents are given; with --json, with their schemas.

    Example: recollect tool list --json
    """
    listed = here.door(create=True).list_tools()
    if here.is_json:
        here.screen.document({"tools": listed})
    else:
        here.screen.table(("tool", "what it is for"), [(each["name"], each["description"]) for each in listed])


def _call(here: Here, name: str, asked: dict[str, Any], session: str | None, group: str) -> dict[str, Any]:
    given = here.door(create=True).call_tool(name, asked, session=session or this_shell(), group=group)
    if here.is_json:
        here.screen.document(given)
    return given
