"""Commands about the curator: let it look through the memories, see what it did, and take it back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recollect.cli.capturing import Cursor, Limit, listed, read
from recollect.cli.conversing import OnlyPersona
from recollect.cli.here import Here
from recollect.cli.screen import calm, counted, when


def curate(
    here: Here,
    persona: OnlyPersona = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do; change nothing.")] = False,
) -> None:
    """Put the memories in order: drop doubles, fold what is said of one entity, set aside what no longer matters.

    Example: recollect curate --dry-run
    """
    told = here.door().curate(persona=persona, dry_run=dry_run)
    if here.is_json:
        here.screen.document(told)
        return
    for each in told["actions"]:
        here.screen.say(_action(each))
    if not told["actions"]:
        here.screen.say("everything is in order")
    for each in told["skipped_actions"]:
        here.screen.note(f"left to the next run, since it changed meanwhile: {', '.join(map(calm, each['archived']))}")
    if told["actions"] and dry_run:
        here.screen.note("nothing was changed; without --dry-run, this is done")
    elif told["actions"]:
        here.screen.note(f"recollect curate undo {calm(str(told['id']))} takes it back")


def _action(told: dict[str, Any]) -> str:
    gone = ", ".join(map(calm, told["archived"]))
    kept = told.get("text") or told.get("keep")
    return f"{calm(str(told['kind']))}: {gone}{f' → {calm(str(kept))}' if kept else ''} ({calm(str(told['reason']))})"


def curations(here: Here, limit: Limit = 20, cursor: Cursor = None) -> None:
    """List what the curator did, newest first.

    Example: recollect curations
    """
    page = here.door().list_curations(limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], when(read(each["at"])), counted(len(each["actions"]), "action"), when(read(each["undone_at"])))
        for each in page["curations"]
    ]
    listed(here, ("id", "at", "what", "undone"), rows, page["cursor"], "the curator did nothing")


def undo(here: Here, curation_id: Annotated[str, typer.Argument(metavar="ID", help="From `curations`.")]) -> None:
    """Bring back what the curator set aside, but for what changed since.

    Example: recollect curate undo cur_0190d7e8000070008000000000000001
    """
    told = here.door().undo_curation(curation_id)
    if here.is_json:
        here.screen.document(told)
        return
    here.screen.say(f"{counted(len(told['restored']), 'memory', 'memories')} brought back")
    for name in told["removed"]:
        here.screen.say(f"  {calm(name)}: told together no more")
    for each in told["not_restored"]:
        here.screen.say(f"  {calm(str(each['id']))}: not brought back: {calm(str(each['reason']))}")
