"""Summarizing: what became due is made once, whoever makes it, and is lost by nobody's death."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from recollect.domain.callers import local_caller
from recollect.domain.conversation.personas import Persona
from recollect.domain.conversation.sessions import RollingTrouble, Session
from recollect.domain.conversation.summaries import Rolling, SessionSummary, Spine
from recollect.domain.errors import RecollectError
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant, after_seconds
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.ports.summarizer import Rolled, Summarizer, Summed
from recollect.service.conversation.gathering import Gathering
from recollect.service.conversation.kept import (
    Counted,
    Due,
    Open,
    end_session,
    keep_state,
    kept,
    note_due,
    persona_of,
    state_of,
)
from recollect.service.conversation.places import (
    DUE,
    OPEN,
    ROLLING,
    SPINE,
    SUMMARY,
    Talks,
    open_note,
    persona_at,
)
from recollect.service.governing.spaces import OpenSpaces
from recollect.service.pipeline.engine import Remembering
from recollect.service.pipeline.places import Places
from recollect.service.pipeline.promoting import Promoting

log = logging.getLogger("recollect.conversing")
Result = TypeVar("Result")
_ACTOR = "chronicler"
_IDLE = "idle"
_BATCH = 100
_MOST_ATTEMPTS = 10
"""After so many failures it is tried no more than every so often."""
_LONGEST_WAIT = 600.0
AfterEach = Callable[[int], Awaitable[bool]]


@dataclass(slots=True)
class Summarizing:
    """Makes the summaries of a service, for all callers, and ends sessions that fell silent."""

    remembering: Remembering
    spaces: OpenSpaces
    summarizer: Summarizer
    inline: bool = True
    """Whether nobody else makes what is due, so that whoever causes it does."""
    wake: Callable[[], None] = field(default=lambda: None)
    """Called when something became due that somebody else makes."""

    async def stirred(self, tenant: str, user: str) -> None:
        """Something became due: make it now, or wake whoever does. What fails is made later."""
        if self.summarizer.asks and not self.inline:
            self.wake()
            return
        with suppress(RecollectError):  # the turn is kept in any case, and the note of what is due is, too
            await self.summarize_due(tenant, user)

    async def summarize_due(self, tenant: str, user: str | None = None, after_each: AfterEach | None = None) -> int:
        """Make what is due in a tenant, or of one user there, and say how much that was."""
        done, cursor = 0, None
        wanted = parse_filter(None if user is None else {"user": user})
        while True:
            query = Find(Plane.LINK, DUE, wanted, Order.KEY, _BATCH, cursor=cursor)
            page = await self.remembering.store.find(tenant, query)
            for row in page.rows:
                due = msgspec.json.decode(row.value or b"{}", type=Due)
                if due.not_before <= self.remembering.clock():
                    done += await self._make(tenant, due)
                if after_each is not None and not await after_each(done):
                    return done
            cursor = page.cursor
            if cursor is None:
                return done

    async def close_idle(self, tenant: str, now: Instant | None = None, after_each: AfterEach | None = None) -> int:
        """End the sessions of a tenant in which nothing was said for too long; say how many those were."""
        done, cursor = 0, None
        moment = self.remembering.clock() if now is None else now
        silences: dict[str, int] = {}
        while True:
            query = Find(Plane.LINK, OPEN, order=Order.KEY, limit=_BATCH, cursor=cursor)
            page = await self.remembering.store.find(tenant, query)
            for row in page.rows:
                note = msgspec.json.decode(row.value or b"{}", type=Open)
                if note.persona not in silences:
                    silences[note.persona] = await self._silence(tenant, note.persona)
                done += await self._close(tenant, note, row.address.key, moment, silences)
                if after_each is not None and not await after_each(done):
                    return done
            cursor = page.cursor
            if cursor is None:
                return done

    # -- sessions

    async def _silence(self, tenant: str, persona: str) -> int:
        row = await self.remembering.store.get(tenant, persona_at(persona))
        described = None if row is None or row.value is None else msgspec.json.decode(row.value, type=Persona)
        return (described or Persona(name=persona)).silence

    async def _close(self, tenant: str, note: Open, session_id: str, now: Instant, silences: dict[str, int]) -> int:
        store = self.remembering.store
        row = await store.get(tenant, Talks(note.user).session(session_id))
        session = None if row is None or row.value is None else msgspec.json.decode(row.value, type=Session)
        if session is not None and not _silent(session, note, now, silences[note.persona]):
            return 0

        async def work(under_way: Promoting) -> int:
            draft = under_way.draft
            held = await kept(draft, Talks(note.user).session(session_id), Session)
            link = open_note(session_id)
            told = await kept(draft, link, Open)
            if held is None or told is None or not held.is_open:
                draft.delete(link)  # it was erased, or somebody else ended it
                return 0
            if not _silent(held, told, now, (await persona_of(draft, held.persona)).silence):
                return 0
            last = (await draft.at(Talks(note.user).counter(held.persona)) or {}).get("number", 0)
            end_session(under_way, held, _IDLE, last)
            return 1

        return await self._within(tenant, note.user, work)

    # -- summaries

    async def _make(self, tenant: str, due: Due) -> int:
        """Make one that is due; 0 when somebody else did, or when it has to wait."""
        makers = {ROLLING: self._roll, SUMMARY: self._sum_up, SPINE: self._grow}
        try:
            return await makers[due.kind](tenant, due)
        except Exception as problem:  # noqa: BLE001 - whatever a summarizer raises, its work is done later
            code = problem.code if isinstance(problem, RecollectError) else type(problem).__name__
            log.warning("summary.failed", extra={"fields": {"kind": due.kind, "code": code}})
            await self._put_off(tenant, due)
            return 0

    async def _roll(self, tenant: str, due: Due) -> int:
        told = await self._gathering(tenant, due).for_rolling()
        made: Rolled | None = None if told is None else await self._asked(lambda: self.summarizer.rolling(told))

        async def work(under_way: Promoting) -> int:
            draft, talks = under_way.draft, Talks(due.user)
            if await kept(draft, due.address, Due) != due:
                return 0  # somebody else made it, or a later one is due
            draft.delete(due.address)
            session = await kept(draft, talks.session(due.session), Session)
            if session is None or not session.is_open or made is None:
                return 0  # a rolling summary belongs to its session, and goes with it
            state = await state_of(draft, talks, due.persona)
            trouble = None if made.trouble is None else RollingTrouble(made.trouble)
            changed: dict[str, Any] = {"last_rolling_attempt_at": under_way.now, "last_rolling_error": trouble}
            if made.text:
                rolling = Rolling(
                    session=session.id,
                    text=made.text,
                    message_count=due.message_count,
                    at=under_way.now,
                    by=made.by,
                )
                draft.put(talks.rolling(session.id), msgspec.json.encode(rolling), {"persona": due.persona})
                changed |= {
                    "last_rolling_success_at": under_way.now,
                    "last_rolling_message_count": due.message_count,
                }
            keep_state(draft, talks, due.persona, msgspec.structs.replace(state, **changed))
            return 1

        return await self._within(tenant, due.user, work)

    async def _sum_up(self, tenant: str, due: Due) -> int:
        told = await self._gathering(tenant, due).for_session()
        made: Summed | None = None if told is None else await self._asked(lambda: self.summarizer.session(told))

        async def work(under_way: Promoting) -> int:
            draft, talks = under_way.draft, Talks(due.user)
            if await kept(draft, due.address, Due) != due:
                return 0
            draft.delete(due.address)
            session = await kept(draft, talks.session(due.session), Session)
            if session is None or made is None:
                return 0  # it was erased
            summary = SessionSummary(
                session=session.id,
                persona=session.persona,
                summary=made.summary,
                at=under_way.now,
                by=made.by,
                trouble=made.trouble,
            )
            address = talks.summary(session.id)
            draft.put(address, msgspec.json.encode(summary), {"persona": session.persona}, new=True)
            return 1

        return await self._within(tenant, due.user, work)

    async def _grow(self, tenant: str, due: Due) -> int:
        gathering = self._gathering(tenant, due)
        made: Spine = await gathering.spine(self.summarizer.name, self.remembering.clock())

        async def work(under_way: Promoting) -> int:
            draft, talks = under_way.draft, Talks(due.user)
            held = await kept(draft, due.address, Due)
            if held is None or held.version != due.version:
                return 0
            counted = await kept(draft, talks.spine_counter, Counted)
            draft.delete(due.address)
            if counted is None or counted.version + 1 != due.version:
                return 0
            rest = Counted(due.version, counted.total - due.total, counted.total)
            draft.put(talks.spine_counter, msgspec.json.encode(rest))
            draft.put(talks.spine(due.version), msgspec.json.encode(made), new=True)
            return 1

        return await self._within(tenant, due.user, work)

    async def _put_off(self, tenant: str, due: Due) -> None:
        """Note that it failed, and that it is tried again after a while."""

        async def work(under_way: Promoting) -> None:
            if await kept(under_way.draft, due.address, Due) != due:
                return
            seconds = min(_LONGEST_WAIT, 2.0 ** min(due.attempts, _MOST_ATTEMPTS))
            later = after_seconds(under_way.now, seconds)
            note_due(
                under_way.draft, msgspec.structs.replace(due, attempts=due.attempts + 1, not_before=Instant(later))
            )
            if due.kind != ROLLING:
                return
            talks = Talks(due.user)
            state = await state_of(under_way.draft, talks, due.persona)
            trouble = RollingTrouble("exception")
            changed = msgspec.structs.replace(state, last_rolling_attempt_at=under_way.now, last_rolling_error=trouble)
            keep_state(under_way.draft, talks, due.persona, changed)

        await self._within(tenant, due.user, work)

    # -- inner

    def _gathering(self, tenant: str, due: Due) -> Gathering:
        return Gathering(self.remembering.store, self.spaces, tenant, due)

    async def _asked(self, ask: Callable[[], Result]) -> Result:
        """What the summarizer answers; one that takes its time does so on a thread of its own."""
        if not self.summarizer.asks or self.remembering.store.direct:
            return ask()
        return await asyncio.to_thread(ask)

    async def _within(self, tenant: str, user: str, work: Callable[[Promoting], Awaitable[Result]]) -> Result:
        return await self.remembering.within(local_caller(tenant, _ACTOR), Places(user), work, _ACTOR)


def _silent(session: Session, note: Open, now: Instant, seconds: float) -> bool:
    """Whether a session is over. By the clock, too: what is told of the past may be told right now."""
    return session.is_idle(now, seconds) and now - note.touched >= seconds * 1_000_000
