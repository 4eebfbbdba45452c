"""Subjects: what a memory is about, what sort of fact it is, and which memories are too weak to be one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from recollect.domain.governance.terms import EventType
from recollect.domain.statement_rules import either, pattern

REF_TYPES = ("person", "place", "org", "project")
"""What refs may name."""
MOST_KEY_CONTENT = 120
"""Characters of its words that stand in the key of a memory which names nobody."""


class MemoryType(StrEnum):
    """What a memory is about."""

    PROFILE = "PROFILE"
    """The user themself."""
    PEOPLE = "PEOPLE"
    """A person, place or organisation of their life."""
    PROJECT = "PROJECT"
    """What they are working on."""


class FactType(StrEnum):
    """What sort of fact a memory is."""

    FACT = "fact"
    PREFERENCE = "preference"
    RELATIONSHIP = "relationship"
    """How somebody stands to the user."""
    FRICTION = "friction"
    """What gets in the way."""
    HABIT = "habit"
    """What is done regularly."""


class Unfit(StrEnum):
    """Why words that were taken for a memory are none."""

    SMALL_TALK = "small_talk"
    """They tell of the talk itself: tests, moods, the assistant."""
    PERSONA_NAME = "persona_name"
    """They are the name of whom the user talks to, not of the user."""
    NO_RELATIONSHIP = "no_relationship"
    """They are about somebody, and do not say who that is to the user."""
    NOT_OF_USER = "not_of_user"
    """The user did not speak of anybody as theirs."""


_PREFERRING = frozenset({"avoids", "dislikes", "likes", "prefers", "instruction"})
_KIN = pattern("<KIN>").pattern
_CLOSE = either(
    "mam[aá], papa, mommy, daddy, grandkids?, godfather, godmother, best friend, buddy, ex-?(?:wife|husband)?",
    "in-laws, family, stepmother, stepfather, half-(?:brother|sister), bandmates?, classmates?, housemate, landlord",
    "landlady, nanny, co-?founders?, co-?workers?, colleagues, clients?, customers?, employees?, employer, managers",
    "bosses, supervisor, business partner, team lead, trainer, tutor, professor, assistant coach",
)
_RELATED = f"(?:{_KIN}|{_CLOSE})"
_RELATIONSHIP = re.compile(rf"\b{_RELATED}\b", re.IGNORECASE)
_OWN_RELATION = re.compile(rf"\b(?:my|our)\b.{{0,40}}?\b{_RELATED}\b", re.IGNORECASE | re.DOTALL)
_RELATES = re.compile(
    rf"\b(?:is|are|was|were|named|called|married to|engaged to|dating)\b|\b(?:my|our) {_RELATED}(?:,| [^\W\d_a-z])",
    re.IGNORECASE,
)
_FRICTION = re.compile(
    r"\b(?:struggl\w+ (?:with|to)|can(?:'|no)?t (?:focus|concentrate|sleep|keep up)"
    r"|keeps? (?:interrupting|distracting|bothering)"
    r"|(?:driv\w+|makes?|making) (?:me|them|us) (?:crazy|nuts|mad|insane)|gets? in (?:the|my) way|fed up with"
    r"|stress\w* (?:me|them) out|overwhelmed (?:by|with)|(?:tired|sick) of)\b",
    re.IGNORECASE,
)
_HABITUAL = re.compile(
    r"\b(?:every|each) (?:single |other )?(?:day|morning|evening|night|week|weekend|month|\w+day)\b"
    r"|\b(?:daily|weekly|monthly|routinely|regularly|on (?:weekends|\w+days))\b",
    re.IGNORECASE,
)
_OF_THE_TALK = re.compile(
    r"\b(?:testing|frustrat\w*|grateful|supportive|assistant|conversations?|ready to help)\b", re.IGNORECASE
)
_STRIPPED = dict.fromkeys(map(ord, ".,!?;:'\"(){}[]\\/|‘’“”"))


def is_of_user(entity: str) -> bool:
    """Whether an entity is the user themself."""
    return entity.partition(":")[0] == "user"


def primary_ref(entity: str, refs: Sequence[str] = ()) -> str | None:
    """The ref of what a memory is about first: the first of its own, else its entity where that is one."""
    if refs:
        return refs[0]
    return entity if entity.partition(":")[0] in REF_TYPES else None


def type_of(entity: str, refs: Sequence[str] = ()) -> MemoryType:
    """What a memory is about. What is said of the user stays theirs, whoever else it names."""
    if is_of_user(entity):
        return MemoryType.PROFILE
    kind = entity.partition(":")[0]
    if kind not in REF_TYPES:
        kind = refs[0].partition(":")[0] if refs else ""
    if kind == "project":
        return MemoryType.PROJECT
    return MemoryType.PEOPLE if kind in REF_TYPES else MemoryType.PROFILE


def memory_type_of(text: str) -> MemoryType | None:
    """The type that a model wrote, as `people` or `PEOPLE|person`; None when there is no such type."""
    word = text.partition("|")[0].strip().upper()
    return MemoryType(word) if word in MemoryType.__members__ else None


def fact_type_of(event_type: EventType, predicate: str, text: str) -> FactType:
    """What sort of fact a memory is: by what it says of its entity first, by its words then."""
    if predicate == "habit":
        return FactType.HABIT
    if predicate in _PREFERRING or predicate.startswith("favourite"):
        return FactType.PREFERENCE
    if event_type in (EventType.PREFERENCE, EventType.INSTRUCTION):
        return FactType.PREFERENCE
    if _FRICTION.search(text):
        return FactType.FRICTION
    if predicate in ("people", "is", "has", "relationship") and _is_relationship(text):
        return FactType.RELATIONSHIP
    if predicate in ("did", "fact", "") and _HABITUAL.search(text):
        return FactType.HABIT
    return FactType.FACT


def memory_key(
    memory_type: MemoryType,
    entity_type: str | None,
    primary: str | None,
    fact_type: str | None,
    predicate: str | None,
    content: str,
) -> str:
    """What memories have in common that would be the same one, for instance `people|person|john_doe|relationship`.

    The predicate is the fifth part when there is one. Several values of one predicate share the key.
    """
    if primary:
        named, _, slug = primary.rpartition(":")
        entity_type = entity_type or named or None
    else:
        slug = f"content:{_plain(content)[:MOST_KEY_CONTENT]}"
    parts = [memory_type.lower(), entity_type or "none", slug, str(fact_type or FactType.FACT)]
    return "|".join([*parts, predicate] if predicate else parts)


def mentions_the_talk(content: str) -> bool:
    """Whether words tell of the talk itself rather than of a life."""
    return _OF_THE_TALK.search(content) is not None


def unfit(
    memory_type: MemoryType, content: str, window: Sequence[str], persona_names: Iterable[str] = ()
) -> Unfit | None:
    """Why what was taken for a memory is none; None when it is one.

    `window` is what the user said last: what is kept of people must have been spoken of there as theirs.
    """
    if mentions_the_talk(content):
        return Unfit.SMALL_TALK
    if memory_type is MemoryType.PROFILE and _plain(content) in {_plain(each) for each in persona_names}:
        return Unfit.PERSONA_NAME
    if memory_type is MemoryType.PEOPLE:
        if _RELATIONSHIP.search(content) is None:
            return Unfit.NO_RELATIONSHIP
        if not any(_OWN_RELATION.search(each) for each in window):
            return Unfit.NOT_OF_USER
    return None


def keeps_memory(
    memory_type: MemoryType, content: str, window: Sequence[str], persona_names: Iterable[str] = ()
) -> bool:
    """Whether what was taken for a memory is one."""
    return unfit(memory_type, content, window, persona_names) is None


def _is_relationship(text: str) -> bool:
    return _RELATIONSHIP.search(text) is not None and _RELATES.search(text) is not None


def _plain(content: str) -> str:
    return " ".join(content.lower().translate(_STRIPPED).split())
