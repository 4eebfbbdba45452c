"""Qdrant for tests: the client's own imitation of a server, and a real one where there is one."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from qdrant_client import QdrantClient

from recollect.backends.qdrant import QdrantOptions, QdrantVectors
from recollect.backends.qdrant.served import Served

URL, KEY = "RECOLLECT_TEST_QDRANT_URL", "RECOLLECT_TEST_QDRANT_KEY"
SOMEWHERE = QdrantOptions(url="http://127.0.0.1:6333")


class _InTurns:
    """The imitation may be used by one thread at a time; a server by any number."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client
        self._turn = threading.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            with self._turn:
                return method(*arguments, **named)

        return call


@contextmanager
def served_locally() -> Iterator[QdrantVectors]:
    """A vector store on the client's imitation of a server, in memory."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Payload indexes have no effect|Local mode performs exact")
        client = cast("QdrantClient", _InTurns(QdrantClient(":memory:")))
        vectors = QdrantVectors(SOMEWHERE, Served(SOMEWHERE, client))
        yield vectors
        vectors.close()


def server_options() -> QdrantOptions:
    """Where a real server is; without one the test is skipped."""
    if not (url := os.environ.get(URL)):
        pytest.skip(f"no Qdrant server: set {URL} to one that has nothing to lose")
    return QdrantOptions(url=url, key=os.environ.get(KEY, ""))
