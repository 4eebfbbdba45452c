"""The vector stores that searches are tried with: each gives the settings that name a fresh one of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.engines.postgres import fresh_database
from tests.search.plain import SETTINGS

from recollect.backends.memory import MemoryVectors
from recollect.config import Secret, Settings

ALWAYS = replace(SETTINGS, vectors_exact=0)
"""Everything is searched in the vector store, however little there is."""


def _memory(request: pytest.FixtureRequest) -> Iterator[Settings]:
    kept = MemoryVectors()
    kept.close = lambda: None  # type: ignore[method-assign] # it outlives who opened it, as a server would
    with patch("recollect.main._vectors", lambda settings: None if settings.vectors is None else kept):
        yield replace(ALWAYS, vectors=Secret("qdrant:///nowhere"))


def _qdrant(request: pytest.FixtureRequest) -> Iterator[Settings]:
    folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("qdrant")
    yield replace(ALWAYS, vectors=Secret(f"qdrant://{folder}"))


def _pgvector(request: pytest.FixtureRequest) -> Iterator[Settings]:
    with fresh_database() as url:
        yield replace(ALWAYS, vectors=Secret(url))


PLACES: dict[str, Callable[[pytest.FixtureRequest], Iterator[Settings]]] = {
    "memory": _memory,
    "pgvector": _pgvector,
    "qdrant": _qdrant,
}
