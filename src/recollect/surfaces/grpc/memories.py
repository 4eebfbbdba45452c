"""The calls of the gRPC door: each handler reads its message, calls one use-case and tells what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from google.protobuf.empty_pb2 import Empty

from recollect.domain.callers import Action
from recollect.domain.errors import InvalidFilter, InvalidRequest, NotFound
from recollect.domain.queries import Archived, Order, checked_limit
from recollect.domain.ranking import Mode
from recollect.service.reading import MAX_WAIT_SECONDS
from recollect.service.views import Events, Written
from recollect.surfaces.grpc import telling
from recollect.surfaces.grpc.calls import Call, Rpc
from recollect.surfaces.grpc.structs import moment_of, value_of
from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.surfaces.service import LONG_SECONDS
from recollect.wire.requests import MAX_EVENTS, MAX_SEARCH, Putting, put_of

MAX_NAMESPACES = 1_000
_REPLAYED = ("idempotency-replayed", "true")
_ARCHIVED = {0: Archived.EXCLUDE, 1: Archived.EXCLUDE, 2: Archived.INCLUDE, 3: Archived.ONLY}


async def put_memory(call: Call, request: pb.PutMemoryRequest) -> pb.MemoryWriteResult:
    """Remember a value under a key."""
    value, wait = value_of(request, "value"), _given(request, "wait")
    if value is None:
        raise InvalidRequest("the value is missing; send value, or value_json")
    operation = put_of(
        Putting(
            namespace=list(request.namespace),
            key=request.key,
            value=value,
            attributes=value_of(request, "attributes"),
            ttl_seconds=_given(request, "ttl_seconds"),
            expires_at=_given(request, "expires_at"),
            index_fields=list(request.index_fields) or None,
            index_disabled=request.index_disabled,
            expected_revision=_given(request, "expected_revision"),
        )
    )
    call.may_wait(MAX_WAIT_SECONDS if wait else 0)
    done = (await call.use.batch((operation,), idempotency_key=call.idempotency_key, wait=wait))[0]
    return telling.written(request, _noted(call, done))


async def get_memory(call: Call, request: pb.GetMemoryRequest) -> pb.MemoryItem:
    """The item under a key."""
    found = await call.reading(request).get(
        list(request.namespace), request.key, as_of=moment_of(request, "as_of"), archived=_archived(request)
    )
    if found is None:
        raise NotFound("memory not found")
    return telling.item(found, as_json=request.json_values)


async def update_memory(call: Call, request: pb.UpdateMemoryRequest) -> pb.MemoryWriteResult:
    """Archive an item, or bring it back."""
    if not request.HasField("archived"):
        raise InvalidRequest("archived is missing: true sets the item aside, false brings it back")
    done = await call.use.archive(
        list(request.namespace),
        request.key,
        archived=request.archived,
        expected_revision=_given(request, "expected_revision"),
        idempotency_key=call.idempotency_key,
    )
    return telling.archived(request, _noted(call, done))


async def delete_memory(call: Call, request: pb.DeleteMemoryRequest) -> Empty:
    """Delete a key."""
    done = await call.use.delete(
        list(request.namespace),
        request.key,
        expected_revision=_given(request, "expected_revision"),
        idempotency_key=call.idempotency_key,
    )
    _noted(call, done)
    return Empty()


async def search_memories(call: Call, request: pb.SearchMemoriesRequest) -> pb.SearchMemoriesResponse:
    """Items below a namespace that match a filter, or answer a query."""
    wait = _given(request, "wait_seconds")
    call.may_wait(min(max(wait or 0, 0), MAX_WAIT_SECONDS))
    found = await call.reading(request).search(
        list(request.namespace_prefix),
        filter=value_of(request, "filter", InvalidFilter),
        query=_query(request),
        mode=_given(request, "mode", Mode.HYBRID),
        min_score=_given(request, "min_score"),
        explain=request.explain,
        wait=wait,
        order=_given(request, "order", Order.NEWEST),
        limit=checked_limit(_given(request, "limit", 10), MAX_SEARCH),
        offset=_given(request, "offset", 0),
        cursor=_given(request, "cursor"),
        as_of=moment_of(request, "as_of"),
        archived=_archived(request),
    )
    return telling.found(found, request)


async def list_namespaces(call: Call, request: pb.ListMemoryNamespacesRequest) -> pb.ListMemoryNamespacesResponse:
    """The namespaces that have items."""
    found = await call.reading(request).list_namespaces(
        prefix=list(request.prefix),
        suffix=list(request.suffix),
        max_depth=_given(request, "max_depth"),
        limit=_given(request, "limit", MAX_NAMESPACES),
        offset=_given(request, "offset", 0),
        archived=_archived(request),
    )
    return pb.ListMemoryNamespacesResponse(namespaces=[pb.MemoryNamespace(segments=each) for each in found])


async def list_events(call: Call, request: pb.ListMemoryEventsRequest) -> pb.ListMemoryEventsResponse:
    """A page of the log, at once or after a wait."""
    limit = checked_limit(_given(request, "limit", 50), MAX_EVENTS)
    memories, wait = call.reading(request), _given(request, "wait_seconds", 0.0)

    async def page(seconds: float) -> Events:
        return await memories.events(
            list(request.namespace),
            after=_given(request, "after_cursor"),
            kinds=list(request.kinds) or None,
            since=moment_of(request, "after"),
            until=moment_of(request, "before"),
            limit=limit,
            wait=seconds,
        )

    if not wait:
        return telling.events(await page(wait), as_json=request.json_values)
    waiting, closing = asyncio.ensure_future(page(wait)), asyncio.ensure_future(call.service.closing.wait())
    try:
        await asyncio.wait((waiting, closing), return_when=asyncio.FIRST_COMPLETED)
        news = waiting.result() if waiting.done() else None
    finally:
        for each in (waiting, closing):
            each.cancel()
        await asyncio.gather(waiting, closing, return_exceptions=True)
    await call.again()
    return telling.events(news if news is not None else await page(0.0), as_json=request.json_values)


async def index_status(call: Call, _request: Empty) -> pb.MemoryIndexStatusResponse:
    """What is indexed, and what is still to be done."""
    found = await call.use.index_status()
    return pb.MemoryIndexStatusResponse(
        pending=found.pending, failed=found.failed, indexed=found.indexed, model=found.model
    )


RPCS = (
    Rpc("PutMemory", pb.PutMemoryRequest, put_memory, Action.WRITE),
    Rpc("GetMemory", pb.GetMemoryRequest, get_memory, Action.READ),
    Rpc("UpdateMemory", pb.UpdateMemoryRequest, update_memory, Action.WRITE),
    Rpc("DeleteMemory", pb.DeleteMemoryRequest, delete_memory, Action.DELETE),
    Rpc("SearchMemories", pb.SearchMemoriesRequest, search_memories, Action.READ),
    Rpc("ListMemoryNamespaces", pb.ListMemoryNamespacesRequest, list_namespaces, Action.READ),
    Rpc("ListMemoryEvents", pb.ListMemoryEventsRequest, list_events, Action.READ, LONG_SECONDS),
    Rpc("GetMemoryIndexStatus", Empty, index_status, Action.SHOW_INDEX),
)
"""Every call, with what scopes and roles must cover; a test compares it with the contract."""


def _given(request: Any, name: str, default: Any = None) -> Any:
    """What an optional field says; the default when it is not there."""
    return getattr(request, name) if request.HasField(name) else default


def _archived(request: Any) -> str:
    """How to treat archived items; a number that means nothing is left for the use-case to refuse."""
    return _ARCHIVED.get(request.archived, str(request.archived))


def _query(request: pb.SearchMemoriesRequest) -> str | list[str] | None:
    if not request.queries:
        return _given(request, "query")  # type: ignore[no-any-return] # the field is text
    if request.HasField("query"):
        raise InvalidRequest("give query, or queries, not both")
    return [each.text for each in request.queries]


def _noted(call: Call, done: Written) -> Written:
    """What was done; that it had been done before is told beside the answer."""
    if done.replayed:
        call.trailing.append(_REPLAYED)
    return done
