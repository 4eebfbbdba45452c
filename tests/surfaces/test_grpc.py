"""The gRPC door of a real service: who is let in, what is refused before it is read, deadlines, health, and the end."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from google.protobuf.empty_pb2 import Empty
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tests.serving.test_listening import certificate

from recollect.surfaces.grpc.v1 import memory_service_pb2 as pb
from recollect.surfaces.grpc.v1.memory_service_pb2_grpc import MemoriesServiceStub
from recollect.testing.servers import Server, running

PLACE = ("user", "alice")
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
MOST = 200_000
NAME = "memory.v1.MemoriesService"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("grpc") / "data"
    with running(home, grpc_port=0, max_body_bytes=MOST, log_level="debug", failures_per_second=0) as started:
        yield started


@pytest.fixture(scope="module")
def channel(server: Server) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.grpc) as opened:
        yield opened


@pytest.fixture(scope="module")
def alice(server: Server) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {server.key_for('alice')}"),)


def put(key: str, **value: Any) -> pb.PutMemoryRequest:
    request = pb.PutMemoryRequest(namespace=PLACE, key=key)
    request.value.SetInParent()
    request.value.update(value)
    return request


def refusal(ask: Any, *given: Any, **named: Any) -> tuple[str, str | None]:
    """The status of a refusal, and our code for it."""
    with pytest.raises(grpc.RpcError) as refused:
        list(ask(*given, **named))
    trailing = {each.key: each.value for each in refused.value.trailing_metadata() or ()}
    return refused.value.code().name, trailing.get("recollect-code")


# -- who is let in


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", ""),),
        (("authorization", "Bearer rk_wrong"),),
        (("authorization", "Basic eDp5"),),
        (("authorization", "Bearer a.b.c"),),
        (("authorization", f"Bearer rk_{'x' * 20_000}"),),
    ],
)
def test_without_a_valid_credential_nothing_is_answered(channel: grpc.Channel, metadata: Any) -> None:
    stub = MemoriesServiceStub(channel)
    for method in pb.DESCRIPTOR.services_by_name["MemoriesService"].methods:
        ask = getattr(stub, method.name)
        request = Empty() if method.name == "GetMemoryIndexStatus" else getattr(pb, method.input_type.name)()
        assert refusal(ask, request, metadata=metadata) == ("UNAUTHENTICATED", "unauthenticated")


def test_a_revoked_key_is_refused_at_once(server: Server, channel: grpc.Channel) -> None:
    status, made, _ = server.request("POST", "/admin/v1/tokens", {"user_id": "alice"})
    metadata = (("authorization", f"Bearer {made['secret']}"),)
    stub = MemoriesServiceStub(channel)
    stub.PutMemory(put("revoked"), metadata=metadata)
    assert server.request("DELETE", f"/admin/v1/tokens/{made['token']['id']}")[0] == 200
    assert status == 201
    assert refusal(stub.PutMemory, put("revoked"), metadata=metadata) == ("UNAUTHENTICATED", "unauthenticated")


def test_a_token_of_an_issuer_is_as_good_as_a_key(tmp_path: Path) -> None:
    secret = "a shared secret that is long enough for HS256"
    issued = {"jwt_issuer": "https://issuer.example", "jwt_audience": "recollect", "jwt_algorithms": "HS256"}
    claims = {"iss": issued["jwt_issuer"], "aud": "recollect", "sub": "alice", "exp": time.time() + 600}
    right, wrong = (
        (("authorization", f"Bearer {jwt.encode(claims, key, 'HS256')}"),) for key in (secret, secret[::-1])
    )
    with (
        running(tmp_path / "data", grpc_port=0, jwt_key=secret, **issued) as server,
        grpc.insecure_channel(server.grpc) as line,
    ):
        stub = MemoriesServiceStub(line)
        assert stub.PutMemory(put("issued"), metadata=right).revision == 1
        assert refusal(stub.PutMemory, put("issued"), metadata=wrong) == ("UNAUTHENTICATED", "unauthenticated")


def test_with_a_certificate_it_speaks_tls_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crt, key = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(crt))
    with running(tmp_path / "home", grpc_port=0, tls_certificate=crt, tls_key=key) as server:
        metadata = (("authorization", f"Bearer {server.token}"),)
        request = pb.PutMemoryRequest(namespace=("user", "admin"), key="k", value_json=b"{}")
        trusted = grpc.ssl_channel_credentials(crt.read_bytes())
        with grpc.secure_channel(server.grpc, trusted) as line:
            assert MemoriesServiceStub(line).PutMemory(request, metadata=metadata).revision == 1
        with grpc.insecure_channel(server.grpc) as line:
            assert refusal(MemoriesServiceStub(line).PutMemory, request, metadata=metadata) == ("UNAVAILABLE", None)


def test_roles_scopes_and_policies_decide(server: Server, channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    stub.PutMemory(put("hers", n=1), metadata=alice)
    reader = (("authorization", f"Bearer {server.key_for('alice', scopes=['read'])}"),)
    assert stub.GetMemory(pb.GetMemoryRequest(namespace=PLACE, key="hers"), metadata=reader).revision == 1
    assert refusal(stub.PutMemory, put("hers"), metadata=reader) == ("PERMISSION_DENIED", "forbidden")
    bob = (("authorization", f"Bearer {server.key_for('bob')}"),)
    asked = pb.GetMemoryRequest(namespace=PLACE, key="hers")
    assert refusal(stub.GetMemory, asked, metadata=bob) == ("PERMISSION_DENIED", "forbidden")
    assert refusal(stub.GetMemoryIndexStatus, Empty(), metadata=alice) == ("PERMISSION_DENIED", "forbidden")
    root = (("authorization", f"Bearer {server.token}"),)
    assert stub.GetMemoryIndexStatus(Empty(), metadata=root).pending >= 0


def test_an_error_tells_what_rest_tells(server: Server, channel: grpc.Channel, alice: Any) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        MemoriesServiceStub(channel).GetMemory(
            pb.GetMemoryRequest(namespace=PLACE, key="nothing"), metadata=(*alice, ("x-request-id", "mine-1"))
        )
    trailing = {each.key: each.value for each in refused.value.trailing_metadata()}
    key = alice[0][1].removeprefix("Bearer ")
    over_rest = server.request("GET", "/v1/memories?ns=user&ns=alice&key=nothing", token=key)[1]
    assert json.loads(trailing["recollect-error-bin"]) == over_rest
    assert (refused.value.details(), trailing["x-request-id"]) == ("memory not found", "mine-1")
    assert any("grpc.request" in line and "mine-1" in line for line in server.log().splitlines())
    assert f'route="/{NAME}/GetMemory"' in str(server.request("GET", "/metrics")[1])


def test_a_repeated_write_says_so_and_does_nothing(channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    metadata = (*alice, ("idempotency-key", "once"))
    answers = [stub.PutMemory.with_call(put("repeated", n=1), metadata=metadata) for _ in range(2)]
    replayed = [("idempotency-replayed", "true") in tuple(call.trailing_metadata()) for _, call in answers]
    assert replayed == [False, True]
    assert answers[0][0] == answers[1][0]
    assert refusal(stub.PutMemory, put("repeated", n=2), metadata=metadata) == (
        "FAILED_PRECONDITION",
        "idempotency_mismatch",
    )


# -- what is refused


@pytest.mark.parametrize("sent", [b"\xff\xff", b"\x12\x01\xff", b"\x78\x01", b"\x08" * 50, b"\x1b" * 40])
def test_bytes_that_are_no_message_are_refused(channel: grpc.Channel, alice: Any, sent: bytes) -> None:
    for method in pb.DESCRIPTOR.services_by_name["MemoriesService"].methods:
        ask = channel.unary_unary(f"/{NAME}/{method.name}")
        metadata = alice if method.name != "GetMemoryIndexStatus" else ()
        expected = ("INVALID_ARGUMENT", "invalid_request") if metadata else ("UNAUTHENTICATED", "unauthenticated")
        assert refusal(ask, sent, metadata=metadata) == expected


def test_what_is_too_large_is_not_read(channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    large = put("large", text="x" * MOST)
    assert refusal(stub.PutMemory, large, metadata=alice)[0] == "RESOURCE_EXHAUSTED"
    packed = refusal(stub.PutMemory, large, metadata=alice, compression=grpc.Compression.Gzip)
    assert packed[0] == "RESOURCE_EXHAUSTED"
    assert stub.PutMemory(put("large", text="x" * (MOST - 1_000)), metadata=alice).revision == 1


def test_a_stranger_sends_nothing_that_is_read(channel: grpc.Channel) -> None:
    ask = channel.stream_unary(f"/{NAME}/PutMemory")
    never = threading.Event()

    def slowly() -> Iterator[bytes]:
        never.wait(30)
        yield b""

    try:
        assert refusal(ask, slowly(), timeout=20) == ("UNAUTHENTICATED", "unauthenticated")
    finally:
        never.set()


def test_a_call_without_a_message_and_one_that_there_is_not_are_refused(channel: grpc.Channel, alice: Any) -> None:
    empty = channel.stream_unary(f"/{NAME}/GetMemory")
    assert refusal(empty, iter(()), metadata=alice) == ("INVALID_ARGUMENT", "invalid_request")
    assert refusal(channel.unary_unary(f"/{NAME}/BurnMemory"), b"", metadata=alice) == ("UNIMPLEMENTED", None)


def test_what_belongs_together_or_apart_is_checked(channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    wrong: list[tuple[Any, Any]] = [
        (stub.PutMemory, pb.PutMemoryRequest(namespace=PLACE, key="k")),
        (stub.UpdateMemory, pb.UpdateMemoryRequest(namespace=PLACE, key="k")),
        (stub.SearchMemories, pb.SearchMemoriesRequest(query="a", queries=[pb.MemorySearchQuery(text="b")])),
        (stub.SearchMemories, pb.SearchMemoriesRequest(filter={"a": 1}, filter_json=b"{}")),
        (stub.PutMemory, pb.PutMemoryRequest(namespace=PLACE, key="k", value_json=b"{}", wait="soon")),
    ]
    for ask, request in wrong:
        assert refusal(ask, request, metadata=alice) == ("INVALID_ARGUMENT", "invalid_request")
    root_only = pb.GetMemoryRequest(namespace=PLACE, key="k", as_user_id="alice")
    assert refusal(stub.GetMemory, root_only, metadata=alice) == ("PERMISSION_DENIED", "forbidden")


def test_administrators_say_why(server: Server, channel: grpc.Channel, alice: Any) -> None:
    stub, root = MemoriesServiceStub(channel), (("authorization", f"Bearer {server.token}"),)
    stub.PutMemory(put("looked at"), metadata=alice)
    asked = pb.GetMemoryRequest(namespace=PLACE, key="looked at", as_user_id="alice")
    assert refusal(stub.GetMemory, asked, metadata=root) == ("INVALID_ARGUMENT", "invalid_request")
    asked.justification = "Prüfung 4711"
    assert stub.GetMemory(asked, metadata=root).key == "looked at"
    entry = server.request("GET", "/admin/v1/audit?action=justified_read&limit=1")[1]["entries"][0]
    assert (entry["justification"], entry["details"]["key"]) == ("Prüfung 4711", "looked at")


def test_several_queries_are_named_by_purpose_or_text(channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    stub.PutMemory(put("tea", text="green tea on Friday"), metadata=alice)
    queries = [pb.MemorySearchQuery(text="tea", purpose="drinks"), pb.MemorySearchQuery(text="friday")]
    request = pb.SearchMemoriesRequest(namespace_prefix=PLACE, queries=queries, mode="lexical", wait_seconds=30)
    hit = stub.SearchMemories(request, metadata=alice).items[0]
    assert (list(hit.matched_queries), list(hit.matched_query_numbers)) == (["drinks", "friday"], [0, 1])


# -- waiting


def test_a_deadline_of_the_client_ends_a_wait(channel: grpc.Channel, alice: Any) -> None:
    stub = MemoriesServiceStub(channel)
    cursor = stub.ListMemoryEvents(pb.ListMemoryEventsRequest(limit=200), metadata=alice).after_cursor
    waiting = pb.ListMemoryEventsRequest(after_cursor=cursor, wait_seconds=30)
    began = time.monotonic()
    assert refusal(stub.ListMemoryEvents, waiting, metadata=alice, timeout=0.3)[0] == "DEADLINE_EXCEEDED"
    assert time.monotonic() - began < 20
    soon = stub.ListMemoryEvents.future(waiting, metadata=alice, timeout=30)
    stub.PutMemory(put("news"), metadata=alice)
    assert [each.key for each in soon.result().events] == ["news"]


def test_a_deadline_of_the_service_is_one_too(tmp_path: Path) -> None:
    with (
        running(tmp_path / "data", grpc_port=0, body_seconds=0.1) as server,
        grpc.insecure_channel(server.grpc) as line,
    ):
        metadata = (("authorization", f"Bearer {server.token}"),)
        never = threading.Event()

        def slowly() -> Iterator[bytes]:
            never.wait(30)
            yield b""

        try:
            ask = line.stream_unary(f"/{NAME}/PutMemory")
            assert refusal(ask, slowly(), metadata=metadata) == ("DEADLINE_EXCEEDED", "request_timeout")
        finally:
            never.set()


# -- limits


def test_limits_hold_as_they_do_over_rest(tmp_path: Path) -> None:
    with running(tmp_path / "data", grpc_port=0, rate_per_second=2, failures_per_second=3) as server:
        metadata = (("authorization", f"Bearer {server.key_for('alice')}"),)
        with grpc.insecure_channel(server.grpc) as line:
            stub = MemoriesServiceStub(line)
            known = [_status(stub, metadata) for _ in range(20)]
            strangers = [_status(stub, ()) for _ in range(20)]
    assert known.count("NOT_FOUND") >= 2
    assert known.count("RESOURCE_EXHAUSTED") >= 10
    assert strangers.count("UNAUTHENTICATED") >= 3
    assert strangers.count("RESOURCE_EXHAUSTED") >= 10


def _status(stub: Any, metadata: Any) -> str:
    return refusal(stub.GetMemory, pb.GetMemoryRequest(namespace=PLACE, key="none"), metadata=metadata)[0]


# -- health, reflection, and the end


def test_health_is_told_to_everybody(channel: grpc.Channel, alice: Any) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", NAME):
        assert stub.Check(health_pb2.HealthCheckRequest(service=name)).status == SERVING
    assert refusal(stub.Check, health_pb2.HealthCheckRequest(service="another")) == ("NOT_FOUND", None)
    assert refusal(stub.Watch, health_pb2.HealthCheckRequest()) == ("UNAUTHENTICATED", "unauthenticated")
    watching = stub.Watch(health_pb2.HealthCheckRequest(), metadata=alice)
    assert next(watching).status == SERVING
    watching.cancel()


def test_reflection_tells_known_callers_what_there_is(channel: grpc.Channel, alice: Any) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=NAME),
    ]
    listed, described = stub.ServerReflectionInfo(iter(asked), metadata=alice)
    services = {each.name for each in listed.list_services_response.service}
    assert services == {NAME, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert pb.DESCRIPTOR.serialized_pb in described.file_descriptor_response.file_descriptor_proto
    assert refusal(stub.ServerReflectionInfo, iter(asked)) == ("UNAUTHENTICATED", "unauthenticated")


def test_it_ends_with_the_service_and_does_not_hold_it_up(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", grpc_port=0, shutdown_seconds=60).start()
    metadata = (("authorization", f"Bearer {server.token}"),)
    with grpc.insecure_channel(server.grpc) as line:
        watching = health_pb2_grpc.HealthStub(line).Watch(health_pb2.HealthCheckRequest(), metadata=metadata)
        assert next(watching).status == SERVING
        stub = MemoriesServiceStub(line)
        waiting = stub.ListMemoryEvents.future(pb.ListMemoryEventsRequest(wait_seconds=50), metadata=metadata)
        time.sleep(0.5)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 40
        assert list(waiting.result().events) == []
        assert [each.status for each in _until_the_end(watching)] in ([], [NOT_SERVING])
    assert "error" not in server.log()


def _until_the_end(stream: Any) -> Iterator[Any]:
    try:
        yield from stream
    except grpc.RpcError:
        return


def test_a_port_that_is_taken_is_left_to_its_owner(tmp_path: Path) -> None:
    with running(tmp_path / "one", grpc_port=0) as first:
        wanted = int(first.grpc.rpartition(":")[2])
        with running(tmp_path / "two", grpc_port=wanted) as second:
            assert wanted < int(second.grpc.rpartition(":")[2]) < wanted + 50


def test_there_is_no_door_unless_it_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        assert json.loads((server.home / "server.json").read_text())["grpc"] is None


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "grpc.py").write_text("raise ImportError('not installed')\n")
    monkeypatch.setenv("PYTHONPATH", f"{lacking}:{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(RuntimeError, match="the server did not start"):
        Server(tmp_path / "data", grpc_port=0).start()
    assert "recollect[grpc]" in (tmp_path / "data/server.log").read_text()
