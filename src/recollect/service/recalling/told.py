"""Told: the trace of a recall, in which everything that was given to an agent can be looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Put
from recollect.domain.governance.ids import ANONYMOUS
from recollect.domain.governance.items import Item
from recollect.domain.governance.phases import Phase
from recollect.domain.governance.policy import Settings, SpaceRules, recall_policy
from recollect.domain.governance.recalling import Context, Query
from recollect.domain.governance.redaction import Redaction
from recollect.domain.governance.telling import Teller
from recollect.domain.governance.terms import BorderAction, Kind, Space
from recollect.domain.governance.traces import Trace, type_of
from recollect.domain.instants import Instant
from recollect.domain.recall.asking import Asked
from recollect.domain.recall.memories import Memory
from recollect.domain.recall.window import MOST_TURNS, counts, tokens_of
from recollect.domain.remembering.captures import Capture
from recollect.domain.remembering.records import Record
from recollect.service.pipeline.places import Places
from recollect.service.recalling.scope import Crossing
from recollect.service.workings import Workings

PROFILE = "recall"
"""The profile under which traces tell of what was recalled."""
CAUSE = "recall"
_MOST_NAMED = 50
"""So many of the recalled records can a trace be found by."""
_MOST_CAPTURES = 50
"""Up to so many captures are read to say what retrieval alone would have put in."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one recall gave."""

    asked: Asked
    memories: tuple[Memory, ...]
    records: tuple[Record, ...]
    """The records of the memories, in the same order."""
    crossings: tuple[Crossing, ...]
    phase: Phase | None
    """The one that the session is in."""
    moment: Instant


async def keep_trace(workings: Workings, places: Places, tenant: str, actor: str, found: Recalled) -> str:
    """Write the trace of a recall in a commit of its own, and return its id."""
    now = workings.clock()
    trace_id = f"trc_{UUID(bytes=workings.ids(now)).hex}"
    events = await _events(workings, tenant, found)
    asked = found.asked
    measured: dict[str, Any] = {
        "intent": asked.intent,
        "hits": len(found.memories),
        "ranker": asked.ranker.value,
        "tokens": tokens_of(each.text for each in found.memories),
    }
    measured |= await _retrieved(workings, places, tenant, found.records)
    value = {"events": events, "cause": CAUSE, "at": int(now), "recall": measured}
    labels: dict[str, Any] = {
        "types": sorted({type_of(type(each)) for each in events}),
        "records": [each.id for each in found.memories[:_MOST_NAMED]],
    }
    labels |= {"cause": CAUSE, "session": asked.session or ANONYMOUS}
    labels |= {} if asked.intent is None else {"intent": asked.intent}
    put = Put(
        places.trace(trace_id),
        msgspec.json.encode(value),
        None,
        encode_attributes(labels),
        workings.remembering.terms.traces_end(now),
        expected_revision=0,
    )
    await workings.store.commit(Commit(tenant, (put,), actor=actor))
    return trace_id


async def _events(workings: Workings, tenant: str, found: Recalled) -> list[Trace]:
    """What was recalled, and then every border that was looked at."""
    asked = found.asked
    terms = workings.remembering.terms
    salt = (await workings.remembering.key(tenant)).hex()
    contract = msgspec.structs.replace(
        terms.contract,
        spaces=msgspec.structs.replace(terms.contract.spaces, read_order=asked.spaces)
        if asked.spaces
        else SpaceRules(),
    )
    teller = Teller(PROFILE, asked.session or ANONYMOUS, contract, Redaction(contract.privacy, salt))
    settings = Settings(
        short_term=MOST_TURNS,
        semantic=asked.wants(Kind.SEMANTIC),
        profile=asked.wants(Kind.PROFILE),
        semantic_top_k=asked.limit,
        allow_cross_phase_recall=asked.phase is None,
    )
    policy = recall_policy(settings, contract) | {"ranker": asked.ranker.value}
    items = [_item(teller, each, record) for each, record in zip(found.memories, found.records, strict=True)]
    opened = [each.space for each in found.crossings if each.border.allowed]
    told = teller.recalled(
        Query(shown=teller.redaction.shown(asked.query or "")),
        Context(profile=tuple(items)),  # in the order in which they were given
        policy,
        counts(found.memories, [each.value for each in opened]),
        _by_phase(found.memories, opened),
        found.phase,
    )
    return [told, *(teller.checked(BorderAction.READ, each.border, each.space) for each in found.crossings)]


def _item(teller: Teller, memory: Memory, record: Record) -> Item:
    """A record as traces tell of it; in no words of its own where it rests on somebody's consent."""
    whole = memory.score is not None and float(memory.score).is_integer()
    score = int(memory.score) if whole and memory.score is not None else None
    item = record.item().with_meta(recall_reason=memory.reasons, score=score)
    return item if record.consent_id is None else teller.redaction.hidden(item)


def _by_phase(memories: Sequence[Memory], spaces: Sequence[Space]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {space.value: {} for space in spaces}
    for each in memories:
        if each.phase_id is not None:
            counted = found.setdefault(each.space.value, {})
            counted[each.phase_id] = counted.get(each.phase_id, 0) + 1
    return found


async def _retrieved(workings: Workings, places: Places, tenant: str, records: Sequence[Record]) -> dict[str, Any]:
    """How many tokens the captures are that the records rest on; nothing where that is not known of all of them."""
    ids = list(dict.fromkeys(capture for each in records for capture in each.captures))
    if len(ids) > _MOST_CAPTURES or not all(each.captures for each in records):
        return {}
    rows = await workings.store.get_each([(tenant, places.captures(each)) for each in ids])
    texts = [msgspec.json.decode(row.value, type=Capture).text for row in rows if row is not None and row.value]
    return {"retrieval_tokens": tokens_of(texts)} if len(texts) == len(ids) else {}
