"""Taking a turn: one transaction from what was said to the session, the message, the memories and what is due."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.conversation.describing import SHADOW
from recollect.domain.conversation.personas import DEFAULT_PERSONA, Persona
from recollect.domain.conversation.sessions import Message, Session, SessionState
from recollect.domain.conversation.summaries import ROLLING_EVERY, SPINE_EVERY
from recollect.domain.errors import InvalidRequest, NotFound
from recollect.domain.governance.redaction import WITHHELD
from recollect.domain.governance.terms import Source
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.remembering.captures import Capture
from recollect.domain.values import stored_value
from recollect.ports.extractor import Extracted
from recollect.service.conversation.kept import (
    Counted,
    Due,
    Open,
    end_session,
    keep_message,
    keep_session,
    keep_state,
    kept,
    note_due,
    persona_of,
    state_of,
)
from recollect.service.conversation.looping import Looping
from recollect.service.conversation.places import ROLLING, SPINE, Talks, open_note
from recollect.service.conversation.shown import shown, shown_session
from recollect.service.pipeline.engine import Remembering
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting
from recollect.service.pipeline.proposals import Remembered

IDLE = "idle"
OVER = "the session is over; leave `session` out, and a new one begins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn that somebody takes, checked."""

    owner: str
    persona: str
    session: str | None
    project: str | None
    private: bool
    at: Instant
    told: bool
    """Whether its moment was given, and not taken from the clock."""
    user: Capture | None
    ai: Capture | None
    found: Extracted | None
    """What was found in the words of the user."""
    unfit: tuple[Remembered, ...] = ()
    """What was found and is no memory."""

    @property
    def captures(self) -> tuple[Capture, ...]:
        """What was said, the user first."""
        return tuple(each for each in (self.user, self.ai) if each is not None)


