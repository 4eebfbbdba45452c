"""Looping: open loops as todos: opened once, closed when that is said, and told by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.conversation.completions import Change, heard
from recollect.domain.conversation.loop_words import signature
from recollect.domain.conversation.loops import filtered, loops_in
from recollect.domain.conversation.todos import Loop, LoopKind, Todo, TodoReason, TodoStatus
from recollect.domain.errors import InvalidRequest
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.ports.store import Store
from recollect.service.conversation.kept import keep_todo, kept
from recollect.service.conversation.places import Talks
from recollect.service.conversation.shown import shown_todo
from recollect.service.pipeline.places import blinded
from recollect.service.pipeline.promoting import Promoting

OPENED, KNOWN, COMPLETED, SKIPPED, HABIT = "opened", "known", "completed", "skipped", "became_habit"
"""What became of a loop that was heard of."""
WIN_SECONDS = 48 * 3_600
"""For so long it is told that something was done."""
_PAGE = 200
_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoops:
    """What is open between a user and a persona, the newest first, and what was done of late."""

    commitments: tuple[Todo, ...] = ()
    habits: tuple[Todo, ...] = ()
    threads: tuple[Todo, ...] = ()
    frictions: tuple[Todo, ...] = ()
    wins: tuple[Todo, ...] = ()


@dataclass(slots=True)
class Looping:
    """Todos of a user and a persona, in one transaction."""

    way: Promoting
    talks: Talks
    persona: str
    at: Instant
    session: str | None = None
    captures: tuple[str, ...] = ()

    async def hear(self, text: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
        """What becomes of the todos by what the user says, and what that opens."""
        pending = {each.id: each for each in await self.pending()}
        changes = heard(text, list(pending.values()), self.at)
        told = [await self._become(pending[each.todo_id], each) for each in changes]
        for loop in filtered(loops_in(text, names=names)):
            opened, todo = await self.open(loop)
            reason = None if opened else TodoReason.REPEATED.value
            told.append({"outcome": OPENED if opened else KNOWN, "todo": shown_todo(todo), "reason": reason})
        return told

    async def _become(self, todo: Todo, change: Change) -> dict[str, Any]:
        """Carry out what was heard of a todo."""
        done = change.status is TodoStatus.COMPLETED
        habit = None if change.became is None else (await self.open(change.became))[1]
        wanted = msgspec.structs.replace(
            todo,
            status=change.status,
            kind=change.kind or todo.kind,
            completed_at=self.at if done else None,
            became=None if habit is None else habit.id,
        )
        outcome = HABIT if habit is not None else COMPLETED if done else SKIPPED
        settled = self.settle(todo, wanted, change.reason)
        return {"outcome": outcome, "todo": shown_todo(settled), "reason": change.reason.value}

    async def open(self, loop: Loop) -> tuple[bool, Todo]:
        """Keep an open loop; False, and the todo, where one is pending that means the same."""
        signed = signature(loop)
        known = await self._pending_at(self._signed(loop.kind, signed))
        if known is not None:
            return False, known
        todo = Todo(
            id=self.way.new_id("tdo"),
            user=self.talks.user,
            persona=self.persona,
            kind=loop.kind,
            content=loop.content,
            dedupe_key=signed,
            created_at=self.at,
            updated_at=self.at,
            session=self.session,
            captures=self.captures,
            entity_refs=loop.entity_refs,
            confidence=loop.confidence,
        )
        self._keep(todo)
        return True, todo

    async def changed(self, todo: Todo, wanted: Todo) -> Todo:
        """Keep a todo as somebody changed it by hand."""
        if wanted.content != todo.content:
            renamed = signature(Loop(kind=wanted.kind, content=wanted.content))
            wanted = msgspec.structs.replace(wanted, dedupe_key=renamed)
        if wanted.status is TodoStatus.PENDING:
            other = await self._pending_at(self._signed(wanted.kind, wanted.dedupe_key))
            if other is not None and other.id != todo.id:
                raise InvalidRequest("another todo that is pending means the same", field="content")
        done = wanted.status is TodoStatus.COMPLETED
        completed = (todo.completed_at or self.at) if done else None
        became = todo.became if done else None
        return self.settle(
            todo,
            msgspec.structs.replace(wanted, completed_at=completed, became=became),
            TodoReason.CHANGED,
        )

    def settle(self, todo: Todo, wanted: Todo, reason: TodoReason) -> Todo:
        """Draft a todo as it becomes, and what stands for it while it is pending."""
        if todo.status is TodoStatus.PENDING:
            self.way.draft.delete(self._signed(todo.kind, todo.dedupe_key))
        settled = msgspec.structs.replace(wanted, updated_at=max(self.at, todo.updated_at), reason=reason)
        self._keep(settled)
        return settled

    async def pending(self) -> list[Todo]:
        """What is pending with the persona, oldest first; the transaction rests on it."""
        found: list[Todo] = []
        cursor: str | None = None
        wanted = parse_filter({"persona": self.persona, "status": TodoStatus.PENDING.value})
        while True:
            query = Find(Plane.TODO, self.talks.todos, wanted, Order.OLDEST, _PAGE, cursor=cursor)
            page = await self.way.draft.unit.find(query)
            found += [msgspec.json.decode(row.value, type=Todo) for row in page.rows if row.value is not None]
            cursor = page.cursor
            if cursor is None:
                return found

    def _keep(self, todo: Todo) -> None:
        keep_todo(self.way.draft, todo)
        if todo.status is TodoStatus.PENDING:
            self.way.draft.put(self._signed(todo.kind, todo.dedupe_key), {"todo": todo.id})

    def _signed(self, kind: LoopKind, signed: str) -> Any:
        return self.talks.signature(self.persona, blinded(self.way.key, "loop", kind.value, signed))

    async def _pending_at(self, address: Any) -> Todo | None:
        named = await self.way.draft.at(address)
        todo = None if named is None else await kept(self.way.draft, self.talks.todo(named["todo"]), Todo)
        return todo if todo is not None and todo.status is TodoStatus.PENDING else None


async def open_loops(store: Store, tenant: str, user: str, persona: str, now: Instant) -> OpenLoops:
    """What is open between a user and a persona, and what was done within two days."""
    found: list[Todo] = []
    for status in (TodoStatus.PENDING, TodoStatus.COMPLETED):
        wanted = parse_filter({"persona": persona, "status": status.value})
        cursor: str | None = None
        while len(found) < _MOST:
            query = Find(Plane.TODO, Talks(user).todos, wanted, Order.NEWEST, _PAGE, cursor=cursor)
            page = await store.find(tenant, query)
            found += [msgspec.json.decode(row.value, type=Todo) for row in page.rows if row.value is not None]
            cursor = page.cursor
            if cursor is None:
                break
    return sorted_loops(found, now)


def sorted_loops(todos: list[Todo], now: Instant) -> OpenLoops:
    """Todos by kind, the newest first; of those that were done, the ones within two days."""
    newest = sorted(todos, key=lambda each: (-int(each.completed_at or each.created_at), each.id))
    pending = [each for each in newest if each.status is TodoStatus.PENDING]
    since = now - WIN_SECONDS * 1_000_000
    wins = [each for each in newest if each.is_win and since <= (each.completed_at or 0) <= now]
    return OpenLoops(
        commitments=tuple(each for each in pending if each.kind is LoopKind.COMMITMENT),
        habits=tuple(each for each in pending if each.kind is LoopKind.HABIT),
        threads=tuple(each for each in pending if each.kind is LoopKind.THREAD),
        frictions=tuple(each for each in pending if each.kind is LoopKind.FRICTION),
        wins=tuple(wins),
    )
