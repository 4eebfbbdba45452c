"""Servers that drop, stall, refuse and talk nonsense: what is tried again, and what the caller is told."""

from __future__ import annotations

import socket
import time
import traceback

import pytest
from tests.sdk.scripted import (
    BAD_GATEWAY,
    HTML,
    ITEM,
    PORTAL,
    TOKEN,
    WRITTEN,
    Step,
    call,
    cut_short,
    drips,
    drops,
    fails,
    hangs,
    raw,
    says,
    scripted,
    unframed,
)

from recollect_client import AsyncClient, BadAnswer, Client, ConnectionFailed, RecollectError, errors

WRITES = says(200, WRITTEN)
READS = says(200, ITEM)
WHO = {"tenant": "t", "user_id": "u", "client_id": "", "roles": [], "scopes": [], "credential": "key"}
TOKEN_MADE = {
    "token": {
        "id": "x",
        "name": "",
        "tenant": "t",
        "user_id": "u",
        "client_id": "",
        "roles": [],
        "scopes": [],
        "created_at": "2026-01-01T00:00:00.000000Z",
        "created_by": "a",
        "expires_at": None,
        "revoked_at": None,
    },
    "secret": "rk_shown_once",
}

PASSING: list[tuple[str, Step]] = [
    ("dropped", drops),
    ("cut short", cut_short),
    ("rate limited", fails(429, "rate_limited", "Retry-After: 0")),
    ("bad gateway", BAD_GATEWAY),
    ("busy", fails(503, "store_busy")),
    ("shutting down", fails(503, "shutting_down")),
    ("outcome unknown", fails(503, "outcome_unknown")),
    ("no upstream", says(503, HTML, kind="text/html")),
    ("too slow", fails(504, "deadline_exceeded")),
    ("contention", fails(409, "contention")),
    ("late request", fails(408, "request_timeout")),
    ("unknown but passing", fails(503, "something_new")),
    ("not HTTP", raw(b"SSH-2.0-OpenSSH_9.2\r\n")),
]
LASTING: list[tuple[str, Step, type[RecollectError]]] = [
    ("conflict", fails(409, "revision_conflict"), errors.RevisionConflict),
    ("mismatch", fails(409, "idempotency_mismatch"), errors.IdempotencyMismatch),
    ("refused", fails(403, "forbidden"), errors.Forbidden),
    ("unknown caller", fails(401, "unauthenticated"), errors.Unauthenticated),
    ("invalid", fails(400, "invalid_value"), errors.InvalidValue),
    ("fault", fails(500, "internal"), errors.Internal),
    ("corrupt", fails(500, "store_corrupt"), errors.StoreCorrupt),
    ("not yet", fails(501, "not_available"), errors.NotAvailable),
    ("portal", PORTAL, BadAnswer),
    ("HTML 404", says(404, HTML, kind="text/html"), BadAnswer),
    ("other JSON 404", says(404, {"detail": "Not Found"}), BadAnswer),
    ("HTML 500", says(500, HTML, kind="text/html"), BadAnswer),
    ("cut JSON", unframed(b'{"id": "0190d7e8-0000'), BadAnswer),
    ("empty", says(200, b""), BadAnswer),
    ("no body", says(204, b""), BadAnswer),
    ("not UTF-8", says(200, b'{"id": "\xff"}'), BadAnswer),
    ("other JSON", says(200, {"hello": "world"}), BadAnswer),
    ("a list", says(200, [1, 2]), BadAnswer),
    ("naive time", says(200, {**ITEM, "created_at": "2026-01-01T00:00:00"}), BadAnswer),
    ("broken gzip", says(200, b"\x1f\x8b nonsense", "Content-Encoding: gzip"), BadAnswer),
    ("deep", says(200, b'{"id":' + b"[" * 100_000), BadAnswer),
]


@pytest.mark.parametrize("trouble", [pytest.param(step, id=name) for name, step in PASSING])
def test_what_passes_is_waited_out_and_a_write_is_the_same_each_time(flavour: str, trouble: Step) -> None:
    with scripted(trouble, trouble, WRITES) as server:
        written = call(flavour, server.url, "put", ("a",), "k", {"n": 1})
    assert (written.kind, written.revision, written.replayed) == ("add", 1, False)
    assert len(server.requests) == 3
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
    assert len({request.body for request in server.requests}) == 1


