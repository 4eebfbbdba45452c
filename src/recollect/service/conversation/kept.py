"""Kept: reading and drafting what lies between turns, within one transaction."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from recollect.domain.address import Address
from recollect.domain.conversation.personas import Persona
from recollect.domain.conversation.sessions import Message, Session, SessionState
from recollect.domain.conversation.todos import Todo
from recollect.domain.instants import Instant
from recollect.service.conversation.places import (
    SUMMARY,
    Talks,
    due_note,
    open_note,
    persona_at,
)
from recollect.service.pipeline.draft import Draft
from recollect.service.pipeline.promoting import Promoting

Read = TypeVar("Read", bound=msgspec.Struct)
SAID = '["user","ai"]'
"""What of a message can be searched for."""


class Due(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a summary is to be made: ids and counts, and nothing of what was said."""

    kind: str
    user: str
    persona: str = ""
    session: str = ""
    number: int = 0
    """The last message that it is about."""
    message_count: int = 0
    """Messages of the user when it became due; of either side since the last, where it is a spine."""
    version: int = 0
    """Of the spine."""
    total: int = 0
    """Messages that were ever counted for the spine when it became due."""
    attempts: int = 0
    not_before: Instant = Instant(0)

    @property
    def address(self) -> Address:
        """Where the note lies."""
        return due_note(self.kind, self.session or self.user)

    def told(self) -> dict[str, str]:
        """What became due, as callers see it."""
        return {"kind": self.kind, "of": self.session or "user"}


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """That a session goes on, and whose it is."""

    user: str
    persona: str
    touched: Instant
    """When it was last known to go on, by the clock: what is told of the past may be told right now."""


class Counted(msgspec.Struct, frozen=True):
    """How far the spine is, and how much was said since."""

    version: int = 0
    since: int = 0
    total: int = 0


async def kept(draft: Draft, address: Address, sort: type[Read]) -> Read | None:
    """What lies at an address, as the draft leaves it."""
    raw = await draft.bytes_at(address)
    return None if raw is None else msgspec.json.decode(raw, type=sort)


async def persona_of(draft: Draft, name: str) -> Persona:
    """A persona as its tenant described it, or one that nobody did."""
    return await kept(draft, persona_at(name), Persona) or Persona(name=name)


async def state_of(draft: Draft, talks: Talks, persona: str) -> SessionState:
    """What is known of a user and a persona."""
    return await kept(draft, talks.state(persona), SessionState) or SessionState()


def keep_session(draft: Draft, session: Session) -> None:
    """Draft a session as it is now."""
    address = Talks(session.user).session(session.id)
    draft.put(address, msgspec.json.encode(session), {"persona": session.persona, "open": session.is_open})


def keep_state(draft: Draft, talks: Talks, persona: str, state: SessionState) -> None:
    """Draft what outlives the sessions."""
    draft.put(talks.state(persona), msgspec.json.encode(state))


def keep_message(draft: Draft, talks: Talks, message: Message) -> None:
    """Draft a message, so that what it says can be searched for."""
    address = talks.message(message.persona, message.number)
    draft.put(address, msgspec.json.encode(message), {"session": message.session}, fields=SAID, new=True)


def keep_todo(draft: Draft, todo: Todo) -> None:
    """Draft a todo as it is now."""
    labels = {"persona": todo.persona, "kind": todo.kind.value, "status": todo.status.value}
    draft.put(Talks(todo.user).todo(todo.id), msgspec.json.encode(todo), labels)


def note_due(draft: Draft, due: Due) -> None:
    """Draft the note that a summary is to be made."""
    draft.put(due.address, msgspec.json.encode(due), {"user": due.user})


def end_session(under_way: Promoting, session: Session, by: str, number: int) -> tuple[Session, Due]:
    """Draft the end of a session, and that its summary is to be made."""
    over = session.closed(by)
    talks, draft = Talks(session.user), under_way.draft
    keep_session(draft, over)
    draft.delete(talks.open_one(session.persona))
    draft.delete(open_note(session.id))
    due = Due(kind=SUMMARY, user=session.user, persona=session.persona, session=session.id, number=number)
    note_due(draft, due)
    return over, due
