"""A second look at the best: how close each word of a query comes to some word of a text, in their contexts.

A vector per text blurs what is said in it; a vector per word does not, but there are many of them. So they are kept
apart, coarse, and looked at only for what is among the best already.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 512
"""Words of one version that are looked at."""


class Detail(msgspec.Struct, frozen=True, array_like=True):
    """A vector per word, each number in a byte, with what to multiply each vector by."""

    dimension: int
    scales: bytes
    codes: bytes


def detail_of(tokens: Sequence[NDArray[np.float32]]) -> bytes | None:
    """The words of all pieces of a version, as they are kept; None when there are none."""
    rows = [each for each in tokens if len(each)]
    if not rows:
        return None
    flat = np.concatenate(rows)[:MAX_TOKENS]
    scales = np.maximum(np.abs(flat).max(axis=1), 1e-9) / 127
    codes = np.rint(flat / scales[:, None]).astype(np.int8)
    return _encode(Detail(flat.shape[1], scales.astype("<f4").tobytes(), codes.tobytes()))


def closeness(query: NDArray[np.float32], details: Sequence[bytes | None]) -> NDArray[np.float32]:
    """For each text, the mean over the query's words of how close the closest of its words comes; NaN without words."""
    found = np.full(len(details), np.nan, np.float32)
    read = [(place, _decode(detail)) for place, detail in enumerate(details) if detail is not None]
    usable = [(place, detail) for place, detail in read if detail.dimension == query.shape[1]]
    if not usable:
        return found
    counts = [len(detail.scales) // 4 for _, detail in usable]
    codes = np.frombuffer(b"".join(detail.codes for _, detail in usable), np.int8)
    scales = np.frombuffer(b"".join(detail.scales for _, detail in usable), "<f4")
    cosines = (codes.reshape(-1, query.shape[1]).astype(np.float32) @ query.T) * scales[:, None]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    found[[place for place, _ in usable]] = np.maximum.reduceat(cosines, starts, axis=0).mean(axis=1)
    return found


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Detail).decode
