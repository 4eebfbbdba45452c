"""Commands about what comes in: capture and propose, what was captured, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, one_line, when
from recollect.domain.errors import InvalidInput
from recollect.domain.remembering.captures import CaptureKind, Speaker, Via
from recollect.domain.values import decode_value

Limit = Annotated[int, typer.Option(metavar="N", help="How many; at most 1,000.")]
Cursor = Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue an earlier list.")]
_WORDS = {
    "promoted": "remembered",
    "waiting": "waits for a person",
    "known": "known already",
    "outranked": "not kept: what is known counts more",
}
"""What became of a statement, where no reason against it has to be told."""


def capture(
    here: Here,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was said or done; @file, or - to read it.")],
    kind: Annotated[CaptureKind, typer.Option(help="What it is.")] = CaptureKind.TURN,
    speaker: Annotated[Speaker | None, typer.Option(help="Whose words they are; else the user's, or a tool's.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="The session that it belongs to.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="The project that it belongs to.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="The tool that returned it.")] = None,
    via: Annotated[Via | None, typer.Option(help="Where it only passed through: it is trusted less.")] = None,
    refs: Annotated[
        list[str] | None, typer.Option("--ref", metavar="TEXT", help="What shows that it was said; may be repeated.")
    ] = None,
    later: Annotated[bool, typer.Option("--later", help="Only append it; it is looked into afterwards.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be remembered; write nothing.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Repeating the call with it changes nothing.")
    ] = None,
) -> None:
    """Append what was said or done, and remember what of it the rules let in.

    Example: recollect capture "My name is Ada." --session monday --ref channel:app:msg_1
    """
    if dry_run and (later or idempotency_key is not None):
        raise arguments.usage("--dry-run writes nothing: leave --later and --idempotency-key out")
    given: dict[str, Any] = {"text": arguments.source(text, "TEXT"), "kind": kind.value, "refs": refs or []}
    optional = {"speaker": speaker, "via": via, "session": session, "project": project, "tool": tool}
    given |= {name: str(value) for name, value in optional.items() if value is not None}
    door = here.door(create=True)
    if dry_run:
        _would(here, door.would_remember(given))
        return
    (told,) = door.capture([given], remember="later" if later else "now", idempotency_key=idempotency_key)
    if here.is_json:
        here.screen.document(told)
        return
    done = told["state"] == "done"
    here.screen.say(f"{told['capture_id']}: {'captured' if done else 'captured, to be looked into'}")
    say_remembered(here, told["remembered"], nothing=done)


def _would(here: Here, told: dict[str, Any]) -> None:
    if here.is_json:
        here.screen.document(told)
        return
    here.screen.say("nothing was written; this would become of it:")
    say_remembered(here, told["would"])


def say_remembered(here: Here, found: Sequence[dict[str, Any]], *, nothing: bool = True) -> None:
    """Say of each statement what became of it, and why."""
    for each in found:
        here.screen.say(f"  {became(each)}")
    if not found and nothing:
        here.screen.say("  nothing in it is to be remembered")


def became(told: dict[str, Any]) -> str:
    """What became of one statement, in words."""
    outcome, reason = str(told["outcome"]), calm(str(told["reason"]))
    said = "" if told.get("text") is None else f': "{calm(str(told["text"]))}"'
    named = told.get("record_id") or (told.get("proposal_id") if outcome == "waiting" else None)
    ids = f" ({calm(str(named))})" if named else ""
    if outcome in ("denied", "rejected"):
        return f"not kept: {reason}{said}"
    why = f": {reason}" if outcome == "waiting" else ""
    differs = told.get("existing") if outcome in ("waiting", "outranked") else None
    existing = f"; {calm(str(differs))} says otherwise" if differs else ""
    return f"{_WORDS[outcome]}{said}{ids}{why}{existing}"


def captures(
    here: Here,
    capture_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One of them, with what came of it.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this session.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List what was captured, newest first; or show one capture, and what became of it.

    Example: recollect captures --session monday
    """
    if capture_id is not None:
        _one_capture(here, capture_id)
        return
    page = here.door().list_captures(session=session, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (
            each["capture_id"],
            when(read(each["at"])),
            each["channel"],
            each["session"] or "",
            " ".join(each["text"].split()),
        )
        for each in page["captures"]
    ]
    listed(here, ("id", "at", "channel", "session", "text"), rows, page["cursor"], "nothing was captured")


def _one_capture(here: Here, capture_id: str) -> None:
    told = here.door().get_capture(capture_id)
    if here.is_json:
        here.screen.document(told)
        return
    show_fields(here, {name: value for name, value in told.items() if name not in ("remembered", "tokens", "withheld")})
    say_remembered(here, told["remembered"], nothing=told["state"] == "done")


def propose(
    here: Here,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A JSON object with candidate and class; or -.")],
) -> None:
    """Propose a typed candidate; every check is made anew, whatever the proposal says of itself.

    Example: recollect propose proposal.json
    """
    given = json_file(source)
    told = here.door(create=True).propose(given)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(became(told))


def remember(here: Here) -> None:
    """Look into what was captured for later, now; a server does so by itself.

    Example: recollect remember
    """
    done = here.door().remember_pending()
    if here.is_json:
        here.screen.document({"remembered": done})
    else:
        here.screen.say(f"{counted(done, 'capture')} looked into")


# -- what the commands of the way in share


def json_file(name: str) -> dict[str, Any]:
    """The JSON object in a file, or in what is piped in for `-`."""
    text = arguments.source(name if name == "-" or name.startswith("@") else f"@{name}", "FILE")
    try:
        return decode_value(text)
    except InvalidInput as problem:
        raise arguments.usage(problem.message, "FILE") from None


def read(moment: str | None) -> Any:
    """A moment as it is written in answers."""
    return None if moment is None else arguments.moment(moment, "")


def listed(here: Here, columns: Sequence[str], rows: Sequence[Sequence[str]], cursor: str | None, nothing: str) -> None:
    """A page of a list, and how to get the next one."""
    if rows:
        here.screen.table(columns, rows)
    elif cursor is None:
        here.screen.note(nothing)
    if cursor is not None:
        here.screen.note(f"there is more: repeat it with --cursor {cursor}")


def show_fields(here: Here, told: dict[str, Any]) -> None:
    """Everything that is known of one thing, one line each."""
    rows = [(name, _field(value)) for name, value in told.items() if value not in (None, [], {}, "")]
    here.screen.table(("", ""), rows, header=False)


def _field(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else one_line(value)
