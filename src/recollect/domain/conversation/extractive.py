"""Extractive summaries: the sentences of a conversation that tell most, in its own words, with no model and no chance.

Every sentence is scored by what it has, and the best are kept in the order in which they were said. Those of the
summary before compete with the new ones by the same score, so that what matters is carried on until something matters
more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.domain.conversation.summaries import (
    MAX_ENTRIES,
    MAX_ENTRY,
    MAX_ONE_LINER,
    MAX_ROLLING,
    Line,
    Summary,
)
from recollect.domain.conversation.tones import tone_of
from recollect.domain.scrubbing import cleaned, redacted
from recollect.domain.sentences import sentences_in
from recollect.domain.words import NO_LANGUAGE, words_in

UNAVAILABLE = "Summary unavailable."
"""What is said of a session in which there are no words."""
MOST_OF_EACH = 6
"""So many messages of the user, and as many of the assistant, go into a rolling summary; the newest."""
MOST_OF_A_SESSION = 10
"""So many of each go into the summary of a session."""
MOST_OF_A_LINE = 800
"""Characters of one message that are looked at."""
MOST_LINES = 5
"""Lines of a rolling summary."""
MOST_OF_A_POINT = 160
"""Characters of one line of it."""
_MOST_RAW = 4_000
"""Characters of one message that are scrubbed; what is looked at lies well within."""
_ALIKE = 0.8
"""The share of words from which two sentences say the same."""

USER, ASSISTANT = "user", "assistant"
_SPOKEN = {USER: "User: ", ASSISTANT: "Assistant: "}
_MOST_SPOKEN = MOST_OF_A_POINT - max(map(len, _SPOKEN.values()))
_PREFIX = re.compile(r"(User|Assistant): +")

# What a sentence scores, for each thing that it has.
COMMITS, TIMED, NUMBERED, NAMED, FIRST_PERSON, WELL_LONG = 4, 2, 2, 2, 2, 1
ASKS, COURTEOUS, BARE, ECHOES = -2, -4, -2, -2
MOST_NAMES = 2
"""More names than these add nothing."""
LONG_ENOUGH, TOO_LONG = 5, 30
"""Words from which, and up to which, a sentence is of a telling length."""

_COMMITS = re.compile(
    r"\b(?:I|we)(?:'ll| will| shall| must| have to|'ve got to| need to| promised?)\b"
    r"|\b(?:I'm|I am|we're|we are) (?:going to|about to|planning)\b"
    r"|\b(?:remind me|deadline|due (?:on|by|at)|appointment|promised?)\b",
    re.IGNORECASE,
)
_TIMED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|(?:next|last|this|every|each) (?:day|week|month|year|morning|evening|night|weekend)|daily|weekly|monthly"
    r"|noon|midnight|birthday|anniversary|\d{1,2}[:.]\d{2}|\d{1,2} ?(?:am|pm)|\d{4}-\d{2}-\d{2})\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|my|me|mine|we|we're|our|us)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:'\")] )[A-Z][\w'-]+")
_NO_NAMES = frozenset({"I", "I'm", "I'll", "I've", "I'd", "OK", "User", "Assistant"})
_COURTEOUS = re.compile(
    r"\W*(?:hi|hello|hey|thanks?|thank you|ok(?:ay)?|sure|great|cool|nice|bye|good (?:morning|night|evening)|yes|no"
    r"|lol|haha+|you're welcome|of course|how can I help)\b",
    re.IGNORECASE,
)
_COURTEOUS_WORDS = 6
"""Longer sentences say more than their courteous beginning."""
_TAKEN_BACK = re.compile(
    r"\b(?:never ?mind|forget (?:about|it|that)|scratch that|no longer|not any ?more|cancel(?:l?ed)?|called off)\b",
    re.IGNORECASE,
)
_PLAIN_QUOTES = str.maketrans("’‘", "''")


class Point(NamedTuple):
    """One thing that was said: by whom, in which words, and where in the course of the conversation."""

    speaker: str
    text: str
    place: int

    def written(self) -> str:
        """As it stands in a rolling summary."""
        return _SPOKEN.get(self.speaker, "") + self.text


def rolling_of(lines: Sequence[Line], before: str = "", persona: str = "") -> str:
    """The conversation so far in 1 to 5 lines of at most 600 characters together; empty if nothing was said."""
    points = points_in(latest(lines, MOST_OF_EACH), before, persona)
    kept: list[Point] = []
    room = MAX_ROLLING
    for each in _best_first(points):
        needed = len(each.written()) + bool(kept)
        if len(kept) < MOST_LINES and needed <= room:
            kept.append(each)
            room -= needed
    return "\n".join(each.written() for each in sorted(kept, key=lambda each: each.place))


def summary_of(
    lines: Sequence[Line],
    before: str = "",
    persona: str = "",
    *,
    commitments: Sequence[str] = (),
    open_loops: Sequence[str] = (),
    people: Sequence[str] = (),
) -> Summary:
    """What a session was about: its most telling sentence, the next ones of the user, and what is told besides."""
    newest = latest(lines, MOST_OF_A_SESSION)
    ranked = _best_first(points_in(newest, before, persona))
    first = ranked[0] if ranked else None
    return Summary(
        one_liner=UNAVAILABLE if first is None else clipped(as_user(first.written(), persona), MAX_ONE_LINER),
        what_mattered=entries_of(as_user(each.text, persona) for each in ranked[1:] if each.speaker != ASSISTANT),
        open_loops=entries_of(open_loops),
        commitments=entries_of(commitments),
        people=people_of(people, persona),
        tone=tone_of([plain_of(line.text, MOST_OF_A_LINE) for line in newest if line.speaker == USER]).value,
    )


def condensed(lines: Sequence[str], most: int) -> tuple[str, ...]:
    """The `most` most telling of many short lines, each once, in their order."""
    once = tuple(dict.fromkeys(line for line in lines if line.strip()))
    ranked = sorted(range(len(once)), key=lambda place: (-score_of(Point("", once[place], place)), place))
    return tuple(once[place] for place in sorted(ranked[: max(most, 0)]))


def score_of(point: Point) -> int:
    """How much a sentence tells; the constants above say what counts."""
    text = point.text.translate(_PLAIN_QUOTES)
    words = text.split()
    names = set(_NAME.findall(text)) - _NO_NAMES
    total = NAMED * min(len(names), MOST_NAMES)
    total += NUMBERED * any(map(str.isdigit, text)) + TIMED * bool(_TIMED.search(text))
    total += WELL_LONG * (LONG_ENOUGH <= len(words) <= TOO_LONG)
    total += ASKS * text.rstrip("\"')").endswith(("?", "？", "؟"))
    total += COURTEOUS * (len(words) <= _COURTEOUS_WORDS and bool(_COURTEOUS.match(text)))
    total += BARE * (len(words) < 3 and text.isascii())
    if point.speaker == ASSISTANT:
        return total + ECHOES
    return total + COMMITS * bool(_COMMITS.search(text)) + FIRST_PERSON * bool(_FIRST_PERSON.search(text))


# -- what was said


def latest(lines: Sequence[Line], most: int) -> tuple[Line, ...]:
    """The newest messages, at most so many of the user and as many of the others, in their order."""
    left = {True: most, False: most}
    kept: list[Line] = []
    for line in reversed(lines):
        by_user = line.speaker == USER
        if left[by_user]:
            left[by_user] -= 1
            kept.append(line)
    return tuple(reversed(kept))


def points_in(lines: Sequence[Line], before: str = "", persona: str = "") -> tuple[Point, ...]:
    """What the summary before says, and then what was said since: each thing once, where it was said last.

    What the user took back since then (`never mind the dentist`) is left out of the summary before.
    """
    carried = _carried(before)
    old = len(carried)
    said = [*carried, *((_speaker(line), text) for line in lines for text in _said_in(line.text, persona))]
    taken_back = [
        _content(text) for speaker, text in said[old:] if speaker == USER and _TAKEN_BACK.search(text) is not None
    ]
    found: list[tuple[Point, frozenset[str]]] = []
    for place in reversed(range(len(said))):
        speaker, text = said[place]
        words = _content(text)
        if place < old and any(_speaks_of(words, gone) for gone in taken_back):
            continue
        if not any(_are_alike(words, text, other, point.text) for point, other in found):
            found.append((Point(speaker, text, place), words))
    return tuple(point for point, _ in reversed(found))


def _carried(before: str) -> list[tuple[str, str]]:
    """Who said what, of the summary before; a model's has no speakers, and its long lines are taken apart."""
    said: list[tuple[str, str]] = []
    for line in _scrubbed(before).splitlines():
        whole = " ".join(line.split())
        for each in [whole] if len(whole) <= MOST_OF_A_POINT else _said_in(whole):
            spoken = _PREFIX.match(each)
            speaker, text = ("", each) if spoken is None else (spoken[1].casefold(), each[spoken.end() :])
            if _has_words(text):
                said.append((speaker, text))
    return said


