"""Commands about records: what is remembered, put right, taken back, pinned, moved, and undone with what followed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.asking import confirmed
from recollect.cli.capturing import Cursor, Limit, became, listed, read, show_fields
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when
from recollect.domain.errors import RecollectError
from recollect.domain.governance.terms import EventType, Kind, Space, Tier

RecordId = Annotated[str, typer.Argument(metavar="ID", help="From `records`, in either spelling.")]
_Session = Annotated[str | None, typer.Option(metavar="NAME", help="Which session, for its own space.")]
_Project = Annotated[str | None, typer.Option(metavar="NAME", help="Which project, for its own space.")]


def records(
    here: Here,
    space: Annotated[Space, typer.Option(help="Whose they are.")] = Space.USER,
    session: _Session = None,
    project: _Project = None,
    kind: Annotated[Kind | None, typer.Option(help="Only of this kind.")] = None,
    tier: Annotated[Tier | None, typer.Option(help="Only of this tier.")] = None,
    event_type: Annotated[EventType | None, typer.Option(help="Only of this type.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List what is remembered in a space, newest first.

    Example: recollect records --space project --project apollo
    """
    page = here.door().list_records(
        space=space.value,
        session=session,
        project=project,
        kind=None if kind is None else kind.value,
        tier=None if tier is None else tier.value,
        event_type=None if event_type is None else event_type.value,
        limit=limit,
        cursor=cursor,
    )
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], when(read(each["promoted_at"])), each["tier"], each["trust"], " ".join(each["text"].split()))
        for each in page["records"]
    ]
    listed(here, ("id", "since", "tier", "trust", "text"), rows, page["cursor"], "nothing is remembered here")


def show(here: Here, record_id: RecordId) -> None:
    """Show a record: what it says, where it comes from, who or which rule let it in, and what it rests on.

    Example: recollect record show user:alice:profile:1
    """
    told = here.door().get_record(record_id)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, told)


def correct(
    here: Here,
    record_id: RecordId,
    value: Annotated[str | None, typer.Argument(metavar="[VALUE]", help="What is right: JSON, or text.")] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="The same in words.")] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is kept as a reference.")] = None,
) -> None:
    """Say what is right in place of what a record says; it goes the way that everything goes in.

    Example: recollect record correct user:alice:profile:1 Grace --text "My name is Grace."
    """
    if value is None and text is None:
        raise arguments.usage("say what is right: a value, --text, or both")
    told = here.door().correct_record(record_id, value=typed_value(value), text=text, note=note)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(became(told))


def typed_value(text: str | None) -> Any:
    """A value as people type it: JSON where it is some, else the text itself."""
    if text is None:
        return None
    try:
        read_value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if read_value is None else read_value


def retract(here: Here, record_id: RecordId) -> None:
    """Take a record back: nothing of it is given to anybody any more.

    Example: recollect record retract user:alice:profile:1
    """
    told = here.door().retract_record(record_id)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(told['record_id'])}: {'retracted' if told['retracted'] else 'it was gone already'}")


def pin(here: Here, record_id: RecordId) -> None:
    """Keep a record whatever its tier says.

    Example: recollect record pin user:alice:profile:1
    """
    _pin(here, record_id, pinned=True)


def unpin(here: Here, record_id: RecordId) -> None:
    """Let a record end when its tier says so.

    Example: recollect record unpin user:alice:profile:1
    """
    _pin(here, record_id, pinned=False)


def _pin(here: Here, record_id: str, *, pinned: bool) -> None:
    told = here.door().pin_record(record_id, pinned=pinned)
    if here.is_json:
        here.screen.document(told)
        return
    until = "until it is retracted" if told["ends_at"] is None else f"until {when(read(told['ends_at']))}"
    here.screen.say(f"{calm(told['id'])}: {'pinned' if pinned else f'no longer pinned, kept {until}'}")


def promote(
    here: Here,
    record_id: RecordId,
    to_space: Annotated[Space, typer.Argument(metavar="SPACE", help="session, user, project or system.")],
    project: _Project = None,
) -> None:
    """Ask for a record to be known in another space; the rules say whether it may, and the policy who decides.

    Example: recollect record promote user:alice:semantic:1 project --project apollo
    """
    told = here.door().promote_record(record_id, to_space.value, project=project)
    if here.is_json:
        here.screen.document(told)
    else:
        # Until somebody decides, the record is where it was: its own id is not what came of it.
        here.screen.say(became(told if told["outcome"] == "promoted" else told | {"record_id": None}))


def undo(
    here: Here,
    source: Annotated[
        str | None, typer.Option(metavar="ID", help="A capture, proposal, record, session, tool or reference.")
    ] = None,
    principal: Annotated[str | None, typer.Option(metavar="USER", help="Everything that they said.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TIME", help="Everything since; 2h is two hours ago.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much that is, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove every record that comes from a source, a user or a time, and all that was derived from those.

    Example: recollect undo --source monday --dry-run
    """
    if sum(each is not None for each in (source, principal, after)) != 1:
        raise arguments.usage("give one of --source, --principal and --after")
    asked: dict[str, Any] = {"source": source, "principal": principal}
    asked["after"] = arguments.moment(after, "--after", now=datetime.now(UTC))
    door = here.door()
    found = door.undo(**asked, dry_run=True)
    if dry_run:
        _undone(here, found)
        return
    if not yes and not confirmed(f"{_amount(found)} go, with what was derived."):
        raise RecollectError("nothing was undone; answer y, or give --yes")
    _undone(here, door.undo(**asked))


def _amount(told: dict[str, Any]) -> str:
    return f"{counted(told['records'], 'record')} and {counted(told['proposals'], 'waiting proposal')}"


def _undone(here: Here, told: dict[str, Any]) -> None:
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{_amount(told)} {'would go' if told['dry_run'] else 'undone'}")


def phase(
    here: Here,
    begun_by: Annotated[str, typer.Argument(metavar="TOKEN", help="What begins it; the same begins it once.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What it is called.")] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why it begins.")] = None,
    space: Annotated[Space, typer.Option(help="Whose it is.")] = Space.USER,
    session: _Session = None,
    project: _Project = None,
) -> None:
    """Begin a new phase in a space: what is remembered from now on belongs to it.

    Example: recollect phase release-2 --name "second release"
    """
    told = here.door(create=True).start_phase(
        begun_by, name=name, reason=reason, space=space.value, session=session, project=project
    )
    if here.is_json:
        here.screen.document(told)
    else:
        named = calm(str((told["phase"] or {}).get("phase_id", "no phase")))
        here.screen.say(f"{named}: {'began' if told['began'] else 'it had begun already'}")
