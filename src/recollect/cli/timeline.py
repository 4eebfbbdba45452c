"""The command `log`: what happened, in order, and what happens from now on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli import arguments, shapes
from recollect.cli.doors import errors
from recollect.cli.here import Here
from recollect.cli.memories import AsUser, Scope, Why
from recollect.cli.screen import calm, one_line, place, when
from recollect.domain.queries import event_cursor
from recollect.domain.reasons import EventKind

if TYPE_CHECKING:
    from recollect.cli.doors import Door
    from recollect.cli.shapes import AnyEvent

_PAGE = 200
_WAIT_SECONDS = 1.0
_JUSTIFIED_SECONDS = 20.0
"""How long one read may wait for news where every read is written down."""
_PATIENCE_SECONDS = 3_600.0
"""How long a server may be away before following it ends."""


class Kind(StrEnum):
    """Which kinds of events can be asked for: those that callers are told of."""

    ADD = EventKind.ADD.value
    UPDATE = EventKind.UPDATE.value
    DELETE = EventKind.DELETE.value
    EXPIRED = EventKind.EXPIRED.value
    ERASED = EventKind.ERASED.value


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of the log is asked for."""

    prefix: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None


def log(
    here: Here,
    namespace: Scope = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now on.")] = False,
    kinds: Annotated[list[Kind] | None, typer.Option("--kind", help="Only such events; may be repeated.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only from then on; 2h: two hours ago.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only before then.")] = None,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="Read forward from there.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=_PAGE, help="How many at most.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="From the beginning, without a limit.")] = False,
    as_user: AsUser = None,
    why: Why = None,
) -> None:
    """Show what happened: the latest events, or those after a cursor.

    Example: recollect log user/alice --follow --kind add --kind update
    """
    now = datetime.now(UTC)
    if follow and until is not None:
        raise arguments.usage("--follow has no end; leave --until out")
    moments = arguments.moment(since, "--since", now=now), arguments.moment(until, "--until", now=now)
    part = Part(arguments.scope(namespace), tuple(kinds) if kinds else None, *moments)
    door = here.reading(why, as_user)
    if everything:
        after = _show_all(here, door, part, after)
    else:
        after = _show_page(here, door, part, after, limit, as_lines=follow)
    if follow:
        for told in followed(door, part, after, _WAIT_SECONDS if why is None else _JUSTIFIED_SECONDS):
            _show(here, told)


def _show_page(here: Here, door: Door, part: Part, after: str | None, limit: int, *, as_lines: bool) -> str:
    if after is None:
        told, cursor = latest(door, part, limit)
        complete = True
    else:
        page = door.events(part.prefix, after=after, kinds=part.kinds, since=part.since, until=part.until, limit=limit)
        told, cursor, complete = list(page), page.cursor, page.complete
    if here.is_json and not as_lines:
        events = [shapes.event(each) for each in told]
        here.screen.document({"events": events, "after_cursor": cursor, "complete": complete})
        return cursor
    for each in told:
        _show(here, each)
    if not told and not as_lines:
        here.screen.note("nothing happened")
    if not as_lines and not complete:
        here.screen.note(f"there is more: repeat it with --after {cursor}")
    return cursor


def _show_all(here: Here, door: Door, part: Part, after: str | None) -> str:
    complete = False
    while not complete:
        page = door.events(part.prefix, after=after, kinds=part.kinds, since=part.since, until=part.until, limit=_PAGE)
        for each in page:
            _show(here, each)
        after, complete = page.cursor, page.complete
    return after or ""


def _show(here: Here, told: AnyEvent) -> None:
    if here.is_json:
        here.screen.line(shapes.event(told))
        return
    where = place(told.namespace, told.key) if told.key else place(told.namespace)
    begin = f"{told.sequence:>6}  {when(told.occurred_at)}  {told.kind:<7}  {where}"
    parts = (
        begin,
        f"r{told.revision}" if told.key else "",
        f"by {calm(told.actor)}" if told.actor else "",
        calm(one_line(told.value) or one_line(told.detail)),
    )
    here.screen.say(here.screen.cut("  ".join(filter(None, parts))))
    here.screen.flush()


def latest(door: Door, part: Part, count: int) -> tuple[list[AnyEvent], str]:
    """The last events of a part of the log, in order, and the cursor after them.

    It looks at the end of the log first, and further back only as long as too little is found.
    """
    end = _length(door)
    back = count
    while end is not None and back < end:
        try:
            told, cursor = _last_after(door, part, event_cursor(end - back), count)
        except errors() as problem:
            if problem.code != "cursor_expired":
                raise
            break
        if len(told) == count:
            return told, cursor
        back *= 8
    return _last_after(door, part, None, count)


def _length(door: Door) -> int | None:
    """How many events the log has; None for those who may not know."""
    try:
        return int(door.head().partition(":")[0])
    except errors() as problem:
        if problem.code != "forbidden":
            raise
        return None


def _last_after(door: Door, part: Part, after: str | None, count: int) -> tuple[list[AnyEvent], str]:
    told: deque[AnyEvent] = deque(maxlen=count)
    while True:
        page = door.events(part.prefix, after=after, kinds=part.kinds, since=part.since, until=part.until, limit=_PAGE)
        told.extend(page)
        after = page.cursor
        if page.complete:
            return list(told), after


def followed(door: Door, part: Part, after: str | None, wait: float = _WAIT_SECONDS) -> Iterator[AnyEvent]:
    """Each event as it happens, without end; a server that restarts is waited for."""
    follow = getattr(door, "follow", None)
    if follow is not None:
        yield from follow(part.prefix, after=after, kinds=part.kinds, patience=_PATIENCE_SECONDS)
    while True:
        page = door.events(part.prefix, after=after, kinds=part.kinds, limit=_PAGE, wait=wait)
        yield from page
        after = page.cursor
