"""Events: what sort of thing was said, the fact it states, how much it matters, and whose word it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.domain.governance.axes import governed
from recollect.domain.governance.keys import normalised
from recollect.domain.governance.terms import Authority, EventType, Source, WritePolicy

MOST_VALUE = 60
LOW_SIGNAL = frozenset({"ok", "okay", "thanks", "thank you", "hello", "hi", "hey", "cool", "great"})
MINIMAL = frozenset({EventType.FACT, EventType.PREFERENCE, EventType.DECISION, EventType.CORRECTION})
"""What is written where the write policy is minimal."""
IMPORTANCE = {
    EventType.PREFERENCE: 3,
    EventType.DECISION: 3,
    EventType.FACT: 4,
    EventType.CORRECTION: 4,
    EventType.EXECUTION: 2,
    EventType.CONTEXT: 1,
}
_SAID = (
    (EventType.CORRECTION, re.compile(r"\b(?:actually|correction)\b")),
    (EventType.PREFERENCE, re.compile(r"\bi (?:prefer|like|want)\b|\bnever (?:do|use|call)\b")),
    (EventType.DECISION, re.compile(r"\b(?:decision|decided|choose)\b|\blet's use\b|\bwe will use\b|\buse [^\W_]")),
)
"""What gives each event type away, in the order in which it is looked for."""
_NOT, _BUT = re.compile(r"\bnot\b"), re.compile(r"\bbut\b")
_VALUE = r"([^.!?,;\n]+)"
_FACTS = tuple(
    (key, re.compile(pattern, re.IGNORECASE))
    for key, pattern in (
        ("name", rf"\b(?:my name is|call me)\s+{_VALUE}"),
        ("timezone", rf"\btimezone\s*(?:is\s|=){_VALUE}"),
        ("language", rf"\b(?:my language is|language preference is)\s+{_VALUE}"),
        ("project", rf"\b(?:my project(?: name)? is|working on)\s+{_VALUE}"),
        ("editor", rf"\bmy editor is\s+{_VALUE}"),
        ("units", r"\buse (metric|imperial) units\b"),
    )
)
_EMPHASIS = re.compile(r"\b(?:always|never|must|avoid)\b")
_QUOTES = "\"'“”‘’«»`"
_AUTHORITY = {
    Source.USER: Authority.USER_ASSERTED,
    Source.AI: Authority.AI_INFERRED,
    Source.TOOL: Authority.TOOL_VERIFIED,
}


class Fact(NamedTuple):
    """A fact that a text states about who said it."""

    key: str
    value: str

    @property
    def reason(self) -> str:
        """How it was found."""
        return f"pattern:{self.key}"


class Weight(NamedTuple):
    """How much something matters, and why."""

    importance: int
    reasons: tuple[str, ...]


def classified(text: str, source: str = Source.USER) -> EventType:
    """What sort of thing was said: by a tool an execution, by the AI context, by others as the words show."""
    if source == Source.TOOL:
        return EventType.EXECUTION
    if source == Source.AI:
        return EventType.CONTEXT
    lowered = text.lower().replace("’", "'")
    if any(_contrasts(line) for line in lowered.splitlines()):
        return EventType.CORRECTION
    for event_type, pattern in _SAID:
        if pattern.search(lowered):
            return event_type
    return EventType.CONTEXT if fact_in(text) is None else EventType.FACT


def _contrasts(line: str) -> bool:
    """True for "not this but that". Two searches, since one pattern for both takes the square of the length."""
    found = _NOT.search(line)
    return found is not None and _BUT.search(line, found.end()) is not None


def fact_in(text: str) -> Fact | None:
    """The first fact that a text states, in the order of the known keys; None when it states none."""
    for key, pattern in _FACTS:
        found = pattern.search(text)
        value = _value(found[1]) if found else ""
        if value:
            return Fact(key, value)
    return None


def _value(raw: str) -> str:
    """A value as it is kept: no quotes around it, single spaces, not too long."""
    return " ".join(raw.strip().strip(_QUOTES).split())[:MOST_VALUE].strip()


def weighed(event_type: EventType, text: str, source: str) -> Weight:
    """How much something matters: a base by what it is, and one more each for user, emphasis and correction."""
    bonuses = (
        ("source:user", source == Source.USER),
        # Whole words: "mustard" does not insist on anything.
        ("emphasis", _EMPHASIS.search(text.lower()) is not None),
        ("corrective", event_type is EventType.CORRECTION),
    )
    given = tuple(reason for reason, holds in bonuses if holds)
    return Weight(IMPORTANCE[governed(event_type)] + len(given), (f"event:{event_type}", *given))


def authority_of(source: str) -> tuple[Authority, str]:
    """Whose word it is, and why. The server names the source, from the channel; whoever is not known is the system."""
    known = {str(each): authority for each, authority in _AUTHORITY.items()}
    return known.get(source, Authority.SYSTEM_IMPOSED), f"source:{source}"


def is_low_signal(text: str) -> bool:
    """True for words that say nothing worth keeping."""
    return normalised(text) in LOW_SIGNAL


def attempts_semantic(event_type: EventType, text: str, write_policy: WritePolicy) -> bool:
    """True when a text is worth trying to keep at all."""
    return is_worth_trying(event_type, write_policy, blank=not text.strip(), low_signal=is_low_signal(text))


def is_worth_trying(event_type: EventType, write_policy: WritePolicy, *, blank: bool, low_signal: bool) -> bool:
    """True when a text is worth trying to keep at all; what is not leaves no trace.

    Under the policy `none` the attempt is made, and denied with its reason.
    """
    if blank or low_signal:
        return False
    if event_type is EventType.CONTEXT and write_policy is not WritePolicy.AGGRESSIVE:
        return False
    return write_policy is not WritePolicy.MINIMAL or governed(event_type) in MINIMAL


def attempts_profile(event_type: EventType, fact: Fact | None) -> bool:
    """True when a fact was stated, in so many words or as a correction."""
    return fact is not None and event_type in (EventType.FACT, EventType.CORRECTION)
