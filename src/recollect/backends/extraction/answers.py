"""What a model answers: read strictly, and kept only as far as it rests on the passage, so that nothing is believed.

A statement rests on the passage when all words of its value and of its entity's name stand there, and all numbers and
at least half of the words of its text. That bounds what a model can make up; it does not prove that the passage means
it.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from recollect.backends.extraction.prompts import SUBJECT, sent_of
from recollect.domain.governance.events import classified
from recollect.domain.governance.keys import normalised
from recollect.domain.governance.terms import GOVERNED, EventType, Source
from recollect.domain.scrubbing import REDACTED, cleaned, on_one_line
from recollect.domain.statements import Statement
from recollect.domain.words import NO_LANGUAGE, words_in
from recollect.ports.extractor import Passage

MOST_STATEMENTS = 32
MOST_TEXT = 500
MOST_VALUE = 300
_LEAST_SHARE = 0.5
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KEYED = frozenset({EventType.FACT, EventType.PREFERENCE, EventType.CORRECTION})
_SORTED_BY_SOURCE = frozenset({Source.TOOL, Source.AI})
"""Whose words are never anybody's preference, decision or correction, whatever a model takes them for."""


class Unreadable(Exception):
    """The answer has not the shape that was asked for."""


class Ungrounded(Exception):
    """There are statements in the answer, and none of them rests on the passage."""


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_TEXT)]
    event_type: EventType
    entity: Annotated[str, msgspec.Meta(min_length=1, max_length=160)]
    predicate: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    value: Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_VALUE)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    key: Annotated[str, msgspec.Meta(max_length=80)] | None


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    statements: Annotated[list[_Said], msgspec.Meta(max_length=MOST_STATEMENTS)]


_decoder = msgspec.json.Decoder(_Answer)


def statements_of(passage: Passage, answer: str) -> tuple[Statement, ...]:
    """The statements of an answer that rest on the passage, each once. Raises `Unreadable` and `Ungrounded`."""
    try:
        told = _decoder.decode(answer).statements
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Unreadable from None
    if not all(each.event_type in GOVERNED for each in told):
        raise Unreadable
    ground = _Ground(sent_of(passage))
    found = [made for each in told if (made := _statement(each, passage, ground)) is not None]
    if told and not found:
        raise Ungrounded
    return tuple({(each.entity, each.predicate, each.value): each for each in reversed(found)}.values())[::-1]


class _Ground:
    """The words of a passage, that statements must rest on."""

    def __init__(self, sent: str) -> None:
        said = sent.replace(REDACTED, " ")
        self._stems = frozenset(words_in(said))
        self._words = frozenset(words_in(said, NO_LANGUAGE))

    def has_all(self, text: str) -> bool:
        """True when every word stands in the passage; the commonest count only where there are no others."""
        stems, words = words_in(text), words_in(text, NO_LANGUAGE)
        return self._stems.issuperset(stems) if stems else bool(words) and self._words.issuperset(words)

    def has_most(self, text: str) -> bool:
        """True when every number does, and at least half of the words."""
        stems = words_in(text)
        numbers = [word for word in stems if any(map(str.isdigit, word))]
        held = sum(word in self._stems for word in stems)
        return bool(stems) and self._stems.issuperset(numbers) and held >= _LEAST_SHARE * len(stems)


def _statement(said: _Said, passage: Passage, ground: _Ground) -> Statement | None:
    """The statement, if it rests on the passage and its names can be used."""
    text, value = _plain(said.text), _plain(said.value)
    entity, predicate = _entity(said.entity, passage.subject, ground), _name(said.predicate)
    if entity is None or predicate is None or not ground.has_most(text) or not ground.has_all(value):
        return None
    by_source = passage.source in _SORTED_BY_SOURCE
    event_type = classified(text, passage.source) if by_source else said.event_type
    return Statement(
        text=text,
        event_type=event_type,
        entity=entity,
        predicate=predicate,
        value=value,
        confidence=said.confidence,
        key=_name(said.key or "") if event_type in _KEYED else None,
    )


def _entity(said: str, subject: str, ground: _Ground) -> str | None:
    """The handle of what a statement is about; never another of the subject's own kind, whom no passage can speak for.

    Names are written alike however the passage writes them, so that two statements about one thing meet.
    """
    if said.strip().casefold() == SUBJECT:
        return subject
    kind, _, name = _plain(said).partition(":")
    made = _name(kind)
    if made is None or made == subject.partition(":")[0].casefold() or not ground.has_all(name):
        return None
    return f"{made}:{normalised(name).replace(' ', '_')}"


def _name(said: str) -> str | None:
    """A name of letters, digits and underscores; None when there is none to be made of it."""
    made = "_".join(normalised(said).split())
    return made if _NAME.fullmatch(made) else None


def _plain(text: str) -> str:
    """The text without what cannot be seen, in one line."""
    return " ".join(on_one_line(cleaned(text)).split())
