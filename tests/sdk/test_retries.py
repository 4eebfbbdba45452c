"""When a call is tried again, as plain decisions over time and chance."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect_client import _retries, errors
from recollect_client._answers import Answer, error_of
from recollect_client._requests import Call
from recollect_client._retries import Limits, Silence, Tries, pause_after, worth_repeating
from recollect_client.errors import ConnectionFailed

READ = Call("GET", "/x")
ONCE = Call("POST", "/x", repeatable=False)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _real_pauses(_short_pauses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retries, "FIRST_PAUSE", 0.25)


def busy(retry_after: float | None = None) -> errors.StoreBusy:
    return errors.StoreBusy("busy", status=503, retry_after=retry_after)


def test_pauses_double_are_spread_and_have_a_ceiling() -> None:
    assert [pause_after(failures, busy(), 1.0) for failures in range(7)] == [0.25, 0.5, 1, 2, 4, 8, 8]
    assert [pause_after(failures, busy(), 0.0) for failures in range(3)] == [0.125, 0.25, 0.5]
    assert pause_after(10_000, busy(), 1.0) == 8


def test_the_server_may_ask_for_longer_but_not_for_shorter() -> None:
    assert pause_after(0, busy(30), 1.0) == 30
    assert pause_after(4, busy(0), 1.0) == 4


def test_tries_are_bounded_in_count() -> None:
    tries = Tries(Limits(30, 3, 60), READ, 0.0)
    assert [tries.pause(busy(), 1.0, 1.0) for _ in range(5)] == [0.25, 0.5, 1, None, None]


def test_tries_are_bounded_in_time() -> None:
    tries = Tries(Limits(30, 100, 60), READ, 0.0)
    assert tries.seconds(0.0) == 30
    assert tries.seconds(50.0) == 10
    assert tries.pause(busy(), 59.9, 1.0) is None
    assert Tries(Limits(30, 100, 60), READ, 0.0).pause(busy(61), 0.0, 1.0) is None


def test_a_held_or_slow_call_is_given_more() -> None:
    limits = Limits(30, 4, 60)
    assert Tries(limits, Call("GET", "/x", held=20), 0.0).seconds(0.0) == 50
    assert Tries(limits, Call("POST", "/x", slow=True), 0.0).seconds(0.0) == 600


@pytest.mark.parametrize(
    ("error", "read", "once"),
    [
        (busy(), True, True),
        (errors.OutcomeUnknown("?", status=503), True, False),
        (errors.DeadlineExceeded("?", status=504), True, False),
        (errors.RateLimited("?", status=429), True, True),
        (errors.Internal("?", status=500), False, False),
        (errors.RevisionConflict("?", status=409), False, False),
        (errors.Contention("?", status=409), True, False),
        (ConnectionFailed("?"), True, False),
        (errors.StoreUnavailable("the local disk is full"), False, False),
        (errors.BadAnswer("?", status=200), False, False),
    ],
    ids=lambda value: value.code if isinstance(value, errors.RecollectError) else str(value),
)
def test_only_what_may_succeed_and_does_no_harm_is_repeated(
    error: errors.RecollectError, read: bool, once: bool
) -> None:
    assert (worth_repeating(READ, error), worth_repeating(ONCE, error)) == (read, once)


def test_what_never_left_can_always_be_repeated() -> None:
    error = ConnectionFailed("no route")
    error.sent = False
    assert worth_repeating(ONCE, error)


def test_patience_counts_from_the_first_failure_and_starts_anew_after_an_answer() -> None:
    silence = Silence(10)
    assert silence.pause(READ, busy(), 100.0, 1.0) == 0.25
    assert silence.pause(READ, busy(), 109.0, 1.0) == 0.5
    assert silence.pause(READ, busy(2), 109.5, 1.0) is None
    assert silence.pause(READ, busy(), 109.5, 1.0) == 0.5
    assert silence.pause(READ, busy(), 110.0, 1.0) is None
    silence.broken()
    assert silence.pause(READ, busy(), 200.0, 1.0) == 0.25
    assert silence.pause(READ, errors.CursorExpired("gone", status=410), 200.0, 1.0) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("٣", None),
        ("9" * 400, 999_999_999.0),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, seconds: float | None) -> None:
    told = b'{"error": "e", "code": "store_busy", "details": {}}'
    assert error_of(Answer(503, {"retry-after": header}, told), NOW).retry_after == seconds
