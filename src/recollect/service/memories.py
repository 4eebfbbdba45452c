"""Memories: the namespaced, versioned, encrypted items of one tenant, and the log of what happened to them.

This is the store's own door for code in the same process; every other door calls the same use-cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

from recollect.domain.address import (
    MAX_DEPTH,
    Address,
    checked_key,
    checked_tenant,
    namespace,
    namespace_of_subject,
    scope,
)
from recollect.domain.attributes import encode_attributes
from recollect.domain.commits import Commit, Delete, Operation, Put, checked_actor, checked_revision, idempotency
from recollect.domain.errors import InvalidAttributes, InvalidCommit, InvalidExpiry, InvalidQuery, InvalidSetting
from recollect.domain.filters import parse_filter
from recollect.domain.instants import Instant, checked_expiry, instant_of, later
from recollect.domain.planning import Erasure
from recollect.domain.queries import (
    EventQuery,
    Find,
    NamespaceQuery,
    Order,
    checked_depth,
    checked_limit,
    checked_offset,
    checked_pattern,
    event_cursor,
    fixed_prefix,
    parse_event_cursor,
)
from recollect.domain.reasons import EventKind, Plane
from recollect.domain.retention import Pass, Retention
from recollect.domain.rows import Item
from recollect.domain.text import shown
from recollect.domain.values import encode_value
from recollect.ports.clock import Clock, Ids
from recollect.ports.keys import Keyring, erasure_of
from recollect.ports.store import Progress, Store, Verification
from recollect.service.views import DeleteOp, ErasureReceipt, Events, Found, MemoryEvent, PutOp, Sweep, Written

MAX_WAIT_SECONDS = 60.0
_HEAD = re.compile(r"([0-9]{1,19}):([0-9a-f]{64})")
_ITEMS = frozenset({Plane.ITEM})


class Memories:
    """The memories of one tenant. Get one from `recollect.open`."""

    def __init__(
        self,
        store: Store,
        keyring: Keyring,
        *,
        clock: Clock,
        ids: Ids,
        tenant: str = "default",
        actor: str = "",
        max_depth: int = MAX_DEPTH,
        retention: Retention | None = None,
    ) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock
        self._ids = ids
        self._tenant = checked_tenant(tenant)
        self._actor = checked_actor(actor)
        self._max_depth = max_depth
        self._retention = retention or Retention()

    def for_tenant(self, tenant: str, *, actor: str = "") -> Memories:
        """The memories of another tenant in the same store, or of the same one in somebody else's name."""
        return Memories(
            self._store,
            self._keyring,
            clock=self._clock,
            ids=self._ids,
            tenant=tenant,
            actor=actor,
            max_depth=self._max_depth,
            retention=self._retention,
        )

    # -- writing

    async def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Mapping[str, Any],
        *,
        attributes: Mapping[str, Any] | None = None,
        policy_attributes: Mapping[str, Any] | None = None,
        ttl: float | timedelta | None = None,
        expires_at: datetime | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Remember a value under a key, in place of the one it may have.

        `attributes` are sealed like the value; `policy_attributes` are flat and plain, and what `search`
        filters by. `ttl` is in seconds. `expected_revision` refuses the write unless the key is at that
        revision, 0 meaning absent. With an `idempotency_key`, repeating the call changes nothing.
        """
        operation = PutOp(namespace, key, value, attributes, policy_attributes, ttl, expires_at, expected_revision)
        return (await self.batch((operation,), idempotency_key=idempotency_key))[0]

    async def delete(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a key. Deleting what is not there changes nothing."""
        operation = DeleteOp(namespace, key, expected_revision)
        return (await self.batch((operation,), idempotency_key=idempotency_key))[0]

    async def batch(
        self, operations: Iterable[PutOp | DeleteOp], *, idempotency_key: str | None = None
    ) -> list[Written]:
        """Carry out up to 1,000 operations at once: all of them or none."""
        if not isinstance(operations, Iterable):
            raise InvalidCommit(f"a batch is a list of operations, not {type(operations).__name__}")
        planned = tuple(self._operation(operation) for operation in operations)
        request = None if idempotency_key is None else idempotency(idempotency_key, self._actor, planned)
        receipt = await self._store.commit(Commit(self._tenant, planned, (), self._actor, request))
        return [Written(outcome, receipt.replayed) for outcome in receipt.outcomes]

    def _operation(self, operation: PutOp | DeleteOp) -> Operation:
        if isinstance(operation, PutOp):
            sealed = operation.attributes
            return Put(
                self._address(operation.namespace, operation.key),
                encode_value(operation.value),
                None if sealed is None else encode_value(sealed, "attributes", InvalidAttributes),
                encode_attributes(operation.policy_attributes),
                None if operation.expires_at is None else _moment(operation.expires_at),
                None if operation.ttl is None else later(Instant(0), _seconds(operation.ttl)),
                checked_revision(operation.expected_revision),
            )
        if isinstance(operation, DeleteOp):
            expected = checked_revision(operation.expected_revision)
            return Delete(self._address(operation.namespace, operation.key), expected)
        raise InvalidCommit(f"a batch takes PutOp and DeleteOp, not {type(operation).__name__}")

    # -- reading

    async def get(self, namespace: Sequence[str], key: str, *, as_of: datetime | None = None) -> Item | None:
        """The item under a key, or None. With `as_of`, as it was at that moment, while its history is kept."""
        moment = None if as_of is None else _moment(as_of)
        row = await self._store.get(self._tenant, self._address(namespace, key), as_of=moment)
        return None if row is None else Item(row)

    async def get_by_id(self, item_id: UUID) -> Item | None:
        """The version of an item with this id, live or not; None when there is none in this tenant."""
        if not isinstance(item_id, UUID):
            raise InvalidQuery(f"an id is a UUID, not {type(item_id).__name__}")
        row = await self._store.get_by_id(self._tenant, item_id.bytes)
        return None if row is None or row.address.plane is not Plane.ITEM else Item(row)

    async def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        order: str = Order.NEWEST,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        as_of: datetime | None = None,
    ) -> Found:
        """Items at or below a namespace whose policy attributes match a filter.

        Continue with the `cursor` of the answer; in `key` order, paging meets everything that exists
        throughout exactly once.
        """
        query = Find(
            Plane.ITEM,
            scope(namespace_prefix, self._max_depth),
            parse_filter(filter),
            _order(order),
            checked_limit(limit),
            checked_offset(offset),
            cursor,
            None if as_of is None else _moment(as_of),
        )
        page = await self._store.find(self._tenant, query)
        return Found([Item(row) for row in page.rows], page.cursor)

    async def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """The namespaces that have items, sorted. `*` in prefix or suffix stands for exactly one segment."""
        asked = checked_pattern(prefix, "prefix")
        query = NamespaceQuery(
            Plane.ITEM,
            scope(fixed_prefix(asked)[: self._max_depth], self._max_depth),
            asked,
            checked_pattern(suffix, "suffix"),
            checked_depth(max_depth),
            checked_limit(limit),
            checked_offset(offset),
        )
        return list(await self._store.namespaces(self._tenant, query))

    async def history(
        self, namespace: Sequence[str], key: str, *, limit: int = 100, before_revision: int | None = None
    ) -> list[Item]:
        """Every kept version of a key, newest first, with when and why each ended."""
        address = self._address(namespace, key)
        before = checked_revision(before_revision)
        rows = await self._store.history(self._tenant, address, limit=checked_limit(limit), before=before)
        return [Item(row) for row in rows]

    # -- the log

    async def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        wait: float = 0.0,
    ) -> Events:
        """A page of what happened, in order, after a cursor; from the beginning without one.

        With `wait`, an empty answer is held back until something happens or so many seconds have passed.
        """
        position = (await self._store.head(self._tenant)).trimmed if after is None else parse_event_cursor(after)
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= MAX_WAIT_SECONDS:
            raise InvalidQuery(f"wait is a number of seconds from 0 to {MAX_WAIT_SECONDS:.0f}, not {shown(wait)}")
        query = EventQuery(
            position,
            scope(namespace_prefix, self._max_depth),
            _ITEMS,
            None if kinds is None else _kinds(kinds),
            None if since is None else _moment(since),
            None if until is None else _moment(until),
            checked_limit(limit),
        )
        page = await self._store.events(self._tenant, query)
        if not page.entries and wait and await self._store.wait(self._tenant, page.after, wait):
            page = await self._store.events(self._tenant, query)
        return Events([MemoryEvent(entry) for entry in page.entries], event_cursor(page.after), page.complete)

    async def head(self) -> str:
        """Where the log ends, as text to keep elsewhere: given to `verify` later, it proves nothing was cut off."""
        return (await self._store.head(self._tenant)).text()

    async def verify(self, *, head: str | None = None, progress: Progress | None = None) -> Verification:
        """Check that nothing was altered, removed, swapped or cut off, in the log or in what it tells of."""
        expected = None if head is None else _head(head)
        return await self._store.verify(self._tenant, expected=expected, progress=progress)

    # -- forgetting and keeping

    async def erase(self, subject: str) -> ErasureReceipt:
        """Make everything of a subject (`user:<id>`) unreadable for good, in every version, copy and backup."""
        erasure = Erasure(self._ids(self._clock()), self._tenant, subject, namespace_of_subject(subject), self._actor)
        await self._store.aside(lambda: self._keyring.destroy(erasure))
        erased = await self._store.erase(erasure)
        await self._store.aside(lambda: self._keyring.settle(erasure.id))
        return ErasureReceipt.of(erased)

    async def finish_erasures(self, *, everything: bool = False) -> int:
        """Carry through erasures that a crash interrupted; after a restore, `everything` that was ever erased."""
        gone = await self._store.aside(lambda: self._keyring.destructions(unsettled=not everything))
        for each in gone:
            await self._store.erase(erasure_of(each))
            await self._store.aside(partial(self._keyring.settle, each.id))
        return len(gone)

    async def sweep(self, *, batch: int = 100) -> Sweep:
        """Expire, evict, tombstone, purge and trim what is due, in batches, and say how much."""
        done: Sweep = {}
        for step in Pass:
            done[step] = 0
            more = True
            while more:
                swept = await self._store.sweep(self._tenant, step, self._retention, limit=checked_limit(batch))
                done[step] += swept.done
                more = swept.more
        return done

    async def rotate_keys(self) -> int:
        """Wrap every data key with a new master key; values stay as they are. Returns how many keys changed."""
        return await self._store.aside(self._keyring.rotate)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> None:
        """Write a consistent copy of the data to a new file. Keys are not in it: keep those apart."""
        await self._store.backup(_path(target), progress)

    # -- opening and closing

    async def close(self) -> None:
        """Finish what was acknowledged and close everything."""
        await self._store.close()
        self._keyring.close()

    async def __aenter__(self) -> Memories:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _address(self, segments: Sequence[str], key: str) -> Address:
        return Address(Plane.ITEM, namespace(segments, self._max_depth), checked_key(key))


