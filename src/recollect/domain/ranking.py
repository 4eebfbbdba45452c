"""Ranking: how the versions on a shelf are scored for a query, arm by arm, and how the arms become one score.

The lexical arm is BM25, with all statistics taken from exactly what the search may show: nothing outside of its scope
has a part in its scores. The semantic arm is the cosine of the closest of a version's vectors. Both are brought to
0 … 1 within the scope and added with a weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.domain.address import SEPARATOR
from recollect.domain.attributes import stored_attributes
from recollect.domain.filters import Filter, matches
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.shelves import Mask, Scores, Segment, Shelf

K1, B = 0.9, 0.75
"""How soon repetitions of a word stop to count, and how much long texts are held back."""
SEMANTIC_WEIGHT = 0.6
LATE_WEIGHT = 0.6
"""What the second look at the best counts, beside what found them."""
LATE_MOST = 50
"""How many get a second look."""
_FLOOR, _BEHIND = 0.99, 0.98
"""What is left of the scores of those that get none: the first part is what all others have at least."""
NEAR_WEIGHT = 0.1
"""What it counts that something near by answers the query too."""
NEAR = 10
"""How many writes apart memories of one namespace may be to be near each other."""
RRF_K = 60
_MOST_MASKS = 8
_SPARSE = 3
"""So many times as many vectors as may be shown are all compared; of more, only those that may be."""
Why = Callable[[int], dict[str, Any]]
"""What there is to say about a version, by its place on the shelf."""
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
    floor: float | None = None
    """The least cosine in the scope, where these are only some of its versions."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """What BM25 has to know of a scope of which only some versions are at hand."""

    count: int
    average: float
    having: Mapping[int, int]


def allowed(
    shelf: Shelf,
    within: str | None,
    archived: Archived,
    now: Instant,
    asked: Filter,
    leaves: Sequence[int] = (),
    roots: tuple[str, ...] = (),
) -> list[Mask]:
    """Which versions a search may show, segment by segment; `within` is a narrower scope than the shelf's own.

    With `roots`, only those that lie exactly there, not below.
    """
    masks: list[Mask] = []
    for segment in shelf.segments:
        mask = segment.alive & (segment.expires_at > now)
        if archived is not Archived.INCLUDE:
            mask &= segment.archived == (archived is Archived.ONLY)
        if within is not None:
            mask &= _remembered(segment, ("within", within), lambda s: _inside(s, within))
        if roots:
            mask &= _remembered(segment, ("at", roots), lambda s: _lying(s, roots))
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


def _lying(segment: Segment, roots: tuple[str, ...]) -> Mask:
    return np.fromiter((place in roots for place in segment.namespaces), np.bool_, len(segment))


def _matching(segment: Segment, asked: Filter) -> Mask:
    known = {text: matches(asked, stored_attributes(text)) for text in set(segment.attributes)}
    return np.fromiter((known[text] for text in segment.attributes), np.bool_, len(segment))


def arms_of(
    shelf: Shelf, asked: Asked, masks: Sequence[Mask], rarity: Rarity | None = None, floor: float | None = None
) -> Arms:
    """The scores of both arms for every version that may be shown; 0, or no vector, for all others.

    When the shelf has only some of a scope's versions, `rarity` and `floor` tell of the whole.
    """
    if not shelf.segments:
        none = np.zeros(0, np.float32)
        return Arms(none, none, np.zeros(0, np.bool_))
    pairs = list(zip(shelf.segments, masks, strict=True))
    semantic = np.concatenate([_semantic(segment, asked.vector, mask) for segment, mask in pairs])
    lexical = _lexical(shelf, asked.words, masks, rarity or _rarity(shelf, asked.words, masks))
    return Arms(lexical, semantic, np.concatenate(masks), floor)


def _rarity(shelf: Shelf, words: Mapping[int, float], masks: Sequence[Mask]) -> Rarity:
    count = sum(int(mask.sum()) for mask in masks)
    pairs = list(zip(shelf.segments, masks, strict=True))
    total = sum(float(segment.lengths[mask].sum()) for segment, mask in pairs) if words else 0.0
    having = {word: sum(int(mask[segment.having(word)[0]].sum()) for segment, mask in pairs) for word in words}
    return Rarity(count, max(total / count, 1.0) if count else 1.0, having)


def weight_of(word: int, weight: float, rarity: Rarity) -> float:
    """What a word of a query counts: the more, the fewer versions have it; 0 when none has."""
    having = rarity.having[word]
    count = max(rarity.count, having)
    return weight * float(np.log1p((count - having + 0.5) / (having + 0.5))) if having else 0.0


def _lexical(shelf: Shelf, words: Mapping[int, float], masks: Sequence[Mask], rarity: Rarity) -> Scores:
    scores = [np.zeros(len(segment), np.float32) for segment in shelf.segments]
    held = [K1 * (1 - B + B * segment.lengths / rarity.average) for segment in shelf.segments]
    for word, asked in words.items():
        weight = weight_of(word, asked, rarity)
        if not weight:
            continue
        for score, segment, hold in zip(scores, shelf.segments, held, strict=True):
            docs, times = segment.having(word)
            score[docs] += (weight * (K1 + 1) * times / (times + hold[docs])).astype(np.float32)
    return np.concatenate([score * mask for score, mask in zip(scores, masks, strict=True)])


def _semantic(segment: Segment, vector: NDArray[np.float32] | None, mask: Mask) -> Scores:
    score = np.full(len(segment), NO_VECTOR)
    if vector is None or not len(segment.vectors):
        return score
    owners, vectors = segment.owners, segment.vectors
    shown = mask[owners]
    if np.count_nonzero(shown) * _SPARSE < len(shown):  # few of many: the others need not be looked at
        rows = np.flatnonzero(shown)
        owners, vectors = owners[rows], vectors[rows]
        if not len(rows):
            return score
    cosines = np.vecdot(vectors, vector)  # on one thread: several fight for cores that others use
    # Vectors of one version stand side by side, in the order of versions.
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    score[owners[starts]] = cosines if len(starts) == len(owners) else np.maximum.reduceat(cosines, starts)
    score[~mask] = NO_VECTOR
    return score


def closest_path(segment: Segment, slot: int, vector: NDArray[np.float32]) -> str:
    """The path of that text of a version which comes closest to a query."""
    first, last = (int(np.searchsorted(segment.owners, slot, side)) for side in ("left", "right"))
    return segment.paths[first + int(np.argmax(segment.vectors[first:last] @ vector))]


def scaled(scores: Scores, among: Mask, floor: float | None = None) -> Scores:
    """Scores from 0, the least among these or of all, to 1, the most; all that is left out is 0."""
    if not among.any():
        return np.zeros(len(scores), np.float32)
    low, high = float(scores[among].min()), float(scores[among].max())
    low = low if floor is None else min(low, floor)
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
    words, meaning = scaled_words(arms), scaled(arms.semantic, semantic_hit, arms.floor)
    return SEMANTIC_WEIGHT * meaning + (1 - SEMANTIC_WEIGHT) * words, lexical_hit | semantic_hit


def scaled_words(arms: Arms) -> Scores:
    """The lexical arm from 0 to 1: the most that any version has is 1."""
    top = float(arms.lexical.max(initial=0.0))
    return arms.lexical / np.float32(top) if top else arms.lexical


class Candidate(msgspec.Struct, frozen=True):
    """A version that was found, with what a second look needs to know of it."""

    id: bytes
    score: float
    namespace: str
    sequence: int
    created_at: int
    why: dict[str, Any]
    """What was said of it so far, for whoever wants to know."""


def candidates(shelf: Shelf, scores: Scores, found: Mask, most: int, why: Why | None = None) -> list[Candidate]:
    """The best, best first; of equal ones the later created, then the one with the smaller id."""
    places = np.flatnonzero(found)
    if len(places) > most:
        bar = np.partition(scores[places], len(places) - most)[len(places) - most]
        places = places[scores[places] >= bar]
    if len(places) > 2 * most:  # many are equal: of those, the latest
        created = np.concatenate([segment.created_at for segment in shelf.segments])[places]
        last = np.lexsort((-created, -scores[places]))[most - 1]
        worse = (scores[places] == scores[places][last]) & (created < created[last])
        places = places[~worse]
    made = []
    for place in places.tolist():
        segment, slot = shelf.at(place)
        score = min(max(float(scores[place]), 0.0), 1.0)
        row_id, home = segment.ids[slot], segment.namespaces[slot]
        made.append(
            Candidate(row_id, score, home, int(segment.sequence[slot]), int(segment.created_at[slot]), {"place": place})
        )
    made = sorted(made, key=_merit)[:most]
    return [_with(each, each.score, {} if why is None else why(each.why["place"])) for each in made]


def _with(each: Candidate, score: float, why: dict[str, Any]) -> Candidate:
    return Candidate(each.id, score, each.namespace, each.sequence, each.created_at, why)


def best_of(found: Sequence[Sequence[Candidate]], most: int) -> list[Candidate]:
    """The best of several rankings, best first."""
    return sorted((each for ranking in found for each in ranking), key=_merit)[:most]


def _merit(candidate: Candidate) -> tuple[float, int, bytes]:
    return -candidate.score, -candidate.created_at, candidate.id


def looked_at_again(
    first: Sequence[Candidate], late: NDArray[np.float32] | None, *, explain: bool = False
) -> list[Candidate]:
    """The best, scored anew by their words, if there is something to go by, and by what stands near them.

    `late` has the closeness of the words of the first of them. What comes after those stays behind them, as it was, so
    that a deeper ranking begins with this one.
    """
    count = min(len(first), LATE_MOST)
    if not count:
        return []
    before = np.array([each.score for each in first[:count]], np.float32)
    scores: NDArray[np.float32] = before
    close: NDArray[np.float32] | None = None
    if late is not None and not np.isnan(late).all():
        close = spread(np.nan_to_num(late, nan=float(np.nanmin(late))))
        scores = ((1 - LATE_WEIGHT) * spread(before) + LATE_WEIGHT * close).astype(np.float32)
    near = _near(first[:count], scores)
    scores = ((scores + NEAR_WEIGHT * near) / (1 + NEAR_WEIGHT)).astype(np.float32)
    floor = _FLOOR * first[count - 1].score if count == LATE_MOST else 0.0
    again = []
    for place, each in enumerate(first[:count]):
        why = each.why
        if explain:
            why = {**why, "near": round(float(near[place]), 6)}
            if close is not None and late is not None and not np.isnan(late[place]):
                why["late"] = {"score": round(float(late[place]), 6), "scaled": round(float(close[place]), 6)}
        again.append(_with(each, floor + (1 - floor) * float(scores[place]), why))
    again.sort(key=_merit)
    return again + [_with(each, _BEHIND * each.score, each.why) for each in first[count:]]


def spread(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores from 0, the least, to 1, the most."""
    return scaled(scores, np.ones(len(scores), np.bool_))


def _near(first: Sequence[Candidate], scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The best score that a memory, or one written near it in its namespace, has."""
    number = {name: place for place, name in enumerate(dict.fromkeys(each.namespace for each in first))}
    home = np.array([number[each.namespace] for each in first], np.int64)
    when = np.array([each.sequence for each in first], np.int64)
    together = (home[:, None] == home[None, :]) & (np.abs(when[:, None] - when[None, :]) <= NEAR)
    best: NDArray[np.float32] = np.where(together, scores[None, :], 0).max(axis=1).astype(np.float32)
    return best


def reciprocal(ranks: Sequence[Sequence[bytes]]) -> dict[bytes, float]:
    """Several rankings as one, by the sum of reciprocal ranks, from 0 to 1: 1 is the first of all of them."""
    scores: dict[bytes, float] = {}
    for ranking in ranks:
        for rank, row_id in enumerate(ranking, 1):
            scores[row_id] = scores.get(row_id, 0.0) + 1 / (RRF_K + rank)
    most = len(ranks) / (RRF_K + 1)
    return {row_id: score / most for row_id, score in scores.items()}
