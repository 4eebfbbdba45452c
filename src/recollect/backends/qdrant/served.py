"""Qdrant on a server of its own, by its REST interface."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from recollect.backends.qdrant.conditions import Asked, Between, Has, Is, Where
from recollect.backends.qdrant.driver import INDEXES, MEANING, WORDS, Driver, Hit, Index, found_in
from recollect.backends.qdrant.options import QdrantOptions
from recollect.backends.qdrant.points import Sparse, Stored
from recollect.domain.errors import VectorsUnavailable

OLDEST = (1, 16)
"""Older servers do not know conditional writes: there, what comes late would undo what is newer."""
_PAGE = 1_000
_MOST_VALUES = 1 << 16
_TROUBLE = (
    ApiException,
    AssertionError,
    QdrantException,
    httpx.HTTPError,
    OSError,
    LookupError,
    ValueError,
    TypeError,
    RuntimeError,
)
"""What the client raises: when there is no answer, when it is an error, and when it is not understood."""


class Served(Driver):
    """Speaks with a server.

    Writes wait until they are applied, and go by the leader of a shard, so those to one point are in one order. The
    server puts each into its log before it applies it, so what is acknowledged outlasts its process.
    """

    def __init__(self, options: QdrantOptions, client: QdrantClient | None = None) -> None:
        self._checked = client is not None
        self._checking = threading.Lock()
        self._seconds = max(1, math.ceil(options.seconds))
        self._secret = options.key
        if client is not None:
            self._client = client
            return
        with warnings.catch_warnings():
            # Whether a key may travel without TLS is for those to say who wrote the URL.
            warnings.simplefilter("ignore")
            self._client = QdrantClient(
                url=options.url,
                port=None if _has_port(options.url) else 6333,
                api_key=options.key or None,
                timeout=self._seconds,
                prefer_grpc=False,
                check_compatibility=False,
            )

    def collections(self) -> Sequence[str]:
        """The names of the collections."""
        with self._speaking() as client:
            return sorted(each.name for each in client.get_collections().collections)

    def has(self, collection: str) -> bool:
        """True when there is such a collection."""
        with self._speaking() as client:
            return client.collection_exists(collection)

    def make(self, collection: str, dimension: int) -> None:
        """Create the collection unless another did, and every index that it lacks."""
        closest = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        meaning = models.VectorParams(
            size=dimension or 1,
            distance=models.Distance.COSINE,
            multivector_config=closest,
            hnsw_config=models.HnswConfigDiff(m=0),
        )
        with self._speaking() as client:
            if not client.collection_exists(collection):
                try:
                    client.create_collection(
                        collection,
                        vectors_config={MEANING: meaning} if dimension else {},
                        sparse_vectors_config={WORDS: models.SparseVectorParams()},
                    )
                except UnexpectedResponse:
                    if not client.collection_exists(collection):
                        raise
            for index in INDEXES:
                client.create_payload_index(collection, index.key, _schema(index), wait=True)

    def upsert(self, collection: str, points: Sequence[Stored], where: Where) -> None:
        """Write where the condition holds."""
        with self._speaking() as client:
            client.upsert(
                collection,
                [_point(each) for each in points],
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                update_filter=_filter(where),
            )

    def delete(self, collection: str, where: Where) -> None:
        """Delete by filter."""
        with self._speaking() as client:
            client.delete(
                collection,
                models.FilterSelector(filter=_filter(where)),
                wait=True,
                ordering=models.WriteOrdering.STRONG,
            )

    def nearest(self, collection: str, vector: Sequence[float], where: Where, limit: int) -> Sequence[Hit]:
        """The closest."""
        with self._speaking() as client:
            found = client.query_points(
                collection,
                query=[list(vector)],
                using=MEANING,
                query_filter=_filter(where),
                search_params=models.SearchParams(exact=True),
                limit=limit,
                with_payload=["id"],
            )
            return [found_in(each.payload, each.score) for each in found.points]

    def wordiest(self, collection: str, words: Sparse, where: Where, limit: int) -> Sequence[Hit]:
        """Those with the heaviest words."""
        with self._speaking() as client:
            found = client.query_points(
                collection,
                query=models.SparseVector(indices=words.places, values=words.values),
                using=WORDS,
                query_filter=_filter(where),
                limit=limit,
                with_payload=["id", "length"],
                with_vectors=[WORDS],
            )
            return [_wordy(each) for each in found.points]

    def count(self, collection: str, where: Where) -> int:
        """How many there are."""
        with self._speaking() as client:
            return client.count(collection, count_filter=_filter(where), exact=True).count

    def tally(self, collection: str, key: str, where: Where) -> Mapping[Any, int]:
        """How many there are of each."""
        with self._speaking() as client:
            found = client.facet(collection, key, facet_filter=_filter(where), limit=_MOST_VALUES, exact=True)
            return {each.value: each.count for each in found.hits}

    def get(self, collection: str, point_id: str) -> Mapping[str, Any] | None:
        """What a point holds."""
        with self._speaking() as client:
            found = client.retrieve(collection, [point_id], with_payload=True)
            return (found[0].payload or {}) if found else None

    def scroll(self, collection: str, where: Where, key: str) -> Sequence[tuple[str, Any]]:
        """All of them, page by page."""
        found: list[tuple[str, Any]] = []
        place: Any = None
        with self._speaking() as client:
            while True:
                page, place = client.scroll(
                    collection, _filter(where), limit=_PAGE, offset=place, with_payload=[key], with_vectors=False
                )
                found += [(str(each.id), (each.payload or {}).get(key)) for each in page]
                if place is None:
                    return found

    def highest(self, collection: str, key: str, where: Where) -> int | None:
        """The first of all, the highest first."""
        order = models.OrderBy(key=key, direction=models.Direction.DESC)
        with self._speaking() as client:
            page, _ = client.scroll(collection, _filter(where), limit=1, order_by=order, with_payload=[key])
            return (page[0].payload or {}).get(key) if page else None

    def settle(self, collection: str) -> None:
        """Nothing to do: what was acknowledged is in the log of the server."""

    def close(self) -> None:
        """Close the connections."""
        with self._translated():
            self._client.close()

    @contextmanager
    def _speaking(self) -> Iterator[QdrantClient]:
        with self._translated():
            if not self._checked:
                with self._checking:
                    self._check_version()
            yield self._client

    def _check_version(self) -> None:
        version = self._client.info().version
        try:
            known = tuple(int(part) for part in version.split("-")[0].split(".")[:2])
        except ValueError:
            known = OLDEST
        if known < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise VectorsUnavailable(f"the Qdrant server is {version}; conditional writes need {oldest} or newer")
        self._checked = True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _TROUBLE as problem:
            raise VectorsUnavailable(self._said(problem)) from None

    def _said(self, problem: Exception) -> str:
        """What happened, and never the key; the cause is left out too, because it may hold the request."""
        if isinstance(problem, UnexpectedResponse):
            text = problem.content[:200].decode(errors="replace")
            said = f"the Qdrant server answered {problem.status_code}: {text}"
        elif isinstance(problem, ResponseHandlingException):
            said = f"the Qdrant server did not answer as it should: {type(problem.source).__name__}: {problem.source}"
        else:
            said = f"the Qdrant server cannot be used: {type(problem).__name__}: {problem}"
        return said.replace(self._secret, "…")[:500] if self._secret else said[:500]


def _has_port(url: str) -> bool:
    return httpx.URL(url).port is not None


def _schema(index: Index) -> Any:
    if index.kind == "keyword":
        kind = models.KeywordIndexType.KEYWORD
        return models.KeywordIndexParams(type=kind, is_tenant=index.tenant or None, enable_hnsw=False)
    if index.kind == "integer":
        return models.IntegerIndexParams(
            type=models.IntegerIndexType.INTEGER, lookup=index.lookup, range=index.range, enable_hnsw=False
        )
    return models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False)


def _point(stored: Stored) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if stored.meaning:
        vectors[MEANING] = stored.meaning
    if stored.words is not None:
        vectors[WORDS] = models.SparseVector(indices=stored.words.places, values=stored.words.values)
    return models.PointStruct(id=stored.id, vector=vectors, payload=dict(stored.payload))


def _wordy(found: models.ScoredPoint) -> Hit:
    words = found.vector[WORDS] if isinstance(found.vector, dict) else None
    if not isinstance(words, models.SparseVector):
        raise ValueError("a point was found by words that it does not have")
    return found_in(found.payload, found.score, Sparse(words.indices, words.values))


def _filter(where: Where) -> models.Filter:
    return models.Filter(
        must=[_condition(each) for each in where.must], must_not=[_condition(each) for each in where.must_not] or None
    )


def _condition(asked: Asked) -> Any:
    if isinstance(asked, Is):
        values: Any = list(asked.values)
        match = models.MatchValue(value=values[0]) if len(values) == 1 else models.MatchAny(any=values)
        return models.FieldCondition(key=asked.key, match=match)
    if isinstance(asked, Between):
        return models.FieldCondition(
            key=asked.key, range=models.Range(gt=asked.gt, gte=asked.gte, lt=asked.lt, lte=asked.lte)
        )
    if isinstance(asked, Has):
        return models.NestedCondition(nested=models.Nested(key=asked.key, filter=_filter(Where(asked.asked))))
    return models.HasIdCondition(has_id=list(asked.ids))
