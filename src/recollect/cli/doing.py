"""Commands about what is to be done: commitments, habits, threads and frictions, listed, added and put right."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli import arguments
from recollect.cli.capturing import Cursor, Limit, listed, read, show_fields
from recollect.cli.conversing import OnlyPersona, WithPersona, todo_words
from recollect.cli.here import Here
from recollect.cli.screen import when
from recollect.domain.conversation.todos import LoopKind, TodoStatus

_TodoId = Annotated[str, typer.Argument(metavar="ID", help="From `todo list`.")]


def show_all(
    here: Here,
    persona: OnlyPersona = None,
    kind: Annotated[LoopKind | None, typer.Option(help="Only of this kind.")] = None,
    status: Annotated[TodoStatus | None, typer.Option(help="Only those that are so far.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List what is to be done and what was, newest first.

    Example: recollect todo list --persona coach --status PENDING
    """
    names = {"kind": None if kind is None else kind.value, "status": None if status is None else status.value}
    page = here.door().list_todos(persona=persona, **names, limit=limit, cursor=cursor)
    if here.is_json:
        here.screen.document(page)
        return
    rows = [
        (each["id"], each["persona"], each["kind"], each["status"], when(read(each["created_at"])), each["content"])
        for each in page["todos"]
    ]
    columns = ("id", "persona", "kind", "status", "since", "what")
    listed(here, columns, rows, page["cursor"], "there is nothing to do")


def show(here: Here, todo_id: _TodoId) -> None:
    """Show one of them, with what it rests on.

    Example: recollect todo show tdo_0190d7e8000070008000000000000001
    """
    told = here.door().get_todo(todo_id)
    if here.is_json:
        here.screen.document(told)
    else:
        show_fields(here, told)


def add(
    here: Here,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be done; @file, or - to read it.")],
    kind: Annotated[LoopKind, typer.Option(help="What sort it is.")] = LoopKind.COMMITMENT,
    persona: WithPersona = "default",
    dedupe_key: Annotated[str | None, typer.Option(metavar="TEXT", help="What means the same has the same.")] = None,
) -> None:
    """Add something by hand.

    Example: recollect todo add "Call John" --persona coach
    """
    words = arguments.source(content, "TEXT")
    told = here.door(create=True).add_todo(words, kind=kind.value, persona=persona, dedupe_key=dedupe_key)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{'to do' if told['opened'] else 'to do already'}: {todo_words(told)}")


def done(here: Here, todo_id: _TodoId) -> None:
    """Say that something is done.

    Example: recollect todo done tdo_0190d7e8000070008000000000000001
    """
    _change(here, todo_id, "done", status=TodoStatus.COMPLETED.value)


def skip(here: Here, todo_id: _TodoId) -> None:
    """Say that something is called off.

    Example: recollect todo skip tdo_0190d7e8000070008000000000000001
    """
    _change(here, todo_id, "called off", status=TodoStatus.SKIPPED.value)


def change(
    here: Here,
    todo_id: _TodoId,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="Other words.")] = None,
    kind: Annotated[LoopKind | None, typer.Option(help="Another kind.")] = None,
    status: Annotated[TodoStatus | None, typer.Option(help="How far it is.")] = None,
) -> None:
    """Say what is different about something that is to be done.

    Example: recollect todo change tdo_0190d7e8000070008000000000000001 --kind HABIT
    """
    names = {"kind": None if kind is None else kind.value, "status": None if status is None else status.value}
    _change(here, todo_id, "changed", content=content, **names)


def _change(here: Here, todo_id: str, word: str, **changes: str | None) -> None:
    told = here.door().change_todo(todo_id, **changes)
    if here.is_json:
        here.screen.document(told)
    else:
        here.screen.say(f"{word}: {todo_words(told)}")
