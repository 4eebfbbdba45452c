"""Curating: which memories say the same, which can be told together, and which nobody needs, decided without acting."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from recollect.domain.conversation.sessions import CuratorState
from recollect.domain.conversation.subjects import MemoryType, is_of_user, primary_ref, type_of
from recollect.domain.conversation.weighing import CURATED_FOLD, WeightReason
from recollect.domain.governance.terms import EventType, Kind, Tier
from recollect.domain.instants import LAST, Instant
from recollect.domain.promotion.standing import Standing, inherited
from recollect.domain.remembering.deciding import AUTHORITY_OF
from recollect.domain.remembering.records import Record, lineage_of
from recollect.domain.statements import MANY_VALUED, Statement

COOLDOWN_SECONDS, EVERY_SECONDS, ENOUGH_NEW = 60, 86_400, 25
ARCHIVED_AFTER_DAYS = 30
"""What weighs nothing is archived when it is older."""
FOLD_FROM, MOST_ITEMS, MOST_FOLDS = 3, 5, 5
"""From how many memories on they are told together, how many at most, and how often in one run."""
MOST_ACTIONS, MOST_ENDED = 200, 100
"""So much is done in one run, and so many memories are archived by one action; the next run goes on."""
FOLD_WEIGHT = 2
MAX_ITEM = 300
"""Longer memories stand alone."""
SEEDED, EXTRACTED = "seeded_profile", "shadow_extraction"
TOLD_TOGETHER = "told_together"
"""The predicate of a fold; its value are the texts that it was made from."""
_SECOND = 1_000_000
_STRIPPED = ".,!?;:"
_SPACES = re.compile(r"\s+")
_KINDS = frozenset({Kind.SEMANTIC, Kind.PROFILE})


class Due(StrEnum):
    """Why the curator is to run."""

    DAY = "24h"
    """It did not run for a day."""
    MEMORIES = "25mem"
    """There are 25 new memories, or more."""


class Skipped(StrEnum):
    """Why the curator is not to run."""

    COOLDOWN = "cooldown"
    """It ran less than a minute ago."""
    NOT_DUE = "not_due"
    """It ran within a day, and little is new."""
    OFF = "off"
    """It runs only when somebody asks for it."""


class Deed(StrEnum):
    """What the curator does."""

    DEDUPE = "dedupe"
    """Of memories that say the same, one is kept."""
    FOLD = "fold"
    """Memories about one entity become one."""
    ARCHIVE = "archive"
    """A memory is put away."""


class Why(StrEnum):
    """Why the curator does it."""

    SAYS_THE_SAME = "says_the_same"
    """The one that is kept says the same."""
    IN_A_FOLD = "in_a_fold"
    """A fold says it already."""
    TOLD_TOGETHER = "told_together"
    """They are about the same entity and were found in conversations."""
    TRIVIAL_AND_OLD = "trivial_and_old"
    """It weighs nothing, is older than 30 days, and was neither said again nor recalled."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is to be done, in one transaction."""

    kind: Deed
    reason: Why
    archived: tuple[str, ...]
    """The memories that are put away."""
    keep: str | None = None
    """The memory that stands in their place, if there is one already."""
    text: str | None = None
    """What the new one says, if one is made of them."""
    entity: str | None = None
    """Who or what that is about."""


def due(state: CuratorState, active_count_new: int, now: Instant) -> Due | Skipped:
    """Whether the curator is to run now, with `active_count_new` memories that came since it did."""
    since = None if state.last_run_at is None else now - state.last_run_at
    if since is not None and since < COOLDOWN_SECONDS * _SECOND:
        return Skipped.COOLDOWN
    if active_count_new >= ENOUGH_NEW:
        return Due.MEMORIES
    return Due.DAY if since is None or since >= EVERY_SECONDS * _SECOND else Skipped.NOT_DUE