@dataclass(slots=True)
class Taking:
    """A turn under way."""

    way: Promoting
    engine: Remembering
    turn: Turn
    talks: Talks
    due: list[Due] = field(default_factory=list)

    async def take(self) -> dict[str, Any]:
        """Take the turn; what is answered."""
        turn = self.turn
        session, opened, closed, persona = await self._session()
        at = max(turn.at, session.last_activity_at)
        self.way.places = Places(turn.owner, session.id, turn.project)
        await self.way.ruling.allow(Action.WRITE, self.talks.sessions.segments, session.id)
        remembered = await self._remember(session)
        loops = await self._hear(session, persona, at)
        before = await state_of(self.way.draft, self.talks, session.persona)
        state = before if turn.user is None else before.heard(turn.user.text, at)
        session = session.said(at, by_user=turn.user is not None)
        number = await self._say(session, at)
        keep_session(self.way.draft, session)
        keep_state(self.way.draft, self.talks, session.persona, state)
        if opened or turn.told:
            touched = Open(user=turn.owner, persona=session.persona, touched=self.way.now)
            self.way.draft.put(open_note(session.id), msgspec.json.encode(touched))
        self._note_rolling(session, state, number)
        await self._note_spine(persona)
        return {
            "session": shown_session(session),
            "state": shown(state),
            "number": number,
            "opened": opened,
            "closed": None if closed is None else shown_session(closed),
            "captures": [each.id for each in turn.captures],
            "remembered": [each.told() for each in (*remembered, *turn.unfit)],
            "loops": loops,
            "due": [each.told() for each in self.due],
            "by": None if turn.found is None else turn.found.by,
            "trouble": None if turn.found is None else turn.found.trouble,
        }

    # -- the session

    async def _session(self) -> tuple[Session, bool, Session | None, Persona]:
        """The session that the turn is in, whether it began with it, and the one that ended before it."""
        named = await self._named()
        name = self.turn.persona if named is None else named.persona
        persona = await persona_of(self.way.draft, name)
        link = await self.way.draft.at(self.talks.open_one(name))
        held = None if link is None else await kept(self.way.draft, self.talks.session(link["session"]), Session)
        if named is not None and (held is None or held.id != named.id or named.is_idle(self.turn.at, persona.silence)):
            raise InvalidRequest(OVER, field="session")
        if held is not None and not held.is_idle(self.turn.at, persona.silence):
            self._check_order(held.last_activity_at)
            return held, False, None, persona
        closed = None if held is None else await self._over(held)
        state = await state_of(self.way.draft, self.talks, name)
        self._check_order(closed.last_activity_at if closed else state.last_interaction)
        started = max(self.turn.at, state.last_interaction or self.turn.at)
        session = Session(
            id=self.way.new_id("ses"), user=self.turn.owner, persona=name, started_at=started, last_activity_at=started
        )
        self.way.draft.put(self.talks.open_one(name), {"session": session.id})
        return session, True, closed, persona

    async def _named(self) -> Session | None:
        """The session that was asked for, if one was; it says with whom."""
        turn = self.turn
        if turn.session is None:
            return None
        session = await kept(self.way.draft, self.talks.session(turn.session), Session)
        if session is None:
            raise NotFound("session not found; leave `session` out, and a new one begins")
        if turn.persona not in (DEFAULT_PERSONA, session.persona):
            raise InvalidRequest("the session is with another persona", field="persona")
        if not session.is_open:
            raise InvalidRequest(OVER, field="session")
        return session

    async def _over(self, session: Session) -> Session:
        last = (await self.way.draft.at(self.talks.counter(session.persona)) or {}).get("number", 0)
        over, due = end_session(self.way, session, IDLE, last)
        self.due.append(due)
        return over

    def _check_order(self, last: Instant | None) -> None:
        if self.turn.told and last is not None and self.turn.at < last:
            raise InvalidRequest(
                f"something was said to this persona at {shapes.written(last)} already; tell turns in their order",
                field="at",
            )

    # -- what was said

    async def _remember(self, session: Session) -> list[Remembered]:
        """Append the captures, and remember what of the user's words the rules let in."""
        turn, found = self.turn, list[Remembered]()
        self.way.moment, self.way.origin = turn.at, SHADOW
        for capture in turn.captures:
            mine = msgspec.structs.replace(capture, session=session.id)
            address = self.way.places.captures(mine.id)
            value = msgspec.json.encode(mine)
            await self.way.ruling.allow(Action.WRITE, address.namespace.segments, mine.id, stored_value(value))
            labels = {"kind": mine.kind.value, "channel": mine.channel.value, "session": session.id}
            self.way.draft.put(address, value, labels, new=True)
            extracted = turn.found if capture is turn.user else None
            silent = Extracted(statements=(), by=self.engine.extractor.name)
            only = session.persona if turn.private else None
            found += await self.engine.look_into(self.way, mine, extracted or silent, only)
        return found

    async def _hear(self, session: Session, persona: Persona, at: Instant) -> list[dict[str, Any]]:
        """What becomes of the todos by what the user says in their own words."""
        said = self.turn.user
        if said is None or said.source is not Source.USER:
            return []
        text = said.text.replace(WITHHELD, " ").strip()
        names = tuple(each for each in (persona.name, persona.label) if each)
        return await Looping(self.way, self.talks, session.persona, at, session.id, (said.id,)).hear(text, names)

    async def _say(self, session: Session, at: Instant) -> int:
        """Draft the message; its number."""
        counter = self.talks.counter(session.persona)
        number: int = (await self.way.draft.at(counter) or {}).get("number", 0) + 1
        self.way.draft.put(counter, {"number": number})
        message = Message(
            number=number,
            session=session.id,
            persona=session.persona,
            at=at,
            user=None if self.turn.user is None else self.turn.user.text,
            ai=None if self.turn.ai is None else self.turn.ai.text,
            captures=tuple(each.id for each in self.turn.captures),
        )
        keep_message(self.way.draft, self.talks, message)
        return number

    # -- what is due

    def _note_rolling(self, session: Session, state: SessionState, number: int) -> None:
        """Note a rolling summary after every fourth message of the user."""
        if self.turn.user is None or state.message_count % ROLLING_EVERY:
            return
        self._note(
            Due(
                kind=ROLLING,
                user=session.user,
                persona=session.persona,
                session=session.id,
                number=number,
                message_count=state.message_count,
            )
        )

    async def _note_spine(self, persona: Persona) -> None:
        """Count what was said, and note a version of the spine once that is enough."""
        if not persona.spine:
            return
        before = await kept(self.way.draft, self.talks.spine_counter, Counted) or Counted()
        said = len(self.turn.captures)
        counted = Counted(before.version, before.since + said, before.total + said)
        self.way.draft.put(self.talks.spine_counter, msgspec.json.encode(counted))
        if counted.since <= SPINE_EVERY:
            return
        self._note(
            Due(
                kind=SPINE,
                user=self.turn.owner,
                version=counted.version + 1,
                message_count=counted.since,
                total=counted.total,
            )
        )

    def _note(self, due: Due) -> None:
        note_due(self.way.draft, due)
        self.due.append(due)
