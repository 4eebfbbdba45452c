"""Blinding: equal stays equal within a tenant and is nothing outside of it; angles stay as they are."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from recollect.domain.blinding import Blinder, turning

ONE, OTHER = Blinder(b"k" * 32), Blinder(b"o" * 32)
_PROGRAM = """
from hashlib import sha256
from recollect.domain.blinding import Blinder, turning
blinder = Blinder(b"k" * 32)
print(blinder.word("tea"), blinder.leaf("a.b", 1), sha256(turning(b"k" * 32, 96).tobytes()).hexdigest())
"""


def test_the_same_word_is_the_same_hash_and_another_another() -> None:
    words = [f"word{n}" for n in range(5_000)]
    again = Blinder(b"k" * 32)
    assert [ONE.word(word) for word in words] == [again.word(word) for word in words]
    assert len({ONE.word(word) for word in words}) == len(words)
    assert ONE.words(words).tolist() == [ONE.word(word) for word in words]


def test_another_tenant_has_other_hashes() -> None:
    words = [f"word{n}" for n in range(5_000)]
    assert {ONE.word(word) for word in words}.isdisjoint({OTHER.word(word) for word in words})
    assert ONE.leaf("a", 1) != OTHER.leaf("a", 1)


def test_a_word_that_was_forgotten_gets_the_same_hash_again() -> None:
    blinder = Blinder(b"k" * 32)
    first = blinder.word("first")
    for number in range(60_000):
        blinder.word(str(number))
    assert blinder.word("first") == first


def test_leaves_differ_by_path_and_by_kind_but_numbers_are_numbers() -> None:
    scalars = (1, "1", True, None, 1.5, 0, False, "", "true", "null", -1)
    assert len({ONE.leaf(path, scalar) for path in ("a", "a.b", "") for scalar in scalars}) == 3 * len(scalars)
    assert ONE.leaf("a", 1) == ONE.leaf("a", 1.0)
    assert ONE.leaf("a", 10**18) == ONE.leaf("a", float(10**18))


def test_a_number_of_any_length_is_a_leaf() -> None:
    longer = (2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**300, -(10**300), 10**5_000)
    assert len({ONE.leaf("a", number) for number in longer}) == len(longer)
    assert ONE.leaf("a", 2.0**100) == ONE.leaf("a", 2**100) != ONE.leaf("a", hex(2**100))


@pytest.mark.parametrize("dimension", [1, 2, 3, 64, 256, 384])
def test_a_turning_is_orthogonal(dimension: int) -> None:
    matrix = turning(b"k" * 32, dimension)
    assert np.abs(matrix @ matrix.T - np.eye(dimension)).max() < 1e-12
    assert dimension < 3 or np.abs(matrix - turning(b"o" * 32, dimension)).max() > 0.1


def test_a_turning_hides_where_a_vector_pointed() -> None:
    axis = np.zeros((1, 256), np.float32)
    axis[0, 0] = 1
    assert np.abs(ONE.turn(axis)).max() < 0.5


def test_turned_vectors_have_the_angles_they_had() -> None:
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((1_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    turned = ONE.turn(vectors)
    assert np.abs(turned @ turned.T - vectors @ vectors.T).max() <= 1e-5
    assert np.abs(OTHER.turn(vectors) @ turned.T - vectors @ vectors.T).max() > 0.1, "the check sees another key"


def test_another_process_makes_the_same() -> None:
    said = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    matrix = sha256(turning(b"k" * 32, 96).tobytes()).hexdigest()
    assert said == [str(ONE.word("tea")), str(ONE.leaf("a.b", 1)), matrix]