@pytest.mark.parametrize(("trouble", "error"), [pytest.param(step, cls, id=name) for name, step, cls in LASTING])
def test_what_lasts_is_told_at_once(flavour: str, trouble: Step, error: type[RecollectError]) -> None:
    with scripted(trouble) as server, pytest.raises(error) as caught:
        call(flavour, server.url, "get", ("a",), "k")
    assert type(caught.value) is error
    assert len(server.requests) == 1


@pytest.mark.parametrize("trouble", [drops, cut_short, BAD_GATEWAY, fails(503, "store_busy")])
def test_trying_again_ends_after_so_many_times(flavour: str, trouble: Step) -> None:
    with scripted(trouble) as server, pytest.raises(RecollectError) as caught:
        call(flavour, server.url, "whoami", client={"retries": 2})
    assert len(server.requests) == 3
    assert caught.value.retriable


def test_trying_again_can_be_turned_off(flavour: str) -> None:
    with scripted(drops, READS) as server, pytest.raises(ConnectionFailed):
        call(flavour, server.url, "get", ("a",), "k", client={"retries": 0})
    assert len(server.requests) == 1


@pytest.mark.parametrize("trouble", [hangs, drips(3)], ids=["hangs", "drips"])
def test_a_server_that_never_finishes_is_given_up(flavour: str, trouble: Step) -> None:
    began = time.monotonic()
    with scripted(trouble) as server:
        with pytest.raises(ConnectionFailed, match="no answer in time"):
            call(flavour, server.url, "whoami", client={"timeout": 0.3, "retries": 0})
        assert time.monotonic() - began < 2


def test_all_attempts_together_are_bounded_in_time(flavour: str) -> None:
    began = time.monotonic()
    with scripted(hangs) as server:
        with pytest.raises(ConnectionFailed):
            call(flavour, server.url, "whoami", client={"timeout": 0.3, "retries": 1000, "deadline": 0.8})
        assert 0.5 < time.monotonic() - began < 2


def test_a_held_answer_is_given_its_time(flavour: str) -> None:
    def slowly(connection: socket.socket) -> None:
        time.sleep(0.6)
        says(200, {"events": [], "after_cursor": "c", "complete": True})(connection)

    with scripted(slowly) as server:
        page = call(flavour, server.url, "events", wait=1.0, client={"timeout": 0.3, "retries": 0})
    assert (len(page), page.cursor, page.complete) == (0, "c", True)


def test_the_server_says_how_long_to_wait(flavour: str) -> None:
    began = time.monotonic()
    with scripted(fails(503, "store_busy", "Retry-After: 1"), READS) as server:
        assert call(flavour, server.url, "get", ("a",), "k").value == {"n": 1}
    assert time.monotonic() - began >= 1


def test_a_wait_beyond_all_bounds_is_not_begun(flavour: str) -> None:
    began = time.monotonic()
    told = fails(429, "rate_limited", "Retry-After: 3600")
    with scripted(told) as server, pytest.raises(errors.RateLimited) as caught:
        call(flavour, server.url, "whoami")
    assert (len(server.requests), caught.value.retry_after) == (1, 3600.0)
    assert time.monotonic() - began < 5


def test_no_server_at_all_is_told_with_what_is_known(flavour: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ConnectionFailed) as caught:
        call(flavour, url, "put", ("a",), "k", {}, idempotency_key="mine")
    error = caught.value
    assert (error.sent, error.retriable, error.status) == (False, True, None)
    assert error.details == {"idempotency_key": "mine"}
    assert url in error.message


def test_a_write_that_got_no_answer_may_have_happened(flavour: str) -> None:
    with scripted(drops) as server, pytest.raises(ConnectionFailed) as caught:
        call(flavour, server.url, "put", ("a",), "k", {}, client={"retries": 1})
    assert caught.value.sent
    assert caught.value.details == {"idempotency_key": server.requests[0].headers["idempotency-key"]}


@pytest.mark.parametrize(
    ("trouble", "requests"),
    [(drops, 1), (BAD_GATEWAY, 1), (fails(503, "outcome_unknown"), 1)],
    ids=["drops", "bad gateway", "unknown"],
)
def test_a_token_is_not_made_twice(flavour: str, trouble: Step, requests: int) -> None:
    with scripted(trouble, says(201, TOKEN_MADE)) as server, pytest.raises(RecollectError):
        call(flavour, server.url, "create_token", "u")
    assert len(server.requests) == requests


