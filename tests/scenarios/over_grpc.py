"""The gRPC door, by the stubs of its contract and nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any
from uuid import UUID

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp
from tests.scenarios.door import EVENT, ITEM, WRITTEN, Door, Person, Plain, Refused, confirmed, found, plain
from tests.scenarios.in_process import key_for
from tests.scenarios.over_http import Http
from tests.scenarios.talks import CALLS as SAID
from tests.scenarios.way_in import CALLS
from tests.scenarios.way_out import CALLS as GIVEN

from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.surfaces.grpc.v1.memory_service_pb2_grpc import MemoriesServiceStub
from recollect.testing.servers import Server

NOT_OFFERED = frozenset({"batch", "history", "get_by_id", "whoami", "show_policy", "check_policy", "push_policy"}) | {
    "rollback_policy",
    "explain_policy",
    "simulate_policy",
    "list_audit",
    "force_delete",
    "trigger_index",
    "show_settings",
    "change_settings",
    *CALLS,
    *GIVEN,
    *SAID,
}
"""What has no call, and is asked over REST in between: batches, versions, who one is, what administrators do, the
ways in and out, and conversations."""
_ARCHIVED: dict[str, Any] = {"exclude": 1, "include": 2, "only": 3}
_SAFE = (1 << 53) - 1


class Grpc:
    """The calls as their contract tells them; values as Struct wherever that can hold them, else as JSON text."""

    def __init__(self, stub: Any, key: str, rest: Door, why: str | None = None, as_user: str | None = None) -> None:
        self._stub, self._key, self._rest = stub, key, rest
        self._why, self._as_user = why, as_user

    def justified(self, why: str, *, as_user_id: str | None = None) -> Door:
        rest = self._rest.justified(why, as_user_id=as_user_id)
        return as_door(Grpc(self._stub, self._key, rest, why, as_user_id))

    def __getattr__(self, call: str) -> Any:
        if call in NOT_OFFERED:
            return getattr(self._rest, call)
        raise AttributeError(call)

    def _call(self, name: str, request: Any, idempotency_key: str | None = None) -> tuple[Any, bool]:
        metadata = [("authorization", f"Bearer {self._key}")]
        if idempotency_key is not None:
            metadata.append(("idempotency-key", idempotency_key))
        try:
            told, call = getattr(self._stub, name).with_call(request, metadata=metadata, timeout=120)
        except grpc.RpcError as refused:
            trailing = {each.key: each.value for each in refused.trailing_metadata()}
            envelope = json.loads(trailing["recollect-error-bin"])
            assert set(envelope) == {"error", "code", "details"}, envelope
            assert envelope["code"] == trailing["recollect-code"]
            if envelope["details"].get("ask") == "json_values":
                request.json_values = True
                return self._call(name, request)
            raise Refused(envelope["code"]) from None
        return told, ("idempotency-replayed", "true") in [(each.key, each.value) for each in call.trailing_metadata()]

    def _read(self, name: str, request: Any) -> Any:
        if self._why is not None:
            request.justification = self._why
        if self._as_user is not None:
            request.as_user_id = self._as_user
        return self._call(name, request)[0]

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: Any,
        *,
        attributes: Mapping[str, Any] | None = None,
        ttl: int | None = None,
        expires_at: datetime | None = None,
        index_fields: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        **named: Any,
    ) -> Plain:
        request = pb.PutMemoryRequest(
            namespace=namespace,
            key=key,
            ttl_seconds=ttl,
            expires_at=None if expires_at is None else expires_at.isoformat(),
            index_fields=index_fields or (),
            index_disabled=index_fields == [],
            **named,
        )
        _give(request, "value", value)
        _give(request, "attributes", attributes)
        done, replayed = self._call("PutMemory", request, idempotency_key)
        assert (list(done.namespace), done.key) == (list(namespace), key)
        assert _told(done, "attributes") == attributes
        return confirmed(_written(done, replayed), WRITTEN)

    def archive(
        self,
        namespace: Sequence[str],
        key: str,
        *,
        archived: bool = True,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Plain:
        request = pb.UpdateMemoryRequest(namespace=namespace, key=key, archived=archived, **more)
        done, replayed = self._call("UpdateMemory", request, idempotency_key)
        assert done.archived is archived
        return plain(_written(done, replayed), WRITTEN)

    def delete(self, namespace: Sequence[str], key: str, *, idempotency_key: str | None = None, **rest: Any) -> Plain:
        request = pb.DeleteMemoryRequest(namespace=namespace, key=key, **rest)
        return {"replayed": self._call("DeleteMemory", request, idempotency_key)[1]}

    def get(
        self, namespace: Sequence[str], key: str, *, as_of: datetime | None = None, archived: str = "exclude"
    ) -> Plain:
        request = pb.GetMemoryRequest(namespace=namespace, key=key, as_of=_stamp(as_of), archived=_archived(archived))
        return plain(_item(self._read("GetMemory", request)), ITEM)

    def search(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of the API
        query: str | Sequence[str] | None = None,
        wait: float | None = None,
        as_of: datetime | None = None,
        archived: str = "exclude",
        **named: Any,
    ) -> Plain:
        request = pb.SearchMemoriesRequest(
            namespace_prefix=namespace_prefix,
            query=query if isinstance(query, str) else None,
            queries=() if query is None or isinstance(query, str) else [pb.MemorySearchQuery(text=q) for q in query],
            wait_seconds=wait,
            as_of=_stamp(as_of),
            archived=_archived(archived),
            **named,
        )
        _give(request, "filter", filter)
        page = self._read("SearchMemories", request)
        told = {"items": [_item(each) for each in page.items], "cursor": _given(page, "cursor")}
        return found(told | {"explanation": _told(page, "explanation")}, query)

    def list_namespaces(self, *, archived: str = "exclude", **named: Any) -> list[list[str]]:
        request = pb.ListMemoryNamespacesRequest(archived=_archived(archived), **named)
        return [list(each.segments) for each in self._read("ListMemoryNamespaces", request).namespaces]

    def events(
        self,
        namespace_prefix: Sequence[str] = (),
        *,
        after: str | None = None,
        kinds: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
    ) -> Plain:
        request = pb.ListMemoryEventsRequest(
            namespace=namespace_prefix,
            kinds=kinds or (),
            after=_stamp(since),
            before=_stamp(until),
            after_cursor=after,
            limit=limit,
        )
        page = self._read("ListMemoryEvents", request)
        told = [plain(_event(each), EVENT) for each in page.events]
        return {"events": told, "cursor": page.after_cursor, "complete": page.complete}

    def index_status(self) -> Plain:
        """What the call tells is compared; the rest of it only REST tells."""
        told = self._call("GetMemoryIndexStatus", Empty())[0]
        whole = self._rest.index_status()
        mine = {name: getattr(told, name) for name in ("pending", "failed", "indexed")}
        assert mine | {"model": _given(told, "model")} == {name: whole[name] for name in (*mine, "model")}
        return whole


def as_door(door: Any) -> Door:
    """The door, whose other calls are found when they are made."""
    known: Door = door
    return known


def _archived(how: str) -> Any:
    """The number of a way to treat archived items; one that there is not for what is none."""
    return _ARCHIVED.get(how, 9)


def _give(request: Any, name: str, value: Any) -> None:
    """Put a value into a field as Struct, or as JSON text where a Struct cannot hold it."""
    if value is None:
        return
    if isinstance(value, Mapping) and _holds(value):
        getattr(request, name).SetInParent()
        getattr(request, name).update(value)
    else:
        setattr(request, f"{name}_json", json.dumps(value).encode())


def _holds(value: Any, depth: int = 0) -> bool:
    if isinstance(value, Mapping | list | tuple):
        members = value.values() if isinstance(value, Mapping) else value
        return depth < 30 and all(_holds(each, depth + 1) for each in members)
    return isinstance(value, str | None) or abs(value) <= _SAFE


def _told(message: Any, name: str) -> Any:
    """What a field says in either form; None when it says nothing."""
    twin = f"{name}_json"
    if twin in message.DESCRIPTOR.fields_by_name and message.HasField(twin):
        return json.loads(getattr(message, twin))
    return MessageToDict(getattr(message, name)) if message.HasField(name) else None


def _given(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _written(done: Any, replayed: bool) -> Plain:
    return {
        "id": str(UUID(bytes=done.id)),
        "kind": done.kind or None,
        "revision": done.revision,
        "sequence": _given(done, "sequence"),
        "created_at": done.created_at,
        "updated_at": done.updated_at,
        "expires_at": _given(done, "expires_at"),
        "indexed": _given(done, "indexed"),
        "replayed": replayed,
    }


def _item(item: Any) -> Plain:
    return {
        "id": str(UUID(bytes=item.id)),
        "namespace": list(item.namespace),
        "key": item.key,
        "value": _told(item, "value"),
        "attributes": _told(item, "attributes"),
        "revision": item.revision,
        "archived": item.archived,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "expires_at": _given(item, "expires_at"),
        "score": _given(item, "score"),
        "explanation": _told(item, "explanation"),
        "matched_queries": list(item.matched_query_numbers),
    }


def _event(event: Any) -> Plain:
    return {
        "namespace": list(event.namespace),
        "key": event.key,
        "kind": event.kind,
        "sequence": event.sequence,
        "cursor": event.cursor,
        "revision": event.revision,
        "occurred_at": event.occurred_at.ToDatetime(UTC),
        "actor": event.actor,
        "detail": _told(event, "detail"),
        "value": _told(event, "value"),
        "attributes": _told(event, "attributes"),
        "expires_at": event.expires_at.ToDatetime(UTC) if event.HasField("expires_at") else None,
    }


def _stamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


class OverGrpc:
    """The gRPC door of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._channel = grpc.insecure_channel(server.grpc)
        self._stub = MemoriesServiceStub(self._channel)
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)

    def door(self, tenant: str, person: Person) -> Door:
        key = key_for(self._server, tenant, person)
        return as_door(Grpc(self._stub, key, Http(self._connection, key)))

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        self._channel.close()
        self._connection.close()
