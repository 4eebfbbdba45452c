"""Commands that a page only shows: whether the program knows their names and options.

What cannot be run by a test, because it needs another machine, a second terminal or the rights of root, stands in
```sh and ```ini blocks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import typer
from tests.docs.pages import fenced

from recollect.cli.program import app

_PROGRAM = re.compile(r"(?:^|[\s=/])recollect (?=[a-z]|-h|--[a-z])(.*)")


def unknown_in(text: str) -> list[str]:
    """The lines with a command or an option that the program does not have."""
    lines = [line for language in ("sh", "ini") for block in fenced(text, language) for line in block.splitlines()]
    return [line for line in lines if (found := _PROGRAM.search(line)) and list(_unknown(found[1]))]


def _unknown(typed: str) -> Iterator[str]:
    command = typer.main.get_command(app)
    options = _options(command)
    for word in shlex.split(typed, comments=True):
        name = word.partition("=")[0]
        commands = getattr(command, "commands", None)
        if name.startswith("--"):
            if name not in options:
                yield name
        elif commands is not None and name in commands:
            command = commands[name]
            options |= _options(command)
        elif commands is not None and not _is_value(typed, word):
            yield name


def _options(command: object) -> set[str]:
    return {name for parameter in getattr(command, "params", ()) for name in parameter.opts} | {"--help"}


def _is_value(typed: str, word: str) -> bool:
    """True for what an option before the command was given."""
    return re.search(rf"--(home|url|token|tenant) {re.escape(word)}(\s|$)", typed) is not None
