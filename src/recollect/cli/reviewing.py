"""Commands about what waits for a person: proposals, review and contradictions; and what there is to learn from."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from recollect.cli import arguments
from recollect.cli.capturing import Cursor, Limit, listed, read, show_fields
from recollect.cli.cards import age
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, one_line, when

REFUSED = 1
"""The exit status when one of many could not be decided."""
_Note = Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is kept with the decision.")]


class Status(StrEnum):
    """Where proposals stand."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Winner(StrEnum):
    """What is known once a contradiction is settled."""

    CANDIDATE = "candidate"
    EXISTING = "existing"


def proposals(
    here: Here,
    proposal_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="One of them, with all its checks.")] = None,
    status: Annotated[Status, typer.Option(help="Which of them.")] = Status.WAITING,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List proposals: to reviewers those of everybody, to others their own; or show one.

    Example: recollect proposals --status rejected
    """
    door = here.door()
    if proposal_id is not None:
        found = door.get_proposal(proposal_id)
        if here.is_json:
            here.screen.document(found)
        else:
            show_fields(here, found)
        return
    page = door.list_proposals(status=status.value, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["proposal_id"], age(each["age_seconds"]), each["risk"], each["rule"], " ".join(each["text"].split()))
        for each in page["proposals"]
    ]
    nothing = "nothing waits" if status is Status.WAITING else f"nothing was {status.value}"
    listed(here, ("id", "age", "risk", "rule", "text"), rows, page["cursor"], nothing)


def review(
    here: Here,
    approve: Annotated[
        list[str] | None, typer.Option("--approve", metavar="ID", help="Approve it; may be repeated.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option("--reject", metavar="ID", help="Reject it; may be repeated.")
    ] = None,
    note: _Note = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what that would do, and decide nothing.")] = False,
    load: Annotated[bool, typer.Option("--load", help="Show how much waits, and how old it is.")] = False,
) -> int:
    """Decide about what waits: one by one at the terminal, or all those that are named.

    Example: recollect review --reject mwp_0190d7e8 --note "They never said so."
    """
    if sum((bool(approve), bool(reject), load)) > 1:
        raise arguments.usage("give --approve, --reject or --load, one of them")
    decision = "approve" if approve else "reject" if reject else None
    if decision is None and (dry_run or note is not None):
        raise arguments.usage("--note and --dry-run go with --approve or --reject")
    if decision is not None:
        return _many(here, decision, arguments.listed(approve or reject), note, dry_run=dry_run)
    if load:
        _load(here)
        return 0
    if here.is_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise arguments.usage(
            "one by one it needs a terminal; else name what to decide with --approve or --reject "
            "(`recollect proposals` lists the ids), or ask for --load"
        )
    from recollect.cli.judging import Judging  # here, because only this command shows cards
    from recollect.cli.keyboard import Terminal

    door = here.door()
    with Terminal.opened() as keyboard:
        Judging(door, here.screen, keyboard).run()
    return 0


def _many(here: Here, decision: str, ids: list[str], note: str | None, *, dry_run: bool) -> int:
    told = here.door().review_many(decision, ids, note=note, dry_run=dry_run)
    if here.is_json:
        here.screen.document(told)
    else:
        for each in told["results"]:
            here.screen.say(f"{calm(each['proposal_id'])}: {_decided(each, dry_run=dry_run)}")
    return REFUSED if told["counts"].get("refused") else 0


def _decided(told: dict[str, Any], *, dry_run: bool) -> str:
    outcome = told["outcome"]
    if outcome == "refused":
        return f"not decided: {calm(str(told['reason']))}"
    words = "approved by you, and waits for another person" if outcome == "waiting" else str(outcome)
    record = f" ({calm(told['record_id'])})" if told.get("record_id") else ""
    return f"would be {words}" if dry_run else f"{words}{record}"


def _load(here: Here) -> None:
    told = here.door().review_load()
    if here.is_json:
        here.screen.document(told)
        return
    waiting = told["waiting"]
    oldest = f", the oldest for {age(told['oldest_seconds'])}" if waiting else ""
    here.screen.say(f"{counted(waiting, 'proposal waits', 'proposals wait')}{oldest}")
    rows = [(f"older than {age(int(seconds))}", f"{count:,}") for seconds, count in told["older_than_seconds"].items()]
    for sort in ("class", "tier", "risk"):
        rows += [(f"{sort} {calm(name)}", f"{count:,}") for name, count in told[f"by_{sort}"].items()]
    if waiting:
        here.screen.table(("", ""), rows, header=False)


def contradictions(
    here: Here,
    resolved: Annotated[bool, typer.Option("--resolved", help="Those that were settled, and how.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List where what was said differs from what is known.

    Example: recollect contradictions --resolved
    """
    page = here.door().list_contradictions(status="resolved" if resolved else "open", limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (
            each["id"],
            when(read(each["at"])),
            f"{each['entity_ceid']} {each['predicate']}",
            str(each["existing"]),
            f"{each['winner']}, by {each['resolved_by']}" if resolved else str(each["proposal_id"]),
        )
        for each in page["contradictions"]
    ]
    columns = ("id", "at", "about", "known", "winner" if resolved else "proposal")
    listed(here, columns, rows, page["cursor"], "nothing was settled" if resolved else "nothing contradicts")


def resolve(
    here: Here,
    event_id: Annotated[str, typer.Argument(metavar="ID", help="From `contradictions`.")],
    winner: Annotated[Winner, typer.Argument(metavar="WINNER", help="candidate, or existing.")],
    note: _Note = None,
) -> None:
    """Settle a contradiction: the candidate takes the place of what is known, or that stays.

    Example: recollect contradiction resolve ctr_0190d7e8 existing
    """
    told = here.door().resolve_contradiction(event_id, winner.value, note=note)
    if here.is_json:
        here.screen.document(told)
        return
    proposal = told["proposal"]
    if proposal["status"] == "waiting":
        needed = f"{len(proposal['approvals'])} of {proposal['approvals_needed']} approvals"
        here.screen.say(f"{calm(event_id)}: open until another person approves ({needed})")
    else:
        kept = calm(str(proposal["record_id"] or proposal["contradiction_check"]["existing"]))
        here.screen.say(f"{calm(event_id)}: resolved, {kept} is what is known")


def signals(here: Here, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List what there is to learn from: corrections, rejections, edits, consents taken back; newest first.

    Example: recollect signals --limit 20
    """
    page = here.door().list_signals(limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], str(each.get("kind") or each.get("type")), one_line(_details(each))) for each in page["signals"]
    ]
    listed(here, ("id", "what", "details"), rows, page["cursor"], "there is nothing to learn from")


def _details(each: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in each.items() if name not in ("id", "kind", "type")}


def traces(here: Here, limit: Limit = 20, cursor: Cursor = None) -> None:
    """List what was decided about memories, newest first, each decision with its reason.

    Example: recollect traces --limit 5
    """
    page = here.door().list_traces(limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], str(event["type"]), str(event.get("memory_id") or ""), str(event.get("reason") or ""))
        for each in page["traces"]
        for event in each["events"]
    ]
    listed(here, ("id", "event", "memory", "reason"), rows, page["cursor"], "nothing was decided")
