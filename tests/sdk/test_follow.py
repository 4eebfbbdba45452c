"""Following the log: every event once and in order, whatever the server does in between."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.sdk.scripted import BAD_GATEWAY, Step, cut_short, drops, fails, followed, hangs, says, scripted

from recollect_client import ConnectionFailed, errors


def event(sequence: int) -> dict[str, Any]:
    return {
        "id": f"0190d7e8-0000-7000-8000-{sequence:012}",
        "namespace": ["a"],
        "key": f"k{sequence}",
        "kind": "add",
        "sequence": sequence,
        "cursor": f"c{sequence}",
        "revision": 1,
        "occurred_at": "2026-01-01T00:00:00.000000Z",
        "value": {},
        "attributes": None,
        "expires_at": None,
        "archived": False,
        "actor": "",
        "detail": None,
    }


def page(*sequences: int, after: str) -> Step:
    return says(200, {"events": [event(each) for each in sequences], "after_cursor": after, "complete": True})


FAULTS = [drops, cut_short, BAD_GATEWAY, fails(503, "shutting_down"), fails(429, "rate_limited")]


def test_every_event_comes_once_and_in_order_through_faults(flavour: str) -> None:
    script = [page(1, 2, after="c2"), *FAULTS, page(after="c2"), drops, page(3, after="c9"), page(10, after="c10")]
    with scripted(*script) as server:
        found = followed(flavour, server.url, 4, after="c0", kinds=["add"], namespace_prefix=("a", "é/"), wait=1.0)
    assert [each.sequence for each in found] == [1, 2, 3, 10]
    asked = [dict(request.query)["after_cursor"] for request in server.requests]
    assert asked == ["c0", *["c2"] * 8, "c9"]
    for request in server.requests:
        assert [value for name, value in request.query if name == "ns"] == ["a", "é/"]
        assert ("kinds", "add") in request.query


def test_without_a_cursor_it_begins_at_the_beginning(flavour: str) -> None:
    with scripted(page(1, after="c1")) as server:
        followed(flavour, server.url, 1)
    assert "after_cursor" not in dict(server.requests[0].query)
    assert dict(server.requests[0].query)["wait"] == "20.0"


@pytest.mark.parametrize("trouble", [drops, hangs, BAD_GATEWAY], ids=["drops", "hangs", "bad gateway"])
def test_patience_has_an_end(flavour: str, trouble: Step) -> None:
    began = time.monotonic()
    with scripted(page(1, after="c1"), trouble) as server, pytest.raises(errors.RecollectError) as caught:
        followed(flavour, server.url, 2, wait=0.1, patience=1.0, client={"timeout": 0.3})
    assert caught.value.retriable
    assert 0.5 < time.monotonic() - began < 4
    assert len(server.requests) > 2


def test_no_server_from_the_start_is_waited_for_too(flavour: str) -> None:
    with scripted(drops) as server:
        url = server.url
    began = time.monotonic()
    with pytest.raises(ConnectionFailed):
        followed(flavour, url, 1, patience=0.5)
    assert time.monotonic() - began > 0.2


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (fails(410, "cursor_expired", oldest="c7"), errors.CursorExpired),
        (fails(401, "unauthenticated"), errors.Unauthenticated),
        (fails(500, "internal"), errors.Internal),
    ],
)
def test_what_waiting_does_not_mend_is_told(flavour: str, trouble: Step, error: type[errors.RecollectError]) -> None:
    with scripted(page(1, after="c1"), trouble) as server, pytest.raises(error):
        followed(flavour, server.url, 2)
    assert len(server.requests) == 2
