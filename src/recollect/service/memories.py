"""Memories: the namespaced, versioned, encrypted items of one tenant, and the log of what happened to them.

This is the store's own door for code in the same process; every other door calls the same use-cases.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar
from uuid import UUID

from recollect.domain.address import (
    DEPTH_CEILING,
    Address,
    Namespace,
    checked_key,
    checked_tenant,
    namespace,
    scope,
)
from recollect.domain.attributes import encode_attributes
from recollect.domain.callers import LOCAL, SYSTEM_TENANT, Action, Caller, Scope, local_caller, new_caller
from recollect.domain.commits import (
    Commit,
    Delete,
    Operation,
    Put,
    Receipt,
    checked_actor,
    checked_revision,
    idempotency,
)
from recollect.domain.errors import (
    Contention,
    Forbidden,
    InvalidAttributes,
    InvalidCommit,
    InvalidQuery,
    InvalidTenant,
)
from recollect.domain.filters import parse_filter
from recollect.domain.indexable import wants_index
from recollect.domain.instants import Instant, later
from recollect.domain.queries import (
    Archived,
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
    parse_find_cursor,
    shows,
)
from recollect.domain.ranking import Mode
from recollect.domain.reasons import Plane
from recollect.domain.rows import Item
from recollect.domain.values import encode_value
from recollect.service import archiving
from recollect.service.administration import Administration
from recollect.service.audit import Audited, Justification, checked_justification
from recollect.service.conversation.contexts import ConversationContexts
from recollect.service.conversation.conversations import Conversations
from recollect.service.guard import Ruling
from recollect.service.hands import Hands
from recollect.service.looking import look_for, read_look
from recollect.service.measuring.measures import Measuring
from recollect.service.pipeline.consenting import Consenting
from recollect.service.pipeline.reviewing import Reviewing
from recollect.service.pipeline.watching import Watching
from recollect.service.reading import (
    MAX_WAIT_SECONDS,
    read_archived,
    read_fields,
    read_kinds,
    read_moment,
    read_optional_moment,
    read_order,
    read_seconds,
    read_wait,
    read_waiting,
)
from recollect.service.telling.comparing import Comparing
from recollect.service.telling.traces import Tracing
from recollect.service.telling.why import Explaining
from recollect.service.views import DeleteOp, Events, Found, MemoryEvent, PutOp, Written
from recollect.service.waiting import events_within
from recollect.service.workings import Workings

Result = TypeVar("Result")
_ITEMS = frozenset({Plane.ITEM})
_MOST_CHANGES = 8
"""How often a write is decided anew because the policy changed under it."""


class Memories(
    Hands,
    Conversations,
    ConversationContexts,
    Comparing,
    Explaining,
    Tracing,
    Reviewing,
    Consenting,
    Watching,
    Measuring,
    Administration,
):
    """The memories of one tenant, in the name of one caller. Get one from `recollect.open`."""

    def __init__(self, workings: Workings, caller: Caller, justification: Justification | None = None) -> None:
        super().__init__(workings, caller)
        self._justification = justification

    def for_tenant(self, tenant: str, *, actor: str = "") -> Memories:
        """The memories of another tenant in the same store, or of the same one in somebody else's name."""
        if tenant == SYSTEM_TENANT:
            raise InvalidTenant(f"the tenant {SYSTEM_TENANT} belongs to the service itself")
        return Memories(self._workings, local_caller(checked_tenant(tenant), checked_actor(actor)))

    def for_caller(self, caller: Caller) -> Memories:
        """The same memories as this caller may see and change them; made from a credential at the door."""
        return Memories(self._workings, caller)

    def justified(self, why: str, *, as_user_id: str | None = None) -> Memories:
        """The same memories for an administrator who says why; every read is written down with it.

        With `as_user_id`, as that user would see them: without any roles, and to read only.
        """
        self._guard.permit(self._caller, Action.JUSTIFY)
        caller = self._caller
        if as_user_id is not None:
            caller = new_caller(self._tenant, as_user_id, caller.client_id, (), (Scope.READ,), None, caller.credential)
        return Memories(self._workings, caller, Justification(checked_justification(why), self._caller))

    @property
    def _in_own_name(self) -> bool:
        return self._justification is None

    async def whoami(self) -> Caller:
        """In whose name this is."""
        return self._caller

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
        index_fields: Sequence[str] | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> Written:
        """Remember a value under a key, in place of the one it may have.

        `attributes` are sealed like the value; `policy_attributes` are flat and plain, and what `search`
        filters by. `ttl` is in seconds. `index_fields` are the paths of the fields that a query can find, like
        `text` or `notes[*].text`; an empty list stands for none. `expected_revision` refuses the write unless the key
        is at that revision, 0 meaning absent. With an `idempotency_key`, repeating the call changes nothing. With
        `wait="indexed"`, it returns once queries find it.
        """
        operation = PutOp(
            namespace, key, value, attributes, policy_attributes, ttl, expires_at, expected_revision, index_fields
        )
        return (await self.batch((operation,), idempotency_key=idempotency_key, wait=wait))[0]

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
        self,
        operations: Iterable[PutOp | DeleteOp],
        *,
        idempotency_key: str | None = None,
        wait: str | None = None,
    ) -> list[Written]:
        """Carry out up to 1,000 operations at once: all of them or none; with `wait="indexed"`, and index them."""
        if not isinstance(operations, Iterable):
            raise InvalidCommit(f"a batch is a list of operations, not {type(operations).__name__}")
        wished = operations if isinstance(operations, tuple) else tuple(operations)
        if not wished:
            raise InvalidCommit("a batch needs at least one operation")

        async def commit(ruling: Ruling) -> Receipt:
            planned = tuple([await self._operation(ruling, operation) for operation in wished])
            request = None if idempotency_key is None else idempotency(idempotency_key, self._actor, planned)
            return await self._store.commit(Commit(self._tenant, planned, ruling.conditions, self._actor, request))

        waits = read_waiting(wait)
        receipt = await self._decided(commit)
        self._workings.indexing.stir()
        indexed = None
        if waits:
            ids = [outcome.id for outcome in receipt.outcomes if outcome.id is not None]
            indexed = await self._workings.indexing.settle(self._tenant, MAX_WAIT_SECONDS, ids)
        return [Written(outcome, receipt.replayed, indexed) for outcome in receipt.outcomes]

    async def _decided(self, work: Callable[[Ruling], Awaitable[Result]]) -> Result:
        """Decide and write; again from the start if the policy changed before what it decided was written."""
        for _ in range(_MOST_CHANGES):
            ruling = await self._guard.begin(self._caller)
            try:
                return await work(ruling)
            except Contention:
                continue
        return await work(await self._guard.begin(self._caller))

    async def _operation(self, ruling: Ruling, operation: PutOp | DeleteOp) -> Operation:
        if isinstance(operation, PutOp):
            address = self._address(operation.namespace, operation.key)
            segments, value, sealed = address.namespace.segments, operation.value, operation.attributes
            await ruling.allow(Action.WRITE, segments, operation.key, value)
            encoded = encode_value(value)
            attributes = None if sealed is None else encode_value(sealed, "attributes", InvalidAttributes)
            given, fields = operation.policy_attributes, read_fields(operation.index_fields)
            plain = await ruling.extract(segments, operation.key, value, sealed, given)
            return Put(
                address,
                encoded,
                attributes,
                encode_attributes(plain),
                read_optional_moment(operation.expires_at),
                None if operation.ttl is None else later(Instant(0), read_seconds(operation.ttl)),
                checked_revision(operation.expected_revision),
                index=wants_index(fields),
                index_fields=fields,
            )
        if isinstance(operation, DeleteOp):
            address = self._address(operation.namespace, operation.key)
            await ruling.allow(Action.DELETE, address.namespace.segments, operation.key)
            return Delete(address, checked_revision(operation.expected_revision))
        raise InvalidCommit(f"a batch takes PutOp and DeleteOp, not {type(operation).__name__}")

    async def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Set an item aside, or bring it back: it keeps its value, but is found only when asked for."""
        address = self._address(namespace, key)
        expected = checked_revision(expected_revision)
        wish = archiving.Wish(self._tenant, self._actor, address, archived, expected, idempotency_key)

        async def write(ruling: Ruling) -> Written:
            await ruling.allow(Action.WRITE, address.namespace.segments, key)
            if not isinstance(archived, bool):
                raise InvalidQuery("archived is true or false")
            return await archiving.archive(self._store, wish, ruling)

        return await self._decided(write)

    # -- reading

    async def get(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        as_of: datetime | None = None,
        archived: str = Archived.EXCLUDE,
        include_usage: bool = False,
    ) -> Item | None:
        """The item under a key, or None. With `as_of`, as it was at that moment, while its history is kept.

        It counts as a load of the item, unless it is a look at the past or is justified. With `include_usage`, the
        item says how often it was loaded before.
        """
        address = self._address(namespace, key)
        place = address.namespace.segments
        await self._justify("get", place, key)
        ruling, row = await self._guard.begin_with(self._caller, address, self._store)
        await ruling.allow(Action.READ, place, key)
        wanted = Archived.EXCLUDE if archived is Archived.EXCLUDE else read_archived(archived)
        if as_of is not None:
            row = await self._store.get(self._tenant, address, as_of=read_moment(as_of))
        if row is None or not shows(wanted, archived=row.archived):
            return None
        item = Item(row)
        if include_usage:
            await self._workings.usage.show((item,))
        if as_of is None and self._justification is None:
            self._workings.usage.load(row, self._workings.clock())
        return item

    async def get_by_id(self, item_id: UUID) -> Item | None:
        """The version of an item with this id, live or not; None when there is none that the caller may read."""
        if not isinstance(item_id, UUID):
            raise InvalidQuery(f"an id is a UUID, not {type(item_id).__name__}")
        self._guard.permit(self._caller, Action.READ)
        row = await self._store.get_by_id(self._tenant, item_id.bytes)
        if row is None or row.address.plane is not Plane.ITEM:
            return None
        try:
            ruling = await self._reading("get_by_id", row.address.namespace.segments, row.address.key)
            await ruling.allow(Action.READ, row.address.namespace.segments, row.address.key)
        except Forbidden:
            return None  # "not yours" looks like "not there": an id tells nothing of whose it is
        return Item(row)

    async def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        query: str | Sequence[str] | None = None,
        mode: str = Mode.HYBRID,
        min_score: float | None = None,
        explain: bool = False,
        wait: float | None = None,
        order: str = Order.NEWEST,
        limit: int = 10,
        offset: int = 0,
        cursor: str | None = None,
        as_of: datetime | None = None,
        archived: str = Archived.EXCLUDE,
        include_usage: bool = False,
    ) -> Found:
        """Items at or below a namespace whose policy attributes match a filter; with a `query`, those that answer it.

        Without a query, continue with the `cursor` of the answer; in `key` order, paging meets everything that exists
        throughout exactly once. With one, the best come first: by words and by meaning, or by one of them (`mode`).
        Several queries are put together by their ranks. `explain` says what each arm found. With `wait`, so many
        seconds are given to what was written before to be indexed; in process, where nobody else indexes, all of it is
        indexed first unless `wait` says otherwise. A search is no load; with `include_usage`, items say how often they
        were loaded.
        """
        within = scope(namespace_prefix, self._rules.max_depth)
        view = await (await self._reading("search", within.segments)).view(within.segments, filter)
        if query is not None:
            if cursor is not None or as_of is not None or read_order(order) is not Order.NEWEST:
                raise InvalidQuery("cursor, as_of and order are for searches without a query; use offset and limit")
            look = read_look(query, mode, min_score, explain, limit, offset, archived)
            seconds = None if wait is None else read_wait(wait)
            if view is None:
                return Found([], None)
            place = self._scope(view.prefix, within)
            found = await look_for(self._workings, self._tenant, place, view, look, seconds)
            await self._workings.usage.show(found if include_usage else ())
            return found
        if mode != Mode.HYBRID or min_score is not None or explain is not False or wait is not None:
            raise InvalidQuery("mode, min_score, explain and wait go with a query: say what to look for")
        wish = Find(
            Plane.ITEM,
            within if view is None else self._scope(view.prefix, within),
            parse_filter(None) if view is None else view.filter,
            read_order(order),
            checked_limit(limit),
            checked_offset(offset),
            cursor,
            read_optional_moment(as_of),
            read_archived(archived),
        )
        if view is None:
            if cursor is not None:
                parse_find_cursor(cursor, wish.order)
            return Found([], None)
        page = await self._store.find(self._tenant, wish)
        found = Found([Item(row) for row in page.rows], page.cursor)
        await self._workings.usage.show(found if include_usage else ())
        return found

    async def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
        archived: str = Archived.EXCLUDE,
    ) -> list[tuple[str, ...]]:
        """The namespaces that have items, sorted. `*` in prefix or suffix stands for exactly one segment."""
        asked = checked_pattern(prefix, "prefix")
        within = scope(fixed_prefix(asked)[: self._rules.max_depth], self._rules.max_depth)
        view = await (await self._reading("list_namespaces", within.segments)).view(within.segments, None)
        query = NamespaceQuery(
            Plane.ITEM,
            within if view is None else self._scope(view.prefix, within),
            asked,
            checked_pattern(suffix, "suffix"),
            checked_depth(max_depth),
            checked_limit(limit),
            checked_offset(offset),
            filter=parse_filter(None) if view is None else view.filter,
            archived=read_archived(archived),
        )
        return [] if view is None else list(await self._store.namespaces(self._tenant, query))

    async def history(
        self, namespace: Sequence[str], key: str, *, limit: int = 100, before_revision: int | None = None
    ) -> list[Item]:
        """Every kept version of a key, newest first, with when and why each ended."""
        address = self._address(namespace, key)
        ruling = await self._reading("history", address.namespace.segments, key)
        await ruling.allow(Action.READ, address.namespace.segments, key)
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
        within = scope(namespace_prefix, self._rules.max_depth)
        view = await (await self._reading("events", within.segments)).view(within.segments, None)
        position = (await self._store.head(self._tenant)).trimmed if after is None else parse_event_cursor(after)
        seconds, wanted = read_wait(wait), read_kinds(kinds)
        query = EventQuery(
            position,
            within if view is None else self._scope(view.prefix, within),
            _ITEMS,
            wanted if view is not None else frozenset(),
            read_optional_moment(since),
            read_optional_moment(until),
            checked_limit(limit),
            filter=parse_filter(None) if view is None else view.filter,
        )
        page = await events_within(self._store, self._tenant, query, seconds)
        return Events([MemoryEvent(entry) for entry in page.entries], event_cursor(page.after), page.complete)

    # -- opening and closing

    async def close(self) -> None:
        """Finish what was acknowledged and close everything."""
        await self._workings.close()

    async def __aenter__(self) -> Memories:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _reading(self, call: str, place: Sequence[str], key: str = "") -> Ruling:
        """What decides about a read, once it is written down where it has to be."""
        await self._justify(call, place, key)
        return await self._guard.begin(self._caller)

    async def _justify(self, call: str, place: Sequence[str], key: str = "") -> None:
        """A read that must be justified, or is, is written down before anything is shown."""
        justification = self._justification
        if justification is not None:
            details = {"call": call, "namespace": list(place), "key": key, "as_user_id": self._caller.user_id}
            by, why = justification.by, justification.why
            await self._workings.audit.record(by, Audited.JUSTIFIED_READ, details, why)
        elif self._rules.require_justification and self._must_justify(place):
            raise Forbidden("access denied", reason="say why you read what is not yours: X-Justification")

    def _must_justify(self, place: Sequence[str]) -> bool:
        caller = self._caller
        return caller.is_admin and caller.credential != LOCAL and tuple(place[:2]) != ("user", caller.user_id)

    def _address(self, segments: Sequence[str], key: str) -> Address:
        return Address(Plane.ITEM, namespace(segments, self._rules.max_depth), checked_key(key))

    def _scope(self, prefix: tuple[str, ...], within: Namespace) -> Namespace:
        """The narrowed scope; what a policy says may be deeper than callers may ask for."""
        return within if prefix == within.segments else scope(prefix, DEPTH_CEILING)
