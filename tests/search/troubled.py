"""Embedders in trouble: ones that refuse a text, fail over a text, or are down; and memories that use them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

from tests.search.plain import SETTINGS

import recollect
from recollect import Memories
from recollect.backends.embedding import HashingEmbedder
from recollect.domain.errors import EmbedderTrouble, TextRefused
from recollect.main import system_clock
from recollect.ports.clock import Clock
from recollect.ports.embedder import Embedder, Purpose, Vectors

REFUSED, FAILING = "nitroglycerine", "chlorate"
"""Words whose texts the model refuses, and over whose texts it fails."""


class Troubled(HashingEmbedder):
    """Hashes, unless a text has one of the words, or it is down."""

    def __init__(self, dimension: int = 256) -> None:
        super().__init__(dimension)
        self.down = False
        self.cured = False
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        self.asked.append(list(texts))
        if self.down:
            raise EmbedderTrouble("the embedder is down")
        if not self.cured:
            for index, text in enumerate(texts):
                if REFUSED in text:
                    raise TextRefused("the model refuses it", index=index)
                if FAILING in text:
                    raise EmbedderTrouble("the model failed over it")
        return super().embed(texts, purpose)


@asynccontextmanager
async def with_embedder(path: str | Path, embedder: Embedder, clock: Clock = system_clock) -> AsyncIterator[Memories]:
    """Memories whose configured embedder is this one."""
    with patch("recollect.main.embedder_of", lambda _: embedder):
        async with recollect.open(path, settings=SETTINGS, clock=clock) as memories:
            yield memories
