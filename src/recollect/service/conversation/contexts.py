"""Contexts of conversations: the pack for the next model call, from what is remembered and what lies between turns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.callers import Action
from recollect.domain.compiling.counting import checked_budget, counter_named
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import Pack
from recollect.domain.compiling.shipped import CONVERSATION, read_template
from recollect.domain.conversation.assembling import (
    HELPINGS,
    USUAL,
    Helping,
    state_of,
)
from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.errors import InvalidQuery
from recollect.domain.governance.terms import Kind
from recollect.domain.instants import Instant
from recollect.domain.measuring.figures import Figure
from recollect.domain.recall.asking import MAX_QUERY, Asked, Ranker, read_asked
from recollect.service.conversation.offering import Gathered, Offering
from recollect.service.conversation.reading import Reading, Talk
from recollect.service.reading import read_moment, read_wait
from recollect.service.recalling.contexts import BUDGET, Contexts, read_form, shown_pack
from recollect.service.recalling.recall import Look


class ConversationContexts(Contexts):
    """Context packs of conversations, in the name of one caller."""

    async def conversation_context(
        self,
        query: str | None = None,
        *,
        persona: str = DEFAULT_PERSONA,
        session: str | None = None,
        budget: int = BUDGET,
        counter: str = "chars",
        form: str = "json",
        template: str | Mapping[str, Any] | None = None,
        wait: float | None = None,
        at: datetime | None = None,
    ) -> dict[str, Any]:
        """The pack for the next call of a model in a conversation: memories, what is open, summaries, the last words.

        Without a query, the last words of the user in the session are asked with. A session is the one that goes on
        unless one is named. `at` is the moment that recency and recent wins are counted from, now unless it is given;
        the pack itself has no clock. Besides the pack there is told which memories were recalled and not offered to
        it, and why.
        """
        self._check_own_name()
        tokens, counting, wanted = checked_budget(budget), counter_named(counter), read_form(form)
        blocks = read_template(template, CONVERSATION)
        helping = HELPINGS.get(template, USUAL) if isinstance(template, str) else USUAL
        moment, waiting = self._counted_from(at), None if wait is None else read_wait(wait)
        self._workings.guard.permit(self._caller, Action.READ)
        reading = Reading(self._workings, self._tenant, self._owner, await self._workings.guard.begin(self._caller))
        talk = await reading.talk(persona_name(persona), session, helping.messages, moment)
        words = talk.last_words(MAX_QUERY) if query is None else query
        asked = _asked(words, talk, helping, moment)
        look = await self._look(asked, moment, waiting)
        gathered = await Offering(self._workings, self._tenant, look, helping, moment).gathered()
        earlier = await reading.earlier(talk, asked.query, helping.earlier) if asked.query else ()
        kept = msgspec.structs.replace(talk.kept, earlier=earlier)
        memories = [*gathered.foundation, *gathered.found]
        told, shown = [each for _, each in gathered.told], [each for _, each in memories]
        pack = compiled(
            [each for each, _ in memories],
            await self._unsettled(look.places, look.opened, [each for _, each in gathered.all], asked),
            state_of(kept, gathered.cards, shown, told, helping),
            budget=tokens,
            counter=counting,
            template=blocks,
            form=wanted,
        )
        trace_id = await self._given_to_agent(look, gathered)
        return _answer(pack, talk, gathered, trace_id)

    def _counted_from(self, at: datetime | None) -> Instant:
        now = self._workings.clock()
        moment = now if at is None else read_moment(at)
        if moment > now:
            raise InvalidQuery("at lies in the future; leave it out for now", field="at")
        return moment

    async def _given_to_agent(self, look: Look, gathered: Gathered) -> str:
        """Count what is given, and tell it in a trace; its id."""
        memories = tuple(each for each, _ in gathered.all)
        await self._used(look.asked, memories, look.source, self._workings.clock())
        self._workings.figures.count(Figure.CONTEXT_PACKS)
        return await self._traced(look, memories, tuple(each for _, each in gathered.all))


def _answer(pack: Pack, talk: Talk, gathered: Gathered, trace_id: str) -> dict[str, Any]:
    left_out = [{"id": record.id, "reason": reason.value} for record, reason in gathered.left_out]
    session = None if talk.session is None else talk.session.id
    more = {"trace_id": trace_id, "session": session, "persona": talk.persona, "left_out": left_out}
    return shown_pack(pack) | more


def _asked(query: str | None, talk: Talk, helping: Helping, moment: Instant) -> Asked:
    """What recall is asked for: what all personas know, and what this one does."""
    given: dict[str, Any] = dict.fromkeys(Asked.__struct_fields__)
    given |= {"query": query, "persona": talk.persona, "ranker": Ranker(helping.ranker), "limit": helping.recalled}
    given |= {"session": None if talk.session is None else talk.session.id}
    given |= {"kinds": [Kind.SEMANTIC, Kind.PROFILE], "history": False, "explain": False, "include_usage": False}
    return read_asked(given, moment, None)
