"""Importing: conversations from elsewhere taken page by page, each turn once, however often that is interrupted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.address import Address
from recollect.domain.callers import Action
from recollect.domain.conversation.importing import ImportedTurn
from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.conversation.sessions import Session
from recollect.domain.errors import InvalidInput, InvalidRequest
from recollect.domain.instants import Instant, datetime_of, parse_rfc3339
from recollect.domain.reasons import Plane
from recollect.domain.remembering.captures import MAX_TEXT
from recollect.domain.text import flaw_in
from recollect.service.conversation.kept import end_session, kept
from recollect.service.conversation.places import Talks
from recollect.service.conversation.sessions import REQUEST
from recollect.service.conversation.taking import Taking
from recollect.service.conversation.turns import Conversing
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

MAX_PAGE = 200
"""So many turns are taken at once."""
_SOURCE = re.compile(r"[0-9a-f]{64}")
_FIELDS = frozenset(ImportedTurn.__struct_fields__)
_MAX_NAME = 200


class GoingOn(msgspec.Struct, frozen=True):
    """The session that an import is in with a persona, and what the source calls that conversation."""

    session: str
    conversation: str | None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """How far the import of a source came, and what came of it."""

    position: int = 0
    """How many of its turns were taken."""
    sessions: int = 0
    memories: int = 0
    waiting: int = 0
    """Memories that wait for a person."""
    todos: int = 0
    going_on: dict[str, GoingOn] = {}

    def took(self, told: Mapping[str, Any], persona: str, conversation: str | None) -> Imported:
        """The same after one turn more."""
        remembered, loops = told["remembered"], told["loops"]
        return Imported(
            position=self.position + 1,
            sessions=self.sessions + bool(told["opened"]),
            memories=self.memories + sum(each["outcome"] == "promoted" for each in remembered),
            waiting=self.waiting + sum(each["outcome"] == "waiting" for each in remembered),
            todos=self.todos + sum(each["outcome"] == "opened" for each in loops),
            going_on=self.going_on | {persona: GoingOn(told["session"]["id"], conversation)},
        )

    def shown(self, source: str) -> dict[str, Any]:
        """The same as callers see it."""
        counts = {"sessions": self.sessions, "memories": self.memories, "waiting": self.waiting, "todos": self.todos}
        return {"source": source, "position": self.position} | counts


class Importing(Conversing):
    """Conversations from elsewhere, in the name of one caller."""

    async def import_conversation(
        self,
        turns: Sequence[Mapping[str, Any]],
        *,
        source: str,
        position: int,
        persona: str = DEFAULT_PERSONA,
    ) -> dict[str, Any]:
        """Take a page of a conversation from elsewhere: its turns in order, from a position in their source.

        A source is named by the SHA-256 of what was read. A turn has an `at`, what `user` or `ai` said, and perhaps a
        `persona` and a `conversation`; a session ends where another conversation begins. What was taken before is not
        taken again, so that an import which was interrupted is repeated from where `conversation_progress` says.
        """
        self._check_own_name()
        address, usual = self._import_at(source), persona_name(persona)
        if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Sequence) or len(turns) > MAX_PAGE:
            raise InvalidRequest(f"turns are a list of at most {MAX_PAGE} objects", field="turns")
        if isinstance(position, bool) or not isinstance(position, int) or position < 0:
            raise InvalidRequest("a position is a whole number from 0", field="position")
        read = [_turn_of(each, position + place) for place, each in enumerate(turns)]
        before = await self._imported(address)
        if position > before.position:
            raise InvalidRequest(
                f"the import came to position {before.position}, not to {position}; go on there", field="position"
            )
        taken, after = 0, before
        for number, each in enumerate(read, position):
            if number < after.position:
                continue
            try:
                found = await self._import_turn(address, number, each, usual)
            except InvalidInput as problem:
                raise InvalidRequest(f"turn {number}: {problem}") from problem
            if found is None:  # somebody else imports the same
                after = await self._imported(address)
                continue
            after, is_due = found
            taken += 1
            if is_due:
                await self._workings.summarizing.stirred(self._tenant, self._owner)
        return after.shown(source) | {"taken": taken, "skipped": len(read) - taken}

    async def conversation_progress(self, source: str) -> dict[str, Any]:
        """How far the import of a source came; 0 for one that was never begun."""
        self._check_own_name()
        address = self._import_at(source)
        ruling = await self._workings.guard.begin(self._caller)
        await ruling.allow(Action.READ, address.namespace.segments, address.key)
        return (await self._imported(address)).shown(source)

    def _import_at(self, source: object) -> Address:
        if not isinstance(source, str) or _SOURCE.fullmatch(source) is None:
            raise InvalidRequest("a source is named by its SHA-256, 64 hexadecimal digits", field="source")
        return Address(Plane.TRANSFER, Talks(self._owner).own("imports"), source)

    async def _imported(self, address: Address) -> Imported:
        row = await self._workings.store.get(self._tenant, address)
        return Imported() if row is None or row.value is None else msgspec.json.decode(row.value, type=Imported)

    async def _import_turn(
        self, address: Address, number: int, each: ImportedTurn, usual: str
    ) -> tuple[Imported, bool] | None:
        """Take one turn, and note that it was taken, in one transaction; None when it was taken already."""
        persona = usual if each.persona is None else persona_name(each.persona)
        at = int(self._past(datetime_of(each.at)))
        given = {"user": each.user, "ai": each.ai, "persona": persona, "session": None, "private": False}
        turn = await self._turn(given | {"project": None, "at": at})
        engine, talks = self._workings.remembering, Talks(self._owner)

        async def work(under_way: Promoting) -> tuple[Imported, bool] | None:
            before = await kept(under_way.draft, address, Imported) or Imported()
            if before.position != number:
                return None
            await under_way.ruling.allow(Action.WRITE, address.namespace.segments, address.key)
            last = before.going_on.get(persona)
            ended = last is not None and last.conversation != each.conversation and await _end(under_way, talks, last)
            told = await Taking(under_way, engine, turn, talks).take()
            after = before.took(told, persona, each.conversation)
            under_way.draft.put(address, msgspec.json.encode(after))
            return after, bool(told["due"]) or ended

        return await engine.within(self._caller, Places(self._owner), work, turn.captures[0].id)


async def _end(under_way: Promoting, talks: Talks, last: GoingOn) -> bool:
    """Draft the end of the session of a conversation that is over, if it still goes on."""
    session = await kept(under_way.draft, talks.session(last.session), Session)
    if session is None or not session.is_open:
        return False
    number = (await under_way.draft.at(talks.counter(session.persona)) or {}).get("number", 0)
    end_session(under_way, session, REQUEST, number)
    return True


def _turn_of(given: object, number: int) -> ImportedTurn:
    """A turn as callers give it."""
    where = f"turn {number}"
    if not isinstance(given, Mapping) or given.keys() - _FIELDS:
        raise InvalidRequest(f"{where} is an object with {', '.join(sorted(_FIELDS))}, and nothing else", field="turns")
    at = given.get("at")
    moment = parse_rfc3339(at) if isinstance(at, str) else None
    if moment is None:
        raise InvalidRequest(f"{where}: at is a moment in time, e.g. 2026-05-04T09:30:00Z", field="turns")
    said = {name: _text(given.get(name), where, name) for name in ("user", "ai")}
    if not any(said.values()):
        raise InvalidRequest(f"{where} says nothing; give user, ai, or both", field="turns")
    named = {name: _name(given.get(name), where, name) for name in ("persona", "conversation")}
    if named["persona"] is not None:
        try:
            persona_name(named["persona"])
        except InvalidInput as problem:
            raise InvalidRequest(f"{where}: {problem}", field="turns") from None
    return ImportedTurn(at=Instant(moment), **said, **named)


def _text(given: object, where: str, field: str) -> str | None:
    if given is not None and (not isinstance(given, str) or flaw_in(given)):
        raise InvalidRequest(f"{where}: {field} is text", field="turns")
    if given is not None and not 1 <= len(given) <= MAX_TEXT:
        raise InvalidRequest(f"{where}: {field} has 1 to {MAX_TEXT:,} characters, or is left out", field="turns")
    return given if given is not None and given.strip() else None


def _name(given: object, where: str, field: str) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= _MAX_NAME or flaw_in(given):
        raise InvalidRequest(f"{where}: {field} is text of 1 to {_MAX_NAME} characters", field="turns")
    return given
