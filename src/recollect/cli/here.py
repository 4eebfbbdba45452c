"""Here and now: the options of one call, and what they lead to; and how functions become commands that know it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import usage
from recollect.cli.doors import Asked, Local, Remote, find_way, home_folder, open_door, open_without_data
from recollect.cli.screen import Screen

if TYPE_CHECKING:
    from recollect.cli.doors import Door

Command = Callable[..., int | None]
"""Takes where it runs and what was typed, and returns the exit status; None is 0."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options that every command understands."""

    asked: Asked
    as_json: bool = False
    quiet: bool = False
    color: bool = True

    def joined(self, **given: Any) -> Options:
        """These options, and those given after the command, which count more."""
        paths = {name: given[name] for name in ("home", "url", "token", "tenant") if given[name] is not None}
        return Options(
            replace(self.asked, **paths),
            self.as_json or given["json"],
            self.quiet or given["quiet"],
            self.color and not given["no_color"],
        )


class Here:
    """One call of the program."""

    def __init__(self, options: Options) -> None:
        self.asked = options.asked
        self.screen = Screen(as_json=options.as_json, quiet=options.quiet, color=options.color)
        self._door: Door | None = None

    @cached_property
    def home(self) -> Path:
        """The data directory that is meant."""
        return home_folder(self.asked, os.environ)

    def way(self, *, tenant_is_argument: bool = False) -> Remote | Local:
        """The way to the memories."""
        return find_way(self.asked, os.environ, tenant_is_argument=tenant_is_argument)

    def door(self, *, create: bool = False, tenant_is_argument: bool = False) -> Door:
        """The memories; how they were reached is said once, where it is not by a server."""
        if self._door is None:
            way = self.way(tenant_is_argument=tenant_is_argument)
            self._door = open_door(way, create=create)
            if isinstance(way, Local):
                tenant = "" if way.tenant == "default" else f", tenant {way.tenant}"
                self.screen.note(f"no server runs; opened {way.home} as the local administrator{tenant}")
        return self._door

    def reading(self, why: str | None, as_user: str | None) -> Door:
        """The memories to read from: as one's own, or for a reason that is written down, and as some user."""
        if as_user is not None and why is None:
            raise usage("reading in another user's place is written down; say why with --why", "--as-user")
        return self.door() if why is None else self.door().justified(why, as_user_id=as_user)

    def judge(self) -> Door:
        """What can judge policies: the server that is meant, or, without one, memories that are kept nowhere."""
        way = self.way()
        if isinstance(way, Remote):
            return self.door()
        if self._door is None:
            self._door = open_without_data(way)
        return self._door

    @property
    def is_json(self) -> bool:
        """True when a program reads the answer."""
        return self.screen.as_json

    def close(self) -> None:
        """Close what was opened."""
        if self._door is not None:
            self._door.close()
            self._door = None


def shared_options(*, hidden: bool) -> list[inspect.Parameter]:
    """The options of every command; hidden behind it, where they would only repeat the program's own."""

    def text(name: str, metavar: str, meaning: str) -> inspect.Parameter:
        option = typer.Option(f"--{name}", metavar=metavar, help=meaning, hidden=hidden, show_default=False)
        return _parameter(name, Annotated[str | None, option], None)

    def flag(name: str, meaning: str, *, hide: bool = hidden) -> inspect.Parameter:
        option = typer.Option(f"--{name.replace('_', '-')}", help=meaning, hidden=hide)
        return _parameter(name, Annotated[bool, option], False)

    return [
        text("home", "DIR", "The data directory; else RECOLLECT_HOME, else ~/.recollect."),
        text("url", "URL", "A server; else RECOLLECT_URL, else the one that runs for the data directory."),
        text("token", "TOKEN", "The API key or token for it; else RECOLLECT_TOKEN, else the one kept there."),
        text("tenant", "NAME", "The tenant, where no server is asked; else RECOLLECT_TENANT, else default."),
        flag("json", "Answer in JSON, as the REST API does.", hide=False),
        flag("quiet", "Say nothing beside the answer."),
        flag("no_color", "No colours; so does NO_COLOR."),
    ]


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def as_command(function: Command) -> Callable[..., None]:
    """The function as the command that is called with all that was typed, the shared options among it."""
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    shared = shared_options(hidden=True)

    def run(context: typer.Context, **given: Any) -> None:
        options: Options = context.obj or Options(Asked())
        here = Here(options.joined(**{each.name: given.pop(each.name) for each in shared}))
        try:
            status = function(here, **given)
        finally:
            here.close()
        if status:
            raise typer.Exit(status)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    run.__dict__["__signature__"] = inspect.Signature([context, *own, *shared])
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def as_group(function: Command) -> Callable[..., None]:
    """The function as what a group of commands does when no command of it is named."""
    shared = shared_options(hidden=True)
    alone = as_command(function)

    def run(context: typer.Context, **given: Any) -> None:
        if context.invoked_subcommand is None:
            alone(context, **given)
        else:
            options: Options = context.obj or Options(Asked())
            context.obj = options.joined(**{each.name: given[each.name] for each in shared})

    run.__dict__["__signature__"] = inspect.signature(alone)
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run
