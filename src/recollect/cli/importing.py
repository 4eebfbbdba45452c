"""The command `converse import`: a conversation from elsewhere, taken page by page, each turn once."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.here import Here
from recollect.cli.screen import Progress, counted
from recollect.domain.conversation.importing import Format, Parsed, pages, parsed
from recollect.domain.conversation.personas import DEFAULT_PERSONA
from recollect.domain.errors import InvalidSetting
from recollect.domain.instants import Instant, datetime_of, instant_of, parse_rfc3339
from recollect.domain.promotion.shapes import written

if TYPE_CHECKING:
    from recollect.cli.doors import Door

PAGE = 50
"""Turns of one request: few enough that little is sent again after an interruption."""
_MOST_BYTES = 2 << 30


def import_conversation(
    here: Here,
    origin: Annotated[str, typer.Argument(metavar="FILE", help="A file with messages.")],
    form: Annotated[Format, typer.Option("--format", help="How it is written down.")] = Format.AUTO,
    persona: Annotated[str, typer.Option(metavar="NAME", help="Who it was with, where the file does not say.")] = (
        DEFAULT_PERSONA
    ),
    start: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="When it began, where messages have no times.")
    ] = None,
) -> None:
    """Take over a conversation from elsewhere. If it is interrupted, run it again: it goes on where it was.

    Example: recollect converse import conversations.json --persona coach
    """
    path = Path(origin)
    raw = _read(path)
    found = parsed(raw, start=_began(path, raw, start), form=form)
    # What is taken depends on both: the same file for another persona is another conversation.
    source = sha256(b"\n".join((sha256(raw).digest(), found.format.encode(), persona.encode()))).hexdigest()
    door = here.door(create=True)
    with here.screen.progress("Importing") as progress:
        told, taken = take(door, found, source, persona, progress)
    if here.is_json:
        here.screen.document(told | {"taken": taken, "messages": found.messages, "skipped": found.skipped})
        return
    here.screen.say(_told(told, taken, found))
    for reason, count in found.skipped.items():
        here.screen.say(f"  not taken: {counted(count, 'message')}, {reason}")


def take(door: Door, found: Parsed, source: str, persona: str, progress: Progress) -> tuple[dict[str, Any], int]:
    """Take what was not taken yet, page by page; what came of it, and how many turns that was now."""
    told = door.conversation_progress(source)
    begun = told["position"]
    progress(begun, len(found.turns))
    for position, page in pages(found.turns, PAGE, begun):
        told = door.import_conversation(
            [_sent(each) for each in page], source=source, position=position, persona=persona
        )
        progress(told["position"], len(found.turns))
    return {name: told[name] for name in ("source", "position", "sessions", "memories", "waiting", "todos")}, (
        told["position"] - begun
    )


def _sent(turn: Any) -> dict[str, Any]:
    told = {"at": written(turn.at)}
    optional = {"user": turn.user, "ai": turn.ai, "persona": turn.persona, "conversation": turn.conversation}
    return told | {name: value for name, value in optional.items() if value is not None}


def _told(told: dict[str, Any], taken: int, found: Parsed) -> str:
    before = told["position"] - taken
    parts = [
        counted(told["sessions"], "session"),
        counted(told["memories"], "memory", "memories"),
        counted(told["todos"], "todo"),
    ]
    if told["waiting"]:
        parts.append(f"{counted(told['waiting'], 'memory', 'memories')} waiting for a person")
    here = f", {before:,} were here" if before else ""
    return f"{counted(taken, 'turn')} of {len(found.turns):,} taken{here}; in all {', '.join(parts)}"


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidSetting(f"{path} is larger than 2 GiB; split it")
        return path.read_bytes()
    except OSError as problem:
        raise InvalidSetting(f"{path} cannot be read: {problem.strerror}") from None


def _began(path: Path, raw: bytes, start: str | None) -> Instant:
    """When messages without a time began: as it is said, else so that the last was when the file was written.

    Whoever runs the command again gets the same.
    """
    if start is not None:
        given = parse_rfc3339(start)
        if given is None:
            raise InvalidSetting("--start is a moment in time, e.g. 2026-05-04T09:30:00Z")
        return given
    at = instant_of(datetime_of(Instant(path.stat().st_mtime_ns // 1_000)))
    return Instant(max(0, at - int(timedelta(seconds=raw.count(b"\n") + raw.count(b"{")) / timedelta(microseconds=1))))
