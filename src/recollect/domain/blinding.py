"""Blinding: what the index keeps instead of words and meanings, with a key per tenant.

A word becomes a keyed hash of eight bytes: equal words stay equal, and nothing else shows. A vector is turned by an
orthogonal matrix that only the key gives: angles stay as they are, and what could turn a vector back into its text
no longer can. Both are the same wherever they are made.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import pi
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_REMEMBERED = 50_000


class Blinder:
    """Blinds the words, leaves and vectors of one tenant."""

    def __init__(self, key: bytes) -> None:
        self._words = blake2b(b"words", key=key, digest_size=32).digest()
        self._leaves = blake2b(b"leaves", key=key, digest_size=32).digest()
        self._turn = blake2b(b"turn", key=key, digest_size=32).digest()
        self._known: dict[str, int] = {}
        self._matrices: dict[int, NDArray[np.float64]] = {}

    def word(self, word: str) -> int:
        """What stands for a word."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[word] = _hashed(word.encode(), self._words)
        return known

    def words(self, words: Iterable[str]) -> Hashes:
        """What stands for each of these words."""
        return np.fromiter((self.word(word) for word in words), np.uint64)

    def leaf(self, path: str, scalar: Any) -> int:
        """What stands for a leaf of a value: `1` and `1.0` are one, `1`, `"1"` and `true` are three."""
        if isinstance(scalar, float) and scalar.is_integer():
            scalar = int(scalar)
        kind = type(scalar).__name__
        if kind == "int" and not -(1 << 63) <= scalar < 1 << 64:
            scalar = hex(scalar)  # values may have longer numbers than MessagePack
        return _hashed(msgspec.msgpack.encode((path, kind, scalar)), self._leaves)

    def turn(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors as they are kept, and as queries are compared with them."""
        return (vectors.astype(np.float64) @ self._matrix(vectors.shape[-1])).astype(np.float32)

    def _matrix(self, dimension: int) -> NDArray[np.float64]:
        known = self._matrices.get(dimension)
        if known is None:
            known = self._matrices[dimension] = turning(self._turn, dimension)
        return known


def turning(key: bytes, dimension: int) -> NDArray[np.float64]:
    """An orthogonal matrix that a key gives, evenly drawn from all there are."""
    count = dimension * dimension
    stream = _stream(key, 16 * ((count + 1) // 2))
    uniform = (np.frombuffer(stream, "<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53
    far, around = np.sqrt(-2.0 * np.log(1.0 - uniform[0::2])), 2 * pi * uniform[1::2]
    normal = np.concatenate([far * np.cos(around), far * np.sin(around)])[:count]
    orthogonal, triangle = np.linalg.qr(normal.reshape(dimension, dimension))
    turned: NDArray[np.float64] = orthogonal * np.sign(np.diagonal(triangle))
    return turned


def _stream(key: bytes, size: int) -> bytes:
    blocks = (blake2b(number.to_bytes(8), key=key, digest_size=64).digest() for number in range((size + 63) // 64))
    return b"".join(blocks)[:size]


def _hashed(text: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(text, key=key, digest_size=8).digest())
