"""Counting: ids, ticks and phases of the spaces, given out within one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from recollect.domain.governance.events import weighed
from recollect.domain.governance.ids import ANONYMOUS, Numbering
from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.phases import Phase, PhaseRequest, Snapshot, begun, is_new, member_of
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.spaces import phase_border
from recollect.domain.governance.telling import Teller
from recollect.domain.governance.terms import BorderAction, Kind, Space
from recollect.domain.governance.traces import Trace
from recollect.domain.instants import Instant
from recollect.domain.queries import Find, Order
from recollect.domain.reasons import Plane
from recollect.domain.remembering.deciding import AUTHORITY_OF, key_for
from recollect.domain.remembering.records import live_record
from recollect.domain.statements import Statement
from recollect.ports.clock import Ids
from recollect.service.pipeline.draft import Draft
from recollect.service.pipeline.places import TICK, Places
from recollect.service.pipeline.proposals import Origin
from recollect.service.pipeline.terms import PROFILE, Terms

_PAGE = 500


@dataclass(slots=True)
class Counting:
    """A transaction, its places, and what was told of it so far."""

    tenant: str
    draft: Draft
    terms: Terms
    places: Places
    now: Instant
    ids: Ids
    key: bytes
    """Blinds what keys are made of."""
    traces: list[Trace] = field(default_factory=list)

    @property
    def teller(self) -> Teller:
        """Who tells what happens."""
        session = self.places.session or ANONYMOUS
        return Teller(PROFILE, session, self.terms.contract, Redaction(self.terms.contract.privacy, self.key.hex()))

    def new_id(self, prefix: str) -> str:
        """A new id; later ones sort after earlier ones."""
        return f"{prefix}_{UUID(bytes=self.ids(self.now)).hex}"

    async def _made(self, space: Space, kind: Kind, statement: Statement, origin: Origin) -> Item:
        """The item that a statement would become, with an id and a tick of its own."""
        item_id, tick = await self._numbered(space, kind)
        weight = weighed(statement.event_type, statement.text, origin.source)
        authority = AUTHORITY_OF[origin.trust]
        return Item(
            id=item_id,
            kind=kind,
            text=statement.text,
            source=origin.source,
            created_at=tick,
            importance=weight.importance,
            meta=Meta(
                event_type=statement.event_type,
                importance_reason=weight.reasons,
                space=space,
                owner=self.places.owners.of(space),
                dedup_key=key_for(statement, kind),
                key=statement.key,
                authority=authority,
                authority_reason=f"source:{origin.source.value}",
                **await self._phase_of(space),
            ),
        )

    async def _numbered(self, space: Space, kind: Kind) -> tuple[str, int]:
        """The next id of a kind in a space, and the tick at which it was given out."""
        counters = await self._counters(space)
        store_key = self.places.owners.store_key(space)
        before = Numbering((await self.draft.at(TICK) or {}).get("tick", 0), counters["counts"])
        after, item_id = before.numbered(store_key, kind)
        self.draft.put(TICK, {"tick": after.tick})
        self.draft.put(self.places.counters(space), counters | {"counts": after.counts})
        return item_id, after.tick

    async def _counters(self, space: Space) -> dict[str, Any]:
        return await self.draft.at(self.places.counters(space)) or {"counts": {}, "phases": []}

    async def phases(self, space: Space) -> list[Phase]:
        """The phases of a space so far."""
        return [msgspec.convert(each, Phase) for each in (await self._counters(space))["phases"]]

    async def _phase_of(self, space: Space) -> dict[str, Any]:
        phases = await self.phases(space)
        noted = phases[-1].noted() if phases else {}
        return {name: value for name, value in noted.items() if value is not None}

    async def _enter(self, space: Space) -> None:
        await self.begin_phase(space, None)

    async def begin_phase(self, space: Space, request: PhaseRequest | None) -> Phase | None:
        """See that the space is in the phase that is asked for, or in any; the phase, when one began."""
        phases = await self.phases(space)
        if request is None and phases:
            return None
        border = phase_border(self.terms.contract.phase)
        self.traces.append(self.teller.checked(BorderAction.PHASE_START, border, space))
        if not border.allowed:
            if phases:
                return None
            request = None
        if not is_new(phases, request):
            return None
        tick = (await self.draft.at(TICK) or {}).get("tick", 0) + 1
        phase = begun(phases, request, tick)
        self.draft.put(TICK, {"tick": tick})
        counters = await self._counters(space)
        told = [*counters["phases"], msgspec.to_builtins(phase)]
        self.draft.put(self.places.counters(space), counters | {"phases": told})
        if phases:
            self.draft.put(self.places.phase(space, phases[-1].id), await self._held(space, phases[-1]))
        self.traces.append(self.teller.began(space, self.places.owners.of(space), phase))
        return phase

    async def _held(self, space: Space, phase: Phase) -> Snapshot:
        """What the space holds, as the phase that ends is remembered by."""
        root, redaction = self.places.root(space), self.teller.redaction
        members, cursor = [], None
        while True:
            page = await self.draft.unit.find(Find(Plane.RECORD, root, order=Order.KEY, limit=_PAGE, cursor=cursor))
            for row in page.rows:
                record = None if row.value is None or row.address.namespace != root else live_record(row.value)
                if record is not None:
                    item = record.item() if record.consent_id is None else redaction.hidden(record.item())
                    members.append(member_of(item, redaction.shown_key(item)))
            cursor = page.cursor
            if cursor is None:
                return Snapshot(phase.id, tuple(members))

    async def item_of(self, space: Space, statement: Statement, origin: Origin) -> Item:
        """The item of semantic memory that a statement becomes, with an id and a tick of its own."""
        return await self._made(space, Kind.SEMANTIC, statement, origin)

    async def withheld_item(self, space: Space, statement: Statement, origin: Origin) -> Item:
        """The item that something would have become which may not be kept."""
        return await self._made(space, Kind.SEMANTIC, statement, origin)
