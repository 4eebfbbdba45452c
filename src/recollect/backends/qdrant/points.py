"""How a version becomes a point: one for each, so that it is written, replaced and removed as a whole.

A point has the vectors of all pieces together, compared with a query by the closest of them; the words as a sparse
vector, by which versions are ranked; and the words as numbers, by which they are counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from recollect.backends.qdrant.conditions import NEVER, ancestors, facts, line_key, numbers
from recollect.domain.attributes import stored_attributes
from recollect.domain.errors import InvalidSetting
from recollect.domain.instants import Instant
from recollect.ports.vectors import Followed, Line, Point, held

AVERAGE = 48.0
"""The length by which words are weighed when they are kept; searches weigh what they find anew."""
_SPACE = UUID("9b0a7c54-5b3e-5f0c-8f0e-0d7f2c1f6a11")
_PREFIX = "recollect_"
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]")
_COLLECTION = re.compile(rf"{_PREFIX}([0-9]+)_(.*)")


@dataclass(frozen=True, slots=True)
class Sparse:
    """A vector of few numbers, each at its place."""

    places: list[int]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Stored:
    """A point as the drivers write it."""

    id: str
    payload: Mapping[str, Any]
    meaning: list[list[float]] = field(default_factory=list)
    words: Sparse | None = None


def collection_of(line: Line) -> str:
    """The collection of the line's model. Capitals are spelled out: some file systems do not tell them apart."""
    name = _UNSAFE.sub(lambda found: "".join(f"={byte:02X}" for byte in found[0].encode()), line.model)
    if len(name) > _LONGEST:
        raise InvalidSetting("the name of the model is too long for a collection of Qdrant")
    return f"{_PREFIX}{line.dimension}_{name}"


def model_of(collection: str) -> tuple[str, int] | None:
    """The model and the dimension of a collection; None when it is not one of ours."""
    found = _COLLECTION.fullmatch(collection)
    return (unquote(found[2].replace("=", "%")), int(found[1])) if found else None


def order_of(number: int, *, removed: bool = False) -> int:
    """What decides between writes: one with a number replaces whatever has no higher order than that number's.

    A removal stands half a number above what was written with the same one.
    """
    return 2 * number + removed


def number_of(order: int) -> int:
    """The number of a write with this order."""
    return order // 2


def version_point(line: Line, number: int, point: Point) -> Stored:
    """A version."""
    attributes = stored_attributes(point.policy_attributes)
    payload = {
        **_whose(line),
        "id": point.id.hex(),
        "order": order_of(number),
        "expires": NEVER if point.expires_at is None else int(point.expires_at),
        "archived": int(point.archived),
        "length": point.length,
        "ancestors": ancestors(point.namespace),
        "facts": facts(attributes),
        "numbers": numbers(attributes),
        "words": signed(point.words.tolist()),
    }
    vectors = point.vectors.tolist() if line.dimension else []
    return Stored(_id(line, point.id.hex()), payload, vectors, _sparse(point))


def removed_point(line: Line, number: int, row_id: bytes, now: Instant) -> Stored:
    """What is remembered of a removed version; without vectors, words, length and expiry no search can see it."""
    payload = {**_whose(line), "order": order_of(number, removed=True), "removed": int(now)}
    return Stored(_id(line, row_id.hex()), payload)


def mark_id(line: Line) -> str:
    """Where it stands how far a line was followed."""
    return _id(line, "followed")


def mark_point(line: Line, followed: Followed) -> Stored:
    """How far a line was followed."""
    return Stored(mark_id(line), {**_whose(line), "upto": followed.upto, "at": int(followed.at)})


def signed(words: Sequence[int]) -> list[int]:
    """Words as Qdrant can count them: its integers have a sign."""
    return [word - (1 << 64) if word >> 63 else word for word in words]


def sparse_query(words: Mapping[int, float]) -> Sparse:
    """What words count, where they stand in the vectors."""
    return _gathered(np.fromiter(words, np.uint64, len(words)), np.fromiter(words.values(), np.float64, len(words)))


def times_of(values: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """How often words occur in a text of this length, of which these values were kept."""
    kept = np.minimum(values, 0.9999)
    times: NDArray[np.float64] = kept * held(length, AVERAGE) / (1 - kept)
    return times


def _sparse(point: Point) -> Sparse | None:
    times = point.counts.astype(np.float64)
    found = _gathered(point.words, times / (times + held(point.length, AVERAGE)))
    return found if found.places else None


def _gathered(words: NDArray[np.uint64], values: NDArray[np.float64]) -> Sparse:
    """Words at their places of 32 bits; the few that share one are added up."""
    folded = (words ^ (words >> np.uint64(32))) & np.uint64(0xFFFF_FFFF)
    places, inverse = np.unique(folded, return_inverse=True)
    sums = np.bincount(inverse, values, minlength=len(places)) if len(places) else np.zeros(0)
    return Sparse(places.tolist(), sums.tolist())


def _whose(line: Line) -> dict[str, str]:
    return {"tenant": line.tenant, "line": line_key(line)}


def _id(line: Line, name: str) -> str:
    return str(uuid5(_SPACE, f"{line.tenant}/{line_key(line)}/{name}"))
