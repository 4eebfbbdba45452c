"""Qdrant within the process: a folder with a shard for each collection, used by one process at a time."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from recollect.backends.qdrant.conditions import Asked, Between, Has, Is, Where
from recollect.backends.qdrant.driver import INDEXES, MEANING, WORDS, Driver, Hit, Index, found_in
from recollect.backends.qdrant.points import Sparse, Stored
from recollect.domain.errors import InvalidSetting, VectorsUnavailable

if sys.platform != "win32":
    import fcntl

_LOCK, _SHARD, _UNFINISHED = "lock", ".shard", ".unfinished"
_PAGE = 1_000
_MOST_VALUES = 1 << 20


class Embedded(Driver):
    """Speaks with shards in a folder. Qdrant checks conditions and writes under a lock of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shards: dict[str, edge.EdgeShard] = {}
        self._opening = threading.Lock()
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / _LOCK).open("a")
        except OSError as problem:
            raise InvalidSetting(f"the folder for Qdrant cannot be used: {problem.strerror}") from None
        if sys.platform != "win32":
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                raise InvalidSetting(
                    "another process uses the folder for Qdrant: give each process its own, or run a server for all"
                ) from None

    def collections(self) -> Sequence[str]:
        """The shards in the folder."""
        with _translated():
            return sorted(each.stem if each.suffix == _SHARD else "" for each in self._path.glob(f"*{_SHARD}"))

    def has(self, collection: str) -> bool:
        """True when there is such a shard."""
        return collection in self._shards or self._folder(collection).is_dir()

    def make(self, collection: str, dimension: int) -> None:
        """Create the shard beside its place and move it there when it is whole."""
        with self._opening, _translated():
            folder = self._folder(collection)
            if folder.is_dir():
                return
            unfinished = folder.with_suffix(_UNFINISHED)
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            shard = edge.EdgeShard.create(str(unfinished), _shape(dimension))
            for index in INDEXES:
                shard.update(edge.UpdateOperation.create_field_index(index.key, _schema(index)))
            shard.flush()
            shard.close()
            unfinished.rename(folder)
            _sync(self._path)

    def upsert(self, collection: str, points: Sequence[Stored], where: Where) -> None:
        """Write where the condition holds."""
        with self._shard(collection) as shard:
            shard.update(edge.UpdateOperation.upsert_points([_point(each) for each in points], _filter(where)))

    def delete(self, collection: str, where: Where) -> None:
        """Delete by filter."""
        with self._shard(collection) as shard:
            shard.update(edge.UpdateOperation.delete_points_by_filter(_filter(where)))

    def nearest(self, collection: str, vector: Sequence[float], where: Where, limit: int) -> Sequence[Hit]:
        """The closest."""
        query = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest([list(vector)], using=MEANING),
            filter=_filter(where),
            params=edge.SearchParams(exact=True),
            with_payload=["id"],
        )
        with self._shard(collection) as shard:
            return [found_in(each.payload, each.score) for each in shard.query(query)]

    def wordiest(self, collection: str, words: Sparse, where: Where, limit: int) -> Sequence[Hit]:
        """Those with the heaviest words."""
        query = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(edge.SparseVector(words.places, words.values), using=WORDS),
            filter=_filter(where),
            with_payload=["id", "length"],
            with_vector=[WORDS],
        )
        with self._shard(collection) as shard:
            return [_wordy(each) for each in shard.query(query)]

    def count(self, collection: str, where: Where) -> int:
        """How many there are."""
        with self._shard(collection) as shard:
            return shard.count(edge.CountRequest(exact=True, filter=_filter(where)))

    def tally(self, collection: str, key: str, where: Where) -> Mapping[Any, int]:
        """How many there are of each."""
        asked = edge.FacetRequest(key=key, limit=_MOST_VALUES, exact=True, filter=_filter(where))
        with self._shard(collection) as shard:
            return {each.value: each.count for each in shard.facet(asked).hits}

    def get(self, collection: str, point_id: str) -> Mapping[str, Any] | None:
        """What a point holds."""
        with self._shard(collection) as shard:
            found = shard.retrieve([point_id], True, False)
            return (found[0].payload or {}) if found else None

    def scroll(self, collection: str, where: Where, key: str) -> Sequence[tuple[str, Any]]:
        """All of them, page by page."""
        found: list[tuple[str, Any]] = []
        place: Any = None
        asked, payload = _filter(where), [key]
        with self._shard(collection) as shard:
            while True:
                page, place = shard.scroll(
                    edge.ScrollRequest(offset=place, limit=_PAGE, filter=asked, with_payload=payload)
                )
                found += [(str(each.id), (each.payload or {}).get(key)) for each in page]
                if place is None:
                    return found

    def highest(self, collection: str, key: str, where: Where) -> int | None:
        """The first of all, the highest first."""
        order = edge.OrderBy(key, edge.Direction.Desc)
        asked = edge.ScrollRequest(limit=1, filter=_filter(where), with_payload=[key], order_by=order)
        with self._shard(collection) as shard:
            page, _ = shard.scroll(asked)
            return (page[0].payload or {}).get(key) if page else None

    def settle(self, collection: str) -> None:
        """Flush the shard to the disk."""
        with self._shard(collection) as shard:
            shard.flush()

    def close(self) -> None:
        """Flush and close all shards, and let others have the folder."""
        with self._opening, _translated():
            try:
                while self._shards:
                    _, shard = self._shards.popitem()
                    shard.flush()
                    shard.close()
            finally:
                self._lock.close()

    def _folder(self, collection: str) -> Path:
        return self._path / f"{collection}{_SHARD}"

    @contextmanager
    def _shard(self, collection: str) -> Iterator[edge.EdgeShard]:
        with _translated():
            shard = self._shards.get(collection)
            if shard is None:
                with self._opening:
                    shard = self._shards.get(collection)
                    if shard is None:
                        if self._lock.closed:
                            raise VectorsUnavailable("the vector store is closed")
                        shard = self._shards[collection] = edge.EdgeShard.load(str(self._folder(collection)))
            yield shard


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except VectorsUnavailable:
        raise
    except Exception as problem:
        raise VectorsUnavailable(
            f"Qdrant in its folder failed; if it goes on, delete the folder, and it is built anew: {problem}"
        ) from problem


