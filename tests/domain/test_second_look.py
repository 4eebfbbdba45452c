"""The second look at the best: whatever it says, the ranking is in order, and a deeper one begins with it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.ranking import LATE_MOST, Candidate, looked_at_again

COARSE = st.integers(0, 4).map(lambda number: number / 4)
"""Few different scores, so that many are equal."""


@st.composite
def rankings(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(1, LATE_MOST + 15))
    made = [
        Candidate(
            number.to_bytes(16, "big"),
            draw(COARSE),
            draw(st.sampled_from("ab")),
            draw(st.integers(0, 60)),
            draw(st.integers(0, 3)),
            {},
        )
        for number in range(count)
    ]
    return sorted(made, key=merit)


def merit(each: Candidate) -> tuple[float, int, bytes]:
    return -each.score, -each.created_at, each.id


@given(rankings(), st.data())
def test_it_is_in_order_and_a_deeper_one_begins_with_it(first: list[Candidate], data: st.DataObject) -> None:
    late = None
    if data.draw(st.booleans()):
        many = min(len(first), LATE_MOST)
        late = np.array(data.draw(st.lists(COARSE, min_size=many, max_size=many)), np.float32)
    whole = looked_at_again(first, late)
    assert {each.id for each in whole} == {each.id for each in first}
    assert whole == sorted(whole, key=merit)
    assert all(0 <= each.score <= 1 for each in whole)
    if len(first) > LATE_MOST:
        assert looked_at_again(first[:LATE_MOST], late) == whole[:LATE_MOST]
        behind = first[LATE_MOST:]
        assert [each.id for each in whole[LATE_MOST:]] == [each.id for each in behind]
