"""How long items live, and what a read that prolongs a life must leave as it was.

The service knows when an item expires, but not that reading it puts this off. So the store writes an item again when it
is read, with the same value, and keeps beside it what LangGraph is to see unchanged: when it was last updated.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_NAME = "langgraph"


def kept(minutes: float | None, fields: Sequence[str] | None, updated_at: datetime | None = None) -> Any:
    """What is kept beside an item that expires, as attributes; None for one that does not."""
    if minutes is None:
        return None
    told = {"ttl_minutes": float(minutes), "index_fields": fields}
    return {_NAME: told if updated_at is None else told | {"updated_at": updated_at.isoformat()}}


def prolonged(item: Any) -> dict[str, Any] | None:
    """The write that lets an item live as long again from now on; None for one that does not expire by our doing."""
    told = _told(item)
    minutes = told.get("ttl_minutes")
    if not isinstance(minutes, int | float) or item.expires_at is None:
        return None
    fields = told.get("index_fields")
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "attributes": kept(minutes, fields, updated_at(item)),
        "ttl": minutes * 60,
        "index_fields": fields,
        "expected_revision": item.revision,
    }


def expires(item: Any) -> bool:
    """True for an item that does not live for ever."""
    return item.expires_at is not None


def updated_at(item: Any) -> datetime:
    """When somebody last gave an item a value, reads that prolonged its life left out."""
    told = None if item.attributes is None else _told(item).get("updated_at")
    found: datetime = datetime.fromisoformat(told) if isinstance(told, str) else item.updated_at
    return found


def _told(item: Any) -> dict[str, Any]:
    told = (item.attributes or {}).get(_NAME)
    return told if isinstance(told, dict) else {}


@dataclass(slots=True)
class Newest:
    """Puts items that come in the order of their writes into the order of their updates.

    An item that was prolonged comes too early, never too late; it is held back until its time has come.
    """

    _held: list[tuple[float, int, Any]] = field(default_factory=list)
    _count: int = 0

    def offered(self, items: Iterable[Any]) -> Iterator[Any]:
        """Those whose turn it is, now that these have come."""
        for item in items:
            if item.attributes is None and not self._held:
                yield item  # never prolonged, and nobody waits for it
                continue
            written, updated = item.updated_at, updated_at(item)
            yield from self._due(written.timestamp())
            if updated < written:
                self._count += 1
                heapq.heappush(self._held, (-updated.timestamp(), self._count, item))
            else:
                yield item

    def rest(self) -> Iterator[Any]:
        """Those that are still held back, when no more come."""
        yield from self._due(float("-inf"))

    def _due(self, moment: float) -> Iterator[Any]:
        while self._held and -self._held[0][0] >= moment:
            yield heapq.heappop(self._held)[2]
