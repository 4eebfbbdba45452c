"""Gathering: what a summary is made from, as it is now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.conversation.lines import OF_ROLLING, OF_SESSION, lines_of
from recollect.domain.conversation.personas import Persona
from recollect.domain.conversation.sessions import Message, Session
from recollect.domain.conversation.spine import spine_of
from recollect.domain.conversation.summaries import Line, Rolling, Spine
from recollect.domain.conversation.todos import LoopKind, Todo, TodoStatus
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.records import Record
from recollect.ports.store import Store
from recollect.ports.summarizer import Told
from recollect.service.conversation.kept import Due
from recollect.service.conversation.places import Talks, persona_at
from recollect.service.governing.spaces import OpenSpaces

_PAGE = 50
_MOST_TODOS = 500
_OPEN = frozenset({"goal", "plan"})
"""What a memory says of something that is still to come."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """What there is for one summary that is due."""

    store: Store
    spaces: OpenSpaces
    tenant: str
    due: Due

    async def for_rolling(self) -> Told | None:
        """The late messages of a session that goes on, and what was said of it before; None once it is over."""
        session = await self._kept(self._talks.session(self.due.session), Session)
        if session is None or not session.is_open:
            return None
        before = await self._kept(self._talks.rolling(session.id), Rolling)
        lines = await self._lines(OF_ROLLING)
        return Told(lines=lines, before="" if before is None else before.text, persona=await self._called())

    async def for_session(self) -> Told | None:
        """The late messages of a session, and what is known to have come of it; None once it is erased."""
        session = await self._kept(self._talks.session(self.due.session), Session)
        if session is None:
            return None
        pending = [each for each in await self._todos() if each.session == session.id]
        commitments = [each.content for each in pending if each.kind is LoopKind.COMMITMENT]
        others = [each.content for each in pending if each.kind in (LoopKind.THREAD, LoopKind.FRICTION)]
        return Told(
            lines=await self._lines(OF_SESSION),
            persona=await self._called(),
            commitments=tuple(commitments),
            open_loops=tuple(others),
            people=await self._people(session),
        )

    async def spine(self, by: str, at: Instant) -> Spine:
        """A version of the spine. All personas read it, so nothing goes into it that only one of them knows: no
        private memories and no todos; what is open in it are plans and goals that all of them know.
        """
        known = await self._known(at)
        labels = {each.entity_refs[0]: each.entity_label for each in known if each.entity_refs and each.entity_label}
        return spine_of(
            [each for each in known if not is_open(each)],
            [as_todo(each) for each in known if is_open(each)],
            labels,
            version=self.due.version,
            message_count=self.due.message_count,
            at=at,
            by=by,
        )

    async def _known(self, now: Instant) -> list[Record]:
        """What all personas know of the user. What rests on a consent stays where that is looked at."""
        root = self._talks.own()
        held = (await self.spaces.fresh(self.tenant, root)).at(root, now)
        return [each.record for each in held if each.record.persona is None and each.record.consent_id is None]

    # -- inner

    @property
    def _talks(self) -> Talks:
        return Talks(self.due.user)

    async def _kept(self, address: Any, sort: type[Any]) -> Any:
        row = await self.store.get(self.tenant, address)
        return None if row is None or row.value is None else msgspec.json.decode(row.value, type=sort)

    async def _called(self) -> str:
        persona: Persona | None = await self._kept(persona_at(self.due.persona), Persona)
        return self.due.persona if persona is None or persona.label is None else persona.label

    async def _lines(self, most: int) -> tuple[Line, ...]:
        """The newest lines up to the message with which it became due, whatever was said since."""
        found: list[Message] = []
        cursor: str | None = None
        wanted = parse_filter({"session": self.due.session})
        place = self._talks.messages(self.due.persona)
        while True:
            query = Find(Plane.TURN, place, wanted, Order.NEWEST, _PAGE, cursor=cursor)
            page = await self.store.find(self.tenant, query)
            read = [msgspec.json.decode(row.value or b"{}", type=Message) for row in page.rows]
            found += [each for each in read if each.number <= self.due.number]
            cursor = page.cursor
            lines = lines_of(found, most)
            if cursor is None or len(lines) == 2 * most:
                return lines

    async def _todos(self) -> list[Todo]:
        wanted = parse_filter({"persona": self.due.persona, "status": TodoStatus.PENDING.value})
        query = Find(Plane.TODO, self._talks.todos, wanted, Order.OLDEST, _MOST_TODOS)
        rows = (await self.store.find(self.tenant, query)).rows
        return [msgspec.json.decode(row.value or b"{}", type=Todo) for row in rows]

    async def _people(self, session: Session) -> tuple[str, ...]:
        """The labels of the people whom the memories of a session tell of."""
        root = self._talks.own()
        held = (await self.spaces.fresh(self.tenant, root)).at(root, session.last_activity_at)
        labels = [
            each.record.entity_label
            for each in held
            if each.record.session == session.id
            and each.record.consent_id is None
            and any(ref.startswith("person:") for ref in each.record.entity_refs[:1])
        ]
        return tuple(dict.fromkeys(each for each in labels if each))


def is_open(record: Record) -> bool:
    """Whether a memory tells of something that is still to come."""
    return record.predicate in _OPEN


def as_todo(record: Record) -> Todo:
    """A plan or a goal that all personas know, as something that is open."""
    return Todo(
        id=record.id,
        user=record.owner,
        persona="",
        kind=LoopKind.THREAD,
        content=record.text,
        created_at=record.promoted_at,
        updated_at=record.promoted_at,
    )
