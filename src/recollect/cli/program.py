"""The program: all commands in their groups, and how each call ends.

The exit status is 0 when it went well, 1 when it was refused or failed, 2 when it was typed wrongly, 3 when
something was not found, 4 when data or installation are not sound, 130 when it was interrupted, and 141
when nobody reads its output any more.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import typer
from typer.core import TyperGroup

from recollect.cli.commands import COMMANDS, GROUPS
from recollect.cli.doors import Asked, errors
from recollect.cli.here import Options, as_command, as_group, shared_options
from recollect.cli.invocation import NAME
from recollect.cli.screen import Screen, calm, dumped

FAILED, MISTYPED, NOT_FOUND, INTERRUPTED, UNREAD = 1, 2, 3, 130, 141
_MISTYPED_CODE = "usage"
_STATUS = {_MISTYPED_CODE: MISTYPED, "not_found": NOT_FOUND}
_INTERNAL = "This is a fault of the program: please report it, with what you typed."


class Unread(Exception):
    """Nobody reads the output any more."""


class Program(TyperGroup):
    """The commands; whatever goes wrong becomes one message and an exit status, never a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - errors are dealt with here, in every mode
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Carry out one call, and leave with its exit status."""
        typed = list(sys.argv[1:] if args is None else args)
        if "--no-color" in _before_dashes(typed):
            os.environ["NO_COLOR"] = "1"  # the one way that the help also knows
        try:
            status = super().main(typed, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except (Unread, BrokenPipeError):
            status = _unread()
        except (KeyboardInterrupt, typer.Abort):
            status = INTERRUPTED
        except typer.TyperException as problem:
            status = _explain(typed, _MISTYPED_CODE, problem.format_message(), {}, _help_for(problem))
        except errors() as problem:
            advice = "" if problem.code == "error" else problem.advice()
            status = _explain(typed, problem.code, problem.message, problem.details, advice)
        except OSError as problem:
            what = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
            status = _explain(typed, "store_unavailable", what, {}, "Check disk and permissions, then try again.")
        except Exception as problem:  # noqa: BLE001 - people get a message instead of a traceback
            status = _explain(typed, "internal", f"{type(problem).__name__}: {problem}", {}, _INTERNAL)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Carry out the command; a pipe that was closed is told apart from other failures of files."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise Unread from None


def _explain(typed: Sequence[str], code: str, message: str, details: dict[str, Any], advice: str) -> int:
    """Say what went wrong and what to do about it, and return the exit status."""
    own = _before_dashes(typed)
    with contextlib.suppress(BrokenPipeError):
        if "--json" in own:
            plain = msgspec.to_builtins(details, str_keys=True, enc_hook=str)
            envelope = {"error": message, "code": code, "details": plain | ({"advice": advice} if advice else {})}
            sys.stderr.write(dumped(msgspec.json.encode(envelope)) + "\n")
        else:
            screen, reason = Screen(color="--no-color" not in own), details.get("reason")
            said = f"{message}: {reason}" if isinstance(reason, str) and reason not in message else message
            sys.stderr.write(f"{screen.styled('error', 'red', sys.stderr)}: {calm(said)}\n")
            sys.stderr.writelines(f"  {calm(line)}\n" for line in _refusals(details))
            sys.stderr.write(f"{screen.styled(calm(advice), 'dim', sys.stderr)}\n" if advice else "")
    return _STATUS.get(code, FAILED)


def _before_dashes(typed: Sequence[str]) -> Sequence[str]:
    """The words that may be options."""
    return typed[: typed.index("--")] if "--" in typed else typed


def _refusals(details: dict[str, Any]) -> list[str]:
    """Everything for which a policy is refused, one line each."""
    found = []
    for problem in sorted(_told(details.get("problems")), key=lambda each: (str(each.get("module")), each.get("line"))):
        where = f"{problem.get('module')}:{problem['line']}" if problem.get("line") else problem.get("module")
        found.append(f"{where}: {problem.get('message')}" if where else str(problem.get("message")))
    for failed in _told(details.get("failed")):
        note = failed.get("note")
        found.append(f"failed: {failed.get('check')}{f': {note}' if note else ''}")
    return found


def _told(listed: object) -> list[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _help_for(problem: typer.TyperException) -> str:
    context = getattr(problem, "ctx", None)
    return f"See `{context.command_path if context is not None else NAME} --help`."


def _unread() -> int:
    """Nobody reads the output any more, so what is still buffered goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return UNREAD


def _root(context: typer.Context, **given: Any) -> None:
    """Memory for AI agents that can say why.

    Commands ask the server that runs for the data directory, or open the directory themselves. The options
    below work before and after every command.
    """
    context.obj = Options(Asked()).joined(**given)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_root.__dict__["__signature__"] = inspect.Signature(
    [
        inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *shared_options(hidden=False),
    ]
)


def _made() -> typer.Typer:
    context = {"help_option_names": ["--help", "-h"]}
    made = typer.Typer(
        name=NAME, cls=Program, context_settings=context, pretty_exceptions_enable=False, rich_markup_mode="markdown"
    )
    made.callback(invoke_without_command=True)(_root)
    for panel, commands in COMMANDS.items():
        for name, function in commands.items():
            made.command(name, rich_help_panel=panel)(as_command(function))
    for name, group in GROUPS.items():
        below = typer.Typer()
        below.callback(invoke_without_command=True)(_help if group.alone is None else as_group(group.alone))
        for verb, function in group.commands.items():
            below.command(verb)(as_command(function))
        made.add_typer(below, name=name, rich_help_panel=group.panel, short_help=group.meaning, help=group.meaning)
    return made


app = _made()


def main() -> None:
    """Carry out what was typed."""
    app(prog_name=NAME)
