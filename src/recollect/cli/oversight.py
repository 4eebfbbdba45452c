"""Commands about what goes on behind the scenes: the audit, the index, and settings that change while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from recollect.cli import arguments, shapes
from recollect.cli.doors import Local
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, one_line, when
from recollect.domain.errors import RecollectError

if TYPE_CHECKING:
    from recollect.cli.doors import Door
    from recollect.cli.shapes import AnyIndexStatus, AnyRebuilding, AnyTuned

UNFINISHED = 1
"""The exit status when there is still something to do after the time that was given."""
_LOOK_SECONDS = 0.25


def audit(
    here: Here,
    action: Annotated[str | None, typer.Option(metavar="ACTION", help="Only that, like justified_read.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many; at most 1,000.")] = 50,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue an earlier list.")] = None,
    service: Annotated[bool, typer.Option("--service", help="What concerns the service itself.")] = False,
) -> None:
    """Show what administrators did, and why, newest first.

    Example: recollect audit --action justified_read --limit 20
    """
    page = here.door().list_audit(action=action, limit=limit, cursor=cursor, service=service)
    if here.is_json:
        entries = [shapes.audit_entry(each) for each in page.entries]
        here.screen.document({"entries": entries, "cursor": page.cursor})
        return
    if not page.entries:
        here.screen.note("nothing was done")
        return
    rows = [
        (when(each.at), each.action, each.by, each.justification, one_line(dict(each.details))) for each in page.entries
    ]
    here.screen.table(("at", "action", "by", "why", "details"), rows)
    if page.cursor is not None:
        here.screen.note(f"there is more: repeat it with --cursor {page.cursor}")


def index_status(
    here: Here,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until everything is up to date.")] = False,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="How long to wait; the exit status is then 1.")] = "10m",
) -> int:
    """Show by which model searches go, what is still to be indexed, and how far attributes follow the policy.

    Example: recollect index status --watch --timeout 5m
    """
    length = arguments.seconds(timeout, "--timeout") or 0.0
    door = here.door()
    status = door.index_status()
    if watch and _is_under_way(status):
        if isinstance(here.way(), Local):
            raise RecollectError("no server runs, so nothing works on it: run `recollect index trigger`")
        with here.screen.bars() as bars:
            status = _watched(door, status, bars, length)
    _show_status(here, status)
    return UNFINISHED if watch and _is_under_way(status) else 0


def _is_under_way(status: AnyIndexStatus) -> bool:
    """True while there is work; what failed is tried again at its time, and nobody waits for that."""
    return status.pending > status.failed or status.rebuilding is not None or status.extraction.running


def _watched(
    door: Door, status: AnyIndexStatus, bars: Callable[[str, int, int], None], seconds: float
) -> AnyIndexStatus:
    until, most = time.monotonic() + seconds, 0
    while _is_under_way(status) and time.monotonic() < until:
        most = max(most, status.pending)
        if most:
            bars("Indexing", most - status.pending, most)
        if status.rebuilding is not None:
            bars(f"Vectors of {calm(status.rebuilding.model)}", status.rebuilding.done, status.rebuilding.total)
        if status.extraction.running:
            bars("Extracting", status.extraction.done, status.extraction.total)
        time.sleep(_LOOK_SECONDS)
        status = door.index_status()
    return status


def index_trigger(here: Here) -> None:
    """Index and extract what is due, now; a server does so by itself after a while.

    Example: recollect index trigger
    """
    _show_status(here, here.door().trigger_index())


def _show_status(here: Here, status: AnyIndexStatus) -> None:
    if here.is_json:
        here.screen.document(shapes.index_status(status))
        return
    known = status.extraction
    looked = f"{known.done:,} of {counted(known.total, 'memory', 'memories')}, {known.changed:,} changed"
    if known.failed:
        looked += f", {known.failed:,} failed"
    if known.running:
        said = f"under way: {looked}"
    else:
        said = (
            "nothing was ever to be done" if known.finished_at is None else f"done {when(known.finished_at)}: {looked}"
        )
    rows = [("attributes", said), ("index", _indexed(status)), ("model", status.model or "none yet")]
    if status.rebuilding is not None:
        rows.append(("next model", _rebuilt(status.rebuilding)))
    here.screen.table(("", ""), rows, header=False)


def _indexed(status: AnyIndexStatus) -> str:
    waiting = f"{status.pending:,} wait" if status.pending else "up to date"
    failed = f" ({status.failed:,} failed, and are tried again)" if status.failed else ""
    return f"{waiting}{failed}, {counted(status.indexed, 'memory', 'memories')} indexed"


def _rebuilt(new: AnyRebuilding) -> str:
    part = f"{100 * new.done // new.total} %, " if new.total else ""
    made = f"{part}{new.done:,} of {counted(new.total, 'memory', 'memories')}"
    return f"{new.model}: {made}, since {when(new.started_at)}"


def show_settings(here: Here) -> None:
    """Show the settings that can be changed while the service runs, as they are in force.

    Example: recollect settings show
    """
    _show_tuned(here, here.door().show_settings())


def set_settings(
    here: Here,
    given: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", help="Like sweep_seconds=30.")],
) -> None:
    """Change settings while the service runs, in every process; they stay changed after a restart.

    Example: recollect settings set sweep_seconds=30 max_depth=5
    """
    wanted: dict[str, float | None] = {}
    for text in given:
        name, equals, number = text.partition("=")
        if not equals or not name:
            raise arguments.usage(f"{text!r} sets nothing; write it like sweep_seconds=30", "NAME=VALUE")
        wanted[name] = _number(number)
    _show_tuned(here, here.door().change_settings(wanted))


def _number(text: str) -> float:
    try:
        return msgspec.json.decode(text, type=int | float)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        raise arguments.usage(f"{text!r} is not a number", "NAME=VALUE") from None


def unset_settings(
    here: Here, names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Like sweep_seconds.")]
) -> None:
    """Take changes of settings back: what the service was started with holds again.

    Example: recollect settings unset sweep_seconds
    """
    _show_tuned(here, here.door().change_settings(dict.fromkeys(names)))


def _show_tuned(here: Here, found: AnyTuned) -> None:
    if here.is_json:
        here.screen.document(shapes.tuned(found))
        return
    rows = [
        (name, f"{value:g}", "changed at run time" if name in found.changed else "")
        for name, value in found.settings.items()
    ]
    here.screen.table(("setting", "value", ""), rows)
