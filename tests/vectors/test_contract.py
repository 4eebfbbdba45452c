"""Every check of the contract, on every vector store that comes with the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from tests.engines.postgres import needs_postgres

import recollect.ports.vectors
from recollect.backends.memory import MemoryVectors
from recollect.testing.contract import clauses_of
from recollect.testing.contract.vectors import VECTOR_CHECKS, VectorCheck, VectorTrial
from recollect.testing.postgres import postgres_vectors_trial


def _memory(request: pytest.FixtureRequest) -> Iterator[VectorTrial]:
    vectors = MemoryVectors()
    yield VectorTrial(vectors, lambda: vectors, lambda: vectors)


def _pgvector(request: pytest.FixtureRequest, *, half: bool = False) -> Iterator[VectorTrial]:
    needs_postgres()
    with postgres_vectors_trial(half=half) as trial:
        yield trial


VECTORS: dict[str, Callable[[pytest.FixtureRequest], Iterator[VectorTrial]]] = {
    "memory": _memory,
    "pgvector": _pgvector,
    "pgvector-half": partial(_pgvector, half=True),
}


@pytest.fixture(params=VECTORS.values(), ids=list(VECTORS))
def trial(request: pytest.FixtureRequest) -> Iterator[VectorTrial]:
    yield from request.param(request)


@pytest.mark.parametrize("check", VECTOR_CHECKS.values(), ids=list(VECTOR_CHECKS))
def test_it_keeps_its_promise(trial: VectorTrial, check: VectorCheck) -> None:
    check(trial)


def test_every_promise_has_a_check_and_every_check_a_promise() -> None:
    cited = {name.split("_")[0].upper() for name in VECTOR_CHECKS}
    assert cited == set(clauses_of(recollect.ports.vectors.__doc__, "V"))
