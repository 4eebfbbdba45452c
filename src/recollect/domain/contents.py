"""The content of an entry: what the index keeps of one version, blinded, as bytes.

Words are kept as sorted hashes with how often each occurs, vectors as rows of 32-bit floats, each with the path of the
text that it stands for. What is kept is read by later versions of this program, so fields are only added at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from recollect.domain.blinding import Hashes

MAX_COUNT = 255


class Content(msgspec.Struct, frozen=True, array_like=True):
    """What can be found of a version: by its words, by its leaves, by its meaning."""

    words: bytes = b""
    counts: bytes = b""
    length: int = 0
    """How many words there are, each as often as it occurs."""
    leaves: bytes = b""
    paths: tuple[str, ...] = ()
    vectors: bytes = b""


def content_of(words: Hashes, leaves: Hashes, paths: Sequence[str], vectors: NDArray[np.float32] | None) -> bytes:
    """The content of a version with these words, in any order, and these vectors, one per path."""
    unique, counts = np.unique(words, return_counts=True)
    return _encode(
        Content(
            unique.astype("<u8").tobytes(),
            np.minimum(counts, MAX_COUNT).astype(np.uint8).tobytes(),
            len(words),
            np.unique(leaves).astype("<u8").tobytes(),
            tuple(paths) if vectors is not None else (),
            b"" if vectors is None else np.ascontiguousarray(vectors, "<f4").tobytes(),
        )
    )


def content_in(encoded: bytes) -> Content:
    """The content behind these bytes."""
    return _decode(encoded)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Content).decode
