"""Ranking: how the versions on a shelf are scored for a query, arm by arm, and how the arms become one score.

The lexical arm is BM25, with all statistics taken from exactly what the search may show: nothing outside of its scope
has a part in its scores. The semantic arm is the cosine of the closest of a version's vectors. Both are brought to
0 … 1 within the scope and added with a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import SEPARATOR
from recollect.domain.attributes import stored_attributes
from recollect.domain.filters import Filter, matches
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.shelves import Mask, Scores, Segment, Shelf

K1, B = 1.2, 0.75
"""How soon repetitions of a word stop to count, and how much long texts are held back."""
SEMANTIC_WEIGHT = 0.7
RRF_K = 60
_MOST_MASKS = 8
NO_VECTOR = np.float32(-2.0)
"""Below every cosine."""


class Mode(StrEnum):
    """By what a search looks for its query."""

    HYBRID = "hybrid"
    """By words and by meaning."""
    SEMANTIC = "semantic"
    """By meaning alone."""
    LEXICAL = "lexical"
    """By words alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, blinded: its words with how much each counts, and its vector."""

    words: Mapping[int, float]
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Arms:
    """What each arm says of every version on a shelf, in the order of its segments."""

    lexical: Scores
    semantic: Scores
    """Cosines; `NO_VECTOR` where there is nothing to compare with."""
    allowed: Mask
    best: NDArray[np.int64]
    """The vector that came closest, counted through all segments; -1 where there is none."""


def allowed(
    shelf: Shelf, within: str | None, archived: Archived, now: Instant, asked: Filter, leaves: Sequence[int] = ()
) -> list[Mask]:
    """Which versions a search may show, segment by segment; `within` is a narrower scope than the shelf's own."""
    masks: list[Mask] = []
    for segment in shelf.segments:
        mask = segment.alive & (segment.expires_at > now)
        if archived is not Archived.INCLUDE:
            mask &= segment.archived == (archived is Archived.ONLY)
        if within is not None:
            mask &= _remembered(segment, ("within", within), lambda s: _inside(s, within))
        if asked:
            mask &= _remembered(segment, ("filter", asked), lambda s: _matching(s, asked))
        for leaf in leaves:
            mask &= segment.with_leaf(leaf)
        masks.append(mask)
    return masks


def _remembered(segment: Segment, what: tuple[str, object], work: Callable[[Segment], Mask]) -> Mask:
    found = segment.masks.get(what)
    if found is None:
        if len(segment.masks) >= _MOST_MASKS:
            segment.masks.clear()
        found = segment.masks[what] = work(segment)
    return found


def _inside(segment: Segment, within: str) -> Mask:
    below = within + SEPARATOR
    known = {place: place == within or place.startswith(below) for place in set(segment.namespaces)}
    return np.fromiter((known[place] for place in segment.namespaces), np.bool_, len(segment))


def _matching(segment: Segment, asked: Filter) -> Mask:
    known = {text: matches(asked, stored_attributes(text)) for text in set(segment.attributes)}
    return np.fromiter((known[text] for text in segment.attributes), np.bool_, len(segment))


def arms_of(shelf: Shelf, asked: Asked, masks: Sequence[Mask]) -> Arms:
    """The scores of both arms for every version that may be shown; 0, or no vector, for all others."""
    if not shelf.segments:
        none = np.zeros(0, np.float32)
        return Arms(none, none, np.zeros(0, np.bool_), np.zeros(0, np.int64))
    semantic, best = _semantic(shelf, asked.vector, masks)
    return Arms(_lexical(shelf, asked.words, masks), semantic, np.concatenate(masks), best)


def _lexical(shelf: Shelf, words: Mapping[int, float], masks: Sequence[Mask]) -> Scores:
    scores = [np.zeros(len(segment), np.float32) for segment in shelf.segments]
    count = sum(int(mask.sum()) for mask in masks)
    if not count or not words:
        return np.concatenate(scores)
    total = sum(float(segment.lengths[mask].sum()) for segment, mask in zip(shelf.segments, masks, strict=True))
    average = max(total / count, 1.0)
    held = [K1 * (1 - B + B * segment.lengths / average) for segment in shelf.segments]
    for word, weight in words.items():
        found = [segment.having(word) for segment in shelf.segments]
        having = sum(int(mask[docs].sum()) for (docs, _), mask in zip(found, masks, strict=True))
        if not having:
            continue
        rarity = weight * float(np.log1p((count - having + 0.5) / (having + 0.5)))
        for score, (docs, times), hold in zip(scores, found, held, strict=True):
            score[docs] += (rarity * (K1 + 1) * times / (times + hold[docs])).astype(np.float32)
    return np.concatenate([score * mask for score, mask in zip(scores, masks, strict=True)])


