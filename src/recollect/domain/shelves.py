"""A shelf: the opened entries of one scope, laid out so that all of them can be scored at once.

It is made of segments that never change, like pages that are written once. What comes later is a segment of its own,
small ones are merged now and then, and what was dropped or replaced is struck out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.domain.contents import Content, content_in
from recollect.domain.instants import LAST, Instant

Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
_GROWTH = 2
"""A segment is merged with the one before it unless that is so many times as large."""
_BYTES_EACH = 400
"""About what a version takes beside its words and vectors."""


@dataclass(frozen=True, slots=True)
class Slip:
    """What a shelf knows of a version: where it is, whether it may be shown, and what can be found of it."""

    id: bytes
    namespace: str
    created_at: Instant
    sequence: int
    expires_at: Instant | None
    archived: bool
    policy_attributes: str
    content: bytes


class Segment:
    """Versions in a row, with their words turned into lists of versions, and their vectors in one matrix."""

    def __init__(self, slips: Sequence[Slip], dimension: int) -> None:
        contents = [content_in(slip.content) for slip in slips]
        self.ids = [slip.id for slip in slips]
        self.namespaces = [slip.namespace for slip in slips]
        self.attributes = [slip.policy_attributes for slip in slips]
        self.created_at = _column((slip.created_at for slip in slips), np.int64)
        self.sequence = _column((slip.sequence for slip in slips), np.int64)
        self.expires_at = _column(
            (LAST + 1 if slip.expires_at is None else slip.expires_at for slip in slips), np.int64
        )
        self.archived = _column((slip.archived for slip in slips), np.bool_)
        self.lengths = _column((content.length for content in contents), np.float32)
        self.words, self.word_docs, self.counts = _inverted(
            (content.words for content in contents), [content.counts for content in contents]
        )
        self.leaves, self.leaf_docs, _ = _inverted(content.leaves for content in contents)
        usable = [_has_vectors(content, dimension) for content in contents]
        rows = [len(content.paths) if good else 0 for content, good in zip(contents, usable, strict=True)]
        self.owners = np.repeat(np.arange(len(slips), dtype=np.int32), rows)
        self.paths = [path for content, good in zip(contents, usable, strict=True) if good for path in content.paths]
        blob = b"".join(content.vectors for content, good in zip(contents, usable, strict=True) if good)
        self.vectors = np.frombuffer(blob, "<f4").reshape(-1, dimension) if dimension else np.zeros((0, 0), np.float32)
        self.alive = np.ones(len(slips), np.bool_)
        self.masks: dict[Any, Mask] = {}
        """What was worked out of the attributes, by what was asked."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        arrays = (self.words, self.word_docs, self.counts, self.leaves, self.leaf_docs, self.vectors, self.owners)
        return sum(each.nbytes for each in arrays) + _BYTES_EACH * len(self)

    def having(self, word: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The versions that have a word, and how often each."""
        begin, end = _range(self.words, word)
        return self.word_docs[begin:end], self.counts[begin:end]

    def with_leaf(self, leaf: int) -> Mask:
        """Which versions have a leaf."""
        begin, end = _range(self.leaves, leaf)
        found = np.zeros(len(self), np.bool_)
        found[self.leaf_docs[begin:end]] = True
        return found


def _range(hashes: NDArray[np.uint64], wanted: int) -> tuple[int, int]:
    found = np.uint64(wanted)  # a plain number would be compared as a float, and large ones lose their last digits
    return int(np.searchsorted(hashes, found, "left")), int(np.searchsorted(hashes, found, "right"))


def _has_vectors(content: Content, dimension: int) -> bool:
    return bool(content.paths) and len(content.vectors) == 4 * dimension * len(content.paths)


def _column(values: Iterable[Any], kind: Any) -> NDArray[Any]:
    return np.fromiter(values, kind)


def _inverted(
    hashes: Iterable[bytes], counts: Sequence[bytes] | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.float32]]:
    each = list(hashes)
    flat = np.frombuffer(b"".join(each), "<u8")
    docs = np.repeat(np.arange(len(each), dtype=np.int32), [len(part) // 8 for part in each])
    times = np.frombuffer(b"".join(counts), np.uint8) if counts is not None else np.zeros(0, np.uint8)
    order = np.argsort(flat, kind="stable")
    return flat[order], docs[order], (times[order] if counts is not None else times).astype(np.float32)


@dataclass(slots=True)
class Shelf:
    """The segments of a scope, up to a point of the index's changes."""

    dimension: int
    upto: int = 0
    segments: list[Segment] = field(default_factory=list)
    _places: dict[bytes, tuple[Segment, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return sum(segment.nbytes for segment in self.segments) + 200 * len(self._places)

    def at(self, place: int) -> tuple[Segment, int]:
        """The segment and slot of a version, counted through all segments."""
        for segment in self.segments:
            if place < len(segment):
                return segment, place
            place -= len(segment)
        raise IndexError(place)

    def take(self, slips: Iterable[Slip]) -> None:
        """Put versions on the shelf, in place of what it knows of them."""
        new = list({slip.id: slip for slip in slips}.values())
        if not new:
            return
        self.strike(slip.id for slip in new)
        segment = Segment(new, self.dimension)
        self.segments.append(segment)
        self._places.update((row_id, (segment, slot)) for slot, row_id in enumerate(segment.ids))
        self._merge()

    def strike(self, ids: Iterable[bytes]) -> None:
        """Take versions off the shelf."""
        for row_id in ids:
            place = self._places.pop(row_id, None)
            if place is not None:
                segment, slot = place
                segment.alive[slot] = False

    def _merge(self) -> None:
        while len(self.segments) > 1 and len(self.segments[-2]) <= _GROWTH * len(self.segments[-1]):
            last, before = self.segments.pop(), self.segments.pop()
            merged = merge(before, last)
            self.segments.append(merged)
            self._places.update((row_id, (merged, slot)) for slot, row_id in enumerate(merged.ids))


def merge(one: Segment, other: Segment) -> Segment:
    """Both segments as one, without what was struck out of them."""
    merged = Segment.__new__(Segment)
    parts = (one, other)
    kept = [np.flatnonzero(part.alive) for part in parts]
    merged.ids = [part.ids[slot] for part, slots in zip(parts, kept, strict=True) for slot in slots]
    merged.namespaces = [part.namespaces[slot] for part, slots in zip(parts, kept, strict=True) for slot in slots]
    merged.attributes = [part.attributes[slot] for part, slots in zip(parts, kept, strict=True) for slot in slots]
    for name in ("created_at", "sequence", "expires_at", "archived", "lengths"):
        columns = [getattr(part, name)[slots] for part, slots in zip(parts, kept, strict=True)]
        setattr(merged, name, np.concatenate(columns))
    renumbered = [np.cumsum(part.alive, dtype=np.int32) - 1 for part in parts]
    renumbered[1] = renumbered[1] + np.int32(len(kept[0]))
    merged.words, merged.word_docs, merged.counts = _merged(
        [(part.words, part.word_docs, part.counts, part.alive) for part in parts], renumbered
    )
    nothing = [np.zeros(len(part.leaves), np.float32) for part in parts]
    merged.leaves, merged.leaf_docs, _ = _merged(
        [(part.leaves, part.leaf_docs, none, part.alive) for part, none in zip(parts, nothing, strict=True)], renumbered
    )
    rows = [part.alive[part.owners] for part in parts]
    owners = [new[part.owners[row]] for part, row, new in zip(parts, rows, renumbered, strict=True)]
    merged.owners = np.concatenate(owners)
    merged.paths = list(
        chain.from_iterable(
            (path for path, good in zip(part.paths, row, strict=True) if good)
            for part, row in zip(parts, rows, strict=True)
        )
    )
    merged.vectors = np.concatenate([part.vectors[row] for part, row in zip(parts, rows, strict=True)])
    merged.alive = np.ones(len(merged.ids), np.bool_)
    merged.masks = {}
    return merged


def _merged(
    parts: Sequence[tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.float32], Mask]],
    renumbered: Sequence[NDArray[np.int32]],
) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.float32]]:
    hashes, docs, counts = [], [], []
    for (hashed, doc, count, alive), new in zip(parts, renumbered, strict=True):
        good = alive[doc]
        hashes.append(hashed[good])
        docs.append(new[doc[good]])
        counts.append(count[good])
    flat = np.concatenate(hashes)
    order = np.argsort(flat, kind="stable")
    return flat[order], np.concatenate(docs)[order], np.concatenate(counts)[order]
