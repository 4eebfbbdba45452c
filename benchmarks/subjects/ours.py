"""This store as anybody gets it: encrypted, logged, every acknowledged write on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import recollect
from benchmarks.subjects import Value
from benchmarks.workload import PAGE, Memo, Question
from recollect.service.memories import Memories
from recollect.service.views import PutOp
from recollect.sync import MemoriesSync


def _operations(memos: Sequence[Memo]) -> list[PutOp]:
    return [PutOp(memo.namespace, memo.key, memo.value, policy_attributes=memo.attributes) for memo in memos]


def _values(found: recollect.Found) -> list[Value]:
    return [item.value for item in found if item.value is not None]


class Ours:
    """`recollect.open` and `recollect.open_sync` with default settings."""

    name = "recollect"
    durability = "durable: WAL, FULL; encrypted, with event log"

    def plain(self, folder: Path) -> OursCalled:
        """Open it for plain calls."""
        return OursCalled(recollect.open_sync(folder))

    async def evented(self, folder: Path) -> OursAwaited:
        """Open it for an event loop."""
        return OursAwaited(await recollect.open(folder))


class OursCalled:
    """The synchronous API."""

    def __init__(self, memories: MemoriesSync) -> None:
        self._memories = memories

    def batch(self, memos: Sequence[Memo]) -> Callable[[], object]:
        """A call that puts all of these at once."""
        return lambda: self._memories.batch(_operations(memos))

    def put(self, memo: Memo) -> object:
        """Put one."""
        return self._memories.put(memo.namespace, memo.key, memo.value, policy_attributes=memo.attributes)

    def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        item = self._memories.get(memo.namespace, memo.key)
        return None if item is None else item.value

    def delete(self, memo: Memo) -> object:
        """Delete one."""
        return self._memories.delete(memo.namespace, memo.key)

    def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        return _values(self._memories.search(question.prefix, filter={"topic": question.topic}, limit=PAGE))

    def namespaces(self, limit: int) -> Sequence[tuple[str, ...]]:
        """Every namespace, up to a limit."""
        return self._memories.list_namespaces(limit=limit)

    def close(self) -> None:
        """Let go of everything."""
        self._memories.close()


class OursAwaited:
    """The asynchronous API."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def fill(self, memos: Sequence[Memo]) -> None:
        """Put all of these at once."""
        await self._memories.batch(_operations(memos))

    async def put(self, memo: Memo) -> object:
        """Put one."""
        return await self._memories.put(memo.namespace, memo.key, memo.value, policy_attributes=memo.attributes)

    async def get(self, memo: Memo) -> Value | None:
        """The value of one."""
        item = await self._memories.get(memo.namespace, memo.key)
        return None if item is None else item.value

    async def delete(self, memo: Memo) -> object:
        """Delete one."""
        return await self._memories.delete(memo.namespace, memo.key)

    async def search(self, question: Question) -> list[Value]:
        """The values on the first page of the answer."""
        return _values(await self._memories.search(question.prefix, filter={"topic": question.topic}, limit=PAGE))

    async def close(self) -> None:
        """Let go of everything."""
        await self._memories.close()