def _semantic(
    shelf: Shelf, vector: NDArray[np.float32] | None, masks: Sequence[Mask]
) -> tuple[Scores, NDArray[np.int64]]:
    scores: list[Scores] = []
    best: list[NDArray[np.int64]] = []
    before = 0
    for segment, mask in zip(shelf.segments, masks, strict=True):
        score, closest = np.full(len(segment), NO_VECTOR), np.full(len(segment), -1, np.int64)
        if vector is not None and len(segment.vectors):
            cosines = segment.vectors @ vector
            # Vectors of one version stand side by side, in the order of versions.
            starts = np.flatnonzero(np.diff(segment.owners, prepend=-1))
            owners = segment.owners[starts]
            score[owners] = np.maximum.reduceat(cosines, starts)
            at = np.arange(len(cosines))
            is_best = cosines == np.repeat(score[owners], np.diff(starts, append=len(cosines)))
            closest[segment.owners[is_best][::-1]] = at[is_best][::-1] + before
            score[~mask] = NO_VECTOR
        before += len(segment.vectors)
        scores.append(score)
        best.append(closest)
    return np.concatenate(scores), np.concatenate(best)


def scaled(scores: Scores, among: Mask) -> Scores:
    """Scores from 0, the least among these, to 1, the most; all that is left out is 0."""
    if not among.any():
        return np.zeros(len(scores), np.float32)
    low, high = float(scores[among].min()), float(scores[among].max())
    if high <= low:
        return np.where(among, np.float32(1.0), np.float32(0.0))
    return np.where(among, (scores - low) / (high - low), 0).astype(np.float32)


def fused(arms: Arms, mode: Mode) -> tuple[Scores, Mask]:
    """One score from 0 to 1 for every version, and which of them were found at all."""
    lexical_hit = arms.lexical > 0
    semantic_hit = arms.semantic > NO_VECTOR
    if mode is Mode.LEXICAL:
        top = float(arms.lexical.max(initial=0.0))
        return (arms.lexical / top if top else arms.lexical), lexical_hit
    if mode is Mode.SEMANTIC:
        return np.clip(arms.semantic, 0, 1), semantic_hit
    words, meaning = scaled_words(arms), scaled(arms.semantic, semantic_hit)
    return SEMANTIC_WEIGHT * meaning + (1 - SEMANTIC_WEIGHT) * words, lexical_hit | semantic_hit


def scaled_words(arms: Arms) -> Scores:
    """The lexical arm from 0 to 1: the most that any version has is 1."""
    top = float(arms.lexical.max(initial=0.0))
    return arms.lexical / np.float32(top) if top else arms.lexical


def ranked(shelf: Shelf, scores: Scores, found: Mask, most: int) -> list[int]:
    """The best places, best first; of equal ones the later created, then the one with the smaller id."""
    places = np.flatnonzero(found)
    if len(places) > most:
        bar = np.partition(scores[places], len(places) - most)[len(places) - most]
        places = places[scores[places] >= bar]

    def merit(place: int) -> tuple[float, int, bytes]:
        segment, slot = shelf.at(place)
        return -float(scores[place]), -int(segment.created_at[slot]), segment.ids[slot]

    return sorted(places.tolist(), key=merit)[:most]


def reciprocal(ranks: Sequence[Sequence[bytes]]) -> dict[bytes, float]:
    """Several rankings as one, by the sum of reciprocal ranks, from 0 to 1: 1 is the first of all of them."""
    scores: dict[bytes, float] = {}
    for ranking in ranks:
        for rank, row_id in enumerate(ranking, 1):
            scores[row_id] = scores.get(row_id, 0.0) + 1 / (RRF_K + rank)
    most = len(ranks) / (RRF_K + 1)
    return {row_id: score / most for row_id, score in scores.items()}
