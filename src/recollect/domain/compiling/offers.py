"""Offers: what may go into a pack, each with the part of the template that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from recollect.domain.compiling.codes import Part
from recollect.domain.compiling.states import Excerpt, State
from recollect.domain.governance.terms import Kind, Source
from recollect.domain.recall.memories import Memory
from recollect.domain.scrubbing import cleaned


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One text that may go into a pack, without characters that could mislead."""

    part: Part
    origin: str
    """Where it comes from: `memories`, `contradictions` or `state`."""
    id: str
    text: str
    source: str | None = None
    at: str | None = None
    ended_at: str | None = None
    refs: tuple[str, ...] = ()
    behavioral: bool = False

    @property
    def identity(self) -> tuple[str, str, str]:
        """What two offers of one thing have in common. Parts of a state number theirs by themselves."""
        return (self.origin, self.part.value if self.origin == "state" else "", self.id)

    @property
    def says(self) -> str:
        """What two offers that say the same have in common."""
        return " ".join(self.text.casefold().split())


def offers_of(
    memories: Sequence[Memory], contradictions: Iterable[Mapping[str, Any]], state: State
) -> tuple[Offer, ...]:
    """Everything that is offered, in the order in which its part shows it; recall gives turns oldest first."""
    return (
        *(_remembered(each) for each in memories),
        *(_disputed(each) for each in contradictions),
        *(_excerpt(part, each) for part, excerpts in state.parts() for each in excerpts),
    )


def _remembered(memory: Memory) -> Offer:
    told = memory.provenance
    refs = dict.fromkeys([*told.captures, *told.evidence_refs, *([told.proposal_id] if told.proposal_id else [])])
    return Offer(
        part=_part_of(memory),
        origin="memories",
        id=cleaned(memory.id),
        text=cleaned(memory.text),
        source=cleaned(told.source) or None,
        at=cleaned(told.promoted_at) or None,
        ended_at=None if memory.ended_at is None else cleaned(memory.ended_at),
        refs=tuple(cleaned(each) for each in refs),
        behavioral=memory.behavioral,
    )


def _part_of(memory: Memory) -> Part:
    if memory.pinned:
        return Part.PINNED
    return {Kind.PROFILE: Part.PROFILE, Kind.SHORT_TERM: Part.TURNS}.get(memory.kind, Part.RELEVANT)


def _disputed(told: Mapping[str, Any]) -> Offer:
    """A contradiction as one sentence. It names what is disputed, and none of the values."""
    entity = told.get("entity", told.get("entity_ceid", ""))
    existing = told.get("existing")
    at = told.get("at")
    return Offer(
        part=Part.CONTRADICTIONS,
        origin="contradictions",
        id=cleaned(str(told["event_id"])),
        text=cleaned(f"{entity} {told['predicate']}: what is known is contradicted, and nobody has settled it yet"),
        source=Source.SYSTEM.value,
        at=cleaned(at) if isinstance(at, str) else None,
        refs=(cleaned(existing),) if isinstance(existing, str) and existing else (),
    )


def _excerpt(part: Part, excerpt: Excerpt) -> Offer:
    return Offer(
        part=part,
        origin="state",
        id=cleaned(excerpt.id),
        text=cleaned(excerpt.text),
        source=None if excerpt.source is None else cleaned(excerpt.source),
        at=excerpt.at,
        refs=tuple(cleaned(each) for each in excerpt.refs),
        behavioral=excerpt.behavioral,
    )
