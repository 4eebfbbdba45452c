"""A record to try rules on."""

from __future__ import annotations

from recollect.domain.governance.terms import Authority, EventType, Kind, Source, Space, Tier, WriteClass
from recollect.domain.instants import Instant
from recollect.domain.promotion.standing import Classification, Trust
from recollect.domain.remembering.records import Record


def a_record() -> Record:
    """What somebody said they like, once."""
    return Record(
        id="user:ann:semantic:1",
        space=Space.USER,
        owner="ann",
        kind=Kind.SEMANTIC,
        event_type=EventType.PREFERENCE,
        write_class=WriteClass.PREFERENCE,
        tier=Tier.SEMANTIC,
        entity="user:ann",
        predicate="likes",
        value="tea",
        text="I like tea",
        dedup_key="tea",
        source=Source.USER,
        authority=Authority.USER_ASSERTED,
        authority_reason="source:user",
        trust=Trust.ASSERTED,
        classification=Classification.INTERNAL,
        confidence=0.9,
        importance=3,
        importance_reason=(),
        tick=1,
        promoted_at=Instant(1),
        evidence_refs=(),
        proposal_id=None,
        principal="ann",
        fact_type="preference",
    )
