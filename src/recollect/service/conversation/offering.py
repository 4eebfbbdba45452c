"""Offering: the memories that are offered to the pack of a conversation, each looked at at the last moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from recollect.domain.address import namespace
from recollect.domain.conversation.assembling import Helping, LeftOut, foundation_of, offered, standing_of
from recollect.domain.conversation.cards import Card, cards
from recollect.domain.governance.terms import Kind, RecallReason, Space
from recollect.domain.instants import Instant
from recollect.domain.recall.memories import Memory, recalled
from recollect.domain.recall.ranking import BY_ENTITY
from recollect.domain.remembering.records import Record
from recollect.service.conversation.registers import all_canonical
from recollect.service.pipeline.places import places_of
from recollect.service.recalling.recall import Look
from recollect.service.recalling.sources import Present
from recollect.service.workings import Workings

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


class Offering:
    """What one recall for a conversation gives."""

    def __init__(self, workings: Workings, tenant: str, look: Look, helping: Helping, now: Instant) -> None:
        self._workings, self._tenant, self._look, self._helping, self._now = workings, tenant, look, helping, now

    async def gathered(self) -> Gathered:
        """The memories that are offered, each looked at once more."""
        found = await self._look.gathering.gathered() if self._look.opened else []
        known = await self._known()
        pinned = await self._there(foundation_of(known))
        foundation = [(self._standing(each), each) for each in pinned]
        answers = [record for _, record in found if record.kind is Kind.SEMANTIC]
        kept, left_out = offered(answers, pinned, self._helping)
        founded, wanted = {each.id for each in pinned}, {each.id for each in kept}
        facts = [each for each in found if each[1].kind is not Kind.SEMANTIC and each[1].id not in founded]
        offers = [*(each for each in found if each[1].id in wanted), *facts]
        shown = {record.id for _, record in [*foundation, *offers]}
        made, told = await self._cards([record for _, record in found], known, shown)
        given = [(recalled(each, self._tenant, (BY_ENTITY,)), each) for each in told]
        return Gathered(foundation, offers, given, made, left_out)

    async def _known(self) -> list[Record]:
        """The live records of the user that may be seen, as far as that shows without reading each anew."""
        if not any(each.space is Space.USER for each in self._look.opened):
            return []
        space = await self._workings.spaces.fresh(self._tenant, namespace(("user", self._look.places.user)))
        held = space.at(self._look.places.root(Space.USER), self._now)
        return [each.record for each in held if self._look.asked.admits(each.record, self._now, {})]

    async def _there(self, records: Sequence[Record]) -> list[Record]:
        """Those of the records that may be seen at this very moment, as they are now."""
        if not records or not isinstance(self._look.source, Present):
            return []
        named = [places_of(each.id, self._look.places) for each in records]
        addresses = [places.record(space, key) for places, space, key in (each for each in named if each)]
        return [each for each in await self._look.source.there(addresses) if each is not None]

    def _standing(self, record: Record) -> Memory:
        """A pinned memory, which says whether it was told beforehand or observed."""
        memory = recalled(record, self._tenant, (RecallReason.ACTIVE_RULE.value,))
        told = msgspec.structs.replace(memory.provenance, source=standing_of(record))
        return msgspec.structs.replace(memory, provenance=told)

    async def _cards(
        self, relevant: Sequence[Record], known: Sequence[Record], shown: set[str]
    ) -> tuple[tuple[Card, ...], list[Record]]:
        """The cards of those whom what was recalled tells of, and the records that they are made from."""
        if not relevant or not known:
            return (), []
        canonical = await all_canonical(self._workings.store, self._tenant, self._look.places.user)
        by_id = {each.id: each for each in known}
        for _ in range(_AGAIN):
            made = cards(relevant, list(by_id.values()), canonical, shown)
            named = [by_id[each] for card in made for each in card.records]
            still = {each.id: each for each in await self._there(named)}
            if all(still.get(each.id) == each for each in named):
                return made, named
            for each in named:  # somebody changed it meanwhile
                by_id.pop(each.id)
            by_id |= still
        return (), []
