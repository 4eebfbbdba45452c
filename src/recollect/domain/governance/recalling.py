"""Recalling: which items of a space answer a query, in whole numbers that anybody can check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from recollect.domain.governance.gate import BY_RETENTION
from recollect.domain.governance.items import Item, rank_of
from recollect.domain.governance.keys import normalised
from recollect.domain.governance.policy import Contract, Settings
from recollect.domain.governance.retention import rule_for
from recollect.domain.governance.summaries import summary_in, turns_of
from recollect.domain.governance.terms import ForgetPolicy, Kind, RecallReason, Space

MOST_PROFILE = 20


class Score(NamedTuple):
    """How well an item answers, and from what that is added up."""

    similarity: int
    recency: int
    importance: int

    @property
    def total(self) -> int:
        """The sum."""
        return sum(self)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What counted for the item."""
        named = zip((RecallReason.MATCHES_QUERY, RecallReason.RECENCY, RecallReason.IMPORTANCE), self, strict=True)
        return tuple(reason for reason, points in named if points) or (RecallReason.ACTIVE_RULE,)


class Context(msgspec.Struct, frozen=True):
    """What was recalled, by kind; in this order it is shown and hashed."""

    short_term: tuple[Item, ...] = ()
    semantic: tuple[Item, ...] = ()
    profile: tuple[Item, ...] = ()

    def items(self) -> tuple[Item, ...]:
        """All of it, in order."""
        return (*self.short_term, *self.semantic, *self.profile)

    def joined(self, other: Context) -> Context:
        """This and then that, kind by kind."""
        return Context(self.short_term + other.short_term, self.semantic + other.semantic, self.profile + other.profile)


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked for."""

    shown: str
    """As traces show it."""
    words: str = ""
    similar: dict[str, int] | None = None
    """How near each item comes to it, where its words are withheld."""

    def near(self, item: Item) -> int:
        """How near an item comes to it."""
        return similarity(self.words, item.text) if self.similar is None else self.similar.get(item.id, 0)


def scored(item: Item, query: Query | str, newest: int) -> Score:
    """How well an item answers: by what it says, how old it is beside the newest of its store, and its importance."""
    age = max(newest - item.created_at, 0)
    return Score(
        similarity(normalised(query), item.text) if isinstance(query, str) else query.near(item),
        2 if age <= 2 else 1 if age <= 5 else 0,
        2 if item.importance >= 4 else 1 if item.importance >= 2 else 0,
    )


def similarity(words: str, text: str) -> int:
    """2 when the words asked for stand in the text as they are, 1 when one of them does, else 0."""
    said = _words_in(text)
    if not words or not said.words:
        return 0
    if words in said.words:
        return 2
    return 0 if said.each.isdisjoint(words.split()) else 1


class _Words(NamedTuple):
    words: str
    each: frozenset[str]


@lru_cache(maxsize=16_384)
def _words_in(text: str) -> _Words:
    """The words of a text; those of one conversation are asked for at every turn."""
    words = normalised(text)
    return _Words(words, frozenset(words.split()))


def recalled(items: Sequence[Item], query: Query, phase_ids: Sequence[str], settings: Settings) -> Context:
    """What the items of one store answer, seen through the given phases, the newest phase first."""
    return Context(
        _turns(items, phase_ids, settings.short_term),
        _snippets(items, query, phase_ids, settings.semantic_top_k) if settings.semantic else (),
        _facts(items, phase_ids) if settings.profile else (),
    )


def _turns(items: Sequence[Item], phase_ids: Sequence[str], window: int) -> tuple[Item, ...]:
    """The summary and the last turns of each phase."""
    found: list[Item] = []
    for phase_id in phase_ids if window > 0 else ():
        summary = summary_in(items, phase_id)
        found += [_because(summary, RecallReason.ACTIVE_RULE)] if summary else []
        found += [_because(each, RecallReason.RECENCY) for each in turns_of(items, phase_id)[-window:]]
    return tuple(found)


def _snippets(items: Iterable[Item], query: Query, phase_ids: Sequence[str], most: int) -> tuple[Item, ...]:
    """The best snippets; those that match nothing may be among them."""
    seen = [each for each in items if each.kind is Kind.SEMANTIC and each.meta.phase_id in phase_ids]
    newest = max((each.created_at for each in seen), default=0)
    ranked = [(each, scored(each, query, newest)) for each in seen]
    ranked.sort(key=lambda pair: (_phase(pair[0], phase_ids), -pair[1].total, -pair[0].created_at, rank_of(pair[0].id)))
    return tuple(each.with_meta(score=score.total, recall_reason=score.reasons) for each, score in ranked[:most])


def _facts(items: Iterable[Item], phase_ids: Sequence[str]) -> tuple[Item, ...]:
    """The facts of the profile, oldest first."""
    seen = [each for each in items if each.kind is Kind.PROFILE and each.meta.phase_id in phase_ids]
    seen.sort(key=lambda each: (_phase(each, phase_ids), each.created_at, rank_of(each.id)))
    return tuple(_because(each, RecallReason.ACTIVE_RULE) for each in seen[:MOST_PROFILE])


def _phase(item: Item, phase_ids: Sequence[str]) -> int:
    return phase_ids.index(item.meta.phase_id) if item.meta.phase_id in phase_ids else len(phase_ids)


def _because(item: Item, reason: RecallReason) -> Item:
    return item.with_meta(recall_reason=(reason.value,))


def placed(context: Context, space: Space, owner: str, contract: Contract) -> Context:
    """What was recalled from a space, saying so, and which of it a rule of retention keeps."""

    def told(item: Item) -> Item:
        reasons = (*item.meta.recall_reason, f"space:{space}")
        kept = rule_for(contract, item.kind, item.event_type).mode is not ForgetPolicy.NEVER
        tags = (*item.meta.policy_tags, BY_RETENTION) if kept else item.meta.policy_tags
        return item.with_meta(space=space, owner=owner, recall_reason=reasons, policy_tags=tags)

    return Context(
        *(tuple(told(each) for each in items) for items in (context.short_term, context.semantic, context.profile))
    )


def by_phase(context: Context) -> dict[str, int]:
    """How many items were recalled of each phase, facts of the profile included."""
    counts: dict[str, int] = {}
    for item in context.items():
        if item.meta.phase_id:
            counts[item.meta.phase_id] = counts.get(item.meta.phase_id, 0) + 1
    return counts
