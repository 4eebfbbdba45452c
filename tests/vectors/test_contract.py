"""Every check of the contract, on every vector store that comes with the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.engines.postgres import needs_postgres
from tests.vectors.loopback import loopback
from tests.vectors.qdrant import served_locally, server_options

import recollect.ports.vectors
from recollect.backends.memory import MemoryVectors
from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.testing.contract import clauses_of
from recollect.testing.contract.vectors import VECTOR_CHECKS, VectorCheck, VectorTrial
from recollect.testing.postgres import postgres_vectors_trial


def _memory(folder: Path) -> Iterator[VectorTrial]:
    vectors = MemoryVectors()
    yield VectorTrial(vectors, lambda: vectors, lambda: vectors)


def _qdrant_embedded(folder: Path) -> Iterator[VectorTrial]:
    """In a folder, which one process at a time may use."""
    opened = [QdrantVectors(QdrantOptions(path=folder))]

    def reopen() -> QdrantVectors:
        opened[-1].close()
        opened.append(QdrantVectors(QdrantOptions(path=folder)))
        return opened[-1]

    yield VectorTrial(opened[0], lambda: opened[0], reopen)
    opened[-1].close()


def _qdrant_client(folder: Path) -> Iterator[VectorTrial]:
    """What is sent to a server, answered by the client's own imitation of one.

    It checks conditions and filters as the server does, but knows neither indexes, HTTP, time-outs nor crashes.
    """
    with served_locally() as vectors:
        yield VectorTrial(vectors, lambda: vectors, lambda: vectors)


def _qdrant_http(folder: Path) -> Iterator[VectorTrial]:
    """The same by HTTP, so that everything goes through JSON both ways."""
    with loopback() as server:
        opened = [QdrantVectors(QdrantOptions(url=server.url))]

        def another() -> QdrantVectors:
            opened.append(QdrantVectors(QdrantOptions(url=server.url)))
            return opened[-1]

        yield VectorTrial(opened[0], another, another)
        for each in opened:
            each.close()


def _qdrant_server(folder: Path) -> Iterator[VectorTrial]:
    options = server_options()

    def another() -> QdrantVectors:
        opened.append(QdrantVectors(options))
        return opened[-1]

    opened: list[QdrantVectors] = []
    first = another()
    for tenant in ("acme", "other"):
        for line in first.lines(tenant):
            first.forget(line)
    yield VectorTrial(first, another, another)
    for each in opened:
        each.close()


def _pgvector(folder: Path, *, half: bool = False) -> Iterator[VectorTrial]:
    needs_postgres()
    with postgres_vectors_trial(half=half) as trial:
        yield trial


VECTORS: dict[str, Callable[[Path], Iterator[VectorTrial]]] = {
    "memory": _memory,
    "pgvector": _pgvector,
    "pgvector-half": partial(_pgvector, half=True),
    "qdrant-embedded": _qdrant_embedded,
    "qdrant-client": _qdrant_client,
    "qdrant-http": _qdrant_http,
    "qdrant-server": _qdrant_server,
}


@pytest.fixture(params=VECTORS.values(), ids=list(VECTORS))
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorTrial]:
    yield from request.param(tmp_path)


@pytest.mark.parametrize("check", VECTOR_CHECKS.values(), ids=list(VECTOR_CHECKS))
def test_it_keeps_its_promise(trial: VectorTrial, check: VectorCheck) -> None:
    check(trial)


def test_every_promise_has_a_check_and_every_check_a_promise() -> None:
    cited = {name.split("_")[0].upper() for name in VECTOR_CHECKS}
    assert cited == set(clauses_of(recollect.ports.vectors.__doc__, "V"))
