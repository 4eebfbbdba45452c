"""Commands about why: what was decided, how a record came to be, why words are not remembered, what a phase changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.capturing import Cursor, Limit, became, listed, read
from recollect.cli.here import Here
from recollect.cli.recording import RecordId
from recollect.cli.screen import calm, when
from recollect.domain.governance.terms import Space
from recollect.domain.instants import Instant, datetime_of

_TraceId = Annotated[str | None, typer.Argument(metavar="[ID]", help="One of them; else the latest.")]


def trace(
    here: Here,
    trace_id: _TraceId = None,
    plain: Annotated[bool, typer.Option("--plain", help="Every event in full, as lines of `key: value`.")] = False,
    event: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only with an event of this.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this session.")] = None,
    record: Annotated[str | None, typer.Option(metavar="ID", help="Only about this record.")] = None,
    cause: Annotated[str | None, typer.Option(metavar="TEXT", help="Only what this caused.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only since then; 2h is two hours ago.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only before then.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """Show what was decided, event by event, each with its reason: one trace, or the latest.

    Example: recollect trace --record user:alice:profile:1 --plain
    """
    if trace_id is not None:
        found = here.door().get_trace(trace_id, plain=plain)
        _show(here, found, [found], None)
        return
    now = datetime.now(UTC)
    first, last = arguments.moment(since, "--since", now=now), arguments.moment(until, "--until", now=now)
    page = here.door().list_traces(
        type=event,
        session=session,
        record=record,
        cause=cause,
        since=first,
        until=last,
        plain=plain,
        limit=limit,
        cursor=cursor,
    )
    _show(here, page, page["traces"], page["cursor"])


def _show(here: Here, told: dict[str, Any], traces: list[dict[str, Any]], cursor: str | None) -> None:
    if here.is_json:
        here.screen.document(told)
        return
    if traces and "plain" in traces[0]:
        here.screen.say("\n\n".join(_calm_lines(text) for each in traces for text in each["plain"]))
        listed(here, (), (), cursor, "")
        return
    rows = [
        (each["id"], when(_moment(each["at"])), str(event["type"]), _about(event), _reason(event))
        for each in traces
        for event in each["events"]
    ]
    listed(here, ("id", "at", "event", "about", "reason"), rows, cursor, "nothing was decided")


def _calm_lines(text: str) -> str:
    return "\n".join(map(calm, text.splitlines()))


def _moment(at: int) -> datetime:
    return datetime_of(Instant(at))


def _about(event: dict[str, Any]) -> str:
    known = event.get("memory_id") or event.get("space") or event.get("from_space")
    return " -> ".join(str(each) for each in (known, event.get("to_space")) if each)


def _reason(event: dict[str, Any]) -> str:
    return str(event.get("reason") or "")


def why(here: Here, record_id: RecordId) -> None:
    """Show the way of a record, one line a step: what was said, each decision with its rule, where it was recalled.

    Example: recollect why user:alice:profile:1
    """
    told = here.door().why(record_id)
    if here.is_json:
        here.screen.document(told)
        return
    for each in told["lines"]:
        here.screen.say(f"{when(read(each['at']))}  {calm(each['text'])}  [{calm(each['source'])}]")


def why_not(
    here: Here,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The words that one would expect; @file, or -.")],
) -> None:
    """Say why words are not remembered: what was decided about them, what came after, and what would become of them.

    Example: recollect why-not "My password is hunter2."
    """
    told = here.door().why_not(arguments.source(text, "TEXT"))
    if here.is_json:
        here.screen.document(told)
        return
    for line in _reasons(told):
        here.screen.say(line)


def _reasons(told: dict[str, Any]) -> list[str]:
    """What is known of words, one line each; at the end what would become of them now."""
    lines = [f"it is remembered: {calm(each)}" for each in told["remembered"]]
    for each in told["past"]:
        heir = f" by {calm(each['superseded_by'])}" if each["superseded_by"] else ""
        lines.append(f"it was remembered: {calm(each['id'])}, {calm(each['reason'])}{heir}")
    for each in told["proposals"]:
        decided = f", by {calm(each['decided_by'])}" if each["decided_by"] else ""
        rule = f" (rule: {calm(each['rule'])})" if each["rule"] else ""
        lines.append(f"{calm(each['proposal_id'])}: {calm(each['status'])}{decided}: {calm(each['reason'])}{rule}")
    lines += [
        f"{when(read(each['at']))}: not kept: {calm(each['reason'])} [trace:{calm(each['trace_id'])}]"
        for each in told["denied"]
    ]
    now = [f"now: {became(each)}" for each in told["would"]["would"]]
    return lines + (now or ["now: nothing in it is to be remembered"])


def diff(
    here: Here,
    from_phase: Annotated[str, typer.Argument(metavar="FROM", help="The id of a phase.")],
    to_phase: Annotated[str, typer.Argument(metavar="TO", help="The id of another.")],
    space: Annotated[Space, typer.Option(help="Whose they are.")] = Space.SESSION,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Which session, for its own space.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Which project, for its own space.")] = None,
) -> None:
    """Show what was added, replaced and deleted between two phases of a space.

    Example: recollect diff phase-1 phase-2 --space user
    """
    told = here.door().diff_phases(from_phase, to_phase, space=space.value, session=session, project=project)
    if here.is_json:
        here.screen.document(told)
        return
    for each in told["top_changes"]:
        here.screen.say(_changed(each))
    counts = ", ".join(f"{told[f'{each}_count']:,} {each}" for each in ("added", "deleted", "replaced"))
    here.screen.say(counts)


def _changed(each: dict[str, Any]) -> str:
    if each["change"] == "replaced":
        return calm(f"~ {each['from_id']} -> {each['to_id']}")
    return calm(f"{'+' if each['change'] == 'added' else '-'} {each['memory_id']}")
