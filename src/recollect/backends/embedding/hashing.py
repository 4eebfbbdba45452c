"""Hashing: vectors from the words and letters of a text alone, without a model, for tests and for who wants none.

Every word and every three letters within one add to a place of the vector that their hash gives. So texts with the
same words lie close to each other, and so do words with the same stem; of meaning, nothing is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recollect.domain.errors import EmbedderTrouble, TextRefused
from recollect.ports.embedder import Embedder, Model, Purpose, Vectors

MOST_CHARACTERS = 1 << 16
"""How far a text is read."""
NAME = "hashing-"
_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.35
# Knuth's multiplier: a CRC alone spreads like inputs badly.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class HashingEmbedder(Embedder):
    """Feature hashing with signs; the purpose makes no difference."""

    def __init__(self, dimension: int = 256) -> None:
        self.model_name = f"{NAME}{dimension}"
        self._dimension = dimension
        self._closed = False

    def model(self) -> Model:
        """The model, which is its dimension."""
        return Model(self.model_name, self._dimension)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:  # noqa: ARG002 - part of the promise
        """A vector for each text."""
        if self._closed:
            raise EmbedderTrouble("the embedder was closed")
        found = np.empty((len(texts), self._dimension), np.float32)
        for index, text in enumerate(texts):
            try:
                found[index] = self._vector(text)
            except UnicodeEncodeError:
                raise TextRefused("the text is not valid Unicode", index=index) from None
        return found

    def close(self) -> None:
        """Refuse from now on."""
        self._closed = True

    def _vector(self, text: str) -> NDArray[np.float64]:
        features = _features(text[:MOST_CHARACTERS])
        hashes = np.fromiter((crc32(each.encode()) for each in features), np.uint64, len(features)) * _SPREAD
        weights = np.fromiter(features.values(), np.float64, len(features))
        signs = np.where(hashes >> np.uint64(63), 1.0, -1.0)
        places = ((hashes >> np.uint64(20)) % np.uint64(self._dimension)).astype(np.intp)
        vector = np.bincount(places, signs * weights, self._dimension)
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            # Nothing to go by, or all of it cancelled out: such texts are all alike, and like no other on purpose.
            vector[0], length = 1.0, 1.0
        return vector / length


def _features(text: str) -> dict[str, float]:
    """The words of a text and the three letters in a row within them, with their weights."""
    folded = text.casefold()
    words = Counter(_WORD.findall(folded) or folded.split())
    features: dict[str, float] = {}
    for word, count in words.items():
        weight = 1.0 + float(np.log(count))
        features[word] = weight
        framed = f"<{word}>"
        for start in range(len(framed) - 2):
            trigram = framed[start : start + 3]
            features[f"#{trigram}"] = features.get(f"#{trigram}", 0.0) + weight * _TRIGRAM_WEIGHT
    return features
