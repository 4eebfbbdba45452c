"""Describing: what a new record is told of besides what it says, so that conversations can find, weigh and merge it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.domain.conversation.subjects import fact_type_of, memory_key, type_of
from recollect.domain.conversation.weighing import LEAST_WEIGHT, weight_of
from recollect.domain.entities.refs import named_in, refs_of
from recollect.domain.remembering.records import Record

SHADOW = "shadow_extraction"
"""The origin of what was found in a conversation."""


def described(record: Record, before: Iterable[Record] = (), origin: str | None = None) -> Record:
    """The record with its subject, its sort of fact and its weight: never less than that of what it replaces."""
    refs = refs_of(record)
    named = named_in(record)
    fact_type = fact_type_of(record.event_type, record.predicate, record.text)
    kind = refs[0].partition(":")[0] if refs else None
    told = msgspec.structs.replace(
        record,
        entity_refs=refs,
        entity_label=named[0][1] if named else None,
        fact_type=fact_type.value,
        memory_key=memory_key(
            type_of(record.entity, refs), kind, refs[0] if refs else None, fact_type, record.predicate, record.text
        ),
        origin=origin or record.origin,
        weight=max([LEAST_WEIGHT, *(each.weight for each in before)]),
    )
    return weighed(told)


def weighed(record: Record) -> Record:
    """The record with the weight that it has by all rules."""
    weight, reasons = weight_of(record)
    return msgspec.structs.replace(record, weight=weight, weight_reason=tuple(each.value for each in reasons))


def pinned(record: Record, *, keep: bool) -> Record:
    """The record pinned, and weighing most, or no longer pinned, and weighing what it would have."""
    changed = msgspec.structs.replace(record, pinned=keep)
    return weighed(changed if keep else msgspec.structs.replace(changed, weight=LEAST_WEIGHT))