def plan(
    records: Iterable[Record],
    canonical: Mapping[str, str],
    now: Instant,
    *,
    recalled: Collection[str] = frozenset(),
    many_valued: Collection[str] = MANY_VALUED,
) -> tuple[Action, ...]:
    """What is to be done with the active memories of a user, in order; each memory is touched once.

    `canonical` maps refs of entities to those that they were merged into, and `recalled` are the ids of memories that
    were given to somebody. A pinned memory is never put away, nor a correction, nor a fact of a profile.
    """
    active = sorted(
        (each for each in records if each.ended_at is None and each.kind in _KINDS),
        key=lambda each: (each.promoted_at, each.tick, each.id),
    )
    actions = list(_deduped(active, canonical))
    touched = {each for action in actions for each in (*action.archived, action.keep)}
    trivial = [each for each in active if each.id not in touched and is_trivial(each, now, recalled)]
    touched |= {each.id for each in trivial}
    folds = list(_folded([each for each in active if each.id not in touched], canonical, many_valued))
    archived = [Action(kind=Deed.ARCHIVE, reason=Why.TRIVIAL_AND_OLD, archived=(each.id,)) for each in trivial]
    return (*actions[:MOST_ACTIONS], *folds[:MOST_FOLDS], *archived)[:MOST_ACTIONS]


def ref_of(record: Record, canonical: Mapping[str, str]) -> str | None:
    """Who or what a memory is about, as it is called now; None when that is the user themself."""
    ref = None if is_of_user(record.entity) else primary_ref(record.entity, record.entity_refs)
    return None if ref is None else canonical.get(ref, ref)


def sort_of(record: Record, canonical: Mapping[str, str]) -> MemoryType:
    """The type of a memory, by what it is about."""
    return type_of(ref_of(record, canonical) or record.entity)


def content_of(text: str) -> str:
    """What two memories have in common that say the same."""
    return _SPACES.sub(" ", text).strip().casefold().rstrip(_STRIPPED).rstrip()


def is_protected(record: Record) -> bool:
    """Whether a memory is never put away: somebody pinned it or put it right, or it is a fact of a profile."""
    corrected = record.event_type is EventType.CORRECTION
    return record.pinned or corrected or record.kind is Kind.PROFILE or record.key is not None


def is_trivial(record: Record, now: Instant, recalled: Collection[str]) -> bool:
    """Whether nobody needs a memory: it weighs nothing, is old, and was neither said again nor recalled."""
    last = max(record.promoted_at, record.mentioned_at or record.promoted_at)
    old = now - last > ARCHIVED_AFTER_DAYS * EVERY_SECONDS * _SECOND
    used = record.mention_count > 1 or record.id in recalled
    return record.weight == 0 and old and not used and not record.approved_by and not is_protected(record)


def made_of(sources: Sequence[Record], canonical: Mapping[str, str], text: str) -> Statement:
    """What a fold states."""
    events = {each.event_type for each in sources}
    return Statement(
        text=text,
        event_type=events.pop() if len(events) == 1 else EventType.FACT,
        entity=ref_of(sources[0], canonical) or sources[0].entity,
        predicate=TOLD_TOGETHER,
        value=[each.text for each in sources],
        confidence=min(each.confidence for each in sources),
    )


def fold_of(made: Record, sources: Sequence[Record], canonical: Mapping[str, str]) -> Record:
    """The record of a fold: no more trusted and no less secret than any of its sources, and kept no longer."""
    standing: Standing = inherited(each.standing for each in sources)
    refs = dict.fromkeys(canonical.get(ref, ref) for each in sources for ref in (each.entity_refs or (each.entity,)))
    ends = [each.ends_at for each in sources if each.ends_at is not None]
    last = max(max(each.promoted_at, each.mentioned_at or each.promoted_at) for each in sources)
    ids = tuple(each.id for each in sources)
    return msgspec.structs.replace(
        made,
        authority=AUTHORITY_OF[standing.trust],
        authority_reason=CURATED_FOLD,
        trust=standing.trust,
        classification=standing.classification,
        captures=tuple(dict.fromkeys(capture for each in sources for capture in each.captures)),
        evidence_refs=tuple(dict.fromkeys(ref for each in sources for ref in each.evidence_refs)),
        derived_from=ids,
        folded_from=ids,
        lineage=lineage_of(parents=[each.lineage for each in sources]),
        entity_refs=tuple(dict.fromkeys([made.entity, *refs])),
        entity_label=label_of(sources, canonical),
        fact_type=_common([each.fact_type for each in sources]),
        weight=FOLD_WEIGHT,
        weight_reason=(WeightReason.FOLDED.value,),
        mention_count=sum(each.mention_count for each in sources),
        mentioned_at=last,
        origin=CURATED_FOLD,
        persona=sources[0].persona,
        ends_at=min(ends) if ends else None,
    )


