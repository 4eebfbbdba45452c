"""Records: promoted memories with everything that is known of them, as they are stored and shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.domain.governance.axes import AXES
from recollect.domain.governance.ids import other_spelling
from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import (
    Authority,
    EventType,
    Kind,
    Source,
    Space,
    Tier,
    WriteClass,
)
from recollect.domain.instants import Instant
from recollect.domain.promotion import shapes
from recollect.domain.promotion.consent_checks import Need, Rested
from recollect.domain.promotion.contradictions import Known
from recollect.domain.promotion.standing import Classification, Standing, Trust

MOST_LINEAGE = 200
"""So many sources of a record are kept to be asked for, the first ones; others are found by way of its parents."""
_MOST_PARENTS = 50
_SELDOM = (
    "promotion_target",
    "summary_of",
    "source_turn_ids",
    "expires_tick",
    "persona",
    "entity_refs",
    "entity_label",
    "fact_type",
    "memory_key",
    "weight_reason",
    "mentioned_at",
    "origin",
    "folded_from",
    "ended_at",
    "ended_reason",
    "superseded_by",
)
"""What is shown only of the records that have it."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A memory: what it says, of what, who said it, who let it in, what it rests on, and how long it is kept."""

    id: str
    space: Space
    owner: str
    kind: Kind
    event_type: EventType
    write_class: WriteClass
    tier: Tier
    entity: str
    predicate: str
    value: Any
    text: str
    dedup_key: str
    source: Source
    authority: Authority
    authority_reason: str
    trust: Trust
    classification: Classification
    confidence: float
    importance: int | float
    importance_reason: tuple[str, ...]
    tick: int
    promoted_at: Instant
    evidence_refs: tuple[str, ...]
    proposal_id: str | None
    """What it was proposed as; None when the contract of a profile let it in, turn by turn."""
    principal: str
    captures: tuple[str, ...] = ()
    approved_by: tuple[str, ...] = ()
    """The people who approved it; empty when a rule did."""
    rule: str | None = None
    """The rule that approved it, when no person did."""
    consent_id: str | None = None
    purpose: str | None = None
    subject: str | None = None
    """Whose consent it needs; None when it needs none."""
    supersedes: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    lineage: tuple[str, ...] = ()
    """Every source that it comes from, directly or by way of records: captures, sessions, tools, people."""
    key: str | None = None
    session: str | None = None
    ends_at: Instant | None = None
    pinned: bool = False
    policy_tags: tuple[str, ...] = ()
    phase: dict[str, Any] = {}
    promoted_from: str | None = None
    promotion_reason: str | None = None
    promotion_target: Space | None = None
    summary_of: tuple[str, ...] = ()
    """The turns that it stands for, when it is the summary of a conversation."""
    source_turn_ids: tuple[str, ...] = ()
    expires_tick: int | None = None
    """The tick at which a profile forgets it, where that was set."""
    persona: str | None = None
    """Whose it is among the personas of the user; None when all of them know it."""
    entity_refs: tuple[str, ...] = ()
    """The people, places, organisations and projects it tells of, as `<type>:<slug>`; the primary one first."""
    entity_label: str | None = None
    """How the primary one is called."""
    fact_type: str | None = None
    """What sort of fact it is: `fact`, `preference`, `relationship`, `friction` or `habit`."""
    memory_key: str | None = None
    """What another record that would be the same memory has in common with it."""
    weight: int = 1
    """How much it matters, from 0 to 3; pinned ones weigh 3."""
    weight_reason: tuple[str, ...] = ()
    mention_count: int = 1
    """How often it was said."""
    mentioned_at: Instant | None = None
    """When it was said last, if not only once."""
    origin: str | None = None
    """How it came to be, in the words of conversations: `shadow_extraction`, `seeded_profile` or `curated_fold`."""
    folded_from: tuple[str, ...] = ()
    """The records that the curator made it from."""
    ended_at: Instant | None = None
    """Since when another stands in its place; None while it is recalled."""
    ended_reason: Reason | None = None
    superseded_by: str | None = None

    @property
    def behavioral(self) -> bool:
        """Whether it may steer what an agent does."""
        return AXES[self.event_type].behavioral

    @property
    def standing(self) -> Standing:
        """How far it can be relied on, and who may see it."""
        return Standing(self.trust, self.classification)

    def rested(self, tenant: str) -> Rested | None:
        """What it rests on, for the look whether its consent still covers it; None when it needs none."""
        if self.consent_id is None or self.subject is None:
            return None
        need = Need(tenant, self.subject, self.predicate, self.classification, self.purpose)
        return Rested(self.id, self.consent_id, need)

    def known(self) -> Known:
        """The record as far as contradictions go."""
        return Known(self.id, self.entity, self.predicate, self.value, self.write_class, self.trust, self.promoted_at)

    def item(self) -> Item:
        """The record as governance knows it."""
        return Item(
            id=self.id,
            kind=self.kind,
            text=self.text,
            source=self.source,
            created_at=self.tick,
            importance=self.importance,
            meta=Meta(
                event_type=self.event_type,
                importance_reason=self.importance_reason,
                space=self.space,
                owner=self.owner,
                dedup_key=self.dedup_key,
                key=self.key,
                authority=self.authority,
                authority_reason=self.authority_reason,
                summary_of=self.summary_of,
                source_turn_ids=self.source_turn_ids,
                promotion_target=self.promotion_target,
                promoted_from=self.promoted_from,
                promotion_reason=self.promotion_reason,
                policy_tags=self.policy_tags,
                expires_at=self.expires_tick,
                tier=None if self.proposal_id is None else self.tier,
                **self.phase,
            ),
        )

    def labels(self) -> dict[str, Any]:
        """What is kept plain, to be filtered by: ids and words of closed sets, nothing of what it says."""
        told: dict[str, Any] = {
            "behavioral": self.behavioral,
            "event_type": self.event_type.value,
            "kind": self.kind.value,
            "lineage": [*self.lineage[:MOST_LINEAGE], *([] if self.proposal_id is None else [self.proposal_id])],
            "parents": list(self.derived_from[:_MOST_PARENTS]),
            "pinned": self.pinned,
            "tier": self.tier.value,
        }
        return told if self.consent_id is None else told | {"consent": self.consent_id}


