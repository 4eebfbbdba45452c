"""Noting: what an agent keeps with its own tools comes in the way that everything does, and is told like everything.

What a note is, how notes replace each other and what a session may do is the tools' own; here it is captured, put
before the policy, and traced, in the transaction that keeps it.
"""

from __future__ import annotations

import msgspec

from recollect.domain.callers import Caller
from recollect.domain.errors import Forbidden
from recollect.domain.governance.axes import AXES
from recollect.domain.governance.events import authority_of, weighed
from recollect.domain.governance.items import Item, Meta
from recollect.domain.governance.keys import dedup_key
from recollect.domain.governance.reasons import Reason
from recollect.domain.governance.terms import EventType, Kind, Source, Space
from recollect.domain.notes import Note
from recollect.domain.promotion.codes import Risk
from recollect.domain.promotion.standing import SOURCE_OF, Channel
from recollect.domain.remembering.captures import Capture, CaptureKind, Speaker
from recollect.ports.policy import Verdict
from recollect.service.pipeline.promoting import Promoting

_PREDICATE = "noted"


async def noted(under_way: Promoting, note: Note, caller: Caller) -> None:
    """Capture a note and put it before the policy; refused unless that approves it."""
    places = under_way.places
    capture = Capture(
        id=under_way.new_id("cap"),
        kind=CaptureKind.EFFECT,
        speaker=Speaker.ASSISTANT,
        text=note.content,
        withheld=False,
        about=f"user:{places.user}",
        channel=Channel.AGENT_TURN,
        source_class=SOURCE_OF[Channel.AGENT_TURN],
        principal=caller.user_id or places.user,
        client=caller.client_id,
        at=under_way.now,
        session=note.session_id,
        tool="memory_store",
    )
    event_type = EventType(note.type.value)
    axes = AXES[event_type]
    review = await under_way.ruling.review(
        {
            "class": "" if axes.write_class is None else axes.write_class.value,
            "event_type": event_type.value,
            "predicate": _PREDICATE,
            "tier_target": "semantic",
            "space": Space.USER.value,
            "origin": "noted",
            "behavioral": axes.behavioral,
            "channel_trusted": True,
            "personal": False,
            "crosses_spaces": False,
            "contradiction": "no_conflict",
            "contradicts_authority": False,
            "consent_check": "not_required",
            "rejected_before": False,
            "confidence": 1.0,
            "risk": Risk.LOW.value,
            "risk_reasons": [],
        }
    )
    if review.verdict is not Verdict.APPROVE:
        raise Forbidden("access denied", reason=review.reason or "the policy does not let agents note this")
    under_way.draft.put(places.captures(capture.id), msgspec.json.encode(capture), {"kind": "effect"}, new=True)
    told = {"outcome": "promoted", "rule": review.rule, "reason": review.reason, "record_id": note.id}
    under_way.draft.put(places.work(capture.id), {"by": "agent", "remembered": [told]})
    under_way.written.append(item_of(under_way, note))


def item_of(under_way: Promoting, note: Note) -> Item:
    """The note as traces tell of it."""
    event_type = EventType(note.type.value)
    weight = weighed(event_type, note.content, Source.AI)
    authority, reason = authority_of(Source.AI)
    return Item(
        id=note.id,
        kind=Kind.SEMANTIC,
        text=note.content,
        source=Source.AI,
        created_at=0,
        importance=weight.importance,
        meta=Meta(
            event_type=event_type,
            importance_reason=weight.reasons,
            space=Space.USER,
            owner=under_way.places.owners.user,
            dedup_key=dedup_key(event_type, note.content),
            authority=authority,
            authority_reason=reason,
        ),
    )


def deleted(under_way: Promoting, note: Note) -> None:
    """Tell that a note is gone."""
    owner = under_way.places.owners.user
    item = item_of(under_way, note)
    under_way.traces.append(under_way.teller.deleted(Space.USER, owner, "phase-unknown", item, Reason.RETRACTED))
