"""The items of a conversation in order, however many append to it at once.

What lies where: a session has a small memory, its head, at `user/<user>/conversations/<session>`, and the items lie one
level below it, in blocks that are numbered from 0 without gaps. The head says how many blocks there are. Keys count
down, so that the newest come first in the order of keys.

Why nothing is lost, doubled or torn: every change writes the head and the blocks in one commit, and expects of the head
the revision that it has read. Of several at once one succeeds, and the others read again and repeat; so all changes of
a session happen one after another. A block that the head does not count was added later, and is left out.

Why a read is one moment of the history: the head is read first, and what it counts is there already. Additions do not
disturb. When something is taken away, the head counts a cut, and what is written from then on carries the new count, so
that a reader sees from the blocks that his head is out of date. Where a block is missing he asks for the head again: if
nothing was cut, it has expired.

Why nothing comes back after `clear`: the blocks lie below the name of an origin, drawn anew with every first item. What
an interrupted `clear` has left behind belongs to an origin that no head names any more; the next `clear` removes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from math import isfinite
from typing import Any
from uuid import uuid4

from recollect_client._blocks import pack, shortened, unpack
from recollect_client._conversations import Call, Conversation, Pause, Told, operations_of
from recollect_client.errors import InvalidExpiry, InvalidNamespace, InvalidQuery, InvalidValue, RevisionConflict

CONVERSATIONS = "conversations"
"""The part of a user's memories where conversations are."""
HEAD = "head"
_LAST = 10**12 - 1
"""The key of block 0; the others count down from it."""
_SEGMENT_BYTES = 256
_PAGE = 100
"""Items that are asked for at once; the most that the service gives over HTTP."""
_OPERATIONS = 1_000
"""Writes that the service takes at once."""
_ATTEMPTS = 200
_CHANGED = frozenset({"revision_conflict", "contention"})
"""Somebody else was first, and nothing was written."""
_ALL = {"archived": "include"}


@dataclass(frozen=True, slots=True)
class Head:
    """How much of a history there is."""

    origin: str
    blocks: int = 0
    cuts: int = 0
    """How often something was taken away."""
    ttl: float | None = None
    """The longest that any of its blocks lives, in seconds; None when one of them lives for good."""
    revision: int = 0
    """That of the memory it was read from; 0 when there was none."""


