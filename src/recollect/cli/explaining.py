"""The command `policy explain`: what somebody may do, and which clause of the policy says so."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from recollect.cli import arguments, shapes
from recollect.cli.bundles import modules_at
from recollect.cli.here import Here
from recollect.cli.screen import calm, place

if TYPE_CHECKING:
    from recollect.cli.shapes import AnyExplanation

_LONGEST_TITLE = 40
_DEFAULT = "default"


class Asked(StrEnum):
    """What somebody might want to do."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    SEARCH = "search"


def explain(
    here: Here,
    action: Annotated[Asked, typer.Argument(metavar="ACTION", help="read, write, delete or search.")],
    namespace: Annotated[str, typer.Argument(metavar="NAMESPACE", help="Where; a search may leave it out.")] = "",
    key: Annotated[str, typer.Argument(metavar="KEY", help="The name within the namespace.")] = "",
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Who wants to.")] = "",
    client: Annotated[str, typer.Option("--client", metavar="ID", help="Through which agent.")] = "",
    roles: Annotated[list[str] | None, typer.Option("--role", metavar="ROLE", help="With which roles.")] = None,
    claims: Annotated[
        list[str] | None, typer.Option("--claim", metavar="NAME=JSON", help="With which claims; may be repeated.")
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="JSON", help="What they would write.")] = None,
    condition: Annotated[
        list[str] | None, typer.Option("--filter", metavar="NAME=VALUE", help="What they would search for.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="By the policy in a directory, not the one in force.")
    ] = None,
) -> None:
    """Say whether somebody may do something, and which clause of the policy says so.

    Example: recollect policy explain read user/alice/notes tea --user bob --role reviewer
    """
    if not user:
        raise arguments.usage("say who wants to, like --user alice", "--user")
    if not namespace and action is not Asked.SEARCH:
        raise arguments.usage(f"say what they want to {action}, like: explain {action} user/alice/notes tea")
    segments, wanted = arguments.scope(namespace), arguments.conditions(condition)
    written, claimed = arguments.json_object(value, "--value"), _claims(claims)
    modules = None if folder is None else modules_at(folder)
    door = here.door() if modules is None else here.judge()
    found = door.explain_policy(
        action,
        segments,
        key,
        user_id=user,
        client_id=client,
        roles=arguments.listed(roles),
        claims=claimed,
        value=written,
        filter=wanted,
        modules=modules,
    )
    if here.is_json:
        here.screen.document(shapes.explanation(found))
    else:
        for line in explained(found, segments):
            here.screen.say(line)


def _claims(texts: Iterable[str] | None) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, said = text.partition("=")
        if not equals or not name:
            raise arguments.usage(f"{text!r} is no claim; write name=value, the value in JSON or as text", "--claim")
        try:
            found[name] = msgspec.json.decode(said)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            found[name] = said
    return found or None


def explained(found: AnyExplanation, asked: tuple[str, ...]) -> list[str]:
    """The explanation in lines: what is decided and by which clause, then what did not hold."""
    clauses = [each for each in found.clauses if each.title != _DEFAULT]
    held = [each for each in clauses if each.held]
    if found.narrowed is not None:
        lines = [_opened(found, held), *_beside(found.narrowed.prefix, asked)]
    elif found.decision is not None and found.decision.allow:
        named = next((each for each in held if each.title), held[0] if held else None)
        lines = [f"allowed by {found.rule}{_by(named)}"]
    else:
        reason = found.decision.reason if found.decision else "it gave no decision"
        lines = [f"denied by {found.rule}: {calm(reason)}{_by(held[0] if held else None)}"]
    return lines + ([] if held else _not_held(clauses))


def _opened(found: AnyExplanation, held: list[Any]) -> str:
    narrowed = found.narrowed
    where = place(narrowed.prefix) if narrowed and narrowed.prefix else "everything"
    filtered = calm(msgspec.json.encode(narrowed.filter).decode()) if narrowed and narrowed.filter else ""
    return (
        f"{where}{f', where {filtered},' if filtered else ''} is opened by {found.rule}{_by(held[0] if held else None)}"
    )


def _beside(opened: tuple[str, ...], asked: tuple[str, ...]) -> list[str]:
    """What comes of a scope that lies beside the one asked for."""
    within = opened[: len(asked)] == asked
    return [] if within else [f"  {place(asked)} is asked for, which lies beside it: nothing is found"]


def _by(clause: Any) -> str:
    if clause is None:
        return ""
    title = f" {calm(clause.title)}" if clause.title else ""
    return f" ({calm(clause.module)}:{clause.line}{title})"


def _not_held(clauses: list[Any]) -> list[str]:
    """Each clause that did not hold, with the expression at which it ended."""
    told = [each for each in clauses if not (each.failed.isidentifier() and not each.title and len(clauses) > 1)]
    places = [calm(f"{each.module}:{each.line}") for each in told]
    titles = [_short(calm(each.title)) for each in told]
    wide, wider = max(map(len, places), default=0), max(map(len, titles), default=0)
    return [
        f"  {where:<{wide}}  {f'{title:<{wider}}  ' if wider else ''}{_failure(each)}"
        for where, title, each in zip(places, titles, told, strict=True)
    ]


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"


def _failure(clause: Any) -> str:
    if not clause.failed:
        return "did not hold"
    return f"did not hold at line {clause.failed_line}: {calm(clause.failed)}"
