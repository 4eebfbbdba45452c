"""Commands about whom and what a user speaks of: list and show them, and say which of them are one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from recollect.cli.capturing import Cursor, Limit, listed, show_fields
from recollect.cli.conversing import OnlyPersona
from recollect.cli.here import Here
from recollect.cli.screen import calm
from recollect.domain.entities.refs import EntityType


class Standing(StrEnum):
    """What became of a suggestion."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


_Ref = Annotated[str, typer.Argument(metavar="REF", help="Like person:john.")]
_ChangeId = Annotated[str, typer.Argument(metavar="ID", help="From `entity show`.")]
_SuggestionId = Annotated[str, typer.Argument(metavar="ID", help="From `entity suggestions`.")]


def show_all(
    here: Here,
    type_: Annotated[EntityType | None, typer.Option("--type", help="Only of this sort.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the people, places, organisations and projects that the user speaks of.

    Example: recollect entity list --type person
    """
    wanted = None if type_ is None else type_.value
    page = here.door().list_entities(type=wanted, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["ref"], str(each["label"]), ", ".join(each["aliases"]), f"{each['mentions']['count']:,}")
        for each in page["entities"]
    ]
    listed(here, ("ref", "name", "also", "mentions"), rows, page["cursor"], "nobody and nothing was spoken of")


def show(here: Here, ref: _Ref, persona: OnlyPersona = None) -> None:
    """Show what is known of one: its card, its facts, its names, and how they changed.

    Example: recollect entity show person:john
    """
    told = here.door().get_entity(ref, persona=persona)
    if here.is_json:
        here.screen.document(told)
        return
    if told["card"] is not None:
        here.screen.say(calm(str(told["card"]["text"])))
    merged = {"merged": [each["ref"] for each in told["merged"]], "mentions": f"{told['mentions']['count']:,}"}
    show_fields(here, {name: told[name] for name in ("ref", "type", "label", "aliases")} | merged)
    for each in told["facts"]:
        here.screen.say(f"  {calm(' '.join(str(each['text']).split()))} ({calm(each['id'])}, weight {each['weight']})")
    for each in told["changes"]:
        here.screen.note(f"{calm(str(each['kind']))}: recollect entity undo {calm(each['id'])} takes it back")


def put(
    here: Here,
    ref: _Ref,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="How it is called.")] = None,
    alias: Annotated[list[str] | None, typer.Option("--alias", metavar="TEXT", help="How else; may repeat.")] = None,
) -> None:
    """Say how one is called, and how else.

    Example: recollect entity put person:john --label "John Doe" --alias Jonny
    """
    _say_changed(here, here.door(create=True).put_entity(ref, label=label, aliases=alias))


def merge(
    here: Here,
    ref: _Ref,
    into: Annotated[str, typer.Argument(metavar="INTO", help="Which one it is as well.")],
    forced: Annotated[bool, typer.Option("--forced", help="Even if they are of different sorts.")] = False,
) -> None:
    """Say that two are one, on every card at once.

    Example: recollect entity merge person:makesh person:mukesh
    """
    _say_changed(here, here.door().merge_entities(ref, into, forced=forced))


def split(
    here: Here,
    ref: _Ref,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS…", help="The names that belong to another.")],
) -> None:
    """Say that some names of one belong to another after all.

    Example: recollect entity split person:john Jonathan
    """
    _say_changed(here, here.door().split_entity(ref, aliases=aliases))


def undo(here: Here, change_id: _ChangeId) -> None:
    """Take a merge, a split or another change back.

    Example: recollect entity undo ech_0190d7e8000070008000000000000001
    """
    told = here.door().undo_entity_change(change_id)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(change_id)}: taken back, by {calm(told['change']['id'])}")


def suggestions(
    here: Here,
    status: Annotated[Standing, typer.Option(help="Those that nobody decided about, or that somebody did.")] = (
        Standing.OPEN
    ),
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List which of them may be one, and why it seems so.

    Example: recollect entity suggestions
    """
    page = here.door().list_entity_suggestions(status=status.value, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], each["entity"]["ref"], each["into"]["ref"], f"{each['score']:.2f}", ", ".join(each["reasons"]))
        for each in page["suggestions"]
    ]
    listed(here, ("id", "this", "may be", "score", "why"), rows, page["cursor"], "nothing seems to be one")


def accept(here: Here, suggestion_id: _SuggestionId) -> None:
    """Say that two that seem to be one are.

    Example: recollect entity accept esg_0190d7e8000070008000000000000001
    """
    _decide(here, suggestion_id, True)


def reject(here: Here, suggestion_id: _SuggestionId) -> None:
    """Say that two that seem to be one are not; it is not suggested again.

    Example: recollect entity reject esg_0190d7e8000070008000000000000001
    """
    _decide(here, suggestion_id, False)


def _decide(here: Here, suggestion_id: str, accept: bool) -> None:
    told = here.door().decide_entity_suggestion(suggestion_id, accept)
    if here.is_json:
        here.screen.document(told)
        return
    here.screen.say(f"{calm(told['entity']['ref'])} {'is' if accept else 'is not'} {calm(told['into']['ref'])}")
    _say_how_back(here, told["change_id"])


def _say_changed(here: Here, told: dict[str, Any]) -> None:
    if here.is_json:
        here.screen.document(told)
        return
    names = [name for name in (told["label"], *told["aliases"]) if name]
    here.screen.say(f"{calm(told['ref'])}: {', '.join(map(calm, names))}")
    _say_how_back(here, None if told["change"] is None else told["change"]["id"])


def _say_how_back(here: Here, change_id: str | None) -> None:
    if change_id is not None:
        here.screen.note(f"recollect entity undo {calm(change_id)} takes it back")
