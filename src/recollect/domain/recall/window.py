"""The window: what is recalled by rule, whatever the query says: the last turns of a session, and facts of profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.domain.governance.items import rank_of
from recollect.domain.governance.recalling import MOST_PROFILE
from recollect.domain.governance.terms import RecallReason
from recollect.domain.recall.memories import Memory
from recollect.domain.remembering.records import Record

MOST_TURNS = 10
By = tuple[Record, tuple[str, ...]]
"""A record, and why it is recalled."""


def turns(records: Iterable[Record]) -> list[By]:
    """The summary of a conversation, then its last turns, oldest first."""
    ordered = sorted(records, key=lambda each: (each.tick, rank_of(each.id)))
    summaries = [each for each in ordered if each.summary_of]
    last = [each for each in ordered if not each.summary_of][-MOST_TURNS:]
    return [
        *((each, (RecallReason.ACTIVE_RULE.value,)) for each in summaries[-1:]),
        *((each, (RecallReason.RECENCY.value,)) for each in last),
    ]


def facts(stores: Iterable[Sequence[Record]]) -> list[By]:
    """The facts of profiles, space by space, oldest first."""
    found = [
        each for records in stores for each in sorted(records, key=lambda record: (record.tick, rank_of(record.id)))
    ]
    return [(each, (RecallReason.ACTIVE_RULE.value,)) for each in found[:MOST_PROFILE]]


def tokens_of(texts: Iterable[str]) -> int:
    """About how many tokens texts are: a quarter of their characters, rounded up for each."""
    return sum(-(-len(text) // 4) for text in texts)


def counts(memories: Sequence[Memory], spaces: Iterable[str]) -> dict[str, int]:
    """How many memories each space gave."""
    return {space: sum(each.space == space for each in memories) for space in spaces}