@dataclass(frozen=True, slots=True)
class History:
    """How the history of one session is kept, as conversations with the memories."""

    operations: Any
    session_id: str
    place: tuple[str, ...]
    ttl: float | None = None
    index_fields: tuple[str, ...] | None = ()

    @staticmethod
    def of(
        memories: Any,
        session_id: str,
        user: str,
        ttl: float | timedelta | None,
        index_fields: Sequence[str] | None,
    ) -> History:
        """The history of a user's session, from what the caller gave."""
        if not all(hasattr(memories, method) for method in ("get", "search", "batch")):
            raise TypeError(f"a history is kept by a client or by opened memories, not by {type(memories).__name__}")
        if not isinstance(user, str) or not user:
            raise InvalidNamespace(f"a user is named by text that is not empty, not {user!r}")
        place = ("user", user, CONVERSATIONS, segment_of(session_id))
        return History(operations_of(memories), session_id, place, _seconds(ttl), _fields(index_fields))

    # -- what callers ask for

    def read(self, limit: int | None = None) -> Conversation[list[Any]]:
        """The newest `limit` items, or all, the oldest first: as they were at one moment."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidQuery(f"limit is a whole number from 0, or None for all, not {limit!r}")
        return self._repeated(lambda: self._read(limit))

    def add(self, items: Sequence[Any]) -> Conversation[None]:
        """Append items: all of them, next to each other and in this order, or none."""
        values = pack(items)
        return self._repeated(lambda: self._add(values))

    def pop(self) -> Conversation[Any]:
        """Take the newest item away, and return it; None when there is none."""
        return self._repeated(self._pop)

    def clear(self) -> Conversation[None]:
        """Take everything away."""
        return self._repeated(self._clear)

    # -- one attempt at it

    def _read(self, limit: int | None) -> Conversation[list[Any]]:
        head = yield from self._head()
        if head is None or limit == 0:
            return []
        newest_first = yield from self._blocks(head, limit)
        items = [item for block in reversed(newest_first) for item in unpack(block.value)]
        return items if limit is None else items[-limit:]

    def _add(self, values: Sequence[dict[str, Any]]) -> Conversation[None]:
        if not values:
            return
        head = yield from self._head()
        if head is None:
            head = Head(uuid4().hex, ttl=self.ttl)
        elif self.ttl is None or head.ttl is None:
            head = replace(head, ttl=None)
        else:
            head = replace(head, ttl=max(head.ttl, self.ttl))
        blocks = [self._block(head, head.blocks + place, value, ttl=self.ttl) for place, value in enumerate(values)]
        yield self._batch([self._put(replace(head, blocks=head.blocks + len(blocks))), *blocks])

    def _pop(self) -> Conversation[Any]:
        head = yield from self._head()
        if head is None:
            return None
        newest = yield from self._blocks(head, 1)
        if not newest:
            return None
        block, number = newest[0], _number(newest[0])
        items = unpack(block.value)
        cut = replace(head, cuts=head.cuts + 1)
        if len(items) == 1:
            steps = [self._put(replace(cut, blocks=number)), self.operations.DeleteOp(block.namespace, block.key)]
        else:
            rest = self._block(cut, number, shortened(block.value), expires_at=block.expires_at)
            steps = [self._put(replace(cut, blocks=number + 1)), rest]
        yield self._batch(steps)
        return items[-1]

    def _clear(self) -> Conversation[None]:
        head = yield from self._head()
        found = yield from self._found()
        blocks = [item for item in found if len(item.namespace) > len(self.place)]
        steps = [self.operations.DeleteOp(block.namespace, block.key) for block in blocks]
        if head is not None:
            steps.insert(0, self.operations.DeleteOp(self.place, HEAD, head.revision))
        elif steps and (yield from self._head()) is not None:
            raise RevisionConflict("a new history began while an old one was cleared away")
        for start in range(0, len(steps), _OPERATIONS):
            yield self._batch(steps[start : start + _OPERATIONS])

    def _repeated(self, attempt: Callable[[], Conversation[Told]]) -> Conversation[Told]:
        """Repeat it for as long as others are quicker; each time one of them got on."""
        for failures in range(1, _ATTEMPTS + 1):
            try:
                return (yield from attempt())
            except Exception as error:
                if getattr(error, "code", None) not in _CHANGED or failures == _ATTEMPTS:
                    raise
            # Rivals that wait for different times get out of each other's way.
            yield Pause(random.uniform(0, min(0.1, 0.001 * 2**failures)))  # noqa: S311 - no secret
        raise AssertionError("unreachable: the last attempt returns or raises")

    # -- heads and blocks

    def _head(self) -> Conversation[Head | None]:
        item = yield Call("get", (self.place, HEAD), _ALL)
        if item is None:
            return None
        try:
            told = item.value
            return Head(told["origin"], told["blocks"], told["cuts"], told["ttl_seconds"], item.revision)
        except (KeyError, TypeError):
            raise InvalidValue(f"what lies at {'/'.join(self.place)} under {HEAD!r} is not a history") from None

    def _blocks(self, head: Head, limit: int | None) -> Conversation[list[Any]]:
        """The blocks with the newest `limit` items, or all, the newest first."""
        found: list[Any] = []
        count, sought, cursor = 0, head.blocks, None
        size = _PAGE if limit is None else min(_PAGE, limit)
        whole = True
        while sought > 0 and (limit is None or count < limit):
            asked = {"order": "key", "limit": size, "cursor": cursor, **_ALL}
            page = yield Call("search", ((*self.place, head.origin),), asked)
            for block in page.items:
                if _number(block) >= head.blocks or (limit is not None and count >= limit):
                    continue
                if block.attributes["cuts"] > head.cuts:
                    raise RevisionConflict("the history was cut while it was read")
                whole = whole and _number(block) == sought - 1
                sought = _number(block)
                found.append(block)
                count += len(unpack(block.value))
            cursor = page.cursor
            if cursor is None:
                break
        if not whole or (sought > 0 and (limit is None or count < limit)):
            yield from self._check_uncut(head)
        return found

    def _check_uncut(self, head: Head) -> Conversation[None]:
        """Something is missing: if nothing was cut, it has expired."""
        now = yield from self._head()
        if now is None or (now.origin, now.cuts) != (head.origin, head.cuts):
            raise RevisionConflict("the history was cut while it was read")

    def _found(self) -> Conversation[list[Any]]:
        """Everything that is kept of the session, of all origins."""
        found: list[Any] = []
        cursor = None
        while True:
            page = yield Call("search", (self.place,), {"order": "key", "limit": _PAGE, "cursor": cursor, **_ALL})
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found

    def _put(self, head: Head) -> Any:
        value = {
            "session_id": self.session_id,
            "origin": head.origin,
            "blocks": head.blocks,
            "cuts": head.cuts,
            "ttl_seconds": head.ttl,
        }
        return self.operations.PutOp(
            self.place, HEAD, value, ttl=head.ttl, index_fields=[], expected_revision=head.revision
        )

    def _block(self, head: Head, number: int, value: dict[str, Any], **lifetime: Any) -> Any:
        fields = self.index_fields
        return self.operations.PutOp(
            (*self.place, head.origin),
            f"{_LAST - number:012}",
            value,
            attributes={"cuts": head.cuts},
            index_fields=None if fields is None else [f"items[*].{field}" for field in fields],
            **lifetime,
        )

    def _batch(self, steps: Sequence[Any]) -> Call:
        return Call("batch", (steps,), {})


def segment_of(session_id: str) -> str:
    """The segment that stands for a session: its id, or a digest of one that cannot be a segment or is long."""
    if not isinstance(session_id, str) or not session_id:
        raise InvalidNamespace(f"a session is named by text that is not empty, not {session_id!r}")
    try:
        encoded = session_id.encode()
    except UnicodeEncodeError:
        encoded = b"\x00"
    if b"\x00" in encoded:
        raise InvalidNamespace("the name of a session has a NUL character or a lone surrogate")
    return (
        session_id
        if len(encoded) <= _SEGMENT_BYTES and session_id[0] not in "~*"
        else f"~{sha256(encoded).hexdigest()}"
    )


def _number(block: Any) -> int:
    return _LAST - int(block.key)


def _seconds(ttl: object) -> float | None:
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not isfinite(seconds) or seconds <= 0:
        raise InvalidExpiry(f"ttl is a number of seconds above 0, or None for no end, not {ttl!r}")
    return float(seconds)


def _fields(fields: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(fields, str) or (fields is not None and any(not isinstance(each, str) for each in fields)):
        raise InvalidQuery(f"index_fields are a list of names of fields, not {fields!r}")
    return None if fields is None else tuple(fields)
