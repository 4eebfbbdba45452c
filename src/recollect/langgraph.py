"""LangGraph stores over a directory or in memory, in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from langgraph.store.base import TTLConfig

from recollect.config import Settings
from recollect.main import open as open_memories
from recollect.main import open_sync
from recollect_client.langgraph import AsyncRecollectStore, RecollectStore

__all__ = ["open_async_store", "open_store"]


@contextmanager
def open_store(
    path: str | Path,
    *,
    root: Sequence[str] = (),
    fields: Sequence[str] | None = None,
    ttl: TTLConfig | None = None,
    settings: Settings | None = None,
) -> Iterator[RecollectStore]:
    """A store over a directory, or over `:memory:`, for as long as the block lasts."""
    with open_sync(path, settings=settings) as memories:
        yield RecollectStore.over(memories, root=root, fields=fields, ttl=ttl)


@asynccontextmanager
async def open_async_store(
    path: str | Path,
    *,
    root: Sequence[str] = (),
    fields: Sequence[str] | None = None,
    ttl: TTLConfig | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[AsyncRecollectStore]:
    """The same for code with an event loop."""
    async with open_memories(path, settings=settings) as memories:
        yield AsyncRecollectStore.over(memories, root=root, fields=fields, ttl=ttl)
