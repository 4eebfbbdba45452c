"""What an embedding server answers: read, put in order and checked, so that nothing of it has to be believed."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.domain.errors import EmbedderTrouble
from recollect.ports.embedder import Vectors

MOST_DIMENSIONS = 16_384


class _Row(msgspec.Struct):
    index: int
    embedding: list[float] | str


class _Answer(msgspec.Struct):
    data: list[_Row]


_decoder = msgspec.json.Decoder(_Answer)


def rows_of(answer: bytes, count: int) -> list[NDArray[np.float32]]:
    """The rows of an answer in the order of the texts, as they were given; raises `EmbedderTrouble`."""
    try:
        data = _decoder.decode(answer).data
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise EmbedderTrouble("the embedding server gave an answer that cannot be read") from None
    if sorted(row.index for row in data) != list(range(count)):
        raise EmbedderTrouble(f"the embedding server was given {count} texts and answered for others")
    found = [_numbers(row.embedding) for row in sorted(data, key=lambda row: row.index)]
    if len({len(row) for row in found}) > 1:
        raise EmbedderTrouble("the embedding server gave vectors of unequal dimensions")
    if not 0 < len(found[0]) <= MOST_DIMENSIONS:
        raise EmbedderTrouble(f"the embedding server gave vectors of {len(found[0]):,} numbers")
    return found


def unit_of(row: NDArray[np.float32]) -> Vectors | None:
    """A row at unit length; None when it has none, or is not made of numbers."""
    # Divided twice, so that neither a huge vector nor a tiny one is lost on the way.
    exact = row.astype(np.float64)
    largest = float(np.abs(exact).max())
    if not np.isfinite(largest) or largest == 0.0:
        return None
    exact /= largest
    unit: Vectors = (exact / np.linalg.norm(exact)).astype(np.float32)
    return unit


def _numbers(embedding: list[float] | str) -> NDArray[np.float32]:
    """The numbers of a row: a list, or little-endian floats in base64, which some servers send unasked."""
    if not isinstance(embedding, str):
        with np.errstate(over="ignore"):
            return np.array(embedding, np.float32)
    try:
        raw: Any = np.frombuffer(b64decode(embedding, validate=True), "<f4")
    except (binascii.Error, ValueError):
        raise EmbedderTrouble("the embedding server gave a vector that cannot be read") from None
    return np.asarray(raw, np.float32)
