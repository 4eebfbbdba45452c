"""Keeping: what a step of a conversation changed, drafted as records, counters and phases of its spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from recollect.domain.governance.axes import AXES, tier_of
from recollect.domain.governance.items import Item
from recollect.domain.governance.ledger import Begin, Change, Drop, Put, State
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record, lineage_of
from recollect.service.governing.spaces import Held
from recollect.service.pipeline.places import TICK
from recollect.service.pipeline.promoting import Promoting

TRUST_OF = {Source.USER: Trust.ASSERTED, Source.AI: Trust.INFERRED, Source.TOOL: Trust.INFERRED}
PREDICATE_OF = {
    EventType.PREFERENCE: "prefers",
    EventType.DECISION: "decided",
    EventType.EXECUTION: "executed",
    EventType.CORRECTION: "corrected",
}
"""What a snippet says of its user, where it states no fact with a key."""
_SAID = "said"
_PHASE = ("phase_id", "phase_name", "phase_started_at", "phase_reason")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the records of a step come from: who said it, when, captured as what, and which profile let it in."""

    user: str
    session: str
    principal: str
    rule: str
    at: Instant
    captures: dict[Source, str]
    """The capture of the words of each."""
    turns_end: Instant | None = None
    """When turns are over that nobody recalls."""
    most_phases: int | None = None

    def record(self, item: Item, supersedes: tuple[str, ...] = ()) -> Record:
        """An item as it is kept. `Record.item` gives it back exactly."""
        meta, source = item.meta, Source(item.source)
        captures = tuple(self.captures.values()) if source is Source.SYSTEM else (self.captures.get(source),)
        known = tuple(each for each in captures if each is not None)
        return Record(
            id=item.id,
            space=meta.space or Space.SESSION,
            owner=meta.owner or "",
            kind=item.kind,
            event_type=item.event_type,
            write_class=AXES[item.event_type].write_class or WriteClass.EVIDENCE_LINK,
            tier=Tier.WORKING if item.kind is Kind.SHORT_TERM else tier_of(item.event_type),
            entity=f"user:{self.user}",
            predicate=meta.key or PREDICATE_OF.get(item.event_type, _SAID),
            value=item.text,
            text=item.text,
            dedup_key=meta.dedup_key or "",
            source=source,
            authority=_certain(meta.authority),
            authority_reason=meta.authority_reason or "",
            trust=TRUST_OF.get(source, Trust.INFERRED),
            classification=Classification.INTERNAL,
            confidence=1.0,
            importance=item.importance,
            importance_reason=meta.importance_reason,
            tick=item.created_at,
            promoted_at=self.at,
            evidence_refs=tuple(f"capture:{each}" for each in known),
            proposal_id=None,
            principal=self.principal,
            captures=known,
            rule=self.rule,
            supersedes=supersedes,
            lineage=lineage_of(*known, self.session, f"principal:{self.principal}"),
            key=meta.key,
            session=self.session,
            ends_at=self.turns_end if item.kind is Kind.SHORT_TERM else None,
            policy_tags=meta.policy_tags,
            phase={name: getattr(meta, name) for name in _PHASE if getattr(meta, name) is not None},
            promoted_from=meta.promoted_from,
            promotion_reason=meta.promotion_reason,
            promotion_target=meta.promotion_target,
            summary_of=meta.summary_of,
            source_turn_ids=meta.source_turn_ids,
            expires_tick=meta.expires_at,
        )


def _certain(found: Any) -> Any:
    if found is None:
        raise AssertionError("what a step writes has an authority")
    return found


async def keep(
    under_way: Promoting, changes: list[Change], before: State, after: State, held: dict[str, Held], of: Provenance
) -> list[str]:
    """Draft what a step changed; the ids of the records that it wrote. Its traces are told elsewhere."""
    replaced = {change.replaced_by: change.item.id for change in changes if isinstance(change, Drop)}
    written: dict[str, Record] = {}
    for change in changes:
        match change:
            case Put(item=item):
                known = written.get(item.id) or (held[item.id].record if item.id in held else None)
                if known is None:
                    losers = (replaced[item.id],) if item.id in replaced else ()
                    written[item.id] = of.record(item, losers)
                else:
                    written[item.id] = msgspec.structs.replace(known, expires_tick=item.meta.expires_at)
            case Drop(item=item, reason=reason, replaced_by=heir):
                fresh = written.pop(item.id, None)
                record = fresh or (held[item.id].record if item.id in held else None)
                if record is not None:
                    await _end(under_way, record, reason, heir, stored=item.id in held)
            case Begin(phase=phase, over=over):
                space = next(each for each in Space if under_way.places.owners.store_key(each) == change.store_key)
                if over is not None:
                    under_way.draft.put(under_way.places.phase(space, over.phase_id), over)
                    _trim(under_way, space, phase.index, of.most_phases)
    for record in written.values():
        if record.kind is Kind.SHORT_TERM:
            address = under_way.places.record(record.space, record.id.split(":", 2)[2])
            under_way.draft.put(address, msgspec.json.encode(record), record.labels(), expires_at=record.ends_at)
        else:
            await under_way.write(record)
    _count(under_way, before, after)
    return list(written)


async def _end(under_way: Promoting, record: Record, reason: Reason, heir: str | None, *, stored: bool) -> None:
    """Draft that a record is over. A turn leaves nothing behind, nor does what was forgotten before it was stored."""
    if record.kind is not Kind.SHORT_TERM:
        if stored or reason is not Reason.EXPIRED:
            await under_way.shelve(record, reason, heir)
    elif stored:
        under_way.draft.delete(under_way.places.record(record.space, record.id.split(":", 2)[2]))


def _trim(under_way: Promoting, space: Space, index: int, most: int | None) -> None:
    """Draft that only so many phases are remembered as the contract says; the one that began is one of them."""
    if most is not None and index - max(most, 1) >= 1:
        under_way.draft.delete(under_way.places.phase(space, f"phase-{index - max(most, 1)}"))


def _count(under_way: Promoting, before: State, after: State) -> None:
    """Draft how far the clock and the counters have come, and the phases that began."""
    if after.numbering.tick != before.numbering.tick:
        under_way.draft.put(TICK, {"tick": after.numbering.tick})
    owners = under_way.places.owners
    for space in Space:
        key = owners.store_key(space)
        mine = {name: n for name, n in after.numbering.counts.items() if name.rpartition(":")[0] == key}
        counted = mine != {n: c for n, c in before.numbering.counts.items() if n.rpartition(":")[0] == key}
        phases = after.store(key).phases
        if counted or phases != before.store(key).phases:
            told = {"counts": mine, "phases": [msgspec.to_builtins(each) for each in phases]}
            under_way.draft.put(under_way.places.counters(space), told)
