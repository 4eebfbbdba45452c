"""Answers at the gRPC door: what the use-cases return, as messages."""

from __future__ import annotations

from typing import Any

from recollect.domain.instants import datetime_of
from recollect.domain.rows import Item
from recollect.service.views import Events, Found, MemoryEvent, Written
from recollect.surfaces.grpc.structs import fill, tell_moment, tell_value
from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.wire.answers import rfc3339


def written(request: pb.PutMemoryRequest, done: Written) -> pb.MemoryWriteResult:
    """The confirmation of a put, with the attributes in the form in which they were sent."""
    told = _written(request.namespace, request.key, done, archived=False)
    if request.HasField("attributes"):
        told.attributes.CopyFrom(request.attributes)
    elif request.HasField("attributes_json"):
        told.attributes_json = request.attributes_json
    return told


def archived(request: pb.UpdateMemoryRequest, done: Written) -> pb.MemoryWriteResult:
    """The confirmation that an item was set aside or brought back."""
    return _written(request.namespace, request.key, done, archived=request.archived)


def _written(namespace: Any, key: str, done: Written, *, archived: bool) -> pb.MemoryWriteResult:
    return pb.MemoryWriteResult(
        id=done.outcome.id or b"",
        namespace=namespace,
        key=key,
        created_at=rfc3339(done.created_at) or "",
        expires_at=rfc3339(done.expires_at),
        revision=done.revision,
        kind=done.kind or "",
        sequence=done.sequence,
        updated_at=rfc3339(done.updated_at) or "",
        archived=archived,
        indexed=done.indexed,
    )


def item(found: Item, *, as_json: bool) -> pb.MemoryItem:
    """An item as its reader gets it."""
    row = found.row
    told = pb.MemoryItem(
        id=row.id,
        namespace=row.address.namespace.segments,
        key=row.address.key,
        created_at=rfc3339(found.created_at) or "",
        expires_at=rfc3339(found.expires_at),
        archived=row.archived,
        revision=row.revision,
        updated_at=rfc3339(found.updated_at) or "",
    )
    tell_value(told, "value", row.value, as_json=as_json)
    tell_value(told, "attributes", row.attributes, as_json=as_json)
    return told


def found(page: Found, request: pb.SearchMemoriesRequest) -> pb.SearchMemoriesResponse:
    """A page of a search; with several queries, each item says which of them found it."""
    names = [each.purpose or each.text for each in request.queries]
    told = pb.SearchMemoriesResponse(
        items=[_hit(each, names, as_json=request.json_values) for each in page.items], cursor=page.cursor
    )
    if page.explanation is not None:
        fill(told.explanation, page.explanation, "explanation")
    return told


def _hit(each: Item, names: list[str], *, as_json: bool) -> pb.MemoryItem:
    told = item(each, as_json=as_json)
    if each.score is not None:
        told.score = each.score
    if names:
        told.matched_query_numbers.extend(each.matched_queries)
        told.matched_queries.extend(names[number] for number in each.matched_queries)
    if each.explanation is not None:
        fill(told.explanation, each.explanation, "explanation")
    return told


def events(page: Events, *, as_json: bool) -> pb.ListMemoryEventsResponse:
    """A page of the log."""
    told = [_event(each, as_json=as_json) for each in page.events]
    return pb.ListMemoryEventsResponse(events=told, after_cursor=page.cursor, complete=page.complete)


def _event(each: MemoryEvent, *, as_json: bool) -> pb.MemoryEventItem:
    happened, row = each.entry.event, each.entry.row
    told = pb.MemoryEventItem(
        id=happened.row_id,
        namespace=each.namespace,
        key=each.key,
        kind=each.kind,
        sequence=each.sequence,
        cursor=each.cursor,
        revision=each.revision,
        archived=each.archived,
        actor=each.actor,
    )
    tell_moment(told.occurred_at, datetime_of(happened.at))
    if each.expires_at is not None:
        tell_moment(told.expires_at, each.expires_at)
    if row is not None:
        tell_value(told, "value", row.value, as_json=as_json)
        tell_value(told, "attributes", row.attributes, as_json=as_json)
    if each.detail is not None:
        fill(told.detail, each.detail, "detail")
    return told