def test_a_token_is_tried_again_when_nothing_was_done(flavour: str) -> None:
    with scripted(fails(503, "store_busy"), says(201, TOKEN_MADE)) as server:
        made = call(flavour, server.url, "create_token", "u")
    assert made.secret == "rk_shown_once"
    assert "rk_shown_once" not in repr(made) + str(made)
    assert len(server.requests) == 2


def test_a_redirect_is_not_followed_and_the_token_goes_nowhere_else(flavour: str) -> None:
    with (
        scripted(READS) as other,
        scripted(says(307, b"", f"Location: {other.url}/v1/memories")) as server,
        pytest.raises(BadAnswer, match="redirects are not followed") as caught,
    ):
        call(flavour, server.url, "get", ("a",), "k")
    assert (other.requests, caught.value.status) == ([], 307)


@pytest.mark.parametrize(
    ("status", "nearest"),
    [
        (400, errors.InvalidRequest),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (410, errors.CursorExpired),
        (418, errors.InvalidRequest),
        (429, errors.RateLimited),
        (500, errors.Internal),
        (501, errors.Unsupported),
        (503, errors.ServiceTrouble),
        (504, errors.DeadlineExceeded),
        (599, errors.ServiceTrouble),
    ],
)
def test_a_code_of_a_newer_server_becomes_the_nearest_error(status: int, nearest: type[RecollectError]) -> None:
    told = fails(status, "of_tomorrow", "X-Request-Id: r-1", why=7)
    with scripted(told) as server, pytest.raises(RecollectError) as caught:
        call("sync", server.url, "get", ("a",), "k", client={"retries": 0})
    error = caught.value
    assert type(error) is nearest
    assert (error.code, error.status, error.request_id) == ("of_tomorrow", status, "r-1")
    assert (error.message, str(error), error.details) == ("it is of_tomorrow", "it is of_tomorrow", {"why": 7})


def test_what_is_not_there_is_none(flavour: str) -> None:
    with scripted(fails(404, "not_found")) as server:
        assert call(flavour, server.url, "get", ("a",), "k") is None
    with scripted(fails(404, "not_found")) as server, pytest.raises(errors.NotFound):
        call(flavour, server.url, "archive", ("a",), "k")


def test_fields_of_a_newer_server_are_left_aside(flavour: str) -> None:
    with scripted(says(200, {**ITEM, "colour": "blue", "score": None})) as server:
        item = call(flavour, server.url, "get", ("a",), "k")
    assert (item.namespace, item.value, item.created_at.utcoffset().total_seconds()) == (("a",), {"n": 1}, 0)
    with scripted(says(200, {**WHO, "mood": "fine"})) as server:
        assert call(flavour, server.url, "whoami").user_id == "u"


@pytest.mark.parametrize(("key", "replayed"), [("mine", True), (None, False)])
def test_only_the_callers_own_key_can_be_replayed(flavour: str, key: str | None, replayed: bool) -> None:
    with scripted(says(200, WRITTEN, "Idempotency-Replayed: true")) as server:
        assert call(flavour, server.url, "put", ("a",), "k", {}, idempotency_key=key).replayed is replayed


def test_a_batch_needs_a_result_for_each_operation(flavour: str) -> None:
    with scripted(says(200, {"results": []})) as server, pytest.raises(BadAnswer, match="0 results came for 1"):
        call(flavour, server.url, "delete", ("a",), "k")


async def test_a_closed_client_says_so() -> None:
    with Client("http://127.0.0.1:9", "t") as client:
        pass
    with pytest.raises(errors.StoreClosed):
        client.whoami()
    async with AsyncClient("http://127.0.0.1:9", "t") as other:
        pass
    with pytest.raises(errors.StoreClosed):
        await other.whoami()


@pytest.mark.parametrize(
    "trouble",
    [drops, PORTAL, BAD_GATEWAY, fails(401, "unauthenticated"), hangs],
    ids=["drops", "portal", "bad gateway", "refuses", "hangs"],
)
def test_no_error_repeats_the_token(flavour: str, trouble: Step) -> None:
    with scripted(trouble) as server, pytest.raises(RecollectError) as caught:
        call(flavour, server.url, "whoami", client={"retries": 0, "timeout": 0.5})
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    error = caught.value
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in told.stack if "recollect_client" in frame.filename]
    assert frames
    assert TOKEN not in str([frame.locals for frame in frames]) + repr(error) + str(vars(error))
    assert error.__context__ is None or error.__suppress_context__
