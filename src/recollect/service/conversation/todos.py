"""Todos: what is open between a user and a persona, changed by hand and told by kind."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.conversation.todos import MAX_CONTENT, Loop, LoopKind, Todo, TodoStatus
from recollect.domain.errors import InvalidRequest, NotFound
from recollect.domain.promotion import shapes
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import kept_of
from recollect.domain.scrubbing import cleaned
from recollect.domain.text import flaw_in
from recollect.service.conversation.kept import kept
from recollect.service.conversation.looping import Looping
from recollect.service.conversation.places import Talks
from recollect.service.conversation.shown import shown_todo
from recollect.service.conversation.talking import Talking, read_id, read_row
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

_MOST_KEY = 200


class Todos(Talking):
    """Todos, in the name of one caller."""

    async def list_todos(
        self,
        *,
        persona: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """The todos of the caller, changed last first."""
        asked: dict[str, Any] = {}
        if persona is not None:
            asked["persona"] = persona_name(persona)
        if kind is not None:
            asked["kind"] = shapes.one_of(LoopKind, kind, "kind").value
        if status is not None:
            asked["status"] = shapes.one_of(TodoStatus, status, "status").value
        rows, after = await self._listed(Plane.TODO, Talks(self._owner).todos, asked or None, limit, cursor)
        return {"todos": [shown_todo(read_row(row, Todo)) for row in rows], "cursor": after}

    async def get_todo(self, todo_id: str) -> dict[str, Any]:
        """A todo."""
        return shown_todo(await self._found_at(Talks(self._owner).todo(read_id(todo_id)), Todo, "todo"))

    async def add_todo(
        self,
        content: str,
        *,
        kind: str = LoopKind.COMMITMENT,
        persona: str = DEFAULT_PERSONA,
        dedupe_key: str | None = None,
    ) -> dict[str, Any]:
        """Add a todo by hand. One that is pending and means the same is given in its place."""
        self._check_own_name()
        loop = Loop(
            kind=shapes.one_of(LoopKind, kind, "kind"),
            content=self._content(content),
            dedupe_key=_key(dedupe_key),
            confidence=1.0,
        )
        name, talks = persona_name(persona), Talks(self._owner)

        async def work(under_way: Promoting) -> tuple[bool, Todo]:
            await under_way.ruling.allow(Action.WRITE, talks.todos.segments, "todo")
            return await Looping(under_way, talks, name, under_way.now).open(loop)

        opened, todo = await self._workings.remembering.within(self._caller, Places(self._owner), work)
        return shown_todo(todo) | {"opened": opened}

    async def change_todo(
        self, todo_id: str, *, status: str | None = None, kind: str | None = None, content: str | None = None
    ) -> dict[str, Any]:
        """Say how far a todo is, what sort it is, or what it says."""
        self._check_own_name()
        talks, name = Talks(self._owner), read_id(todo_id)
        if status is None and kind is None and content is None:
            raise InvalidRequest("say what is to change: status, kind or content", field="status")
        wanted: dict[str, Any] = {}
        if status is not None:
            wanted["status"] = shapes.one_of(TodoStatus, status, "status")
        if kind is not None:
            wanted["kind"] = shapes.one_of(LoopKind, kind, "kind")
        if content is not None:
            wanted["content"] = self._content(content)

        async def work(under_way: Promoting) -> Todo:
            await under_way.ruling.allow(Action.WRITE, talks.todos.segments, name)
            todo = await kept(under_way.draft, talks.todo(name), Todo)
            if todo is None:
                raise NotFound("todo not found")
            changed = msgspec.structs.replace(todo, **wanted)
            return await Looping(under_way, talks, todo.persona, under_way.now).changed(todo, changed)

        return shown_todo(await self._workings.remembering.within(self._caller, Places(self._owner), work, name))

    def _content(self, given: object) -> str:
        """What is to be done, without what may not be kept."""
        if not isinstance(given, str) or flaw_in(given) or not cleaned(given).strip():
            raise InvalidRequest(f"content is text of 1 to {MAX_CONTENT} characters", field="content")
        kept_text = kept_of(given, self._workings.remembering.terms.contract.privacy).text
        if len(kept_text) > MAX_CONTENT:
            raise InvalidRequest(f"content is text of 1 to {MAX_CONTENT} characters", field="content")
        return kept_text


def _key(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given.strip()) <= _MOST_KEY or flaw_in(given):
        raise InvalidRequest(f"a dedupe_key is text of 1 to {_MOST_KEY} characters", field="dedupe_key")
    return given
