"""The way out at the client: what is repeated, what a turn is named by, and what is refused before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from tests.sdk.scripted import call, drops, fails, says, scripted
from tests.sdk.service import Service
from tests.sdk.test_against_server import Both

from recollect_client import AsyncClient, Client, errors

TOLD = {"memories": [], "trace_id": "trc_1"}
AGAIN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "recall": (("tea",), {"spaces": ["user"], "freshness": timedelta(hours=1)}),
    "context": ((), {"budget": 100, "state": {"turns": []}}),
    "recall_turn": (("s1", "tea"), {}),
    "get_profile": (("default",), {"version": 2}),
    "list_profiles": ((), {}),
    "list_traces": ((), {"type": "memory_recall", "plain": True}),
    "get_trace": (("trc_1",), {"plain": True}),
    "why": (("session:alice/s1:semantic:1",), {}),
    "why_not": (("my name is Eve",), {}),
    "replay": (("s1",), {}),
    "diff_phases": (("phase-1", "phase-2"), {"space": "user"}),
    "memory_metrics": ((), {"since": datetime(2026, 1, 1, tzinfo=UTC)}),
    "get_usage": ((("user", "alice"), "k"), {}),
    "top_usage": ((), {"namespace_prefix": ("user",)}),
    "take_turn": (("s1",), {"user": "I prefer tea."}),
}
ONCE: dict[str, tuple[Any, ...]] = {"put_profile": ("careful", {"semantic": True})}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


def test_every_call_of_the_way_out_is_here() -> None:
    inherited = next(each for each in AsyncClient.__mro__ if each.__name__ == "AsyncRecalling")
    assert set(ONCE) | set(AGAIN) == {name for name in vars(inherited) if name[0] != "_"}


@pytest.mark.parametrize("method", sorted(AGAIN))
def test_what_changes_nothing_or_has_a_name_is_repeated(flavour: str, method: str) -> None:
    given, named = AGAIN[method]
    with scripted(drops, says(200, TOLD)) as server:
        assert call(flavour, server.url, method, *given, **named) == TOLD
    first, second = server.requests
    assert (first.target, first.body, first.headers.get("idempotency-key")) == (
        second.target,
        second.body,
        second.headers.get("idempotency-key"),
    )


def test_a_profile_is_not_set_again_when_its_answer_was_lost(flavour: str) -> None:
    with scripted(drops, says(200, TOLD)) as server, pytest.raises(errors.ConnectionFailed):
        call(flavour, server.url, "put_profile", *ONCE["put_profile"])
    assert len(server.requests) == 1
    with scripted(fails(503, "store_busy"), says(200, TOLD)) as server:
        call(flavour, server.url, "put_profile", *ONCE["put_profile"])
    assert len(server.requests) == 2


def test_every_turn_has_a_key_and_none_has_that_of_another(flavour: str) -> None:
    with scripted(says(200, TOLD), says(200, TOLD), says(200, TOLD)) as server:
        for key in (None, None, "mine"):
            call(flavour, server.url, "take_turn", "s/1", user="x", idempotency_key=key)
    keys = [each.headers["idempotency-key"] for each in server.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"
    assert {each.target for each in server.requests} == {f"/v1/sessions/{quote('s/1', safe='')}/turns"}


def test_a_recall_is_sent_as_it_is_meant(flavour: str) -> None:
    with scripted(says(200, TOLD)) as server:
        call(flavour, server.url, "recall", "tea", spaces=("user",), freshness=timedelta(minutes=2), wait=0.5)
    assert server.requests[0].json == {
        "query": "tea",
        "spaces": ["user"],
        "freshness": 120.0,
        "ranker": "relevance",
        "limit": 10,
        "history": False,
        "explain": False,
        "include_usage": False,
        "wait": 0.5,
    }


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.recall("x", spaces="user"), errors.InvalidQuery),
        (lambda c: c.recall("x", as_of=datetime(2026, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001 - that is the point
        (lambda c: c.recall("x", wait=61), errors.InvalidQuery),
        (lambda c: c.context("x", state=["turns"]), errors.InvalidRequest),
        (lambda c: c.context("x", template={"at": float("nan")}), errors.InvalidRequest),
        (lambda c: c.take_turn("s", user="x", tool_events="x"), errors.InvalidRequest),
        (lambda c: c.take_turn("", user="x"), errors.InvalidQuery),
        (lambda c: c.take_turn("s", user="x", idempotency_key=""), errors.InvalidCommit),
        (lambda c: c.put_profile("p", ["short_term"]), errors.InvalidRequest),
        (lambda c: c.list_traces(plain="yes"), errors.InvalidQuery),
        (lambda c: c.why(".."), errors.InvalidQuery),
        (lambda c: c.top_usage(namespace_prefix="user"), errors.InvalidNamespace),
        (lambda c: c.justified("a trial").recall("x"), errors.Forbidden),
        (lambda c: c.justified("a trial", as_user_id="bob").take_turn("s", user="x"), errors.Forbidden),
    ],
)
def test_what_would_not_arrive_as_it_is_meant_is_refused_here(
    ask: Callable[[Client], Any], error: type[errors.RecollectError]
) -> None:
    with scripted(says(200, {})) as server, Client(server.url, "t") as client:
        with pytest.raises(error) as caught:
            ask(client)
        assert type(caught.value) is error
    assert server.requests == []


def test_what_was_said_is_recalled_and_compiled(flavour: str, service: Service) -> None:
    with Both(flavour, service.url, service.token) as client:
        client.capture([{"text": f"I prefer {flavour} tea.", "session": flavour}])
        told = client.recall("What do I prefer?", wait=10)
        assert f"I prefer {flavour} tea." in [each["text"] for each in told["memories"]]
        packed = client.context("What do I prefer?", form="messages", wait=10)
        assert f"I prefer {flavour} tea." in packed["messages"][0]["content"]
        assert packed["report"]["used"] <= packed["report"]["budget"]


def test_a_turn_that_is_sent_twice_is_taken_once(flavour: str, service: Service) -> None:
    with Both(flavour, service.url, service.token) as client:
        first = client.take_turn(f"turns-{flavour}", user="My name is Ada.", idempotency_key=flavour)
        again = client.take_turn(f"turns-{flavour}", user="My name is Ada.", idempotency_key=flavour)
        assert (first["turn"], again) == (1, first | {"replayed": True})
        assert client.recall_turn(f"turns-{flavour}", "name")["turn"] == 2
