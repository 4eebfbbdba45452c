"""Reading: what lies between the turns of a user and a persona, for a context pack, as far as the caller may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from recollect.domain.address import Address
from recollect.domain.callers import Action
from recollect.domain.conversation.assembling import Kept, cut, lately
from recollect.domain.conversation.personas import DEFAULT_PERSONA, Persona, UserSeed
from recollect.domain.conversation.sessions import Message, Session
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine
from recollect.domain.conversation.todos import Todo
from recollect.domain.errors import InvalidRequest, NotFound
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.rows import Row
from recollect.service.conversation.kept import Counted
from recollect.service.conversation.looping import open_loops
from recollect.service.conversation.places import Talks, persona_at
from recollect.service.conversation.talking import read_id, read_row
from recollect.service.guard import Ruling
from recollect.service.ranked import Wish
from recollect.service.workings import Workings

LAST = 6
"""So many of the last turns are read: enough for six messages, even where only one side ever speaks."""
_SESSIONS = 10
"""So many sessions that ended last are looked at for the latest that has a summary."""
_SPARE = 8
_DIGITS = 4
"""What answers about equally well comes in the same order in two deployments, whose keys turn vectors differently."""
Read = TypeVar("Read", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Talk:
    """A user and a persona, the session that goes on between them, and what lies between their turns."""

    persona: str
    session: Session | None
    kept: Kept

    def last_words(self, most: int) -> str | None:
        """What the user said last in the session; None where they said nothing that was kept."""
        if self.session is None:
            return None
        said = [each.user for each in self.kept.messages if each.session == self.session.id and each.user]
        return cut(said[-1], most) if said and said[-1].strip() else None


class Reading:
    """One reading, under one state of the policy."""

    def __init__(self, workings: Workings, tenant: str, user: str, ruling: Ruling) -> None:
        self._workings, self._tenant, self._user, self._ruling = workings, tenant, user, ruling
        self._talks = Talks(user)

    async def talk(self, persona: str, session_id: str | None, most: int, now: Instant) -> Talk:
        """Everything but earlier words, with so many of the last messages."""
        named = None if session_id is None else await self._named(read_id(session_id), persona)
        persona = persona if named is None else named.persona
        session = named or await self._open_one(persona, now)
        counted = await self._at(self._talks.spine_counter, Counted) or Counted()
        spine = await self._at(self._talks.spine(counted.version), Spine) if counted.version else None
        rolling = None if session is None else await self._at(self._talks.rolling(session.id), Rolling)
        pending, done = await self._todos(persona, now)
        kept = Kept(
            pending=pending,
            done=done,
            seed=await self._at(self._talks.seed, UserSeed),
            spine=spine,
            rolling=rolling,
            summary=await self._summary(persona, session),
            messages=lately(await self._messages(persona), most),
        )
        return Talk(persona, session, kept)

    async def earlier(self, talk: Talk, query: str, most: int) -> tuple[Message, ...]:
        """What was said before the last turns that answers a query best. It is no evidence for anything."""
        place = self._talks.messages(talk.persona)
        view = await self._ruling.view(place.segments, None)
        if view is None or view.prefix != place.segments:
            return ()
        recent = {each.number for each in talk.kept.messages}

        def keep(row: Row) -> bool:
            return row.value is not None and read_row(row, Message).number not in recent

        deep = most + _SPARE
        wish = Wish(self._tenant, place, view.filter, (query,), limit=deep, plane=Plane.TURN, keep=keep, roots=(place,))
        hits = (await self._workings.searching.search(wish)).hits
        found = [(round(hit.score, _DIGITS), read_row(hit.row, Message)) for hit in hits]
        found.sort(key=lambda each: (-each[0], -each[1].number))
        return tuple(each for _, each in found[:most])

    # -- sessions

    async def _named(self, session_id: str, persona: str) -> Session:
        session = await self._at(self._talks.session(session_id), Session)
        if session is None:
            raise NotFound("session not found")
        if persona not in (DEFAULT_PERSONA, session.persona):
            raise InvalidRequest("the session is with another persona", field="persona")
        return session

    async def _open_one(self, persona: str, now: Instant) -> Session | None:
        """The session that goes on; one that was silent for too long is over, though nobody closed it yet."""
        row = await self._row(self._talks.open_one(persona))
        if row is None or row.value is None:
            return None
        named: str = msgspec.json.decode(row.value)["session"]
        session = await self._at(self._talks.session(named), Session)
        described = await self._row(persona_at(persona), asked=False)
        silence = (Persona(name=persona) if described is None else read_row(described, Persona)).silence
        return None if session is None or session.is_idle(now, silence) else session

    async def _summary(self, persona: str, session: Session | None) -> SessionSummary | None:
        """The summary of the last session that is over and has one, other than the session itself."""
        wanted = {"persona": persona, "open": False}
        place = self._talks.sessions
        view = await self._ruling.view(place.segments, wanted)
        if view is None or view.prefix != place.segments:
            return None
        query = Find(Plane.SESSION, place, view.filter, Order.NEWEST, _SESSIONS)
        rows = (await self._workings.store.find(self._tenant, query)).rows
        over = [read_row(row, Session) for row in rows if row.value is not None]
        over.sort(key=lambda each: (-(each.ended_at or 0), each.id))
        for each in over:
            found = (
                None
                if session and each.id == session.id
                else await self._at(self._talks.summary(each.id), SessionSummary)
            )
            if found is not None:
                return found
        return None

    # -- todos and messages

    async def _todos(self, persona: str, now: Instant) -> tuple[tuple[Todo, ...], tuple[Todo, ...]]:
        place = self._talks.todos
        view = await self._ruling.view(place.segments, None)
        if view is None or view.prefix != place.segments or view.filter != parse_filter(None):
            return (), ()
        found = await open_loops(self._workings.store, self._tenant, self._user, persona, now)
        return (*found.commitments, *found.threads, *found.frictions, *found.habits), found.wins

    async def _messages(self, persona: str) -> tuple[Message, ...]:
        """The last turns, the oldest first."""
        row = await self._row(self._talks.counter(persona))
        last = 0 if row is None or row.value is None else int(msgspec.json.decode(row.value)["number"])
        wanted = [self._talks.message(persona, number) for number in range(max(last - LAST, 0) + 1, last + 1)]
        if not wanted or not await self._ruling.allows(Action.READ, wanted[-1].namespace.segments, wanted[-1].key):
            return ()
        rows = await self._workings.store.get_each([(self._tenant, each) for each in wanted])
        return tuple(read_row(row, Message) for row in rows if row is not None and row.value is not None)

    # -- inner

    async def _at(self, address: Address, sort: type[Read]) -> Read | None:
        row = await self._row(address)
        return None if row is None or row.value is None else read_row(row, sort)

    async def _row(self, address: Address, *, asked: bool = True) -> Row | None:
        """What is at an address, if the caller may read it; `asked` is whether that is looked at."""
        if asked and not await self._ruling.allows(Action.READ, address.namespace.segments, address.key):
            return None
        return await self._workings.store.get(self._tenant, address)
