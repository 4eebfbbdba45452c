"""What a model answers: read strictly, capped, and kept only as far as it rests on what it was told.

Every number of two digits and more, and every word of somebody's name, must stand in the conversation or in what was
known of it. That bounds what a model can make up; it does not prove that the conversation means it.
"""

from __future__ import annotations

import re

import msgspec

from recollect.backends.summarizing.standing_in import extracted
from recollect.domain.conversation.extractive import MOST_LINES, as_user, clipped, entries_of, people_of, plain_of
from recollect.domain.conversation.summaries import MAX_ONE_LINER, MAX_ROLLING, MAX_TONE, Summary
from recollect.domain.scrubbing import cleaned, redacted
from recollect.domain.sentences import sentences_in
from recollect.domain.words import NO_LANGUAGE, words_in
from recollect.ports.summarizer import Told

MOST_ANSWERED = 20_000
"""Characters of an answer that are read."""
_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*", re.DOTALL)
_NUMBER = re.compile(r"\d{2,}")
_JSON = ("{", "[")


class Unusable(Exception):
    """There is no summary in the answer that can be relied on."""


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    one_liner: str
    what_mattered: list[str]
    open_loops: list[str]
    commitments: list[str]
    people: list[str]
    tone: str


_decoder = msgspec.json.Decoder(_Said)


def rolling_in(told: Told, answer: str) -> str:
    """The rolling summary of an answer in 1 to 5 lines of at most 600 characters. Raises `Unusable`."""
    ground = _Ground(told)
    said = _unfenced(answer[:MOST_ANSWERED])
    if said.lstrip().startswith(_JSON):
        raise Unusable
    lines = [" ".join(line.split()) for line in redacted(cleaned(said)).splitlines()]
    lines = [line for line in lines if words_in(line, NO_LANGUAGE) and ground.has_numbers(line)][:MOST_LINES]
    if not lines:
        raise Unusable
    return clipped(as_user("\n".join(lines), told.persona), MAX_ROLLING)


def summary_in(told: Told, answer: str) -> Summary:
    """The summary of an answer; of one without the shape that was asked for, its first sentence. Raises `Unusable`."""
    said = _unfenced(answer[:MOST_ANSWERED])
    try:
        read = _decoder.decode(said)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _first_sentence(told, said)
    ground = _Ground(told)
    one_liner = as_user(plain_of(read.one_liner, MAX_ONE_LINER), told.persona)
    if not words_in(one_liner, NO_LANGUAGE) or not ground.has_numbers(one_liner):
        raise Unusable
    return Summary(
        one_liner=clipped(one_liner, MAX_ONE_LINER),
        what_mattered=ground.held(read.what_mattered, told.persona),
        open_loops=entries_of([*told.open_loops, *ground.held(read.open_loops, told.persona)]),
        commitments=entries_of([*told.commitments, *ground.held(read.commitments, told.persona)]),
        people=people_of([*told.people, *filter(ground.has_words, read.people)], told.persona),
        tone=plain_of(read.tone, MAX_TONE).casefold()[:MAX_TONE] or "unknown",
    )


def _first_sentence(told: Told, said: str) -> Summary:
    """What can be had of an answer that cannot be read: its first sentence, beside what is known anyway."""
    if said.lstrip().startswith(_JSON):
        raise Unusable
    first = next((each.text for each in sentences_in(redacted(cleaned(said)))), "")
    one_liner = as_user(plain_of(first, MAX_ONE_LINER), told.persona)
    if not words_in(one_liner, NO_LANGUAGE) or not _Ground(told).has_numbers(one_liner):
        raise Unusable
    return msgspec.structs.replace(
        extracted(told), one_liner=clipped(one_liner, MAX_ONE_LINER), what_mattered=(), tone="unknown", parse_error=True
    )


class _Ground:
    """What a summary must rest on: the words of the conversation and what was known of it."""

    def __init__(self, told: Told) -> None:
        parts = [told.before, *(line.text for line in told.lines)]
        parts += [*told.commitments, *told.open_loops, *told.people]
        whole = "\n".join(parts)
        self._words = frozenset(words_in(whole, NO_LANGUAGE))
        self._numbers = frozenset(_NUMBER.findall(whole))

    def has_numbers(self, text: str) -> bool:
        """Whether every number of two digits and more stands there."""
        return self._numbers.issuperset(_NUMBER.findall(text))

    def has_words(self, text: str) -> bool:
        """Whether every word stands there."""
        words = words_in(text, NO_LANGUAGE)
        return bool(words) and self._words.issuperset(words)

    def held(self, entries: list[str], persona: str) -> tuple[str, ...]:
        """The entries that rest on it, capped."""
        return entries_of(as_user(each, persona) for each in entries if self.has_numbers(each))


def _unfenced(said: str) -> str:
    """What stands in a code fence, if the answer is one; models wrap what is to be plain."""
    fenced = _FENCE.fullmatch(said)
    return said if fenced is None else fenced["inside"]
