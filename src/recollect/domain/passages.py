"""Pieces: the texts of a version as a model is shown them, short enough to be read whole.

What is short beside a longer text, like who said it, is shown together with it; by itself it would mean little. Short
texts with digits in them, like dates, are left to the search by words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.domain.indexable import Passage

PIECE = 1_200
"""About how many characters a model reads with attention."""
MAX_PIECES = 32
LABEL = 48
"""Up to so many characters, a text is a label of longer ones."""
_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def pieces_of(passages: Sequence[Passage], *, apart: bool = False) -> list[Passage]:
    """What is embedded: every text with the labels beside it, long ones in pieces that end where a sentence does.

    With `apart`, as where fields were named, each by itself.
    """
    labels = [] if apart else _labels(passages)
    beside = ", ".join(each.text.strip() for each in labels if not any(map(str.isdigit, each.text)))
    found: list[Passage] = []
    for passage in passages:
        if passage in labels:
            continue
        texts = _pieces(passage.text)
        found += [Passage(passage.path, f"{beside}: {text}" if beside else text) for text in texts]
        if len(found) >= MAX_PIECES:
            return found[:MAX_PIECES]
    return found


def _labels(passages: Sequence[Passage]) -> list[Passage]:
    """The short ones; if all are short, all but the longest."""
    short = [each for each in passages if len(each.text) <= LABEL]
    if len(short) == len(passages) and passages:
        longest = max(passages, key=lambda each: len(each.text))
        return [each for each in short if each is not longest]
    return short


def _pieces(text: str) -> list[str]:
    if len(text) <= PIECE:
        return [text]
    pieces: list[str] = []
    for sentence in _BREAK.split(text):
        for part in (sentence[at : at + PIECE] for at in range(0, len(sentence), PIECE)):
            if pieces and len(pieces[-1]) + len(part) < PIECE:
                pieces[-1] += f" {part}"
            elif part.strip():
                pieces.append(part)
    return pieces
