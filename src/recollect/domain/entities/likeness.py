"""Likeness: which entities may be the same under two spellings, for a person to decide."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec
from anyascii import anyascii
from jellyfish import damerau_levenshtein_distance, metaphone

from recollect.domain.entities.refs import EntityType, parsed, spelling
from recollect.domain.entities.registry import Entity

MOST_SUGGESTIONS = 3
"""So many entities are suggested for a new one."""
_ONE_SLIP, _TWO_SLIPS = 6, 10
"""Words of so many letters may differ by one slip of the pen, or two; in shorter ones a letter makes another name."""
_LONG_SOUND = 3
"""So many sounds tell a name; with fewer, the letters must be nearly the same, too."""


class Likeness(StrEnum):
    """Why two entities may be the same."""

    SAME_LETTERS = "same_letters"
    """They differ in accents, in the script, or in where a word ends."""
    SAME_WORDS = "same_words"
    """They have the same words in another order."""
    SAME_SOUND = "same_sound"
    """They are said the same."""
    NEARLY_SPELT = "nearly_spelt"
    """A slip of the pen turns one into the other."""
    PART_OF_NAME = "part_of_name"
    """One is a part of the other's name, and of nobody else's."""


SCORES = {
    Likeness.SAME_LETTERS: 0.95,
    Likeness.SAME_WORDS: 0.9,
    Likeness.SAME_SOUND: 0.8,
    Likeness.NEARLY_SPELT: 0.7,
    Likeness.PART_OF_NAME: 0.4,
}
"""How likely each makes it, alone; the likeliest of several counts, and a little more."""


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """That one entity may be another under another name."""

    ref: str
    into: str
    score: float
    reasons: tuple[Likeness, ...]

    @property
    def pair(self) -> frozenset[str]:
        """The two, in no order."""
        return frozenset((self.ref, self.into))


def suggested(
    new: Entity,
    known: Iterable[Entity],
    decided: Collection[frozenset[str]] = (),
    most: int = MOST_SUGGESTIONS,
) -> tuple[Suggestion, ...]:
    """Whom a new entity may be, the likeliest first; never one of another type, and no pair that was decided about."""
    kind = parsed(new.ref).type
    others = [each for each in known if each.ref != new.ref and parsed(each.ref).type is kind]
    own, theirs = letters(new.label), {each.ref: letters(each.label) for each in others}
    found: dict[str, tuple[Likeness, ...]] = {ref: _alike(own, words) for ref, words in theirs.items()}
    if kind is EntityType.PERSON:
        partly = [ref for ref, words in theirs.items() if _is_part(own, words)]
        if len(partly) == 1:
            found[partly[0]] = (*found[partly[0]], Likeness.PART_OF_NAME)
    made = [
        Suggestion(ref=new.ref, into=ref, score=_score(reasons), reasons=reasons)
        for ref, reasons in found.items()
        if reasons and frozenset((new.ref, ref)) not in decided
    ]
    return tuple(sorted(made, key=lambda each: (-each.score, each.into))[:most])


def likeness(one: str, other: str) -> tuple[Likeness, ...]:
    """Why two names may be the same one's; empty when they are two."""
    return _alike(letters(one), letters(other))


def _alike(words: tuple[str, ...], others: tuple[str, ...]) -> tuple[Likeness, ...]:
    if not words or not others:
        return ()
    reasons = []
    if "".join(words) == "".join(others):
        reasons.append(Likeness.SAME_LETTERS)
    elif sorted(words) == sorted(others):
        reasons.append(Likeness.SAME_WORDS)
    pairs = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) == len(others) and pairs:
        if all(_sounds_like(*pair) for pair in pairs):
            reasons.append(Likeness.SAME_SOUND)
        if all(_is_slip(*pair) for pair in pairs):
            reasons.append(Likeness.NEARLY_SPELT)
    return tuple(reasons)


def letters(label: str) -> tuple[str, ...]:
    """The words of a name in plain letters."""
    return tuple(re.findall(r"[a-z0-9]+", anyascii(spelling(label)).lower().replace("_", " ")))


def _is_part(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether one name is some words of the other, from its beginning or to its end."""
    short, long = sorted((words, others), key=len)
    return 0 < len(short) < len(long) and short in (long[: len(short)], long[-len(short) :])


def _sounds_like(one: str, other: str) -> bool:
    """Whether two words are said the same: Jon and John, Catherine and Kathryn, but not John and Joan."""
    if not _is_plain(one) or not _is_plain(other):
        return False
    sound = metaphone(one)
    if not sound or sound != metaphone(other):
        return False
    return len(sound) >= _LONG_SOUND or _silenced(one) == _silenced(other)


def _silenced(word: str) -> str:
    """A word without letters that nobody hears: doubled ones, an h that is not first, an e at the end."""
    for long, short in (("ph", "f"), ("ck", "k"), ("c", "k"), ("ie", "i"), ("y", "i")):
        word = word.replace(long, short)
    word = word[:1] + word[1:].replace("h", "")
    once = "".join(each for place, each in enumerate(word) if place == 0 or word[place - 1] != each)
    return once[:-1] if len(once) > 2 and once.endswith("e") else once


def _is_slip(one: str, other: str) -> bool:
    """Whether a slip or two turn one word into the other."""
    longest = max(len(one), len(other))
    if not _is_plain(one) or not _is_plain(other) or longest < _ONE_SLIP:
        return False
    return damerau_levenshtein_distance(one, other) <= (2 if longest >= _TWO_SLIPS else 1)


def _is_plain(word: str) -> bool:
    """Whether a word has letters only: other numbers are other things."""
    return word.isalpha()


def _score(reasons: tuple[Likeness, ...]) -> float:
    best = max(SCORES[each] for each in reasons)
    return round(min(0.99, best + 0.05 * (len(reasons) - 1)), 2)
