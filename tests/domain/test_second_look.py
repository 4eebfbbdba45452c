"""The second look at the best: whatever it says, the ranking is in order, and a deeper one begins with it."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from recollect.domain.ranking import LATE_MOST, Candidate, looked_at_again

FEW = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Few different scores, so that many are equal."""


def ranking(chance: random.Random) -> list[Candidate]:
    """What was found, some of it near each other and some far from all else."""
    count = chance.choice((1, 10, LATE_MOST, LATE_MOST + 15))
    apart = chance.choice((20, 500, 20_000))
    made = [
        Candidate(
            chance.randbytes(16),
            chance.choice(FEW),
            chance.choice("ab"),
            chance.randrange(apart),
            chance.randrange(4),
            {},
        )
        for _ in range(count)
    ]
    return sorted(made, key=merit)


def merit(each: Candidate) -> tuple[float, int, bytes]:
    return -each.score, -each.created_at, each.id


def test_it_is_in_order_and_a_deeper_one_begins_with_it() -> None:
    chance = random.Random(1)
    for _ in range(1_000):
        first = ranking(chance)
        late = np.array(chance.choices(FEW, k=min(len(first), LATE_MOST)), np.float32)
        check(first, chance.choice((None, late)))


def check(first: list[Candidate], late: NDArray[np.float32] | None) -> None:
    whole = looked_at_again(first, late)
    assert {each.id for each in whole} == {each.id for each in first}
    assert whole == sorted(whole, key=merit)
    assert all(0 <= each.score <= 1 for each in whole)
    if len(first) > LATE_MOST:
        assert looked_at_again(first[:LATE_MOST], late) == whole[:LATE_MOST]
        assert [each.id for each in whole[LATE_MOST:]] == [each.id for each in first[LATE_MOST:]]
