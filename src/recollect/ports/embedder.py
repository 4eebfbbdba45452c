"""Embedding: what turns a text into a vector, so that texts of like meaning lie close to each other.

E1  Every row of an answer has the model's dimension and unit length, and stands for the text at its place.
E2  The same text, purpose and model give the same vector, in whichever batch and beside whichever other texts.
E3  Any text that can be stored can be embedded; one too long for the model counts as far as the model reads.
E4  A text that the model refuses is named by `TextRefused`; whatever else fails is `EmbedderTrouble`, and may pass.
E5  Nothing is loaded, and nobody is asked, before the first text is embedded.
E6  Any number of threads may embed at once.
E7  A closed embedder refuses with `EmbedderTrouble`.
E8  One that also makes a vector for each word gives them in the order of the text, of its `late` dimension and of unit
    length, beside the vectors that `embed` gives; one that does not gives none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row per text."""


class Purpose(StrEnum):
    """What a text is embedded for; some models want to be told."""

    PASSAGE = "passage"
    """To be found."""
    QUERY = "query"
    """To find."""


@dataclass(frozen=True, slots=True)
class Model:
    """By what vectors were made: those of two models are never compared."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a model makes of texts: a vector for each, and, if it does so, one for each word of each."""

    vectors: Vectors
    tokens: list[Vectors] | None = None


class Embedder(ABC):
    """Makes vectors. Its calls block, so they are made on a thread of their own. The module has the promises."""

    model_name: str
    """The model's name, known before anything is loaded."""
    batch: int = 32
    """How many texts are best embedded at once."""
    late: int = 0
    """The dimension of the vectors that it makes for words; 0 when it makes none."""

    @abstractmethod
    def model(self) -> Model:
        """The model with its dimension; to know that, it may have to be loaded or asked."""

    @abstractmethod
    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """A vector for each text (E1 to E4)."""

    def encode(self, texts: Sequence[str], purpose: Purpose) -> Encoded:
        """The same, with vectors for the words where there are such (E8)."""
        return Encoded(self.embed(texts, purpose))

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held (E7)."""
