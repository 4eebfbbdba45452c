"""Sessions: conversations as they went, what was said in them, and what was made of them."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.conversation.sessions import Message, Session, SessionState
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine
from recollect.domain.errors import InvalidRequest, NotFound
from recollect.domain.reasons import Plane
from recollect.service.conversation.kept import Counted, Due, end_session, kept
from recollect.service.conversation.places import Talks
from recollect.service.conversation.shown import shown, shown_session, shown_spine
from recollect.service.conversation.talking import Talking, read_id, read_row
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

REQUEST = "request"


class Sessions(Talking):
    """Sessions with personas, in the name of one caller."""

    async def list_sessions(
        self, *, persona: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> dict[str, Any]:
        """The sessions of the caller, those in which something was said last first."""
        asked = None if persona is None else {"persona": persona_name(persona)}
        rows, after = await self._listed(Plane.SESSION, Talks(self._owner).sessions, asked, limit, cursor)
        return {"sessions": [shown_session(read_row(row, Session)) for row in rows], "cursor": after}

    async def get_session(self, session_id: str) -> dict[str, Any]:
        """A session, with its rolling summary, and the one that was made when it was over."""
        talks, name = Talks(self._owner), read_id(session_id)
        session = await self._found_at(talks.session(name), Session, "session")
        rolling = await self._kept_at(talks.rolling(name), Rolling)
        summary = await self._kept_at(talks.summary(name), SessionSummary)
        return shown_session(session) | {
            "rolling": None if rolling is None else shown(rolling),
            "summary": None if summary is None else shown(summary),
        }

    async def close_session(self, session_id: str) -> dict[str, Any]:
        """End a session; its summary is made of it. One that is over stays as it is."""
        self._check_own_name()
        self._workings.guard.permit(self._caller, Action.READ)  # it is shown, so that is looked at before it is over
        talks, name = Talks(self._owner), read_id(session_id)

        async def work(under_way: Promoting) -> tuple[Session, Due | None]:
            await under_way.ruling.allow(Action.WRITE, talks.sessions.segments, name)
            session = await kept(under_way.draft, talks.session(name), Session)
            if session is None:
                raise NotFound("session not found")
            if not session.is_open:
                return session, None
            last = (await under_way.draft.at(talks.counter(session.persona)) or {}).get("number", 0)
            return end_session(under_way, session, REQUEST, last)

        _, due = await self._workings.remembering.within(self._caller, Places(self._owner), work, name)
        if due is not None:
            await self._workings.summarizing.stirred(self._tenant, self._owner)
        return await self.get_session(name)

    async def get_session_state(self, persona: str = DEFAULT_PERSONA) -> dict[str, Any]:
        """What is known of the caller and a persona across their sessions, and which session goes on."""
        talks, name = Talks(self._owner), persona_name(persona)
        address = talks.state(name)
        await self._may(Action.READ, address)
        state = await self._kept_at(address, SessionState) or SessionState()
        link = await self._workings.store.get(self._tenant, talks.open_one(name))
        going_on = None if link is None or link.value is None else msgspec.json.decode(link.value)["session"]
        return {"persona": name, "session": going_on} | shown(state)

    async def list_messages(
        self,
        *,
        persona: str | None = None,
        session: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> dict[str, Any]:
        """What was said, newest first: with all personas, with one, or in one session."""
        talks = Talks(self._owner)
        place = talks.own("personas") if persona is None else talks.messages(persona_name(persona))
        asked = None if session is None else {"session": read_id(session)}
        rows, after = await self._listed(Plane.TURN, place, asked, limit, cursor)
        return {"messages": [shown(read_row(row, Message)) for row in rows], "cursor": after}

    async def list_spines(self, *, limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
        """The versions of the spine, newest first."""
        rows, after = await self._listed(Plane.SUMMARY, Talks(self._owner).spines, None, limit, cursor)
        return {"spines": [shown_spine(read_row(row, Spine)) for row in rows], "cursor": after}

    async def get_spine(self, version: int | None = None) -> dict[str, Any]:
        """The spine as it is now, or in an earlier version."""
        talks = Talks(self._owner)
        if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 1):
            raise InvalidRequest("a version is a whole number from 1", field="version")
        if version is None:
            await self._may(Action.READ, talks.spine_counter)
            counted = await self._kept_at(talks.spine_counter, Counted) or Counted()
            version = counted.version
        return shown_spine(await self._found_at(talks.spine(version), Spine, "spine"))

    async def summarize_pending(self) -> int:
        """End what fell silent and make every summary that is due in the tenant, now; say how many were made."""
        self._workings.guard.permit(self._caller, Action.SWEEP)
        await self._workings.summarizing.close_idle(self._tenant)
        return await self._workings.summarizing.summarize_due(self._tenant)