def _sync(folder: Path) -> None:
    """See that a new name in the folder outlasts a loss of power."""
    if sys.platform != "win32":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _shape(dimension: int) -> edge.EdgeConfig:
    closest = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
    meaning = {
        MEANING: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine, multivector_config=closest)
    }
    return edge.EdgeConfig(
        vectors=meaning if dimension else None, sparse_vectors={WORDS: edge.EdgeSparseVectorParams()}
    )


def _schema(index: Index) -> Any:
    if index.kind == "keyword":
        return edge.KeywordIndexParams(is_tenant=index.tenant, enable_hnsw=False)
    if index.kind == "integer":
        return edge.IntegerIndexParams(lookup=index.lookup, range=index.range, enable_hnsw=False)
    return edge.FloatIndexParams(enable_hnsw=False)


def _point(stored: Stored) -> edge.Point:
    vectors: dict[str, Any] = {}
    if stored.meaning:
        vectors[MEANING] = stored.meaning
    if stored.words is not None:
        vectors[WORDS] = edge.SparseVector(stored.words.places, stored.words.values)
    return edge.Point(stored.id, vectors, dict(stored.payload))


def _wordy(found: edge.ScoredPoint) -> Hit:
    vector: Any = found.vector
    words = vector[WORDS]
    return found_in(found.payload, found.score, Sparse(list(words.indices), list(words.values)))


def _filter(where: Where) -> edge.Filter:
    return edge.Filter(must=[_condition(each) for each in where.must], must_not=[_condition(e) for e in where.must_not])


def _condition(asked: Asked) -> Any:
    if isinstance(asked, Is):
        values: Any = list(asked.values)
        match = edge.MatchValue(values[0]) if len(values) == 1 else edge.MatchAny(values)
        return edge.FieldCondition(asked.key, match=match)
    if isinstance(asked, Between):
        return edge.FieldCondition(
            asked.key, range=edge.RangeFloat(gt=asked.gt, gte=asked.gte, lt=asked.lt, lte=asked.lte)
        )
    if isinstance(asked, Has):
        return edge.NestedCondition(asked.key, _filter(Where(asked.asked)))
    return edge.HasIdCondition(set(asked.ids))