def _speaker(line: Line) -> str:
    return USER if line.speaker == USER else ASSISTANT


def _said_in(text: str, persona: str = "") -> list[str]:
    """The sentences of a message, each so short that it fits a line; all of it where none can be told apart."""
    scrubbed = _scrubbed(text)
    found = [each.text for each in sentences_in(scrubbed)] or [" ".join(scrubbed.split())]
    spoken_to = [clipped(_without_address(each, persona), _MOST_SPOKEN) for each in found]
    return [each for each in spoken_to if _has_words(each)]


def _without_address(text: str, persona: str) -> str:
    """The sentence without the persona's name before it: `Sophie, I will call` is about the call."""
    name = persona.strip()
    if not name or not text.casefold().startswith(name.casefold()):
        return text
    rest = text[len(name) :]
    return rest[1:].lstrip() if rest[:1] in (",", ":", "!") and _has_words(rest) else text


def _best_first(points: Iterable[Point]) -> list[Point]:
    """The most telling first, of two that tell as much the later one; small talk only where there is nothing else."""
    ranked = sorted(((score_of(each), each) for each in points), key=lambda scored: (-scored[0], -scored[1].place))
    return [each for score, each in ranked if score >= 0] or [each for _, each in ranked[:1]]


def _content(text: str) -> frozenset[str]:
    return frozenset(words_in(_TAKEN_BACK.sub(" ", text)))


