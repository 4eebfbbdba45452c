"""What a batch of LangGraph's operations asks of the memories, call by call, with or without an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from recollect_client._conversations import Call, Conversation
from recollect_client.langgraph._filters import check_filter, matches
from recollect_client.langgraph._lifetimes import Newest, expires, kept, prolonged, updated_at
from recollect_client.langgraph._namespaces import check_operation, patterns
from recollect_client.langgraph._paths import index_fields

PAGE = 100
"""Items that are asked for at once; the most that the service gives over HTTP."""
RANKED = 1_000
"""How far down the service ranks what answers a query."""
_OPERATIONS = 1_000
"""Writes that the service takes at once."""
_NAMESPACES = 1_000
_IN_VAIN = frozenset({"forbidden", "revision_conflict"})
"""Why a life may not be prolonged: the caller may only read, or somebody else wrote in the meantime."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a store uses the memories below it."""

    operations: Any
    """The module with the `PutOp` and `DeleteOp` that the memories take."""
    root: tuple[str, ...] = ()
    fields: Sequence[str] | None = None
    wait: float = 10.0

    def batch(self, ops: Sequence[Op]) -> Conversation[list[Result]]:
        """Carry out all operations. Reads see what was there before; of several writes to a key the last holds."""
        for op in ops:
            check_operation(op)
            if isinstance(op, SearchOp) and op.filter:
                check_filter(op.filter)
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        read: dict[tuple[tuple[str, ...], str], Any] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append((yield from self._get(op, read)))
                case SearchOp():
                    results.append((yield from self._search(op, read)))
                case ListNamespacesOp():
                    results.append((yield from self._namespaces(op)))
                case PutOp():
                    puts[self._place(op.namespace), str(op.key)] = op
                    results.append(None)
        if read:
            yield from self._prolong([item for address, item in read.items() if address not in puts])
        if puts:
            yield from self._write(puts)
        return results

    # -- reading

    def _get(self, op: GetOp, read: dict[tuple[tuple[str, ...], str], Any]) -> Conversation[Item | None]:
        if not op.namespace:
            return None  # nothing can be put there
        place, key = self._place(op.namespace), str(op.key)
        item = yield Call("get", (place, key), {})
        if item is None:
            return None
        if op.refresh_ttl and expires(item):
            read[place, key] = item
        return Item(
            namespace=self._stripped(item),
            key=item.key,
            value=item.value,
            created_at=item.created_at,
            updated_at=updated_at(item),
        )

    def _search(self, op: SearchOp, read: dict[tuple[tuple[str, ...], str], Any]) -> Conversation[list[SearchItem]]:
        if op.limit <= 0:
            return []
        query = (op.query or "").strip()
        found = yield from self._ranked(op, query) if query else self._listed(op)
        if op.refresh_ttl:
            read.update({(tuple(item.namespace), item.key): item for item in found if expires(item)})
        return [
            SearchItem(
                namespace=self._stripped(item),
                key=item.key,
                value=item.value,
                created_at=item.created_at,
                updated_at=updated_at(item),
                score=item.score if query else None,
            )
            for item in found
        ]

    def _listed(self, op: SearchOp) -> Conversation[list[Any]]:
        """Items by when they were updated, the last first."""
        found: list[Any] = []
        newest, cursor = Newest(), None
        wanted = op.offset + op.limit
        size = PAGE if op.filter else min(PAGE, wanted)
        while len(found) < wanted:
            page = yield Call("search", (self._place(op.namespace_prefix),), {"limit": size, "cursor": cursor})
            found += self._wanted(newest.offered(page.items), op.filter)
            cursor = page.cursor
            if cursor is None:
                found += self._wanted(newest.rest(), op.filter)
                break
        return found[op.offset : wanted]

    def _ranked(self, op: SearchOp, query: str) -> Conversation[list[Any]]:
        """Items by how well they answer a query, the best first."""
        found: dict[Any, Any] = {}
        # Without a filter, what is skipped need not be looked at.
        at, skipped = (0, op.offset) if op.filter or self.root else (op.offset, 0)
        wait = self.wait
        while len(found) < skipped + op.limit and at < RANKED:
            size = min(PAGE, RANKED - at) if op.filter else min(PAGE, RANKED - at, skipped + op.limit - len(found))
            asked = {"query": query, "wait": wait, "limit": size, "offset": at}
            page = yield Call("search", (self._place(op.namespace_prefix),), asked)
            for item in self._wanted(page.items, op.filter):
                found.setdefault(item.id, item)
            if len(page.items) < size:
                break
            at, wait = at + size, 0.0
        return list(found.values())[skipped : skipped + op.limit]

    def _wanted(self, items: Iterable[Any], conditions: Mapping[str, Any] | None) -> Iterator[Any]:
        depth = len(self.root)
        for item in items:
            if len(item.namespace) > depth and (not conditions or matches(item.value, conditions)):
                yield item

    def _namespaces(self, op: ListNamespacesOp) -> Conversation[list[tuple[str, ...]]]:
        sought = patterns(op.match_conditions or (), self.root)
        if sought is None:
            return []
        depth = None if op.max_depth is None else op.max_depth + len(self.root)
        found: list[tuple[str, ...]] = []
        while len(found) < op.limit:
            size = min(_NAMESPACES, op.limit - len(found))
            named = {"prefix": sought.prefix, "suffix": sought.suffix, "max_depth": depth}
            page = yield Call("list_namespaces", (), named | {"limit": size, "offset": op.offset + len(found)})
            found += [tuple(each[len(self.root) :]) for each in page]
            if len(page) < size:
                break
        return found

    # -- writing

    def _write(self, puts: Mapping[tuple[tuple[str, ...], str], PutOp]) -> Conversation[None]:
        steps = [self._step(place, key, op) for (place, key), op in puts.items()]
        for start in range(0, len(steps), _OPERATIONS):
            yield Call("batch", (steps[start : start + _OPERATIONS],), {})

    def _step(self, place: tuple[str, ...], key: str, op: PutOp) -> Any:
        if op.value is None:
            return self.operations.DeleteOp(place, key)
        value = dict(op.value)
        fields = index_fields(op.index, self.fields, value)
        ttl = None if op.ttl is None else op.ttl * 60
        return self.operations.PutOp(place, key, value, attributes=kept(op.ttl, fields), ttl=ttl, index_fields=fields)

    def _prolong(self, items: Sequence[Any]) -> Conversation[None]:
        """Let what was read live as long again; all at once, or one by one where somebody came in between."""
        writes = [self.operations.PutOp(**write) for item in items if (write := prolonged(item)) is not None]
        for start in range(0, len(writes), _OPERATIONS):
            part = writes[start : start + _OPERATIONS]
            if not (yield from self._tried(part)) and len(part) > 1:
                for write in part:
                    yield from self._tried([write])

    def _tried(self, writes: Sequence[Any]) -> Conversation[bool]:
        try:
            yield Call("batch", (writes,), {})
        except Exception as error:
            if getattr(error, "code", None) not in _IN_VAIN:
                raise
            return False
        return True

    def _place(self, namespace: Sequence[str]) -> tuple[str, ...]:
        return (*self.root, *namespace)

    def _stripped(self, item: Any) -> tuple[str, ...]:
        return tuple(item.namespace)[len(self.root) :] if self.root else tuple(item.namespace)
