"""Commands about whom a user talks to, and what was told of the user beforehand."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import arguments
from recollect.cli.capturing import json_file, listed, read, show_fields
from recollect.cli.here import Here
from recollect.cli.screen import calm, when

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the persona.")]


def show_all(here: Here) -> None:
    """List the personas that were described; others can be talked to all the same.

    Example: recollect persona list
    """
    told = here.door().list_personas()
    if here.is_json:
        here.screen.document(told)
        return
    rows = [
        (each["name"], str(each["version"]), str(each["label"] or ""), when(read(each["at"])))
        for each in told["personas"]
    ]
    listed(here, ("name", "version", "label", "since"), rows, None, "no persona was described")


def show(here: Here, name: _Name) -> None:
    """Show what a persona is.

    Example: recollect persona show coach
    """
    told = here.door().get_persona(name)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, told)


def put(
    here: Here,
    name: _Name,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A JSON object of settings; or -.")],
    expected_version: Annotated[
        int | None, typer.Option(metavar="N", help="Only if this is its latest version; 0: only if there is none.")
    ] = None,
) -> None:
    """Say what a persona is from now on.

    Example: recollect persona put coach coach.json
    """
    settings = json_file(source)
    told = here.door(create=True).put_persona(name, settings, expected_version=expected_version)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{calm(told['name'])}: version {told['version']}")


# -- what is told beforehand


def show_seed(here: Here) -> None:
    """Show what was told of the user beforehand.

    Example: recollect seed show
    """
    told = here.door().get_seed()
    if here.is_json:
        here.screen.document(told)
        return
    for line in str(told["text"]).splitlines():
        here.screen.say(calm(line))


def put_seed(
    here: Here,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What all personas are to know; @file, or - to read it.")],
) -> None:
    """Tell of the user beforehand, for all personas.

    Example: recollect seed put "Lives in Austin; works on a dashboard."
    """
    told = here.door(create=True).put_seed(arguments.source(text, "TEXT"))
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say("told to all personas")


def delete_seed(here: Here) -> None:
    """Take back what was told beforehand.

    Example: recollect seed delete
    """
    told = here.door().delete_seed()
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say("taken back" if told["deleted"] else "nothing was told")
