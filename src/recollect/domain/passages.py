"""Pieces: the texts of a version as a model is shown them, short enough to be read whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.domain.indexable import Passage

PIECE = 1_200
"""About how many characters a model reads with attention."""
MAX_PIECES = 32
_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def pieces_of(passages: Sequence[Passage]) -> list[Passage]:
    """What is embedded: every passage, long ones in pieces that end where a sentence does, if they can."""
    found: list[Passage] = []
    for passage in passages:
        found += [Passage(passage.path, text) for text in _pieces(passage.text)]
        if len(found) >= MAX_PIECES:
            return found[:MAX_PIECES]
    return found


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