def _are_alike(words: frozenset[str], text: str, other_words: frozenset[str], other: str) -> bool:
    if text.casefold() == other.casefold():
        return True
    both = words | other_words
    return bool(both) and len(words & other_words) >= _ALIKE * len(both)


def _speaks_of(words: frozenset[str], gone: frozenset[str]) -> bool:
    """Whether what was taken back is this: they share at least half of the words of the shorter one."""
    shared, shorter = len(words & gone), min(len(words), len(gone))
    return bool(shared) and 2 * shared >= shorter


def _has_words(text: str) -> bool:
    return bool(words_in(text, NO_LANGUAGE))


# -- caps and names


def clipped(text: str, most: int) -> str:
    """The text in at most so many characters, cut between words where there are any, and said to be cut."""
    if len(text) <= most:
        return text
    end = most - 1
    space = text.rfind(" ", end * 2 // 3, end + 1)
    if space > 0:
        end = space
    while end > 0 and unicodedata.combining(text[end]):
        end -= 1
    return text[:end].rstrip(" ,;:…") + "…"


def plain_of(text: str, most: int) -> str:
    """A text on one line, without credentials and what cannot be seen, in at most so many characters."""
    return clipped(" ".join(_scrubbed(text).split()), most)


def entries_of(told: Iterable[str]) -> tuple[str, ...]:
    """At most five entries of at most 120 characters, each once."""
    made = dict.fromkeys(entry for each in told if (entry := plain_of(each, MAX_ENTRY)))
    return tuple(made)[:MAX_ENTRIES]


def people_of(told: Iterable[str], persona: str) -> tuple[str, ...]:
    """The people who were spoken of: not the persona, and not the user."""
    spoken = {persona.strip().casefold(), USER}
    return entries_of(each for each in told if each.strip().casefold() not in spoken)


def as_user(text: str, persona: str) -> str:
    """The text with `User` in place of the persona's name at its beginning: models take one for the other."""
    name = persona.strip()
    if not name:
        return text
    return re.sub(rf"^\W*{re.escape(name)}(?!\w)", lambda _: "User", text, count=1, flags=re.IGNORECASE)


def _scrubbed(text: str) -> str:
    return redacted(cleaned(text[:_MOST_RAW]))[:MOST_OF_A_LINE]
