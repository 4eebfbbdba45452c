"""Contexts of conversations: the pack for the next model call, from what is remembered and what lies between turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from recollect.domain.address import namespace
from recollect.domain.callers import Action
from recollect.domain.compiling.counting import checked_budget, counter_named
from recollect.domain.compiling.filling import compiled
from recollect.domain.compiling.packs import Pack
from recollect.domain.compiling.shipped import CONVERSATION, read_template
from recollect.domain.conversation.assembling import (
    HELPINGS,
    USUAL,
    Helping,
    LeftOut,
    foundation_of,
    offered,
    standing_of,
    state_of,
)
from recollect.domain.conversation.cards import Card, cards
from recollect.domain.conversation.personas import DEFAULT_PERSONA, persona_name
from recollect.domain.errors import InvalidQuery
from recollect.domain.governance.terms import Kind, RecallReason, Space
from recollect.domain.instants import Instant
from recollect.domain.measuring.figures import Figure
from recollect.domain.recall.asking import MAX_QUERY, Asked, Ranker, read_asked
from recollect.domain.recall.memories import Memory, recalled
from recollect.domain.recall.ranking import BY_ENTITY
from recollect.domain.remembering.records import Record
from recollect.service.conversation.reading import Reading, Talk
from recollect.service.conversation.registers import all_canonical
from recollect.service.pipeline.places import places_of
from recollect.service.reading import read_moment, read_wait
from recollect.service.recalling.contexts import BUDGET, Contexts, read_form, shown_pack
from recollect.service.recalling.recall import Look
from recollect.service.recalling.sources import Present

_AGAIN = 20
"""So often cards are made anew without what may not be seen any more; then there are none."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is offered to a pack."""

    foundation: list[tuple[Memory, Record]]
    found: list[tuple[Memory, Record]]
    """What answers, the best first, and then facts of the profile."""
    told: list[tuple[Memory, Record]]
    """What cards tell."""
    cards: tuple[Card, ...]
    left_out: list[tuple[Record, LeftOut]]

    @property
    def all(self) -> list[tuple[Memory, Record]]:
        """Everything that may be given, each once."""
        by_id = {record.id: (memory, record) for memory, record in [*self.told, *self.found, *self.foundation]}
        order = dict.fromkeys(record.id for _, record in [*self.foundation, *self.found, *self.told])
        return [by_id[each] for each in order]


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
        moment, waiting = self._moment(at), None if wait is None else read_wait(wait)
        self._workings.guard.permit(self._caller, Action.READ)
        reading = Reading(self._workings, self._tenant, self._owner, await self._workings.guard.begin(self._caller))
        talk = await reading.talk(persona_name(persona), session, moment)
        words = talk.last_words(MAX_QUERY) if query is None else query
        asked = self._asked(words, talk, helping, moment)
        look = await self._look(asked, moment, waiting)
        gathered = await self._gathered(look, helping, moment)
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
        trace_id = await self._given(look, gathered, moment)
        return self._shown(pack, talk, gathered, trace_id)

    def _moment(self, at: datetime | None) -> Instant:
        now = self._workings.clock()
        moment = now if at is None else read_moment(at)
        if moment > now:
            raise InvalidQuery("at lies in the future; leave it out for now", field="at")
        return moment

    def _asked(self, query: str | None, talk: Talk, helping: Helping, moment: Instant) -> Asked:
        """What recall is asked for: what all personas know, and what this one does."""
        given: dict[str, Any] = dict.fromkeys(Asked.__struct_fields__)
        given |= {"query": query, "persona": talk.persona, "ranker": Ranker(helping.ranker), "limit": helping.recalled}
        given |= {"session": None if talk.session is None else talk.session.id}
        given |= {"kinds": [Kind.SEMANTIC, Kind.PROFILE], "history": False, "explain": False, "include_usage": False}
        return read_asked(given, moment, None)

    async def _gathered(self, look: Look, helping: Helping, now: Instant) -> Gathered:
        """The memories that are offered, each looked at once more."""
        found = await look.gathering.gathered() if look.opened else []
        known = await self._known(look, now)
        pinned = await self._there(look, foundation_of(known))
        foundation = [(self._standing(each), each) for each in pinned]
        answers = [record for _, record in found if record.kind is Kind.SEMANTIC]
        kept, left_out = offered(answers, pinned, helping)
        wanted = {each.id for each in kept}
        offers = [each for each in found if each[1].kind is not Kind.SEMANTIC or each[1].id in wanted]
        shown = {record.id for _, record in [*foundation, *offers]}
        made, told = await self._cards(look, [record for _, record in found], known, shown)
        given = [(recalled(each, self._tenant, (BY_ENTITY,)), each) for each in told]
        return Gathered(foundation, offers, given, made, left_out)

    async def _known(self, look: Look, now: Instant) -> list[Record]:
        """The live records of the user that may be seen, as far as that shows without reading each anew."""
        if not any(each.space is Space.USER for each in look.opened):
            return []
        space = await self._workings.spaces.fresh(self._tenant, namespace(("user", self._owner)))
        held = space.at(look.places.root(Space.USER), now)
        return [each.record for each in held if look.asked.admits(each.record, now, {})]

    async def _there(self, look: Look, records: Sequence[Record]) -> list[Record]:
        """Those of the records that may be seen at this very moment, as they are now."""
        if not records or not isinstance(look.source, Present):
            return []
        named = [places_of(each.id, look.places) for each in records]
        addresses = [places.record(space, key) for places, space, key in (each for each in named if each)]
        return [each for each in await look.source.there(addresses) if each is not None]

    def _standing(self, record: Record) -> Memory:
        """A pinned memory, which says whether it was told beforehand or observed."""
        memory = recalled(record, self._tenant, (RecallReason.ACTIVE_RULE.value,))
        told = msgspec.structs.replace(memory.provenance, source=standing_of(record))
        return msgspec.structs.replace(memory, provenance=told)

    async def _cards(
        self, look: Look, relevant: Sequence[Record], known: Sequence[Record], shown: set[str]
    ) -> tuple[tuple[Card, ...], list[Record]]:
        """The cards of those whom what was recalled tells of, and the records that they are made from."""
        if not relevant or not known:
            return (), []
        canonical = await all_canonical(self._workings.store, self._tenant, self._owner)
        by_id = {each.id: each for each in known}
        for _ in range(_AGAIN):
            made = cards(relevant, list(by_id.values()), canonical, shown)
            named = [by_id[each] for card in made for each in card.records]
            still = {each.id: each for each in await self._there(look, named)}
            if all(still.get(each.id) == each for each in named):
                return made, named
            for each in named:  # somebody changed it meanwhile
                by_id.pop(each.id)
            by_id |= still
        return (), []

    async def _given(self, look: Look, gathered: Gathered, now: Instant) -> str:
        """Count what is given, and tell it in a trace; its id."""
        memories = tuple(each for each, _ in gathered.all)
        await self._used(look.asked, memories, look.source, now)
        self._workings.figures.count(Figure.CONTEXT_PACKS)
        return await self._traced(look, memories, tuple(each for _, each in gathered.all))

    def _shown(self, pack: Pack, talk: Talk, gathered: Gathered, trace_id: str) -> dict[str, Any]:
        left_out = [{"id": record.id, "reason": reason.value} for record, reason in gathered.left_out]
        session = None if talk.session is None else talk.session.id
        more = {"trace_id": trace_id, "session": session, "persona": talk.persona, "left_out": left_out}
        return shown_pack(pack) | more
