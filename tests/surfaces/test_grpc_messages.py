"""The messages of the gRPC door: true to the contract and the code, and nothing is altered between JSON and Struct."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from recollect.domain.errors import InvalidExpiry, InvalidRequest, InvalidValue, RecollectError, all_errors
from recollect.domain.values import encode_value
from recollect.surfaces.grpc.calls import address_of, headers_of, parsed
from recollect.surfaces.grpc.memories import RPCS
from recollect.surfaces.grpc.structs import SAFE, moment_of, tell_moment, tell_value, value_of
from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.wire.errors import status_of
from recollect.wire.grpc_status import STATUS, grpc_status_of

SERVICE = pb.DESCRIPTOR.services_by_name["MemoriesService"]
ROOT = Path(__file__).parents[2]

# What the first form of this service had, which must stay as it is.
FIRST = {
    "PutMemoryRequest": "namespace 1, key 2, value 3, attributes 4, ttl_seconds 5, index_fields 6, index_disabled 7",
    "MemoryWriteResult": "id 1, namespace 2, key 3, attributes 4, created_at 5, expires_at 6",
    "GetMemoryRequest": "namespace 1, key 2",
    "DeleteMemoryRequest": "namespace 1, key 2",
    "MemoryItem": "id 1, namespace 2, key 3, value 4, attributes 5, score 6, created_at 7, expires_at 8",
    "SearchMemoriesRequest": "namespace_prefix 1, query 2, filter 3, limit 4, offset 5",
    "SearchMemoriesResponse": "items 1",
    "ListMemoryNamespacesRequest": "prefix 1, suffix 2, max_depth 3",
    "MemoryNamespace": "segments 1",
    "ListMemoryNamespacesResponse": "namespaces 1",
    "MemoryIndexStatusResponse": "pending 1",
    "ListMemoryEventsRequest": "namespace 1, kinds 2, after 3, before 4, after_cursor 5, limit 6",
    "MemoryEventItem": "id 1, namespace 2, key 3, kind 4, occurred_at 5, value 6, attributes 7, expires_at 8",
    "ListMemoryEventsResponse": "events 1, after_cursor 2",
}
SECOND = {
    "MemoryWriteResult": "revision 7",
    "GetMemoryRequest": "archived 4",
    "UpdateMemoryRequest": "namespace 1, key 2, archived 3, expected_revision 4",
    "MemoryItem": "archived 10, revision 11, matched_queries 12",
    "SearchMemoriesRequest": "archived 7, queries 10",
    "ListMemoryNamespacesRequest": "archived 4",
    "MemorySearchQuery": "text 1, purpose 2",
}


def numbers(told: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", told)}


@pytest.mark.parametrize("name", sorted(pb.DESCRIPTOR.message_types_by_name))
def test_the_numbers_of_fields_are_those_of_the_earlier_forms_and_ours_lie_beyond_them(name: str) -> None:
    fields = {each.name: each.number for each in pb.DESCRIPTOR.message_types_by_name[name].fields}
    known = numbers(FIRST.get(name, "")) | numbers(SECOND.get(name, ""))
    assert {each: fields[each] for each in known} == known
    assert all(number > 100 for each, number in fields.items() if each not in known)


def test_every_call_of_the_contract_has_a_handler() -> None:
    assert [rpc.name for rpc in RPCS] == [each.name for each in SERVICE.methods]
    assert [rpc.request().DESCRIPTOR for rpc in RPCS] == [each.input_type for each in SERVICE.methods]


def test_the_generated_files_are_up_to_date() -> None:
    pytest.importorskip("grpc_tools", reason="the compiler is not installed")
    from tools import generate_grpc

    for path, text in generate_grpc.generated().items():
        assert path.read_text() == text, f"run `make generate`: {path.relative_to(ROOT)}"


# -- errors


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.__name__)
def test_every_error_has_a_status(error: type[RecollectError]) -> None:
    status = grpc_status_of(error)
    assert status in grpc.StatusCode.__members__
    assert status not in ("OK", "CANCELLED")
    assert (status_of(error) >= 500) or status not in ("INTERNAL", "UNKNOWN", "UNAVAILABLE", "DATA_LOSS")


def test_the_table_has_no_other_errors_and_a_child_may_differ_from_its_parent() -> None:
    assert set(STATUS) <= set(all_errors())
    assert {error.code: grpc_status_of(error) for error in all_errors()} | {
        "unauthenticated": "UNAUTHENTICATED",
        "forbidden": "PERMISSION_DENIED",
        "not_found": "NOT_FOUND",
        "revision_conflict": "ABORTED",
        "invalid_key": "INVALID_ARGUMENT",
        "rate_limited": "RESOURCE_EXHAUSTED",
        "embedder_trouble": "UNAVAILABLE",
    } == {error.code: grpc_status_of(error) for error in all_errors()}


# -- values

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
scalars = st.none() | st.booleans() | texts | st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, max_value=1e15)
finite = scalars.filter(lambda each: not isinstance(each, float) or (math.isfinite(each) and each > -1e15))
objects = st.dictionaries(
    texts, st.recursive(finite, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
)


@given(objects)
def test_what_a_struct_can_hold_comes_through_it_as_it_was(value: dict[str, Any]) -> None:
    item = pb.MemoryItem()
    tell_value(item, "value", encode_value(value), as_json=False)
    request = pb.PutMemoryRequest(value=pb.MemoryItem.FromString(item.SerializeToString()).value)
    assert value_of(request, "value") == value
    assert MessageToDict(item.value) == value


@pytest.mark.parametrize("number", [SAFE + 1, -SAFE - 1, 2**53 + 1, 2**63, 2**70])
def test_an_answer_that_a_struct_would_alter_is_refused_and_comes_as_text(number: int) -> None:
    stored = json.dumps({"deep": [{"n": number}]}).encode()
    with pytest.raises(InvalidRequest, match="json_values") as refused:
        tell_value(pb.MemoryItem(), "value", stored, as_json=False)
    assert refused.value.details == {"ask": "json_values"}
    item = pb.MemoryItem()
    tell_value(item, "value", stored, as_json=True)
    assert item.value_json == stored
    assert not item.HasField("value")


@pytest.mark.parametrize("number", [2.0**53, -(2.0**53), 1e300])
def test_a_whole_number_that_may_have_been_rounded_is_refused(number: float) -> None:
    request = pb.PutMemoryRequest()
    request.value.update({"n": [number]})
    with pytest.raises(InvalidValue, match="value_json"):
        value_of(request, "value")


def test_numbers_are_whole_where_they_can_be() -> None:
    request = pb.PutMemoryRequest()
    request.value.update({"whole": 7.0, "most": float(SAFE), "part": 0.5, "zero": -0.0})
    found = value_of(request, "value")
    assert found is not None
    assert json.dumps(found, sort_keys=True) == f'{{"most": {SAFE}, "part": 0.5, "whole": 7, "zero": -0.0}}'


def test_a_value_is_given_in_one_form() -> None:
    request = pb.PutMemoryRequest(value_json=b'{"n": 18446744073709551616}')
    assert value_of(request, "value") == {"n": 2**64}
    request.value.update({"n": 1})
    with pytest.raises(InvalidRequest, match="not both"):
        value_of(request, "value")
    assert value_of(pb.PutMemoryRequest(), "value") is None
    for bad in (b"[1]", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"", b"null"):
        with pytest.raises(InvalidValue):
            value_of(pb.PutMemoryRequest(value_json=bad), "value")


def test_a_member_that_says_nothing_is_refused() -> None:
    request = pb.PutMemoryRequest()
    request.value.fields["empty"].CopyFrom(Value())
    with pytest.raises(InvalidValue, match="says nothing"):
        value_of(request, "value")


# -- moments


def test_moments_come_through_to_the_microsecond() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    request = pb.GetMemoryRequest()
    tell_moment(request.as_of, moment)
    assert moment_of(request, "as_of") == moment
    assert moment_of(pb.GetMemoryRequest(), "as_of") is None


@pytest.mark.parametrize(("seconds", "nanos"), [(-1, 0), (1 << 62, 0), (0, -1), (0, 1_000_000_000), (253402300800, 0)])
def test_moments_that_are_none_are_refused(seconds: int, nanos: int) -> None:
    request = pb.GetMemoryRequest(as_of=Timestamp(seconds=seconds, nanos=nanos))
    with pytest.raises(InvalidExpiry, match="1970 to 9999"):
        moment_of(request, "as_of")


# -- what is read


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff",
        b"\x0a\x05ab",  # a text that is shorter than it says
        b"\x12\x01\xff",  # a key that is not UTF-8
        b"\x30\x07",  # expected_revision under the number that it has elsewhere
        b"\x20\x3c",  # ttl_seconds under the number that it has elsewhere
        b"\x40\x01",  # a field that there is not
        b"\x1a\x01\x0a" * 5,
    ],
)
def test_bytes_that_are_not_the_message_are_refused(sent: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parsed(pb.PutMemoryRequest(), sent)


def test_unknown_fields_within_a_message_are_refused_too() -> None:
    inner = pb.MemorySearchQuery(text="tea").SerializeToString() + b"\x18\x01"
    with pytest.raises(InvalidRequest, match="no field 3"):
        parsed(pb.SearchMemoriesRequest(), b"\x52" + bytes([len(inner)]) + inner)
    whole = pb.SearchMemoriesRequest(queries=[pb.MemorySearchQuery(text="tea")], filter={"lang": "go"})
    assert parsed(pb.SearchMemoriesRequest(), whole.SerializeToString()) == whole


def test_of_repeated_metadata_the_first_counts() -> None:
    assert headers_of([("authorization", "one"), ("authorization", "two"), ("x-bin", b"\xff")]) == {
        b"authorization": b"one",
        b"x-bin": b"\xff",
    }


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.1:4711", "10.0.0.1"),
        ("ipv6:%5B2001:db8::1%5D:4711", "2001:db8::1"),
        ("unix:/run/x", "unix:/run/x"),
    ],
)
def test_an_address_is_told_without_its_port(peer: str, address: str) -> None:
    assert address_of(peer) == address
