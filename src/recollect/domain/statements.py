"""Statements: what a text says that may be worth remembering, one thing each."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.clauses import clauses_in, led, object_in
from recollect.domain.governance.events import classified
from recollect.domain.governance.terms import EventType, Source
from recollect.domain.sentences import Sentence, sentences_in
from recollect.domain.statement_directions import CORRECTIONS, DIRECTIONS
from recollect.domain.statement_lives import LIVES
from recollect.domain.statement_rules import WEAK, About, Rule
from recollect.domain.statement_vetoes import is_doubted, is_empty, is_of_others, is_question, is_slight, is_supposed

MOST_STATEMENTS = 50
"""Statements that one text gives at most."""
MANY_VALUED = frozenset(
    {
        *("allergic_to", "diet", "health"),
        *("avoids", "dislikes", "likes", "prefers", "wants"),
        *("corrects", "decided", "executed", "instruction", "uses"),
        *("did", "event", "goal", "habit", "learning", "plan", "studies"),
        *("has", "is", "lived_in", "people"),
    }
)
"""Predicates of which an entity may have several values at once; of all others it has one."""
_RULES: tuple[Rule, ...] = (*DIRECTIONS, *LIVES)
_OF_PEOPLE = {
    **dict.fromkeys(("is", "are", "was", "were"), "is"),
    **dict.fromkeys(("has", "have", "had"), "has"),
    **dict.fromkeys(("live in", "lives in", "live near", "lives near"), "lives_in"),
    **dict.fromkeys(("work as", "works as"), "works_as"),
    **dict.fromkeys(("work at", "works at", "work for", "works for"), "works_at"),
    **dict.fromkeys(("work in", "works in"), "works_in"),
    **dict.fromkeys(("love", "loves", "like", "likes", "enjoy", "enjoys"), "likes"),
    **dict.fromkeys(("prefer", "prefers"), "prefers"),
    **dict.fromkeys(("hate", "hates"), "dislikes"),
}
"""What the verb of a clause about a named person says of them; any other says what they did."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a text says of an entity, in words that can be read without the rest."""

    text: str
    """The words to be kept."""
    event_type: EventType
    entity: str
    """What it is about, as `<type>:<id>`."""
    predicate: str
    """What it says of the entity."""
    value: Any
    """What the predicate has there."""
    confidence: float
    """How sure it is that the text says so, from 0 to 1."""
    key: str | None = None
    """The key of a profile fact, of which there is one value at a time."""


def statements_in(text: str, subject: str, source: Source = Source.USER) -> tuple[Statement, ...]:
    """What a text says that may be worth remembering, in its order; the same text gives the same.

    What the AI says is no source of memories, and of what a tool says one sentence is kept, as having happened.
    """
    if source is Source.AI:
        return ()
    if source is Source.TOOL:
        return _executed(text, subject)
    found: dict[tuple[str, str, str], Statement] = {}
    for sentence in sentences_in(text):
        for statement in _stated(sentence, subject, source):
            found.setdefault((statement.entity, statement.predicate, statement.value.casefold()), statement)
        if len(found) >= MOST_STATEMENTS:
            break
    return tuple(found.values())[:MOST_STATEMENTS]


def _executed(text: str, subject: str) -> tuple[Statement, ...]:
    """The first sentence of what a tool says."""
    for said in sentences_in(text):
        if value := object_in(said):
            return (
                Statement(
                    text=said.text,
                    event_type=EventType.EXECUTION,
                    entity=subject,
                    predicate="executed",
                    value=value,
                    confidence=WEAK,
                ),
            )
    return ()


def _stated(sentence: Sentence, subject: str, source: Source) -> list[Statement]:
    """The statements of one sentence: in its words when it makes one, in those of each clause when it makes more."""
    if is_question(_led(sentence)):
        return []
    supposed = is_supposed(sentence.plain)
    clauses = list(clauses_in(sentence))
    found = [each for clause in clauses if (each := _statement(clause, subject, source, supposed)) is not None]
    if len(found) == 1 and not any(is_doubted(each.plain) or is_of_others(_led(each)) for each in clauses):
        return [msgspec.structs.replace(found[0], text=sentence.text)]
    return found


def _led(said: Sentence) -> str:
    return said.plain[led(said.plain) :]


def _statement(clause: Sentence, subject: str, source: Source, supposed: bool) -> Statement | None:
    """What one clause states; None when no rule knows it, or when it is not to be taken for a statement."""
    if is_doubted(clause.plain):
        return None
    begin = led(clause.plain)
    for rule, at in (*((rule, begin) for rule in _RULES), *((rule, 0) for rule in CORRECTIONS)):
        found = rule.pattern.match(clause.plain, at)
        if found is None:
            continue
        value = object_in(clause.part(*found.span("value")))
        if not value or not _is_stated(rule, value, clause.plain[begin:], supposed):
            return None
        named = found.groupdict()
        return Statement(
            text=clause.text,
            event_type=_event_type(rule, clause.plain, source),
            entity=_entity(rule, named, subject),
            predicate=_predicate(rule, named),
            value=value,
            confidence=rule.confidence,
            key=rule.predicate if rule.keyed else None,
        )
    return None


def _is_stated(rule: Rule, value: str, plain: str, supposed: bool) -> bool:
    """True for what is meant to last. To the assistant one may say "if" and "you", but not in a fact of one's own."""
    if supposed and (rule.keyed or not rule.directs):
        return False
    if rule.directs:
        return True
    slight = rule.predicate == "event" and is_slight(value, plain)
    return not (slight or is_of_others(plain) or is_empty(value))


def _event_type(rule: Rule, plain: str, source: Source) -> EventType:
    if rule.event_type is EventType.INSTRUCTION:
        return EventType.INSTRUCTION if source is Source.USER else EventType.PREFERENCE
    return EventType.CORRECTION if classified(plain) is EventType.CORRECTION else rule.event_type


def _entity(rule: Rule, named: dict[str, str | None], subject: str) -> str:
    name = named.get("name")
    if name is None or rule.about is About.SPEAKER:
        return subject
    return f"{rule.about}:{'_'.join(name.lower().split())}"


def _predicate(rule: Rule, named: dict[str, str | None]) -> str:
    if thing := named.get("thing"):
        return f"{rule.predicate}_{'_'.join(thing.lower().split())}"
    if rule.about is About.PERSON and named.get("name"):
        return "is" if named.get("short") else _OF_PEOPLE.get((named.get("verb") or "").lower(), "did")
    return rule.predicate
