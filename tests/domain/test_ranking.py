"""Several rankings as one: the sum of reciprocal ranks, from 0 to 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.ranking import RRF_K, reciprocal

rankings = st.lists(st.lists(st.binary(min_size=1, max_size=1), unique=True, max_size=8), min_size=1, max_size=8)


def test_the_constant_is_the_one_that_everybody_uses() -> None:
    assert RRF_K == 60


def test_first_of_all_is_one_and_less_is_less() -> None:
    scores = reciprocal([[b"a", b"b"], [b"a", b"c"]])
    assert scores[b"a"] == pytest.approx(1.0)
    assert scores[b"b"] == scores[b"c"] == pytest.approx(61 / 62 / 2)
    assert reciprocal([[], []]) == {}


@given(rankings)
def test_it_is_the_sum_of_reciprocal_ranks(given_rankings: list[list[bytes]]) -> None:
    scores = reciprocal(given_rankings)
    found = {row_id for ranking in given_rankings for row_id in ranking}
    assert scores.keys() == found
    for row_id in found:
        plain = sum(1 / (60 + ranking.index(row_id) + 1) for ranking in given_rankings if row_id in ranking)
        assert scores[row_id] == pytest.approx(plain * 61 / len(given_rankings))
        assert 0 < scores[row_id] <= 1 + 1e-12


@given(rankings)
def test_the_order_of_the_queries_makes_no_difference(given_rankings: list[list[bytes]]) -> None:
    one, other = reciprocal(given_rankings), reciprocal(given_rankings[::-1])
    assert one == pytest.approx(other)
