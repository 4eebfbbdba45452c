"""A shelf is a dictionary: whatever is taken and struck in whichever order, it holds what was taken last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from recollect.domain.address import namespace
from recollect.domain.contents import Content
from recollect.domain.filters import matches, parse_filter
from recollect.domain.instants import Instant
from recollect.domain.queries import Archived
from recollect.domain.ranking import allowed
from recollect.domain.shelves import Segment, Shelf, Slip, merge

DIMENSION = 3
PLACES = (("a",), ("a", "b"), ("ab",), ("a", "%"))
WORDS = tuple(range(0, 1 << 64, (1 << 64) // 7))
"""Hashes from everywhere, so that none is lost to rounding."""


@dataclass(frozen=True)
class Book:
    """What a plain reader knows of a version."""

    place: tuple[str, ...]
    words: dict[int, int]
    leaves: frozenset[int]
    vectors: tuple[tuple[float, ...], ...]
    expires_at: int | None
    archived: bool
    label: int
    created_at: int

    def slip(self, row_id: bytes) -> Slip:
        words = sorted(self.words)
        content = Content(
            np.array(words, "<u8").tobytes(),
            bytes(self.words[word] for word in words),
            sum(self.words.values()),
            np.array(sorted(self.leaves), "<u8").tobytes(),
            tuple(f"p{n}" for n in range(len(self.vectors))),
            np.array(self.vectors, "<f4").tobytes(),
        )
        return Slip(
            row_id,
            namespace(self.place).encoded,
            Instant(self.created_at),
            1,
            None if self.expires_at is None else Instant(self.expires_at),
            self.archived,
            json.dumps({"label": self.label}, separators=(",", ":")),
            msgspec.msgpack.encode(content),
        )


ids = st.integers(0, 11).map(lambda n: bytes([n]) * 16)
books = st.builds(
    Book,
    st.sampled_from(PLACES),
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 255), max_size=4),
    st.frozensets(st.sampled_from(WORDS), max_size=2),
    st.lists(st.tuples(*[st.integers(-4, 4).map(float)] * DIMENSION), max_size=3).map(tuple),
    st.none() | st.integers(1, 20),
    st.booleans(),
    st.integers(0, 2),
    st.integers(0, 9),
)
steps = st.lists(st.dictionaries(ids, books, min_size=1, max_size=5) | st.lists(ids, max_size=4), max_size=12)


def shelved(shelf: Shelf) -> dict[bytes, tuple[Segment, int]]:
    places: dict[bytes, tuple[Segment, int]] = {}
    total = 0
    for segment in shelf.segments:
        for slot in np.flatnonzero(segment.alive):
            assert segment.ids[slot] not in places, "a version is there twice"
            places[segment.ids[slot]] = (segment, int(slot))
            assert shelf.at(total + int(slot)) == (segment, int(slot))
        total += len(segment)
    return places


def check(shelf: Shelf, known: dict[bytes, Book]) -> None:
    """The shelf says of every version what the dictionary says."""
    places = shelved(shelf)
    assert places.keys() == known.keys()
    assert len(shelf) == len(known)
    for row_id, (segment, slot) in places.items():
        book = known[row_id]
        assert segment.namespaces[slot] == namespace(book.place).encoded
        assert segment.created_at[slot] == book.created_at
        assert segment.lengths[slot] == sum(book.words.values())
        vectors = segment.vectors[segment.owners == slot]
        assert vectors.tolist() == [list(each) for each in book.vectors]
        assert [segment.paths[n] for n in np.flatnonzero(segment.owners == slot)] == [
            f"p{n}" for n in range(len(book.vectors))
        ]
    for word in WORDS:
        having = {
            segment.ids[slot]: int(times)
            for segment in shelf.segments
            for slot, times in zip(*segment.having(word), strict=True)
            if segment.alive[slot]
        }
        assert having == {row_id: book.words[word] for row_id, book in known.items() if word in book.words}
    check_allowed(shelf, known)


def check_allowed(shelf: Shelf, known: dict[bytes, Book]) -> None:
    for within in (None, *PLACES):
        for archived in Archived:
            for asked, now, leaf in (({}, 0, None), ({"label": 1}, 5, None), ({}, 10, WORDS[3])):
                written = parse_filter(asked)
                narrowed = None if within is None else namespace(within).encoded
                leaves = () if leaf is None else (leaf,)
                masks = allowed(shelf, narrowed, archived, Instant(now), written, leaves)
                found = {
                    segment.ids[slot]
                    for segment, mask in zip(shelf.segments, masks, strict=True)
                    for slot in np.flatnonzero(mask)
                }
                assert found == {
                    row_id
                    for row_id, book in known.items()
                    if (within is None or book.place[: len(within)] == within)
                    and (archived is Archived.INCLUDE or book.archived == (archived is Archived.ONLY))
                    and (book.expires_at is None or now < book.expires_at)
                    and matches(written, {"label": book.label})
                    and (leaf is None or leaf in book.leaves)
                }, (within, archived, asked, now)


def run(program: list[dict[bytes, Book] | list[bytes]]) -> None:
    shelf, known = Shelf(DIMENSION), dict[bytes, Book]()
    for step in program:
        if isinstance(step, dict):
            shelf.take([book.slip(row_id) for row_id, book in step.items()])
            known |= step
        else:
            shelf.strike(step)
            known = {row_id: book for row_id, book in known.items() if row_id not in step}
        check(shelf, known)


@sized(60, 2_000)
def test_a_shelf_equals_a_dictionary(count: int) -> None:
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps)
    def equals(program: list[dict[bytes, Book] | list[bytes]]) -> None:
        run(program)

    equals()


PLAIN = Book(("a",), {WORDS[1]: 2}, frozenset(), ((1.0, 0.0, 0.0),), None, False, 0, 1)


def test_the_check_finds_a_merge_that_brings_back_what_was_struck() -> None:
    def forgetful(one: Segment, other: Segment) -> Segment:
        one.alive[:] = True
        return merge(one, other)

    program: list[dict[bytes, Book] | list[bytes]] = [
        {bytes([n]) * 16: PLAIN for n in range(3)},
        [bytes([1]) * 16],
        {bytes([n]) * 16: PLAIN for n in range(4, 7)},
    ]
    run(program)
    with patch("recollect.domain.shelves.merge", forgetful), pytest.raises(AssertionError):
        run(program)


def test_a_shelf_of_many_small_takes_has_few_segments() -> None:
    shelf = Shelf(DIMENSION)
    for number in range(300):
        shelf.take([PLAIN.slip(number.to_bytes(16))])
    assert len(shelf) == 300
    assert len(shelf.segments) <= 10


def test_vectors_of_another_dimension_are_not_taken_for_ones_of_this() -> None:
    shelf = Shelf(DIMENSION + 1)
    shelf.take([PLAIN.slip(b"x" * 16)])
    assert len(shelf) == 1
    assert len(shelf.segments[0].vectors) == 0
