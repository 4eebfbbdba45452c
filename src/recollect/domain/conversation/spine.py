"""The spine: everything about a user in four sections, made from what is remembered, and from nothing else.

What weighs most comes first in its section and takes the room first; of two that weigh the same, the newer one. What a
persona keeps to itself is left out, because all of them read the spine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from recollect.domain.conversation.extractive import plain_of
from recollect.domain.conversation.memory_types import MemoryType, primary_ref, type_of
from recollect.domain.conversation.summaries import MAX_SPINE, Spine
from recollect.domain.conversation.todos import LoopKind, Todo, TodoStatus
from recollect.domain.governance.terms import Kind
from recollect.domain.instants import Instant
from recollect.domain.remembering.records import Record

MOST_OF_A_LINE = 240
"""Characters of one line of a section."""
MOST_FACTS = 4
"""Facts about one person, place, organisation or project."""
MOST_LOOKED_AT = 500
"""Records, the weightiest and newest: more than there is room for, and few enough to be read in a moment."""
_FIELDS = {MemoryType.PROFILE: "profile", MemoryType.PROJECT: "projects", MemoryType.PEOPLE: "people"}
_LOOPS = "open_loops"
_PINNED = 3
"""Pinned ones weigh as much as any."""


class _Weighed(NamedTuple):
    """A line and what decides who takes the room first: the heaviest, then the newest, then the words themselves."""

    section: str
    line: str
    weight: int
    at: Instant

    def order(self) -> tuple[int, int, str, str]:
        return -self.weight, -int(self.at), self.section, self.line


def _as_it_is(ref: str) -> str:
    return ref


def spine_of(
    records: Iterable[Record],
    todos: Iterable[Todo],
    labels: Mapping[str, str],
    *,
    version: int,
    message_count: int,
    at: Instant,
    by: str,
    canonical: Callable[[str], str] = _as_it_is,
) -> Spine:
    """A new version of the spine, of at most 4,000 characters.

    `labels` has how entities are called, by their canonical refs; `canonical` maps a ref to the one it was merged into.
    """
    live = sorted((each for each in records if _belongs(each)), key=_weightiest)[:MOST_LOOKED_AT]
    live = [each for each in live if plain_of(each.text, MOST_OF_A_LINE)]
    made = [*_of_the_user(live), *_of_entities(live, labels, canonical), *_loops(todos)]
    empty = Spine(version=version, message_count=message_count, at=at, by=by)
    return _filled(empty, sorted(made, key=_Weighed.order))


def _belongs(record: Record) -> bool:
    """Whether all personas may read it, and it is a memory rather than a turn or the summary of some."""
    return (
        record.ended_at is None
        and record.persona is None
        and record.kind is not Kind.SHORT_TERM
        and not record.summary_of
        and bool(record.text.strip())
    )


def _of_the_user(records: Iterable[Record]) -> list[_Weighed]:
    own = [each for each in records if type_of(each) is MemoryType.PROFILE]
    return [_weighed(_FIELDS[MemoryType.PROFILE], plain_of(each.text, MOST_OF_A_LINE), [each]) for each in own]


def _of_entities(
    records: Iterable[Record], labels: Mapping[str, str], canonical: Callable[[str], str]
) -> list[_Weighed]:
    """One line for each that is told of: how it is called, and the weightiest facts about it."""
    about: dict[str, list[Record]] = {}
    for each in records:
        ref = primary_ref(each)
        if ref is not None:
            about.setdefault(canonical(ref), []).append(each)
    made = []
    for ref, told in about.items():
        told.sort(key=_weightiest)
        label = (
            labels.get(ref) or next((each.entity_label for each in told if each.entity_label), None) or _spelled(ref)
        )
        facts = "; ".join(tuple(dict.fromkeys(each.text.strip().rstrip(".") for each in told))[:MOST_FACTS])
        kind = MemoryType.PROJECT if ref.startswith("project:") else MemoryType.PEOPLE
        made.append(_weighed(_FIELDS[kind], plain_of(f"{label}: {facts}", MOST_OF_A_LINE), told))
    return made


def _loops(todos: Iterable[Todo]) -> list[_Weighed]:
    """What is pending, commitments before all else."""
    made = []
    for each in todos:
        if each.status is TodoStatus.PENDING and plain_of(each.content, MOST_OF_A_LINE):
            weight = 2 if each.kind is LoopKind.COMMITMENT else 1
            line = plain_of(f"{each.kind.value.lower()}: {each.content}", MOST_OF_A_LINE)
            made.append(_Weighed(_LOOPS, line, weight, each.created_at))
    return made


def _filled(empty: Spine, lines: Iterable[_Weighed]) -> Spine:
    """The spine with as many lines as there is room for, each once; one that is too long leaves it to the next."""
    spine = empty
    for each in lines:
        there = getattr(spine, each.section)
        longer = msgspec.structs.replace(spine, **{each.section: (*there, each.line)})
        if each.line not in there and len(longer.text()) <= MAX_SPINE:
            spine = longer
    return spine


def _weighed(section: str, line: str, told: list[Record]) -> _Weighed:
    return _Weighed(section, line, max(map(_weight, told)), max(map(_newest, told)))


def _weight(record: Record) -> int:
    return max(record.weight, _PINNED) if record.pinned else record.weight


def _weightiest(record: Record) -> tuple[int, int, str, str]:
    return -_weight(record), -int(_newest(record)), record.text, record.id


def _newest(record: Record) -> Instant:
    return max(record.promoted_at, record.mentioned_at or record.promoted_at)


def _spelled(ref: str) -> str:
    """How something is called that has no label: by the words of its ref."""
    return ref.partition(":")[2].replace("_", " ").title() or ref
