"""Making entries: what the index keeps of versions, from the words of their texts and what a model makes of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.domain.blinding import Blinder
from recollect.domain.contents import content_of
from recollect.domain.errors import EmbedderTrouble, TextRefused
from recollect.domain.indexable import Passage, leaves, passages
from recollect.domain.late import detail_of
from recollect.domain.passages import pieces_of
from recollect.domain.values import stored_value
from recollect.domain.words import words_in
from recollect.ports.embedder import Embedder, Encoded, Purpose
from recollect.ports.store import Pending

log = logging.getLogger("recollect.indexing")
_FIRST_DELAY = 1.0
_LONGEST, _LONGEST_REFUSED = 30.0, 3_600.0
_TRIED = 4
"""After so many failures, and nothing else, it is not the texts that are to blame."""
_NOTHING = Encoded(np.zeros((0, 0), np.float32))


@dataclass(frozen=True, slots=True)
class Made:
    """What the index is to keep of a version."""

    entry: bytes
    detail: bytes | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A version that cannot be embedded: its text is refused, or the embedder does not work."""

    refused: bool

    def delay(self, attempts: int) -> float:
        """How many seconds it waits, after it failed so many times before."""
        longest = _LONGEST_REFUSED if self.refused else _LONGEST
        return min(_FIRST_DELAY * 2.0 ** min(attempts, 20), longest)


@dataclass(frozen=True, slots=True)
class Making:
    """How entries of one series of one tenant are made."""

    blinder: Blinder
    language: str
    embedder: Embedder | None

    def make(self, live: Sequence[Pending], *, lenient: bool) -> list[Made | Failed]:
        """What is kept of each version. With `lenient`, one that cannot be embedded is found by its words alone."""
        texts = [_texts(each) for each in live]
        nothing: list[Encoded | Failed | None] = [None] * len(live)
        encoded = nothing
        if self.embedder is not None:
            encoded = list(
                _encoded(self.embedder, [_pieces(each, found) for each, found in zip(live, texts, strict=True)])
            )
        made: list[Made | Failed] = []
        for each, found, model in zip(live, texts, encoded, strict=True):
            if isinstance(model, Failed) and not lenient:
                made.append(model)
                continue
            try:
                made.append(self._made(each, found, None if isinstance(model, Failed) else model))
            except Exception as fault:  # noqa: BLE001 - whatever one version does, the others are indexed
                log.error("indexing.fault %s", type(fault).__name__)
                made.append(_UNFINDABLE if lenient else Failed(refused=True))
        return made

    def _made(self, each: Pending, texts: Sequence[Passage], encoded: Encoded | None) -> Made:
        blinder = self.blinder
        words = [word for passage in texts for word in words_in(passage.text, self.language)]
        value = {} if each.row.value is None else stored_value(each.row.value)
        hashed = np.fromiter((blinder.leaf(path, scalar) for path, scalar in leaves(value)), np.uint64)
        vectors, detail = None, None
        if encoded is not None and len(encoded.vectors):
            vectors = blinder.turn(encoded.vectors)
            if encoded.tokens is not None:
                detail = detail_of([blinder.turn(tokens) for tokens in encoded.tokens])
        paths = [piece.path for piece in _pieces(each, texts)]
        return Made(content_of(blinder.words(words), hashed, paths, vectors), detail)


_NO_HASHES = np.zeros(0, np.uint64)
_UNFINDABLE = Made(content_of(_NO_HASHES, _NO_HASHES, (), None), None)
"""An entry by which nothing is found."""


def _texts(each: Pending) -> list[Passage]:
    if each.row.value is None:
        return []
    return passages(stored_value(each.row.value), each.row.index_fields)


def _pieces(each: Pending, texts: Sequence[Passage]) -> list[Passage]:
    return pieces_of(texts, apart=each.row.index_fields is not None)


def _encoded(embedder: Embedder, texts: Sequence[Sequence[Passage]]) -> Sequence[Encoded | Failed]:
    """What the model makes of each version's pieces; if it fails for all together, one after the other."""
    try:
        return _together(embedder, texts)
    except EmbedderTrouble as trouble:
        if len(texts) == 1:
            return [Failed(isinstance(trouble, TextRefused))]
    said = [at for at, pieces in enumerate(texts) if pieces]
    # From all over the batch: many texts that fail, one after the other, are not to hide those behind them.
    probes = {said[number * (len(said) - 1) // (_TRIED - 1)] for number in range(_TRIED)}
    found = {at: _encoded(embedder, [texts[at]])[0] for at in sorted(probes)}
    if all(isinstance(each, Failed) and not each.refused for each in found.values()):
        return [found.get(at, Failed(refused=False)) if pieces else _NOTHING for at, pieces in enumerate(texts)]
    return [found[at] if at in found else _encoded(embedder, [pieces])[0] for at, pieces in enumerate(texts)]


def _together(embedder: Embedder, texts: Sequence[Sequence[Passage]]) -> list[Encoded]:
    flat = [piece.text for pieces in texts for piece in pieces]
    if not flat:
        return [_NOTHING for _ in texts]
    encoded = embedder.encode(flat, Purpose.PASSAGE)
    parted: list[Encoded] = []
    at = 0
    for pieces in texts:
        end = at + len(pieces)
        parted.append(Encoded(encoded.vectors[at:end], None if encoded.tokens is None else encoded.tokens[at:end]))
        at = end
    return parted
