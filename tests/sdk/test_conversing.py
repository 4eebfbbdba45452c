"""A conversation at the client: what is repeated, what a turn is named by, and what is refused before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.sdk.scripted import call, drops, says, scripted
from tests.sdk.service import Service
from tests.sdk.test_against_server import Both

from recollect_client import AsyncClient, Client, errors

TOLD = {"cursor": None}
SOURCE = "5b" * 32
AGAIN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "converse": (("I prefer tea.",), {"ai": "Noted.", "at": datetime(2026, 1, 1, tzinfo=UTC)}),
    "conversation_context": ((), {"budget": 100, "template": "evidence"}),
    "list_sessions": ((), {"persona": "coach"}),
    "get_session": (("ses_1",), {}),
    "close_session": (("ses_1",), {}),
    "get_session_state": (("coach",), {}),
    "list_messages": ((), {"session": "ses_1"}),
    "list_spines": ((), {"limit": 1}),
    "get_spine": ((), {}),
    "list_todos": ((), {"kind": "HABIT"}),
    "get_todo": (("tdo_1",), {}),
    "change_todo": (("tdo_1",), {"status": "COMPLETED"}),
    "get_seed": ((), {}),
    "put_seed": (("Lives in Austin.",), {}),
    "delete_seed": ((), {}),
    "list_personas": ((), {}),
    "get_persona": (("coach",), {}),
    "import_conversation": (([{"user": "x", "at": "2026-01-01T00:00:00Z"}],), {"source": SOURCE, "position": 0}),
    "conversation_progress": ((SOURCE,), {}),
    "list_entities": ((), {"type": "person"}),
    "get_entity": (("person:john",), {"persona": "coach"}),
    "put_entity": (("person:john",), {"label": "John", "aliases": ["Jonny"]}),
    "list_entity_suggestions": ((), {"status": "rejected"}),
    "list_curations": ((), {}),
}
ONCE: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "put_persona": (("coach", {"label": "Coach"}), {}),
    "add_todo": (("Call John",), {"persona": "coach"}),
    "merge_entities": (("person:jon", "person:john"), {}),
    "split_entity": (("person:john",), {"aliases": ["Jonny"]}),
    "undo_entity_change": (("ech_1",), {}),
    "decide_entity_suggestion": (("esg_1", True), {}),
    "curate": ((), {}),
    "undo_curation": (("cur_1",), {}),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("home"))
    yield running
    running.end()


def test_every_call_of_a_conversation_is_here() -> None:
    parts = [each for each in AsyncClient.__mro__ if each.__name__ in ("AsyncConversing", "AsyncEntities")]
    assert set(ONCE) | set(AGAIN) == {name for each in parts for name in vars(each) if name[0] != "_"}


@pytest.mark.parametrize("method", sorted(AGAIN))
def test_what_changes_nothing_or_can_be_repeated_is_repeated(flavour: str, method: str) -> None:
    given, named = AGAIN[method]
    with scripted(drops, says(200, TOLD)) as server:
        assert call(flavour, server.url, method, *given, **named) == TOLD
    first, second = server.requests
    assert (first.target, first.body, first.headers.get("idempotency-key")) == (
        second.target,
        second.body,
        second.headers.get("idempotency-key"),
    )


@pytest.mark.parametrize("method", sorted(ONCE))
def test_what_would_be_done_twice_is_not_repeated(flavour: str, method: str) -> None:
    given, named = ONCE[method]
    with scripted(drops, says(200, TOLD)) as server, pytest.raises(errors.ConnectionFailed):
        call(flavour, server.url, method, *given, **named)
    assert len(server.requests) == 1


def test_a_dry_run_of_the_curator_is_repeated(flavour: str) -> None:
    with scripted(drops, says(200, TOLD)) as server:
        assert call(flavour, server.url, "curate", dry_run=True) == TOLD
    assert [each.json for each in server.requests] == [{"dry_run": True}] * 2


def test_every_turn_has_a_key_and_none_has_that_of_another(flavour: str) -> None:
    with scripted(says(200, TOLD), says(200, TOLD), says(200, TOLD)) as server:
        for key in (None, None, "mine"):
            call(flavour, server.url, "converse", "x", idempotency_key=key)
    keys = [each.headers["idempotency-key"] for each in server.requests]
    assert (len(set(keys)), keys[2]) == (3, "mine")


def test_a_turn_is_sent_as_it_is_meant(flavour: str) -> None:
    with scripted(says(200, TOLD), says(200, TOLD), says(200, TOLD)) as server:
        call(flavour, server.url, "converse", "x", persona="coach", private=True, at=datetime(2026, 1, 1, tzinfo=UTC))
        call(flavour, server.url, "get_spine")
        call(flavour, server.url, "get_spine", 3)
    turn, latest, third = server.requests
    assert turn.json["at"].startswith("2026-01-01T00:00:00")
    assert {name: turn.json[name] for name in ("user", "persona", "private")} == {
        "user": "x",
        "persona": "coach",
        "private": True,
    }
    assert (latest.target, third.target) == ("/v1/spines/latest", "/v1/spines/3")


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.converse("x", at=datetime(2026, 1, 1)), errors.InvalidExpiry),  # noqa: DTZ001 - that is the point
        (lambda c: c.converse("x", idempotency_key=""), errors.InvalidCommit),
        (lambda c: c.conversation_context("x", template=["blocks"]), errors.InvalidRequest),
        (lambda c: c.conversation_context("x", wait=61), errors.InvalidQuery),
        (lambda c: c.get_session(".."), errors.InvalidQuery),
        (lambda c: c.put_entity("person:john", aliases="Jonny"), errors.InvalidRequest),
        (lambda c: c.split_entity("person:john", aliases="Jonny"), errors.InvalidRequest),
        (lambda c: c.put_persona("coach", ["label"]), errors.InvalidRequest),
        (lambda c: c.import_conversation("x", source=SOURCE, position=0), errors.InvalidRequest),
        (lambda c: c.justified("a trial").converse("x"), errors.Forbidden),
        (lambda c: c.justified("a trial").list_entities(), errors.Forbidden),
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


def test_a_conversation_is_held_and_taken_over(flavour: str, service: Service) -> None:
    with Both(flavour, service.url, service.token) as client:
        told = client.converse("My name is Ada.", ai="Hello Ada.", persona=flavour, idempotency_key=flavour)
        again = client.converse("My name is Ada.", ai="Hello Ada.", persona=flavour, idempotency_key=flavour)
        assert again == told | {"replayed": True}
        governed = client.take_turn(told["session"]["id"], user="x")
        assert governed["profile"]["name"] == "default"
        packed = client.conversation_context("name", persona=flavour, form="messages", wait=10)
        assert "My name is Ada." in packed["messages"][0]["content"]
        turns = [{"user": f"Hello {each}.", "at": f"2025-01-01T00:0{each}:00Z"} for each in range(3)]
        done = client.import_conversation(turns, source=SOURCE, position=0, persona=f"{flavour}-diary")
        if done["skipped"] == 0:
            assert (done["position"], done["taken"], done["sessions"]) == (3, 3, 1)
        assert client.conversation_progress(SOURCE)["position"] == 3