def _path(target: object) -> Path:
    if not isinstance(target, str | Path) or "\x00" in str(target):
        raise InvalidSetting(f"{shown(target)} is not the path of a file")
    return Path(target)


def _seconds(ttl: object) -> float:
    return ttl.total_seconds() if isinstance(ttl, timedelta) else ttl  # type: ignore[return-value] # checked by later


def _moment(moment: object) -> Instant:
    if not isinstance(moment, datetime):
        raise InvalidExpiry(f"a moment is a datetime with a time zone, not {type(moment).__name__}")
    return checked_expiry(instant_of(moment))


def _order(order: object) -> Order:
    try:
        return Order(order)  # type: ignore[arg-type] # what is no order raises ValueError
    except ValueError:
        raise InvalidQuery(f"{order!r} is not an order; use one of {', '.join(Order)}") from None


def _kinds(kinds: object) -> frozenset[EventKind]:
    if not isinstance(kinds, Iterable):
        raise InvalidQuery(f"kinds are a list of kinds of events, not {type(kinds).__name__}")
    return frozenset(_kind(kind) for kind in kinds)


def _kind(kind: object) -> EventKind:
    try:
        return EventKind(kind)  # type: ignore[arg-type] # what is no kind raises ValueError
    except ValueError:
        raise InvalidQuery(f"{kind!r} is not a kind of event; use one of {', '.join(EventKind)}") from None


def _head(text: str) -> tuple[int, bytes]:
    found = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidQuery("a head is text that `head` gave, like 17:9f86d0…")
    return int(found[1]), bytes.fromhex(found[2])