def read_record(raw: bytes) -> Record:
    """The record that was stored."""
    return msgspec.json.decode(raw, type=Record)


def live_record(raw: bytes) -> Record | None:
    """The record that was stored, unless another stands in its place."""
    record = read_record(raw)
    return record if record.ended_at is None else None


def shown_record(record: Record, tenant: str) -> dict[str, Any]:
    """The record as callers see it."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    for name in _SELDOM:
        if not plain[name]:
            del plain[name]
    if record.ended_at is not None:
        plain["ended_at"] = shapes.written(record.ended_at)
    if record.mentioned_at is not None:
        plain["mentioned_at"] = shapes.written(record.mentioned_at)
    return plain | {
        "also_known_as": other_spelling(tenant, record.id),
        "behavioral": record.behavioral,
        "trust": record.trust.name.lower(),
        "classification": record.classification.name,
        "promoted_at": shapes.written(record.promoted_at),
        "ends_at": shapes.written(record.ends_at),
    }


def place_in(record_id: str) -> tuple[Space, str, str] | None:
    """The space, the owner and the key that an id names; None when it is none."""
    space, _, rest = record_id.partition(":")
    owner, _, key = rest.partition(":")
    kind, _, number = key.partition(":")
    if (
        space not in tuple(Space)
        or not owner
        or kind not in tuple(Kind)
        or not number.isascii()
        or not number.isdigit()
    ):
        return None
    return Space(space), owner, key


def lineage_of(*parts: str | None, parents: Iterable[tuple[str, ...]] = ()) -> tuple[str, ...]:
    """Every source of something: those of the records that it was derived from, and its own."""
    inherited = [source for theirs in parents for source in theirs]
    return tuple(dict.fromkeys([*inherited, *(part for part in parts if part)]))