def label_of(sources: Sequence[Record], canonical: Mapping[str, str]) -> str:
    """How the entity of some memories is called: as the newest of them says, else in the words of its ref."""
    told = [each.entity_label for each in sources if each.entity_label]
    if told:
        return told[-1]
    ref = ref_of(sources[0], canonical) or sources[0].entity
    return ref.partition(":")[2].replace("_", " ").title() or ref


def _common(given: Sequence[str | None]) -> str | None:
    return given[0] if len(set(given)) == 1 else None


# -- saying the same


def _deduped(active: Sequence[Record], canonical: Mapping[str, str]) -> Iterable[Action]:
    """What says the same, of one type, for the same personas and on the same consent: the best is kept."""
    groups: dict[tuple[str | None, ...], list[Record]] = defaultdict(list)
    told: dict[tuple[str | None, ...], str] = {}
    for each in active:
        shared = (sort_of(each, canonical), each.persona, each.consent_id, each.subject)
        groups[(*shared, content_of(each.text))].append(each)
        if each.origin == CURATED_FOLD and isinstance(each.value, list):
            told |= {(*shared, content_of(str(item))): each.id for item in each.value}
    for same, group in groups.items():
        fold = told.get(same)
        keep = fold if fold is not None else max(group, key=_standing_of).id
        ended = [each.id for each in group if each.id != keep and not is_protected(each)]
        reason = Why.SAYS_THE_SAME if fold is None else Why.IN_A_FOLD
        for start in range(0, len(ended), MOST_ENDED):
            part = tuple(ended[start : start + MOST_ENDED])
            yield Action(kind=Deed.DEDUPE, reason=reason, archived=part, keep=keep)


def _standing_of(record: Record) -> tuple[bool, bool, bool, Instant, int, Instant, int]:
    """Which of the memories that say the same is kept: what is pinned, was put right or was told beforehand.

    Among others what lasts longest, then what is trusted most, lest the copy that is kept is gone soon, or counts for
    less; and of equals the newest.
    """
    return (
        record.pinned,
        is_protected(record),
        record.origin == SEEDED,
        record.ends_at or LAST,
        record.trust,
        record.promoted_at,
        record.tick,
    )


# -- told together


def _folds(record: Record, canonical: Mapping[str, str], many_valued: Collection[str]) -> bool:
    """Whether a memory can be told together with others.

    Of what can have but one value there is one memory at a time, which must be found when the value changes; what rests
    on a consent must go with it; and what a person let in, or what steers an agent, keeps its own words.
    """
    return (
        record.origin == EXTRACTED
        and record.predicate in many_valued
        and sort_of(record, canonical) is not MemoryType.PROFILE
        and record.consent_id is None
        and record.subject is None
        and not record.approved_by
        and record.tier is not Tier.DURABLE
        and record.event_type is not EventType.INSTRUCTION
        and len(record.text) <= MAX_ITEM
        and not is_protected(record)
    )


def _folded(active: Sequence[Record], canonical: Mapping[str, str], many_valued: Collection[str]) -> Iterable[Action]:
    """What is about one entity, for the same personas and in one tier, oldest first."""
    groups: dict[tuple[str | None, ...], list[Record]] = defaultdict(list)
    for each in active:
        if _folds(each, canonical, many_valued):
            ends = None if each.ends_at is None else str(each.ends_at // (EVERY_SECONDS * _SECOND))
            groups[(ref_of(each, canonical), each.persona, each.tier, ends)].append(each)
    for (ref, *_), group in groups.items():
        for start in range(0, len(group), MOST_ITEMS):
            part = group[start : start + MOST_ITEMS]
            if len(part) >= FOLD_FROM:
                items = " / ".join(_item(each.text) for each in part)
                text = f"{label_of(part, canonical)}: {items}"
                ids = tuple(each.id for each in part)
                yield Action(kind=Deed.FOLD, reason=Why.TOLD_TOGETHER, archived=ids, text=text, entity=ref)


def _item(text: str) -> str:
    return _SPACES.sub(" ", text).strip().rstrip(_STRIPPED)
