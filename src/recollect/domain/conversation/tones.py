"""Tones: how somebody sounds, as one of a few words, by the words they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum


class Tone(StrEnum):
    """How the user sounded. The set is closed: words are added, and never renamed."""

    STRESSED = "stressed"
    """Under pressure, or overwhelmed."""
    WORRIED = "worried"
    """Afraid of something, or anxious."""
    FRUSTRATED = "frustrated"
    """Annoyed or angry."""
    SAD = "sad"
    """Down, lonely or grieving."""
    TIRED = "tired"
    """Worn out."""
    GRATEFUL = "grateful"
    """Thankful for something."""
    UPBEAT = "upbeat"
    """Glad, proud or looking forward."""
    NEUTRAL = "neutral"
    """Something was said, in none of these tones."""
    UNKNOWN = "unknown"
    """Nothing was said that the words here could tell apart."""


_WORDS = {
    Tone.STRESSED: "stressed stressful overwhelmed overwhelming pressure swamped frantic burnout",
    Tone.WORRIED: "worried worry worries anxious anxiety afraid scared nervous",
    Tone.FRUSTRATED: "frustrated frustrating annoyed annoying angry furious irritated hate hated",
    Tone.SAD: "sad unhappy lonely depressed grief grieving heartbroken cry cried crying miserable",
    Tone.TIRED: "tired exhausted exhausting sleepy drained weary",
    Tone.GRATEFUL: "grateful thankful appreciate appreciated blessed",
    Tone.UPBEAT: "happy glad excited thrilled proud great wonderful awesome amazing love loved delighted fun",
}
_TONES = {word: tone for tone, words in _WORDS.items() for word in words.split()}
_WORD = re.compile(r"[a-z]+(?:['’]t)?")
_NOT = frozenset({"not", "no", "never", "hardly", "without"})
_REACH = 3
"""So many words before one, a `not` still holds for it."""


def tone_of(said: Sequence[str]) -> Tone:
    """The tone with most words in what was said; of several, the one that stands first above."""
    counts = dict.fromkeys(_WORDS, 0)
    any_words = False
    for text in said:
        words = _WORD.findall(text.casefold())
        any_words = any_words or bool(words)
        for place, word in enumerate(words):
            tone = _TONES.get(word)
            if tone is not None and not any(map(_negates, words[max(place - _REACH, 0) : place])):
                counts[tone] += 1
    most = max(counts.values())
    if not most:
        return Tone.NEUTRAL if any_words else Tone.UNKNOWN
    return next(tone for tone, count in counts.items() if count == most)


def _negates(word: str) -> bool:
    return word in _NOT or word.endswith(("n't", "n’t"))
