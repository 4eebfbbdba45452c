"""Commands about a conversation: take a turn of it, and show its sessions, what was said, and what it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.capturing import Cursor, Limit, listed, read, say_remembered, show_fields
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when

OnlyPersona = Annotated[str | None, typer.Option("--persona", metavar="NAME", help="Only with this persona.")]
WithPersona = Annotated[str, typer.Option("--persona", metavar="NAME", help="With which persona.")]
_SessionId = Annotated[str, typer.Argument(metavar="ID", help="From `session list`.")]
_OUTCOMES = {
    "opened": "to do",
    "known": "to do already",
    "completed": "done",
    "skipped": "called off",
    "became_habit": "now a habit",
}
"""What became of something to be done, in words."""


def talk(
    here: Here,
    user: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What the user said; @file, or - to read.")
    ] = None,
    ai: Annotated[str | None, typer.Option(metavar="TEXT", help="What the persona answered.")] = None,
    persona: WithPersona = "default",
    session: Annotated[str | None, typer.Option(metavar="ID", help="The session, which must go on.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only this persona is to know it.")] = False,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project that it belongs to.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="When it was said; 2h is two hours ago.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Repeating the call with it changes nothing.")
    ] = None,
) -> None:
    """Take a turn of a conversation, and say what came of it: remembered, to be done, done.

    Example: recollect talk "I'll call John tomorrow." --ai "Good." --persona coach
    """
    moment = arguments.moment(at, "--at", now=datetime.now(UTC))
    told = here.door(create=True).converse(
        None if user is None else arguments.source(user, "TEXT"),
        ai=None if ai is None else arguments.source(ai, "--ai"),
        persona=persona,
        session=session,
        private=private,
        project=project,
        at=moment,
        idempotency_key=idempotency_key,
    )
    if here.is_json:
        here.screen.document(told)
    else:
        _say_turn(here, told)


def _say_turn(here: Here, told: dict[str, Any]) -> None:
    session = told["session"]
    if told["closed"] is not None:
        here.screen.say(f"{calm(told['closed']['id'])} is over")
    begun = ", which begins" if told["opened"] else ""
    here.screen.say(f"turn {told['number']} with {calm(session['persona'])}, in {calm(session['id'])}{begun}")
    say_remembered(here, told["remembered"], nothing=not told["loops"])
    for each in told["loops"]:
        here.screen.say(f"  {_OUTCOMES.get(each['outcome'], calm(each['outcome']))}: {todo_words(each['todo'])}")


def todo_words(todo: dict[str, Any]) -> str:
    """A todo in words: what it says, what sort it is, and its name."""
    return f'"{calm(" ".join(str(todo["content"]).split()))}" ({calm(todo["kind"])}, {calm(todo["id"])})'


# -- sessions


def show_sessions(here: Here, persona: OnlyPersona = None, limit: Limit = 20, cursor: Cursor = None) -> None:
    """List sessions, newest first.

    Example: recollect session list --persona coach
    """
    page = here.door().list_sessions(persona=persona, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (
            each["id"],
            each["persona"],
            when(read(each["started_at"])),
            when(read(each["ended_at"])) if each["ended_at"] else "goes on",
            f"{each['turn_count']:,}",
        )
        for each in page["sessions"]
    ]
    listed(here, ("id", "persona", "since", "until", "turns"), rows, page["cursor"], "there are no sessions")


def show(here: Here, session_id: _SessionId) -> None:
    """Show a session: when it was, and what it was about.

    Example: recollect session show ses_0190d7e8000070008000000000000001
    """
    told = here.door().get_session(session_id)
    if here.is_json:
        here.screen.document(told)
        return
    plain = {name: value for name, value in told.items() if name not in ("rolling", "summary")}
    rolling, summary = told.get("rolling"), told.get("summary")
    so_far = {} if rolling is None else {"so far": rolling["text"]}
    over = {} if summary is None else {"by": summary["by"]} | summary["summary"]
    show_fields(here, plain | so_far | {name: value for name, value in over.items() if name != "parse_error"})


def close(here: Here, session_id: _SessionId) -> None:
    """Say that a session is over: its summary is made, and what is said next begins another.

    Example: recollect session close ses_0190d7e8000070008000000000000001
    """
    told = here.door().close_session(session_id)
    if here.is_json:
        here.screen.document(told)
        return
    here.screen.say(f"{calm(session_id)}: over")
    summary = told.get("summary")
    if summary is not None:
        here.screen.say(f"  {calm(str(summary['summary']['one_liner']))}")


def messages(
    here: Here,
    session_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only of this session.")] = None,
    persona: OnlyPersona = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List what was said, newest first.

    Example: recollect session messages --persona coach --limit 5
    """
    page = here.door().list_messages(persona=persona, session=session_id, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (str(each["number"]), each["persona"], when(read(each["at"])), who, " ".join(said.split()))
        for each in page["messages"]
        for who, said in ((each["persona"], each["ai"]), ("user", each["user"]))
        if said
    ]
    listed(here, ("turn", "persona", "at", "who", "said"), rows, page["cursor"], "nothing was said")


def state(here: Here, persona: WithPersona = "default") -> None:
    """Show what is known across the sessions with a persona.

    Example: recollect session state --persona coach
    """
    told = here.door().get_session_state(persona)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, told)


def spine(
    here: Here,
    version: Annotated[int | None, typer.Argument(metavar="[VERSION]", help="Not the latest, but this one.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="List the versions.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """Show everything about the user in sections, which is made anew every 20 messages and more.

    Example: recollect spine
    """
    if all_:
        _versions(here, limit, cursor)
        return
    told = here.door().get_spine(version)
    if here.is_json:
        here.screen.document(told)
        return
    for name in ("profile", "projects", "people", "open_loops"):
        if told[name]:
            here.screen.say(f"{name.upper().replace('_', ' ')}")
            for line in told[name]:
                here.screen.say(f"  {calm(str(line))}")
    here.screen.note(f"version {told['version']}, after {counted(told['message_count'], 'message')}")


def _versions(here: Here, limit: int, cursor: str | None) -> None:
    page = here.door().list_spines(limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [(str(each["version"]), when(read(each["at"])), each["by"]) for each in page["spines"]]
    listed(here, ("version", "at", "by"), rows, page["cursor"], "there is none yet")
